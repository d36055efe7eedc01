"""What was simulated beside published figures and what a formula says, and flow beside full."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
import scipy
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from btflow.analysis import flow_error
from btflow.analysis.against_full import point_pairs
from btflow.analysis.design import checked, statistic, varied
from btflow.errors import InputError
from btflow.plots import style, words
from btflow.units.formatting import counted

CONFIDENCE = 0.95

_ROW, _AROUND = 44, 230
"""Heights: of a row, and of all that is above and below the rows [px]."""


def beside_published(
    values: Mapping[str, ArrayLike],
    published: Mapping[str, float] | None = None,
    *,
    title: str,
    axis: str,
    source: str = "published",
) -> go.Figure:
    """Return the mean of each row's values with its interval, and beside it what a paper has in its place.

    Intervals are Student's t at 95 %, of the mean over replicas; a single value has none.

    Args:
        values: By row from above, one number for each replica, in the axis's unit; NaN is left out.
        published: By row, the paper's number in the same unit; rows may be missing, or all of them.
        title: What is shown.
        axis: Title of the axis, with its unit.
        source: Where the published numbers are from, for the legend.

    Raises:
        InputError: There is no row, a row has no number, or a published one is not among the rows.
    """
    rows = _rows(values)
    published = _published(published)
    if strange := published.keys() - rows.keys():
        raise InputError("published", ", ".join(sorted(strange)), "is not among the rows", ", ".join(rows))
    most = max(row.size for row in rows.values())
    bars = f"bars: 95% interval of the mean of {most} replicas" if most > 1 else ""
    drawn = style.figure(title, axis, "", subtitle=bars)
    shown = f"%{{x:.4~r}}{words.parted(axis)[1]}"
    drawn.add_scatter(
        x=[row.mean() for row in rows.values()],
        y=list(rows),
        error_x={"type": "data", "array": [half_width(row) for row in rows.values()], "thickness": 1.8, "width": 6},
        mode="markers",
        name="btflow",
        hovertemplate=f"%{{y}}, btflow: {shown}<extra></extra>",
        marker={"color": style.COLOURS[0], "symbol": "circle", "size": 10},
    )
    if published:
        diamond = {"color": style.COLOURS[1], "symbol": "diamond-open", "size": 13, "line": {"width": 2.5}}
        drawn.add_scatter(
            x=[*published.values()],
            y=[*published],
            mode="markers",
            name=source,
            marker=diamond,
            hovertemplate=f"%{{y}}, {source}: {shown}<extra></extra>",
        )
    height = _ROW * len(rows) + _AROUND
    drawn.update_xaxes(rangemode="tozero", zeroline=True, zerolinecolor="#333333")
    drawn.update_yaxes(categoryorder="array", categoryarray=list(rows)[::-1], range=[-0.6, len(rows) - 0.4])
    drawn.update_layout(height=height, showlegend=bool(published), legend={"y": -65 / (_ROW * len(rows) + 25)})
    return drawn


def half_width(values: NDArray[np.float64]) -> float:
    """Return half the width of the 95 % interval of a mean; 0 of a single value."""
    if values.size < 2:
        return 0.0
    return float(scipy.stats.t.ppf(0.5 + CONFIDENCE / 2, values.size - 1) * scipy.stats.sem(values))


def _published(given: object) -> dict[str, float]:
    """Return a number for each row that has one; InputError if it is something else."""
    allowed, found = "numbers in a mapping by row", {}
    for label, value in style.by_label("published", {} if given is None else given, allowed, empty=True).items():
        number = style.numbers(f"published[{label!r}]", value, "one number")
        if number.size != 1:
            raise InputError(f"published[{label!r}]", value, "is not one number", "one number")
        found[label] = float(number.ravel()[0])
    return found


def _rows(values: Mapping[str, ArrayLike]) -> dict[str, NDArray[np.float64]]:
    """Return the numbers of each row without NaN; InputError if there are none."""
    given = style.by_label("values", values, "numbers, one for each replica, in a mapping by row")
    rows = {
        label: style.numbers(f"values[{label!r}]", row, "one for each replica").ravel() for label, row in given.items()
    }
    rows = {label: row[np.isfinite(row)] for label, row in rows.items()}
    if empty := [label for label, row in rows.items() if not row.size]:
        raise InputError(f"values[{empty[0]!r}]", values[empty[0]], "has no number", "one for each replica")
    return rows


Curves = Mapping[str, tuple[ArrayLike, ArrayLike]]
"""By label, x and y, equally many of them."""

_ALLOWED = "x and y, rows of equally many numbers, in a mapping by label"

Log = Literal["", "x", "y", "xy"]

_FINE_DECADES = 2.5  # up to which an axis has ticks at 1, 2, 5; beyond at powers of ten


def beside_theory(simulated: Curves, theory: Curves, *, title: str, x: str, y: str, log: Log = "") -> go.Figure:
    """Return simulated values as points and those of formulas as lines.

    A label that is in both has one colour and one entry in the legend for each.

    Args:
        simulated: By label, x and y of the points; NaN is left out.
        theory: By label, x and y of the lines.
        title: Title of the figure.
        x: Title of the horizontal axis, with its unit.
        y: Title of the vertical axis, with its unit.
        log: Axes that are logarithmic; values at or below zero are left out there.

    Raises:
        InputError: There is nothing to draw, x and y of a label differ in length, or `log` is unknown.
    """
    if log not in ("", "x", "y", "xy"):
        raise InputError("log", log, "is unknown", '"", "x", "y" or "xy"')
    points, lines = (_read(*given) for given in (("simulated", simulated), ("theory", theory)))
    if not points and not lines:
        raise InputError("simulated", simulated, "holds nothing, nor does theory", "x and y by label")
    labels = list(dict.fromkeys([*points, *lines]))
    note = " (log scale)"
    drawn = style.figure(title, x + note * ("x" in log), y + note * ("y" in log))
    for label, (across, up) in lines.items():
        drawn.add_scatter(
            x=across, y=up, mode="lines", name=f"{label}, formula", line=style.line(labels.index(label), width=2),
            hovertemplate=words.of_axes(f"{label}, formula", x, y),
        )  # fmt: skip
    for label, (across, up) in points.items():
        look = {
            "mode": "markers",
            "marker": style.marker(labels.index(label), size=9, line={"color": "white", "width": 1}),
        }
        drawn.add_scatter(x=across, y=up, name=label, hovertemplate=words.of_axes(label, x, y), **look)
    for way in "xy":
        values = np.concatenate([c["xy".index(way)] for c in (*points.values(), *lines.values())])
        drawn.update_layout({f"{way}axis": _log_axis(values) if way in log else {"rangemode": "tozero"}})
    return drawn


def _read(field: str, curves: Curves) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    found = {}
    for label, pair in style.by_label(field, curves, _ALLOWED, empty=True).items():
        if not isinstance(pair, Sequence | np.ndarray) or isinstance(pair, str) or len(pair) != 2:
            raise InputError(f"{field}[{label!r}]", pair, "is no pair", _ALLOWED)
        across, up = (style.numbers(f"{field}[{label!r}]", values, _ALLOWED) for values in pair)
        if across.ndim != 1 or across.shape != up.shape:
            shapes = f"{across.shape} and {up.shape}"
            raise InputError(f"{field}[{label!r}]", shapes, "are shapes that differ", "x and y, equally many")
        found[label] = across, up
    return found


def _log_axis(values: NDArray[np.float64]) -> dict[str, Any]:
    """Return a logarithmic axis with some room around the values, with ticks at 1, 2, 5 or at powers of ten."""
    known = values[np.isfinite(values) & (values > 0.0)]
    low, high = (float(known.min()), float(known.max())) if known.size else (1.0, 10.0)
    decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    digits = (1, 2, 5) if math.log10(high / low) <= _FINE_DECADES else (1,)
    ticks = [digit * 10.0**decade for decade in decades for digit in digits]
    texts = [f"{tick:g}" if 1e-4 <= tick < 1e5 else f"{tick:.0e}" for tick in ticks]
    span = [math.log10(low / 1.2), math.log10(high * 1.2)]
    return {"type": "log", "range": span, "tickvals": ticks, "ticktext": texts}


WIDE = 8.0
"""Axes are logarithmic from this ratio of the greatest to the least value on."""


def full_against_flow(ds: xr.Dataset, variable: str, *, confidence: float = 0.9) -> go.Figure:
    """Return a statistic in full against the same in flow, a mark for each checked point, with the line of equality.

    A mark is one swarm, replica 0 of the point, in both. Below the title is the bias with its interval
    (``btflow.analysis.flow_error``).

    Args:
        ds: A sweep in flow with a check, or a part of it.
        variable: A statistic for each swarm.
        confidence: Level of the interval.

    Raises:
        InputError: The sweep has no check, the statistic is unknown or has no value in both, or the level is wrong.
    """
    error = flow_error(ds, [variable], confidence=confidence).isel(statistic=0)
    ds = checked(ds)
    pairs = point_pairs(ds, variable)
    values = np.concatenate([pairs.flow, pairs.full])
    scale, _ = style.statistic_scale(ds, variable, values)
    unit, after = (f" [{scale.unit}]", f" {scale.unit}") if scale.unit else ("", "")
    drawn = style.figure(
        f"{style.heading(ds, variable)}: full against flow",
        f"in flow{unit}",
        f"in full{unit}",
        subtitle=_subtitle(ds, error, confidence),
    )
    flow, full = pairs.flow / scale.divisor, pairs.full / scale.divisor
    low, high = float(values.min() / scale.divisor), float(values.max() / scale.divisor)
    ends = _ends(low, high)
    drawn.add_scatter(
        x=ends, y=ends, mode="lines", name="equal", line={"color": style.GREY, "dash": "dash", "width": 1.5}
    )
    drawn.add_scatter(
        x=flow,
        y=full,
        mode="markers",
        name="checked point",
        marker={"size": 9, "color": style.COLOURS[0], "opacity": 0.8},
        text=_points(ds, variable, pairs.points),
        hovertemplate=f"%{{text}}:<br>in flow %{{x:.4~r}}{after}, in full %{{y:.4~r}}{after}<extra></extra>",
    )
    for axis in ("xaxis", "yaxis"):
        settings = style.log_scale(low, high) if _wide(low, high) else {"range": ends}
        drawn.update_layout({axis: settings})
    return drawn


def _wide(low: float, high: float) -> bool:
    return low > 0 and high > WIDE * low


def _ends(low: float, high: float) -> list[float]:
    """Return the ends of the line of equality, with some room around the values."""
    if _wide(low, high):
        return [low / 1.2, high * 1.2]
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return [low - room, high + room]


def _subtitle(ds: xr.Dataset, error: xr.Dataset, confidence: float) -> str:
    """Return where the figure is from, and the bias."""
    points = int(error["points"])
    of = f"{counted(points, 'checked point', 'checked points')}, one swarm each"
    bias, low, high = (f"{100 * float(error[name]):+.2g}%" for name in ("bias", "bias_low", "bias_high"))
    interval = f" ({100 * confidence:g}% interval {low} to {high})" if points > 1 else ""
    return f"{ds.attrs.get('model', '')}, {of}; flow is off by {bias}{interval}"


def _points(ds: xr.Dataset, variable: str, points: NDArray[np.int64]) -> list[str]:
    """Return the varied values at some points, by their numbers, as texts."""
    flow, known, short = statistic(ds, variable), varied(ds), style.names_of(ds)
    dims = flow.dims[:-1]
    index = dict(zip(dims, np.unravel_index(points, flow.shape[:-1]), strict=True)) if dims else {}
    texts = (
        [f"{short[name]} {one.text(one.values[place].item())}" for place in index[one.dim]]
        for name, one in known.items()
    )
    return [", ".join(row) for row in zip(*texts, strict=True)]
