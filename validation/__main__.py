"""``python -m validation``: run what the claims need, judge each, write the report."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from btflow.errors import InputError
from validation.command import run_app

OUT = Path(__file__).parent / "report"
KEPT = 8
"""Least replicas of a cell of Table IV for which the summary in the repository is written."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
def validate(
    replicas: Annotated[int, typer.Option(min=1, max=1000, help="Replicas of a cell of Table IV.")] = KEPT,
    only: Annotated[str, typer.Option(metavar="R01,R02", help="Claims to check; all by default.")] = "",
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the report.")] = OUT,
    jobs: Annotated[int, typer.Option(min=1, help="Swarms at once.")] = min(2, os.cpu_count() or 1),
    fresh: Annotated[bool, typer.Option("--fresh", help="Run all again, even what an earlier call has run.")] = False,
) -> None:
    """Check the published claims by running their swarms; exit 1 if one is not reproduced.

    Writes report.html and report.json; all claims with 8 replicas or more also renew validation/summary.md.
    """
    from validation import pipeline, report
    from validation.claims import CHECKS
    from validation.experiments import Plan

    wanted = [name.strip() for name in only.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in CHECKS] if wanted or not only else [only]
    if unknown:
        raise InputError("--only", unknown[0], "is not a claim that is checked", ", ".join(CHECKS))
    ids = [name for name in CHECKS if not wanted or name in wanted]
    found = pipeline.make(Plan(replicas), ids, out, jobs, fresh)
    for verdict in found.verdicts:
        typer.echo(f"{verdict.claim.id}  {verdict.text:<15} {verdict.finding.ours}")
    if len(ids) == len(CHECKS) and replicas >= KEPT:
        report.write_summary(found, report.SUMMARY)
    typer.echo(f"report: {out / 'report.html'}")
    raise typer.Exit(0 if found.reproduced else 1)


if __name__ == "__main__":
    sys.exit(run_app(app, "validation", "interrupted; what has been run is kept, and the next call goes on from there"))
