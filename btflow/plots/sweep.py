"""A sweep as a figure: completion time against the round-trip time, one line per upload limit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import plotly.graph_objects as go
import xarray as xr

from btflow.errors import InputError
from btflow.plots.style import SYMBOLS, figure, line, one_result
from btflow.units import Kind, parse_quantity

_AXES: dict[str, tuple[Kind, str, float]] = {
    "rtt": ("time", "round-trip time between any two peers [ms]", 1000.0),
    "loss": ("fraction", "packets lost [%]", 100.0),
    "file_size": ("size", "file size [MB]", 1e-6),
    "leechers": ("count", "number of leechers", 1.0),
}
"""Parameters that can be the horizontal axis: kind, axis title, and what SI units are multiplied by."""


_BARS = {
    "peers": "bars: least and greatest completion time of a leecher",
    "replicas": "bars: least and greatest mean of a replica",
}


class Curve(NamedTuple):
    """One line of a sweep, in the order of x."""

    x: Sequence[float]
    """Round-trip time, or another parameter, in SI units."""
    mean: Sequence[float]
    """Mean completion time [s]."""
    low: Sequence[float]
    """Lower end of the bar [s]."""
    high: Sequence[float]
    """Upper end of the bar [s]."""
    spread: str = ""
    """What the bar is the least and the greatest of: peers or replicas; empty if that is not known."""


def sweep_curves(
    results: Iterable[xr.Dataset],
    *,
    x: str = "rtt",
    lines: str = "upload_limit",
    spread: Literal["peers", "replicas"] = "peers",
) -> dict[str, Curve]:
    """Return one curve per value of the parameter `lines`, with a point per result at its value of the parameter `x`.

    The mean is over the leechers of all replicas. Bars are the least and the greatest completion time of any leecher,
    or, with `spread="replicas"`, of the replicas' means.

    Raises:
        InputError: `x` is not a parameter that can be the axis, `lines` is not one of the results' parameters, or
            `spread` is neither of the two.
    """
    _check_axis(x)
    if spread not in _BARS:
        raise InputError("spread", spread, "is unknown", ", ".join(_BARS))
    points: dict[str, list[tuple[float, float, float, float]]] = {}
    for result in results:
        parameters = json.loads(one_result(result).attrs["parameters"])
        for field, name in {"x": x, "lines": lines}.items():
            if name not in parameters:
                raise InputError(field, name, "is not a parameter of the result", ", ".join(parameters))
        value = parse_quantity(parameters[x], _AXES[x][0], field=x, byte_prefix=result.attrs["byte_prefix"])
        leechers = result["completion_time"].isel(peer=result["role"].values == "leecher")
        ends = leechers if spread == "peers" else leechers.mean("peer")
        point = (float(str(value)), float(leechers.mean()), float(ends.min()), float(ends.max()))
        points.setdefault(str(parameters[lines]), []).append(point)
    columns = {label: [list(column) for column in zip(*sorted(row), strict=True)] for label, row in points.items()}
    return {label: Curve(at, mean, low, high, spread) for label, (at, mean, low, high) in columns.items()}


def rtt_sweep(curves: Mapping[str, Curve | tuple[Sequence[float], ...]], *, x: str = "rtt") -> go.Figure:
    """Return completion times against the round-trip time, one line per label, with bars from least to greatest.

    The form of Fig. 5 of Rao, Legout and Dabbous, P2P 2010.

    Args:
        curves: By label, (x, mean, low, high) with x in SI units and the others in seconds; `sweep_curves` makes them.
        x: Parameter along the horizontal axis: rtt, loss, file_size or leechers.

    Raises:
        InputError: `x` is none of them, or there is no curve.
    """
    _check_axis(x)
    if not isinstance(curves, Mapping) or not curves:
        raise InputError("curves", curves, "is no curve", "at least one by label, such as those of sweep_curves")
    _, title, scale = _AXES[x]
    spreads = {Curve(*values).spread for values in curves.values()}
    bars = _BARS.get(spreads.pop(), "") if len(spreads) == 1 else ""
    drawn = figure(
        "Completion time over a sweep", title, "completion time [s]", subtitle=bars or "bars: least and greatest"
    )
    for index, (label, values) in enumerate(curves.items()):
        curve = Curve(*values)
        error = {
            "type": "data",
            "symmetric": False,
            "array": [high - mean for mean, high in zip(curve.mean, curve.high, strict=True)],
            "arrayminus": [mean - low for mean, low in zip(curve.mean, curve.low, strict=True)],
            "thickness": 1.2,
            "width": 4,
        }
        drawn.add_scatter(
            x=[scale * value for value in curve.x],
            y=list(curve.mean),
            error_y=error,
            name=label,
            mode="lines+markers",
            line=line(index),
            marker={"symbol": SYMBOLS[index % len(SYMBOLS)], "size": 8},
        )
    drawn.update_yaxes(rangemode="tozero")
    return drawn


def _check_axis(x: str) -> None:
    if x not in _AXES:
        raise InputError("x", x, "cannot be the axis of a sweep", ", ".join(_AXES))
