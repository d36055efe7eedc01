"""Run swarms: `simulate(scenario, seed=, replicas=) -> Dataset`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from btflow.errors import SimulationError
from btflow.kernels import engine
from btflow.kernels.state import Swarm
from btflow.program import Program, compile_scenario
from btflow.scenario import Scenario
from btflow.swarm import build, grow

if TYPE_CHECKING:
    import xarray as xr

CHUNK_EVENTS = 1_000_000
"""Events between two looks at Ctrl-C: a fraction of a second."""


def run_swarm(program: Program, seed: int, replica: int) -> Swarm:
    """Run one replica to the end and return its final state; SimulationError if it cannot finish."""
    s = build(program, seed, replica)
    while True:
        outcome = engine.run(s, CHUNK_EVENTS)
        if outcome == engine.FINISHED:
            return s
        if outcome == engine.FULL:
            s = grow(s)
        elif outcome == engine.STUCK:
            raise SimulationError(
                f"{s.clock[0].unfinished} of {int((program.is_seed == 0).sum())} leechers had not finished "
                f"at {s.clock[0].now:.0f} s (the scenario's horizon is {program.rules.horizon:.0f} s)"
            )


def run_replicas(program: Program, seed: int, replicas: int) -> Iterator[tuple[Swarm, float]]:
    """Final state and CPU seconds of replicas 0..replicas-1; a replica depends on (seed, its number) alone."""
    for replica in range(replicas):
        start = time.process_time()
        yield run_swarm(program, seed, replica), time.process_time() - start


def simulate(
    scenario: Scenario, *, seed: int = 0, replicas: int = 1, progress: Callable[[int], None] | None = None
) -> xr.Dataset:
    """Simulate `replicas` independent swarms of `scenario`.

    Returns a Dataset (btflow.results) with units in attrs. The same scenario and seed give the same bits anywhere;
    replica r does not depend on how many are run. `progress(k)` is called after the k-th replica.
    Raises SimulationError if a swarm does not finish before the scenario's horizon.
    """
    from btflow.results import collect, to_dataset

    program = compile_scenario(scenario)
    engine.run(build(program, seed, 0), 0)  # load or compile the kernels: not the swarm's CPU time
    rows = []
    for k, (state, cpu) in enumerate(run_replicas(program, seed, replicas)):
        rows.append(collect(program, state, cpu))
        if progress is not None:
            progress(k + 1)
    return to_dataset(scenario, program, rows, seed)
