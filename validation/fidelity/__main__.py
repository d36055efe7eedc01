"""``python -m validation.fidelity``: swarms at flow fidelity against the same at full, and their summary."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from validation.command import GOES_ON, JOBS, OUT, Fresh, Jobs, Out, application, chosen, run_app
from validation.fidelity.swarms import SEEDS

app = application()


@app.command()
def validate(
    part: Annotated[str, typer.Option(metavar="A,B", help="cells, kinds, search, claims; all by default.")] = "",
    seeds: Annotated[int, typer.Option(min=2, max=100, help="Seeds of a cell; dear swarms get fewer.")] = SEEDS,
    out: Out = OUT,
    jobs: Jobs = JOBS,
    fresh: Fresh = False,
) -> None:
    """Compare flow fidelity with full: 24 cells, other kinds of swarms, a search for the worst, the claims.

    Writes validation/fidelity.md with all parts and the default number of seeds. Takes 15 minutes of CPU time.
    """
    from validation.fidelity import report
    from validation.fidelity.parts import PARTS, Plan
    from validation.sweeps import Sweeps

    names = chosen("--part", part, PARTS, "a part")
    plan = Plan(Sweeps(out, "fidelity", jobs, fresh), seeds)
    sections = {name: PARTS[name](plan) for name in names}
    for line in [line for section in sections.values() for line in section.answer]:
        typer.echo(line)
    if len(sections) == len(PARTS) and seeds >= SEEDS:
        report.write_summary(sections, report.SUMMARY)
        typer.echo(f"report: {report.SUMMARY}")


if __name__ == "__main__":
    sys.exit(run_app(app, "validation.fidelity", GOES_ON))
