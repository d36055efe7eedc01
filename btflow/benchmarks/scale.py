"""Large swarms, each in a process of its own: CPU time and memory against the number of peers."""

from __future__ import annotations

from btflow.benchmarks.measure import MODEL, exponent, report
from btflow.benchmarks.process import measured
from btflow.benchmarks.table import Row, Section, at_most
from btflow.errors import SimulationError

SOME = (300, 1_000, 3_000)
LARGE = (300, 1_000, 3_000, 10_000, 30_000, 100_000)
"""Peers."""
FIRST, LAST = 1_000, 100_000
"""Peers between which the exponent counts."""


def large_swarms(scale: bool) -> Section:
    """Measure CPU time and peak memory of swarms of up to 3,000 peers, or 100,000."""
    rows: list[Row] = []
    found: dict[int, dict[str, float]] = {}
    for peers in LARGE if scale else SOME:
        report(f"{peers:,} peers in a process of their own")
        try:
            found[peers] = measured("one_swarm", settings={"leechers": peers - 1}, model=MODEL)
        except SimulationError as error:
            rows.append((str(peers), str(error), "", "", ""))
        else:
            rows.append(_row(peers, found[peers]))
    last = found.get(LAST)
    header = ("peers", "CPU [s]", "per peer [CPU ms]", "peak memory [MB]", "memory per peer [kB]")
    return Section(
        "Large swarms and their memory",
        [header, *rows],
        ("50 MB at 20 kB/s. Memory per peer: the peak less what the process held before, over the peers.",),
        (
            at_most("100,000 peers, 50 MB", 300.0, last["cpu"] if last else None, "CPU s", ".0f"),
            at_most("peak memory of 100,000 peers, 50 MB", 4000.0, last["peak"] / 1e6 if last else None, "MB", ".4g"),
            at_most("exponent of CPU time from 1,000 to 100,000 peers", 1.1, _exponent(found), "", ".2f"),
        ),
    )


def _row(peers: int, found: dict[str, float]) -> Row:
    each = (found["peak"] - found["before"]) / peers
    per_peer = f"{1e3 * found['cpu'] / peers:.2f}"
    return str(peers), f"{found['cpu']:.2f}", per_peer, f"{found['peak'] / 1e6:.0f}", f"{each / 1e3:.1f}"


def _exponent(found: dict[int, dict[str, float]]) -> float | None:
    """Return the exponent over all sizes between FIRST and LAST; None unless both were run."""
    sizes = [peers for peers in found if FIRST <= peers <= LAST]
    return exponent(sizes, [found[n]["cpu"] for n in sizes]) if FIRST in sizes and LAST in sizes else None
