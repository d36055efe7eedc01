"""All that is found about link experiments, its frozen summary (validation/links.md), and what is assumed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from btflow.config.catalog import link_document
from validation import reference
from validation.assumptions import Assumption, of_model
from validation.links import checks, coexistence, frozen
from validation.links.checks import Found
from validation.links.judge import Line
from validation.links.speed import speed
from validation.markdown import Report as Page, claims, conditions, constants, counted, in_detail
from validation.part import Part
from validation.report import made_by, today
from validation.verdict import Finding, Verdict

__all__ = ["Entry", "Report", "entry", "today", "write_summary"]

SUMMARY = Path(__file__).parent.parent / "links.md"
"""With the details behind it the only part of the report that is kept in the repository."""
COMMAND = "python -m validation.links"
"""What makes it."""
TITLE = "Link experiments checked by `make validate`"
QUESTION = "Do windows, queues and delays on one link come out as packet by packet in ns-3, and as two papers measured?"
CLAIMS = "links.toml"
MODELS = ("geni", "opnet2009")
WORST = 5
"""Cells beyond tolerance that the summary names for each figure."""

NOTES = {
    "NewReno": "ns-3's grows by one segment per window of ACKs: with delayed ACKs half as fast as Linux's Reno, "
    "which counts segments (LinuxReno). Each is compared with our file of it.",
    "CUBIC": "ns-3's HyStart takes smoothed delays, Linux's samples; compared with ns3-cubic.",
    "Vegas": "ns-3's base RTT is the least smoothed one, so flows that start in each other's queue hold more than the "
    "2 to 4 packets of the paper and of Linux; compared with ns3-vegas.",
    "TCP-LP": "ns-3, as Linux, sets the range of delays anew at every back-off, the paper does not; ns-3's one-way "
    "delays hold the wait of delayed ACKs, so that a flow backs off alone on an empty link; compared with ns3-lp.",
    "LEDBAT": "the packet-level class is our own, after RFC 6817, because that of ns-3 before 3.47 does not grow: it "
    "is an independent program, not an independent reading (that of 3.48 agrees with it). It has no slow start, unlike "
    "libutp since 2013.",
    "recovery": "up to 3.48 ns-3 does not notice a lost retransmission before the timeout (ns3-cubic does not either), "
    "and in 3.44 its timer runs on after the first partial ACK (RFC 6582's impatient variant; ours starts it anew, RFC "
    "6298): ramps whose slow start overshoots differ by that; validation/packet_level/README.md has both repaired.",
    "AQM": "ns-3 needs a device queue behind the queue disc: one packet waits there that the algorithm does not see "
    "but the tables count. Ours has none.",
    "noise": "ns-3's short packets come at random (Poisson), ours from ten regular sources of different periods.",
    "ramps": "data are counted at n + 0.5 RTT after the first segment left, when a round has come in whole and the "
    "next has not begun. ns-3 loses nothing before that, so our runs whose SYN was lost are left out.",
}
"""Where ns-3's variant differs from the RFC, from Linux or from libutp, or its link from ours."""


@dataclass(frozen=True)
class Entry:
    """A verdict with the cells behind it."""

    verdict: Verdict
    """The claim and its finding."""
    lines: tuple[Line, ...] = ()
    """The cells, if it is about a grid."""


@dataclass(frozen=True)
class Report:
    """All that is reported."""

    entries: Sequence[Entry]
    """One per claim."""
    runs: int
    """Seeds of each setting of the small papers."""
    date: str
    """Day of the report, ISO 8601."""
    cpu: float
    """CPU time of all [s]."""

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdicts, in order."""
        return [entry.verdict for entry in self.entries]

    @property
    def reached(self) -> bool:
        """Whether every figure was."""
        return all(verdict.holds for verdict in self.verdicts)

    def lines(self, name: str) -> tuple[Line, ...]:
        """Return the cells behind a claim; none if it was not checked."""
        return next((entry.lines for entry in self.entries if entry.verdict.claim.id == name), ())

    def has(self, name: str) -> bool:
        """Return whether a claim was checked."""
        return any(entry.verdict.claim.id == name for entry in self.entries)


def judges() -> Mapping[str, Callable[[int | None], Found]]:
    """Return what judges each claim, given the number of seeds if one is asked for."""

    def plain(judge: Callable[[int], Finding]) -> Callable[[int | None], Found]:
        return lambda runs: Found(judge(max(runs or 0, coexistence.RUNS)))

    return {
        **{name: check.run for name, check in checks.CHECKS.items()},
        "P11": lambda _: Found(speed()),
        "G01": plain(coexistence.beside_tcp),
        "G02": plain(coexistence.beside_utp),
        "V01": plain(coexistence.call),
        "V02": plain(coexistence.headers),
    }


def entry(name: str, runs: int | None) -> Entry:
    """Return a claim, judged."""
    found = judges()[name](runs)
    return Entry(Verdict(reference.claims(CLAIMS)[name], found.finding), found.lines)


def word(verdict: Verdict) -> str:
    """Return the verdict in words; what is no published finding but a goal of this project is reached or not."""
    text = verdict.text
    if verdict.claim.id.startswith("P"):
        text = text.replace("not reproduced", "not reached").replace("bound held", "reached")
        text = text.replace("reproduced", "reached")
    return text


def provenance(report: Report) -> dict[str, Any]:
    """Return what was run, by what, and when; and what made the frozen tables."""
    return {
        **made_by(report.date),
        "cpu_s": round(report.cpu, 1),
        "packet_level": {name: frozen.manifest()[name] for name in frozen.tables() if name in frozen.manifest()},
    }


def packets_text() -> str:
    """Return in a sentence what made the frozen tables."""
    made = [frozen.manifest()[name] for name in frozen.tables() if name in frozen.manifest()]
    if not made:
        return "There are no frozen tables."
    dates = sorted({str(table["date"]) for table in made})
    runs, cpu = sum(table["runs"] for table in made), sum(table["cpu_s"] for table in made)
    days = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return f"Packet-level tables: ns-3 {frozen.release()}, {days}, {runs} runs, {cpu:.0f} s of CPU time."


def assumptions() -> list[Assumption]:
    """Return the numbers of the two small papers' models that no source gives."""
    return [entry for model in MODELS for entry in of_model(model, link_document(model))]


def write_summary(report: Report, path: Path) -> None:
    """Write links.md: claim, verdict, figures; conditions and cells beyond tolerance behind it; verdicts as data."""
    summary(report).write(path)
    Part.of(COMMAND, report.verdicts, report.date, word).write(path)


def summary(report: Report) -> Page:
    """Return links.md."""
    run = provenance(report)
    verdicts = report.verdicts
    lines = [
        f"btflow {run['version']}, {run['date']}, {run['cpu_s']:.0f} s of CPU time; {report.runs} seeds of each "
        "setting of the small papers, elsewhere as many as the packet-level runs have (ramps: at least "
        f"{checks.RAMP_RUNS}). {packets_text()} Written by `{COMMAND}`; do not edit.",
        "",
        *claims(verdicts, "reference", word),
        "",
        "## Where the two sides are not the same thing",
        "",
        *(f"- {name}: {text}" for name, text in NOTES.items()),
        "",
        "## Constants without a source",
        "",
        *constants(assumptions()),
    ]
    details = [
        *conditions(verdicts),
        "",
        "## Cells beyond their tolerance",
        "",
        *_worst(report),
    ]
    return Page(TITLE, QUESTION, [counted(verdicts, word)], lines, details)


def _worst(report: Report) -> list[str]:
    """Return for each figure the cells that strain their tolerance most."""
    found = []
    for item in report.entries:
        if not item.lines:
            continue
        beyond = item.verdict.finding.details
        more = f"; the {WORST} worst" if len(beyond) > WORST else ""
        found.append(f"- {item.verdict.claim.id}: {len(beyond)} of {len(item.lines)} cells{more}")
        found += [f"  - {text}" for text in beyond[:WORST]]
    return found


def behind(report: Report) -> Iterator[str]:
    """Give what only the page has: claims in detail, and all cells of each."""
    yield from ("## In detail", "", *in_detail(report.verdicts, word))
    for item in report.entries:
        if item.lines:
            yield from (f"## Cells of {item.verdict.claim.id}", "")
            for line in item.lines:
                yield f"- {line.label}: {', '.join(f.text + ' ✗' * (not f.held) for f in line.figures)}"
            yield ""
