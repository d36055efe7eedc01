"""The one place where the benchmark calls the machinery of sweeps."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import btflow
from btflow.benchmarks.measure import MODEL, SEED, SMALL
from btflow.catalog import load
from btflow.program import compile_scenario
from btflow.scenario import Scenario
from btflow.simulation import load_kernels

Grid = Mapping[str | tuple[str, ...], Sequence[str]]

ONE: Grid = {"upload_limit": ("20 kB/s",)}
"""A grid of one point, for a sweep of replicas."""


@dataclass(frozen=True)
class Spent:
    """What a sweep took."""

    swarms: int
    """How many were run."""
    wall: float
    """Elapsed time [s]."""
    cpu: float
    """CPU time of the process [s]."""
    swarm_cpu: float
    """CPU time inside swarms [s]: set-up and kernels; the rest is the sweep's own."""

    @property
    def rate(self) -> float:
        """Swarms per second of elapsed time."""
        return self.swarms / self.wall

    @property
    def overhead(self) -> float:
        """The sweep's own CPU time over that of its swarms."""
        return self.cpu / self.swarm_cpu - 1.0


def sweep(scenario: Scenario, varied: Grid, replicas: int, workers: int) -> Spent:
    """Run `replicas` swarms of each point of a grid on `workers` threads, with kernels that are loaded."""
    load_kernels(compile_scenario(scenario))
    _load_machinery()
    wall, cpu = time.perf_counter(), time.process_time()
    result = btflow.sweep(scenario, varied, replicas=replicas, seed=SEED, jobs=workers)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Spent(result["cpu_s"].size, wall, cpu, float(result["cpu_s"].sum()))


@cache
def _load_machinery() -> None:
    """Run a sweep that takes no time, so that no import is in what is measured."""
    btflow.sweep(load(MODEL).set(**SMALL), ONE, jobs=1)
