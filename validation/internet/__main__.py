"""``python -m validation.internet``: swarms on paths of the Internet against RTT 0, their summary and figures."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from validation.command import run_app

OUT = Path(__file__).parent.parent / "report"
SWARMS, NEAR = 96, 16
"""Swarms of each upload limit on the Internet, with and without loss, and at RTT 0: 20 minutes of CPU time."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
def validate(
    swarms: Annotated[int, typer.Option(min=3, max=1000, help="Swarms of each limit with and without loss.")] = SWARMS,
    near: Annotated[int, typer.Option(min=2, max=1000, help="Swarms of each limit at RTT 0.")] = NEAR,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the report.")] = OUT,
    image: Annotated[str | None, typer.Option(metavar="FILE.png", help="Draw the swarms there; needs Kaleido.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Swarms at once.")] = min(2, os.cpu_count() or 1),
    fresh: Annotated[bool, typer.Option("--fresh", help="Run all again, even what an earlier call has run.")] = False,
) -> None:
    """Find which share of swarms, and of peers, on paths of the Internet is less than 15% slower than at RTT 0.

    Writes internet.html; with the default numbers or more also validation/internet.md. Takes 20 minutes of CPU time.
    """
    from btflow.files import check_drawable
    from btflow.options import output_file

    picture = None if image is None else output_file("--image", image, ".png")
    check_drawable("--image", picture)

    from btflow.plots import save
    from validation.internet import figures, report
    from validation.internet.measured import measured
    from validation.internet.shares import Results
    from validation.internet.swarms import wanted
    from validation.sweeps import Sweeps

    found = dict(measured(wanted(swarms, near, {}), Sweeps(out, "internet", jobs, fresh)))
    made = report.make(Results(found))
    drawn = figures.figures(made.results)
    report.write_page(made, drawn, out / "internet.html")
    if swarms >= SWARMS and near >= NEAR:
        report.write_summary(made, report.SUMMARY)
    if picture is not None:
        save(drawn["internet-swarms"][0], picture)
    for line in report.answer(made):
        typer.echo(line)
    typer.echo(f"report: {out / 'internet.html'}")


if __name__ == "__main__":
    sys.exit(
        run_app(
            app, "validation.internet", "interrupted; what has been run is kept, and the next call goes on from there"
        )
    )
