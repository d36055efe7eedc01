"""A report in Markdown: its question, what came out, what one needs to believe it; what is long lies behind it.

`NAME.md` is read in two screens. Long tables and single figures are in `details/NAME.md`, which it links to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from btflow.files import replacing
from validation.assumptions import Assumption
from validation.verdict import Verdict

LINES = 100
"""Of a report, at most."""
DETAILS = "details"
"""Folder of what is behind the reports."""
CAME_OUT = "**What came out:**"
"""Begins the verdicts, right below the question."""

_HEADING = re.compile(r"^## (.+)$")
_RELATIVE = re.compile(r"\]\((?![a-z]+:|#|/)")


@dataclass(frozen=True)
class Report:
    """A report, its links as seen from its own folder."""

    title: str
    """Its title."""
    question: str
    """What it answers, in a sentence."""
    verdicts: Sequence[str]
    """What came out, with how many of how many and what was missed; the first thing that is read."""
    lines: Sequence[str]
    """What a reader needs to believe it."""
    details: Sequence[str] = ()
    """What is behind it, under headings of the second order; may be nothing."""

    def text(self, name: str) -> str:
        """Return the report, a file of this name."""
        found = list(self.verdicts)
        said = [f"{CAME_OUT} {found[0]}"] if len(found) == 1 else [CAME_OUT, "", *(f"- {line}" for line in found)]
        lines = ["\n".join([f"# {self.title}", "", self.question, "", *said, "", *self.lines]).rstrip("\n")]
        if self.details:
            parts = ", ".join(f"[{one}]({DETAILS}/{name}#{anchor(one)})" for one in headings(self.details))
            lines += ["", f"Behind it, in [{DETAILS}/{name}]({DETAILS}/{name}): {parts}."]
        return "\n".join(lines) + "\n"

    def behind(self, name: str) -> str:
        """Return what is behind the report, whose file has this name."""
        text = _RELATIVE.sub("](../", "\n".join(self.details)).rstrip("\n")
        return f"# {self.title}: details\n\nWhat is behind [the report](../{name}), written with it.\n\n{text}\n"

    def write(self, path: Path) -> None:
        """Write the report, and what is behind it into the folder beside it."""
        files = {path: self.text(path.name)}
        if self.details:
            files[path.parent / DETAILS / path.name] = self.behind(path.name)
        for file, text in files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            with replacing(file) as partial:
                partial.write_text(text, encoding="utf-8")


def table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: bool = False) -> list[str]:
    """Return the lines of a table; of one of `numbers` all columns but the first are set to the right."""
    escaped = ([cell.replace("|", "\\|") for cell in row] for row in rows)
    marks = ["---", *["---:" if numbers else "---"] * (len(header) - 1)]
    return [f"| {' | '.join(row)} |" for row in (header, marks, *escaped)]


def claims(
    verdicts: Iterable[Verdict], reference: str = "paper", word: Callable[[Verdict], str] = lambda verdict: verdict.text
) -> list[str]:
    """Return the table of claims: what came out of each, and the figures of both sides."""
    rows = ((v.claim.id, word(v), v.claim.text, v.finding.paper, v.finding.ours) for v in verdicts)
    return table(("claim", "verdict", "what", reference, "btflow"), rows)


def constants(assumed: Iterable[Assumption]) -> list[str]:
    """Return the numbers that no source gives as a list."""
    return [f"- `{entry.name}` = {entry.value}. {entry.reason}" for entry in assumed]


def in_detail(
    verdicts: Iterable[Verdict], word: Callable[[Verdict], str] = lambda verdict: verdict.text
) -> Iterator[str]:
    """Give each claim with what it stands or falls with, and its further figures."""
    for verdict in verdicts:
        claim, finding = verdict.claim, verdict.finding
        counts = f" What counts: {claim.tolerance}." if claim.tolerance else ""
        yield from (f"### {claim.id}: {word(verdict)}", "")
        yield from (f"{claim.text} ({claim.paper}, {claim.where}; {claim.kind}.{counts})", "")
        yield from (f"- {'✓' if condition.held else '✗'} {condition.text}" for condition in finding.conditions)
        yield from (*(f"- {line}" for line in finding.details), "")


def headings(lines: Sequence[str]) -> Iterator[str]:
    """Yield the headings of the second order."""
    for line in "\n".join(lines).splitlines():
        if heading := _HEADING.match(line):
            yield heading[1]


def anchor(heading: str) -> str:
    """Return how a heading is linked to."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def counted(verdicts: Sequence[Verdict], word: Callable[[Verdict], str] = lambda verdict: verdict.text) -> str:
    """Return how many of some claims hold, and which came out how."""
    found: dict[str, list[str]] = {}
    for verdict in verdicts:
        found.setdefault(word(verdict).partition(":")[0], []).append(verdict.claim.id)
    holding = sum(verdict.holds for verdict in verdicts)
    each = "; ".join(f"{text}: {', '.join(ids)}" for text, ids in found.items())
    return f"{holding} of {len(verdicts)} hold. {each[:1].upper()}{each[1:]}."


def conditions(verdicts: Sequence[Verdict]) -> list[str]:
    """Return what claims stand or fall with: what counts, and each condition."""
    counts = [f"- {v.claim.id}: {v.claim.tolerance}" for v in verdicts if v.claim.tolerance]
    held = [
        f"- {v.claim.id} {'holds' if c.held else 'FAILS'}: {c.text}" for v in verdicts for c in v.finding.conditions
    ]
    return [*(["## What counts", "", *counts, ""] if counts else []), "## Conditions", "", *held]
