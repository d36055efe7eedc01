"""Which varied names move a statistic most: a tornado of swings, and bars of Sobol indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Unpack

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from btflow.analysis import sensitivity, sobol_indices
from btflow.analysis.bootstrap import Intervals
from btflow.analysis.design import checked
from btflow.analysis.varied import rounded, short_names
from btflow.plots.axes import heading, level, origin, statistic_scale
from btflow.plots.style import COLOURS, figure

_ROW, _TOP, _BOTTOM = 46, 105, 75
_LEGEND = 45
"""Heights [px]."""

_LETTER, _MARGIN = 0.0115, 0.02
"""Shares of the width that a letter and the room beside a text take."""


_INDICES = {"total": ("total: with interactions", 1), "first_order": ("first order: alone", 0)}
"""Label and colour of each index, from below."""


class Options(Intervals, total=False):
    """What ``btflow.analysis.sensitivity`` takes by keyword; it has the defaults."""

    bins: int


def tornado(
    ds: xr.Dataset, variable: str, base: Mapping[str, object] | None = None, **options: Unpack[Options]
) -> go.Figure:
    """Return the least and the greatest mean of a statistic over each varied name, the largest swing on top.

    The ends say at which value; the whisker at the greatest is the interval of the swing. Args and errors are those of
    ``btflow.analysis.sensitivity``.
    """
    ds = checked(ds)
    found = sensitivity(ds, variable, base, **options)
    found = found.isel(parameter=slice(None, None, -1))
    scale, text = statistic_scale(ds, variable, found["greatest"].values)
    names = ("least", "greatest", "swing_low", "swing_high")
    least, greatest, low, high = (found[name].values / scale.divisor for name in names)
    centre = float(found["base"]) / scale.divisor
    rows = _labels(found)
    note = f"whiskers: {level(found)} of the swing" if np.isfinite(low).any() else ""
    drawn = figure(f"{heading(ds, variable)}: swing of each parameter", text, "", subtitle=origin(ds, variable, note))
    middle = np.clip(centre, least, greatest)
    whisker = {"array": least + high - greatest, "arrayminus": greatest - least - low, "thickness": 1.2, "width": 4}
    _bar(drawn, rows, least, middle, 0)
    _bar(drawn, rows, middle, greatest, 1, {"type": "data", "symmetric": False} | whisker)
    meaning = "mean of all points" if base is None else "at the base values"
    _line(drawn, centre, f"{meaning}: {rounded(centre)}" + (f" {scale.unit}" if scale.unit else ""))
    left, right = np.fmin(least, least + low), np.fmax(greatest, least + high)
    _ends(drawn, rows, (left, right), (found["least_at"].values, found["greatest_at"].values))
    drawn.update_yaxes(showgrid=False)
    height = _ROW * len(rows) + _TOP + _BOTTOM
    drawn.update_layout(barmode="overlay", bargap=0.35, showlegend=False, height=height)
    drawn.update_layout(margin={"b": _BOTTOM, "t": _TOP})
    return drawn


def _line(drawn: go.Figure, at: float, text: str) -> None:
    """Draw the vertical line that the bars are about."""
    drawn.add_vline(x=at, line={"color": "#333333", "width": 1.5, "dash": "dash"})
    above = {"y": 1, "yref": "paper", "yanchor": "bottom", "showarrow": False}
    drawn.add_annotation(x=at, text=text, font={"size": 12}, **above)


def _ends(drawn: go.Figure, rows: list[str], ends: Sequence[np.ndarray], texts: Sequence[np.ndarray]) -> None:
    """Write at both ends of each bar at which value it is, and make room for that."""
    for at, words, side in zip(ends, texts, ("left", "right"), strict=True):
        shown = [f" {word} " for word in words]
        drawn.add_scatter(x=at, y=rows, text=shown, mode="text", textposition=f"middle {side}", hoverinfo="skip")
    low, high = ends
    left, right = (_MARGIN + _LETTER * np.array([len(word) for word in words]) for words in texts)
    # what is needed from the start of one row's text to the end of another's is a share of the width that is left
    share = np.maximum(1 - left[:, None] - right, 0.2)
    span = np.max((high - low[:, None]) / share) or np.abs(high).max() or 1.0
    drawn.update_xaxes(range=[np.min(low - left * span), np.max(high + right * span)])


def sobol(ds: xr.Dataset, variable: str, **intervals: Unpack[Intervals]) -> go.Figure:
    """Return first-order and total Sobol indices as bars with intervals, the largest total on top.

    Args and errors are those of ``btflow.analysis.sobol_indices``.
    """
    ds = checked(ds)
    found = sobol_indices(ds, variable, **intervals)
    lows, highs = ([f"{name}_{end}" for name in _INDICES] for end in ("low", "high"))
    found = found.isel(parameter=np.argsort(found["total"].values, kind="stable"))
    rows = _labels(found)
    chance = float(found["chance"])
    notes = [f"bars: {level(found)}", "" if np.isnan(chance) else f"chance: {100 * chance:.2g}% of the variance"]
    title = f"{heading(ds, variable)}: Sobol indices"
    drawn = figure(title, "share of the variance", "", subtitle=origin(ds, variable, *notes))
    for name, (text, colour) in _INDICES.items():
        value, low, high = (found[name + end].values for end in ("", "_low", "_high"))
        bars = {"type": "data", "symmetric": False, "array": high - value, "arrayminus": value - low}
        drawn.add_bar(
            x=value, y=rows, orientation="h", name=text, error_x=bars | {"thickness": 1.2, "width": 4},
            marker=_marker(colour),
        )  # fmt: skip
    least, most = (min(0.0, float(found[lows].to_array().min())), max(1.0, float(found[highs].to_array().max())))
    drawn.update_xaxes(range=[least - 0.02, most + 0.02], zeroline=True, zerolinecolor="#333333")
    drawn.update_yaxes(showgrid=False)
    inside = int(1.3 * _ROW * len(rows))
    drawn.update_layout(height=inside + _TOP + _BOTTOM + _LEGEND, margin={"t": _TOP - 20, "b": _BOTTOM + _LEGEND + 20})
    drawn.update_layout(legend={"y": -65 / inside, "traceorder": "reversed"}, bargap=0.3)
    return drawn


def _labels(found: xr.Dataset) -> list[str]:
    return list(short_names(str(name) for name in found["parameter"].values).values())


def _marker(colour: int) -> dict[str, object]:
    """Return the look of a bar: the second colour has stripes, to be told from the first in grey."""
    pattern = {"shape": "/" if colour else "", "fillmode": "overlay", "fgcolor": "white", "size": 6, "solidity": 0.25}
    return {"color": COLOURS[colour], "pattern": pattern}


def _bar(
    drawn: go.Figure,
    rows: list[str],
    start: np.ndarray,
    end: np.ndarray,
    colour: int,
    error: dict[str, object] | None = None,
) -> None:
    drawn.add_bar(
        x=end - start, base=start.tolist(), y=rows, orientation="h", marker=_marker(colour), error_x=error,
        hovertemplate="%{y}: %{base:.4g} to %{x:.4g}<extra></extra>",
    )  # fmt: skip
