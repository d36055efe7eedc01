"""The swarms that SimGrid is measured with, and what it took: measured now, or recorded in recorded.csv."""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from btflow.benchmarks.machine import processor

from btflow import load
from btflow.files import replacing
from btflow.swarm.scenario import Scenario
from validation.packet_level.toolchain import ToolchainError
from validation.simgrid.toolchain import PROGRAM, VERSION

RECORDED = Path(__file__).parent / "recorded.csv"
LIMIT = 900.0
"""Longest that a run may take [s]."""


@dataclass(frozen=True)
class Case:
    """A flash crowd of rao2010 without delays."""

    leechers: int
    """Beside one seed."""
    megabytes: int
    """File size [MB of 2**20 B]."""
    runs: int
    """Seeds from 1 on."""
    defaults: bool = False
    """Whether to measure SimGrid with its own defaults too, which takes several times as long."""

    @property
    def scenario(self) -> Scenario:
        """The same swarm for btflow."""
        return load("rao2010").set(leechers=self.leechers, file_size=f"{self.megabytes} MB")


CASES = (Case(9, 1, 5, defaults=True), Case(50, 10, 3, defaults=True), Case(300, 50, 1))
VARIANTS: Mapping[str, Mapping[str, int]] = {
    "blocks and messages": {"messages": 1, "defaults": 0},
    "blocks only": {"messages": 0, "defaults": 0},
    "blocks and messages, SimGrid's defaults": {"messages": 1, "defaults": 1},
}
SAME = "blocks and messages"
"""The variant that simulates what btflow does."""


@dataclass(frozen=True)
class Run:
    """One variant of one case: means over its runs."""

    leechers: int
    """Leechers."""
    megabytes: int
    """File size [MB]."""
    variant: str
    """Key of VARIANTS."""
    completion_mean_s: float
    """Mean completion time [s]."""
    seed_copies: float
    """What the seed sent over the file size."""
    communications: float
    """Transfers that SimGrid simulated."""
    cpu_s: float
    """CPU time of the process [s]."""
    version: str
    """SimGrid's."""
    processor: str
    """The machine's."""
    date: str
    """When it was measured."""


def options(scenario: Scenario, variant: str, seed: int) -> list[str]:
    """Return the program's command line for a scenario of one class of leechers."""
    leechers = next(c for c in scenario.classes if c.role == "leecher")
    values = {
        "leechers": scenario.leechers,
        "file": scenario.swarm.file_size,
        "piece": scenario.swarm.piece_size,
        "block": scenario.swarm.block_size,
        "uplink": leechers.upload_limit,
        "slots": scenario.slots_of(leechers),
        "rtt": scenario.paths.rtt,
        "spread": scenario.arrivals.spread,
        "seed": seed,
        **VARIANTS[variant],
    }
    return [f"--{name}={value:.17g}" for name, value in values.items()]


def measure(case: Case, variant: str, program: Path = PROGRAM) -> Run:
    """Run a variant of a case.

    Raises:
        ToolchainError: The program fails.
    """
    found = [_once([str(program), *options(case.scenario, variant, seed)]) for seed in range(1, case.runs + 1)]
    names = ("completion_mean_s", "seed_copies", "communications", "cpu_s")
    means = {name: sum(run[name] for run in found) / len(found) for name in names}
    today = datetime.now(UTC).date().isoformat()
    return Run(case.leechers, case.megabytes, variant, **means, version=VERSION, processor=processor(), date=today)


def _once(command: Sequence[str]) -> dict[str, Any]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LIMIT)
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolchainError(f"the swarm on SimGrid failed: {getattr(error, 'stderr', None) or error}") from error
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def variants(case: Case) -> Iterable[str]:
    """Return the variants that a case is measured with."""
    return (name for name, chosen in VARIANTS.items() if case.defaults or not chosen["defaults"])


def recorded(path: Path = RECORDED) -> list[Run]:
    """Return the runs on record; none if there is no record."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [_run(row) for row in csv.DictReader(file)]


def _run(row: Mapping[str, str]) -> Run:
    kinds = {"int": int, "float": float, "str": str}
    return Run(**{field.name: kinds[str(field.type)](row[field.name]) for field in fields(Run)})


def record(runs: Iterable[Run], path: Path = RECORDED) -> None:
    """Write the record anew."""
    with replacing(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Run)], lineterminator="\n")
        writer.writeheader()
        for run in runs:
            row = {name: f"{v:.5g}" if isinstance(v, float) else v for name, v in asdict(run).items()}
            writer.writerow(row)
