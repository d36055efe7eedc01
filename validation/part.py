"""What a part of `make validate` has found of its claims, as data: `results/NAME.json`, written with `NAME.md`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, Self

from pydantic import TypeAdapter, ValidationError

import btflow
from btflow.digest import code_digest
from btflow.errors import InputError
from btflow.files import replacing
from validation.verdict import Verdict

FOLDER = "results"
"""Folder of the data, beside the reports."""


@dataclass(frozen=True)
class Row:
    """What was found of a claim."""

    brief: str
    """The figure in a few words."""
    ours: str = ""
    """The figure as the report has it."""
    verdict: str = ""
    """The verdict in words; empty where nothing is judged, as of what was measured."""
    holds: bool = False
    """Whether every condition of the claim does."""


def row(verdict: Verdict, text: str = "") -> Row:
    """Return a judged claim; `text` in place of the verdict's own words."""
    finding = verdict.finding
    return Row(finding.brief or finding.ours, finding.ours, text or verdict.text, verdict.holds)


@dataclass(frozen=True)
class Part:
    """What one command found."""

    command: str
    """The command."""
    rows: Mapping[str, Row]
    """What it found, by claim."""
    date: str
    """Day of the report, ISO 8601."""
    version: str
    """Version of btflow that was run."""
    code: str
    """Digest of the code that was run."""
    form: Literal[1]
    """Form of these data: another number once a field means something else."""

    @classmethod
    def now(cls, command: str, rows: Mapping[str, Row], date: str) -> Self:
        """Return what a command has found by the code that runs."""
        return cls(command, rows, date, btflow.__version__, code_digest(), 1)

    @classmethod
    def of(
        cls, command: str, verdicts: Iterable[Verdict], date: str, word: Callable[[Verdict], str] = lambda v: v.text
    ) -> Self:
        """Return claims that a command judged; `word` gives the verdict in words."""
        return cls.now(command, {verdict.claim.id: row(verdict, word(verdict)) for verdict in verdicts}, date)

    def write(self, report: Path) -> None:
        """Write the data of a report, which lies at `report`."""
        file = data(report)
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as partial:
            partial.write_bytes(_form().dump_json(self, indent=1) + b"\n")


@cache
def _form() -> TypeAdapter[Part]:
    return TypeAdapter(Part)


def data(report: Path) -> Path:
    """Return where the data of a report are."""
    return report.parent / FOLDER / f"{report.stem}.json"


def read(report: Path, command: str) -> Part:
    """Return the data of a report; an InputError that names the command if they are not there, or are of other code."""
    file, makes = data(report), f"what `{command}` writes"
    try:
        part = _form().validate_json(file.read_bytes())
    except OSError as error:
        raise InputError(FOLDER, file.name, f"cannot be read: {error.strerror}", makes) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "JSON"
        raise InputError(FOLDER, file.name, f"has another form: {where}: {first['msg']}", makes) from None
    if part.version != btflow.__version__:
        raise InputError(FOLDER, file.name, f"is of btflow {part.version}, this is {btflow.__version__}", makes)
    return part
