"""Single swarms and links: CPU time of one after another."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from btflow.options import Fidelity

from .measure import Cost, measure, report
from .table import Row, Section

REPLICAS = 5
PATHS: Mapping[str, Mapping[str, str]] = {
    "RTT 0": {},
    "RTT 400 ms": {"rtt": "400 ms"},
    "RTT 400 ms, loss 5%": {"rtt": "400 ms", "loss": "5%"},
}
HEADER = ("peers", "pieces", "least [CPU s]", "median [CPU s]")


def whole_swarm(fidelity: Fidelity = "full") -> Section:
    """Measure the swarm of the 2010 experiments on three paths."""
    rows = []
    for name, settings in PATHS.items():
        report(f"{name}, {REPLICAS} replicas, {fidelity}")
        rows.append(row(name, measure(settings, REPLICAS, fidelity=fidelity)))
    return Section(f"One swarm, {fidelity}", [("50 MB at 20 kB/s", *HEADER), *rows])


def row(name: str, cost: Cost) -> Row:
    """Return a row of HEADER."""
    return name, str(cost.peers), str(cost.pieces), f"{cost.least:.3f}", f"{median(cost.cpu):.3f}"


def links() -> Section:
    """Measure link experiments."""
    from . import link_runs

    report("links")
    return Section("Links", link_runs.rows())
