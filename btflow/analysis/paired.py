"""The difference between two variants of a sweep, pair by pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import numpy as np
import xarray as xr

from btflow.analysis.bootstrap import (
    Intervals,
    Scheme,
    Settings,
    Spread,
    canonical,
    draws,
    interval,
    point_means,
    spread,
)
from btflow.analysis.cells import scheme_of
from btflow.analysis.design import REPLICA, Floats, checked, common_numbers, counts, find, is_sample, statistic
from btflow.analysis.effect import describe, ratio, together
from btflow.analysis.varied import position
from btflow.errors import InputError

_KINDS = {"difference": "difference of b from a", "ratio": "ratio of b to a"}


def paired_difference(
    ds: xr.Dataset,
    variable: str,
    dim: str,
    a: object,
    b: object,
    **intervals: Unpack[Intervals],
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
    ds, settings = checked(ds), Settings(**intervals).checked()
    values = statistic(ds, variable)
    parameter = find(ds, dim, "dim")
    if is_sample(ds):
        raise InputError(
            "dim", dim, "is not paired: the points of a sample differ in every name", "a grid; or use mean_effect"
        )
    at, to = (position([(parameter, value, field)]) for field, value in {"a": a, "b": b}.items())
    if at == to:
        raise InputError("b", b, "is the value of a", "another value")
    both = values.isel({parameter.dim: [at, to]})
    rest = [str(d) for d in values.dims if d not in (parameter.dim, REPLICA)]
    common = common_numbers(ds)
    pairs = _pairs(both.transpose(parameter.dim, *rest, REPLICA).values, common)
    shape = tuple(both.sizes[d] for d in rest)
    if not np.isfinite(pairs).any():
        raise InputError(
            "variable", variable, f"has no pair of values: {counts(ds.isel({parameter.dim: [at, to]}), both).text()}"
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


def _scheme(common: bool) -> Scheme:
    return "replicas" if common else "within"


def _pairs(values: Floats, common: bool) -> Floats:
    """Return the values that have a partner (2, points, replicas), in canonical order."""
    both = values.reshape(2, -1, values.shape[-1])
    known = np.isfinite(both)
    partner = known.all(axis=0) if common else known.any(axis=-1, keepdims=True).all(axis=0)
    return canonical(np.where(partner, both, np.nan), _scheme(common))


def _compared(
    pairs: Floats, shape: tuple[int, ...], dims: tuple[str, ...], settings: Settings, common: bool
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


def _compare(pairs: Floats, scheme: Scheme, settings: Settings, stream: int) -> dict[str, tuple[float, float, float]]:
    """Return the difference and the ratio at some points (2, points, replicas), with the ends of their intervals."""
    first, second = (point_means(side).mean() for side in pairs)
    own = scheme == "within"
    drawn = [draws(side, scheme, settings, own * (2 * stream + n)) for n, side in enumerate(pairs)]
    both = together(spread(pairs[1], scheme), spread(pairs[0], scheme), scheme)
    found = {}
    compared: dict[str, Callable[[Any, Any], Any]] = {"difference": np.subtract, "ratio": ratio}
    for kind, of in compared.items():
        value = float(of(second, first))
        found[kind] = (value, *interval(value, of(drawn[1], drawn[0]), both, settings))
    return found


def _narrowing(pairs: Floats, found: dict[str, Any], settings: Settings) -> float:
    """Return the width of the interval over that with replicas of each variant drawn by themselves."""
    drawn = draws(pairs[1], "replicas", settings, 1) - draws(pairs[0], "replicas", settings, 0)
    means = [side[np.isfinite(side)] for side in (point_means(side.T) for side in pairs)]
    if min(side.size for side in means) < 2:
        return float("nan")
    size = np.array([side.size for side in means], float)
    value = found["mean_difference"][1]
    low, high = interval(value, drawn, Spread(np.array([side.var(ddof=1) for side in means]) / size, size), settings)
    width = found["mean_difference_high"][1] - found["mean_difference_low"][1]
    return float(width / (high - low)) if high > low else float("nan")
