"""The frozen tables of validation/packet_level, cell by cell: an experiment with its figures for each seed."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from validation.links.experiments import Experiment, experiment

FOLDER = Path(__file__).parent.parent / "packet_level" / "frozen"

INPUTS = frozenset(
    [
        "cc",
        "flows",
        "queue",
        "rate_bps",
        "rtt_ms",
        "loss",
        "buffer_packets",
        "probe",
        "voip",
        "duration_s",
        "warmup_s",
        "seed",
        "noise",
        "flow",
    ]
)
"""Columns that say what was run."""

Figures = Mapping[str, tuple[float, ...]]
"""Values for each seed, by the name of the figure."""


@dataclass(frozen=True)
class Frozen:
    """A cell of a frozen table."""

    experiment: Experiment
    """What was run."""
    figures: Figures
    """What came out, by column, for each seed; the shares are ``share_NAME``."""


def tables() -> tuple[str, ...]:
    """Return the names of the tables that there are."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.csv") if not path.stem.endswith("_flows")))


@cache
def manifest() -> dict[str, dict[str, Any]]:
    """Return by table what it was made with."""
    return tomllib.loads((FOLDER / "manifest.toml").read_text(encoding="utf-8"))


@cache
def cells(table: str) -> tuple[Frozen, ...]:
    """Return the cells of a table, in its order; none if the table does not exist."""
    found: dict[Experiment, dict[str, list[float]]] = {}
    for row in _rows(table):
        figures = found.setdefault(experiment(row), {})
        for name in row.keys() - INPUTS:
            figures.setdefault(name, []).append(float(row[name] or "nan"))
    shares = _shares(table)
    return tuple(
        Frozen(run, {name: tuple(values) for name, values in {**figures, **shares.get(i, {})}.items()})
        for i, (run, figures) in enumerate(found.items())
    )


def _shares(table: str) -> dict[int, dict[str, list[float]]]:
    """Return by the number of the cell the share of all flows of a congestion control, and the largest of a flow."""
    runs: dict[tuple[str, ...], dict[str, list[float]]] = {}
    for row in _rows(f"{table}_flows"):
        key = tuple(row[name] for name in ("flows", "queue", "rate_bps", "rtt_ms", "buffer_packets", "seed"))
        runs.setdefault(key, {}).setdefault(row["cc"], []).append(float(row["share"]))
    found: dict[tuple[str, ...], dict[str, list[float]]] = {}
    for key, by_control in runs.items():
        cell = found.setdefault(key[:-1], {})
        for name, shares in by_control.items():
            cell.setdefault(f"share_{name}", []).append(sum(shares))
        cell.setdefault("largest_share", []).append(max(max(shares) for shares in by_control.values()))
    return dict(enumerate(found.values()))


@cache
def _rows(name: str) -> tuple[dict[str, str], ...]:
    path = FOLDER / f"{name}.csv"
    if not path.exists():
        return ()
    lines = path.read_text(encoding="utf-8").splitlines()
    return tuple(csv.DictReader(line for line in lines if not line.startswith("#")))
