"""Figures of results: pure functions from a Dataset, or from several with a label each, to one of Plotly's."""

from btflow.plots.compared import beside_published, beside_theory, full_against_flow
from btflow.plots.effects import heat_map, response_curve, sobol, tornado
from btflow.plots.files import save
from btflow.plots.line import measured_over_simulated
from btflow.plots.link import call_over_time, delay_cdf, link_overview, queue, queue_ccdf, rates, windows
from btflow.plots.paths import path_quantiles
from btflow.plots.swarm import completion_cdf, overview, pieces_over_time, segment_payloads, send_gaps, why_slow
from btflow.plots.sweep import Curve, rtt_sweep, sweep_curves
from btflow.plots.uplinks import (
    completion_against_buffer,
    completion_by_rank,
    message_delays,
    throughput_against_delay,
    uplink_queue_ccdf,
    uplink_queues,
)
from btflow.plots.verdict import verdict

__all__ = [
    "Curve",
    "beside_published",
    "beside_theory",
    "call_over_time",
    "completion_against_buffer",
    "completion_by_rank",
    "completion_cdf",
    "delay_cdf",
    "full_against_flow",
    "heat_map",
    "link_overview",
    "measured_over_simulated",
    "message_delays",
    "overview",
    "path_quantiles",
    "pieces_over_time",
    "queue",
    "queue_ccdf",
    "rates",
    "response_curve",
    "rtt_sweep",
    "save",
    "segment_payloads",
    "send_gaps",
    "sobol",
    "sweep_curves",
    "throughput_against_delay",
    "tornado",
    "uplink_queue_ccdf",
    "uplink_queues",
    "verdict",
    "why_slow",
    "windows",
]


def __dir__() -> list[str]:
    return sorted(__all__)
