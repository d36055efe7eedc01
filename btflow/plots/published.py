"""Simulated figures beside the published ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
import scipy
from numpy.typing import ArrayLike, NDArray

from btflow.errors import InputError
from btflow.plots.given import by_label, numbers
from btflow.plots.style import COLOURS, figure

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
    drawn = figure(title, axis, "", subtitle=bars)
    drawn.add_scatter(
        x=[row.mean() for row in rows.values()],
        y=list(rows),
        error_x={"type": "data", "array": [half_width(row) for row in rows.values()], "thickness": 1.8, "width": 6},
        mode="markers",
        name="btflow",
        marker={"color": COLOURS[0], "symbol": "circle", "size": 10},
    )
    if published:
        diamond = {"color": COLOURS[1], "symbol": "diamond-open", "size": 13, "line": {"width": 2.5}}
        drawn.add_scatter(x=[*published.values()], y=[*published], mode="markers", name=source, marker=diamond)
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
    for label, value in by_label("published", {} if given is None else given, allowed, empty=True).items():
        number = numbers(f"published[{label!r}]", value, "one number")
        if number.size != 1:
            raise InputError(f"published[{label!r}]", value, "is not one number", "one number")
        found[label] = float(number.ravel()[0])
    return found


def _rows(values: Mapping[str, ArrayLike]) -> dict[str, NDArray[np.float64]]:
    """Return the numbers of each row without NaN; InputError if there are none."""
    given = by_label("values", values, "numbers, one for each replica, in a mapping by row")
    rows = {label: numbers(f"values[{label!r}]", row, "one for each replica").ravel() for label, row in given.items()}
    rows = {label: row[np.isfinite(row)] for label, row in rows.items()}
    if empty := [label for label, row in rows.items() if not row.size]:
        raise InputError(f"values[{empty[0]!r}]", values[empty[0]], "has no number", "one for each replica")
    return rows
