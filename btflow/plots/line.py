"""Figure of a line that was fitted: what was measured over what is simulated."""

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from btflow.errors import InputError
from btflow.lines.compared import Comparison, during, rate, rtt, simulated_loads
from btflow.lines.traces import Load
from btflow.plots.series import envelope
from btflow.plots.style import COLOURS, GREY, SYMBOLS, TEMPLATE, line

Floats = NDArray[np.float64]

POINTS = 300
"""Most points of what one kind of packets measured."""

LEAST, MOST = 5, 60
"""Times over which a rate is averaged, at least and at most."""
SHORTEST = 1.0
"""Least length of such a time [s]; three of the longest round-trip times, if that is more: what a program writes comes
in pieces of about a window."""


def measured_over_simulated(compared: Comparison) -> go.Figure:
    """Return round-trip time [ms] and goodput [Mbit/s] over time [s], measured (points) over simulated (lines).

    Args:
        compared: What ``btflow.lines.compare`` returns.

    Raises:
        InputError: It is something else.
    """
    if not isinstance(compared, Comparison):
        raise InputError("compared", compared, "is no comparison", "what btflow.lines.compare returns")
    drawn = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06, row_heights=[0.58, 0.42])
    for trace in _delays(compared):
        drawn.add_trace(trace, row=1, col=1)
    for trace in _rates(compared):
        drawn.add_trace(trace, row=2, col=1)
    _levels(drawn, compared)
    drawn.update_xaxes(title_text="time since the load began [s]", row=2, col=1)
    drawn.update_yaxes(title_text="round-trip time [ms]", row=1, col=1)
    drawn.update_yaxes(title_text="goodput [Mbit/s]", row=2, col=1)
    files = ", ".join(trace.file for trace in compared.line.traces)
    drawn.update_layout(
        template=TEMPLATE,
        title={"text": "My line: measured over simulated", "subtitle": {"text": files}},
        width=TEMPLATE.layout.width,
        height=740,
        legend={"y": -0.11, "entrywidth": 0.48, "entrywidthmode": "fraction"},
        margin={"b": 140},
    )
    return drawn


def _delays(compared: Comparison) -> list[go.Scatter]:
    """Return what pings and the load's packets measured, and what they would measure in the simulation."""
    found, result = [], compared.result
    for index, delays in enumerate(during(compared.line)):
        colour = COLOURS[index % len(COLOURS)]
        time = result["time"].values
        shown = time <= max(load.end for load in simulated_loads(compared.line))
        x, y = envelope(time[shown], 1e3 * rtt(compared.line, result, delays)[shown])
        simulated = line(index, color=colour, width=2.0)
        found.append(go.Scatter(x=x, y=y, name=f"{delays.of}: simulated", mode="lines", line=simulated))
        x, y = envelope(delays.time, 1e3 * delays.rtt, POINTS)
        marker = {"symbol": f"{SYMBOLS[index % len(SYMBOLS)]}-open", "size": 5, "color": colour}
        found.append(go.Scatter(x=x, y=y, name=f"{delays.of}: measured", mode="markers", marker=marker))
    return found


def _rates(compared: Comparison) -> list[go.Scatter]:
    """Return goodput over time."""
    found, result = [], compared.result
    for number, load in enumerate(simulated_loads(compared.line)):
        colour = COLOURS[(3 + number) % len(COLOURS)]
        time, simulated = result["time"].values, 8e-6 * rate(result, number)
        within = (time >= load.start) & (time <= load.end)
        longest = max((float(delays.rtt.max()) for delays in during(compared.line)), default=0.0)
        parts = int(np.clip((load.end - load.start) / max(SHORTEST, 3 * longest), LEAST, MOST))
        x, y = (np.array([part.mean() for part in np.array_split(of[within], parts)]) for of in (time, simulated))
        style = line(3 + number, color=colour, width=2.0)
        found.append(go.Scatter(x=x, y=y, name=f"load {load.way}: simulated", mode="lines", line=style))
        if compared.line.shows(load):
            found.append(_measured(load, parts, colour))
    return found


def _measured(load: Load, parts: int, colour: str) -> go.Scatter:
    """Return what arrived over time; its mean, or what was written, where that is all there is."""
    if load.counted == "written" and load.arrived is not None:
        size, took = load.arrived
        times, mean = [load.start, load.start + took], [8e-6 * size / took] * 2
        name, style = f"load {load.way}: measured, mean", {"color": colour, "width": 5}
        return go.Scatter(x=times, y=mean, name=name, mode="lines", line=style, opacity=0.4)
    # the middles of equal times [s], and the goodput in each [B/s]
    sent = np.append(0.0, np.cumsum(load.goodput * np.diff(load.edges)))
    edges = np.linspace(load.start, load.end, parts + 1)
    x, y = (edges[1:] + edges[:-1]) / 2, np.diff(np.interp(edges, load.edges, sent)) / np.diff(edges)
    marker = {"symbol": "square-open", "size": 6, "color": colour}
    counted = "" if load.counted == "arrived" else ", as written"
    return go.Scatter(x=x, y=8e-6 * y, name=f"load {load.way}: measured{counted}", mode="markers", marker=marker)


def _levels(drawn: go.Figure, compared: Comparison) -> None:
    """Draw the fitted base round-trip time, the full queue above it, and the rate that is left for payload."""
    found = compared.line
    levels = [(1, 1e3 * found.rtt.value, "base")]
    for way, queue in found.ways:
        if queue.wait is not None and queue.discipline == "drop-tail":
            service = queue.packet / queue.rate.value
            levels.append((1, 1e3 * (found.rtt.value + queue.wait.value + service), f"queue {way} full"))
        per = next(load.segment / load.packet for load in found.loads if load.way == way)
        levels.append((2, 8e-6 * queue.rate.value * per, f"rate {way}"))
    for row, value, text in levels:
        left = text != "base"  # there the round-trip times begin low, and stay high
        place = {"x": 0.01 if left else 0.99, "xanchor": "left" if left else "right", "yanchor": "bottom"}
        drawn.add_hline(
            y=value,
            row=row,
            col=1,
            line={"color": GREY, "dash": "dot", "width": 1.5},
            annotation={"text": text, "font": {"size": 12, "color": GREY}, **place},
        )
        highest = max(float(np.nanmax(trace.y)) for trace in drawn.data if trace.yaxis == ("y" if row == 1 else "y2"))
        drawn.update_yaxes(range=[0.0, 1.15 * max(highest, *(at for r, at, _ in levels if r == row))], row=row, col=1)
