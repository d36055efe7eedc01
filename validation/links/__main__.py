"""``python -m validation.links``: run what the frozen tables and two small papers need, judge it, write the report."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from validation.command import OUT, Out, application, chosen, run_app
from validation.packet_level.tables import RELEASE

app = application()


@app.command()
def validate(
    only: Annotated[str, typer.Option(metavar="P01,G02", help="What to check; all by default.")] = "",
    seeds: Annotated[
        int | None, typer.Option(min=2, max=1000, help="Our runs of a cell; by default as many as ns-3's.")
    ] = None,
    ns3: Annotated[str, typer.Option(metavar="VERSION", help="Of ns-3: whose tables to compare with.")] = RELEASE,
    out: Out = OUT,
) -> None:
    """Check link experiments against the frozen packet-level tables and two papers; exit 1 if a figure is not reached.

    Writes links.html; all of it with the newest tables and their seeds also renews validation/links.md.
    """
    from validation import page
    from validation.links import coexistence, figures, frozen, report

    frozen.use(ns3)
    judges = report.judges()
    ids = chosen("--only", only, judges, "a claim that is checked")
    start, entries = time.process_time(), []
    for name in ids:
        entries.append(report.entry(name, seeds))
        verdict = entries[-1].verdict
        typer.echo(f"{name}  {report.word(verdict)}\n     {verdict.finding.ours}")
    runs = max(seeds or 0, coexistence.RUNS)
    found = report.Report(entries, runs, report.today(), time.process_time() - start)
    out.mkdir(parents=True, exist_ok=True)
    page.write(report.summary(found), figures.drawn(found), out / "links.html", report.behind(found))
    if len(ids) == len(judges) and seeds is None and ns3 == RELEASE:
        report.write_summary(found, report.SUMMARY)
    typer.echo(f"report: {out / 'links.html'}")
    raise typer.Exit(0 if found.reached else 1)


if __name__ == "__main__":
    sys.exit(run_app(app, "validation.links"))
