"""``python -m validation.fidelity.links``: swarms behind access links at flow fidelity against full, and their page."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from validation.command import GOES_ON, JOBS, OUT, Fresh, Jobs, Out, application, chosen, run_app
from validation.fidelity.links.swarms import MORE

PAGE = "fidelity_links.md"
"""File in the report's folder, whatever was run."""

app = application()


@app.command()
def validate(
    part: Annotated[
        str, typer.Option(metavar="A,B", help="flashcrowd, testa2011, testa2012, ablations, search, packets, claims.")
    ] = "",
    seeds: Annotated[int, typer.Option(min=2, max=MORE, help="Most seeds of a setting; the grid has 4.")] = MORE,
    quick: Annotated[bool, typer.Option("--quick", help="Every seventh setting with two seeds, no claims.")] = False,
    out: Out = OUT,
    jobs: Jobs = JOBS,
    fresh: Fresh = False,
) -> None:
    """Compare flow fidelity with full behind access links: grid, papers' swarms, search for the worst, ns-3, claims.

    Writes fidelity_links.md; with all parts and seeds also validation/fidelity_links.md. Takes an hour of CPU time.
    """
    from validation.fidelity.links import report
    from validation.fidelity.links.parts import PARTS, QUICK, Plan
    from validation.sweeps import Sweeps

    wanted = chosen("--part", part, PARTS, "a part")
    if quick and not part:
        wanted.remove("claims")
    plan = Plan(Sweeps(out, "fidelity-links", jobs, fresh), 2 if quick else seeds, QUICK if quick else 1)
    sections = {}
    for name in wanted:
        sections[name] = PARTS[name](plan)
        for line in [sections[name].title, *sections[name].answer]:
            typer.echo(line)
    if plan.found:
        sections = {"all": report.pooled(plan.found), **sections}
    whole = len(wanted) == len(PARTS) and plan.seeds >= MORE and plan.every == 1
    for path in (out / PAGE, report.SUMMARY) if whole else (out / PAGE,):
        report.write(sections, path, "" if whole else _less(plan.every, plan.seeds, wanted))
        typer.echo(f"report: {path}")


def _less(every: int, seeds: int, parts: list[str]) -> str:
    """Return the sentence that says what of the page was run."""
    settings = "Every setting" if every == 1 else f"Every {every}th setting"
    return f"**Not the whole page.** {settings}, at most {seeds} seeds of each; parts: {', '.join(parts)}."


if __name__ == "__main__":
    sys.exit(run_app(app, "validation.fidelity.links", GOES_ON))
