"""``python -m validation.readme_figure``: renders the README's figure; needs `pip install -e '.[image]'` and Chromium.

Beside the image goes a table of what it shows, so that it can be told whether the image is still what would be drawn.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from btflow.errors import InputError
from validation.command import application, run_app

if TYPE_CHECKING:
    from validation.verdict import Results

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "rao2010-rtt.svg"
app = application()


@app.command()
def render(
    replicas: Annotated[int, typer.Option(min=1, max=1000, help="Replicas of a cell of Table IV.")] = 8,
    out: Annotated[Path, typer.Option(metavar="FILE.svg", help="The image.")] = FIGURE,
    folder: Annotated[Path | None, typer.Option("--from", metavar="DIR", help="Report with what was run.")] = None,
) -> None:
    """Draw completion against RTT with the paper's points, from what `python -m validation` has run or runs now."""
    from btflow import plots
    from btflow.files import replacing
    from validation import claims, figures, pipeline
    from validation.command import OUT
    from validation.experiments import Plan
    from validation.sweeps import Sweeps

    if out.suffix != ".svg":
        raise InputError("--out", str(out), "has the wrong ending", "a file ending in .svg")
    everything = claims.needed(Plan(replicas), claims.CHECKS)  # some cells are run more often for other claims
    need = {case: everything[case] for case in claims.needed(Plan(replicas), ["R03"])}
    results = pipeline.simulated(need, Plan(replicas), Sweeps(folder or OUT, pipeline.SWEEPS, os.cpu_count() or 1))
    plots.save(figures.rtt_sweep(results), out)
    with replacing(out.with_suffix(".csv")) as partial:
        partial.write_text(table(results), encoding="utf-8")
    typer.echo(f"figure: {out}")


def table(results: Results) -> str:
    """Return what the figure shows, as CSV: the mean completion time of each swarm."""
    from validation.experiments import sweep

    rows = [
        f"{case.limit},{case.rtt},{replica},{time:.6f}"
        for case in sweep()
        for replica, time in enumerate(results.times(case))
    ]
    return "\n".join(["upload_limit [kB/s],rtt [ms],replica,completion_mean [s]", *rows]) + "\n"


if __name__ == "__main__":
    sys.exit(run_app(app, "readme_figure"))
