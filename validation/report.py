"""The report's numbers (report.json) and its frozen summary (summary.md)."""

from __future__ import annotations

import datetime
import json
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import btflow
from btflow.files import replacing
from validation import assumptions, markdown
from validation.cases import MODEL, Case
from validation.experiments import Plan, table4 as table4_cases
from validation.part import Part
from validation.statistics import replicas_text
from validation.table4 import Cell, cells
from validation.verdict import Results, Verdict

SUMMARY = Path(__file__).parent / "summary.md"
"""With the details behind it the only part of the report that is kept in the repository."""
COMMAND = "python -m validation"
"""What makes it."""
TITLE = "Claims checked by `make validate`"
QUESTION = "Does what a paper of 2010 measured of swarms behind upload limits come out of the simulator?"


@dataclass(frozen=True)
class Report:
    """All that is reported."""

    verdicts: Sequence[Verdict]
    """One per claim."""
    results: Results
    """What they are based on."""
    plan: Plan
    """How much was simulated."""
    date: str
    """Day of the report, ISO 8601."""

    @property
    def reproduced(self) -> bool:
        """Whether every claim was."""
        return all(verdict.holds for verdict in self.verdicts)

    @property
    def swarms(self) -> int:
        """Number of swarms simulated."""
        return sum(len(found.means) for found in self.results.measured.values())

    @property
    def cpu(self) -> float:
        """CPU time of all swarms [s]."""
        return sum(found.cpu * len(found.means) for found in self.results.measured.values())

    def table(self) -> list[Cell]:
        """Return Table IV cell by cell; empty if it was not simulated."""
        cases = table4_cases()
        return cells(self.results, cases) if self.results.has(cases) else []


def today() -> str:
    """Return the day in UTC, ISO 8601."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def made_by(date: str) -> dict[str, Any]:
    """Return what makes a report on a day."""
    machine = f"{platform.system()} {platform.machine()}"
    return {"version": btflow.__version__, "date": date, "python": platform.python_version(), "machine": machine}


def provenance(report: Report) -> dict[str, Any]:
    """Return what was run, by what, and when."""
    return {
        "model": MODEL,
        **made_by(report.date),
        "replicas_of_a_table_iv_cell": report.plan.replicas,
        "parameters_changed_from_the_paper": dict(report.plan.swarm),
        "swarms": report.swarms,
        "cpu_s": round(report.cpu, 1),
    }


def as_json(report: Report) -> dict[str, Any]:
    """Return the whole report as JSON content, times in seconds."""
    return {
        "provenance": provenance(report),
        "claims": [_claim(verdict) for verdict in report.verdicts],
        "table4": [cell.numbers() for cell in report.table()],
        "assumptions": assumptions.as_json(report.results),
        "cases": [_case(case, report.results) for case in sorted(report.results.measured)],
    }


def _claim(verdict: Verdict) -> dict[str, Any]:
    claim, finding = verdict.claim, verdict.finding
    return {
        **vars(claim),
        "verdict": verdict.text,
        "published": finding.paper,
        "ours": finding.ours,
        "conditions": [vars(condition) for condition in finding.conditions],
        "details": list(finding.details),
        "numbers": finding.numbers,
    }


def _case(case: Case, results: Results) -> dict[str, Any]:
    found = results[case]
    return {
        "case": case.label,
        "parameters": dict(case.settings()),
        "seed": case.seed,
        "replicas": len(found.means),
        "completion_s": vars(results.spread(case)),
        "replica_means_s": found.means,
        "seed_copies": found.seed_copies,
        "seed_unchokes": found.seed_unchokes,
        "seed_unchokes_ended_idle": found.seed_idle,
        "leecher_unchokes_ended_idle": found.leecher_idle,
        "cpu_s_per_swarm": found.cpu,
    }


def write_json(report: Report, path: Path) -> None:
    """Write report.json."""
    with replacing(path) as partial:
        partial.write_text(json.dumps(as_json(report), indent=1, allow_nan=False) + "\n", encoding="utf-8")


def write_summary(report: Report, path: Path) -> None:
    """Write summary.md: claim, verdict, the paper's figure, ours; cell by cell behind it; and the verdicts as data."""
    summary(report).write(path)
    Part.of(COMMAND, report.verdicts, report.date).write(path)


def summary(report: Report) -> markdown.Report:
    """Return summary.md."""
    run = provenance(report)
    lines = [
        f"btflow {run['version']}, {run['date']}, {run['replicas_of_a_table_iv_cell']} replicas of a cell of Table IV, "
        f"{run['swarms']} swarms, {run['cpu_s']:.0f} s of CPU time. Written by `{COMMAND}`; do not edit.",
        "",
        f"Source: {'; '.join(dict.fromkeys(verdict.claim.paper for verdict in report.verdicts))}.",
        "",
        *markdown.claims(report.verdicts),
        "",
        "## Constants without a source for this experiment",
        "",
        *markdown.constants(assumptions.assumptions()),
    ]
    compared = assumptions.rows_by_start(report.results)
    if compared:
        lines += ["", *markdown.table(*compared)]
    return markdown.Report(TITLE, QUESTION, [markdown.counted(report.verdicts)], lines, _cells(report.table()))


def behind(report: Report) -> Iterator[str]:
    """Give what only the page has: claims in detail, Table IV by how leechers start, all cases with their seeds."""
    run = provenance(report)
    if changed := run["parameters_changed_from_the_paper"]:
        yield from (f"**Not the paper's swarm: {changed}**", "")
    yield from (f"Python {run['python']}, {run['machine']}. No constant is fitted to these figures.", "")
    yield from ("## Claims in detail", "", *markdown.in_detail(report.verdicts))
    if starts := assumptions.by_start(report.results):
        rows = ((cells[0].case.label, *map(_seconds, cells)) for cells in zip(*starts.values(), strict=True))
        yield from ("## Table IV without TSO, leechers start", "", *markdown.table(("cell", *starts), rows), "")
    header = ("case", "seed", "replicas", "mean completion [s]", "CPU per swarm [s]")
    cases = (
        (case.label, str(case.seed), str(len(found.means)), report.results.spread(case).text(), f"{found.cpu:.2f}")
        for case, found in sorted(report.results.measured.items())
    )
    yield from ("## Cases", "", *markdown.table(header, cases))


def _seconds(cell: Cell) -> str:
    return f"{cell.ours.mean:.0f} ± {cell.ours.se:.0f} s, {100 * cell.error:+.1f}%, {cell.ours.replicas} replicas"


def _cells(table: Sequence[Cell]) -> list[str]:
    if not table:
        return []
    rows = ((c.case.label, f"{c.paper:.0f}", c.ours.text(), f"{100 * c.error:+.1f}%") for c in table)
    of = replicas_text(cell.ours for cell in table)
    header = ("Table IV, cell", "paper [s]", f"btflow [s], {of}: mean ± standard error (least to greatest)", "error")
    return ["## Table IV, cell by cell", "", *markdown.table(header, rows)]
