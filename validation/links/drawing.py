"""Parts of the figures of link experiments: a pair of both sides, axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from btflow.plots.style import COLOURS, SYMBOLS, line
from validation.links.experiments import Bottleneck
from validation.links.judge import Line
from validation.links.measured import measure

TITLES = {
    "newreno": "NewReno",
    "linuxreno": "Linux's Reno",
    "cubic": "CUBIC",
    "vegas": "Vegas",
    "lp": "TCP-LP",
    "ledbat": "LEDBAT",
    "ledbat25": "LEDBAT, 25 ms",
}
OPEN = {"size": 10, "line": {"width": 2}}
SIDES = "lines: btflow; open symbols: ns-3"


def mean(values: Sequence[float]) -> float:
    """Return the mean of values."""
    return float(np.mean(values))


def ours(item: Line, column: str) -> float:
    """Return the mean of our figures in a column, of the seeds that the others have."""
    return mean(measure(item.cell.experiment, item.figures[0].ours.replicas)[column])


def theirs(item: Line, column: str) -> float:
    """Return the mean of the reference's figures in a column."""
    return mean(item.cell.figures[column])


def pair(
    plot: go.Figure, index: int, name: str, x: Sequence[object], sides: tuple[Sequence[float], Sequence[float]]
) -> None:
    """Draw ours as a line and the reference as open symbols."""
    colour, symbol = COLOURS[index % len(COLOURS)], SYMBOLS[index % len(SYMBOLS)]
    plot.add_scatter(x=x, y=sides[0], mode="lines", name=name, line=line(index), legendgroup=name)
    plot.add_scatter(
        x=x,
        y=sides[1],
        mode="markers",
        name=f"{name}, ns-3",
        marker={"symbol": f"{symbol}-open", "color": colour, **OPEN},
        legendgroup=name,
        showlegend=False,
    )


def bottleneck(item: Line) -> Bottleneck:
    """Return the experiment of a line that several flows share."""
    run = item.cell.experiment
    assert isinstance(run, Bottleneck)
    return run


def buffer_axis(plot: go.Figure, buffers: Sequence[int]) -> None:
    """Make the x axis one of buffers, with a tick at each."""
    plot.update_xaxes(type="log", tickvals=list(buffers), ticktext=[str(buffer) for buffer in buffers])


def log_axis(plot: go.Figure, axis: str) -> None:
    """Make an axis logarithmic, with ticks at 1, 2 and 5 times the powers of ten."""
    ticks = [float(f"{factor}e{exponent}") for exponent in range(-3, 6) for factor in (1, 2, 5)]
    update = plot.update_xaxes if axis == "x" else plot.update_yaxes
    update(type="log", tickvals=ticks, ticktext=[f"{tick:g}" for tick in ticks])
