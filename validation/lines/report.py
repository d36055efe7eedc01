"""The report on lines, ``validation/lines.md``: what was set in the test bed beside what is fitted to its files."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from btflow import lines
from btflow.errors import InputError
from btflow.lines.compared import Figure, known
from btflow.lines.line import LIMITS, Estimate, Line
from btflow.lines.traces import Way
from validation.lines.made import LINES, files, inputs
from validation.markdown import Report, table

REPORT = Path(__file__).parents[1] / "lines.md"
FIGURE = Path(__file__).parents[2] / "docs" / "figures" / "my-line.svg"
SHOWN = "packets-up.pcap packets-up.log"
"""Files of the figure."""
QUESTION = (
    "Do the intervals that btflow calibrate fits to measured files hold what was set, and is simulated near measured?"
)
MADE = (
    "Each line is made of network namespaces, with queues of the kernel (HTB or TBF over a FIFO), or managed by "
    "`validation/lines/router.py`; the path is that of [real clients](clients.md). Some lines were chosen, others are "
    "drawn by a seed (`validation/lines/made.py`). Files are what iperf3, ping, tcpdump and flent wrote, or, behind a "
    "colon, what a script made of them: `tests/lines/recorded/README.md`. `python -m validation.lines measure` makes "
    "them again (root); this page is written by `python -m validation.lines report`."
)
NEAR = 0.1
"""A simulated figure is near the measured one within this share of it."""
KINDS = {"json": "iperf3", "log": "ping", "log:windows": "ping of Windows", "pcap": "capture", "flent": "flent"}


class Row(NamedTuple):
    """A figure of a line that was set, and what is fitted."""

    what: str
    true: float
    found: Estimate | None
    scale: float
    unit: str
    managed: tuple[str, str] = ("", "")
    """What manages the queue, as set and as fitted."""

    @property
    def verdict(self) -> str:
        """``held``, ``bound`` if an end is not known, ``unknown``, or ``wrong`` if what was set is excluded."""
        if self.managed[1]:
            return "held" if self.managed[0] else "wrong"
        if self.found is None:
            return "unknown"
        if not self.found.low <= self.true <= self.found.high:
            return "wrong"
        return "held" if math.isfinite(self.found.high - self.found.low) else "bound"

    @property
    def text(self) -> str:
        """What was set and what is fitted, as the table has it."""
        known = "not known" if self.found is None else self.found.text(self.scale, "").replace("  ", " ").strip()
        text = f"{self.managed[0] or f'{self.scale * self.true:.4g}'}: {self.managed[1] or known}"
        return f"**{text}**" if self.verdict == "wrong" else text


def fit(names: str, folder: Path) -> Line:
    """Return the line that is fitted to the files of some names; a log of ping alone has the rate given."""
    if not re.fullmatch(r"\S+\.log\S*", names):
        return lines.fit(*files(names, folder))
    line, name = names.partition(".")[0].split("-")
    way: Way = "down" if name.startswith("down") else "up"
    return lines.fit(*files(names, folder), way=way, rate=f"{LINES[line].truth(way)[0]} B/s")


def rows(names: str, line: Line) -> Iterator[Row]:
    """Give the figures of one line."""
    made = LINES[names.partition("-")[0]]
    yield Row("base", made.rtt, line.rtt, 1e3, "ms")
    for way, queue in line.ways:
        rate, room = made.truth(way)
        if queue.rate.low < queue.rate.high:  # not given
            yield Row(f"rate {way}", rate, queue.rate, 8e-6, "Mbit/s")
        fitted = queue.discipline if queue.discipline in LIMITS else ""
        yield Row(f"buffer {way}", float(room), queue.buffer, 1e-3, "kB", (made.managed, fitted))


class Judged(NamedTuple):
    """What became of one input."""

    names: str
    rows: list[Row]
    figures: tuple[Figure, ...]
    refused: str = ""

    @property
    def kind(self) -> str:
        """What was read."""
        ends = [name.partition(".")[2] for name in self.names.split()]
        return " + ".join(KINDS.get(end, "changed capture") for end in ends)


def judged(names: str, folder: Path) -> Judged:
    """Return what is fitted to an input, beside what was set, and how it is simulated."""
    try:
        line = fit(names, folder)
        figures = lines.compare(line).figures if known(line) else ()  # what was not kept busy says little of a line
    except InputError as error:
        return Judged(names, [], (), error.reason)
    return Judged(names, list(rows(names, line)), figures)


def write(which: str) -> None:
    """Write the report on the chosen lines and those of a seed."""
    with tempfile.TemporaryDirectory() as folder:
        found = [judged(names, Path(folder)) for names in (*inputs("chosen"), *inputs(which))]
    total = _counts(found)
    wrong = [f"{row.what} of {one.names}" for one in found for row in one.rows if row.verdict == "wrong"]
    said = [
        f"Of {total[0]} inputs {total[1]} are refused.",
        f"{total[2]} intervals with two ends hold what was set, and {total[3]} bounds.",
        f"{total[4]} simulated figures are within {NEAR:.0%} of the measured ones.",
        f"What was set is outside: {', '.join(wrong) or 'nowhere'}.",
    ]
    names = ("input", "number", "refused", "intervals held", "bounds held", f"simulated within {NEAR:.0%}")
    kinds = sorted({one.kind for one in found})
    counted = ((kind, *map(str, _counts([one for one in found if one.kind == kind]))) for kind in kinds)
    shown = ["", "## By kind of input", "", *table(names, counted)]
    Report("Lines of the test bed", QUESTION, said, [MADE, *shown], _fitted(found)).write(REPORT)


def _counts(found: list[Judged]) -> tuple[int, int, str, str, str]:
    """Return how many inputs, how many refused, and how many intervals and bounds hold and figures are near."""
    rows = [row for one in found for row in one.rows]
    ended = [[r for r in rows if r.verdict in ("held", "bound", "wrong") and _ended(r) is two] for two in (True, False)]
    held = [f"{sum(row.verdict != 'wrong' for row in some)} of {len(some)}" for some in ended]
    near = [abs(figure.off) <= NEAR for one in found for figure in one.figures]
    return len(found), sum(bool(one.refused) for one in found), held[0], held[1], f"{sum(near)} of {len(near)}"


def _ended(row: Row) -> bool:
    """Return whether both ends of an interval are known, or the discipline is."""
    return bool(row.managed[1]) or (row.found is not None and math.isfinite(row.found.high - row.found.low))


def _fitted(found: list[Judged]) -> list[str]:
    shown = []
    for one in found:
        cells = ["; ".join(r.text for r in one.rows if r.what.startswith(what)) for what in ("base", "rate", "buffer")]
        offs = [[f.off for f in one.figures if (f.unit == "ms") is kind] for kind in (True, False)]
        cells += [f"{max(some, key=abs):+.0%}" if some else "" for some in offs]
        shown.append((one.names, *([f"refused: {one.refused}", *[""] * 4] if one.refused else cells)))
    names = ("files", "base RTT [ms]", "rate [Mbit/s]", "buffer [kB]", "RTT", "goodput")
    said = (
        "Set: fitted, with its interval; what is wrong is bold. Then the largest differences of simulated to measured: "
        "of the quantiles of round-trip times, and of the goodput."
    )
    return ["## Set and fitted", "", said, "", *table(names, shown)]


def draw() -> None:
    """Draw the figure of docs/my-line.md."""
    from btflow import plots

    drawn = plots.measured_over_simulated(lines.compare(lines.fit(*files(SHOWN))))
    plots.save(drawn, FIGURE)
