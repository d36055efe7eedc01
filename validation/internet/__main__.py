"""``python -m validation.internet``: swarms on paths of the Internet against RTT 0, their summary and figures."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from validation.command import GOES_ON, JOBS, OUT, Fresh, Jobs, Out, application, run_app

SWARMS, NEAR = 96, 16
"""Swarms of each upload limit on the Internet, with and without loss, and at RTT 0: 20 minutes of CPU time."""

app = application()


@app.command()
def validate(
    swarms: Annotated[int, typer.Option(min=3, max=1000, help="Swarms of each limit with and without loss.")] = SWARMS,
    near: Annotated[int, typer.Option(min=2, max=1000, help="Swarms of each limit at RTT 0.")] = NEAR,
    out: Out = OUT,
    image: Annotated[str | None, typer.Option(metavar="FILE.png", help="Draw the swarms there; needs Kaleido.")] = None,
    jobs: Jobs = JOBS,
    fresh: Fresh = False,
) -> None:
    """Find which share of swarms, and of peers, on paths of the Internet is less than 15% slower than at RTT 0.

    Writes internet.html; with the default numbers or more also validation/internet.md. Takes 20 minutes of CPU time.
    """
    from btflow.files import check_drawable
    from btflow.options import output_file

    picture = None if image is None else output_file("--image", image, ".png")
    check_drawable("--image", picture)

    from btflow.plots import save
    from validation import page
    from validation.internet import figures, report
    from validation.internet.measured import measured
    from validation.internet.shares import Results
    from validation.internet.swarms import wanted
    from validation.sweeps import Sweeps

    found = dict(measured(wanted(swarms, near, {}), Sweeps(out, "internet", jobs, fresh)))
    made = report.make(Results(found))
    drawn = figures.figures(made.results)
    page.write(report.summary(made), drawn, out / "internet.html")
    if swarms >= SWARMS and near >= NEAR:
        report.write_summary(made, report.SUMMARY)
    if picture is not None:
        save(drawn["internet-swarms"][0], picture)
    for line in report.answer(made):
        typer.echo(line)
    typer.echo(f"report: {out / 'internet.html'}")


if __name__ == "__main__":
    sys.exit(run_app(app, "validation.internet", GOES_ON))
