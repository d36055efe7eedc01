"""``python -m validation.simgrid``: build SimGrid and our swarm on it, run every case, renew the record."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from validation.command import application, run_app
from validation.packet_level.toolchain import ToolchainError
from validation.simgrid import runs, toolchain

app = application()


@app.command()
def measure(
    jobs: Annotated[int, typer.Option(min=1, help="Compilers at a time.")] = 1,
    record: Annotated[bool, typer.Option(help="Renew recorded.csv.")] = True,
) -> None:
    """Build what is missing, which takes a quarter of an hour the first time, and measure SimGrid."""
    try:
        toolchain.build(jobs)
        found = []
        for case in runs.CASES:
            for variant in runs.variants(case):
                found.append(runs.measure(case, variant))
                typer.echo(f"{case.leechers} leechers, {case.megabytes} MB, {variant}: {found[-1].cpu_s:.3g} CPU s")
    except ToolchainError as error:
        typer.echo(f"validation.simgrid: error: {error}", err=True)
        raise typer.Exit(1) from None
    if record:
        runs.record(found)


if __name__ == "__main__":
    sys.exit(run_app(app, "validation.simgrid"))
