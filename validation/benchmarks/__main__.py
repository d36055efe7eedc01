"""``python -m validation.benchmarks``: everything `btflow bench` measures, SimGrid and ns-3; writes benchmarks.md."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from btflow.benchmarks.command import Step, show, steps
from btflow.benchmarks.machine import machine
from btflow.benchmarks.table import Section, as_markdown

from validation.command import application, run_app
from validation.markdown import Report
from validation.report import today

SUMMARY = Path(__file__).parent.parent / "benchmarks.md"
QUESTION = "What does a swarm, a sweep or a link cost, and is that as little as was to be reached?"

app = application()


@app.command()
def bench(
    scale: Annotated[bool, typer.Option(help="Run what takes minutes, up to 100,000 peers, too.")] = True,
    cold: Annotated[bool, typer.Option(help="Time a first run, which compiles the kernels, too.")] = True,
    out: Annotated[Path, typer.Option(metavar="FILE.md", help="The report.")] = SUMMARY,
) -> None:
    """Measure btflow and compare it with SimGrid and ns-3; print everything and write the report."""
    found_at = machine()
    sections = show([*steps(cold=cold, large=scale), *comparisons()])
    page(sections, found_at).write(out)
    typer.echo(f"report: {out}", err=True)


def comparisons() -> Iterator[Step]:
    """Yield what is compared with other simulators."""
    from validation.benchmarks import packets, simgrid

    yield simgrid.simgrid
    yield packets.same_swarm
    yield packets.same_link
    yield packets.same_bytes


def page(sections: Sequence[Section], found_at: Sequence[str]) -> Report:
    """Return the report of sections made on a machine; the last one, of the figures to reach, is the verdict."""
    *behind, goals = sections
    came_out = [row[-1] for row in goals.rows[1:]]
    verdict = f"{came_out.count('reached')} of {len(came_out)} figures are reached."
    written = (
        f"Written by `make bench` on {today()}. What is said to be recorded was measured earlier, all else in this run."
    )
    lines = [as_markdown(goals), written, *found_at]
    return Report(
        "What btflow costs",
        QUESTION,
        [verdict],
        ["\n\n".join(lines)],
        ["\n\n".join(map(as_markdown, behind))] if behind else [],
    )


if __name__ == "__main__":
    sys.exit(run_app(app, "validation.benchmarks"))
