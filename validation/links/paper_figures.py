"""Figures of the small papers: iperf beside BitTorrent seeds, and a call beside three downloads."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go

from btflow.plots.style import COLOURS, GREY, SYMBOLS, figure, line
from btflow.units.formatting import counted
from validation import reference
from validation.figures import levels
from validation.links import coexistence
from validation.links.drawing import buffer_axis, mean


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
        found = [coexistence.iperf(transport, seeds, n, runs) for n in coexistence.BUFFERS]
        name = f"{counted(seeds, 'seed')} by {'uTP' if transport == 'utp' else 'TCP'}" if seeds else "alone"
        plot.add_scatter(
            x=coexistence.BUFFERS,
            y=[f.mean for f in found],
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
    buffer_axis(plot, coexistence.BUFFERS)
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
        tcp, utp = (mean(coexistence.call_values(transport, key, runs)) for transport in ("tcp", "utp"))
        digits = 3 if unit == "1" else 1 if tcp < 1000 else 0
        shown = f"{tcp:.{digits}f} → {utp:.{digits}f}" + (f" {unit}" if unit != "1" else "")
        names.append(f"{name.replace(', ', ',<br>')}<br>{shown}")
        ratios.append(utp / tcp)
    plot.add_bar(x=names, y=ratios, marker={"color": COLOURS[0]}, width=0.5, showlegend=False)
    levels(plot, (1.0,))
    return plot
