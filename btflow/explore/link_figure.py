"""The figure of the link panel: windows, rates and queue over time, one below the other, redrawn in place.

It is made once with a fixed number of lines, for packets and for the fluid beside them. A group of flows is one line
with gaps, so that a change of numbers changes data only, and the browser gets arrays instead of a figure.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from btflow.explore.figure import Figure
from btflow.plots.link import envelope, means, rate_points
from btflow.plots.style import COLOURS, GREY, TEMPLATE, line

MOST_GROUPS = len(COLOURS) - 1
MOST_POINTS = 1200
"""Points of a group's line; of one flow at least LEAST_POINTS."""
LEAST_POINTS = 150
HEIGHT = 720
_WIDTH = 1.6
_HIDDEN: dict[str, Any] = {"visible": False, "x": [], "y": []}
_SOLID, _FLUID = {"dash": "solid"}, {"dash": "dash", "width": 2.2}
_TITLES = ("window<br>[segments]", "rate<br>[kbit/s]", "queue<br>[packets]")

Floats = NDArray[np.float64]


def empty() -> Figure:
    """Return the figure without data."""
    drawn = make_subplots(rows=3, cols=1, shared_xaxes=True, vertical_spacing=0.06)
    plain = {"col": 1, "x": [], "y": [], "mode": "lines"}
    for look in (_SOLID, _FLUID):
        common = plain | ({"legendgroup": "fluid"} if look is _FLUID else {})
        for row in (1, 2):
            for index in range(MOST_GROUPS):
                shown = {"legendgroup": str(index), "showlegend": row == 1 and look is _SOLID} | common
                drawn.add_scatter(row=row, visible=False, line=_style(index, look), **shown)
        queue = {"name": "queue", "showlegend": False}  # alone in its axes but for the fluid's
        drawn.add_scatter(row=3, line=_style(6, look), **queue, **common)
    drawn.add_scatter(row=2, name="capacity", line=line(0, color=GREY, dash="dot", width=_WIDTH), **plain)
    key = {"name": "fluid (dashed)", "legendgroup": "fluid", "visible": False, "hoverinfo": "skip"}
    drawn.add_scatter(row=1, line=line(0, color=GREY, **_FLUID), **key, **plain | {"x": [None], "y": [None]})
    for row, title in enumerate(_TITLES, 1):
        drawn.update_yaxes(row=row, col=1, title={"text": title, "font": {"size": 12}}, rangemode="tozero")
    drawn.update_xaxes(row=3, col=1, title_text="time [s]")
    cursor = {"type": "line", "x0": 0, "x1": 0, "y0": 0, "y1": 1, "xref": "x", "yref": "paper"}
    template = go.layout.Template(TEMPLATE)
    template.layout.width = template.layout.height = None
    drawn.update_layout(
        template=template,
        height=HEIGHT,
        autosize=True,
        margin={"l": 65, "r": 15, "t": 50, "b": 50},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.01, "x": 0, "font": {"size": 12}},
        shapes=[cursor | {"line": {"color": "#333333", "width": 1.5, "dash": "dash"}, "visible": False}],
        uirevision="link",
    )
    return Figure(drawn)


def draw(widget: Figure, result: xr.Dataset, fluid: xr.Dataset | None = None) -> None:
    """Show a result of btflow.simulate_link, and that of flow for the same experiment dashed beside it."""
    capacity = float(result.attrs[f"rate_{result.attrs['bottleneck']}"])
    unit, scale = ("Mbit/s", 8e-6) if capacity * 8 >= 2e6 else ("kbit/s", 8e-3)
    end, points = float(result["time"][-1]), rate_points(result)
    look = {} if fluid is None else _SOLID
    styles = [{"line": _style(index, look)} for index in range(MOST_GROUPS)] * 2
    packets = [one | style for one, style in zip(_lines(result, scale, points), styles, strict=True)]
    beside = [_HIDDEN] * len(packets) if fluid is None else _lines(fluid, scale, points, ", fluid")
    queues = [_HIDDEN if one is None else _queue(one) for one in (result, fluid)]
    limit = {"x": [0.0, end], "y": [scale * capacity] * 2}
    axes = {"yaxis2": {"title": {"text": f"rate<br>[{unit}]"}}, "xaxis3": {"range": [0.0, end]}}
    widget.put([*packets, queues[0], *beside, queues[1], limit, {"visible": fluid is not None}], axes)


def _style(index: int, look: dict[str, Any]) -> dict[str, Any]:
    """Return the line of the index-th group, with what its look has of its own."""
    return line(index, width=_WIDTH) | look


def _lines(result: xr.Dataset, scale: float, points: int, mark: str = "") -> list[dict[str, Any]]:
    """Return the windows and then the rates of each group, the mark after its name."""
    time, found = result["time"].values, list(groups(result).items())[:MOST_GROUPS]
    windows, rates = [_HIDDEN] * MOST_GROUPS, [_HIDDEN] * MOST_GROUPS
    for index, (name, columns) in enumerate(found):
        shown = {"name": name + mark, "visible": True}
        windows[index] = shown | _xy(_windows(time, result["window"].values[:, columns]))
        rates[index] = shown | _xy(_rates(time, scale * result["rate"].values[:, columns], points))
    return [*windows, *rates]


def _queue(result: xr.Dataset) -> dict[str, Any]:
    """Return how many packets wait in the bottleneck."""
    bottleneck = str(result.attrs["bottleneck"])
    lengths = result["queue_length"].values[:, list(result["queue"].values).index(bottleneck)]
    mark = ", fluid" * (result.attrs["fidelity"] == "flow")
    shown = {"name": f"queue {bottleneck}{mark}", "visible": True}
    return shown | _xy(envelope(result["time"].values, lengths, MOST_POINTS))


def mark(widget: go.FigureWidget, time: float | None) -> None:
    """Show the cursor at a time [s], or none."""
    cursor: dict[str, Any] = {"visible": time is not None} | ({} if time is None else {"x0": time, "x1": time})
    widget.layout.shapes[0].update(cursor)


def rates_at(result: xr.Dataset, time: float, points: int) -> Floats:
    """Return the rate of each flow that its line of so many points has at a time [B/s]; NaN where the line is not."""
    times = result["time"].values
    lines = (means(times, column, points) for column in result["rate"].values.T)
    return np.array([np.interp(time, x, y, left=np.nan, right=np.nan) for x, y in lines])


def groups(result: xr.Dataset) -> dict[str, list[int]]:
    """Return the columns of each group of flows by its name and congestion control, calls and probes last."""
    found: dict[str, list[int]] = {}
    kinds = zip(result["flow"].values, result["cc"].values, result["kind"].values, strict=True)
    for index, (flow, cc, kind) in enumerate(kinds):
        group = str(flow) if kind == "voip" else f"{_group(str(flow))} ({cc})"
        found.setdefault(group, []).append(index)
    return found


def _group(flow: str) -> str:
    """Return the group of a flow: its name without the number."""
    name, dash, number = flow.rpartition("-")
    return name if dash and number.isdigit() else flow


def _windows(time: Floats, windows: Floats) -> tuple[Floats, Floats]:
    most = max(LEAST_POINTS, MOST_POINTS // windows.shape[1])
    return _joined([envelope(time, column, most) for column in windows.T])


def _rates(time: Floats, rates: Floats, points: int) -> tuple[Floats, Floats]:
    return _joined([means(time, column, points) for column in rates.T])


def _joined(lines: list[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Return several lines as one with gaps between them."""
    gap = np.array([np.nan])
    x, y = ([part for one in lines for part in (one[axis], gap)] for axis in (0, 1))
    return np.concatenate(x), np.concatenate(y)


def _xy(points: tuple[Floats, Floats]) -> dict[str, Any]:
    """Return points in half the bytes: a screen shows no more."""
    return {"x": points[0].astype(np.float32), "y": points[1].astype(np.float32)}
