"""The frozen tables: where those of a version of ns-3 are, what they were made with, and their rows."""

from __future__ import annotations

import csv
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from btflow.errors import InputError

FROZEN = Path(__file__).parent / "frozen"
RELEASE = "3.48"
"""Version of ns-3 that everything is held against."""
EARLIER: tuple[str, ...] = ("3.44",)
"""Versions whose tables are kept beside."""

Row = dict[str, str]


def folder(release: str) -> Path:
    """Return where the tables of a version are; an error if there are none."""
    if release not in (RELEASE, *EARLIER):
        raise InputError("ns-3", release, "there are no tables of this version", ", ".join((RELEASE, *EARLIER)))
    return FROZEN if release == RELEASE else FROZEN / f"ns-{release}"


@cache
def manifest(release: str = RELEASE) -> dict[str, dict[str, Any]]:
    """Return by table what it was made with; an error if one is of another version."""
    path = folder(release) / "manifest.toml"
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            "frozen", path.name, f"cannot be read: {error.strerror}", "what `make packet-level` writes"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise InputError("frozen", path.name, f"is no TOML: {error}", "what `make packet-level` writes") from None
    for name, made in found.items():
        if made.get("ns3") != release:
            raise InputError(f"{path.name}, [{name}] ns3", made.get("ns3"), "the table is of another version", release)
    return found


@cache
def rows(name: str, release: str = RELEASE) -> tuple[Row, ...]:
    """Return the rows of a table, as in ``ramp`` or ``swarms/swarm``; none if it does not exist."""
    made = manifest(release)
    path = folder(release) / f"{name}.csv"
    if not path.exists():
        return ()
    grid = Path(name).name.removesuffix("_flows").removesuffix("_queue").removesuffix("_runs")
    if grid not in made:
        raise InputError("manifest.toml", grid, "the table's version is not there", "a section for each table")
    with path.open(newline="", encoding="utf-8") as file:
        return tuple(csv.DictReader(file))
