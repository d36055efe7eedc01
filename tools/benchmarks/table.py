"""A section of the benchmark: a table, notes and goals, as plain text or Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Row = tuple[str, ...]
WIDTH = 120


@dataclass(frozen=True)
class Goal:
    """A figure to reach, beside what was measured."""

    what: str
    """What is measured, with its unit."""
    wanted: str
    """Such as "at most 60 s"."""
    measured: str
    """What came out."""
    reached: bool | None
    """None if this run did not measure it."""

    @property
    def verdict(self) -> str:
        """The outcome in words."""
        return {True: "reached", False: "not reached", None: "not measured"}[self.reached]


def at_most(what: str, limit: float, value: float | None, unit: str, shown: str = ".3g") -> Goal:
    """Return the goal that `value` is no more than `limit`; not measured if None."""
    return _goal(what, f"at most {limit:{shown}}", value, unit, shown, value is not None and value <= limit)


def at_least(what: str, limit: float, value: float | None, unit: str, shown: str = ".3g") -> Goal:
    """Return the goal that `value` is no less than `limit`; not measured if None."""
    return _goal(what, f"at least {limit:{shown}}", value, unit, shown, value is not None and value >= limit)


def _goal(what: str, wanted: str, value: float | None, unit: str, shown: str, reached: bool) -> Goal:
    if value is None:
        return Goal(what, f"{wanted} {unit}".rstrip(), "", None)
    return Goal(what, f"{wanted} {unit}".rstrip(), f"{value:{shown}} {unit}".rstrip(), reached)


@dataclass(frozen=True)
class Section:
    """One table of measurements."""

    title: str
    """Heading."""
    rows: Sequence[Row]
    """The header and the rows, all of one length."""
    notes: Sequence[str] = ()
    """What was done, a sentence each."""
    goals: Sequence[Goal] = ()
    """Figures to reach."""


def as_text(section: Section) -> str:
    """Return a section for a terminal."""
    return "\n".join([section.title, *aligned(section.rows), *map(_wrapped, section.notes)])


def as_markdown(section: Section) -> str:
    """Return a section of a Markdown page."""
    notes = [_wrapped(note) for note in section.notes]
    parts = [f"## {section.title}", *notes[:1], markdown_table(section.rows), *notes[1:]]
    return "\n\n".join(part for part in parts if part)


def _wrapped(note: str) -> str:
    return textwrap.fill(note, WIDTH, break_on_hyphens=False, break_long_words=False)


def goals_section(sections: Iterable[Section]) -> Section:
    """Return a table of the goals of all sections."""
    rows = [(g.what, g.wanted, g.measured, g.verdict) for section in sections for g in section.goals]
    return Section("Figures to reach", [("", "to reach", "measured", ""), *rows])


def aligned(rows: Iterable[Row]) -> list[str]:
    """Return rows with their first column to the left and the others to the right."""
    cells = list(rows)
    if not cells:
        return []
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    return [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]).rstrip()
        for row in cells
    ]


def markdown_table(rows: Sequence[Row]) -> str:
    """Return the header and rows as a Markdown table; empty without rows."""
    if not rows:
        return ""
    line = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    rule = "| --- |" + " ---: |" * (len(rows[0]) - 1)
    return "\n".join([line[0], rule, *line[1:]])
