"""Figures of the report on link experiments: ours as lines or filled symbols, the reference as open symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import plotly.graph_objects as go

from validation.links.flow_figures import goodput, ramp, ramp_errors
from validation.links.judge import Line
from validation.links.paper_figures import call_bars, geni_buffers, geni_rates
from validation.links.queue_figures import delays, quantiles, queue_means, shares
from validation.links.report import Report

Drawn = tuple[go.Figure, str]
"""A figure and its caption."""


def drawn(report: Report) -> dict[str, Drawn]:
    """Return the figures of what was checked, by name."""
    makers: dict[str, tuple[str, Callable[[Sequence[Line]], go.Figure | None], str]] = {
        **{
            f"goodput_{cc}": ("P01", goodput(cc), "Saturated throughput; at 0% the link of 10 Mbit/s is the limit.")
            for cc in ("newreno", "linuxreno", "cubic")
        },
        **{
            f"ramp_{cc}": ("P02", ramp(cc), "The first rounds, mean over the seeds.")
            for cc in ("newreno", "linuxreno", "cubic")
        },
        "ramp_errors": ("P02", ramp_errors, "Every cell of the grid."),
        "queue_means": ("P03", queue_means, "Every cell: within the dotted lines the difference counts as right."),
        "queue_quantiles_1": ("P03", quantiles(1), "The distribution of the queue, one flow."),
        "queue_quantiles_4": ("P03", quantiles(4), "The distribution of the queue, four flows."),
        **{
            f"{name}_{cc}": (claim, shares(cc), caption)
            for name, claim, caption in (
                ("shares", "P04", "Who gets what of the link."),
                ("shares_noise", "P10", "The same with irregular short packets on the link."),
            )
            for cc in ("cubic", "newreno")
        },
        "messages": ("P05", delays("probe", "Delay of 100 B messages beside one bulk flow"), "Control plane."),
        "calls": ("P06", delays("voip", "Delay of a G.729 call beside three bulk flows"), "Voice on a T1."),
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
