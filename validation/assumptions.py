"""The constants no source gives, and what the ones that could matter change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from btflow.catalog import document, load
from btflow.program import PENDING_SLOTS, SKB_TRUESIZE
from validation import reference
from validation.cases import MODEL, Case
from validation.experiments import LIMITS, SPREADS, spreads
from validation.table4 import Cell, mean_error
from validation.verdict import Results

ASSUMED = "assum"
"""A model file's source that contains this says that the number has none."""


@dataclass(frozen=True)
class Assumption:
    """A constant without a published source for this experiment."""

    name: str
    """Where it is set."""
    value: str
    """Its value, with its unit."""
    reason: str
    """What it stands for and why this value."""


def assumptions() -> list[Assumption]:
    """Return the constants no source gives, as they are now."""
    spread = load(MODEL).arrivals.spread
    fixed = [
        Assumption(
            "arrivals.spread",
            f"{spread:g} s",
            "Time within which the leechers of the flash crowd start. The paper does not say how fast 300 clients "
            "were started; the ns-2 flash crowd of Eger et al. (2007) starts its peers within 10 s. The table below "
            "compares 0 s and 10 s.",
        ),
        Assumption(
            "SKB_TRUESIZE (btflow/program.py)",
            f"{SKB_TRUESIZE} B",
            "Socket memory one queued segment is charged, which sets how many fit into the send buffer: read from "
            "the data structures of Linux 2.6.32, not stated by any paper. It matters only where the window is the "
            "limit.",
        ),
        Assumption(
            "PENDING_SLOTS (btflow/program.py)",
            f"{PENDING_SLOTS}",
            "Room per peer for connections whose handshake is under way: a limit of the engine, not of the client.",
        ),
    ]
    known = {entry.name for entry in fixed}
    return fixed + [
        Assumption(path, _shown(path), source)
        for path, source in document(MODEL).sources.items()
        if ASSUMED in source.lower() and path not in known
    ]


def _shown(path: str) -> str:
    """Return the value of a field of the model's file by its dotted path."""
    value: Any = document(MODEL).tree
    for name in path.split("."):
        value = value[int(name)] if isinstance(value, list) else value[name]
    return str(value)


def by_spread(results: Results) -> dict[int, list[Cell]]:
    """Return the RTT 0 column of Table IV for each start spread [s]; empty if it was not simulated."""
    if not all(case in results.measured for case in spreads()):
        return {}
    table = reference.table4()
    return {
        spread: [
            Cell(case, table[Case(limit)], results.spread(case)) for limit in LIMITS for case in [_at(limit, spread)]
        ]
        for spread in SPREADS
    }


def _at(limit: int, spread: int) -> Case:
    return Case(limit, spread=spread)


def as_json(results: Results) -> dict[str, Any]:
    """Return the constants and the comparison for the JSON report."""
    return {
        "constants": [vars(entry) for entry in assumptions()],
        "rtt0_column_by_start_spread_s": {
            str(spread): {"mean_absolute_error": mean_error(cells), "cells": [cell.numbers() for cell in cells]}
            for spread, cells in by_spread(results).items()
        },
    }
