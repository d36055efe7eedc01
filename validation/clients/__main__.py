"""``python -m validation.clients``: predict, measure and report swarms of real clients."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Annotated

import typer

from validation.clients import cells as cells_module
from validation.command import application, run_app

app = application(no_args_is_help=True)

RUNS = 3
Cells = Annotated[str, typer.Option(metavar="A,B", help="Cells; all by default.")]


@app.command()
def models() -> None:
    """Write the cells as model files."""
    from validation.clients import scenario

    scenario.write(cells_module.load().values())


@app.command()
def predict(
    cells: Cells = "",
    again: Annotated[bool, typer.Option("--again", help="Beside those of cells that are measured.")] = False,
    because: Annotated[str, typer.Option(help="What was changed since, and why; with --again.")] = "",
    replicas: Annotated[int, typer.Option(min=2, max=1000, help="Swarms of each.")] = 16,
) -> None:
    """Simulate the cells and write down what comes out; never over the prediction of a cell that is measured."""
    from validation.clients import predictions, tables

    known = predictions.read()
    commit = predictions.commit()
    wanted = cells_module.chosen(cells, cells_module.load())
    if not cells and not again:
        wanted = [cell for cell in wanted if not tables.read(cell)]
    numbers = [predictions.next_generation(cell, known, again, because, tables.TABLES) for cell in wanted]
    for cell, generation, runs in zip(wanted, numbers, predictions.simulate_all(wanted, replicas), strict=True):
        known = [one for one in known if (one.cell, one.generation) != (cell.name, generation)]
        known += predictions.summarised(cell, generation, because if generation > 1 else "", runs, commit)
        predictions.write(known)
        name = "goodput" if cell.bulk else "mean"
        value = next(
            one.value for one in known if (one.cell, one.generation, one.figure) == (cell.name, generation, name)
        )
        typer.echo(f"{cell.name}: {name} {value:.1f}")


@app.command()
def measure(
    cells: Cells = "",
    runs: Annotated[int, typer.Option(min=1, max=50, help="Runs of each cell.")] = RUNS,
    bed: Annotated[int, typer.Option(min=0, max=31, help="Runs with different numbers may be beside each other.")] = 0,
    starved_ok: Annotated[
        bool,
        typer.Option(
            "--starved-ok", help="Go on where the machine did not keep up, to look for faults; freezes nothing."
        ),
    ] = False,
) -> None:
    """Measure what is missing of the cells and freeze it; needs root."""
    from validation.clients import measuring

    _raise_on_signals()
    measuring.measure(_wanted(cells), runs, bed, starved_ok)


@app.command()
def check(cells: Cells = "") -> None:
    """Say whether this machine can measure the cells, and set up what they need."""
    from validation.clients import programs

    wanted = _wanted(cells)
    programs.check(wanted)
    for name in sorted(programs.needed(wanted)[1]):
        programs.environment(name)


@app.command()
def report() -> None:
    """Write validation/clients.md and mainline.md from the frozen tables; needs no root."""
    from validation.clients import mainline, predictions, report as page

    found, known = page.compare(cells_module.load().values()), predictions.read()
    page.write([one for one in found if one.cell.links], known)
    mainline.write(found, known, time.strftime("%Y-%m-%d"))
    typer.echo(f"report: {os.path.relpath(page.REPORT)}, {os.path.relpath(mainline.REPORT)}")


def _wanted(names: str) -> list[cells_module.Cell]:
    """Return the cells of a list; for an empty one all that can still be measured."""
    found = cells_module.chosen(names, cells_module.load())
    return found if names.strip() else [cell for cell in found if cell.links]


def _raise_on_signals() -> None:
    """Let a signal that would end the process take the way of Ctrl-C, which cleans up."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)


if __name__ == "__main__":
    sys.exit(run_app(app, "validation.clients", "interrupted; nothing is left behind, and what is measured is kept"))
