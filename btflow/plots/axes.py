"""Axes of a sweep's figures: varied values in handy units, logarithmic where they are, or as categories."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from numpy.typing import NDArray

from btflow.analysis.cells import Axis
from btflow.analysis.design import REPLICA, counts, statistic, varied
from btflow.analysis.varied import Scale, log_spaced, rounded, scale_of, short_names, title

MOST_TICKS = 14
LETTERS = 95
"""Letters that fit in the width of a figure's axes."""
LONGEST = 32
"""Most letters of a line in a legend, or beside a vertical axis."""
_SYMBOL = 8
"""Room for a symbol of the legend, in letters."""
_TOP, _INSIDE, _LINE = 85, 355, 19
"""Heights: above the axes, of them, and of a line of text [px]."""
UPRIGHT = 50
"""Most letters of the title of a vertical axis."""


class Shown(NamedTuple):
    """A varied name as an axis."""

    title: str
    positions: NDArray[np.float64]
    """Where each cell is drawn (cells,): its value in the unit of the title, or 0, 1... for categories."""
    texts: list[str]
    """Each cell's value: a number in the unit of the title, or a word."""
    kind: Literal["linear", "log", "category"]


def shown(axis: Axis, name: str, *, even: bool = False, longest: int = 70) -> Shown:
    """Return how the cells along a varied name are drawn.

    Args:
        axis: The cells.
        name: Short form of the name, for want of a long one.
        longest: Most letters of the title.
        even: Whether they are evenly spaced whatever their values, as those of a heat map.
    """
    parameter = axis.parameter
    if not parameter.numeric:
        texts = [parameter.text(value) for value in axis.values]
        return Shown(title(name, _meaning(parameter.attrs, axis.name), "", longest), _counted(texts), texts, "category")
    values = axis.values.astype(float)
    binary = parameter.byte_prefix == "binary"
    scale = scale_of(values, parameter.units, share=parameter.share, binary=binary)
    scaled = values / scale.divisor
    texts = [_text(value) for value in scaled]
    text = title(name, _meaning(parameter.attrs, axis.name), scale.unit, longest)
    if even or not np.isfinite(scaled).all():
        return Shown(text, _counted(texts), texts, "category")
    return Shown(text, scaled, texts, "log" if log_spaced(parameter.values) else "linear")


def _text(value: float) -> str:
    """Return a value's text; it is not a number where a group of values leaves it out."""
    return rounded(value) if math.isfinite(value) else "none" if math.isnan(value) else "unlimited"


def _counted(texts: list[str]) -> NDArray[np.float64]:
    return np.arange(len(texts), dtype=float)


def _meaning(attrs: dict[str, Any], name: str) -> dict[str, Any]:
    """Return attrs without a long name that only repeats the name, as that of a field path does."""
    return {} if attrs.get("long_name") == name else attrs


def place(drawn: go.Figure, which: Literal["x", "y"], axis: Shown) -> int:
    """Set an axis' title, type and ticks; return how many lines the longest of its tick's texts takes."""
    settings: dict[str, Any] = {"title_text": axis.title}
    lines = 1
    if axis.kind == "category":
        step = -(-len(axis.texts) // MOST_TICKS)
        ticks = range(0, len(axis.texts), step)
        texts = [wrapped(axis.texts[i], LETTERS // len(ticks) if which == "x" else LONGEST) for i in ticks]
        lines += max(text.count("<br>") for text in texts)
        settings |= {"tickvals": list(ticks), "ticktext": texts, "tickangle": 0}
        settings |= {"range": [-0.5, len(axis.texts) - 0.5], "showgrid": False}
    elif axis.kind == "log":
        settings |= log_scale(float(axis.positions.min()), float(axis.positions.max()))
    drawn.update_layout({f"{which}axis": settings})
    return lines


def wrapped(text: str, letters: int = LONGEST) -> str:
    """Return a text in lines of at most some letters."""
    return "<br>".join(textwrap.wrap(text, max(5, letters))) or text


def make_room(drawn: go.Figure, lines: int) -> None:
    """Make the figure as high as tick texts of some lines and the legend below need, the axes as large as ever."""
    names = [str(trace.name) for trace in drawn.data if trace.showlegend]
    widest = max((max(map(len, name.split("<br>"))) for name in names), default=0)
    columns = max(1, LETTERS // (widest + _SYMBOL))
    rows = -(-len(names) // columns) * max((name.count("<br>") + 1 for name in names), default=0)
    rows += bool(drawn.layout.legend.title.text)
    above_legend = 55 + _LINE * lines
    bottom = above_legend + _LINE * rows + 10 * bool(rows)
    drawn.update_layout(height=_TOP + _INSIDE + bottom, margin={"t": _TOP, "b": bottom})
    drawn.update_layout(legend={"y": -above_legend / _INSIDE})


def log_scale(low: float, high: float) -> dict[str, Any]:
    """Return the settings of a logarithmic axis from one value to another, with some room and handy ticks."""
    first, last = math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1
    decades = math.log10(high / low)
    digits = (1, 1.5, 2, 3, 4, 5, 7) if decades < 1.2 else (1, 2, 5) if decades < 4 else (1,)
    ticks = [digit * 10.0**decade for decade in range(first, last + 1) for digit in digits]
    margin = 0.04 * (math.log10(high) - math.log10(low))
    span = [math.log10(low) - margin, math.log10(high) + margin]
    return {"type": "log", "range": span, "tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}


def names_of(ds: xr.Dataset) -> dict[str, str]:
    """Return the short forms of all varied names."""
    return short_names(varied(ds))


def statistic_scale(ds: xr.Dataset, variable: str, values: Iterable[float]) -> tuple[Scale, str]:
    """Return the unit in which a statistic is shown, and the title of its axis."""
    attrs = ds[variable].attrs
    scale = scale_of(values, str(attrs.get("units", "")), binary=ds.attrs.get("byte_prefix") == "binary")
    return scale, title(variable, attrs, scale.unit, UPRIGHT)


def heading(ds: xr.Dataset, variable: str) -> str:
    """Return a statistic's meaning as the start of a figure's title."""
    text = title(variable, ds[variable].attrs, "")
    return text[:1].upper() + text[1:]


def origin(ds: xr.Dataset, variable: str, *parts: str) -> str:
    """Return one line on where a figure is from: the model, its swarms, those without a value, and more."""
    found = counts(ds, statistic(ds, variable))
    replicas = ds.sizes[REPLICA]
    points = f"{found.swarms // replicas:,} {'points' if replicas > 1 else found.noun}"
    points += f" × {replicas} replicas" if replicas > 1 else ""
    lost = (text.replace(" ", f" {found.noun} ", 1) for text in found.lost())
    fidelity = "in flow" if ds.attrs.get("fidelity") == "flow" else ""
    return ", ".join(part for part in (str(ds.attrs.get("model", "")), fidelity, points, *lost, *parts) if part)


def level(found: xr.Dataset) -> str:
    """Return the level of a result's intervals as text."""
    return f"{100 * found.attrs['confidence']:g}% interval"
