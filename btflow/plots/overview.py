"""The figure `btflow run --plot` writes: four views of one result on one page, six of a swarm on access links."""

from __future__ import annotations

import json

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from plotly.subplots import make_subplots

from btflow.errors import brief
from btflow.plots.mechanism import send_gaps, why_slow
from btflow.plots.progress import completion_cdf, pieces_over_time
from btflow.plots.style import TEMPLATE, linked, one_result
from btflow.plots.uplinks import LINKED_VIEWS, completion_by_rank
from btflow.units.formatting import counted

_LONGEST_LINE = 150

# Heights on the page [px].
_VIEW, _BETWEEN, _TOP, _BOTTOM = 279, 176, 125, 100
_LEGEND = 59  # below a view, for its ticks and axis title


def overview(result: xr.Dataset) -> go.Figure:
    """Return completion times, pieces held, what held uploads back and the times between sends, two by two.

    Of a swarm on access links the last is left out, as uploads need no limit there; it has completion by rank, the
    uplinks' queues and the delays of control messages. What held uploads back is not known at flow
    fidelity: completion by rank takes its place, where it is not there already.

    Raises:
        InputError: `result` is not a result.
    """
    one_result(result)
    last = LINKED_VIEWS if linked(result) else (send_gaps,)
    held = (why_slow,) if "limited_share" in result else () if linked(result) else (completion_by_rank,)
    views = [view(result) for view in (completion_cdf, pieces_over_time, *held, *last)]
    rows = (len(views) + 1) // 2
    inside = rows * _VIEW + (rows - 1) * _BETWEEN
    drawn = make_subplots(
        rows=rows,
        cols=2,
        subplot_titles=[view.layout.title.text for view in views],
        horizontal_spacing=0.14 if linked(result) else 0.11,
        vertical_spacing=_BETWEEN / inside,
    )
    for number, view in enumerate(views):
        _place(drawn, view, number, _LEGEND / inside)
    drawn.update_annotations(font={"size": 16}, yshift=6)
    drawn.update_layout(
        template=TEMPLATE,
        title={"text": _title(result), "y": 0.985, "yanchor": "top", "subtitle": {"text": _settings(result)}},
        barmode="stack",
        boxmode="group",
        bargap=0.35,
        width=1200,
        height=inside + _TOP + _BOTTOM,
        margin={"l": 80, "r": 40, "t": _TOP, "b": _BOTTOM},
    )
    return drawn


def _place(drawn: go.Figure, view: go.Figure, number: int, below: float) -> None:
    """Copy a view's traces, shades, axes and legend into cell `number` of the page, row by row.

    The legend is `below` the axis, as a share of the height of all views.
    """
    row, column = divmod(number, 2)
    suffix = "" if number == 0 else str(number + 1)
    legend = f"legend{suffix}"
    for trace in view.data:
        trace.legend = legend
        drawn.add_trace(trace, row=row + 1, col=column + 1)
    cell_x, cell_y = drawn.layout[f"xaxis{suffix}"].domain, drawn.layout[f"yaxis{suffix}"].domain
    for axis in ("xaxis", "yaxis"):
        place = {"domain", "anchor"}
        settings = {k: v for k, v in view.layout[axis].to_plotly_json().items() if k not in place}
        drawn.layout[f"{axis}{suffix}"].update(settings)
    drawn.layout[legend] = {
        "orientation": "h",
        "x": cell_x[0],
        "y": cell_y[0] - below,
        "xanchor": "left",
        "yanchor": "top",
        "font": {"size": 11},
        "traceorder": "normal",
    }
    for shape in view.layout.shapes:
        drawn.add_shape(shape.update(xref=f"x{suffix}", yref=f"y{suffix} domain"))
    if view.layout.showlegend is False:
        drawn.update_traces(showlegend=False, row=row + 1, col=column + 1)


def _title(result: xr.Dataset) -> str:
    """Return the model and how many peers ever were in this swarm of it: some may wait for others to leave."""
    roles = result["role"].values[np.isfinite(result["start_time"].max("replica").values)]
    counts = {role: int((roles == role).sum()) for role in ("seed", "leecher")}
    return f"{result.attrs['model']}: " + " and ".join(counted(n, role) for role, n in counts.items())


def _settings(result: xr.Dataset) -> str:
    """Return the parameters, replicas and seed as lines of a readable length."""
    settings = [f"{name} = {brief(value)}" for name, value in json.loads(result.attrs["parameters"]).items()]
    settings += [
        counted(result.sizes["replica"], "replica"),
        f"seed {result.attrs['seed']}",
    ]
    if result.attrs.get("fidelity") == "flow":
        settings.append("flow fidelity")
    lines = [""]
    for text in settings:
        if len(lines[-1]) + len(text) > _LONGEST_LINE:
            lines.append("")
        lines[-1] += f", {text}" if lines[-1] else text
    return ",<br>".join(lines)
