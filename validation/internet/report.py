"""The report on swarms on paths of the Internet: validation/internet.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import btflow
from validation.internet.shares import Results, Row, at_all_limits, reasons, rows
from validation.internet.swarms import KINDS, NEAR, PATHS, WHOLE
from validation.markdown import Report as Page, table as markdown
from validation.report import today
from validation.statistics import wilson

SUMMARY = Path(__file__).parent.parent / "internet.md"
"""The only part of the report that is kept in the repository."""

IMAGE = "../docs/figures/internet-swarms.png"
"""The figure, as the summary names it."""

QUESTION = (
    "Where each pair of peers has a path of the Internet of its own, which share of the swarms, and of their peers, is "
    "at most 15% slower than at RTT 0 without loss?"
)
BACKGROUND = (
    "The 2010 paper finds swarms with one round-trip time for all, of up to 400 ms with 5% loss, less than 15% slower "
    "than at RTT 0 without loss, and argues from iPlane that few paths of the Internet are worse. Here each pair of "
    "peers has a path of its own."
)

METHOD = (
    f"Paths are drawn from `{PATHS}` (synthetic, data/iplane/README.md) anew for each swarm; swarm number i has the "
    "same paths at every upload limit, and the same round-trip times with and without loss. Slowdown: mean completion "
    "time of the leechers over the mean of all swarms at RTT 0 without loss. These swarms differ among themselves, by "
    "chance alone: their rows say how many of them stay within 15% of their own mean. ± is the standard error over "
    "swarms, in brackets the least and the greatest swarm, or Wilson's 95% interval of a share. Peers of one swarm are "
    "not independent: their share enters once for each swarm."
)


@dataclass(frozen=True)
class Report:
    """All that is reported."""

    results: Results
    """What it is based on."""
    date: str
    """Day of the report, ISO 8601."""

    @property
    def rows(self) -> list[Row]:
        """What was found, by kind and limit."""
        return rows(self.results)


def make(results: Results) -> Report:
    """Return the report of today."""
    return Report(results, today())


def answer(report: Report) -> list[str]:
    """Return the answer in a few sentences."""
    found = []
    for kind in (kind for kind in KINDS if kind != NEAR):
        within, number = at_all_limits(report.results, kind)
        mine = [row for row in report.rows if row.kind == kind]
        worst = max(mine, key=lambda row: float(row.slowdowns.max()))
        shares = [100 * float(row.peers.mean()) for row in mine]
        found.append(
            f"{kind}: {within} of {number} draws of paths stay within 15% at every upload limit, "
            f"{wilson(within, number).percent(1)} (95%); the slowest swarm is {100 * worst.slowdowns.max():+.1f}% "
            f"({worst.limit} kB/s). Of the leechers {min(shares):.1f} to {max(shares):.1f}% stay within 15%, by limit."
        )
    return found


HEADER = ("paths", "limit [kB/s]", "mean slowdown", "swarms within 15%", "leechers within 15%", "slowest leecher")


def cells(report: Report) -> list[tuple[str, ...]]:
    """Return the rows of the table."""
    return [
        (row.kind, f"{row.limit}", row.slowdown_text, row.share_text, row.peers_text, row.slowest_text)
        for row in report.rows
    ]


WHY = ("limit [kB/s]", "swarms: RTT of the seed", "loss of the seed", "peers: their mean RTT", "their mean loss")
WHY_TEXT = (
    "What goes with being slow, on paths with loss: Spearman's correlation of a swarm's mean completion with the mean "
    "round-trip time and loss of its seed's paths, over swarms; and of a leecher's completion with the mean of its own "
    "paths, within each swarm, in the mean over swarms."
)


def why(report: Report) -> list[tuple[str, ...]]:
    """Return the rows of the table of reasons."""
    found = reasons(report.results, WHOLE)
    return [
        (f"{r.limit}", *(f"{value:+.2f}" for value in (r.seed_rtt, r.seed_loss, r.peer_rtt, r.peer_loss)))
        for r in found
    ]


def provenance(report: Report) -> str:
    """Return what was run, by what and when."""
    measured = report.results.measured
    cpu = sum(found.cpu for found in measured.values())
    changed = next(iter(measured)).smaller
    warning = f" NOT the paper's swarm: {dict(changed)}." if changed else ""
    return f"btflow {btflow.__version__}, {report.date}, {len(measured)} swarms, {cpu:.0f} s of CPU time.{warning}"


def write_summary(report: Report, path: Path) -> None:
    """Write internet.md."""
    summary(report).write(path)


def summary(report: Report) -> Page:
    """Return internet.md."""
    lines = [
        f"{provenance(report)} Written by `python -m validation.internet`; do not edit.",
        "",
        BACKGROUND,
        "",
        *markdown(HEADER, cells(report)),
        "",
        METHOD,
        "",
        f"![Mean completion time of each swarm over that at RTT 0]({IMAGE})",
        "",
        f"The figure: `python -m validation.internet --image {IMAGE.removeprefix('../')}`.",
        "",
        *markdown(WHY, why(report)),
        "",
        WHY_TEXT,
    ]
    return Page("Swarms on paths of the Internet", QUESTION, answer(report), lines)
