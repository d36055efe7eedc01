"""The constants no source gives, and what the ones that could matter change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from btflow.config.catalog import document, load
from btflow.config.document import Document
from btflow.swarm.program import PENDING_SLOTS, SKB_TRUESIZE
from validation import reference
from validation.cases import MODEL
from validation.experiments import at_once
from validation.statistics import replicas_text
from validation.table4 import Cell, errors_text, mean_error, worst
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


def engine() -> list[Assumption]:
    """Return the constants of the engine itself, which every model's swarms have."""
    return [
        Assumption(
            "tracker (btflow/kernels/swarm/peer_set.py, ask_tracker)",
            "beside peer 0; an announce takes two round trips",
            "The paper does not say where the tracker was. It is placed beside the first peer, a seed, whose latencies "
            "it has; an announce is a TCP set-up and a request with its reply, none of which is lost.",
        ),
        Assumption(
            "time to handle a message, to verify a piece or to read a disk",
            "0 s",
            "The paper gives none of them; they are left out, so that hosts are never the limit.",
        ),
        Assumption(
            "SKB_TRUESIZE (btflow/swarm/program.py)",
            f"{SKB_TRUESIZE} B",
            "Socket memory one queued segment is charged, which sets how many fit into the send buffer: read from "
            "the data structures of Linux 2.6.32, not stated by any paper. It matters only where the window is the "
            "limit.",
        ),
        Assumption(
            "PENDING_SLOTS (btflow/swarm/program.py)",
            f"{PENDING_SLOTS}",
            "Room per peer for connections whose handshake is under way: a limit of the engine, not of the client.",
        ),
    ]


def assumptions() -> list[Assumption]:
    """Return the constants no source gives, as they are now."""
    spread = load(MODEL).arrivals.spread
    fixed = [
        Assumption(
            "arrivals.spread",
            f"{spread:g} s",
            "Time within which the leechers of the flash crowd start. The paper does not say how fast 300 clients "
            "were started; the ns-2 flash crowd of Eger et al. (2007) starts its peers within 10 s. Table IV is "
            "compared below with all leechers starting at once.",
        ),
        *engine(),
    ]
    known = {entry.name for entry in fixed}
    return fixed + [
        Assumption(path, at(document(MODEL).tree, path), source)
        for path, source in document(MODEL).sources.items()
        if ASSUMED in source.lower() and path not in known
    ]


def by_start(results: Results) -> dict[str, list[Cell]]:
    """Return the 24 cells of Table IV without TSO by how the leechers start; empty if not all were simulated."""
    cases = at_once()
    if not results.has([*cases, *cases.values()]):
        return {}
    published = reference.table4()
    return {
        name: [Cell(case, published[case], results.spread(start)) for case, start in chosen.items()]
        for name, chosen in {
            f"within {load(MODEL).arrivals.spread:g} s, as in the table above": {case: case for case in cases},
            "all at once": cases,
        }.items()
    }


def columns(found: Sequence[Cell]) -> dict[str, list[Cell]]:
    """Return the RTT 0 column without loss, which a constant may be fitted on, and all the cells, by their names."""
    return {"RTT 0 without loss": [c for c in found if not c.case.rtt and not c.case.loss], "24 cells": list(found)}


def rows_by_start(results: Results) -> tuple[Sequence[str], Sequence[Sequence[str]]] | None:
    """Return the comparison as a table: its header and its rows of text; None if not all was simulated."""
    found = by_start(results)
    if not found:
        return None
    header = ("Table IV without TSO, leechers start", "a cell", *columns(next(iter(found.values()))))
    rows = [
        (name, replicas_text(cell.ours for cell in cells), *(errors_text(some) for some in columns(cells).values()))
        for name, cells in found.items()
    ]
    return header, rows


def as_json(results: Results) -> dict[str, Any]:
    """Return the constants and the comparison for the JSON report."""
    return {
        "constants": [vars(entry) for entry in assumptions()],
        "table4_by_start_of_the_leechers": {
            name: {
                "mean_absolute_error": {part: mean_error(some) for part, some in columns(found).items()},
                "worst": {part: worst(some).error for part, some in columns(found).items()},
                "cells": [cell.numbers() for cell in found],
            }
            for name, found in by_start(results).items()
        },
    }


def of_model(name: str, found: Document[Any]) -> list[Assumption]:
    """Return the numbers of a model that no source gives, those that say the same of several fields as one."""
    entries = [
        Assumption(f"{name}: {path}", at(found.tree, path), source)
        for path, source in found.sources.items()
        if ASSUMED in source.lower()
    ]
    return merged(entries)


def at(tree: Any, path: str) -> str:
    """Return a field of a model's content by its dotted path, as text; empty if there is none."""
    for part in path.split("."):
        if isinstance(tree, list):
            tree = dict(enumerate(tree)).get(int(part), "")
        else:
            tree = tree.get(part, "") if isinstance(tree, dict) else ""
    return str(tree)


def merged(found: Sequence[Assumption]) -> list[Assumption]:
    """Return assumptions that say the same of several fields as one."""
    names: dict[tuple[str, str, str], list[str]] = {}
    for a in found:
        field = a.name.rpartition(".")[2]
        names.setdefault((a.value, a.reason, f"{a.name.partition(':')[0]} {field}"), []).append(a.name)
    return [
        Assumption(paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} alike", value, reason)
        for (value, reason, _), paths in names.items()
    ]
