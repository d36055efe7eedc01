"""The figures to reach against the packet-level runs: what each compares, and how it is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from validation.links import frozen
from validation.links.experiments import Bottleneck
from validation.links.judge import Compared, Line, Quantity, kept, lines, median_error, worst
from validation.links.measured import RAMP_RTTS
from validation.verdict import Condition, Finding

GOODPUT = Quantity("goodput_bps", "goodput", "Mbit/s", share=0.25, scale=1e-6, digits=3)
MEDIAN_GOODPUT = 0.10
RAMP = tuple(
    Quantity(f"bytes_{rtts:g}rtt", f"after {int(rtts)} RTT", "kB", share=0.15, scale=1e-3) for rtts in RAMP_RTTS
)
QUEUE = (
    Quantity("queue_mean_packets", "mean queue", "packets", share=0.15, amount=3.0),
    Quantity("queue_p90_packets", "90th percentile", "packets", share=0.20, amount=5.0),
    Quantity("utilisation", "utilisation", "%", amount=3.0, scale=100.0),
)
NINE_TENTHS = 0.9
RAMP_RUNS = 100
"""Runs of a ramp: losses in the first round trips scatter widely, and a run costs next to nothing."""


def delays(name: str) -> tuple[Quantity, Quantity]:
    """Return what is compared of the delays of messages or voice packets."""
    return (
        Quantity(f"{name}_p50_ms", "median delay", "ms", share=0.15, amount=10.0, digits=0),
        Quantity(f"{name}_p95_ms", "95th percentile", "ms", share=0.25, digits=0),
    )


@dataclass(frozen=True)
class Found:
    """What is found for a figure, with the cells behind it."""

    finding: Finding
    """The finding."""
    lines: tuple[Line, ...] = ()
    """The cells with what was compared in each."""


@dataclass(frozen=True)
class Check:
    """How a figure is judged."""

    tables: tuple[str, ...]
    """The frozen tables it needs."""
    judge: Callable[[Sequence[frozen.Frozen], int | None], Found]
    """What makes it of their cells, and the number of our runs (None: as many as the packet-level seeds)."""

    def run(self, runs: int | None = None) -> Found:
        """Return what is found; a table that is missing, or incomplete, is a condition that does not hold."""
        cells = [cell for table in self.tables for cell in frozen.cells(table)]
        missing = [table for table in self.tables if not frozen.cells(table)]
        found = self.judge(cells, runs) if cells else Found(Finding("", "nothing to compare with", ()))
        lacking = tuple(Condition(f"{table}.csv: not there", False, f"{table}.csv") for table in missing)
        if not lacking:
            return found
        f = found.finding
        return Found(Finding(f.paper, f.ours, (*f.conditions, *lacking), f.details, f.numbers), found.lines)


def goodput(cells: Sequence[frozen.Frozen], runs: int | None) -> Found:
    """Judge the goodput under random loss."""
    found = lines(cells, [GOODPUT], runs)
    figures = _figures(found, GOODPUT)
    middle, most = median_error(figures), max(figures, key=lambda f: abs(f.relative))
    conditions = (
        Condition(f"median error {100 * middle:.1f}%, at most 10%", middle <= MEDIAN_GOODPUT, "median error"),
        Condition(
            f"worst cell {100 * most.relative:+.0f}% ({most.cell}), at most 25%", _all_held(figures), "worst cell"
        ),
    )
    ours = f"{len(figures)} cells: median error {100 * middle:.1f}%, worst {100 * most.relative:+.0f}% ({most.cell})"
    return Found(_finding(cells, ours, conditions, found), found)


def ramp(cells: Sequence[frozen.Frozen], runs: int | None) -> Found:
    """Judge the ramp-up."""
    found = lines(cells, RAMP, max(runs or 0, RAMP_RUNS))
    return Found(_finding(cells, _counts(found, RAMP), _every(found, RAMP), found), found)


def queues(cells: Sequence[frozen.Frozen], runs: int | None) -> Found:
    """Judge queue and utilisation."""
    found = lines(cells, QUEUE, runs)
    conditions = tuple(_nine_in_ten(f"{q.name} within {q.tolerance}", kept(_figures(found, q)), q.name) for q in QUEUE)
    together = sum(line.held for line in found) / len(found)
    conditions += (_nine_in_ten("all three", together, "all three together"),)
    return Found(_finding(cells, _counts(found, QUEUE), conditions, found), found)


def _nine_in_ten(text: str, share: float, part: str) -> Condition:
    return Condition(f"{text}: {100 * share:.0f}% of the cells, at least 90%", share >= NINE_TENTHS, part)


def shares(cells: Sequence[frozen.Frozen], runs: int | None) -> Found:
    """Judge the share of the first of two flows; the other has the rest."""
    found = tuple(line for cell in cells for line in lines([cell], [first_share(cell)], runs))
    figures = [figure for line in found for figure in line.figures]
    most = max(figures, key=lambda f: abs(f.error))
    text = f"{sum(f.held for f in figures)} of {len(figures)} shares within 0.08, worst {most.error:+.2f} ({most.cell})"
    return Found(_finding(cells, text, (Condition(text, _all_held(figures)),), found), found)


def first_share(cell: frozen.Frozen) -> Quantity:
    """Return the share of the first flow of a pair."""
    assert isinstance(cell.experiment, Bottleneck)
    name = cell.experiment.listed[0][0]
    return Quantity(f"share_{name}", f"share of {name}", "", amount=0.08, digits=2)


def messages(cells: Sequence[frozen.Frozen], runs: int | None) -> Found:
    """Judge the delay of small messages."""
    return _delays(cells, runs, "probe")


def calls(cells: Sequence[frozen.Frozen], runs: int | None) -> Found:
    """Judge the delay of voice packets."""
    return _delays(cells, runs, "voip")


def _delays(cells: Sequence[frozen.Frozen], runs: int | None, name: str) -> Found:
    quantities = delays(name)
    found = lines(cells, quantities, runs)
    return Found(_finding(cells, _counts(found, quantities), _every(found, quantities), found), found)


def _every(found: Sequence[Line], quantities: Iterable[Quantity]) -> tuple[Condition, ...]:
    """Return the condition, for each quantity, that every cell is within its tolerance."""
    conditions = []
    for q in quantities:
        figures = _figures(found, q)
        most = max(figures, key=lambda f: abs(f.strain))
        text = (
            f"{q.name} within {q.tolerance}: {sum(f.held for f in figures)} of {len(figures)} cells, "
            f"the one that strains it most {100 * most.relative:+.0f}% ({most.cell})"
        )
        conditions.append(Condition(text, _all_held(figures), q.name))
    return tuple(conditions)


def _counts(found: Sequence[Line], quantities: Iterable[Quantity]) -> str:
    parts = [f"{q.name} {sum(f.held for f in _figures(found, q))}" for q in quantities]
    return f"of {len(found)} cells within tolerance: {', '.join(parts)}; in all {sum(line.held for line in found)}"


def _figures(found: Iterable[Line], quantity: Quantity) -> list[Compared]:
    return [figure for line in found for figure in line.figures if figure.quantity is quantity]


def _all_held(figures: Iterable[Compared]) -> bool:
    return all(figure.held for figure in figures)


def _finding(
    cells: Sequence[frozen.Frozen], ours: str, conditions: tuple[Condition, ...], found: Sequence[Line]
) -> Finding:
    """Return a finding whose details are the worst cells."""
    beyond = worst(found, len(found))
    numbers = {
        "cells": len(found),
        "cells_within_tolerance": len(found) - len(beyond),
        "beyond": {
            line.label: {f.quantity.column: [f.ours.mean, f.theirs.mean] for f in line.figures} for line in beyond
        },
    }
    seeds = sorted({len(values) for cell in cells for values in cell.figures.values()})
    span = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    return Finding(
        f"{len(cells)} cells, {span} seeds each",
        ours,
        conditions,
        tuple(map(beyond_text, beyond)),
        numbers,
        brief=f"{len(found) - len(beyond)} of {len(found)} cells",
    )


def beyond_text(line: Line) -> str:
    """Return a cell that is beyond a tolerance in words: only what is beyond it."""
    missed = [figure for figure in line.figures if not figure.held]
    doubt = " [the excess is within two standard errors]" if all(figure.by_chance for figure in missed) else ""
    return f"{line.label}: {'; '.join(figure.text for figure in missed)}{doubt}"


CHECKS = {
    "P01": Check(("steady",), goodput),
    "P02": Check(("ramp",), ramp),
    "P03": Check(("alone", "rtts", "long"), queues),
    "P04": Check(("pairs",), shares),
    "P05": Check(("probe",), messages),
    "P06": Check(("voip",), calls),
    "P07": Check(("pairs", "probe", "voip"), queues),
    "P08": Check(("aqm",), queues),
    "P09": Check(("alone_noise",), queues),
    "P10": Check(("pairs_noise",), shares),
}
"""The checks against frozen tables, by claim."""
