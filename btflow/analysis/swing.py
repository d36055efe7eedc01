"""How far each varied name moves a statistic by itself: the data of a tornado."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

import numpy as np
import xarray as xr

from btflow.analysis.cells import cells, scheme_of
from btflow.analysis.design import SAMPLE, Floats, checked, find, independent, is_sample, statistic, varied
from btflow.analysis.effect import cell_draws, cell_means, cell_spread, describe, together
from btflow.analysis.resample import Intervals, Settings, interval, point_means
from btflow.analysis.varied import position
from btflow.errors import InputError


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
        **intervals: ``confidence``, ``resamples`` and ``seed``, as in ``btflow.analysis.resample.Settings``.

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
