"""The same flash crowds on SimGrid's flow level, as recorded: README.md says how they were simulated."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import fmean

from btflow.benchmarks.measure import report
from btflow.benchmarks.table import Row, Section, at_least

from btflow import load, simulate
from btflow.swarm.scenario import Scenario

RECORDED = Path(__file__).with_suffix(".csv")
RATIO = 100.0
LEAST_CPU = 0.5
"""CPU time over which ours is averaged [s]."""

HEADER = ("peers, file", "SimGrid simulates", "transfers")
PAIRS = ("completion: SimGrid, ours [s]", "seed's copies", "CPU: SimGrid, ours [s]", "ratio")


@dataclass(frozen=True)
class Case:
    """A flash crowd of rao2010 without delays."""

    leechers: int
    """Beside one seed."""
    megabytes: int
    """File size [MB of 2**20 B]."""
    runs: int
    """Seeds from 1 on."""

    @property
    def scenario(self) -> Scenario:
        """The same swarm for btflow."""
        return load("rao2010").set(leechers=self.leechers, file_size=f"{self.megabytes} MB")


CASES = (Case(9, 1, 5), Case(50, 10, 3), Case(300, 50, 1))
SAME = "blocks and messages"
"""The variant that simulates what btflow does."""


@dataclass(frozen=True)
class Run:
    """One variant of one case: means over its runs."""

    leechers: int
    megabytes: int
    """File size [MB]."""
    variant: str
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


def recorded() -> list[Run]:
    """Return the runs on record."""
    kinds = {"int": int, "float": float, "str": str}
    with RECORDED.open(newline="", encoding="utf-8") as file:
        return [Run(**{f.name: kinds[str(f.type)](row[f.name]) for f in fields(Run)}) for row in csv.DictReader(file)]


def simgrid() -> Section:
    """Compare CPU time and completion times of the cases."""
    runs = recorded()
    rows: list[Row] = [(*HEADER, *PAIRS)]
    ratios: dict[Case, float] = {}
    for case in CASES:
        own = ours(case)
        for run in _of(case, runs):
            ratio = run.cpu_s / own.cpu_s
            rows.append(_row(run, own, ratio))
            if run.variant == SAME:
                ratios[case] = ratio
    largest = max(ratios, key=lambda case: case.leechers)
    what = f"SimGrid's CPU time over ours, {largest.leechers + 1} peers and {largest.megabytes} MB"
    return Section(
        "The same swarm on SimGrid", rows, _notes(runs[0]), (at_least(what, RATIO, ratios[largest], "", ".0f"),)
    )


def ours(case: Case) -> Run:
    """Run a case in btflow, as often as on SimGrid and until its CPU time is measured well."""
    report(f"{case.leechers} leechers, {case.megabytes} MB, ours")
    means: list[float] = []
    copies: list[float] = []
    cpu: list[float] = []
    while len(cpu) < case.runs or sum(cpu) < LEAST_CPU:
        result = simulate(case.scenario, seed=len(cpu) + 1)
        means.append(float(result["completion_time"].mean()))
        copies.append(float(result["bytes_sent"][0, 0]) / case.scenario.swarm.file_size)
        cpu.append(float(result.attrs["cpu_s"]))
    return Run(case.leechers, case.megabytes, "", fmean(means), fmean(copies), 0, fmean(cpu), "", "", "")


def _of(case: Case, runs: Iterable[Run]) -> list[Run]:
    return [run for run in runs if (run.leechers, run.megabytes) == (case.leechers, case.megabytes)]


def _row(run: Run, own: Run, ratio: float) -> Row:
    return (
        f"{run.leechers + 1}, {run.megabytes} MB",
        run.variant,
        f"{run.communications:.0f}",
        f"{run.completion_mean_s:.0f}, {own.completion_mean_s:.0f}",
        f"{run.seed_copies:.2f}, {own.seed_copies:.2f}",
        f"{run.cpu_s:.3g}, {own.cpu_s:.3g}",
        f"{ratio:.0f}",
    )


def _notes(run: Run) -> Sequence[str]:
    return (
        f"SimGrid {run.version}, recorded on {run.date}, on {run.processor}; validation/benchmarks/README.md says how "
        "it simulated the swarm. Flash crowds at 20 kB/s without delays; ours simulates every block and message.",
    )
