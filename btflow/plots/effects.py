"""What varied names do to a statistic: curves and maps of its mean, a tornado of swings, bars of Sobol indices."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from btflow.analysis import corrected, response, sensitivity, sobol_indices
from btflow.analysis.against_full import has_check
from btflow.analysis.bootstrap import Intervals, with_intervals
from btflow.analysis.cells import Axis, cells
from btflow.analysis.design import checked, find, parameters, rounded, runs, short_names
from btflow.analysis.effect import cell_means
from btflow.errors import InputError
from btflow.plots import style, words
from btflow.units.formatting import counted

MOST_BARS = 15
"""Most values along the axis that have a bar each; more have a band."""


@with_intervals
def response_curve(
    ds: xr.Dataset,
    variable: str,
    x: str,
    by: str | None = None,
    *,
    bins: int = 10,
    by_bins: int = 3,
    **intervals: Unpack[Intervals],
) -> go.Figure:
    """Return the mean of a statistic against `x`, a line for each value of `by`, with intervals.

    The other names are averaged over; the axis is logarithmic if the values are spaced so. Open symbols mark means that
    lack some swarms, crosses at the bottom values without any result. Of a sweep in flow with a check, black symbols
    are the same means in full with their intervals, as ``btflow.analysis.corrected`` has them, where at least one of
    the points was run in full. Args and errors are those of
    ``btflow.analysis.response``.
    """
    ds = checked(ds)
    found = response(ds, variable, x, by, bins=bins, by_bins=by_bins, **intervals)
    axes = tuple(_axis(ds, found, name) for name in (x, by) if name is not None)
    scale, text = style.statistic_scale(ds, variable, found["mean"].values.ravel())
    parts = found[["mean", "mean_low", "mean_high"]] / scale.divisor
    parts["missing"] = found["missing"]
    short = style.names_of(ds)
    across = style.shown(axes[0], short[x])
    named = across._replace(title=f"{short[x]} [{words.parted(across.title)[1].strip()}]")  # for sentences
    bars = f"{'bars' if len(across.texts) <= MOST_BARS else 'bands'}: {style.level(found)}"
    note = bars if np.isfinite(parts["mean_low"]).any() else ""
    drawn = style.figure(
        f"{style.heading(ds, variable)} against {short[x]}",
        "",
        style.wrapped(text),
        subtitle=style.origin(ds, variable, note),
    )
    lines = (
        [("in flow" if has_check(ds) else "", parts)]
        if by is None
        else [(axes[1].text(i), parts.isel({by: i})) for i in range(len(axes[1].values))]
    )
    for number, (label, part) in enumerate(lines):
        _line(drawn, number, style.wrapped(label), _beside(named, number, len(lines)), part)
    if has_check(ds):
        bins_of = {"bins": bins, "by_bins": by_bins, "confidence": found.attrs["confidence"]}
        _full(drawn, named, _corrected(ds, variable, x, by, **bins_of), scale.divisor)
    _crosses(drawn, across, axes, found)
    drawn.update_layout(showlegend=any(trace.showlegend for trace in drawn.data))
    if by is not None:
        drawn.update_layout(legend={"title": {"text": short[by], "side": "top left", "font": {"size": 13}}})
    style.make_room(drawn, style.place(drawn, "x", across))
    return drawn


def _corrected(ds: xr.Dataset, variable: str, x: str, by: str | None, **options: Any) -> xr.Dataset | None:
    """Return what full would give, at the same level; None without a check, or if it has too few points."""
    try:
        return corrected(ds, variable, x, by, **options)
    except InputError as error:
        if error.field != "ds":
            raise
        return None


def _full(drawn: go.Figure, across: style.Shown, found: xr.Dataset | None, divisor: float) -> None:
    """Draw what full would give where points were checked, over each line."""
    if found is None:
        return
    columns = found.transpose(*found["mean"].dims)
    lines = columns["mean"].size // len(across.texts)
    mean, low, high, checks = (
        columns[name].values.reshape(len(across.texts), lines) for name in ("mean", "mean_low", "mean_high", "checks")
    )
    points = counted(int(found.attrs["checked"]), "checked point", "checked points")
    for number in range(lines):
        some = checks[:, number] > 0
        middle, least, greatest = (values[some, number] / divisor for values in (mean, low, high))
        drawn.add_scatter(
            x=_beside(across, number, lines).positions[some],
            y=middle,
            error_y=style.bars(middle, least, greatest),
            mode="markers",
            name=f"full, estimated by {points}",
            legendgroup="full",
            showlegend=number == 0,
            marker=style.marker(number, size=6, color="black"),
            **_said(drawn, across, "full", some),
        )


def _axis(ds: xr.Dataset, found: xr.Dataset, name: str) -> Axis:
    """Return the cells along a name that means were found for."""
    ends = [found[f"{name}_{end}"].values for end in ("least", "greatest") if f"{name}_{end}" in found.coords]
    return Axis(name, found[name].values, (), find(ds, name, name), np.stack(ends, axis=1) if ends else None)


def _beside(across: style.Shown, number: int, lines: int) -> style.Shown:
    """Return the axis as a line has it: categories are drawn beside each other, so that no interval hides another."""
    if across.kind != "category":
        return across
    return across._replace(positions=across.positions + min(0.08, 0.7 / lines) * (number - (lines - 1) / 2))


def _line(drawn: go.Figure, number: int, label: str, across: style.Shown, part: xr.Dataset) -> None:
    """Draw one line with its bars or its band."""
    mean, low, high = (part[name].values for name in ("mean", "mean_low", "mean_high"))
    marker = style.marker(number, size=8)
    marks = [f"{marker['symbol']}-open" if lost else marker["symbol"] for lost in part["missing"].values]
    band = len(across.texts) > MOST_BARS
    if band:
        _band(drawn, number, label, across, low, high)
    drawn.add_scatter(
        x=across.positions,
        y=mean,
        error_y=None if band else style.bars(mean, low, high),
        mode="markers" if across.kind == "category" else "lines+markers",
        name=label or "mean",
        legendgroup=label,
        showlegend=bool(label),
        line=style.line(number),
        marker=marker | {"symbol": marks},
        **_said(drawn, across, label),
    )


def _said(
    drawn: go.Figure, across: style.Shown, name: str, chosen: np.ndarray | slice = slice(None)
) -> dict[str, object]:
    """Return the sentence on points: their values along the axis are texts, as categories have no numbers there."""
    (what, unit), (up, up_unit) = words.parted(across.title), words.parted(drawn.layout.yaxis.title.text)
    at = f"%{{customdata}}{'' if across.kind == 'category' else unit}"
    said = f"{name}{': ' if name else ''}{up} %{{y:.4~r}}{up_unit} at {what} {at}<extra></extra>"
    return {"customdata": np.array(across.texts, object)[chosen], "hovertemplate": said}


def _band(drawn: go.Figure, number: int, label: str, across: style.Shown, low: np.ndarray, high: np.ndarray) -> None:
    known = np.isfinite(low) & np.isfinite(high)
    x = across.positions[known]
    drawn.add_scatter(
        x=np.concatenate([x, x[::-1]]),
        y=np.concatenate([high[known], low[known][::-1]]),
        fill="toself",
        fillcolor=style.translucent(number),
        line={"width": 0},
        mode="lines",
        name=label,
        legendgroup=label,
        showlegend=False,
        hoverinfo="skip",
    )


def _crosses(drawn: go.Figure, across: style.Shown, axes: tuple[Axis, ...], found: xr.Dataset) -> None:
    """Mark values without any result at the bottom, and say what open symbols are."""
    mean, missing = found["mean"], found["missing"]
    over = [axis.name for axis in axes[1:]]
    empty = mean.isnull().any(over).values if over else mean.isnull().values
    if empty.any():
        drawn.add_scatter(
            x=across.positions[empty],
            y=np.zeros(int(empty.sum())),
            yaxis="y2",
            mode="markers",
            name="no result",
            marker={"symbol": "x-thin", "size": 10, "color": style.GREY, "line": {"width": 2, "color": style.GREY}},
            showlegend=True,
        )
        drawn.update_layout(yaxis2={"overlaying": "y", "range": [-0.02, 1], "visible": False, "fixedrange": True})
    if bool(((missing > 0) & mean.notnull()).any()):
        marker = {"symbol": "circle-open", "size": 8, "color": style.GREY}
        drawn.add_scatter(
            x=[None], y=[None], mode="markers", name=f"some {runs(found)} missing", marker=marker, showlegend=True
        )


MOST_NUMBERS = 150
"""Most cells that have their number written in them."""

MISSING = "no result"


def heat_map(ds: xr.Dataset, variable: str, x: str, y: str, *, bins: int = 10) -> go.Figure:
    """Return the mean of a statistic at each value of `x` and `y`, averaged over replicas and the other names.

    Cells are evenly spaced whatever the values; a cross marks those without any result, a ring those that miss some.

    Args:
        ds: A sweep.
        variable: A statistic for each swarm.
        x: Varied name along the horizontal axis.
        y: Varied name along the vertical axis.
        bins: Most bins along a number that was sampled.

    Raises:
        InputError: A name is unknown, both vary together, or no swarm has a value.
    """
    ds = checked(ds)
    content = cells(ds, variable, (x, y), ("x", "y"), (bins, bins))
    values = cell_means(content).reshape(content.shape).T
    scale, text = style.statistic_scale(ds, variable, values.ravel())
    values = values / scale.divisor
    names = style.names_of(ds)
    across = style.shown(content.axes[0], names[x], even=True)
    up = style.shown(content.axes[1], names[y], even=True, longest=style.UPRIGHT)
    note = "" if content.balanced else "means over different points"
    drawn = style.figure(
        f"{style.heading(ds, variable)} by {names[x]} and {names[y]}", "", "", subtitle=style.origin(ds, variable, note)
    )
    drawn.add_heatmap(
        x=across.positions,
        y=up.positions,
        z=values,
        colorscale="Cividis",
        colorbar={
            "title": {"text": style.wrapped(text), "side": "right", "font": {"size": 14}},
            "thickness": 16,
            "outlinewidth": 0,
        },
        text=[[rounded(float(f"{v:.4g}")) if np.isfinite(v) else "" for v in row] for row in values],
        texttemplate="%{text}" if values.size <= MOST_NUMBERS else None,
        customdata=[[f"{b}, {a}" for a in across.texts] for b in up.texts],
        hovertemplate=f"%{{customdata}}: %{{z:.4~r}} {scale.unit}".rstrip() + "<extra></extra>",
        xgap=1,
        ygap=1,
        name="",
    )
    lost = content.lost.reshape(content.shape).T
    _mark(drawn, np.isnan(values), across, up, MISSING)
    _mark(drawn, (lost > 0) & np.isfinite(values), across, up, f"some {runs(ds)} missing")
    style.place(drawn, "y", up)
    style.make_room(drawn, style.place(drawn, "x", across))
    drawn.update_layout(plot_bgcolor="#EEEEEE")
    return drawn


def _mark(drawn: go.Figure, where: np.ndarray, across: style.Shown, up: style.Shown, name: str) -> None:
    """Put a symbol on some cells: a cross in the middle, a ring in the corner, clear of the number."""
    row, column = np.nonzero(where)
    if not row.size:
        return
    corner = 0.0 if name == MISSING else 0.36
    cross = {"symbol": "x-thin", "size": 12, "line": {"width": 2, "color": "#444444"}}
    ring = {"symbol": "circle", "size": 9, "color": "white", "line": {"width": 2, "color": "#444444"}}
    drawn.add_scatter(
        x=across.positions[column] + corner,
        y=up.positions[row] + corner,
        mode="markers",
        name=name,
        marker=ring if corner else cross,
        hoverinfo="skip",
        showlegend=True,
    )


_ROW, _TOP, _BOTTOM = 46, 105, 75
_LEGEND = 45
"""Heights [px]."""

_LETTER, _MARGIN = 0.0115, 0.02
"""Shares of the width that a letter and the room beside a text take."""

_WHISKER = {"thickness": 1.2, "width": 4, "color": "#333333"}
"""Of a bar, in a colour that dark pages know; Plotly's own would stay as it is."""

_INDICES = {"total": ("total: with interactions", 1), "first_order": ("first order: alone", 0)}
"""Label and colour of each index, from below."""


@with_intervals
def tornado(
    ds: xr.Dataset,
    variable: str,
    base: Mapping[str, object] | None = None,
    *,
    bins: int = 5,
    **intervals: Unpack[Intervals],
) -> go.Figure:
    """Return the least and the greatest mean of a statistic over each varied name, the largest swing on top.

    The ends say at which value; the whisker at the greatest is the interval of the swing. Args and errors are those of
    ``btflow.analysis.sensitivity``.
    """
    ds = checked(ds)
    found = sensitivity(ds, variable, base, bins=bins, **intervals)
    found = found.isel(parameter=slice(None, None, -1))
    scale, text = style.statistic_scale(ds, variable, found["greatest"].values)
    names = ("least", "greatest", "swing_low", "swing_high")
    least, greatest, low, high = (found[name].values / scale.divisor for name in names)
    centre = float(found["base"]) / scale.divisor
    rows = _labels(ds, found)
    note = f"whiskers: {style.level(found)} of the swing" if np.isfinite(low).any() else ""
    drawn = style.figure(
        f"{style.heading(ds, variable)}: swing of each parameter", text, "", subtitle=style.origin(ds, variable, note)
    )
    middle = np.clip(centre, least, greatest)
    whisker = {"array": least + high - greatest, "arrayminus": greatest - least - low} | _WHISKER
    _bar(drawn, rows, (least, middle), 0, scale.unit)
    _bar(drawn, rows, (middle, greatest), 1, scale.unit, {"type": "data", "symmetric": False} | whisker)
    meaning = "mean of all points" if base is None else "at the base values"
    drawn.add_vline(x=centre, line={"color": "#333333", "width": 1.5, "dash": "dash"})  # what the bars are about
    above = {"y": 1, "yref": "paper", "yanchor": "bottom", "showarrow": False, "font": {"size": 12}}
    drawn.add_annotation(x=centre, text=f"{meaning}: {rounded(centre)} {scale.unit}".rstrip(), **above)
    left, right = np.fmin(least, least + low), np.fmax(greatest, least + high)
    _ends(drawn, rows, (left, right), (found["least_at"].values, found["greatest_at"].values))
    drawn.update_yaxes(showgrid=False)
    height = _ROW * len(rows) + _TOP + _BOTTOM
    drawn.update_layout(barmode="overlay", bargap=0.35, showlegend=False, height=height)
    drawn.update_layout(margin={"b": _BOTTOM, "t": _TOP})
    return drawn


def _ends(drawn: go.Figure, rows: list[str], ends: Sequence[np.ndarray], texts: Sequence[np.ndarray]) -> None:
    """Write at both ends of each bar at which value it is, and make room for that."""
    for at, found, side in zip(ends, texts, ("left", "right"), strict=True):
        beside = [f" {word} " for word in found]
        drawn.add_scatter(x=at, y=rows, text=beside, mode="text", textposition=f"middle {side}", hoverinfo="skip")
    low, high = ends
    left, right = (_MARGIN + _LETTER * np.array([len(word) for word in words]) for words in texts)
    # what is needed from the start of one row's text to the end of another's is a share of the width that is left
    share = np.maximum(1 - left[:, None] - right, 0.2)
    span = np.max((high - low[:, None]) / share) or np.abs(high).max() or 1.0
    drawn.update_xaxes(range=[np.min(low - left * span), np.max(high + right * span)])


@with_intervals
def sobol(ds: xr.Dataset, variable: str, **intervals: Unpack[Intervals]) -> go.Figure:
    """Return first-order and total Sobol indices as bars with intervals, the largest total on top.

    Args and errors are those of ``btflow.analysis.sobol_indices``.
    """
    ds = checked(ds)
    found = sobol_indices(ds, variable, **intervals)
    lows, highs = ([f"{name}_{end}" for name in _INDICES] for end in ("low", "high"))
    found = found.isel(parameter=np.argsort(found["total"].values, kind="stable"))
    rows = _labels(ds, found)
    chance = float(found["chance"])
    notes = [f"bars: {style.level(found)}", "" if np.isnan(chance) else f"chance: {100 * chance:.2g}% of the variance"]
    title = f"{style.heading(ds, variable)}: Sobol indices"
    drawn = style.figure(title, "share of the variance", "", subtitle=style.origin(ds, variable, *notes))
    for name, (text, colour) in _INDICES.items():
        value, low, high = (found[name + end].values for end in ("", "_low", "_high"))
        drawn.add_bar(
            x=value, y=rows, orientation="h", name=text,
            hovertemplate=f"%{{y}}, {text}: %{{x:.2f}} of the variance<extra></extra>",
            error_x=style.bars(value, low, high) | _WHISKER,
            marker=_marker(colour),
        )  # fmt: skip
    least, most = (min(0.0, float(found[lows].to_array().min())), max(1.0, float(found[highs].to_array().max())))
    drawn.update_xaxes(range=[least - 0.02, most + 0.02], zeroline=True, zerolinecolor="#333333")
    drawn.update_yaxes(showgrid=False)
    inside = int(1.3 * _ROW * len(rows))
    drawn.update_layout(height=inside + _TOP + _BOTTOM + _LEGEND, margin={"t": _TOP - 20, "b": _BOTTOM + _LEGEND + 20})
    drawn.update_layout(legend={"y": -65 / inside, "traceorder": "reversed"}, bargap=0.3)
    return drawn


def _labels(ds: xr.Dataset, found: xr.Dataset) -> list[str]:
    return list(short_names(map(str, found["parameter"].values), parameters(ds)).values())


def _marker(colour: int) -> dict[str, object]:
    """Return the look of a bar: the second colour has stripes, to be told from the first in grey."""
    pattern = {"shape": "/" if colour else "", "fillmode": "overlay", "fgcolor": "white", "size": 6, "solidity": 0.25}
    return {"color": style.COLOURS[colour], "pattern": pattern}


def _bar(
    drawn: go.Figure,
    rows: list[str],
    ends: tuple[np.ndarray, np.ndarray],
    colour: int,
    unit: str,
    error: dict[str, object] | None = None,
) -> None:
    start, end = ends
    drawn.add_bar(
        x=end - start, base=start.tolist(), y=rows, orientation="h", marker=_marker(colour), error_x=error,
        hovertemplate=f"%{{y}}: %{{base:.4~r}} to %{{x:.4~r}} {unit}".rstrip() + "<extra></extra>",
    )  # fmt: skip
