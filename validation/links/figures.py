"""Figures of the report on link experiments: ours as lines or filled symbols, the reference as open symbols."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import plotly.graph_objects as go

from btflow.counts import counted
from btflow.plots.style import COLOURS, GREY, SYMBOLS, figure, line
from validation import reference
from validation.links import checks, coexistence
from validation.links.experiments import Bottleneck, Single
from validation.links.judge import Line
from validation.links.measured import measure
from validation.links.report import Report

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
PERCENTS = (10, 25, 50, 75, 90, 95, 99)
SHOWN_BUFFER = 100  # packets, in the figure of quantiles
SHOWN_RTT = 100.0  # ms, in the figure of ramps
SIDES = "lines: btflow; open symbols: ns-3"

Drawn = tuple[go.Figure, str]
"""A figure and its caption."""


def drawn(report: Report) -> dict[str, Drawn]:
    """Return the figures of what was checked, by name."""
    makers: dict[str, tuple[str, Callable[[Sequence[Line]], go.Figure | None], str]] = {
        **{
            f"goodput_{cc}": ("P01", _goodput(cc), "Saturated throughput; at 0% the link of 10 Mbit/s is the limit.")
            for cc in ("newreno", "linuxreno", "cubic")
        },
        **{
            f"ramp_{cc}": ("P02", _ramp(cc), "The first rounds, mean over the seeds.")
            for cc in ("newreno", "linuxreno", "cubic")
        },
        "ramp_errors": ("P02", ramp_errors, "Every cell of the grid."),
        "queue_means": ("P03", queue_means, "Every cell: within the dotted lines the difference counts as right."),
        "queue_quantiles_1": ("P03", _quantiles(1), "The distribution of the queue, one flow."),
        "queue_quantiles_4": ("P03", _quantiles(4), "The distribution of the queue, four flows."),
        **{
            f"{name}_{cc}": (claim, _shares(cc), caption)
            for name, claim, caption in (
                ("shares", "P04", "Who gets what of the link."),
                ("shares_noise", "P10", "The same with irregular short packets on the link."),
            )
            for cc in ("cubic", "newreno")
        },
        "messages": ("P05", _delays("probe", "Delay of 100 B messages beside one bulk flow"), "Control plane."),
        "calls": ("P06", _delays("voip", "Delay of a G.729 call beside three bulk flows"), "Voice on a T1."),
    }
    found: dict[str, Drawn] = {}
    for name, (claim, make, caption) in makers.items():
        lines = report.lines(claim)
        made = make(lines) if lines else None
        if made is not None:
            found[name] = (made, caption)
    if report.has("G01") or report.has("G02"):
        found["geni_buffers"] = (
            geni_buffers(report.runs),
            "G01 and G02 against the buffer that the paper does not give.",
        )
    if report.has("G02"):
        found["geni_rates"] = (geni_rates(), "In the form of figure 2 of the GENI project.")
    if report.has("V01"):
        found["call_bars"] = (call_bars(report.runs), "V01: figures 9 to 12 of the OPNET project in one.")
    return found


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _ours(item: Line, column: str) -> float:
    return _mean(measure(item.cell.experiment, _runs(item))[column])


def _theirs(item: Line, column: str) -> float:
    return _mean(item.cell.figures[column])


def _runs(item: Line) -> int:
    """Return the seeds that a cell was run with here: those its figures already have."""
    return item.figures[0].ours.replicas


def _pair(
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


def _goodput(cc: str) -> Callable[[Sequence[Line]], go.Figure | None]:
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
            sides = tuple([1e-6 * side(item, "goodput_bps") for _, item in found] for side in (_ours, _theirs))
            _pair(plot, index, f"{rtt:g} ms", at, (sides[0], sides[1]))
        plot.update_xaxes(tickvals=list(range(len(losses))), ticktext=[f"{100 * loss:g}" for loss in losses])
        _log_axis(plot, "y")
        return plot

    return draw


def _ramp(cc: str) -> Callable[[Sequence[Line]], go.Figure | None]:
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
            sides = tuple([1e-3 * side(item, q.column) for q in checks.RAMP] for side in (_ours, _theirs))
            rate = f", {run.rate / 1e6:g} Mbit/s" if not run.loss else ""
            _pair(plot, index, f"loss {100 * run.loss:g}%{rate}", times, (sides[0], sides[1]))
        _log_axis(plot, "y")
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
    _levels(plot, (-15, 0, 15))
    return plot


def queue_means(lines: Sequence[Line]) -> go.Figure:
    """Return the mean queue of each cell against the reference."""
    plot = figure(
        "Mean queue: btflow against ns-3",
        "ns-3 [packets], log scale",
        "btflow [packets], log scale",
        subtitle="1 Mbit/s, drop-tail, buffers of 10 to 200 packets; filled: one flow, open: four; dotted: tolerance",
    )
    controls = dict.fromkeys(run.listed[0][0] for run in map(_bottleneck, lines))
    for index, cc in enumerate(controls):
        for count, suffix in ((1, ""), (4, "-open")):
            own = [item for item in lines if _bottleneck(item).listed == ((cc, count),)]
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
        _log_axis(plot, axis)
    return plot


def _quantiles(count: int) -> Callable[[Sequence[Line]], go.Figure | None]:
    def draw(lines: Sequence[Line]) -> go.Figure | None:
        own = [
            item
            for item in lines
            if (run := _bottleneck(item)).buffer == SHOWN_BUFFER
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
            name = TITLES[_bottleneck(item).listed[0][0]]
            above = [100 - percent for percent in PERCENTS]
            plot.add_scatter(
                x=[_ours(item, column) for column in columns], y=above, mode="lines", name=name, line=line(index)
            )
            plot.add_scatter(
                x=[_theirs(item, column) for column in columns],
                y=above,
                mode="markers",
                showlegend=False,
                marker={"symbol": f"{symbol}-open", "color": colour, **OPEN},
            )
        plot.update_yaxes(type="log", tickvals=[1, 2, 5, 10, 25, 50, 90])
        plot.update_xaxes(range=[-3, SHOWN_BUFFER + 4])
        return plot if own else None

    return draw


def _bottleneck(item: Line) -> Bottleneck:
    run = item.cell.experiment
    assert isinstance(run, Bottleneck)
    return run


def _shares(first: str) -> Callable[[Sequence[Line]], go.Figure | None]:
    def draw(lines: Sequence[Line]) -> go.Figure | None:
        noise = any(_bottleneck(item).noise for item in lines)
        plot = figure(
            f"Share of {TITLES[first]} beside one other flow{' and short packets' if noise else ''}",
            "buffer [packets], log scale",
            f"{TITLES[first]}'s share of the goodput",
            subtitle=f"1 Mbit/s, 50 ms, drop-tail; {SIDES}, with the least and the greatest of its seeds",
        )
        pairs = [pair for pair in dict.fromkeys(_bottleneck(item).listed for item in lines) if pair[0][0] == first]
        for index, listed in enumerate(pairs):
            own = sorted((run.buffer, item) for item in lines if (run := _bottleneck(item)).listed == listed)
            at, figures = [buffer for buffer, _ in own], [item.figures[0] for _, item in own]
            sides = ([f.ours.mean for f in figures], [f.theirs.mean for f in figures])
            _pair(plot, index, f"beside {TITLES[listed[1][0]]}", at, sides)
            plot.data[-1].error_y = {
                "type": "data",
                "symmetric": False,
                "array": [f.theirs.max - f.theirs.mean for f in figures],
                "arrayminus": [f.theirs.mean - f.theirs.min for f in figures],
                "thickness": 1,
                "width": 3,
            }
        _buffer_axis(plot, sorted({_bottleneck(item).buffer for item in lines}))
        plot.update_yaxes(range=[0, 1.03])
        return plot if pairs else None

    return draw


def _delays(name: str, title: str) -> Callable[[Sequence[Line]], go.Figure]:
    def draw(lines: Sequence[Line]) -> go.Figure:
        rate = _bottleneck(lines[0]).rate / 1e6
        plot = figure(
            title,
            "buffer [packets], log scale",
            "one-way delay [ms], log scale",
            subtitle=f"{rate:g} Mbit/s, 50 ms, drop-tail; {SIDES}",
        )
        controls = dict.fromkeys(_bottleneck(item).listed[0][0] for item in lines)
        for index, cc in enumerate(controls):
            own = sorted((run.buffer, item) for item in lines if (run := _bottleneck(item)).listed[0][0] == cc)
            for percent, dash in ((50, "solid"), (95, "dot")):
                column = f"{name}_p{percent}_ms"
                sides = tuple([side(item, column) for _, item in own] for side in (_ours, _theirs))
                what = "median" if percent == 50 else "95th percentile"
                _pair(plot, index, f"{TITLES[cc]}, {what}", [buffer for buffer, _ in own], (sides[0], sides[1]))
                plot.data[-2].line.dash = dash
        _buffer_axis(plot, sorted({_bottleneck(item).buffer for item in lines}))
        _log_axis(plot, "y")
        return plot

    return draw


def geni_buffers(runs: int) -> go.Figure:
    """Return what iperf gets against the downlink's buffer, for the paper's four settings."""
    plot = figure(
        "iperf beside BitTorrent seeds, against the downlink's buffer",
        "buffer of the downlink [packets], log scale",
        "goodput of iperf [Mbit/s]",
        subtitle=f"2048 kbit/s, uplinks of 1024 kbit/s; bars: 95% intervals of {runs} seeds; open symbols: the paper's "
        f"figures, at the model's {coexistence.stated_buffer()}",
    )
    stated = float(coexistence.stated_buffer().split()[0])
    for index, (transport, seeds) in enumerate(coexistence.SETTINGS):
        found = [coexistence.Interval(coexistence.iperf(transport, seeds, n, runs)) for n in coexistence.BUFFERS]
        name = f"{counted(seeds, 'seed')} by {'uTP' if transport == 'utp' else 'TCP'}" if seeds else "alone"
        plot.add_scatter(
            x=coexistence.BUFFERS,
            y=[f.of.mean for f in found],
            error_y={"type": "data", "array": [f.half for f in found], "thickness": 1.2, "width": 4},
            mode="lines+markers",
            name=name.replace("1 seeds", "1 seed"),
            line=line(index),
            marker={"symbol": SYMBOLS[index], "size": 6},
        )
        plot.add_scatter(
            x=[stated],
            y=[reference.geni_iperf()[transport, seeds]],
            mode="markers",
            showlegend=False,
            marker={"symbol": f"{SYMBOLS[index]}-open", "color": COLOURS[index], "size": 14, "line": {"width": 2.5}},
        )
    target, packet, rate = 0.1, 1514 * 8, 2.048e6
    plot.add_vline(x=target * rate / packet, line={"color": GREY, "dash": "dot", "width": 1.5})
    plot.add_annotation(
        x=math.log10(target * rate / packet),
        y=0.12,
        text="100 ms, uTP's target",
        xanchor="left",
        xshift=4,
        showarrow=False,
        font={"color": GREY, "size": 12},
    )
    _buffer_axis(plot, coexistence.BUFFERS)
    plot.update_yaxes(range=[0, 2.2])
    return plot


def geni_rates() -> go.Figure:
    """Return rates over time with iperf now and then."""
    plot = figure(
        "uTP seeds while iperf comes and goes",
        "time [s]",
        "rate [Mbit/s]",
        subtitle="one run; iperf runs twice for 30 s; means over a second",
    )
    result = coexistence.episode_run(0)
    time = result["time"].values
    bins = time.astype(int)
    for index, (prefix, name) in enumerate((("seed", "both seeds"), ("iperf", "iperf"))):
        rate = np.bincount(bins, coexistence.rates(result, prefix)) / np.bincount(bins)
        plot.add_scatter(x=np.arange(rate.size) + 0.5, y=rate, mode="lines", name=name, line=line(index))
    plot.update_yaxes(rangemode="tozero")
    return plot


def call_bars(runs: int) -> go.Figure:
    """Return the figures of V01 with the "uTP" pair over those with TCP."""
    plot = figure(
        'A call beside three downloads: the "uTP" pair over the TCP pair',
        "",
        '"uTP" over TCP',
        subtitle=f'bars\' labels: by TCP → by "uTP", means of {runs} seeds; dotted: no change',
    )
    names, ratios = [], []
    for key, (name, unit) in coexistence.CALL_FIGURES.items():
        tcp, utp = (_mean(coexistence.call_values(transport, key, runs)) for transport in ("tcp", "utp"))
        digits = 3 if unit == "1" else 1 if tcp < 1000 else 0
        shown = f"{tcp:.{digits}f} → {utp:.{digits}f}" + (f" {unit}" if unit != "1" else "")
        names.append(f"{name.replace(', ', ',<br>')}<br>{shown}")
        ratios.append(utp / tcp)
    plot.add_bar(x=names, y=ratios, marker={"color": COLOURS[0]}, width=0.5, showlegend=False)
    _levels(plot, (1.0,))
    return plot


def _levels(plot: go.Figure, levels: Sequence[float]) -> None:
    for level in levels:
        plot.add_hline(y=level, line={"color": GREY, "dash": "dot" if level else "solid", "width": 1.5})


def _buffer_axis(plot: go.Figure, buffers: Sequence[int]) -> None:
    plot.update_xaxes(type="log", tickvals=list(buffers), ticktext=[str(buffer) for buffer in buffers])


def _log_axis(plot: go.Figure, axis: str) -> None:
    """Make an axis logarithmic, with ticks at 1, 2 and 5 times the powers of ten."""
    ticks = list(_ticks())
    update = plot.update_xaxes if axis == "x" else plot.update_yaxes
    update(type="log", tickvals=ticks, ticktext=[f"{tick:g}" for tick in ticks])


def _ticks() -> Iterator[float]:
    for exponent in range(-3, 6):
        for factor in (1, 2, 5):
            yield float(f"{factor}e{exponent}")
