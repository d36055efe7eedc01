"""A statistic over two varied names at once, as coloured cells."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from btflow.analysis.cells import cells
from btflow.analysis.design import checked, runs
from btflow.analysis.effect import cell_means
from btflow.analysis.labels import rounded
from btflow.plots.style import figure
from btflow.plots.sweep_axes import UPRIGHT, Shown, heading, make_room, names_of, origin, place, shown, statistic_scale

MOST_NUMBERS = 150
"""Most cells that have their number written in them."""

MISSING = "no result"


def heat_map(ds: xr.Dataset, variable: str, x: str, y: str, *, bins: int = 10) -> go.Figure:
    """Return the mean of a statistic at each value of `x` and `y`, averaged over replicas and the other names.

    Cells are evenly spaced whatever the values; a cross marks those without any result, a ring those in which some
    swarms have none.

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
    scale, text = statistic_scale(ds, variable, values.ravel())
    values = values / scale.divisor
    names = names_of(ds)
    across = shown(content.axes[0], names[x], even=True)
    up = shown(content.axes[1], names[y], even=True, longest=UPRIGHT)
    note = "" if content.balanced else "means over different points"
    drawn = figure(f"{heading(ds, variable)} by {names[x]} and {names[y]}", "", "", subtitle=origin(ds, variable, note))
    drawn.add_heatmap(
        x=across.positions,
        y=up.positions,
        z=values,
        colorscale="Cividis",
        colorbar={"title": {"text": text, "side": "right", "font": {"size": 14}}, "thickness": 16, "outlinewidth": 0},
        text=[[rounded(float(f"{v:.4g}")) if np.isfinite(v) else "" for v in row] for row in values],
        texttemplate="%{text}" if values.size <= MOST_NUMBERS else None,
        customdata=[[f"{b}, {a}" for a in across.texts] for b in up.texts],
        hovertemplate="%{customdata}: %{z:.4g}<extra></extra>",
        xgap=1,
        ygap=1,
        name="",
    )
    lost = content.lost.reshape(content.shape).T
    _mark(drawn, np.isnan(values), across, up, MISSING)
    _mark(drawn, (lost > 0) & np.isfinite(values), across, up, f"some {runs(ds)} missing")
    place(drawn, "y", up)
    make_room(drawn, place(drawn, "x", across))
    drawn.update_layout(plot_bgcolor="#EEEEEE")
    return drawn


def _mark(drawn: go.Figure, where: np.ndarray, across: Shown, up: Shown, name: str) -> None:
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
