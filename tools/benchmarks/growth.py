"""How the cost of one swarm grows with its peers, its pieces and its file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from btflow.options import Fidelity

from .measure import Cost, exponent, measure, report
from .table import Row, Section

LEECHERS = (75, 150, 300, 600, 1200, 3000)
FILE_SIZES = (12.5, 25.0, 50.0, 100.0)
"""[MB, of 2**20 B in this model]"""
PIECE_SIZES = (1024, 512, 256, 128, 64)
"""[KiB]"""


def with_peers(fidelity: Fidelity = "full") -> Section:
    """Measure the cost against the number of peers."""
    costs = _costs(((f"{n} leechers, {fidelity}", {"leechers": n}) for n in LEECHERS), fidelity)
    title = f"Cost against peers, {fidelity}"
    return _growth(title, "peers", [cost.peers for cost in costs], costs, "50 MB at 20 kB/s.")


def with_file_size() -> Section:
    """Measure the cost against the size of the file, its pieces being of one size."""
    costs = _costs((f"{size:g} MB", {"file_size": f"{size:g} MB"}) for size in FILE_SIZES)
    return _growth("Cost against file size", "MB", FILE_SIZES, costs, "301 peers, 20 kB/s, pieces of 256 KiB.")


def with_pieces() -> Section:
    """Measure the cost against the number of pieces of one file."""
    costs = _costs((f"pieces of {size} KiB", {"piece_size": f"{size} KiB"}) for size in PIECE_SIZES)
    return _growth("Cost against pieces", "pieces", [c.pieces for c in costs], costs, "301 peers, 50 MB, 20 kB/s.")


def _costs(cases: Iterable[tuple[str, Mapping[str, object]]], fidelity: Fidelity = "full") -> list[Cost]:
    found = []
    for name, settings in cases:
        report(name)
        found.append(measure(settings, 1, fidelity=fidelity))
    return found


def _growth(title: str, what: str, sizes: Sequence[float], costs: Sequence[Cost], setting: str) -> Section:
    """Return a table of cost against size, and the exponent that fits it."""
    rows: list[Row] = [
        (f"{n:g}", f"{c.least:.3f}", f"{1e6 * c.least / (c.peers * c.pieces):.2f}")
        for n, c in zip(sizes, costs, strict=True)
    ]
    fitted = exponent(sizes, [cost.least for cost in costs])
    header = (what, "one swarm [CPU s]", "per peer and piece [CPU us]")
    return Section(title, [header, *rows], (setting, f"Cost grows as {what}^{fitted:.2f}."))
