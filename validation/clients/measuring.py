"""Measures the runs that are missing, one after the other; others may do the same beside it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

import typer

from btflow.errors import SimulationError
from validation.clients import predictions, programs, tables
from validation.clients.cells import Cell
from validation.clients.figures import measured
from validation.clients.network import Bed, claimed
from validation.clients.runs import StarvedError, measure as run_once

ATTEMPTS = 3
"""How often a run is tried in which the machine did not keep up."""


def measure(cells: Sequence[Cell], runs: int, bed_number: int, starved_ok: bool = False) -> None:
    """Measure and freeze what is missing.

    Raises:
        SimulationError: Something is missing, or a cell has no prediction; or, once all others are measured, a program
            failed or the machine was starved.
    """
    missing = [cell for cell in cells if starved_ok or not all(_is_measured(cell, run) for run in range(1, runs + 1))]
    programs.check(missing)
    for name in sorted(programs.needed(missing)[1]):
        programs.environment(name)
    known = predictions.read()
    for cell in cells:
        if tables.changed(cell):
            raise SimulationError(f"{cell.name} was measured with other settings: give the new ones another name")
        if not starved_ok and not predictions.generations(cell, known):
            raise SimulationError(
                f"{cell.name} has no prediction of these settings: `python -m validation.clients predict` comes first"
            )
    if not missing:
        typer.echo("nothing to measure: all of these runs are in the tables")
        return
    bed, failed = Bed(bed_number), []
    with bed.locked():
        for run in range(1, runs + 1):
            for cell in cells:
                with claimed(f"{cell.name}-{run}") as free:
                    if not free or (not starved_ok and _is_measured(cell, run)):
                        continue
                    try:
                        _measure_run(cell, run, bed, starved_ok)
                    except SimulationError as error:
                        failed.append(f"{cell.name}, run {run}: {error}")
                        typer.echo(failed[-1], err=True)
    if failed:
        raise SimulationError(f"{len(failed)} runs are not measured, the first is {failed[0]}")


def _is_measured(cell: Cell, run: int) -> bool:
    return any(row.run == run for row in tables.read(cell))


def _measure_run(cell: Cell, run: int, bed: Bed, starved_ok: bool) -> None:
    for attempt in range(1, ATTEMPTS + 1):
        try:
            outcome = run_once(cell, run, bed, _progress, starved_ok=starved_ok)
            break
        except StarvedError as error:
            _progress("")
            if attempt == ATTEMPTS:
                raise
            typer.echo(f"{cell.name}, run {run}: refused, {error}; once more", err=True)
    _progress("")
    figures = measured(cell, outcome)
    if not starved_ok:
        with claimed(cell.name, wait=True):
            tables.freeze(cell, run, outcome)
    else:
        typer.echo(json.dumps(asdict(tables.row(cell, run, outcome)), indent=1))
    name = "goodput" if cell.bulk else "mean"
    typer.echo(
        f"{cell.name}, run {run}: {name} {figures[name]:.1f}, {outcome.load.idle_share:.0%} idle, "
        f"waited {outcome.load.worst_process[1]:.1%} at most" + (", not frozen" if starved_ok else "")
    )


def _progress(line: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{line:<78}" if line else f"\r{'':<78}\r")
        sys.stderr.flush()
