"""The frozen tables of validation/packet_level, cell by cell: an experiment with its figures for each seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from validation.links.experiments import Experiment, experiment
from validation.packet_level import tables as packet_level

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


_release = packet_level.RELEASE


def use(version: str) -> None:
    """Compare with the tables of this version of ns-3 from now on; an error if there are none."""
    global _release
    packet_level.folder(version)
    _release = version


def release() -> str:
    """Return which version of ns-3 is compared with."""
    return _release


def tables() -> tuple[str, ...]:
    """Return the names of the tables that there are."""
    found = packet_level.folder(_release).glob("*.csv")
    return tuple(sorted(path.stem for path in found if not path.stem.endswith("_flows")))


def manifest() -> dict[str, dict[str, Any]]:
    """Return by table what it was made with."""
    return packet_level.manifest(_release)


def cells(table: str) -> tuple[Frozen, ...]:
    """Return the cells of a table, in its order; none if the table does not exist."""
    return cells_of(table, _release)


@cache
def cells_of(table: str, version: str) -> tuple[Frozen, ...]:
    """Return the cells of a table that was made with this version."""
    found: dict[Experiment, dict[str, list[float]]] = {}
    for row in packet_level.rows(table, version):
        figures = found.setdefault(experiment(row), {})
        for name in row.keys() - INPUTS:
            figures.setdefault(name, []).append(float(row[name] or "nan"))
    shares = _shares(packet_level.rows(f"{table}_flows", version))
    return tuple(
        Frozen(run, {name: tuple(values) for name, values in {**figures, **shares.get(i, {})}.items()})
        for i, (run, figures) in enumerate(found.items())
    )


def _shares(rows: Iterable[packet_level.Row]) -> dict[int, dict[str, list[float]]]:
    """Return by the number of the cell the share of all flows of a congestion control, and the largest of a flow."""
    runs: dict[tuple[str, ...], dict[str, list[float]]] = {}
    for row in rows:
        key = tuple(row[name] for name in ("flows", "queue", "rate_bps", "rtt_ms", "buffer_packets", "seed"))
        runs.setdefault(key, {}).setdefault(row["cc"], []).append(float(row["share"]))
    found: dict[tuple[str, ...], dict[str, list[float]]] = {}
    for key, by_control in runs.items():
        cell = found.setdefault(key[:-1], {})
        for name, shares in by_control.items():
            cell.setdefault(f"share_{name}", []).append(sum(shares))
        cell.setdefault("largest_share", []).append(max(max(shares) for shares in by_control.values()))
    return dict(enumerate(found.values()))
