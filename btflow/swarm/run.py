"""Run swarms: `simulate(scenario, seed=, replicas=) -> Dataset`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from btflow import memory, termination
from btflow.errors import InputError, ScenarioError
from btflow.kernels.access import engine as access_engine
from btflow.kernels.access.state import Access
from btflow.kernels.flow.state import Flow
from btflow.kernels.swarm import engine
from btflow.kernels.swarm.state import Swarm
from btflow.options import MAX_REPLICAS, MAX_SEED, Fidelity, fidelity_of, whole_number
from btflow.swarm import flow
from btflow.swarm.access import build_links, widen
from btflow.swarm.program import Program, compile_scenario
from btflow.swarm.scenario import Scenario
from btflow.swarm.state import build, grow, more_rows, state_bytes, unfinished

if TYPE_CHECKING:
    import xarray as xr

    from btflow.swarm.replica import Replica

Watch = Callable[[Swarm | Flow, Access | None], int | None]
"""Is told the state between events, and that of the links; may say how many events come before it is told again."""


def run_swarm(program: Program, seed: int, replica: int, watch: Watch | None = None) -> Any:
    """Run one replica to the end and return its final state; SimulationError if it cannot finish.

    `watch(state, links)` is called before the first event and then a few times a second, or as often as it says. The
    result does not depend on how often.
    """
    return run_with_links(program, seed, replica, watch)[0]


def run_with_links(program: Program, seed: int, replica: int, watch: Watch | None = None) -> tuple[Any, Access | None]:
    """As `run_swarm`; the state of the links too, None if the peers have none."""
    if program.fidelity == "flow":
        return flow.run(program, seed, replica, watch), None
    s, x = start(program, seed, replica)
    events = (watch and watch(s, x)) or termination.FIRST_CHUNK
    while True:
        begun = time.perf_counter()
        outcome = engine.run(s, events) if x is None else access_engine.run(x, events)
        events = termination.next_chunk(events, time.perf_counter() - begun)
        if outcome == engine.FINISHED:
            return s, x
        if outcome == engine.FULL:
            s = grow(s)
            x = x and x._replace(swarm=s)
        elif outcome == engine.CROWDED:
            s = more_rows(s)
        elif outcome == access_engine.CRAMPED:
            assert x is not None
            x = widen(x)
        elif outcome == engine.STUCK:
            raise unfinished(program, s)
        events = (watch and watch(s, x)) or events


def start(program: Program, seed: int, replica: int) -> tuple[Swarm, Access | None]:
    """State of a replica before its first event, and of its links."""
    s = build(program, seed, replica)
    return s, build_links(program, s, seed, replica) if program.links is not None else None


def simulate(
    scenario: Scenario,
    *,
    seed: int = 0,
    replicas: int = 1,
    fidelity: Fidelity = "full",
    progress: Callable[[float], None] | None = None,
) -> xr.Dataset:
    """Simulate `replicas` independent swarms of `scenario`.

    Returns a Dataset (btflow.swarm.results) with units in attrs. The same scenario and seed give the same bits
    anywhere;
    replica r does not depend on how many are run. `fidelity` is "full", where every block and message is an event, or
    "flow" (docs/fidelity.md). `progress(done)` is called a few times a second and after each
    replica with the number done so far, a share of the present one included.

    Raises:
        InputError: An argument is wrong, or the swarm does not fit into memory.
        SimulationError: A swarm does not finish before the scenario's horizon.
    """
    if not isinstance(scenario, Scenario):
        raise InputError("scenario", scenario, "is not a scenario", 'such as btflow.load("rao2010")')
    seed = whole_number("seed", seed, 0, MAX_SEED)
    replicas = whole_number("replicas", replicas, 1, MAX_REPLICAS)
    program = compile_scenario(scenario, fidelity_of("fidelity", fidelity))
    check_memory(scenario, swarm_bytes(program))

    from btflow.swarm.results import to_dataset

    load_kernels(program)
    rows = [_replica(program, seed, k, progress) for k in range(replicas)]
    return to_dataset(scenario, program, rows, seed)


def held(s: Swarm | Flow) -> NDArray[np.int64]:
    """Pieces that each peer holds (peers,)."""
    return np.asarray(s.peer.n_log if isinstance(s, Flow) else s.n_log, np.int64)


_LOADED: set[tuple[str, bool]] = set()
"""Of which fidelities, without links and with them, the kernels are there: to call them takes a swarm's state."""


def load_kernels(program: Program) -> None:
    """Load or compile the kernels that a program needs, so that this is not the first swarm's CPU time.

    A compiler hears no signal: it works in a thread of its own.
    """
    kind = (program.fidelity, program.links is None)
    if kind in _LOADED:
        return
    if program.fidelity == "flow":
        flow.load_kernels(program)
    else:
        s, x = start(program, 0, 0)
        termination.in_thread(lambda: engine.run(s, 0) if x is None else access_engine.run(x, 0))
    _LOADED.add(kind)  # not before: a compilation can be interrupted


def swarm_bytes(program: Program) -> int:
    """Memory that a swarm takes [B]."""
    return flow.state_bytes(program) if program.fidelity == "flow" else state_bytes(program)


def check_memory(scenario: Scenario, need: int) -> None:
    """Raise a ScenarioError if a swarm needs more memory [B] than there is."""
    have = memory.available()
    if need > have:
        raise ScenarioError(
            "leechers",
            scenario.leechers,
            f"needs {need / 1e9:,.1f} GB of memory for {scenario.swarm.pieces} pieces and this upload limit",
            f"{have / 1e9:,.1f} GB: fewer leechers, a lower upload_limit or a smaller file_size / piece_size",
        )


def _replica(program: Program, seed: int, number: int, progress: Callable[[float], None] | None) -> Replica:
    """Run one replica and keep what is kept of it."""
    from btflow.swarm.replica import collect

    leecher = program.is_seed == 0
    pieces = program.target * program.rules.pieces

    def watch(s: Swarm | Flow, _: Access | None) -> None:
        if progress is not None:
            progress(number + min(1.0, int(held(s)[leecher].sum()) / pieces))

    begun = time.process_time()
    state, links = run_with_links(program, seed, number, watch)
    row = collect(program, state, time.process_time() - begun, links)
    if progress is not None:
        progress(number + 1)
    return row
