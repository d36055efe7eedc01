"""The same flash crowds on SimGrid's flow level: measured now if it is built, else as recorded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from btflow.benchmarks.measure import report
from btflow.benchmarks.table import Row, Section, at_least

from btflow import simulate
from validation.simgrid import toolchain
from validation.simgrid.runs import CASES, SAME, Case, Run, measure, recorded, variants

RATIO = 100.0
LEAST_CPU = 0.5
"""CPU time over which ours is averaged [s]."""

HEADER = ("peers, file", "SimGrid simulates", "transfers")
PAIRS = ("completion: SimGrid, ours [s]", "seed's copies", "CPU: SimGrid, ours [s]", "ratio")


def simgrid() -> Section:
    """Compare CPU time and completion times of the cases."""
    runs = _measured() if toolchain.installed() else recorded()
    if not runs:
        return Section("SimGrid", [], ("SimGrid is not installed and nothing is on record: run `make bench-simgrid`.",))
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


def _measured() -> list[Run]:
    found: list[Run] = []
    for case in CASES:
        for variant in variants(case):
            report(f"{case.leechers} leechers, {case.megabytes} MB on SimGrid, {variant}")
            found.append(measure(case, variant))
    return found


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
    when = "measured in this run" if toolchain.installed() else f"recorded on {run.date}, on {run.processor}"
    return (
        f"SimGrid {run.version}, {when}; validation/simgrid/README.md says how it simulates the swarm. Flash crowds at "
        "20 kB/s without delays; ours simulates every block and message.",
    )
