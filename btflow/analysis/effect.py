"""Means of a statistic along one or two varied names, with intervals, and how far each name moves it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np
import xarray as xr

from btflow.analysis.bootstrap import Intervals, Scheme, Settings, Spread, draws, interval, point_means, spread
from btflow.analysis.cells import Axis, Cells, cells, scheme_of
from btflow.analysis.design import (
    SAMPLE,
    Floats,
    checked,
    find,
    independent,
    is_sample,
    runs,
    source,
    statistic,
    varied,
)
from btflow.analysis.varied import matches, position, shown, si_number
from btflow.errors import InputError


def mean_effect(
    ds: xr.Dataset,
    variable: str,
    over: str,
    reference: object = None,
    *,
    bins: int = 10,
    **intervals: Unpack[Intervals],
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
    ds, settings = checked(ds), Settings(**intervals).checked()
    content = cells(ds, variable, (over,), ("over",), (bins,))
    at = None if reference is None else _reference(content.axes[0], reference)
    means = _Means(content, settings)
    found = means.dataset(ds, variable)
    if at is None:
        return found
    units = ds[variable].attrs.get("units", "1")
    found = found.assign(means.change("difference", at, units) | means.change("ratio", at, "1"))
    return found.assign_attrs(reference=content.axes[0].values[at].item())


def response(
    ds: xr.Dataset,
    variable: str,
    x: str,
    by: str | None = None,
    *,
    bins: int = 10,
    by_bins: int = 3,
    **intervals: Unpack[Intervals],
) -> xr.Dataset:
    """Return the mean of a statistic along `x`, for each value of `by` if given, averaged over the other names.

    Args, intervals and errors are those of ``mean_effect``; `by_bins` is the most bins along `by`.

    Returns:
        ``mean``, ``mean_low``, ``mean_high``, ``points`` and ``missing`` along `x` and `by`.
    """
    ds, settings = checked(ds), Settings(**intervals).checked()
    names, fields = ((x,), ("x",)) if by is None else ((x, by), ("x", "by"))
    content = cells(ds, variable, names, fields, (bins, by_bins)[: len(names)])
    return _Means(content, settings).dataset(ds, variable)


class _Means:
    """The mean of each cell, with intervals; resamples are drawn when they are needed, not kept."""

    def __init__(self, content: Cells, settings: Settings) -> None:
        self.cells = content
        self.settings = settings
        self.mean = cell_means(content)

    def dataset(self, ds: xr.Dataset, variable: str) -> xr.Dataset:
        """Return means, intervals and counts with everything that tells where they are from."""
        attrs = dict(ds[variable].attrs)
        ends = np.array(
            [interval(mean, self._draws(n), self._spread(n), self.settings) for n, mean in enumerate(self.mean)]
        )
        count = np.array([len(points) for points in self.cells.points])
        text = f"mean of {attrs.get('long_name', variable)}"
        columns = _with_ends("mean", self.mean, ends, attrs | {"long_name": text}) | {
            "points": (count, {"units": "1", "long_name": "points averaged over"}),
            "missing": (self.cells.lost, {"units": "1", "long_name": f"{runs(ds)} without a value"}),
        }
        data = {n: (self.cells.dims, v.reshape(self.cells.shape), a) for n, (v, a) in columns.items()}
        found = xr.Dataset(data, self.cells.coordinates(), describe(ds, variable, self.cells.scheme, self.settings))
        if not self.cells.balanced:
            text = "no combination of the other names has a result in every cell: the means are over different points"
            warnings.warn(f"{variable}: {text}", stacklevel=3)
        return found.assign_attrs(left_out=self.cells.left_out, balanced=int(self.cells.balanced))

    def change(self, kind: str, at: int, units: str) -> dict[str, Any]:
        """Return each cell's difference from a cell, or its ratio to it, with intervals."""
        of = np.subtract if kind == "difference" else ratio
        values = of(self.mean, self.mean[at])
        ends = np.full((len(self.mean), 2), np.nan)
        reference = self._draws(at)
        for number in range(len(self.mean)):
            if number != at:
                both = together(self._spread(number), self._spread(at), self.cells.scheme)
                ends[number] = interval(values[number], of(self._draws(number), reference), both, self.settings)
        ends[at] = float(kind == "ratio")
        name = "difference from" if kind == "difference" else "ratio to"
        attrs = {"units": units, "long_name": f"{name} the mean at the reference"}
        return {n: (self.cells.dims, v, a) for n, (v, a) in _with_ends(kind, values, ends, attrs).items()}

    def _draws(self, number: int) -> Floats:
        return cell_draws(self.cells, self.settings, number)

    def _spread(self, number: int) -> Spread:
        return cell_spread(self.cells, number)


def ratio(of: Floats, to: Any) -> Floats:
    """Return a ratio; NaN where the divisor is zero."""
    of, to = np.broadcast_arrays(np.asarray(of, float), np.asarray(to, float))
    return np.asarray(np.divide(of, to, out=np.full(of.shape, np.nan), where=to != 0))


def together(one: Spread, other: Spread, scheme: Scheme) -> Spread:
    """Return the spread of a comparison of two cells: replica numbers are drawn once for both."""
    return one if scheme == "replicas" else one + other


def cell_means(content: Cells) -> Floats:
    """Return the mean of each cell's points' means (cells,); NaN for an empty cell."""
    return np.array([point_means(points).mean() if len(points) else np.nan for points in content.points])


def cell_draws(content: Cells, settings: Settings, number: int) -> Floats:
    """Return the resamples of one cell's mean (resamples,)."""
    points = content.points[number]
    if not len(points):
        return np.full(settings.resamples, np.nan)
    return draws(points, content.scheme, settings, 0 if content.scheme == "replicas" else number)


def cell_spread(content: Cells, number: int) -> Spread:
    """Return what the variance of one cell's mean is made of; nothing for an empty cell."""
    points = content.points[number]
    return spread(points, content.scheme) if len(points) else Spread(np.empty(0), np.empty(0))


def describe(ds: xr.Dataset, variable: str, scheme: Scheme, settings: Settings) -> dict[str, Any]:
    """Return the attrs of a result: where it is from, what is missing in it, and how its intervals were made."""
    return source(ds, variable) | settings.attrs(scheme)


def _with_ends(
    name: str, values: Floats, ends: Floats, attrs: dict[str, Any]
) -> dict[str, tuple[Floats, dict[str, Any]]]:
    sides = {f"{name}_{side}": number for number, side in enumerate(("low", "high"))}
    texts = {key: attrs | {"long_name": f"{key.split('_')[-1]} end of the interval of the {name}"} for key in sides}
    return {name: (values, attrs)} | {key: (ends[:, number], texts[key]) for key, number in sides.items()}


def _reference(axis: Axis, reference: object) -> int:
    """Return the number of the cell that the reference is in."""
    where = matches(axis.parameter, reference, "reference")
    found = [number for number, members in enumerate(axis.members) if (members & where).any()]
    if not found and axis.edges is not None:
        value = si_number(axis.parameter, reference, "reference")
        found = [n for n, (least, greatest) in enumerate(axis.edges) if least <= value <= greatest]
    if not found:
        allowed = shown(axis.parameter.values, axis.parameter)
        raise InputError("reference", reference, f"is not a value of {axis.name}", allowed)
    return found[0]


def sensitivity(
    ds: xr.Dataset,
    variable: str,
    base: Mapping[str, object] | None = None,
    *,
    bins: int = 5,
    **intervals: Unpack[Intervals],
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
    ds, settings = checked(ds), Settings(**intervals).checked()
    values = statistic(ds, variable)
    names = [name for name, parameter in varied(ds).items() if len(set(parameter.values.tolist())) > 1]
    if not names:
        raise InputError("ds", None, "has no varied name with two values", "a sweep over at least one")
    held = {} if base is None else _held(ds, base, names)
    if is_sample(ds):
        values = values.isel({SAMPLE: independent(ds)})
    centre = _mean(point_means(values.isel(held).values))
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


def _mean(means: Floats) -> float:
    """Return the mean of the points that have one; NaN if there is none."""
    known = means[np.isfinite(means)]
    return float(known.mean()) if known.size else float("nan")


def _held(ds: xr.Dataset, base: Mapping[str, object], names: list[str]) -> dict[str, int]:
    """Return the position of the base along each dimension; every name must have a value."""
    if not isinstance(base, Mapping):
        raise InputError("base", base, "is not a mapping", "a value for each of " + ", ".join(names))
    if is_sample(ds):
        raise InputError("base", dict(base), "is not in a sample", "a grid, or no base: the means over the other names")
    missing = [name for name in names if name not in base]
    if missing:
        raise InputError(
            "base", dict(base), f"has no value for {missing[0]}", "a value for each of " + ", ".join(names)
        )
    given = [(find(ds, name, "base"), value, f"base[{name!r}]") for name, value in base.items()]
    dims = dict.fromkeys(parameter.dim for parameter, _, _ in given)
    return {dim: position([one for one in given if one[0].dim == dim]) for dim in dims}


def _cut(ds: xr.Dataset, held: dict[str, int], name: str) -> xr.Dataset:
    """Return the part of a sweep in which only one name varies, kept as dimensions of length one."""
    own = find(ds, name, "base").dim
    return ds.isel({dim: [at] for dim, at in held.items() if dim != own})


def _row(ds: xr.Dataset, variable: str, name: str, settings: Settings, bins: int) -> dict[str, float | str]:
    """Return the figures of one name."""
    content = cells(ds, variable, (name,), ("ds",), (bins,))
    mean = cell_means(content)
    low, high = int(np.nanargmin(mean)), int(np.nanargmax(mean))
    drawn = cell_draws(content, settings, high) - cell_draws(content, settings, low)
    both = together(cell_spread(content, high), cell_spread(content, low), content.scheme)
    ends = interval(mean[high] - mean[low], drawn, both, settings) if low != high else (0.0, 0.0)
    means = {"least": mean[low], "greatest": mean[high], "first": mean[0], "last": mean[-1]}
    swing = {"swing": mean[high] - mean[low], "swing_low": ends[0], "swing_high": ends[1]}
    texts = {"least_at": content.axes[0].text(low), "greatest_at": content.axes[0].text(high)}
    return means | swing | texts | {"left_out": content.left_out}
