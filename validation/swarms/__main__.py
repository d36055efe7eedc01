"""``python -m validation.swarms``: run the swarms of two papers on uTP and TCP, judge them, write the report."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from validation.command import GOES_ON, JOBS, OUT, Fresh, Jobs, Out, application, chosen, run_app
from validation.swarms.experiments import RUNS

app = application()


@app.command()
def validate(
    only: Annotated[str, typer.Option(metavar="T01,D03", help="Claims to check; all by default.")] = "",
    runs: Annotated[int, typer.Option(min=2, max=1000, help="Runs of a setting; some have two or three times.")] = RUNS,
    out: Out = OUT,
    jobs: Jobs = JOBS,
    fresh: Fresh = False,
) -> None:
    """Check what two papers say of uTP and TCP on congested uplinks; exit 1 if a claim is not reproduced.

    Writes swarms.html; all claims with the default runs or more also renew validation/swarms.md. Takes 20 minutes.
    """
    from validation import page
    from validation.swarms import figures, report
    from validation.swarms.experiments import Plan
    from validation.swarms.measured import Results
    from validation.sweeps import Sweeps
    from validation.verdict import Verdict

    ids = chosen("--only", only, report.JUDGES, "a claim that is checked")

    def say(verdict: Verdict) -> None:
        typer.echo(f"{verdict.claim.id}  {verdict.text}\n     {verdict.finding.ours}")

    found = report.make(ids, Results(Plan(runs), Sweeps(out, "swarms", jobs, fresh)), say)
    for taken in found.taken:
        typer.echo(f"     {taken.words}")
    out.mkdir(parents=True, exist_ok=True)
    page.write(report.summary(found), figures.drawn(found), out / "swarms.html", report.behind(found))
    if len(ids) == len(report.JUDGES) and runs >= RUNS:
        report.write_summary(found, report.SUMMARY)
    typer.echo(f"report: {out / 'swarms.html'}")
    raise typer.Exit(0 if found.reproduced else 1)


if __name__ == "__main__":
    sys.exit(run_app(app, "validation.swarms", GOES_ON))
