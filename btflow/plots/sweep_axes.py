"""Axes of a sweep's figures: varied values in handy units, logarithmic where they are, or as categories."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from numpy.typing import NDArray

from btflow.analysis.cells import Axis
from btflow.analysis.design import REPLICA, counts, statistic, varied
from btflow.analysis.labels import Scale, rounded, scale_of, short_names, title
from btflow.analysis.varied import log_spaced

MOST_TICKS = 14
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
    texts = [rounded(value) if math.isfinite(value) else "unlimited" for value in scaled]
    text = title(name, _meaning(parameter.attrs, axis.name), scale.unit, longest)
    if even or not np.isfinite(scaled).all():
        return Shown(text, _counted(texts), texts, "category")
    return Shown(text, scaled, texts, "log" if log_spaced(parameter.values) else "linear")


def _counted(texts: list[str]) -> NDArray[np.float64]:
    return np.arange(len(texts), dtype=float)


def _meaning(attrs: dict[str, Any], name: str) -> dict[str, Any]:
    """Return attrs without a long name that only repeats the name, as that of a field path does."""
    return {} if attrs.get("long_name") == name else attrs


def place(drawn: go.Figure, which: Literal["x", "y"], axis: Shown) -> None:
    """Set an axis' title, type and ticks."""
    settings: dict[str, Any] = {"title_text": axis.title}
    if axis.kind == "category":
        step = -(-len(axis.texts) // MOST_TICKS)
        ticks = range(0, len(axis.texts), step)
        settings |= {"tickvals": list(ticks), "ticktext": [axis.texts[i] for i in ticks]}
        settings |= {"range": [-0.5, len(axis.texts) - 0.5], "showgrid": False}
    elif axis.kind == "log":
        settings |= _log(float(axis.positions.min()), float(axis.positions.max()))
    drawn.update_layout({f"{which}axis": settings})


def _log(low: float, high: float) -> dict[str, Any]:
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
    points = f"{found.swarms // replicas:,} points × {replicas} replicas" if replicas > 1 else f"{found.swarms} swarms"
    lost = (text.replace(" ", " swarms ", 1) for text in found.lost())
    return ", ".join(part for part in (str(ds.attrs.get("model", "")), points, *lost, *parts) if part)


def level(found: xr.Dataset) -> str:
    """Return the level of a result's intervals as text."""
    return f"{100 * found.attrs['confidence']:g}% interval"
