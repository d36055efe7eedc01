"""The figure `btflow run --plot` writes: four views of one result on one page."""

from __future__ import annotations

import json

import plotly.graph_objects as go
import xarray as xr
from plotly.subplots import make_subplots

from btflow.plots.mechanism import send_gaps, why_slow
from btflow.plots.progress import completion_cdf, pieces_over_time
from btflow.plots.style import TEMPLATE, one_result

_LONGEST_LINE = 150


def overview(result: xr.Dataset) -> go.Figure:
    """Return completion times, pieces held, what held uploads back and the times between sends, two by two.

    Raises:
        InputError: `result` is not a result.
    """
    one_result(result)
    views = (completion_cdf(result), pieces_over_time(result), why_slow(result), send_gaps(result))
    drawn = make_subplots(
        rows=2,
        cols=2,
        subplot_titles=[view.layout.title.text for view in views],
        horizontal_spacing=0.11,
        vertical_spacing=0.24,
    )
    for number, view in enumerate(views):
        _place(drawn, view, number)
    drawn.update_annotations(font={"size": 16}, yshift=6)
    drawn.update_layout(
        template=TEMPLATE,
        title={"text": _title(result), "y": 0.985, "yanchor": "top", "subtitle": {"text": _settings(result)}},
        barmode="stack",
        bargap=0.35,
        width=1200,
        height=960,
        margin={"l": 80, "r": 40, "t": 125, "b": 100},
    )
    return drawn


def _place(drawn: go.Figure, view: go.Figure, number: int) -> None:
    """Copy a view's traces, axes and legend into cell `number` of the page, row by row."""
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
        "y": cell_y[0] - 0.08,
        "xanchor": "left",
        "yanchor": "top",
        "font": {"size": 11},
        "traceorder": "normal",
    }
    if view.layout.showlegend is False:
        drawn.update_traces(showlegend=False, row=row + 1, col=column + 1)


def _title(result: xr.Dataset) -> str:
    """Return the model and how many peers this swarm of it has."""
    roles = result["role"].values
    counts = {role: int((roles == role).sum()) for role in ("seed", "leecher")}
    return f"{result.attrs['model']}: " + " and ".join(f"{n} {role}{'s' * (n > 1)}" for role, n in counts.items())


def _settings(result: xr.Dataset) -> str:
    """Return the parameters, replicas and seed as lines of a readable length."""
    settings = [f"{name} = {value}" for name, value in json.loads(result.attrs["parameters"]).items()]
    settings += [
        f"{result.sizes['replica']} replica{'s' * (result.sizes['replica'] > 1)}",
        f"seed {result.attrs['seed']}",
    ]
    lines = [""]
    for text in settings:
        if len(lines[-1]) + len(text) > _LONGEST_LINE:
            lines.append("")
        lines[-1] += f", {text}" if lines[-1] else text
    return ",<br>".join(lines)
