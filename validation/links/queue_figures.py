"""Figures of flows in one queue: its length, their shares of the link, what messages and calls wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go

from btflow.plots.style import COLOURS, GREY, SYMBOLS, figure, line
from validation.links import checks
from validation.links.drawing import OPEN, SIDES, TITLES, bottleneck, buffer_axis, log_axis, ours, pair, theirs
from validation.links.judge import Line

PERCENTS = (10, 25, 50, 75, 90, 95, 99)
SHOWN_BUFFER = 100  # packets, in the figure of quantiles


def queue_means(lines: Sequence[Line]) -> go.Figure:
    """Return the mean queue of each cell against the reference."""
    plot = figure(
        "Mean queue: btflow against ns-3",
        "ns-3 [packets], log scale",
        "btflow [packets], log scale",
        subtitle="1 Mbit/s, drop-tail, buffers of 10 to 200 packets; filled: one flow, open: four; dotted: tolerance",
    )
    controls = dict.fromkeys(run.listed[0][0] for run in map(bottleneck, lines))
    for index, cc in enumerate(controls):
        for count, suffix in ((1, ""), (4, "-open")):
            own = [item for item in lines if bottleneck(item).listed == ((cc, count),)]
            plot.add_scatter(
                x=[item.figures[0].theirs.mean for item in own],
                y=[item.figures[0].ours.mean for item in own],
                mode="markers",
                name=TITLES[cc],
                showlegend=count == 1,
                legendgroup=cc,
                marker={"symbol": SYMBOLS[index] + suffix, "color": COLOURS[index], "size": 9},
            )
    at = np.geomspace(0.1, 250, 60)
    allowed = np.array([checks.QUEUE[0].allowed(x) for x in at])
    for bound in (at + allowed, at - allowed):
        seen = bound > 0.1
        plot.add_scatter(
            x=at[seen], y=bound[seen], mode="lines", line={"color": GREY, "dash": "dot", "width": 1.5}, showlegend=False
        )
    for axis in ("x", "y"):
        log_axis(plot, axis)
    return plot


def quantiles(count: int) -> Callable[[Sequence[Line]], go.Figure | None]:
    """Return what draws the distribution of the queue of some flows."""

    def draw(lines: Sequence[Line]) -> go.Figure | None:
        own = [
            item
            for item in lines
            if (run := bottleneck(item)).buffer == SHOWN_BUFFER
            and run.listed[0][1] == count
            and (run.rtt, run.duration) == (50.0, 300.0)
        ]
        plot = figure(
            f"Queue of {'one flow' if count == 1 else f'{count} flows'}, room for {SHOWN_BUFFER} packets",
            "queue [packets]",
            "share of the time with more [%], log scale",
            subtitle=f"1 Mbit/s, 50 ms; {SIDES} at the quantiles that its tables have",
        )
        for index, item in enumerate(own):
            columns = [f"queue_p{percent}_packets" for percent in PERCENTS]
            colour, symbol = COLOURS[index % len(COLOURS)], SYMBOLS[index % len(SYMBOLS)]
            name = TITLES[bottleneck(item).listed[0][0]]
            above = [100 - percent for percent in PERCENTS]
            plot.add_scatter(
                x=[ours(item, column) for column in columns], y=above, mode="lines", name=name, line=line(index)
            )
            plot.add_scatter(
                x=[theirs(item, column) for column in columns],
                y=above,
                mode="markers",
                showlegend=False,
                marker={"symbol": f"{symbol}-open", "color": colour, **OPEN},
            )
        plot.update_yaxes(type="log", tickvals=[1, 2, 5, 10, 25, 50, 90])
        plot.update_xaxes(range=[-3, SHOWN_BUFFER + 4])
        return plot if own else None

    return draw


def shares(first: str) -> Callable[[Sequence[Line]], go.Figure | None]:
    """Return what draws a control's share of the link beside another one, by buffer."""

    def draw(lines: Sequence[Line]) -> go.Figure | None:
        noise = any(bottleneck(item).noise for item in lines)
        plot = figure(
            f"Share of {TITLES[first]} beside one other flow{' and short packets' if noise else ''}",
            "buffer [packets], log scale",
            f"{TITLES[first]}'s share of the goodput",
            subtitle=f"1 Mbit/s, 50 ms, drop-tail; {SIDES}, with the least and the greatest of its seeds",
        )
        pairs = [pair for pair in dict.fromkeys(bottleneck(item).listed for item in lines) if pair[0][0] == first]
        for index, listed in enumerate(pairs):
            own = sorted((run.buffer, item) for item in lines if (run := bottleneck(item)).listed == listed)
            at, figures = [buffer for buffer, _ in own], [item.figures[0] for _, item in own]
            sides = ([f.ours.mean for f in figures], [f.theirs.mean for f in figures])
            pair(plot, index, f"beside {TITLES[listed[1][0]]}", at, sides)
            plot.data[-1].error_y = {
                "type": "data",
                "symmetric": False,
                "array": [f.theirs.max - f.theirs.mean for f in figures],
                "arrayminus": [f.theirs.mean - f.theirs.min for f in figures],
                "thickness": 1,
                "width": 3,
            }
        buffer_axis(plot, sorted({bottleneck(item).buffer for item in lines}))
        plot.update_yaxes(range=[0, 1.03])
        return plot if pairs else None

    return draw


def delays(name: str, title: str) -> Callable[[Sequence[Line]], go.Figure]:
    """Return what draws the delays of messages or of a call, by buffer."""

    def draw(lines: Sequence[Line]) -> go.Figure:
        rate = bottleneck(lines[0]).rate / 1e6
        plot = figure(
            title,
            "buffer [packets], log scale",
            "one-way delay [ms], log scale",
            subtitle=f"{rate:g} Mbit/s, 50 ms, drop-tail; {SIDES}",
        )
        controls = dict.fromkeys(bottleneck(item).listed[0][0] for item in lines)
        for index, cc in enumerate(controls):
            own = sorted((run.buffer, item) for item in lines if (run := bottleneck(item)).listed[0][0] == cc)
            for percent, dash in ((50, "solid"), (95, "dot")):
                column = f"{name}_p{percent}_ms"
                sides = tuple([side(item, column) for _, item in own] for side in (ours, theirs))
                what = "median" if percent == 50 else "95th percentile"
                pair(plot, index, f"{TITLES[cc]}, {what}", [buffer for buffer, _ in own], (sides[0], sides[1]))
                plot.data[-2].line.dash = dash
        buffer_axis(plot, sorted({bottleneck(item).buffer for item in lines}))
        log_axis(plot, "y")
        return plot

    return draw
