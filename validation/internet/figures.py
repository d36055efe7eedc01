"""Figures of swarms on paths of the Internet."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from btflow.plots.style import COLOURS, GREY, SYMBOLS, TEMPLATE, figure
from validation.experiments import LIMITS
from validation.internet.shares import BOUND, Results
from validation.internet.swarms import KINDS, NEAR, WHOLE

COLOUR = dict(zip(KINDS, (GREY, COLOURS[0], COLOURS[1]), strict=True))
STEPS = 400
"""Most points of a curve over peers."""


def swarms(results: Results) -> go.Figure:
    """Return the slowdown of each swarm by upload limit, with the bound of 15%."""
    drawn = figure(
        "Flash crowds on paths of the Internet",
        "upload limit of every peer [kB/s]",
        "mean completion time over that at RTT 0 [%]",
        subtitle="300 leechers and a seed, 50 MB; each point is a swarm, on the Internet with paths of its own",
    )
    for at, kind in enumerate(KINDS):
        slowdowns = [(limit, 100 * slowdown) for limit in LIMITS for slowdown in results.slowdowns(limit, kind)]
        drawn.add_box(
            x=[f"{limit}" for limit, _ in slowdowns],
            y=[slowdown for _, slowdown in slowdowns],
            name=kind,
            boxpoints="all",
            jitter=0.6,
            pointpos=0,
            marker={"color": COLOUR[kind], "size": 4, "opacity": 0.7, "symbol": SYMBOLS[at]},
            line={"color": COLOUR[kind], "width": 1.5},
            fillcolor="rgba(0,0,0,0)",
            whiskerwidth=0.5,
        )
    drawn.add_hline(y=100 * BOUND, line={"color": "black", "dash": "dash", "width": 1.5}, annotation_text="+15%")
    drawn.update_layout(boxmode="group", boxgap=0.2, boxgroupgap=0.25)
    drawn.update_xaxes(type="category")
    return drawn


def peers(results: Results) -> go.Figure:
    """Return the share of the leechers that are slower than each slowdown allows, in a panel for each upload limit."""
    titles = [f"{limit} kB/s" for limit in LIMITS]
    room = {"vertical_spacing": 0.11, "horizontal_spacing": 0.05}
    drawn = make_subplots(rows=2, cols=2, subplot_titles=titles, shared_xaxes="all", shared_yaxes=True, **room)
    for number, limit in enumerate(LIMITS):
        where = {"row": number // 2 + 1, "col": number % 2 + 1}
        for kind in KINDS:
            times = 100 * np.sort(results.peers(limit, kind), axis=None)
            share = 100 * (np.arange(times.size) + 1) / times.size
            kept = np.unique(np.linspace(0, times.size - 1, STEPS).astype(int))
            line = {"color": COLOUR[kind], "width": 2, "dash": {NEAR: "dot", WHOLE: "solid"}.get(kind, "dash")}
            named = {"name": kind, "legendgroup": kind, "showlegend": number == 0}
            drawn.add_scatter(x=times[kept], y=share[kept], mode="lines", line=line, **named, **where)
        drawn.add_vline(x=100 * BOUND, line={"color": "black", "dash": "dash", "width": 1}, **where)
    subtitle = "all leechers of all swarms together; dashed upright: +15%"
    drawn.update_layout(
        template=TEMPLATE,
        height=760,
        margin={"t": 115},
        title={"text": "Completion times of single peers on paths of the Internet", "subtitle": {"text": subtitle}},
        legend={"y": -0.13},
    )
    widest = max(100 * BOUND, *(100 * float(results.peers(limit, kind).max()) for limit in LIMITS for kind in KINDS))
    least = min(100 * float(results.peers(limit, kind).min()) for limit in LIMITS for kind in KINDS)
    drawn.update_xaxes(range=[least - 1.0, 1.1 * widest])
    drawn.update_xaxes(title_text="completion time over the mean at RTT 0 [%]", row=2)
    drawn.update_yaxes(range=[-3, 103])
    drawn.update_yaxes(title_text="share of leechers [%]", col=1)
    return drawn


def figures(results: Results) -> Mapping[str, tuple[go.Figure, str]]:
    """Return the figures with their captions, by name."""
    return {
        "internet-swarms": (
            swarms(results),
            "Each point is the mean completion time of a swarm, over the mean of the swarms at RTT 0 without loss. "
            "Points above the dashed line do not stay within 15%.",
        ),
        "internet-peers": (
            peers(results),
            "Each curve says which share of the leechers is at most so much slower than the mean at RTT 0 without "
            "loss. Where the curve of RTT 0 is below 100% at the dashed line, the client alone makes peers differ.",
        ),
    }
