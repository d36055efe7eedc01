"""Bootstrap intervals of means whose observations come in groups.

What is drawn again depends on what was random:

- ``within``: in a grid only the replicas of each point are random, so replicas are drawn within each point.
- ``replicas``: with common random numbers a replica is one draw for all points, so whole replicas are drawn.
- ``points``: the points of a sample are random themselves, so points are drawn, each with all its replicas.
- ``points of shared chance``: the same in a sample with common random numbers. What is common to all points is in every
  resample as it was, so the interval is about the choice of points only.

The intervals are percentile intervals, not BCa: the correction of BCa is estimated by leaving observations out, which
says little with five replicas and nothing (NaN) when they agree. What does matter with few replicas is that percentile
intervals are too short, for two reasons (Hesterberg, "What Teachers Should Know About the Bootstrap", The American
Statistician 69, 2015): resamples of n have (n-1)/n of the variance, and their quantiles are normal ones where those of
t are due. So both ends are moved away from the estimate by the quotients of these; for a mean of normal observations
that is the interval of t, for many observations the percentile interval.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TypedDict, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from btflow.analysis.design import Floats
from btflow.errors import InputError
from btflow.options import MAX_SEED, whole_number
from btflow.signatures import offered

Scheme = Literal["within", "replicas", "points", "points of shared chance"]

MEANING: dict[Scheme, str] = {
    "within": "replicas within each point",
    "replicas": "replica numbers, the same at every point",
    "points": "points, each with all its replicas",
    "points of shared chance": "points, each with all its replicas; the chance that all share (common) is not in it",
}

OF_POINTS: tuple[Scheme, ...] = ("points", "points of shared chance")

_BATCH = 10_000_000
"""Most numbers drawn at a time."""


class Intervals(TypedDict, total=False):
    """What every function takes by keyword to say how intervals are made; `Settings` has the defaults."""

    confidence: float
    resamples: int
    seed: int


@dataclass(frozen=True)
class Settings:
    """How intervals are made."""

    confidence: float = 0.95
    """Share of intervals that hold the true value, between 0 and 1."""
    resamples: int = 1999
    """Resamples of the bootstrap, 100 to a million."""
    seed: int = 0
    """Seed of the resamples."""

    def checked(self) -> Settings:
        """Return it; InputError if a value is out of range."""
        level = self.confidence
        number = isinstance(level, int | float | np.floating) and not isinstance(level, bool)
        if not number or not 0 < (1 - level) / 2 < 0.5:
            raise InputError("confidence", level, "is not a level", "a number between 0 and 1, such as 0.95")
        whole_number("resamples", self.resamples, 100, 1_000_000)
        whole_number("seed", self.seed, 0, MAX_SEED)
        return self

    @classmethod
    def of(cls, given: Mapping[str, Any], *others: str) -> Settings:
        """Return what was given by keyword, checked; InputError for a name that is neither this nor one of others."""
        known = [*(field.name for field in fields(cls)), *others]
        for name, value in given.items():
            if name not in known:
                raise InputError(name, value, "is not an option", ", ".join(known))
        return cls(**given).checked()

    def attrs(self, scheme: Scheme) -> dict[str, Any]:
        """Return what a result says about its intervals."""
        return {
            "confidence": float(self.confidence),
            "interval": "bootstrap, percentile, widened for few observations",
            "resampled": MEANING[scheme],
            "resamples": int(self.resamples),
            "interval_seed": int(self.seed),
        }


Function = TypeVar("Function", bound=Callable[..., Any])


def with_intervals(function: Function) -> Function:
    """Return a function that hands `Intervals` on with these in its signature, for help and completion."""
    function.__signature__ = offered(function, asdict(Settings()), others=False)  # type: ignore[attr-defined]  # inspect
    return function


@dataclass(frozen=True)
class Spread:
    """What the variance of an estimate is the sum of, one part for each group drawn from."""

    parts: Floats
    """Variance that each group adds (groups,), unbiased."""
    sizes: Floats
    """Observations in each group (groups,), 2 or more."""

    def __add__(self, other: Spread) -> Spread:
        return Spread(np.concatenate([self.parts, other.parts]), np.concatenate([self.sizes, other.sizes]))


def canonical(values: Floats, scheme: Scheme) -> Floats:
    """Return values (..., replica) in an order that does not depend on which replica has which number."""
    if scheme != "replicas":
        return np.sort(values, axis=-1)
    flat = values.reshape(-1, values.shape[-1])
    return np.asarray(values[..., np.lexsort(np.nan_to_num(flat, nan=np.inf)[::-1])])


def point_means(points: Floats) -> Floats:
    """Return the mean of what is known of each row (points, replicas) -> (points,); NaN where nothing is."""
    known = np.isfinite(points)
    count = known.sum(axis=-1)
    total = np.where(known, points, 0.0).sum(axis=-1)
    return np.asarray(np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0))


def draws(points: Floats, scheme: Scheme, settings: Settings, stream: int = 0) -> Floats:
    """Return the means of resamples of one cell, the mean of its points' means (resamples,).

    Args:
        points: Values (points, replicas), NaN where missing, one or more in each row; in canonical order.
        scheme: What is drawn again.
        settings: How many, and the seed.
        stream: Cells with the same stream draw the same replica numbers, others draw independently.
    """
    if scheme in OF_POINTS:
        return _bootstrap([np.sort(point_means(points))], _mean_of_means, settings, stream)
    if scheme == "within":
        rows = [row[np.isfinite(row)] for row in points]
        return _bootstrap(rows, _mean_of_means, settings, stream)
    complete = points.mean(axis=0) if np.isfinite(points).all() else None

    def chosen(numbers: NDArray[Any], axis: int) -> Floats:  # noqa: ARG001  # scipy gives it: the last
        index = numbers.astype(int)
        if complete is not None:
            return np.asarray(complete[index].mean(axis=-1))
        return np.asarray(point_means(points[:, index]).mean(axis=0))

    numbers = [np.arange(points.shape[1])]
    return _bootstrap(numbers, chosen, settings, stream, each=1 if complete is not None else len(points))


def _mean_of_means(*samples: Floats, axis: int) -> Floats:
    total = samples[0].mean(axis=axis)
    for sample in samples[1:]:
        total = total + sample.mean(axis=axis)
    return np.asarray(total / len(samples))


def _bootstrap(
    samples: list[Any], function: Callable[..., Floats], settings: Settings, stream: int, each: int = 1
) -> Floats:
    """Return the bootstrap distribution of a function; a sample of one is drawn as it is."""
    size = each * sum(len(sample) for sample in samples)
    if all(len(sample) == 1 for sample in samples):
        return np.full(settings.resamples, float(function(*[np.asarray(s)[None] for s in samples], axis=-1)[0]))
    # scipy refuses samples of one; a doubled one has the same mean in every resample
    doubled = [np.repeat(sample, 2) if len(sample) == 1 else np.asarray(sample) for sample in samples]
    with warnings.catch_warnings():
        # a resample of missing replicas alone is NaN, and then scipy's own interval, which is not used
        warnings.simplefilter("ignore", scipy.stats.DegenerateDataWarning)
        made = scipy.stats.bootstrap(
            doubled,
            function,
            n_resamples=settings.resamples,
            method="percentile",
            vectorized=True,
            batch=max(1, _BATCH // size),
            rng=np.random.default_rng([settings.seed, stream]),
        )
    return np.asarray(made.bootstrap_distribution, np.float64)


def spread(points: Floats, scheme: Scheme) -> Spread:
    """Return what the variance of the mean of a cell's points' means is made of (points, replicas)."""
    if scheme == "replicas":
        return Spread(np.ones(1), np.full(1, float(points.shape[1])))
    groups = [point_means(points)] if scheme in OF_POINTS else [row[np.isfinite(row)] for row in points]
    groups = [group for group in groups if group.size > 1]
    weight = 1.0 if scheme in OF_POINTS else 1.0 / len(points)
    sizes = np.array([group.size for group in groups], float)
    return Spread(np.array([weight**2 * group.var(ddof=1) / group.size for group in groups]), sizes)


def interval(estimate: float, distribution: Floats, of: Spread, settings: Settings) -> tuple[float, float]:
    """Return the ends of an estimate's interval; NaN if no group has two observations."""
    parts, sizes = of.parts[of.sizes > 1], of.sizes[of.sizes > 1]
    if parts.size == 0 or not np.isfinite(distribution).any():
        return np.nan, np.nan
    tail = (1 - settings.confidence) / 2
    ends = np.nanquantile(distribution, [tail, 1 - tail])
    low, high = estimate + _widening(parts, sizes, tail) * (ends - estimate)
    return float(low), float(high)


def _widening(parts: Floats, sizes: Floats, tail: float) -> float:
    """Return what makes up for the smaller variance of resamples and for the normal quantile."""
    total = parts.sum()
    if total == 0.0:
        return 1.0
    freedom = total**2 / (parts**2 / (sizes - 1)).sum()  # Welch and Satterthwaite
    short = total / (parts * (sizes - 1) / sizes).sum()
    return float(np.sqrt(short) * scipy.stats.t.ppf(tail, freedom) / scipy.stats.norm.ppf(tail))
