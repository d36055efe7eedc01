"""Large swarms, each in a process of its own: CPU time and memory against the number of peers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from btflow.errors import SimulationError
from btflow.options import Fidelity

from .measure import MODEL, exponent, interval, report
from .process import measured
from .table import Row, Section, at_most

SOME = (300, 1_000, 3_000)
LARGE = (300, 1_000, 3_000, 10_000, 30_000, 100_000)
"""Peers."""
FIRST, LAST = 1_000, 100_000
"""Peers between which the exponent counts."""
MILLION = 1_000_000
CPU: Mapping[Fidelity, float] = {"full": 300.0, "flow": 200.0}
"""To be reached with LAST peers [s]."""
EXPONENT: Mapping[Fidelity, float] = {"full": 1.1, "flow": 1.2}


def large_swarms(scale: bool, fidelity: Fidelity = "full") -> Section:
    """Measure CPU time and peak memory of swarms of up to 3,000 peers, or 100,000."""
    rows: list[Row] = []
    found: dict[int, dict[str, float]] = {}
    for peers in LARGE if scale else SOME:
        report(f"{peers:,} peers in a process of their own, {fidelity}")
        try:
            found[peers] = measured("one_swarm", settings={"leechers": peers - 1}, model=MODEL, fidelity=fidelity)
        except SimulationError as error:
            rows.append((str(peers), str(error), "", "", ""))
        else:
            rows.append(_row(peers, found[peers]))
    last = found.get(LAST)
    if scale and len(sizes := [peers for peers in found if peers >= FIRST]) > 2:
        rows.append(_extrapolated(sizes, [found[n]["cpu"] for n in sizes]))
    header = ("peers", "CPU [s]", "per peer [CPU ms]", "peak memory [MB]", "memory per peer [kB]")
    return Section(
        f"Large swarms and their memory, {fidelity}",
        [header, *rows],
        ("50 MB at 20 kB/s. Memory per peer: the peak less what the process held before, over the peers.",),
        (
            at_most(f"100,000 peers, 50 MB, {fidelity}", CPU[fidelity], last["cpu"] if last else None, "CPU s", ".0f"),
            at_most(
                f"peak memory of 100,000 peers, 50 MB, {fidelity}",
                4000.0,
                last["peak"] / 1e6 if last else None,
                "MB",
                ".4g",
            ),
            at_most(
                f"exponent of CPU time from 1,000 to 100,000 peers, {fidelity}",
                EXPONENT[fidelity],
                _exponent(found),
                "",
                ".2f",
            ),
        ),
    )


def _row(peers: int, found: dict[str, float]) -> Row:
    each = (found["peak"] - found["before"]) / peers
    per_peer = f"{1e3 * found['cpu'] / peers:.2f}"
    return str(peers), f"{found['cpu']:.2f}", per_peer, f"{found['peak'] / 1e6:.0f}", f"{each / 1e3:.1f}"


def _extrapolated(sizes: Sequence[float], costs: Sequence[float]) -> Row:
    """Return what the sizes that were run say of a million peers, on a straight line in logarithms."""
    cpu, low, high = interval(sizes, costs, MILLION)
    text = f"{cpu:.0f}, extrapolated: {low:.0f} to {high:.0f} at 90 %"
    return str(MILLION), text, f"{1e3 * cpu / MILLION:.2f}", "", ""


def _exponent(found: dict[int, dict[str, float]]) -> float | None:
    """Return the exponent over all sizes between FIRST and LAST; None unless both were run."""
    sizes = [peers for peers in found if FIRST <= peers <= LAST]
    return exponent(sizes, [found[n]["cpu"] for n in sizes]) if FIRST in sizes and LAST in sizes else None
