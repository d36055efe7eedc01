"""The one place where the benchmark calls the machinery of sweeps."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from btflow.program import Program, compile_scenario
from btflow.replica import collect
from btflow.scenario import Scenario
from btflow.simulation import load_kernels, run_with_links

SEED = 0


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


def sweep(scenario: Scenario, varied: Mapping[str, Sequence[str]], replicas: int, workers: int) -> Spent:
    """Run `replicas` swarms of each point of a grid on `workers` threads, with kernels that are loaded."""
    load_kernels(compile_scenario(scenario))
    wall, cpu = time.perf_counter(), time.process_time()
    programs = [
        compile_scenario(scenario.set(**dict(zip(varied, point, strict=True))))
        for point in itertools.product(*varied.values())
    ]
    jobs = [(program, replica) for replica in range(replicas) for program in programs]
    with ThreadPoolExecutor(workers) as pool:
        spent = list(pool.map(_run, jobs))
    return Spent(len(jobs), time.perf_counter() - wall, time.process_time() - cpu, sum(spent))


def _run(job: tuple[Program, int]) -> float:
    """Run one swarm, keep its figures and return its CPU time [s]."""
    program, replica = job
    begin = time.thread_time()
    state, links = run_with_links(program, SEED, replica)
    used = time.thread_time() - begin
    collect(program, state, used, links)
    return used
