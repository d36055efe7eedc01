"""How far each varied name moves a statistic by itself: the data of a tornado."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from btflow.analysis.cells import cells, scheme_of
from btflow.analysis.design import checked, find, is_sample, statistic, varied
from btflow.analysis.effect import cell_draws, cell_means, cell_spread, describe, together
from btflow.analysis.resample import Settings, interval
from btflow.analysis.varied import position
from btflow.errors import InputError


def sensitivity(
    ds: xr.Dataset,
    variable: str,
    base: Mapping[str, object] | None = None,
    *,
    confidence: float = 0.95,
    resamples: int = 1999,
    seed: int = 0,
    bins: int = 5,
) -> xr.Dataset:
    """Return the swing of a statistic over the values of each varied name: its greatest less its least mean.

    Args:
        ds: A sweep.
        variable: A statistic for each swarm.
        base: Values at which the other names are held, in SI units or as texts, one for every varied name of a grid.
            Without it the means are over the other names.
        confidence: Level of the intervals.
        resamples: Resamples of the bootstrap.
        seed: Seed of the resamples.
        bins: Most bins along a number that was sampled; with more of them, chance alone makes larger swings.

    Returns:
        Along ``parameter``, the largest swing first: ``least`` and ``greatest`` mean, ``least_at`` and ``greatest_at``
        (the values as text), ``first`` and ``last`` (the means at its first and last value), ``swing`` with the ends
        ``swing_low`` and ``swing_high`` of the interval of that difference, ``left_out`` points as in ``mean_effect``;
        and ``base``, the mean over everything or the statistic at the base. Names with a single value are left out.

    Raises:
        InputError: A name or value is unknown, nothing was varied, or no swarm has a value.
    """
    settings = Settings(confidence, resamples, seed).checked()
    values = statistic(checked(ds), variable)
    names = [name for name, parameter in varied(ds).items() if len(set(parameter.values.tolist())) > 1]
    if not names:
        raise InputError("ds", None, "has no varied name with two values", "a sweep over at least one")
    held = {} if base is None else _held(ds, base, names)
    centre = float(values.isel({find(ds, name, "base").dim: at for name, at in held.items()}).mean())
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
    """Return the positions of the base; every name must have one."""
    if is_sample(ds):
        raise InputError("base", dict(base), "is not in a sample", "a grid, or no base: the means over the other names")
    missing = [name for name in names if name not in base]
    if missing:
        raise InputError(
            "base", dict(base), f"has no value for {missing[0]}", "a value for each of " + ", ".join(names)
        )
    return {name: position(find(ds, name, "base"), value, f"base[{name!r}]") for name, value in base.items()}


def _cut(ds: xr.Dataset, held: dict[str, int], name: str) -> xr.Dataset:
    """Return the part of a sweep in which only one name varies, kept as dimensions of length one."""
    own = find(ds, name, "base").dim
    return ds.isel(
        {find(ds, other, "base").dim: [at] for other, at in held.items() if find(ds, other, "base").dim != own}
    )


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
