"""The one place where the benchmark calls the machinery of sweeps."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import btflow
from btflow.config.catalog import load
from btflow.errors import SimulationError
from btflow.options import Fidelity
from btflow.swarm.program import compile_scenario
from btflow.swarm.run import load_kernels, run_swarm
from btflow.swarm.scenario import Scenario
from btflow.sweeps.declare import declaration, declare
from btflow.sweeps.results import FAILED

from .measure import MODEL, SEED, SMALL

Grid = Mapping[str | tuple[str, ...], Sequence[str] | str]

ONE: Grid = {"upload_limit": ("20 kB/s",)}
"""A grid of one point, for a sweep of replicas."""


@dataclass(frozen=True)
class Spent:
    """What some swarms took."""

    swarms: int
    """How many were run."""
    wall: float
    """Elapsed time [s]."""
    cpu: float
    """CPU time of the process [s]."""

    @property
    def rate(self) -> float:
        """Swarms per second of elapsed time."""
        return self.swarms / self.wall


def sweep(
    scenario: Scenario, varied: Grid, replicas: int, workers: int, fidelity: Fidelity = "full", check: int = 0
) -> Spent:
    """Run `replicas` swarms of each point of a grid on `workers` threads, into a store on disk, with kernels loaded.

    Raises:
        SimulationError: A swarm failed.
    """
    load_kernels(compile_scenario(scenario, fidelity))
    if check:
        load_kernels(compile_scenario(scenario))
    _load_machinery()
    with tempfile.TemporaryDirectory(prefix="btflow-bench-") as folder:
        out = Path(folder, "sweep.zarr")
        wall, cpu = time.perf_counter(), time.process_time()
        result = btflow.sweep(
            scenario,
            varied,
            replicas=replicas,
            seed=SEED,
            fidelity=fidelity,
            check=check or None,
            jobs=workers,
            out=out,
        )
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        failed = int((result["status"].values == FAILED).sum())
        if failed:
            raise SimulationError(f"{failed} of {result['status'].size} swarms failed")
        return Spent(result["status"].size, wall, cpu)


def bare(scenario: Scenario, varied: Grid) -> Spent:
    """Make and run the swarms of `sweep`, one of each point, in a plain loop: nothing is found of them or kept."""
    plan = declare(scenario.document, scenario.given, declaration(varied, {}, "vary", seed=SEED))
    load_kernels(compile_scenario(scenario))
    wall, cpu = time.perf_counter(), time.process_time()
    for point in range(plan.units):
        run_swarm(compile_scenario(scenario.set(**plan.settings(point))), plan.seed_of(point), 0)
    return Spent(plan.units, time.perf_counter() - wall, time.process_time() - cpu)


@cache
def _load_machinery() -> None:
    """Run a sweep that takes no time, so that no import is in what is measured."""
    btflow.sweep(load(MODEL).set(**SMALL), ONE, jobs=1)
