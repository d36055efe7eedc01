"""``python -m validation.benchmarks``: everything `btflow bench` measures, SimGrid and ns-3; writes benchmarks.md."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from btflow.benchmarks.command import Step, show, steps
from btflow.benchmarks.machine import machine
from btflow.benchmarks.table import Section, as_markdown

from btflow.files import replacing
from validation.command import run_app

SUMMARY = Path(__file__).parent.parent / "benchmarks.md"

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
def bench(
    scale: Annotated[bool, typer.Option(help="Run what takes minutes, up to 100,000 peers, too.")] = True,
    cold: Annotated[bool, typer.Option(help="Time a first run, which compiles the kernels, too.")] = True,
    out: Annotated[Path, typer.Option(metavar="FILE.md", help="The report.")] = SUMMARY,
) -> None:
    """Measure btflow and compare it with SimGrid and ns-3; print everything and write the report."""
    found_at = machine()
    sections = show([*steps(cold=cold, large=scale), *comparisons()])
    with replacing(out) as partial:
        partial.write_text(page(sections, found_at), encoding="utf-8")
    typer.echo(f"report: {out}", err=True)


def comparisons() -> Iterator[Step]:
    """Yield what is compared with other simulators."""
    from validation.benchmarks import packets, simgrid

    yield simgrid.simgrid
    yield packets.same_swarm
    yield packets.same_link
    yield packets.same_bytes


def page(sections: Sequence[Section], found_at: Sequence[str]) -> str:
    """Return the report of sections made on a machine; the last one, of the figures to reach, comes first."""
    today = datetime.now(UTC).date().isoformat()
    written = (
        f"Written by `make bench` on {today}. What is said to be recorded was measured earlier, all else in this run."
    )
    head = ["# What btflow costs", written, *found_at]
    return "\n\n".join([*head, as_markdown(sections[-1]), *map(as_markdown, sections[:-1])]) + "\n"


if __name__ == "__main__":
    sys.exit(run_app(app, "validation.benchmarks"))
