"""``python -m validation.overview``: all published claims in one table, validation/README.md, as the parts found."""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer
from pydantic import TypeAdapter

from btflow.digest import code_digest
from btflow.errors import InputError
from validation import part, reference, report as capped
from validation.command import application, run_app
from validation.fidelity import report as fidelity
from validation.fidelity.links import report as fidelity_links
from validation.fidelity.links.verdicts import IN_FULL
from validation.fidelity.verdicts import UNKNOWN
from validation.links import report as links
from validation.markdown import Report, table as markdown
from validation.part import Part, Row
from validation.swarms import report as swarms

FOLDER = Path(__file__).parent
PAGE = "README.md"
WORDS = FOLDER / "overview.toml"
COMMAND = "python -m validation.overview"
TITLE = "All published claims"
QUESTION = "Which of the published claims come out of btflow, and why do the others not?"

FULL = ((capped, "claims.toml"), (swarms, swarms.CLAIMS), (links, links.CLAIMS))
"""What judges claims in full, in the order of the page, and the files of its claims."""
FLOW = (fidelity, fidelity_links)
"""What judges them at flow."""
CLIENTS = "mainline.md"
"""The report on real clients; not every machine can measure them, so that its data may be missing."""
GOAL = "P"
"""Begins the short names of goals of this project, which nobody has published."""
PACKETS = ("P02", "P05")
"""Goals that stand below the claims: links against ns-3 where they miss what swarms on access links depend on."""
NONE = "-"

LEGEND = (
    "*Full* moves every block and packet, *flow* works uploads out in closed form ([fidelity](../docs/fidelity.md)); "
    f"its verdict stands beside its figure where it is another one. {NONE} was not run: flow has no single packets; "
    f"*not known*: flow does not count it;{IN_FULL}: with settings in full that flow refuses. *Bound held*: the paper "
    "gives no more than a bound. *By construction*: the model could not have said otherwise. Figures come in the order "
    "of the claim; the reports that the claims link to say what they are, how sure they are and what was tried. P02 "
    "and P05, which are not among the thirty, are two of [eleven checks](links.md) against ns-3: swarms lean on them."
)

app = application()


@dataclass(frozen=True)
class Words:
    """What is said of a claim, in our words."""

    name: str
    """What is claimed, in a few words."""
    paper: str
    """The published figure, in a few words."""
    verdict: str
    """The verdict that `why` was written for."""
    why: str
    """What carries it, or why it does not come out."""


@dataclass(frozen=True)
class Line:
    """A claim with what was found of it."""

    id: str
    """Its short name."""
    report: str
    """The report that has more."""
    words: Words
    """What is said of it."""
    full: Row
    """What was found in full."""
    flow: Row | None
    """What was found at flow, if it was run."""
    client: Row | None
    """What was measured with a real client, if it was."""


@dataclass(frozen=True)
class Found:
    """All that was found."""

    lines: Sequence[Line]
    """The published claims."""
    packets: Sequence[Line]
    """Figures of links beside them."""
    parts: Sequence[Part]
    """What they are from."""

    @property
    def measured(self) -> bool:
        """Whether a real client was measured."""
        return any(line.client for line in self.lines)


def words() -> dict[str, Words]:
    """Return what is said of each claim."""
    return TypeAdapter(dict[str, Words]).validate_python(tomllib.loads(WORDS.read_text(encoding="utf-8")))


def gathered(folder: Path = FOLDER) -> Found:
    """Return what the parts have found, from a folder of reports; an InputError if something is missing or stale."""
    full = [_read(folder, of) for of, _ in FULL]
    flow = [_read(folder, of) for of in FLOW]
    clients = folder / CLIENTS
    real = [part.read(clients, "make real-clients")] if part.data(clients).exists() else []
    said, at_flow, measured = words(), _rows(flow), _rows(real)
    lines = [
        Line(name, of.SUMMARY.name, said[name], _row(kept, name), at_flow.get(name), measured.get(name))
        for (of, file), kept in zip(FULL, full, strict=True)
        for name in reference.claims(file)
        if not name.startswith(GOAL) or name in PACKETS
    ]
    if stale := [_stale(line) for line in lines if line.words.verdict != line.full.verdict]:
        raise InputError.all_of(stale)
    claims, packets = ([one for one in lines if (one.id in PACKETS) == beside] for beside in (False, True))
    return Found(claims, packets, [*full, *flow, *real])


def _read(folder: Path, of: ModuleType) -> Part:
    return part.read(folder / of.SUMMARY.name, of.COMMAND)


def _rows(parts: Iterable[Part]) -> dict[str, Row]:
    return {name: row for kept in parts for name, row in kept.rows.items()}


def _row(kept: Part, name: str) -> Row:
    if name not in kept.rows:
        raise InputError(part.FOLDER, name, "was not judged", f"all claims, as `{kept.command}` judges them")
    return kept.rows[name]


def _stale(line: Line) -> InputError:
    reason = f"came out as {line.full.verdict!r}, but its why is written for {line.words.verdict!r}"
    return InputError(WORDS.name, line.id, reason, "a why for what came out, and its verdict beside it")


def counts(lines: Sequence[Line]) -> str:
    """Return in a sentence how many claims came out how; docs/limits.md and README.md say the same."""
    found = Counter(short(line.full) for line in lines)
    return (
        f"{found['reproduced'] + found['bound held']} of {len(lines)} published claims are reproduced, "
        f"{found['by construction']} hold by construction, {found['in part']} come out in part and "
        f"{found['not reproduced']} do not."
    )


def short(row: Row) -> str:
    """Return a verdict in a word or two, without the parts of the claim."""
    return row.verdict.partition(":")[0].removeprefix("holds ")


def failed(lines: Sequence[Line]) -> str:
    """Return which claims do not come out, and which do so in part."""
    ids = {word: [line.id for line in lines if short(line.full) == word] for word in ("in part", "not reproduced")}
    return (
        f"In part: {', '.join(ids['in part']) or 'none'}; not reproduced: {', '.join(ids['not reproduced']) or 'none'}."
    )


def page(found: Found) -> Report:
    """Return the table of all claims."""
    dates = sorted({kept.date for kept in found.parts})
    header = ["claim", "paper", "full", "flow", *(["real client"] if found.measured else []), "verdict", "why"]
    rows = [cells(line, found.measured) for line in (*found.lines, *found.packets)]
    lines = [
        f"btflow {found.parts[0].version}, {' to '.join(dict.fromkeys((dates[0], dates[-1])))}. Made by `{COMMAND}`, "
        f"the last part of `make validate`, of what the others found{_code(found.parts)}; do not edit.",
        "",
        *markdown(header, rows),
        "",
        LEGEND,
    ]
    return Report(TITLE, QUESTION, [f"{counts(found.lines)} {failed(found.lines)}"], lines)


def cells(line: Line, measured: bool) -> list[str]:
    """Return a claim's row; `measured` says whether there is a column for real clients."""
    word = short(line.full)
    return [
        f"[{line.id}]({line.report}) {line.words.name}",
        line.words.paper,
        line.full.brief,
        _beside(line.flow, line.full),
        *([line.client.brief if line.client else NONE] if measured else []),
        word if line.full.holds else f"**{word}**",
        line.words.why,
    ]


def _beside(flow: Row | None, full: Row) -> str:
    """Return the figure at flow, with its verdict if that is another one."""
    if flow is None:
        return NONE
    return flow.brief if flow.verdict in (UNKNOWN, full.verdict) else f"{flow.brief}: **{short(flow)}**"


def _code(parts: Sequence[Part]) -> str:
    """Return which parts ran other code than most, in brackets; nothing if none did."""
    most, _ = Counter(kept.code for kept in parts).most_common(1)[0]
    others = [f"`{kept.command}`, {kept.date}" for kept in parts if kept.code != most]
    return f" (some by other code than most: {', '.join(others)})" if others else ""


@app.command()
def overview(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the reports.")] = FOLDER,
) -> None:
    """Make validation/README.md, one table of all published claims, of what the parts of `make validate` found."""
    found = gathered(out)
    page(found).write(out / PAGE)
    typer.echo(counts(found.lines))
    if old := [kept.command for kept in found.parts if kept.code != code_digest()]:
        typer.echo(f"found by other code than this: {', '.join(old)}", err=True)
    typer.echo(f"report: {out / PAGE}")


if __name__ == "__main__":
    sys.exit(run_app(app, "validation.overview"))
