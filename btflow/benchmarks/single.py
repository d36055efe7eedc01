"""Single swarms and links: CPU time of one after another."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from btflow.benchmarks.measure import Cost, measure, report
from btflow.benchmarks.table import Row, Section
from btflow.fidelity import Fidelity

REPLICAS = 5
PATHS: Mapping[str, Mapping[str, str]] = {
    "RTT 0": {},
    "RTT 400 ms": {"rtt": "400 ms"},
    "RTT 400 ms, loss 5%": {"rtt": "400 ms", "loss": "5%"},
}
LINKED: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "2011, 10 MB, TCP": ("testa2011", {"utp_share": "0%"}),
    "2011, 10 MB, uTP": ("testa2011", {"utp_share": "100%"}),
    "2011, 10 MB, half": ("testa2011", {"utp_share": "50%"}),
    "2011, 10 MB, half, nobody leaves": ("testa2011", {"utp_share": "50%", "stay": "forever"}),
    "2012, 100 MB, CUBIC": ("testa2012", {"cc": "cubic"}),
}
"""Swarms on access links: model and parameters."""
HEADER = ("peers", "pieces", "least [CPU s]", "median [CPU s]")


def whole_swarm(fidelity: Fidelity = "full") -> Section:
    """Measure the swarm of the 2010 experiments on three paths."""
    rows = []
    for name, settings in PATHS.items():
        report(f"{name}, {REPLICAS} replicas, {fidelity}")
        rows.append(_row(name, measure(settings, REPLICAS, fidelity=fidelity)))
    return Section(f"One swarm, {fidelity}", [("50 MB at 20 kB/s", *HEADER), *rows])


def linked_swarms() -> Section:
    """Measure swarms on access links."""
    report("swarms on access links: compiling or loading the kernels")
    measure({"leechers": "2", "file_size": "1 MB"}, 1, "flashcrowd")
    rows = []
    for name, (model, settings) in LINKED.items():
        report(name)
        rows.append(_row(name, measure(settings, 3, model)))
    return Section("Swarms on access links", [("", *HEADER), *rows])


def _row(name: str, cost: Cost) -> Row:
    return name, str(cost.peers), str(cost.pieces), f"{cost.least:.3f}", f"{median(cost.cpu):.3f}"


def links() -> Section:
    """Measure link experiments."""
    from btflow.link import bench

    report("links")
    return Section("Links", bench.rows())
