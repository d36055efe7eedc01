"""Figures of single flows: goodput under random loss, and ramp-up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import plotly.graph_objects as go

from btflow.plots.style import COLOURS, SYMBOLS, figure
from validation.figures import levels
from validation.links import checks
from validation.links.drawing import SIDES, TITLES, log_axis, ours, pair, theirs
from validation.links.experiments import Single
from validation.links.judge import Line

SHOWN_RTT = 100.0  # ms, in the figure of ramps


def goodput(cc: str) -> Callable[[Sequence[Line]], go.Figure | None]:
    """Return what draws the goodput of a congestion control by loss."""

    def draw(lines: Sequence[Line]) -> go.Figure | None:
        cells = [(item.cell.experiment, item) for item in lines]
        own = [(run, item) for run, item in cells if isinstance(run, Single) and run.cc == cc]
        if not own:
            return None
        plot = figure(
            f"Goodput of one {TITLES[cc]} flow under random loss",
            "loss of data packets [%]",
            "goodput [Mbit/s], log scale",
            subtitle=f"{SIDES}; by round-trip time; mean over the seeds",
        )
        losses = sorted({run.loss for run, _ in own})
        for index, rtt in enumerate(sorted({run.rtt for run, _ in own})):
            found = sorted((run.loss, item) for run, item in own if run.rtt == rtt)
            at = [losses.index(loss) for loss, _ in found]
            sides = tuple([1e-6 * side(item, "goodput_bps") for _, item in found] for side in (ours, theirs))
            pair(plot, index, f"{rtt:g} ms", at, (sides[0], sides[1]))
        plot.update_xaxes(tickvals=list(range(len(losses))), ticktext=[f"{100 * loss:g}" for loss in losses])
        log_axis(plot, "y")
        return plot

    return draw


def ramp(cc: str) -> Callable[[Sequence[Line]], go.Figure | None]:
    """Return what draws the first rounds of a congestion control."""

    def draw(lines: Sequence[Line]) -> go.Figure | None:
        plot = figure(
            f"Ramp-up of {TITLES[cc]} at {SHOWN_RTT:g} ms",
            "time since the first segment [round-trip times], log scale",
            "delivered in order [kB], log scale",
            subtitle=SIDES,
        )
        times = [float(q.column.removeprefix("bytes_").removesuffix("rtt")) for q in checks.RAMP]
        shown = [
            (run, item)
            for item in lines
            if isinstance(run := item.cell.experiment, Single) and (run.cc, run.rtt) == (cc, SHOWN_RTT)
        ]
        for index, (run, item) in enumerate(shown):
            sides = tuple([1e-3 * side(item, q.column) for q in checks.RAMP] for side in (ours, theirs))
            rate = f", {run.rate / 1e6:g} Mbit/s" if not run.loss else ""
            pair(plot, index, f"loss {100 * run.loss:g}%{rate}", times, (sides[0], sides[1]))
        log_axis(plot, "y")
        plot.update_xaxes(type="log", tickvals=times, ticktext=[f"{t:g}" for t in times])
        return plot if shown else None

    return draw


def ramp_errors(lines: Sequence[Line]) -> go.Figure:
    """Return the error of each cell's ramp, by loss."""
    plot = figure(
        "Ramp-up: btflow against ns-3",
        "",
        "btflow over ns-3, difference [%]",
        subtitle="each cell, by loss and by round trips after the first segment; dotted: "
        f"±{100 * checks.RAMP[0].share:g}%; bars: standard error of the difference",
    )
    for index, cc in enumerate(("newreno", "linuxreno", "cubic")):
        own = [
            (f"{100 * run.loss:g}%", f)
            for item in lines
            if isinstance(run := item.cell.experiment, Single) and run.cc == cc
            for f in item.figures
        ]
        own.sort(key=lambda pair: float(pair[0].rstrip("%")))
        plot.add_scatter(
            x=[
                [f"loss {loss}" for loss, _ in own],
                [f.quantity.name.removeprefix("after ").removesuffix(" RTT") for _, f in own],
            ],
            y=[100 * f.relative for _, f in own],
            error_y={
                "type": "data",
                "array": [100 * f.noise / f.theirs.mean for _, f in own],
                "thickness": 0.8,
                "width": 0,
            },
            mode="markers",
            name=TITLES[cc],
            marker={"symbol": SYMBOLS[index], "size": 6, "color": COLOURS[index]},
        )
    plot.update_layout(scattermode="group", scattergap=0.3, legend={"y": -0.22})
    levels(plot, (-15, 0, 15))
    return plot
