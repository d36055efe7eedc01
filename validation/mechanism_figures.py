"""Figures of the mechanism: idle terminations, pieces over time, times between sends, segment payloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from btflow.plots.style import GREY, SYMBOLS, figure, line, log_axis, translucent
from validation.cases import Case
from validation.control import BAND, slow_seed_cases
from validation.experiments import FAST_SEED, IDLE_RTTS, LIMITS, TABLE_RTTS, fast_seed, sweep
from validation.figures import RTT, bars, bars_text
from validation.sends import GAP_RTTS, MTU
from validation.statistics import distribution, spread
from validation.verdict import Results


def idle_terminations(results: Results) -> go.Figure:
    """Return the seed's unchokes that end idle against the RTT, with a slow and a fast seed."""
    seeds = {20: slow_seed_cases(), FAST_SEED: fast_seed(IDLE_RTTS)}
    shown = bars_text(results, [case for cases in seeds.values() for case in cases])
    drawn = figure(
        "Unchokes that the seed's choker ends because the connection waits for requests",
        RTT,
        "unchokes of the seed that end idle, per swarm",
        subtitle=f"leechers at 20 kB/s, no loss; {shown}; shaded: 120 to 800 ms, where the paper sees them often",
    )
    for index, (limit, cases) in enumerate(seeds.items()):
        found = [spread(results[case].seed_idle) for case in cases]
        drawn.add_scatter(
            x=[case.rtt for case in cases],
            y=[s.mean for s in found],
            error_y=bars(found),
            mode="lines+markers",
            name=f"{limit} kB/s seed",
            line=line(index),
            marker={"symbol": SYMBOLS[index], "size": 8},
        )
    drawn.add_vrect(x0=BAND[0], x1=BAND[1], fillcolor=GREY, opacity=0.1, line_width=0, layer="below")
    drawn.update_xaxes(range=[-30, 1030], dtick=200)
    drawn.update_yaxes(rangemode="tozero")
    return drawn


def pieces_over_time(results: Results, seed_limit: int) -> go.Figure:
    """Return how the pieces held by a leecher grow, at three RTTs: Fig. 7a (20 kB/s seed) or 7b (50 kB/s)."""
    drawn = figure(
        f"Pieces held by a leecher: {seed_limit} kB/s seed, 20 kB/s leechers",
        "time [s]",
        "pieces held, mean over the leechers",
        subtitle="mean of the replicas; shaded: least to greatest replica",
    )
    cases = sweep([20], TABLE_RTTS) if seed_limit == 20 else fast_seed(TABLE_RTTS)
    for index, case in enumerate(cases):
        found = results[case]
        held = np.array(found.held)
        edge = {"x": found.time, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
        drawn.add_scatter(y=held.min(axis=0), **edge)
        drawn.add_scatter(y=held.max(axis=0), fill="tonexty", fillcolor=translucent(index), **edge)
        drawn.add_scatter(x=found.time, y=held.mean(axis=0), mode="lines", name=f"RTT {case.rtt} ms", line=line(index))
    drawn.update_yaxes(rangemode="tozero")
    return drawn


def send_gaps(results: Results, rtt: int) -> go.Figure:
    """Return the distribution of the time between two sends of a leecher's connection: Fig. 6a (0 ms) or 6b (400)."""
    gaps = {f"{limit} kB/s": results[Case(limit, rtt)].gaps for limit in LIMITS}
    drawn = _distributions(
        {name: [(1000 * t, n) for t, n in pairs] for name, pairs in gaps.items()},
        200.0,
        f"Time between sends on a connection, RTT {rtt} ms",
        "time between sends [ms] (log scale)",
        "sends at or below [%]",
        "leechers, no loss; dotted: 200 ms",
    )
    log_axis(drawn, 10, _greatest(drawn))
    return drawn


def segment_payloads(results: Results, tso: bool) -> go.Figure:
    """Return the distribution of the payload of segments at three RTTs: Fig. 4a (TSO on) or 4c (off)."""
    drawn = _distributions(
        {f"RTT {rtt} ms": results[Case(20, rtt, tso=tso)].payloads for rtt in TABLE_RTTS},
        MTU,
        f"Payload of TCP segments, TSO {'on' if tso else 'off'}",
        "payload [B]",
        "segments at or below [%]",
        "20 kB/s, no loss; dotted: the MTU of 1500 B",
    )
    drawn.update_xaxes(range=[0, 1.05 * _greatest(drawn)])
    return drawn


def _distributions(
    counted: Mapping[str, Sequence[tuple[float, float]]], marked: float, title: str, x: str, y: str, subtitle: str
) -> go.Figure:
    """Return the distribution functions of counted values by name, with one value marked by a dotted line."""
    drawn = figure(title, x, y, subtitle=subtitle)
    for index, (name, pairs) in enumerate(counted.items()):
        values, share = distribution(pairs)
        drawn.add_scatter(
            x=[values[0], *values], y=[0.0, *(100 * share)], mode="lines", name=name, line=line(index, shape="hv")
        )
    drawn.add_vline(x=marked, line={"color": GREY, "width": 1.5, "dash": "dot"})
    drawn.update_yaxes(range=[0, 101])
    return drawn


def _greatest(drawn: go.Figure) -> float:
    """Return the greatest value of any of the distributions drawn."""
    return max(float(trace.x[-1]) for trace in drawn.data)


def mechanism_figures(results: Results) -> dict[str, go.Figure]:
    """Return the figures of the mechanism whose cases were simulated, by name."""
    found: dict[str, go.Figure] = {}
    if results.has([*slow_seed_cases(), *fast_seed(IDLE_RTTS)]):
        found["idle_terminations"] = idle_terminations(results)
    if results.has([*sweep([20], TABLE_RTTS), *fast_seed(TABLE_RTTS)]):
        found |= {f"pieces_seed_{limit}": pieces_over_time(results, limit) for limit in (20, FAST_SEED)}
    if results.has(sweep(rtts=GAP_RTTS)):
        found |= {f"send_gaps_{rtt}": send_gaps(results, rtt) for rtt in GAP_RTTS}
    if results.has([Case(20, rtt, tso=tso) for rtt in TABLE_RTTS for tso in (True, False)]):
        found |= {f"segment_payloads_tso_{'on' if t else 'off'}": segment_payloads(results, t) for t in (True, False)}
    return found
