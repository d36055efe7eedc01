"""Figures of completion times: the RTT sweep, Table IV, loss, and placements in ASes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import plotly.graph_objects as go

from btflow.plots.style import COLOURS, GREY, SYMBOLS, figure, line
from validation import experiments, reference
from validation.cases import Case
from validation.latency import BOUND, published
from validation.statistics import Spread, replicas_text, spread
from validation.table4 import cells
from validation.verdict import Results

RTT = "round-trip time between any two peers [ms]"
COMPLETION = "mean completion time [s]"


def bars_text(results: Results, cases: Iterable[Case]) -> str:
    """Return what the error bars of some cases are, and of how many replicas."""
    return f"bars: least and greatest of {replicas_text(results.spread(case) for case in cases)}"


def bars(found: Iterable[Spread], scale: float = 1.0) -> dict[str, Any]:
    """Return error bars from the least to the greatest replica."""
    found = list(found)
    return {
        "type": "data",
        "symmetric": False,
        "array": [scale * (s.max - s.mean) for s in found],
        "arrayminus": [scale * (s.mean - s.min) for s in found],
        "thickness": 1.2,
        "width": 4,
    }


def rtt_sweep(results: Results, rtts: Sequence[int] = experiments.SWEEP_RTTS) -> go.Figure:
    """Return completion against RTT for the four limits, with the paper's twelve loss-free points (TSO off)."""
    drawn = figure(
        "Completion time against the round-trip time",
        RTT,
        f"{COMPLETION}, log scale",
        subtitle="300 leechers and a seed, 50 MB, no loss, by upload limit",
    )
    at_table = bars_text(results, experiments.sweep(rtts=[rtt for rtt in rtts if rtt in experiments.TABLE_RTTS]))
    others = [rtt for rtt in rtts if rtt not in experiments.TABLE_RTTS]
    between = (
        f", {replicas_text(results.spread(case) for case in experiments.sweep(rtts=others))} in between"
        if others
        else ""
    )
    for index, limit in enumerate(experiments.LIMITS):
        found = [results.spread(case) for case in experiments.sweep([limit], rtts)]
        drawn.add_scatter(
            x=list(rtts),
            y=[s.mean for s in found],
            error_y=bars(found),
            mode="lines+markers",
            name=f"btflow ({at_table}{between})",
            showlegend=index == 0,
            line=line(index, dash="solid"),
            marker={"symbol": "circle", "size": 7},
        )
        drawn.add_annotation(
            x=rtts[-1],
            y=math.log10(found[-1].mean),
            text=f"{limit} kB/s",
            xanchor="left",
            xshift=14,
            showarrow=False,
            font={"color": COLOURS[index], "size": 14},
        )
    points = {case: time for case, time in reference.table4().items() if case in experiments.sweep()}
    drawn.add_scatter(
        x=[case.rtt for case in points],
        y=list(points.values()),
        mode="markers",
        name="paper, Table IV (mean of 10 runs)",
        marker={"symbol": "square-open", "size": 14, "color": "black", "line": {"width": 1.5}},
    )
    ticks = [500, 700, 1000, 1500, 2000, 3000, 4000, 6000, 8000, 10000]
    drawn.update_yaxes(type="log", tickvals=ticks, ticktext=[f"{tick:,}" for tick in ticks])
    drawn.update_xaxes(range=[-30, 1130], dtick=200)
    return drawn


def table_errors(results: Results) -> go.Figure:
    """Return the relative error of each cell of Table IV."""
    drawn = figure(
        "Table IV: btflow against the paper",
        "upload limit, round-trip time",
        "btflow over the paper, difference [%]",
        subtitle=f"{bars_text(results, experiments.table4())}; dotted: ±12%, the tolerance of the worst cell",
    )
    for index, (name, (tso, loss)) in enumerate(experiments.COLUMNS.items()):
        found = cells(results, [case for case in experiments.table4() if (case.tso, case.loss) == (tso, loss)])
        scaled = [spread([time / cell.paper for time in results.times(cell.case)]) for cell in found]
        drawn.add_scatter(
            x=[[f"{cell.case.limit} kB/s" for cell in found], [f"{cell.case.rtt} ms" for cell in found]],
            y=[100 * cell.error for cell in found],
            error_y=bars(scaled, 100.0),
            mode="markers",
            name=name,
            marker={"symbol": SYMBOLS[index], "size": 9, "color": COLOURS[index]},
        )
    drawn.update_layout(scattermode="group", scattergap=0.4)
    levels(drawn, (-12, 0, 12))
    return drawn


def loss_increase(results: Results) -> go.Figure:
    """Return what 5% loss and latency add to the completion time, beside the paper's figures."""
    drawn = figure(
        "5% loss: completion over that at RTT 0 without loss",
        "upload limit, round-trip time",
        "increase of the mean completion time [%]",
        subtitle="standard error as bars; open symbols: the paper's Table IV; dotted: the paper's bound of 15%",
    )
    cases = [Case(limit, rtt, loss=5) for limit in experiments.LIMITS for rtt in experiments.TABLE_RTTS]
    axis = [[f"{case.limit} kB/s" for case in cases], [f"{case.rtt} ms" for case in cases]]
    ours = [results.change(case, Case(case.limit)) for case in cases]
    drawn.add_bar(
        x=axis,
        y=[100 * value.value for value in ours],
        error_y={"type": "data", "array": [100 * value.se for value in ours], "thickness": 1.2},
        name="btflow",
        marker={"color": COLOURS[0]},
    )
    drawn.add_scatter(
        x=axis,
        y=[100 * (published(case) or 0.0) for case in cases],
        mode="markers",
        name="paper",
        marker={"symbol": "diamond-open", "size": 13, "color": "black", "line": {"width": 2}},
    )
    levels(drawn, (100 * BOUND,))
    return drawn


def as_placements(results: Results, limit: int) -> go.Figure:
    """Return completion by the AS of the leechers and of the seed: Fig. 8 (20 kB/s) or 9 (50 kB/s)."""
    cases = experiments.placements(limit)
    drawn = figure(
        f"Leechers and seed in ASes, {limit} kB/s",
        "AS of the seed, ASes of the leechers",
        COMPLETION,
        subtitle=f"{bars_text(results, cases)}; dotted: 400 ms between all peers",
    )
    ases = sorted({name for chosen in experiments.LEECHER_ASES for name in chosen})
    for index, name in enumerate(ases):
        found = [(case, spread(results[case].by_place[name])) for case in cases if name in case.leechers_in]
        drawn.add_scatter(
            x=_as_axis(case for case, _ in found),
            y=[s.mean for _, s in found],
            error_y=bars(s for _, s in found),
            mode="markers",
            name=f"leechers in {name}",
            marker={"symbol": SYMBOLS[index], "size": 9, "color": COLOURS[index]},
        )
    drawn.update_layout(scattermode="group", scattergap=0.3)
    everywhere = [results.spread(case).mean for case in [Case(limit, 400)] if case in results.measured]
    levels(drawn, everywhere)
    top = max([*everywhere, *(max(times) for case in cases for times in results[case].by_place.values())])
    drawn.update_yaxes(range=[0.0, 1.1 * top])
    return drawn


def _as_axis(cases: Iterable[Case]) -> list[list[str]]:
    """Return the two rows of labels below the horizontal axis."""
    cases = list(cases)
    return [[f"leechers in {', '.join(case.leechers_in)}" for case in cases], [f"{case.seed_in}'" for case in cases]]


def levels(drawn: go.Figure, values: Iterable[float]) -> None:
    """Draw dotted lines at levels; that of 0 is solid."""
    for level in values:
        drawn.add_hline(y=level, line={"color": GREY, "width": 1.5, "dash": "solid" if level == 0 else "dot"})


def completion_figures(results: Results) -> dict[str, go.Figure]:
    """Return the figures of completion times whose cases were simulated, by name."""
    found: dict[str, go.Figure] = {}
    if results.has(experiments.sweep()):
        found["rtt_sweep"] = rtt_sweep(results)
    if results.has(experiments.table4()):
        found |= {"table_errors": table_errors(results), "loss_increase": loss_increase(results)}
    for limit in experiments.AS_LIMITS:
        if results.has(experiments.placements(limit)):
            found[f"as_placements_{limit}"] = as_placements(results, limit)
    return found
