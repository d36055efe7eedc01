"""Swarms on access links: those of the papers, one of today, and a sweep over buffer, share of uTP and uplink."""

from __future__ import annotations

from collections.abc import Mapping

from btflow.errors import SimulationError
from btflow.options import Fidelity

from .measure import measure, report
from .process import measured
from .single import HEADER, row
from .sweeping import Grid, sweep
from .table import Row, Section, at_most

MODEL = "flashcrowd"
PAPERS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "2011, 10 MB, TCP": ("testa2011", {"utp_share": "0%"}),
    "2011, 10 MB, uTP": ("testa2011", {"utp_share": "100%"}),
    "2011, 10 MB, half": ("testa2011", {"utp_share": "50%"}),
    "2011, 10 MB, half, nobody leaves": ("testa2011", {"utp_share": "50%", "stay": "forever"}),
    "2012, 100 MB, CUBIC": ("testa2012", {"cc": "cubic"}),
}
"""Model and parameters."""

TODAY: Mapping[str, str] = {
    "file_size": "1 GB",
    "piece_size": "1 MiB",
    "uplink": "20 Mbit/s",
    "seed_uplink": "20 Mbit/s",
    "downlink": "100 Mbit/s",
}
WITHIN: Mapping[int, float] = {100: 3.0, 1000: 60.0}
"""CPU time of TODAY's swarm at flow to be reached [s], by leechers; the larger one takes minutes."""

SWEPT: Mapping[str, str] = {
    "leechers": "50",
    "file_size": "50 MB",
    "seed_uplink": "20 Mbit/s",
    "downlink": "100 Mbit/s",
}
GRID: Grid = {
    "buffer": "50 ms, 75 ms, 113 ms, 171 ms, 258 ms, 389 ms, 586 ms, 884 ms, 1.3 s, 2 s",
    "utp_share": "lin(0%, 100%, 10)",
    "uplink": "log(1 Mbit/s, 20 Mbit/s, 10)",
}
FEW: Grid = {
    "buffer": "50 ms, 126 ms, 316 ms, 795 ms, 2 s",
    "utp_share": "25%, 75%",
    "uplink": "2 Mbit/s, 8 Mbit/s",
}
"""Points spread over GRID."""
THOUSAND, SOME = 1000, 20
"""Their numbers."""
CHECKED = 20
"""Points of GRID that are run in full, too."""
SWEEP_WITHIN = 300.0
"""Elapsed time of the sweep on two threads to be reached [s]."""


def swarms(fidelity: Fidelity = "full") -> Section:
    """Measure the swarms of the papers."""
    report(f"swarms on access links, {fidelity}: compiling or loading the kernels")
    measure({"leechers": "2", "file_size": "1 MB"}, 1, MODEL, fidelity)
    rows = []
    for name, (model, settings) in PAPERS.items():
        report(f"{name}, {fidelity}")
        rows.append(row(name, measure(settings, 3, model, fidelity)))
    return Section(f"Swarms on access links, {fidelity}", [("", *HEADER), *rows])


def of_today(scale: bool) -> Section:
    """Measure a swarm of today: of 100 leechers at flow; also in full, and of 1,000, if `scale`."""
    runs: list[tuple[int, Fidelity]] = [(100, "flow"), (100, "full"), (1000, "flow")]
    rows: list[Row] = []
    cpu: dict[int, float] = {}
    for leechers, fidelity in runs if scale else runs[:1]:
        name = f"{leechers} leechers, {fidelity}"
        report(f"{name}, 1 GB at 20 Mbit/s")
        settings = {**TODAY, "leechers": leechers}
        try:
            found = measured("one_swarm", settings=settings, model=MODEL, fidelity=fidelity)
        except SimulationError as error:
            rows.append((name, str(error), ""))
            continue
        rows.append((name, f"{found['cpu']:.2f}", f"{found['peak'] / 1e6:.0f}"))
        if fidelity == "flow":
            cpu[leechers] = found["cpu"]
    return Section(
        "A swarm of today on access links",
        [("", "CPU [s]", "peak memory [MB]"), *rows],
        (
            "1 GB in pieces of 1 MiB; uplinks of 20 Mbit/s, downlinks of 100 Mbit/s, half of the leechers with uTP "
            "(flashcrowd).",
        ),
        tuple(
            at_most(f"swarm of today, {n:,} leechers, 1 GB, flow", most, cpu.get(n), "CPU s")
            for n, most in WITHIN.items()
        ),
    )


def swept(scale: bool) -> Section:
    """Measure the sweep on two threads: all points with some of them in full, or without `scale` a few at flow."""
    from btflow.config.catalog import load

    points, checked = (THOUSAND, CHECKED) if scale else (SOME, 0)
    report(f"{points} points on access links on 2 threads, flow")
    spent = sweep(load(MODEL, **SWEPT), GRID if scale else FEW, 1, 2, "flow", checked)
    wall = THOUSAND * spent.wall / spent.swarms
    name = f"1,000 points on access links on 2 threads, {CHECKED} of them in full, too"
    if not scale:
        name = f"1,000 points on access links on 2 threads, flow, from {points}"
    cells = (f"{spent.swarms}", f"{checked}", f"{spent.wall:.1f}", f"{spent.cpu / spent.swarms:.3f}")
    return Section(
        "A sweep of swarms on access links, flow",
        [("threads", "points", "in full, too", "elapsed [s]", "CPU [s] per point"), ("2", *cells)],
        (
            "50 leechers and 50 MB (flashcrowd): buffers of 50 ms to 2 s, 0 to 100 % uTP, uplinks of 1 to 20 Mbit/s; "
            "the seed has 20 Mbit/s, downlinks 100 Mbit/s.",
        ),
        (at_most(name, SWEEP_WITHIN, wall, "s", ".0f"),),
    )
