"""Means of a statistic along varied names, how far each name moves it, and differences of two variants pair by pair."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any, Unpack

import numpy as np
import xarray as xr

from btflow.analysis import bootstrap, design
from btflow.analysis.cells import Axis, Cells, cells, scheme_of
from btflow.analysis.design import REPLICA, SAMPLE, Floats
from btflow.errors import InputError
from btflow.swarm.replica import mean_of_known


@bootstrap.with_intervals
def mean_effect(
    ds: xr.Dataset,
    variable: str,
    over: str,
    reference: object = None,
    *,
    bins: int = 10,
    **intervals: Unpack[bootstrap.Intervals],
) -> xr.Dataset:
    """Return the mean of a statistic at each value of one varied name, averaged over the others.

    Every point counts alike, whatever the number of its replicas. In a grid a combination of the other names counts
    only if it has a result at every value of `over` (but those without any); ``left_out`` says how many do not.

    Args:
        ds: A sweep: a grid, or samples of a design.
        variable: A statistic for each swarm.
        over: The varied name.
        reference: A value of `over`, in SI units or as text with a unit, that the others are compared with.
        bins: Most bins along a number that was sampled.
        **intervals: ``confidence``, ``resamples`` and ``seed``, as in ``btflow.analysis.bootstrap.Settings``.

    Returns:
        Along `over` ``mean`` [unit of the statistic] with the ends of its interval ``mean_low`` and ``mean_high``,
        ``points`` averaged over and ``missing`` swarms; with a reference also ``difference`` from it and ``ratio`` to
        it, with theirs. An interval is NaN where nothing was repeated. The attrs say how it was made, and how many
        ``swarms`` there are, ``failed``, were ``not_run``, or are done with ``no_value`` of the statistic.

    Raises:
        InputError: A name or value is unknown, a setting is out of range, or no swarm has a value.
    """
    ds, settings = design.checked(ds), bootstrap.Settings.of(intervals, "bins")
    content = cells(ds, variable, (over,), ("over",), (bins,))
    at = None if reference is None else _reference(content.axes[0], reference)
    means = _Means(content, settings)
    found = means.dataset(ds, variable)
    if at is None:
        return found
    units = ds[variable].attrs.get("units", "1")
    found = found.assign(means.change("difference", at, units) | means.change("ratio", at, "1"))
    return found.assign_attrs(reference=content.axes[0].values[at].item())


@bootstrap.with_intervals
def response(
    ds: xr.Dataset,
    variable: str,
    x: str,
    by: str | None = None,
    *,
    bins: int = 10,
    by_bins: int = 3,
    **intervals: Unpack[bootstrap.Intervals],
) -> xr.Dataset:
    """Return the mean of a statistic along `x`, for each value of `by` if given, averaged over the other names.

    Args, intervals and errors are those of ``mean_effect``; `by_bins` is the most bins along `by`.

    Returns:
        ``mean``, ``mean_low``, ``mean_high``, ``points`` and ``missing`` along `x` and `by`.
    """
    ds, settings = design.checked(ds), bootstrap.Settings.of(intervals, "bins", "by_bins")
    names, fields = ((x,), ("x",)) if by is None else ((x, by), ("x", "by"))
    content = cells(ds, variable, names, fields, (bins, by_bins)[: len(names)])
    return _Means(content, settings).dataset(ds, variable)


class _Means:
    """The mean of each cell, with intervals; resamples are drawn when they are needed, not kept."""

    def __init__(self, content: Cells, settings: bootstrap.Settings) -> None:
        self.cells = content
        self.settings = settings
        self.mean = cell_means(content)

    def dataset(self, ds: xr.Dataset, variable: str) -> xr.Dataset:
        """Return means, intervals and counts with everything that tells where they are from."""
        attrs = dict(ds[variable].attrs)
        content, settings = self.cells, self.settings
        drawn = [(mean, cell_draws(content, settings, n), cell_spread(content, n)) for n, mean in enumerate(self.mean)]
        ends = np.array([bootstrap.interval(*each, settings) for each in drawn])
        count = np.array([len(points) for points in self.cells.points])
        text = f"mean of {attrs.get('long_name', variable)}"
        columns = _with_ends("mean", self.mean, ends, attrs | {"long_name": text}) | {
            "points": (count, {"units": "1", "long_name": "points averaged over"}),
            "missing": (self.cells.lost, {"units": "1", "long_name": f"{design.runs(ds)} without a value"}),
        }
        data = {n: (self.cells.dims, v.reshape(self.cells.shape), a) for n, (v, a) in columns.items()}
        found = xr.Dataset(data, self.cells.coordinates(), describe(ds, variable, self.cells.scheme, self.settings))
        if not self.cells.balanced:
            text = "no combination of the other names has a result in every cell: the means are over different points"
            warnings.warn(f"{variable}: {text}", stacklevel=3)
        return found.assign_attrs(left_out=self.cells.left_out, balanced=int(self.cells.balanced))

    def change(self, kind: str, at: int, units: str) -> dict[str, Any]:
        """Return each cell's difference from a cell, or its ratio to it, with intervals."""
        of, content = np.subtract if kind == "difference" else ratio, self.cells
        values = of(self.mean, self.mean[at])
        ends = np.full((len(self.mean), 2), np.nan)
        reference, own = cell_draws(content, self.settings, at), cell_spread(content, at)
        for number in range(len(self.mean)):
            if number != at:
                drawn = of(cell_draws(content, self.settings, number), reference)
                both = together(cell_spread(content, number), own, content.scheme)
                ends[number] = bootstrap.interval(values[number], drawn, both, self.settings)
        ends[at] = float(kind == "ratio")
        name = "difference from" if kind == "difference" else "ratio to"
        attrs = {"units": units, "long_name": f"{name} the mean at the reference"}
        return {n: (self.cells.dims, v, a) for n, (v, a) in _with_ends(kind, values, ends, attrs).items()}


def ratio(of: Floats, to: Any) -> Floats:
    """Return a ratio; NaN where the divisor is zero."""
    of, to = np.broadcast_arrays(np.asarray(of, float), np.asarray(to, float))
    return np.asarray(np.divide(of, to, out=np.full(of.shape, np.nan), where=to != 0))


def together(one: bootstrap.Spread, other: bootstrap.Spread, scheme: bootstrap.Scheme) -> bootstrap.Spread:
    """Return the spread of a comparison of two cells: replica numbers are drawn once for both."""
    return one if scheme == "replicas" else one + other


def cell_means(content: Cells) -> Floats:
    """Return the mean of each cell's points' means (cells,); NaN for an empty cell."""
    return np.array([bootstrap.point_means(points).mean() if len(points) else np.nan for points in content.points])


def cell_draws(content: Cells, settings: bootstrap.Settings, number: int) -> Floats:
    """Return the resamples of one cell's mean (resamples,)."""
    points = content.points[number]
    if not len(points):
        return np.full(settings.resamples, np.nan)
    return bootstrap.draws(points, content.scheme, settings, 0 if content.scheme == "replicas" else number)


def cell_spread(content: Cells, number: int) -> bootstrap.Spread:
    """Return what the variance of one cell's mean is made of; nothing for an empty cell."""
    points = content.points[number]
    return bootstrap.spread(points, content.scheme) if len(points) else bootstrap.Spread(np.empty(0), np.empty(0))


def describe(ds: xr.Dataset, variable: str, scheme: bootstrap.Scheme, settings: bootstrap.Settings) -> dict[str, Any]:
    """Return the attrs of a result: where it is from, what is missing in it, and how its intervals were made."""
    return design.source(ds, variable) | settings.attrs(scheme)


def _with_ends(
    name: str, values: Floats, ends: Floats, attrs: dict[str, Any]
) -> dict[str, tuple[Floats, dict[str, Any]]]:
    sides = {f"{name}_{side}": number for number, side in enumerate(("low", "high"))}
    texts = {key: attrs | {"long_name": f"{key.split('_')[-1]} end of the interval of the {name}"} for key in sides}
    return {name: (values, attrs)} | {key: (ends[:, number], texts[key]) for key, number in sides.items()}


def _reference(axis: Axis, reference: object) -> int:
    """Return the number of the cell that the reference is in."""
    where = design.matches(axis.parameter, reference, "reference")
    found = [number for number, members in enumerate(axis.members) if (members & where).any()]
    if not found and axis.edges is not None:
        value = design.si_number(axis.parameter, reference, "reference")
        found = [n for n, (least, greatest) in enumerate(axis.edges) if least <= value <= greatest]
    if not found:
        allowed = design.shown(axis.parameter.values, axis.parameter)
        raise InputError("reference", reference, f"is not a value of {axis.name}", allowed)
    return found[0]


@bootstrap.with_intervals
def sensitivity(
    ds: xr.Dataset,
    variable: str,
    base: Mapping[str, object] | None = None,
    *,
    bins: int = 5,
    **intervals: Unpack[bootstrap.Intervals],
) -> xr.Dataset:
    """Return the swing of a statistic over the values of each varied name: its greatest less its least mean.

    Args:
        ds: A sweep.
        variable: A statistic for each swarm.
        base: Values at which the other names are held, in SI units or as texts, one for every varied name of a grid.
            Without it the means are over the other names.
        bins: Most bins along a number that was sampled; with more of them, chance alone makes larger swings.
        **intervals: ``confidence``, ``resamples`` and ``seed``, as in ``btflow.analysis.bootstrap.Settings``.

    Returns:
        Along ``parameter``, the largest swing first: ``least`` and ``greatest`` mean, ``least_at`` and ``greatest_at``
        (the values as text), ``first`` and ``last`` (the means at its first and last value), ``swing`` with the ends
        ``swing_low`` and ``swing_high`` of the interval of that difference, ``left_out`` points as in ``mean_effect``;
        and ``base``, the mean over all points or at the base. Names with a single value are left out.

    Raises:
        InputError: A name or value is unknown, nothing was varied, or no swarm has a value.
    """
    ds, settings = design.checked(ds), bootstrap.Settings.of(intervals, "bins")
    values = design.statistic(ds, variable)
    names = [name for name, parameter in design.varied(ds).items() if len(set(parameter.values.tolist())) > 1]
    if not names:
        raise InputError("ds", None, "has no varied name with two values", "a sweep over at least one")
    held = {} if base is None else _held(ds, base, names)
    if design.is_sample(ds):
        values = values.isel({SAMPLE: design.independent(ds)})
    centre = mean_of_known(bootstrap.point_means(values.isel(held).values))
    if not np.isfinite(centre):
        raise InputError("base", dict(base or {}), "has no result", "a point that has one")
    rows = {name: _row(_cut(ds, held, name), variable, name, settings, bins) for name in names}
    order = sorted(rows, key=lambda name: -float(rows[name]["swing"]))
    columns = {key: ("parameter", np.array([rows[name][key] for name in order])) for key in rows[names[0]]}
    found = xr.Dataset(columns | {"base": ((), centre)}, {"parameter": order})
    units = ds[variable].attrs.get("units", "1")
    for key in ("least", "greatest", "first", "last", "swing", "swing_low", "swing_high", "base"):
        found[key].attrs |= {"units": units, "long_name": f"{key.replace('_', ' ')} of {variable}"}
    about = {"base_values": repr(dict(base)) if base else ""}
    return found.assign_attrs(describe(ds, variable, scheme_of(ds), settings) | about)


def _held(ds: xr.Dataset, base: Mapping[str, object], names: list[str]) -> dict[str, int]:
    """Return the position of the base along each dimension; every name must have a value."""
    if not isinstance(base, Mapping):
        raise InputError("base", base, "is not a mapping", "a value for each of " + ", ".join(names))
    if design.is_sample(ds):
        raise InputError("base", dict(base), "is not in a sample", "a grid, or no base: the means over the other names")
    missing = [name for name in names if name not in base]
    if missing:
        raise InputError(
            "base", dict(base), f"has no value for {missing[0]}", "a value for each of " + ", ".join(names)
        )
    given = [(design.find(ds, name, "base"), value, f"base[{name!r}]") for name, value in base.items()]
    dims = dict.fromkeys(parameter.dim for parameter, _, _ in given)
    return {dim: design.position([one for one in given if one[0].dim == dim]) for dim in dims}


def _cut(ds: xr.Dataset, held: dict[str, int], name: str) -> xr.Dataset:
    """Return the part of a sweep in which only one name varies, kept as dimensions of length one."""
    own = design.find(ds, name, "base").dim
    return ds.isel({dim: [at] for dim, at in held.items() if dim != own})


def _row(ds: xr.Dataset, variable: str, name: str, settings: bootstrap.Settings, bins: int) -> dict[str, float | str]:
    """Return the figures of one name."""
    content = cells(ds, variable, (name,), ("ds",), (bins,))
    mean = cell_means(content)
    low, high = int(np.nanargmin(mean)), int(np.nanargmax(mean))
    drawn = cell_draws(content, settings, high) - cell_draws(content, settings, low)
    both = together(cell_spread(content, high), cell_spread(content, low), content.scheme)
    ends = bootstrap.interval(mean[high] - mean[low], drawn, both, settings) if low != high else (0.0, 0.0)
    means = {"least": mean[low], "greatest": mean[high], "first": mean[0], "last": mean[-1]}
    swing = {"swing": mean[high] - mean[low], "swing_low": ends[0], "swing_high": ends[1]}
    texts = {"least_at": content.axes[0].text(low), "greatest_at": content.axes[0].text(high)}
    return means | swing | texts | {"left_out": content.left_out}


_KINDS = {"difference": "difference of b from a", "ratio": "ratio of b to a"}


@bootstrap.with_intervals
def paired_difference(
    ds: xr.Dataset, variable: str, dim: str, a: object, b: object, **intervals: Unpack[bootstrap.Intervals]
) -> xr.Dataset:
    """Return how a statistic at value `b` of a varied name differs from that at `a`, all else equal.

    With common random numbers swarms are paired by point and replica, and the interval is of the differences within
    pairs; without them the replicas have nothing to do with each other and pairs are of points. A pair counts if both
    swarms have a result.

    Args:
        ds: A sweep over a grid.
        variable: A statistic for each swarm.
        dim: The varied name (or one of a zipped dimension).
        a: The value compared with, in SI units or as text with a unit.
        b: The value compared.
        **intervals: ``confidence``, ``resamples`` and ``seed``, as in ``btflow.analysis.bootstrap.Settings``.

    Returns:
        ``difference`` (b - a) and ``ratio`` (mean at b over mean at a) at each of the other points, and over all of
        them ``mean_difference`` and ``mean_ratio`` (ratio of the means), each with the ends ``_low`` and ``_high`` of
        its interval; ``pairs`` at each point; ``narrowing``, the width of the mean difference's interval over the width
        it has if replicas are not paired. attrs["paired_by"] is "point and replica" or "point".

    Raises:
        InputError: A name or value is unknown, the sweep is a sample, whose points have no pairs, or there is no pair.
    """
    ds, settings = design.checked(ds), bootstrap.Settings.of(intervals)
    values = design.statistic(ds, variable)
    parameter = design.find(ds, dim, "dim")
    if design.is_sample(ds):
        raise InputError(
            "dim", dim, "is not paired: the points of a sample differ in every name", "a grid; or use mean_effect"
        )
    at, to = (design.position([(parameter, value, field)]) for field, value in {"a": a, "b": b}.items())
    if at == to:
        raise InputError("b", b, "is the value of a", "another value")
    both = values.isel({parameter.dim: [at, to]})
    rest = [str(d) for d in values.dims if d not in (parameter.dim, REPLICA)]
    common = design.common_numbers(ds)
    pairs = _pairs(both.transpose(parameter.dim, *rest, REPLICA).values, common)
    shape = tuple(both.sizes[d] for d in rest)
    if not np.isfinite(pairs).any():
        raise InputError(
            "variable",
            variable,
            f"has no pair of values: {design.counts(ds.isel({parameter.dim: [at, to]}), both).text()}",
        )
    found = _compared(pairs, shape, tuple(rest), settings, common)
    units = {"units": ds[variable].attrs.get("units", "1")}
    coords = {n: c for n, c in both.coords.items() if set(c.dims) <= set(rest) and parameter.dim not in c.dims}
    result = xr.Dataset(
        {name: (dims, v, {"long_name": text, "units": "1"}) for name, (dims, v, text) in found.items()}, coords
    )
    for name in result.data_vars:
        if "difference" in str(name):
            result[name].attrs |= units
    sides = {"dim": dim, "a": parameter.values[at].item(), "b": parameter.values[to].item()}
    by = {"paired_by": "point and replica" if common else "point"}
    return result.assign_attrs(describe(ds, variable, scheme_of(ds), settings) | sides | by)


def _scheme(common: bool) -> bootstrap.Scheme:
    return "replicas" if common else "within"


def _pairs(values: Floats, common: bool) -> Floats:
    """Return the values that have a partner (2, points, replicas), in canonical order."""
    both = values.reshape(2, -1, values.shape[-1])
    known = np.isfinite(both)
    partner = known.all(axis=0) if common else known.any(axis=-1, keepdims=True).all(axis=0)
    return bootstrap.canonical(np.where(partner, both, np.nan), _scheme(common))


def _compared(
    pairs: Floats, shape: tuple[int, ...], dims: tuple[str, ...], settings: bootstrap.Settings, common: bool
) -> dict[str, tuple[tuple[str, ...], Any, str]]:
    """Return the figures by name: dimensions, values and meaning."""
    scheme = _scheme(common)
    found: dict[str, tuple[tuple[str, ...], Any, str]] = {}
    used = np.isfinite(pairs[0]).any(axis=1)
    unknown = dict.fromkeys(_KINDS, (np.nan,) * 3)
    single = [_compare(pairs[:, [n]], scheme, settings, n) if used[n] else unknown for n in range(len(used))]
    overall = _compare(pairs[:, used], scheme, settings, len(used))
    for kind, meaning in _KINDS.items():
        for number, end in enumerate(("", "_low", "_high")):
            text = f"{end[1:]} end of the interval of the {kind}" if end else meaning
            found[kind + end] = (dims, np.array([row[kind][number] for row in single]).reshape(shape), text)
            found[f"mean_{kind}{end}"] = ((), overall[kind][number], text + ", over all points")
    count = np.isfinite(pairs).all(axis=0).sum(axis=-1) if common else np.isfinite(pairs).sum(axis=-1).min(axis=0)
    found["pairs"] = (
        dims,
        count.reshape(shape),
        "pairs of replicas" if common else "replicas of the variant with fewer",
    )
    text = "width of the mean difference's interval over its width without pairs of replicas"
    found["narrowing"] = ((), _narrowing(pairs[:, used], found, settings) if common else 1.0, text)
    return found


def _compare(
    pairs: Floats, scheme: bootstrap.Scheme, settings: bootstrap.Settings, stream: int
) -> dict[str, tuple[float, float, float]]:
    """Return the difference and the ratio at some points (2, points, replicas), with the ends of their intervals."""
    first, second = (bootstrap.point_means(side).mean() for side in pairs)
    own = scheme == "within"
    drawn = [bootstrap.draws(side, scheme, settings, own * (2 * stream + n)) for n, side in enumerate(pairs)]
    both = together(bootstrap.spread(pairs[1], scheme), bootstrap.spread(pairs[0], scheme), scheme)
    found = {}
    compared: dict[str, Callable[[Any, Any], Any]] = {"difference": np.subtract, "ratio": ratio}
    for kind, of in compared.items():
        value = float(of(second, first))
        found[kind] = (value, *bootstrap.interval(value, of(drawn[1], drawn[0]), both, settings))
    return found


def _narrowing(pairs: Floats, found: dict[str, Any], settings: bootstrap.Settings) -> float:
    """Return the width of the interval over that with replicas of each variant drawn by themselves."""
    drawn = bootstrap.draws(pairs[1], "replicas", settings, 1) - bootstrap.draws(pairs[0], "replicas", settings, 0)
    means = [side[np.isfinite(side)] for side in (bootstrap.point_means(side.T) for side in pairs)]
    if min(side.size for side in means) < 2:
        return float("nan")
    size = np.array([side.size for side in means], float)
    value = found["mean_difference"][1]
    low, high = bootstrap.interval(
        value, drawn, bootstrap.Spread(np.array([side.var(ddof=1) for side in means]) / size, size), settings
    )
    width = found["mean_difference_high"][1] - found["mean_difference_low"][1]
    return float(width / (high - low)) if high > low else float("nan")
