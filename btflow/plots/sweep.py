"""A sweep as a figure: completion time against the round-trip time, one line per upload limit."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from numpy.typing import NDArray

from btflow.errors import InputError
from btflow.plots import style, words
from btflow.units import Buffer, Kind, parse_quantity

PEER_CLASS = "peer_class"
"""In place of a parameter: a line for each class of leechers."""

_AXES: dict[str, tuple[Kind, str, float]] = {
    "rtt": ("time", "round-trip time between any two peers [ms]", 1000.0),
    "loss": ("fraction", "packets lost [%]", 100.0),
    "file_size": ("size", "file size [MB]", 1e-6),
    "leechers": ("count", "number of leechers", 1.0),
    "utp_target": ("time", "queueing delay that uTP aims at [ms]", 1000.0),
    "utp_share": ("fraction", "share of the leechers that open uTP connections [%]", 100.0),
    "buffer": ("buffer", "room in the queues of the access links", 1.0),
}
"""Parameters that can be the horizontal axis: kind, axis title, and what SI units are multiplied by."""

_BUFFERS: dict[str, tuple[str, float]] = {
    "packets": (" [packets]", 1.0),
    "size": (" [kB]", 1e-3),
    "time": (" [ms]", 1000.0),
    "bdp": (" [bandwidth-delay products]", 1.0),
}
"""Buffers by what their unit is of: the end of the axis title, and what their amounts are multiplied by."""

_BARS = {
    "peers": "bars: least and greatest completion time of a leecher",
    "replicas": "bars: least and greatest mean of a replica",
    "quartiles": "median, bars: lower and upper quartile of the leechers",
}


_SEVERAL = "several of what btflow.simulate returns, in a list"
_CURVES = "at least one by label, such as those of sweep_curves: x, mean, low and high, equally many numbers of each"


class Curve(NamedTuple):
    """One line of a sweep, in the order of x."""

    x: Sequence[float]
    """Round-trip time, or another parameter, in SI units."""
    mean: Sequence[float]
    """Mean completion time [s]; the median where the bars are quartiles."""
    low: Sequence[float]
    """Lower end of the bar [s]."""
    high: Sequence[float]
    """Upper end of the bar [s]."""
    spread: str = ""
    """What the bar is the least and the greatest of: peers or replicas, or quartiles; empty if that is not known."""
    buffer: str = ""
    """What a buffer is measured in, if that is what `x` is: packets, size, time or bdp."""


def sweep_curves(
    results: Iterable[xr.Dataset],
    *,
    x: str = "rtt",
    lines: str = "upload_limit",
    spread: Literal["peers", "replicas", "quartiles"] = "peers",
) -> dict[str, Curve]:
    """Return one curve per value of the parameter `lines`, with a point per result at its value of the parameter `x`.

    The mean is over the downloads that count, of all replicas. Bars are the least and the greatest completion time of
    any leecher, or, with `spread="replicas"`, of the replicas' means; with `spread="quartiles"` the point is the median
    and the bar ends at the quartiles. With `lines="peer_class"` there is a curve for each class of leechers.

    Raises:
        InputError: `results` is no list of results, `x` is not a parameter that can be the axis,
            `lines` is not one of the results' parameters, `spread` is none of the three, or buffers differ in unit.
    """
    _check_axis(x)
    if spread not in _BARS:
        raise InputError("spread", spread, "is unknown", ", ".join(_BARS))
    points: dict[str, list[tuple[float, float, float, float]]] = {}
    units: dict[str, str] = {}
    for result in several(results):
        parameters = json.loads(style.one_result(result).attrs["parameters"])
        for field, name in {"x": x, "lines": lines}.items():
            if name not in parameters and name != PEER_CLASS:
                raise InputError(field, name, "is not a parameter of the result", ", ".join(parameters))
        value = parse_quantity(parameters[x], _AXES[x][0], field=x, byte_prefix=result.attrs["byte_prefix"])
        if isinstance(value, Buffer):
            units[value.kind] = parameters[x]
        at = value.amount if isinstance(value, Buffer) else float(str(value))
        groups: list[str | None] = [*style.leecher_classes(result)] if lines == PEER_CLASS else [None]
        for group in groups:
            times = style.counted_times(result, group)
            if np.isfinite(times).any():
                label = str(parameters[lines]) if group is None else group
                points.setdefault(label, []).append((at, *_spread(times, spread)))
    if len(units) > 1:
        raise InputError("x", ", ".join(units.values()), "are not in one unit", "buffers of one kind, such as packets")
    columns = {label: [list(column) for column in zip(*sorted(row), strict=True)] for label, row in points.items()}
    unit = next(iter(units), "")
    return {label: Curve(at, mean, low, high, spread, unit) for label, (at, mean, low, high) in columns.items()}


def several(results: object, field: str = "results") -> list[xr.Dataset]:
    """Return the results that an iterable holds; InputError if it is something else."""
    if not isinstance(results, Iterable) or isinstance(results, str | Mapping):
        raise InputError(field, results, "is no list of results", _SEVERAL)
    return [style.one_result(result, f"{field}[{number}]") for number, result in enumerate(results)]


def _curve(label: str, values: object) -> Curve:
    """Return a curve whose four rows are equally long; InputError if it is something else."""
    field = f"curves[{label!r}]"
    if not isinstance(values, tuple | list) or not 4 <= len(values) <= len(Curve._fields):
        raise InputError(field, values, "is no curve", _CURVES)
    rows = [style.numbers(field, row, _CURVES).ravel() for row in values[:4]]
    if len({row.size for row in rows}) > 1:
        raise InputError(field, values, "has rows that differ in length", _CURVES)
    x, mean, low, high = (row.tolist() for row in rows)
    return Curve(x, mean, low, high, *values[4:])


def _spread(times: NDArray[np.float64], spread: str) -> tuple[float, float, float]:
    """Mean (or median) of completion times [s] (replica, peer), NaN left out, and the ends of its bar."""
    known = times[np.isfinite(times)]
    if spread == "quartiles":
        low, middle, high = np.percentile(known, (25, 50, 75))
        return float(middle), float(low), float(high)
    rows = (row[np.isfinite(row)] for row in times)
    ends = known if spread == "peers" else np.array([row.mean() for row in rows if row.size])
    return float(known.mean()), float(ends.min()), float(ends.max())


def rtt_sweep(curves: Mapping[str, Curve | tuple[Sequence[float], ...]], *, x: str = "rtt") -> go.Figure:
    """Return completion times against the round-trip time, one line per label, with bars from least to greatest.

    The form of Fig. 5 of Rao, Legout and Dabbous, P2P 2010.

    Args:
        curves: By label, (x, mean, low, high) with x in SI units and the others in seconds; `sweep_curves` makes them.
        x: Parameter along the horizontal axis: rtt, loss, file_size, leechers, target, utp_share or buffer.

    Raises:
        InputError: `x` is none of them, or there is no curve, or one is not such rows of numbers.
    """
    _check_axis(x)
    found = {label: _curve(label, values) for label, values in style.by_label("curves", curves, _CURVES).items()}
    _, title, scale = _AXES[x]
    if x == "buffer" and (units := {curve.buffer for curve in found.values()} & _BUFFERS.keys()):
        if len(units) > 1:
            raise InputError("x", x, "is not in one unit", ", ".join(sorted(units)) + ": one of these")
        end, scale = _BUFFERS[units.pop()]
        title += end
    spreads = {curve.spread for curve in found.values()}
    said = _BARS.get(spreads.pop(), "") if len(spreads) == 1 else ""
    drawn = style.figure(
        "Completion time over a sweep", title, "completion time [s]", subtitle=said or "bars: least and greatest"
    )
    for index, (label, curve) in enumerate(found.items()):
        drawn.add_scatter(
            x=[scale * value for value in curve.x],
            y=list(curve.mean),
            error_y=style.bars(curve.mean, curve.low, curve.high),
            name=words.of_class(label),
            mode="lines+markers",
            line=style.line(index),
            marker={"symbol": style.SYMBOLS[index % len(style.SYMBOLS)], "size": 8},
            hovertemplate=words.of_axes(words.of_class(label), title, "completion time [s]"),
        )
    drawn.update_yaxes(rangemode="tozero")
    return drawn


def _check_axis(x: str) -> None:
    if x not in _AXES:
        raise InputError("x", x, "cannot be the axis of a sweep", ", ".join(_AXES))
