"""Sobol indices: which share of a statistic's variance is due to which varied name."""

from typing import Unpack

import numpy as np
import scipy
import xarray as xr
from numpy.typing import NDArray

from btflow.analysis.bootstrap import Intervals, Settings, point_means, with_intervals
from btflow.analysis.design import SAMPLE, Floats, checked, counts, factors, is_sample, source, statistic, varied
from btflow.errors import InputError
from btflow.units.formatting import counted

_BATCH = 2_000_000
"""Most values taken at a time."""


@with_intervals
def sobol_indices(ds: xr.Dataset, variable: str, **intervals: Unpack[Intervals]) -> xr.Dataset:
    """Return first-order and total Sobol indices of a statistic for each varied name of a Saltelli design.

    Names that vary together are one parameter, ``rtt+loss``.

    ``scipy.stats.sobol_indices`` (Saltelli 2010) of the means over the replicas, with percentile bootstrap intervals
    over the base samples (not BCa: it would need as many more estimates as there are samples). Chance is not a name:
    what it adds to the variance adds to every total index, unless random numbers are common; ``chance`` says how much.

    Args:
        ds: A sweep over a Saltelli design: n (d + 2) samples in the order A, B, AB_0, ..., AB_(d-1).
        variable: A statistic for each swarm.
        **intervals: ``confidence``, ``resamples`` and ``seed``, as in ``btflow.analysis.bootstrap.Settings``.

    Returns:
        Along ``parameter`` ``first_order`` and ``total``, each with the ends ``_low`` and ``_high`` of its interval;
        ``chance``, the variance of a point's mean over its replicas as a share of the variance (NaN with one replica).

    Raises:
        InputError: The design is another one, its samples are not all there in their order, one of them has no result,
            or the statistic does not vary.
    """
    ds, settings = _saltelli(checked(ds)), Settings.of(intervals)
    values = statistic(ds, variable)
    names = list(factors(ds))
    n = values.sizes[SAMPLE] // (len(names) + 2)
    means = point_means(values.values)
    lost = int((~np.isfinite(means)).sum())
    if lost:
        reason = f"is missing at {lost} of {counted(len(means), 'sample')} ({counts(ds, values).text()})"
        reason += "; the indices need all of them"
        raise InputError(
            "variable", variable, reason, "resume the sweep, or vary in ranges where every swarm completes"
        )
    if np.ptp(means[: 2 * n]) == 0.0:
        raise InputError("variable", variable, "is the same at every sample, so that there is no variance to divide")
    blocks = means.reshape(len(names) + 2, n)
    number = np.arange(n)[None]
    first, total = (index[0] for index in _indices(blocks, number))
    low, high = _ends(blocks, settings)
    found = {
        "first_order": (first, "share of the variance that is due to it alone"),
        "first_order_low": (low[0], "low end of the interval of the first order"),
        "first_order_high": (high[0], "high end of the interval of the first order"),
        "total": (total, "share of the variance that it has a part in"),
        "total_low": (low[1], "low end of the interval of the total"),
        "total_high": (high[1], "high end of the interval of the total"),
    }
    data = {key: ("parameter", value, {"units": "1", "long_name": text}) for key, (value, text) in found.items()}
    chance = xr.Variable(
        (), _chance(values.values, means[: 2 * n]), {"units": "1", "long_name": "share of the variance that is chance"}
    )
    method = settings.attrs("points") | {"interval": "bootstrap, percentile", "resampled": "base samples"}
    attrs = source(ds, variable) | {"base_samples": n} | method
    return xr.Dataset(data | {"chance": chance}, {"parameter": names}, attrs)


def _saltelli(ds: xr.Dataset) -> xr.Dataset:
    """Return a sweep over a Saltelli design; InputError for another one, naming what helps."""
    design = str(ds.attrs.get("design", "sample" if is_sample(ds) else "grid"))
    allowed = (
        "a whole design sample=saltelli:N as btflow.sweep returns it (ds.sortby('sample') restores its order); "
        "mean_effect and sensitivity take any design"
    )
    if not design.startswith("saltelli") or not is_sample(ds):
        raise InputError("ds", design, "is not a design that Sobol indices can be had from", allowed)
    n, rest = divmod(ds.sizes[SAMPLE], len(factors(ds)) + 2)
    if rest or n < 2 or n & (n - 1):
        raise InputError("ds", counted(ds.sizes[SAMPLE], "sample"), "is not a whole Saltelli design", allowed)
    _check_order(ds, n, allowed)
    return ds


def _check_order(ds: xr.Dataset, n: int, allowed: str) -> None:
    """Raise an InputError unless block AB_i has the values of A, and of B those of factor i.

    Samples in another order, or cut to a length that fits, would give indices that are wrong and look right.
    """
    names, number_of = varied(ds), len(factors(ds))
    for own, name in ((own, name) for own, group in enumerate(factors(ds).values()) for name in group):
        parameter = names[name]
        a, b, *mixed = parameter.values.reshape(number_of + 2, n)
        for number, block in enumerate(mixed):
            wrong = np.flatnonzero(block != (b if number == own else a))
            if wrong.size:
                at = (number + 2) * n + int(wrong[0])
                reason = (
                    f"is not in the order A, B, AB_0, ...: {name} of sample {at} is not that of {'AB'[number == own]}"
                )
                raise InputError("ds", counted(len(parameter.values), "sample"), f"{reason} at its place", allowed)


def _indices(blocks: Floats, chosen: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return first-order and total indices (resamples, names) of choices of base samples (resamples, n)."""
    parts = {"f_A": blocks[0][chosen], "f_B": blocks[1][chosen], "f_AB": blocks[2:][:, chosen]}
    with np.errstate(invalid="ignore", divide="ignore"):  # a resample of equal values has no indices
        found = scipy.stats.sobol_indices(func=parts, n=chosen.shape[1])
    shape = (len(chosen), len(blocks) - 2)
    return found.first_order.reshape(shape), found.total_order.reshape(shape)


def _ends(blocks: Floats, settings: Settings) -> tuple[Floats, Floats]:
    """Return the low and high ends of the indices' intervals, each (2, names): first order and total."""

    def statistic_of(numbers: NDArray[np.int64], axis: int) -> Floats:  # noqa: ARG001  # scipy gives it: the last
        chosen = np.atleast_2d(numbers).astype(int)
        return np.moveaxis(np.array(_indices(blocks, chosen)), 1, -1)

    made = scipy.stats.bootstrap(
        (np.arange(blocks.shape[1]),),
        statistic_of,
        n_resamples=settings.resamples,
        method="percentile",
        vectorized=True,
        batch=max(1, _BATCH // blocks.size),
        rng=np.random.default_rng(settings.seed),
    )
    tail = (1 - settings.confidence) / 2
    low, high = np.nanquantile(made.bootstrap_distribution, [tail, 1 - tail], axis=-1)
    return low, high


def _chance(values: Floats, means: Floats) -> float:
    """Return the mean variance of a point's mean over its replicas, over the variance of the means."""
    known = np.isfinite(values).sum(axis=-1)
    rows = known > 1
    if not rows.any():
        return float("nan")
    own = np.nanvar(values[rows], axis=-1, ddof=1) / known[rows]
    return float(own.mean() / means.var())
