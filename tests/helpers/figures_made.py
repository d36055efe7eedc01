"""A figure of each function of btflow.plots that draws one, of data that are quickly made."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import made
import numpy as np
import plotly.graph_objects as go
import sweeps_made
import xarray as xr

import btflow
from btflow import lines, plots
from btflow.lines.compared import Comparison, compare
from btflow.paths import load

AXES = {"rtt": [0.0, 0.1, 0.2, 0.4], "upload_limit": [1e4, 2e4, 5e4], "loss": [0.001, 0.01, 0.1]}
ENDS = {"rtt": (0.0, 1.0), "upload_limit": (1e4, 1e5), "loss": (0.0, 0.1)}
LIMITS = ("10 kB/s", "20 kB/s", "50 kB/s", "100 kB/s", "200 kB/s")


def _time(rtt: float, limit: float, loss: float) -> float:
    return 3e7 / limit + 300 * rtt + 3000 * loss


@cache
def sweep() -> xr.Dataset:
    """Return a grid of three names."""
    return sweeps_made.grid(AXES, _time, noise=20.0, replicas=3)


@cache
def few() -> xr.Dataset:
    """Return a swarm of three leechers without access links, of numbers chosen by hand."""
    return made.dataset()


@cache
def _checked() -> xr.Dataset:
    points = [0, 5, 10, 20, 30]
    return sweeps_made.with_check(sweep(), points, sweep()["completion_mean"].values.reshape(-1, 3)[points, 0] * 1.04)


@cache
def link() -> xr.Dataset:
    """Return a link with flows of three kinds."""
    return btflow.simulate_link(
        rate="1 Mbit/s", rtt="50 ms", flows=["cubic:2", "ledbat@5s", "newreno"], voip="g729", duration="20 s"
    )


@cache
def swarm() -> xr.Dataset:
    """Return a swarm on access links, of leechers of two kinds."""
    return btflow.simulate(btflow.load("testa2011", leechers=8, file_size="1 MB", discard=2), seed=2, replicas=2)


@cache
def _buffers() -> dict[str, xr.Dataset]:
    return {
        b: btflow.simulate(btflow.load("flashcrowd", leechers=6, file_size="1 MB", buffer=b), seed=1)
        for b in ("50 ms", "1 s", "200 ms")
    }


def _line() -> Comparison:
    recorded = Path(__file__).parents[1] / "lines" / "recorded"
    return compare(lines.fit(*(str(recorded / f"packets-up.{kind}.gz") for kind in ("json", "log"))))


def _curves() -> go.Figure:
    results = [made.dataset(upload_limit=limit, rtt=rtt) for limit in LIMITS for rtt in ("0 ms", "400 ms", "1 s")]
    return plots.rtt_sweep(plots.sweep_curves(results))


def _theory() -> go.Figure:
    x = np.linspace(1, 10, 10)
    simulated = {name: (x, x * power) for power, name in enumerate(("Reno", "CUBIC", "LEDBAT"), 1)}
    return plots.beside_theory(simulated, simulated, title="Window", x="time [s]", y="window [segments]")


def _published() -> go.Figure:
    rows = {"10 kB/s": [1.0, 2.0, 3.0], "20 kB/s, 400 ms and 5% loss": [5.0, 5.2]}
    return plots.beside_published(rows, {"10 kB/s": 2.5}, title="Rate", axis="rate [Mbit/s]")


FIGURES: dict[str, Callable[[], go.Figure]] = {
    "beside_published": _published,
    "beside_theory": _theory,
    "call_over_time": lambda: plots.call_over_time(link()),
    "completion_against_buffer": lambda: plots.completion_against_buffer(_buffers().values()),
    "completion_by_rank": lambda: plots.completion_by_rank(swarm()),
    "completion_cdf": lambda: plots.completion_cdf({limit: made.dataset(upload_limit=limit) for limit in LIMITS}),
    "delay_cdf": lambda: plots.delay_cdf({"DATA": [0.1, 0.2, 0.4], "ACK": [0.05, 0.1, 0.11], "HAVE": [0.2, 0.3]}),
    "full_against_flow": lambda: plots.full_against_flow(_checked(), "completion_mean"),
    "heat_map": lambda: plots.heat_map(sweep(), "completion_mean", "loss", "upload_limit"),
    "link_overview": lambda: plots.link_overview(link()),
    "measured_over_simulated": lambda: plots.measured_over_simulated(_line()),
    "message_delays": lambda: plots.message_delays(swarm()),
    "overview": lambda: plots.overview(swarm()),
    "path_quantiles": lambda: plots.path_quantiles(load("iplane"), [0.1, 0.2, 0.3, 0.4], [0.0, 0.01, 0.02]),
    "pieces_over_time": lambda: plots.pieces_over_time(few()),
    "queue": lambda: plots.queue(link()),
    "queue_ccdf": lambda: plots.queue_ccdf(link()),
    "rates": lambda: plots.rates(link()),
    "response_curve": lambda: plots.response_curve(sweep(), "completion_mean", "loss", "rtt", resamples=100),
    "rtt_sweep": _curves,
    "segment_payloads": lambda: plots.segment_payloads(few()),
    "send_gaps": lambda: plots.send_gaps(few()),
    "sobol": lambda: plots.sobol(
        sweeps_made.saltelli(lambda x: 3e7 / x[1] + 300 * x[0], ENDS, 64), "completion_mean", resamples=100
    ),
    "throughput_against_delay": lambda: plots.throughput_against_delay(_buffers()),
    "tornado": lambda: plots.tornado(sweep(), "completion_mean", resamples=100),
    "uplink_queue_ccdf": lambda: plots.uplink_queue_ccdf(swarm()),
    "uplink_queues": lambda: plots.uplink_queues(swarm()),
    "why_slow": lambda: plots.why_slow(few()),
    "windows": lambda: plots.windows(link()),
}
"""By the function's name."""
