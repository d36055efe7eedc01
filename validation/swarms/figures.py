"""Figures of the report on swarms on congested links, of what has been run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from btflow.plots.style import COLOURS, GREY, SYMBOLS, figure, line, log_axis, translucent
from validation.swarms import experiments
from validation.swarms.compare import interval
from validation.swarms.measured import ALL, PERCENTS, QUEUE_PERCENTS, Results
from validation.swarms.report import Report, known

Drawn = tuple[go.Figure, str]
"""A figure and its caption."""
Part = tuple[str, experiments.Setting, str]
"""A line of a figure: its name, the setting, the class."""

LEAST = 0.1
"""Least share that the queues' distributions show [%]."""


def drawn(report: Report) -> dict[str, Drawn]:
    """Return the figures of what was run, by name."""
    results = report.results
    makers: dict[str, tuple[Sequence[experiments.Setting], Callable[[Results], go.Figure], str]] = {
        "ranks": (
            experiments.PLAIN,
            ranks,
            "In the form of Fig. 2 left (2011): mean over runs at each rank of completion.",
        ),
        **{
            f"completion_2011_{stay}": (
                experiments.PLAIN,
                _adsl_times(stay),
                f"In the form of Fig. 2 middle and 3a (2011), {text}.",
            )
            for stay, text in (("forever", "seeds never leave"), ("random", "random stay"))
        },
        "queues_2011": (experiments.PLAIN, queue_lengths, "In the form of Fig. 2 right (2011), random stay."),
        "queue_delays_2011": (experiments.PLAIN, queue_delays, "The same as the time until the queue is empty."),
        "buffers": (
            [experiments.buffered(b) for b in experiments.BUFFERS],
            against_buffer,
            "In the form of Fig. 3b (2011): mean with its 95% confidence interval over runs; areas from the first to "
            "the third quartile of the peers of all runs.",
        ),
        "completion_2012_homogeneous": (
            list(experiments.HOMOGENEOUS.values()),
            lambda r: _times("Homogeneous swarms of 2012", r, _alone()),
            "In the form of Fig. 2a (2012). BT: mainline, UT: uTorrent.",
        ),
        "queue_delays_2012_homogeneous": (
            list(experiments.HOMOGENEOUS.values()),
            lambda r: _queues("Homogeneous swarms of 2012", r, _alone(), "delay"),
            "In the form of Fig. 2b (2012), as the share above instead of below.",
        ),
        "completion_2012_heterogeneous": (
            list(experiments.HALVES.values()),
            lambda r: _times("Half CUBIC, half another, 2012", r, _halves()),
            "In the form of Fig. 2c (2012).",
        ),
        "queue_delays_2012_heterogeneous": (
            list(experiments.HALVES.values()),
            lambda r: _queues("Half CUBIC, half another, 2012", r, _halves(), "delay"),
            "In the form of Fig. 2d (2012), as the share above instead of below.",
        ),
        "planes": (
            [experiments.capped(f, b) for f in experiments.FACTORS for b in (experiments.SMALL, experiments.LARGE)],
            planes,
            "After Fig. 1 (2012): the numbers are the upload limit over the uplink's rate C.",
        ),
    }
    found = {name: (make(results), caption) for name, (needs, make, caption) in makers.items() if known(needs, results)}
    if report.taken:
        found["ablations"] = (
            taken_apart(report),
            "Bars: 95% confidence interval over runs. The farther from 0, the more the second class is behind.",
        )
    return found


def ranks(results: Results) -> go.Figure:
    """Return mean completion times [s] against the rank of completion."""
    plot = figure("Completion time against the rank of completion", "rank of completion", "completion time [s]")
    for index, (stay, dash, text) in enumerate((("random", "solid", "random stay"), ("forever", "dot", "never leave"))):
        for k, (name, share) in enumerate(experiments.SHARES.items()):
            rows = results[experiments.adsl(share, stay)].ranked
            number = min(len(row) for row in rows)
            mean = np.mean([row[:number] for row in rows], axis=0)
            style = line(k, dash=dash, width=2.5 - index)
            plot.add_scatter(x=list(range(1, number + 1)), y=mean, mode="lines", name=f"{name}, {text}", line=style)
    file = results[experiments.PLAIN[0]].file_size
    plot.add_hline(
        y=file / 1e6,
        line={"color": GREY, "dash": "dash"},
        annotation_text="the file on a full downlink",
        annotation_position="bottom left",
    )
    plot.add_vline(x=50.5, line={"color": GREY, "width": 1}, annotation_text="from here on they count")
    plot.update_yaxes(rangemode="tozero")
    return plot


def _adsl_times(stay: str) -> Callable[[Results], go.Figure]:
    def draw(results: Results) -> go.Figure:
        text = "random stay" if stay == "random" else "seeds never leave"
        return _times(f"Swarms of 2011, {text}", results, _adsl_parts(stay))

    return draw


def _adsl_parts(stay: str) -> list[Part]:
    return [
        ("all TCP", experiments.adsl(0.0, stay), "tcp"),
        ("all uTP", experiments.adsl(1.0, stay), "utp"),
        ("half and half: TCP", experiments.adsl(0.5, stay), "tcp"),
        ("half and half: uTP", experiments.adsl(0.5, stay), "utp"),
        ("half and half: all", experiments.adsl(0.5, stay), ALL),
    ]


def _alone() -> list[Part]:
    return [(name, setting, ALL) for name, setting in experiments.HOMOGENEOUS.items()]


def _halves() -> list[Part]:
    parts = [(name, setting, "x") for name, setting in experiments.HALVES.items()]
    return parts + [(f"CUBIC beside {name}", setting, "cubic") for name, setting in experiments.HALVES.items()]


def _times(title: str, results: Results, parts: Sequence[Part]) -> go.Figure:
    plot = figure(title, "completion time [s]", "leechers that have completed [%]", subtitle="peers of all runs")
    for index, (name, setting, group) in enumerate(parts):
        x = results[setting].groups[group].completion
        plot.add_scatter(x=x, y=list(PERCENTS), mode="lines", name=name, line=_line(name, index))
    plot.update_yaxes(range=[0, 101])
    return plot


def _line(name: str, index: int) -> dict[str, object]:
    """Return the line of a part; the CUBIC halves are thin and grey, as the paper draws their envelope."""
    if name.startswith("CUBIC beside"):
        return line(index, color=GREY, width=1.2)
    return line(index)


def queue_lengths(results: Results) -> go.Figure:
    """Return the distribution of the lengths of uplink queues [packets]."""
    return _queues("Uplink queues of 2011, random stay", results, _adsl_parts("random"), "queue")


def queue_delays(results: Results) -> go.Figure:
    """Return the distribution of the queueing delays of uplinks [s]."""
    return _queues("Uplink queues of 2011, random stay", results, _adsl_parts("random"), "delay")


def _queues(title: str, results: Results, parts: Sequence[Part], what: str) -> go.Figure:
    axis = "packets waiting" if what == "queue" else "time until the uplink's queue is empty [s]"
    plot = figure(title, axis, "samples above [%] (log scale)", subtitle="samples every 100 ms, peers of all runs")
    for index, (name, setting, group) in enumerate(parts):
        found = results[setting].groups[group]
        x = found.queue if what == "queue" else found.delay
        y = [max(100.0 - percent, 1e-3) for percent in QUEUE_PERCENTS]
        plot.add_scatter(x=x, y=y, mode="lines", name=name, line=_line(name, index))
    ticks = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]
    plot.update_yaxes(
        type="log", range=[np.log10(LEAST), 2.02], tickvals=ticks, ticktext=[f"{tick:g}" for tick in ticks]
    )
    if what == "queue":
        plot.add_vline(x=100, line={"color": GREY, "dash": "dot"})
    shown = QUEUE_PERCENTS.index(100.0 - LEAST)
    ends = [t.x[shown] for t in plot.data if np.isfinite(t.x[shown])]
    plot.update_xaxes(range=[0, 1.02 * max(ends)])
    return plot


def against_buffer(results: Results) -> go.Figure:
    """Return completion times [s] against the buffer [packets], with quartiles."""
    plot = figure("Half and half, random stay, 2011", "buffer of each access link [packets]", "completion time [s]")
    found = [results[experiments.buffered(b)] for b in experiments.BUFFERS]
    for index, (group, text) in enumerate((("tcp", "TCP"), ("utp", "uTP"))):
        low, high = ([f.groups[group].completion[PERCENTS.index(q)] for f in found] for q in (25, 75))
        plot.add_scatter(
            x=[*experiments.BUFFERS, *reversed(experiments.BUFFERS)],
            y=[*high, *reversed(low)],
            fill="toself",
            fillcolor=translucent(index),
            line={"width": 0},
            mode="lines",
            name=f"{text}, quartiles",
            hoverinfo="skip",
        )
        means = [interval(f.of("mean", group)) for f in found]
        plot.add_scatter(
            x=list(experiments.BUFFERS),
            y=[m.mean for m in means],
            error_y={"type": "data", "array": [m.high - m.mean for m in means]},
            mode="lines+markers",
            name=f"{text}, mean",
            line=line(index),
            marker={"symbol": SYMBOLS[index], "size": 8},
        )
    plot.update_yaxes(rangemode="tozero")
    return plot


def planes(results: Results) -> go.Figure:
    """Return data throughput [kB/s] against control delay [s] along the sending rate."""
    plot = figure(
        "Data throughput against control delay",
        "mean delay of a request, written to delivered [ms] (log scale)",
        "data throughput of a leecher [kB/s]",
        subtitle="by the upload limit of every peer, in multiples of its uplink",
    )
    every = []
    for index, buffer in enumerate((experiments.SMALL, experiments.LARGE)):
        found = [results[experiments.capped(f, buffer)] for f in experiments.FACTORS]
        x = [1e3 * interval(f.of("request_delay")).mean for f in found]
        y = [1e-3 * f.file_size / interval(f.of("mean")).mean for f in found]
        every += x
        plot.add_scatter(
            x=x,
            y=y,
            mode="lines+markers+text",
            text=[_label(f, buffer) for f in experiments.FACTORS],
            textposition="top center",
            name=f"buffer {buffer}",
            line=line(index),
            marker={"symbol": SYMBOLS[index], "size": 9},
        )
    log_axis(plot, min(every), max(every))
    plot.update_yaxes(rangemode="tozero")
    return plot


def _label(factor: float, buffer: str) -> str:
    """Return the label of a sending rate; below C the buffers' points coincide, above it those of a buffer do."""
    if factor < 1.0:
        return f"{factor:g} C" if buffer == experiments.LARGE else ""
    return {1.0: "C", experiments.FACTORS[-1]: f"to {experiments.FACTORS[-1]:g} C"}.get(factor, "")


def taken_apart(report: Report) -> go.Figure:
    """Return the differences with one mechanism off at a time [%]."""
    plot = figure("What carries the differences", "completion time of one class over the other [%]", "")
    names: Mapping[str, int] = {ablation.name: i for i, ablation in enumerate(experiments.ABLATIONS)}
    for found in report.taken:
        index = names[found.ablation.name]
        rows = [found.base, *found.rows]
        short = found.ablation.name.partition(",")[0]
        gaps = [row.gap.relative for row in rows]
        plot.add_scatter(
            x=[100 * g.mean for g in gaps],
            y=[f"{short} {found.ablation.sides[0]}: {(row.off or 'all on').partition(':')[0]}" for row in rows],
            error_x={"type": "data", "array": [100 * (g.high - g.mean) for g in gaps]},
            mode="markers",
            name=found.ablation.name,
            marker={"symbol": SYMBOLS[index], "color": COLOURS[index], "size": 10},
        )
    plot.update_layout(legend={"y": -0.1})
    plot.add_vline(x=0, line={"color": GREY})
    plot.update_yaxes(autorange="reversed", automargin=True, dtick=1)
    plot.update_layout(height=260 + 26 * sum(1 + len(found.rows) for found in report.taken))
    return plot
