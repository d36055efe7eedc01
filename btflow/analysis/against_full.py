"""What flow is off by, found at the points that a sweep ran in full, too, and full's figures estimated with their help.

Of each such point replica 0 was run in full; it makes a pair with the same replica in flow, of the same seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
import xarray as xr
from numpy.typing import NDArray

from btflow.analysis import design
from btflow.analysis.bootstrap import Settings, point_means
from btflow.analysis.cells import cells
from btflow.analysis.design import REPLICA, SAMPLE, Floats
from btflow.errors import InputError
from btflow.sweeps.results import CHECK, DONE, FIRST, FULL

STATISTICS = ("completion_mean", "completion_p10", "completion_p90", "seed_copies")
"""What is compared of swarms unless something else is asked for."""
OF_LINKS = ("goodput", "jain_index", "bottleneck_utilisation", "bottleneck_delay_mean", "bottleneck_delay_p95")
"""Of link experiments."""

SEED = f"{CHECK}_seed"
_NUMBER = "number of the point"
_CHECKED = 'btflow.sweep(..., fidelity="flow", check=20), or btflow sweep --fidelity flow --check 20'
_EPSILON = 1e-9


@dataclass(frozen=True)
class Pairs:
    """The points at which both fidelities have a value of a statistic."""

    points: NDArray[np.int64]
    """Number of each in C order over the dimensions of ``btflow.analysis.design.statistic`` (pairs,)."""
    flow: Floats
    """Of replica 0 (pairs,)."""
    full: Floats
    """Of the same in full (pairs,)."""


def flow_error(ds: xr.Dataset, statistics: Sequence[str] | None = None, *, confidence: float = 0.9) -> xr.Dataset:
    """Return by how much flow differs from full at the points that were run in both, relative to full.

    The difference of a point is flow / full - 1 of one swarm, replica 0; where a statistic is not above zero at all
    these points, flow less full over the mean size of full. The bias is the mean over the points, with the interval of
    Student's t over as many observations as there are points: what holds for as few points as there are. The two swarms
    have one seed but not all of their chance in common: what is left of it widens the interval and the spread. Of a
    single point there is no interval (NaN).

    Args:
        ds: A sweep in flow with a check, or a part of it.
        statistics: Names; ``STATISTICS`` or ``OF_LINKS`` by default, as far as the sweep has them.
        confidence: Share of intervals that hold the bias that endlessly many points would have.

    Returns:
        Along ``statistic``, as shares of full: ``bias``, the ends of its interval ``bias_low`` and ``bias_high``,
        ``spread``, the standard deviation of one swarm's difference, and ``effect``, that of flow's means over all
        points of the sweep over their mean; ``exceeds``, whether the far end of the interval (of a single point the
        bias) or the spread is greater than the effect; ``points`` compared. All is NaN, and ``points`` is 0, where the
        statistic has no value.

    Raises:
        InputError: The sweep has no check, a statistic is unknown, or the level is out of range.
    """
    ds = _with_check(ds)
    level = float(Settings(confidence=confidence).checked().confidence)
    if isinstance(statistics, str):
        statistics = [statistics]
    if statistics is None:
        statistics = [name for name in (*STATISTICS, *OF_LINKS) if name in ds]
    names = list(dict.fromkeys(statistics))
    rows = [_error(ds, name, level) for name in names]
    found = {name: ("statistic", [row[name] for row in rows], _ERROR[name]) for name in _ERROR}
    kept = {name: ds.attrs[name] for name in ("model", "scenario_hash", "version") if name in ds.attrs}
    return xr.Dataset(found, {"statistic": names}, kept | {"confidence": level})


_ERROR = {
    name: {"units": "1", "long_name": meaning}
    for name, meaning in {
        "bias": "mean difference of flow from full, over full",
        "bias_low": "low end of the interval of the bias",
        "bias_high": "high end of the interval of the bias",
        "spread": "standard deviation of one swarm's difference",
        "effect": "standard deviation of flow's means over the points of the sweep, over their mean",
        "exceeds": "whether the difference may be greater than the effect",
        "points": "points compared",
    }.items()
}


def _error(ds: xr.Dataset, variable: str, confidence: float) -> dict[str, Any]:
    done = ds[variable].where(ds["status"] == DONE) if variable in ds.data_vars else None
    if done is not None and done.dtype.kind == "f" and not np.isfinite(done).any():  # no swarm has a value
        return dict.fromkeys(_ERROR, np.nan) | {"exceeds": False, "points": 0}
    flow = design.statistic(ds, variable)
    pairs = _pairs(ds, variable, flow)
    differences, means = _relative(pairs), point_means(flow.values.reshape(-1, flow.shape[-1]))
    number, known = len(differences), means[np.isfinite(means)]
    bias = float(differences.mean()) if number else np.nan
    spread = float(differences.std(ddof=1)) if number > 1 else np.nan
    half = _quantile(confidence, number - 1) * spread / np.sqrt(number) if number > 1 else np.nan
    effect = float(known.std(ddof=1) / abs(known.mean())) if known.size > 1 and known.mean() else np.nan
    return {
        "bias": bias,
        "bias_low": bias - half,
        "bias_high": bias + half,
        "spread": spread,
        "effect": effect,
        "exceeds": max(abs(bias) + np.nan_to_num(half), np.nan_to_num(spread)) > effect,
        "points": number,
    }


def _quantile(confidence: float, freedom: int) -> float:
    """Return half the width of an interval of Student's t."""
    return float(scipy.stats.t.ppf((1 + confidence) / 2, freedom))


def _relative(pairs: Pairs) -> Floats:
    """Return the difference of each pair over full."""
    if (pairs.full > 0).all() and (pairs.flow > 0).all():
        return pairs.flow / pairs.full - 1.0
    difference, size = pairs.flow - pairs.full, np.abs(pairs.full).mean()
    return np.asarray(np.divide(difference, size, out=np.where(difference == 0, 0.0, np.nan), where=size > 0))


def corrected(
    ds: xr.Dataset,
    variable: str,
    x: str | None = None,
    by: str | None = None,
    *,
    bins: int = 10,
    by_bins: int = 3,
    confidence: float = 0.9,
) -> xr.Dataset:
    """Return the mean that full would give over the points of a sweep in flow, estimated with those run in both.

    What is estimated is an expectation over seeds: the mean that endlessly many replicas of these points would have in
    full. Flow is a control variate of full, with its mean known from all points (Gorodetsky, Geraci, Eldred and
    Jakeman, arXiv 1811.04988, section 2): full = a + b flow is fitted to the pairs of the checked points, swarm against
    swarm, by least squares weighted with 1 / flow^2, as errors grow with what they are of (alike for a statistic that
    is not above zero everywhere). The mean over some points, checked ones too, is a + b times that of flow's means.

    The interval is of this regression (Royall, "On finite population sampling theory under certain linear regression
    models", Biometrika 57, 1970), with Student's t of as many degrees of freedom as there are checked points less two.
    One swarm in full for each point cannot tell how much of a residual is chance and how much the point's own, that is,
    what no seed would change. So all of it is both: the interval holds the chance of one swarm, and is as wide as the
    worse of the two needs. That is hardly too wide for the mean over all points, and too wide for few points or a
    single one where swarms of one point differ much. What chance both fidelities share is not in the residuals; it is
    added from the differences between the replicas in flow, of which there must be two. Chance that all points share
    (common random numbers) is not in it.

    Args:
        ds: A sweep in flow with a check, or a part of it; the pairs of the part count alone.
        variable: A statistic for each swarm.
        x: A varied name, along which there is a mean for each value; without, there is one over all points.
        by: Another one.
        bins: Most bins along `x`, if it was sampled.
        by_bins: The same of `by`.
        confidence: Share of intervals, at least, that hold what full gives.

    Returns:
        In the unit of the statistic ``mean``, the ends of its interval ``mean_low`` and ``mean_high``, and
        ``flow_mean`` of the same points; ``points`` and how many of them were checked, ``checks``. Over all points
        (without `x`) also ``point``, ``point_low`` and ``point_high`` along the dimensions of the sweep: the mean in
        full at each. The attrs have the ``coefficient`` b, the ``intercept`` a, the ``correlation`` of the pairs, the
        degrees of ``freedom``, and ``narrowing``: how wide the interval of the mean over all points is as a share of
        that of the mean of the swarms in full alone.

    Raises:
        InputError: There is no check, or it has values at fewer than three points; a name is unknown, or the level out
            of range.
    """
    ds = _with_check(ds)
    level = float(Settings(confidence=confidence).checked().confidence)
    if x is None and by is not None:
        raise InputError("by", by, "is given without x", "x too")
    flow = design.statistic(ds, variable)
    fit = fitted(_pairs(ds, variable, flow), flow.values.reshape(-1, flow.shape[-1]), level)
    attrs = design.source(ds, variable) | {"confidence": level} | fit.attrs()
    units = {key: value for key, value in ds[variable].attrs.items() if key == "units"}
    text = str(ds[variable].attrs.get("long_name", variable))
    if x is None:
        found = _rows([fit.all_points(ds)], fit, (), (), units, text)
        shape, dims = flow.shape[:-1], flow.dims[:-1]
        ends = fit.points().reshape(*shape, 3)
        for number, name in enumerate(("point", "point_low", "point_high")):
            found[name] = dims, ends[..., number], units | {"long_name": _title(name, text, "")}
        return xr.Dataset(found, {k: v for k, v in flow.coords.items() if REPLICA not in v.dims}, attrs)
    names, fields = ((x,), ("x",)) if by is None else ((x, by), ("x", "by"))
    content = cells(_numbered(ds, flow), _NUMBER, names, fields, (bins, by_bins)[: len(names)])
    groups = [point_means(points).astype(int) for points in content.points]
    return xr.Dataset(_rows(groups, fit, content.dims, content.shape, units, text), content.coordinates(), attrs)


@dataclass(frozen=True)
class Fit:
    """Full as a linear function of flow, and what it says of points."""

    flow: Floats
    """Mean of flow at each point over its replicas, NaN where there is none (points,)."""
    pairs: Pairs
    """What it was fitted to."""
    inverse: Floats
    """What the pairs in full are multiplied with to get the coefficients (2, pairs)."""
    size: Floats
    """Standard deviation of the residual at each point, over that at a flow of the scale (points,)."""
    variance: float
    """Of a residual at a flow of the scale."""
    chance: Floats
    """Variance of flow's mean at each point, by seeds; 0 if there is one replica, which cannot tell it (points,)."""
    chance_freedom: int
    """Degrees of freedom of this."""
    freedom: int
    """Of the residuals."""
    confidence: float

    @property
    def coefficients(self) -> Floats:
        """Intercept and slope (2,)."""
        return np.asarray(self.inverse @ self.pairs.full)

    def half(self, residuals: Floats | float, chance: Floats | float) -> Floats:
        """Return half the width of intervals by the variances that residuals and flow's own chance give an error.

        Each has a Student's t of its own, of as many degrees of freedom as it was estimated with; as the two are
        independent, the squares add up.
        """
        of_residuals = _quantile(self.confidence, self.freedom) ** 2 * residuals
        return np.asarray(np.sqrt(of_residuals + _quantile(self.confidence, max(1, self.chance_freedom)) ** 2 * chance))

    def mean(self, points: NDArray[np.int64]) -> tuple[float, float, float]:
        """Return full's mean over some points, and the ends of its interval; NaN for none.

        It is a sum of the pairs in full with some weights. Its error has two parts. One is the error of these values:
        their residuals, weighted. The other is what the points' own residuals have for a mean, which counts as much as
        residuals are no chance: where it is in the pairs, too, it takes away from the first. So the variance is
        greatest with all of them chance or none, whichever is more.
        """
        number = len(points)
        if not number:
            return np.nan, np.nan, np.nan
        weights = np.array([1.0, self.flow[points].mean()]) @ self.inverse
        squares, inside = np.square(self.size), np.isin(self.pairs.points, points)
        of_pairs = squares[self.pairs.points]
        own = squares[points].sum() / number**2 - 2.0 * (weights * of_pairs)[inside].sum() / number
        residuals = self.variance * (np.square(weights) @ of_pairs + max(0.0, own))
        chance = np.square(self.coefficients[1]) * self.chance[points].sum() / number**2
        mean, half = float(weights @ self.pairs.full), float(self.half(residuals, chance))
        return mean, mean - half, mean + half

    def points(self) -> Floats:
        """Return full's mean at each point, and the ends of its interval (points, 3)."""
        basis, checked = np.column_stack([np.ones_like(self.flow), self.flow]), self.pairs.points
        own, of_pairs = np.square(self.size), np.square(self.size)[checked]
        pairs = np.einsum("ij,jk,ik->i", basis, (self.inverse * of_pairs) @ self.inverse.T, basis)
        own[checked] -= 2.0 * (basis[checked] * self.inverse.T).sum(axis=1) * of_pairs
        residuals = self.variance * (pairs + np.maximum(0.0, own))
        found, half = basis @ self.coefficients, self.half(residuals, np.square(self.coefficients[1]) * self.chance)
        return np.column_stack([found, found - half, found + half])

    def all_points(self, ds: xr.Dataset) -> NDArray[np.int64]:
        """Return the points that a mean over all is of; of a Saltelli design those that are draws of their own."""
        which = np.isfinite(self.flow)
        return np.flatnonzero(which & design.independent(ds) if design.is_sample(ds) else which)

    def attrs(self) -> dict[str, Any]:
        """Return what is said of it."""
        flow, full = self.pairs.flow, self.pairs.full
        number, alike = len(full), flow.std() == 0 or full.std() == 0
        alone = _quantile(self.confidence, number - 1) * np.sqrt(full.var(ddof=1) / number)
        _, low, high = self.mean(np.flatnonzero(np.isfinite(self.flow)))
        return {
            "checked": number,
            "intercept": float(self.coefficients[0]),
            "coefficient": float(self.coefficients[1]),
            "correlation": np.nan if alike else float(np.corrcoef(flow, full)[0, 1]),
            "freedom": self.freedom,
            "narrowing": float((high - low) / (2 * alone)) if alone > 0 else np.nan,
        }


def fitted(pairs: Pairs, swarms: Floats, confidence: float) -> Fit:
    """Return the fit to the checked points; `swarms` has flow at each point (points, replicas)."""
    if len(pairs.points) < 3:
        reason = f"has values in full at {len(pairs.points)} points that have one in flow: two are for the coefficients"
        raise InputError("ds", None, reason, "three checked points or more, better twenty")
    flow = point_means(swarms)
    known = flow[np.isfinite(flow)]
    size = flow / np.abs(known).mean() if (known > 0).all() and (pairs.flow > 0).all() else np.ones_like(flow)
    weight = 1.0 / size[pairs.points]
    basis = np.column_stack([np.ones_like(pairs.flow), pairs.flow])
    weighted = basis * weight[:, None]
    length = np.maximum(np.linalg.norm(weighted, axis=0), np.finfo(float).tiny)  # no unit matters to what is zero
    inverse = np.linalg.pinv(weighted / length, rcond=_EPSILON) / length[:, None] * weight
    freedom = len(pairs.points) - int(np.linalg.matrix_rank(weighted / length, tol=_EPSILON))
    errors = (pairs.full - basis @ (inverse @ pairs.full)) * weight
    number = np.isfinite(swarms).sum(axis=1)
    chance_freedom = int(np.maximum(number - 1, 0).sum())
    squares = np.nansum(np.square((swarms - flow[:, None]) / size[:, None]))
    return Fit(
        flow=flow,
        pairs=pairs,
        inverse=inverse,
        size=size,
        variance=float(errors @ errors) / freedom,
        chance=np.square(size) * squares / max(1, chance_freedom) / np.maximum(number, 1),
        chance_freedom=chance_freedom,
        freedom=freedom,
        confidence=confidence,
    )


def _rows(
    groups: list[NDArray[np.int64]],
    fit: Fit,
    dims: tuple[str, ...],
    shape: tuple[int, ...],
    units: dict[str, Any],
    text: str,
) -> dict[str, Any]:
    """Return the variables of the means over some groups of points."""
    means = np.array([fit.mean(points) for points in groups])
    flow = [fit.flow[points].mean() if len(points) else np.nan for points in groups]
    columns = dict(zip(("mean", "mean_low", "mean_high"), means.T, strict=True)) | {"flow_mean": np.array(flow)}
    found: dict[str, Any] = {
        name: (dims, values.reshape(shape), units | {"long_name": _title(name, text, "mean of ")})
        for name, values in columns.items()
    }
    numbers = {
        "points": ("points averaged over", [len(points) for points in groups]),
        "checks": ("of these, points run in full", [int(np.isin(fit.pairs.points, points).sum()) for points in groups]),
    }
    for name, (meaning, counted) in numbers.items():
        found[name] = dims, np.array(counted).reshape(shape), {"units": "1", "long_name": meaning}
    return found


def _title(name: str, text: str, of: str) -> str:
    if name == "flow_mean":
        return f"{of}{text}, in flow"
    if name.endswith(("_low", "_high")):
        return f"{name.split('_')[-1]} end of the interval of the {name.split('_')[0]}"
    return f"{of}{text}, in full"


def _numbered(ds: xr.Dataset, flow: xr.DataArray) -> xr.Dataset:
    """Return a sweep whose statistic is the number of each swarm's point, where there is a value."""
    shape = flow.shape[:-1]
    numbers = xr.DataArray(np.arange(np.prod(shape, dtype=int), dtype=float).reshape(shape), dims=flow.dims[:-1])
    return ds.assign({_NUMBER: numbers.where(flow.notnull())})


def has_check(ds: xr.Dataset) -> bool:
    """Return whether points of a sweep were run in full besides."""
    return f"{FULL}status" in ds


def _with_check(ds: xr.Dataset) -> xr.Dataset:
    """Return a sweep with a check; an InputError for one without."""
    ds = design.checked(ds)
    if not has_check(ds):
        raise InputError("ds", None, "has no check: no point of it was run in full, too", _CHECKED)
    return ds


def point_pairs(ds: xr.Dataset, variable: str) -> Pairs:
    """Return the points at which both fidelities have a value; an InputError if there is no check, or no such point."""
    ds = _with_check(ds)
    pairs = _pairs(ds, variable, design.statistic(ds, variable))
    if not len(pairs.points):
        raise InputError("variable", variable, "has no value in both fidelities at any point", _CHECKED)
    return pairs


def _pairs(ds: xr.Dataset, variable: str, flow: xr.DataArray) -> Pairs:
    """Return the points at which both fidelities have a value of a statistic; `flow` has it for each swarm."""
    full = in_full(ds)
    if variable not in full:
        raise InputError("variable", variable, "was not found in full", "a statistic of both fidelities")
    rows, points = matched(ds, tuple(str(dim) for dim in flow.dims[:-1]))
    done = design.swarm_status(full["status"].values) == DONE
    values = np.where(done, full[variable].astype(float).values, np.nan)[rows]
    # the same shape also of a part without replica 0, of which there are no rows
    ours = flow.values.reshape(-1, flow.shape[-1])[points, (flow[REPLICA].values == FIRST).argmax()]
    both = np.isfinite(values) & np.isfinite(ours)
    return Pairs(points[both], ours[both], values[both])


def in_full(ds: xr.Dataset) -> xr.Dataset:
    """Return what a sweep's checked points gave in full, under the names that it has in flow, along ``check``.

    Raises:
        InputError: Something has been done to it that took its form.
    """
    names = {str(name): str(name).removeprefix(FULL) for name in ds.variables if str(name).startswith(FULL)}
    found = ds[list(names)].drop_vars([*names.values()], errors="ignore").rename(names)
    found = found.isel({REPLICA: 0}, missing_dims="ignore")  # along which ``checked`` lays all of a selected replica
    if CHECK not in found["status"].dims:
        found = found.expand_dims(CHECK)
    if found["status"].dims != (CHECK,):
        dims = ", ".join(map(str, found["status"].dims))
        reason = f"has lost the form of its check: {FULL}status lies along {dims}"
        raise InputError("ds", None, reason, "a part chosen with sel or isel")
    return found


def matched(ds: xr.Dataset, dims: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places along ``check`` that are points of a sweep or of a part, and these points' numbers.

    The numbers are in C order over `dims`. Points are told by the values of what is varied, and those of a sample by
    their numbers. A part without replica 0 has none.

    Raises:
        InputError: A coordinate that tells them was dropped.
    """
    names = {SAMPLE: CHECK} if SAMPLE in ds.coords else _names(ds)
    for name in (*names, *names.values()):
        if name not in ds.coords:
            raise InputError("ds", None, f"has lost {name}, which tells its points", "a part with all coordinates")
    kept = np.full(np.size(ds[CHECK]), (ds[REPLICA].values == FIRST).any())
    index = np.zeros((len(dims), kept.size), np.int64)
    for number, dim in enumerate(dims):
        there = [name for name in names if ds[name].dims == (dim,)]
        places = {key: place for place, key in enumerate(_keys(ds, there))}
        found = [places.get(key, -1) for key in _keys(ds, [names[name] for name in there])]
        index[number] = found
    kept &= (index >= 0).all(axis=0)
    chosen = [name for name in names if ds[name].ndim == 0]
    if chosen:
        (wanted,) = _keys(ds, chosen)
        kept &= np.array([key == wanted for key in _keys(ds, [names[name] for name in chosen])])
    rows = np.flatnonzero(kept)
    shape = tuple(ds.sizes[dim] for dim in dims)
    points = np.ravel_multi_index(tuple(index[:, rows]), shape) if dims else np.zeros(rows.size, np.int64)
    return rows, np.asarray(points, np.int64)


def _names(ds: xr.Dataset) -> dict[str, str]:
    """Return what was varied, and what its values at the checked points are called."""
    found = (str(name) for name in ds.coords if str(name).startswith(f"{CHECK}_") and name != SEED)
    return {
        name: f"{CHECK}_{name}" for name in (*design.declared(ds), *(name.removeprefix(f"{CHECK}_") for name in found))
    }


def _keys(ds: xr.Dataset, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the values of some coordinates along their dimension as texts, in which nothing is unequal to itself."""
    columns = [list(map(str, np.ravel(ds[name].values).tolist())) for name in names]
    return list(zip(*columns, strict=True))
