"""``python -m validation.swarms``: run the swarms of two papers on uTP and TCP, judge them, write the report."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from btflow.errors import InputError
from validation.command import run_app
from validation.swarms.experiments import RUNS

OUT = Path(__file__).parent.parent / "report"

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
def validate(
    only: Annotated[str, typer.Option(metavar="T01,D03", help="Claims to check; all by default.")] = "",
    runs: Annotated[int, typer.Option(min=2, max=1000, help="Runs of a setting; some have two or three times.")] = RUNS,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the report.")] = OUT,
    jobs: Annotated[int, typer.Option(min=1, help="Swarms at once.")] = min(2, os.cpu_count() or 1),
    fresh: Annotated[bool, typer.Option("--fresh", help="Run all again, even what an earlier call has run.")] = False,
) -> None:
    """Check what two papers say of uTP and TCP on congested uplinks; exit 1 if a claim is not reproduced.

    Writes swarms.html; all claims with the default runs or more also renew validation/swarms.md. Takes 20 minutes.
    """
    from validation.swarms import figures, page, report
    from validation.swarms.experiments import Plan
    from validation.swarms.measured import Results
    from validation.sweeps import Sweeps
    from validation.verdict import Verdict

    wanted = [name.strip() for name in only.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in report.JUDGES] if wanted or not only else [only]
    if unknown:
        raise InputError("--only", unknown[0], "is not a claim that is checked", ", ".join(report.JUDGES))
    ids = [name for name in report.JUDGES if not wanted or name in wanted]

    def say(verdict: Verdict) -> None:
        typer.echo(f"{verdict.claim.id}  {verdict.text}\n     {verdict.finding.ours}")

    found = report.make(ids, Results(Plan(runs), Sweeps(out, "swarms", jobs, fresh)), say)
    for taken in found.taken:
        typer.echo(f"     {taken.words}")
    out.mkdir(parents=True, exist_ok=True)
    page.write_page(found, figures.drawn(found), out / "swarms.html")
    if len(ids) == len(report.JUDGES) and runs >= RUNS:
        report.write_summary(found, report.SUMMARY)
    typer.echo(f"report: {out / 'swarms.html'}")
    raise typer.Exit(0 if found.reproduced else 1)


if __name__ == "__main__":
    sys.exit(
        run_app(
            app, "validation.swarms", "interrupted; what has been run is kept, and the next call goes on from there"
        )
    )
