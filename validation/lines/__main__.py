"""``python -m validation.lines``: measure lines made in namespaces, and report what btflow fits to the files."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Literal

import typer

from validation.command import application, run_app

app = application(no_args_is_help=True)


@app.command()
def measure(
    sessions: Annotated[str, typer.Option(metavar="A,B", help="Such as packets-up; all by default.")] = "",
    seed: Annotated[Literal["chosen", "development", "review", "judgement", "last"], typer.Option()] = "chosen",
    bed: Annotated[int, typer.Option(min=0, max=7, help="Runs with different numbers may be beside each other.")] = 0,
) -> None:
    """Make the lines and measure them again, over the files that are there; needs root and minutes."""
    from validation.lines import measuring

    measuring.measure([name for name in sessions.split(",") if name], bed, seed)


@app.command()
def report(seed: Annotated[Literal["development", "review", "judgement", "last"], typer.Option()] = "last") -> None:
    """Write validation/lines.md: what was set beside what is fitted; needs no root."""
    from validation.lines import report as page

    page.write(seed)
    typer.echo(f"report: {os.path.relpath(page.REPORT)}")


@app.command()
def figure() -> None:
    """Draw measured over simulated for docs/my-line.md; needs Chromium."""
    from validation.lines import report as page

    page.draw()
    typer.echo(f"figure: {os.path.relpath(page.FIGURE)}")


if __name__ == "__main__":
    sys.exit(run_app(app, "validation.lines", "interrupted; nothing is left behind"))
