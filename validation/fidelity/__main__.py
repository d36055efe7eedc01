"""``python -m validation.fidelity``: swarms at flow fidelity against the same at full, and their summary."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from btflow.errors import InputError
from validation.command import run_app
from validation.fidelity.swarms import SEEDS

OUT = Path(__file__).parent.parent / "report"

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
def validate(
    part: Annotated[str, typer.Option(metavar="A,B", help="cells, kinds, search, claims; all by default.")] = "",
    seeds: Annotated[int, typer.Option(min=2, max=100, help="Seeds of a cell; dear swarms get fewer.")] = SEEDS,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder that keeps what has been run.")] = OUT,
    jobs: Annotated[int, typer.Option(min=1, help="Swarms at once.")] = min(2, os.cpu_count() or 1),
    fresh: Annotated[bool, typer.Option("--fresh", help="Run all again, even what an earlier call has run.")] = False,
) -> None:
    """Compare flow fidelity with full: 24 cells, other kinds of swarms, a search for the worst, the claims.

    Writes validation/fidelity.md with all parts and the default number of seeds. Takes 15 minutes of CPU time.
    """
    from validation.fidelity import report
    from validation.fidelity.parts import PARTS, Plan
    from validation.sweeps import Sweeps

    names = [name.strip() for name in part.split(",") if name.strip()] or list(PARTS)
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise InputError("--part", unknown[0], "is no part", ", ".join(PARTS))
    plan = Plan(Sweeps(out, "fidelity", jobs, fresh), seeds)
    sections = {name: PARTS[name](plan) for name in PARTS if name in names}
    for line in [line for section in sections.values() for line in section.answer]:
        typer.echo(line)
    if len(sections) == len(PARTS) and seeds >= SEEDS:
        report.write_summary(sections, report.SUMMARY)
        typer.echo(f"report: {report.SUMMARY}")


if __name__ == "__main__":
    sys.exit(
        run_app(
            app, "validation.fidelity", "interrupted; what has been run is kept, and the next call goes on from there"
        )
    )
