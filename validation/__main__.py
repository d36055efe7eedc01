"""``python -m validation``: run what the claims need, judge each, write the report."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from validation.command import GOES_ON, JOBS, OUT, Fresh, Jobs, Out, application, chosen, run_app

KEPT = 8
"""Least replicas of a cell of Table IV for which the summary in the repository is written."""

app = application()


@app.command()
def validate(
    replicas: Annotated[int, typer.Option(min=1, max=1000, help="Replicas of a cell of Table IV.")] = KEPT,
    only: Annotated[str, typer.Option(metavar="R01,R02", help="Claims to check; all by default.")] = "",
    out: Out = OUT,
    jobs: Jobs = JOBS,
    fresh: Fresh = False,
) -> None:
    """Check the published claims by running their swarms; exit 1 if one is not reproduced.

    Writes report.html and report.json; all claims with 8 replicas or more also renew validation/summary.md.
    """
    from validation import pipeline, report
    from validation.claims import CHECKS
    from validation.experiments import Plan

    ids = chosen("--only", only, CHECKS, "a claim that is checked")
    found = pipeline.make(Plan(replicas), ids, out, jobs, fresh)
    for verdict in found.verdicts:
        typer.echo(f"{verdict.claim.id}  {verdict.text:<15} {verdict.finding.ours}")
    if len(ids) == len(CHECKS) and replicas >= KEPT:
        report.write_summary(found, report.SUMMARY)
    typer.echo(f"report: {out / 'report.html'}")
    raise typer.Exit(0 if found.reproduced else 1)


if __name__ == "__main__":
    sys.exit(run_app(app, "validation", GOES_ON))
