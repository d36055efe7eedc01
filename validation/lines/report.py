"""The report on lines, ``validation/lines.md``: what was set in the test bed beside what is fitted to its files."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from btflow import lines
from btflow.lines.compared import Figure, simulable
from btflow.lines.line import Estimate, Line
from validation.lines.made import LINES, PACKET, READ, Made, files
from validation.markdown import Report, table

REPORT = Path(__file__).parents[1] / "lines.md"
FIGURE = Path(__file__).parents[2] / "docs" / "figures" / "my-line.svg"
SHOWN = "packets-up.pcap packets-up.log"
"""Files of the figure."""
QUESTION = (
    "Do the intervals that btflow calibrate fits to measured files hold what was set, and is simulated near measured?"
)
NEAR = 0.1
"""A simulated figure is near the measured one within this share of it."""


class Row(NamedTuple):
    """A figure of a line that was set, and what is fitted."""

    names: str
    what: str
    true: float
    found: Estimate
    scale: float
    unit: str

    @property
    def holds(self) -> bool:
        """Whether the interval holds what was set."""
        return self.found.low <= self.true <= self.found.high

    @property
    def held(self) -> str:
        """The same as the table has it."""
        return "yes" if self.holds else "**no**"

    @property
    def bounded(self) -> bool:
        """Whether both ends of the interval are known."""
        return math.isfinite(self.found.low) and math.isfinite(self.found.high)


def rows(names: str, line: Line) -> Iterator[Row]:
    """Give the figures of one line."""
    made: Made = LINES[names.partition("-")[0]]
    yield Row(names, "base round-trip time", made.rtt, line.rtt, 1e3, "ms")
    for way, queue in line.ways:
        rate = made.uplink if way == "up" else made.downlink
        yield Row(names, f"rate {way}", rate, queue.rate, 8e-6, "Mbit/s")
        room = made.room * (PACKET if made.unit == "packets" else 1) if way == "up" else made.downlink_room
        if queue.buffer is not None and queue.discipline == "drop-tail":
            yield Row(names, f"buffer {way}", float(room), queue.buffer, 1e-3, "kB")


def write() -> None:
    """Write the report."""
    fitted = {names: lines.fit(*files(names)) for names in READ}
    found = [row for names, line in fitted.items() for row in rows(names, line)]
    figures = {names: lines.compare(line).figures for names, line in fitted.items() if _comparable(line)}
    held, bounded = sum(row.holds for row in found), [row for row in found if row.bounded]
    near = [figure for some in figures.values() for figure in some]
    closeness = [abs(row.found.value / row.true - 1) for row in bounded]
    said = [
        f"{held} of {len(found)} intervals hold what was set; {len(bounded)} have two ends, and there the value is "
        f"off by {100 * max(closeness):.1f}% at most.",
        f"{sum(abs(figure.off) <= NEAR for figure in near)} of {len(near)} simulated figures are within {NEAR:.0%} of "
        "the measured ones.",
    ]
    missed = [f"{row.what} of {row.names}" for row in found if not row.holds]
    said += [f"Not held: {', '.join(missed)}."] if missed else []
    Report("Lines of the test bed", QUESTION, said, [*_made(), *_fitted(found), *_compared(figures)]).write(REPORT)


def _comparable(line: Line) -> bool:
    """Return whether a line is to be simulated: what it was not kept busy by says little of it."""
    return simulable(line) and all(math.isfinite(queue.rate.high) for _, queue in line.ways)


def _made() -> Iterator[str]:
    yield (
        "Each line is made of network namespaces, with the uplink's queue in the kernel (HTB over a FIFO), or managed "
        "by FQ-CoDel in `validation/lines/router.py`, which the kernel here lacks; the path's delay is added by the "
        "test bed of [real clients](clients.md). The files are what iperf3 3.12, ping, tcpdump and flent 2.3.0 wrote: "
        "`tests/lines/recorded/README.md`. `python -m validation.lines measure` makes them again (root, five minutes); "
        "this page is written by `python -m validation.lines report`."
    )
    rows = (
        (
            made.name,
            f"{8e-6 * made.uplink:.3g} Mbit/s",
            "FQ-CoDel" if made.managed else f"{made.room:,} {made.unit}",
            f"{1e3 * made.rtt:.0f} ms",
            f"{8e-6 * made.downlink:.3g} Mbit/s, {made.downlink_room / 1e3:.0f} kB",
        )
        for made in LINES.values()
    )
    yield from ("", *table(("line", "uplink", "buffer", "base RTT", "downlink"), rows))


def _fitted(found: list[Row]) -> Iterator[str]:
    yield from ("", "## Set and fitted", "")
    rows = ((r.names, r.what, f"{r.scale * r.true:.4g} {r.unit}", r.found.text(r.scale, r.unit), r.held) for r in found)
    yield from table(("files", "figure", "set", "fitted", "held"), rows)


def _compared(figures: dict[str, tuple[Figure, ...]]) -> Iterator[str]:
    yield from ("", "## Measured and simulated", "")
    yield "Largest difference of the medians and 95th percentiles of the round-trip times, and of the goodput:"
    rows = []
    for names, some in figures.items():
        worst = [max((f.off for f in some if (f.unit == "ms") is kind), key=abs, default=0.0) for kind in (True, False)]
        rows.append((names, f"{worst[0]:+.0%}", f"{worst[1]:+.0%}"))
    yield from ("", *table(("files", "round-trip time", "goodput"), rows))


def draw() -> None:
    """Draw the figure of docs/my-line.md."""
    from btflow import plots

    drawn = plots.measured_over_simulated(lines.compare(lines.fit(*files(SHOWN))))
    plots.save(drawn, FIGURE)
