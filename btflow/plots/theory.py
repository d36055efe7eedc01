"""What was simulated beside what a formula says: points and lines, a colour for each label."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from btflow.errors import InputError
from btflow.plots.given import by_label, numbers
from btflow.plots.style import COLOURS, SYMBOLS, figure, line

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
    drawn = figure(title, x + note * ("x" in log), y + note * ("y" in log))
    for label, (across, up) in lines.items():
        drawn.add_scatter(
            x=across, y=up, mode="lines", name=f"{label}, formula", line=line(labels.index(label), width=2)
        )
    for label, (across, up) in points.items():
        drawn.add_scatter(x=across, y=up, mode="markers", name=label, marker=_marker(labels.index(label)))
    for way in "xy":
        values = np.concatenate([c["xy".index(way)] for c in (*points.values(), *lines.values())])
        drawn.update_layout({f"{way}axis": _log_axis(values) if way in log else {"rangemode": "tozero"}})
    return drawn


def _read(field: str, curves: Curves) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    found = {}
    for label, pair in by_label(field, curves, _ALLOWED, empty=True).items():
        if not isinstance(pair, Sequence | np.ndarray) or isinstance(pair, str) or len(pair) != 2:
            raise InputError(f"{field}[{label!r}]", pair, "is no pair", _ALLOWED)
        across, up = (numbers(f"{field}[{label!r}]", values, _ALLOWED) for values in pair)
        if across.ndim != 1 or across.shape != up.shape:
            shapes = f"{across.shape} and {up.shape}"
            raise InputError(f"{field}[{label!r}]", shapes, "are shapes that differ", "x and y, equally many")
        found[label] = across, up
    return found


def _marker(index: int) -> dict[str, Any]:
    return {
        "color": COLOURS[index % len(COLOURS)],
        "symbol": SYMBOLS[index % len(SYMBOLS)],
        "size": 9,
        "line": {"color": "white", "width": 1},
    }


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
