"""R01, R02, R13: Table IV cell by cell, and what segmentation offload changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from validation import reference
from validation.cases import Case
from validation.experiments import LIMITS, TABLE_RTTS
from validation.statistics import Spread
from validation.verdict import Condition, Finding, Results

PROJECT_WORST, PROJECT_MEAN = 0.06, 0.04
"""What this project sets itself for the RTT 0 column, stricter than the claim's tolerance."""
TSO_NOTE = (
    "the model's TSO acts on segment sizes and on what a loss takes with it; without loss it cannot change the times"
)
"""What the cells with TSO, which are all without loss, can and cannot show."""


@dataclass(frozen=True)
class Cell:
    """A cell of Table IV, both sides."""

    case: Case
    """The cell."""
    paper: float
    """The paper's mean completion time [s]."""
    ours: Spread
    """Ours, over the replicas [s]."""

    @property
    def error(self) -> float:
        """Relative error of our mean."""
        return self.ours.mean / self.paper - 1.0

    @property
    def text(self) -> str:
        """The cell as one line."""
        return (
            f"{self.case.label}: {self.ours.text(unit='s')}, {self.ours.replicas} replicas, paper {self.paper:.0f} s, "
            f"error {100 * self.error:+.1f}%"
        )

    def numbers(self) -> dict[str, Any]:
        """Return the cell for the JSON report."""
        return {"case": self.case.label, "paper_s": self.paper, "ours_s": vars(self.ours), "error": self.error}


def cells(results: Results, cases: Iterable[Case]) -> list[Cell]:
    """Return the cells of Table IV that `cases` are."""
    published = reference.table4()
    return [Cell(case, published[case], results.spread(case)) for case in cases]


def mean_error(found: Iterable[Cell]) -> float:
    """Return the mean absolute error of some cells."""
    errors = [abs(cell.error) for cell in found]
    return sum(errors) / len(errors)


def worst(found: Iterable[Cell]) -> Cell:
    """Return the cell with the greatest error."""
    return max(found, key=lambda cell: abs(cell.error))


def errors_text(found: Collection[Cell]) -> str:
    """Return the mean absolute error of some cells and the worst of them as a short text."""
    bad = worst(found)
    return f"mean absolute error {100 * mean_error(found):.1f}%, worst {100 * bad.error:+.1f}% ({bad.case.label})"


def _judged(found: list[Cell], most: float, mean: float) -> Finding:
    """Judge cells by the greatest and the mean absolute error allowed."""
    bad, average = worst(found), mean_error(found)
    return Finding(
        paper=f"{min(c.paper for c in found):.0f} to {max(c.paper for c in found):.0f} s in {len(found)} cells",
        ours=errors_text(found),
        conditions=(
            Condition(f"worst cell within {100 * most:.0f}%: {100 * bad.error:+.1f}%", abs(bad.error) <= most),
            Condition(f"mean absolute error at most {100 * mean:.0f}%: {100 * average:.1f}%", average <= mean),
        ),
        details=tuple(cell.text for cell in found),
        numbers={"mean_absolute_error": average, "worst": bad.error, "cells": [cell.numbers() for cell in found]},
        brief=f"{100 * average:.1f}% off, worst {100 * bad.error:+.1f}%",
    )


def rtt0_column(results: Results) -> Finding:
    """R01: the four cells without latency and loss."""
    found = cells(results, [Case(limit) for limit in LIMITS])
    finding = _judged(found, 0.10, 0.05)
    reached = abs(worst(found).error) <= PROJECT_WORST and mean_error(found) <= PROJECT_MEAN
    goal = f"this project's own goal, each within 6% and 4% on average: {'reached' if reached else 'not reached'}"
    return replace(finding, details=(*finding.details, goal))


def whole_table(results: Results) -> Finding:
    """R02: all 36 cells, and the 24 of them that are not each other's copies in the model."""
    every, own = _judged(cells(results, reference.table4()), 0.12, 0.05), without_tso(results)
    average = mean_error(own)
    return replace(
        every,
        ours=f"36 cells: {every.ours}; the 24 without TSO: {errors_text(own)}",
        conditions=(
            *every.conditions,
            Condition(
                f"mean absolute error at most 5% over the 24 cells without TSO as well: {100 * average:.1f}%",
                average <= 0.05,
            ),
        ),
        details=(*every.details, f"the 12 cells with TSO repeat those without under other random numbers: {TSO_NOTE}"),
        numbers={**every.numbers, "without_tso": {"mean_absolute_error": average, "worst": worst(own).error}},
    )


def without_tso(results: Results) -> list[Cell]:
    """Return the 24 cells of Table IV without TSO."""
    return cells(results, [case for case in reference.table4() if not case.tso])


def segmentation_offload(results: Results) -> Finding:
    """R13: TSO on against TSO off, without loss."""
    pairs = [(Case(u, rtt, tso=True), Case(u, rtt)) for u in LIMITS for rtt in TABLE_RTTS]
    ours = {on: results.change(on, off) for on, off in pairs}
    paper = {on: reference.table4()[on] / reference.table4()[off] - 1.0 for on, off in pairs}
    most = max(ours, key=lambda case: abs(ours[case].value))
    return Finding(
        paper=f"TSO on against off: {100 * min(paper.values()):+.1f} to {100 * max(paper.values()):+.1f}%",
        ours=f"greatest difference {ours[most].text} ({most.label}), which is chance: {TSO_NOTE}",
        conditions=(
            Condition(f"all 12 pairs within 5%: {100 * ours[most].value:+.1f}%", abs(ours[most].value) <= 0.05),
        ),
        details=tuple(f"{case.label}: {value.text}, paper {100 * paper[case]:+.1f}%" for case, value in ours.items()),
        numbers={case.label: {"ours": vars(value), "paper": paper[case]} for case, value in ours.items()},
        by_construction=TSO_NOTE,
        brief=f"{100 * ours[most].value:+.1f}%",
    )
