"""Run link experiments: `simulate_link(scenario, seed=) -> Dataset`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Unpack

from btflow import termination
from btflow.errors import InputError
from btflow.kernels.link import engine
from btflow.kernels.link.state import State
from btflow.link import fluid
from btflow.link.options import SHOWN, LinkOptions, scenario_from
from btflow.link.scenario import LinkScenario
from btflow.link.state import LinkProgram, build
from btflow.options import MAX_SEED, Fidelity, fidelity_of, whole_number
from btflow.signatures import offered

if TYPE_CHECKING:
    import xarray as xr


def simulate_link(
    scenario: LinkScenario | None = None,
    *,
    seed: int = 0,
    fidelity: Fidelity = "full",
    progress: Callable[[float], None] | None = None,
    **options: Unpack[LinkOptions],
) -> xr.Dataset:
    """Simulate flows over access links with queues.

    Args:
        scenario: What to simulate; or none, and the experiment is given by options.
        seed: Seed of the random numbers: losses, small differences of round-trip times and starts.
        fidelity: ``"full"``, where every packet is an event, or ``"flow"``, where windows and queues move without
            packets (docs/fidelity.md).
        progress: Called a few times a second with the share of the experiment done.
        options: Those of `btflow link` (``btflow.link.options.LinkOptions``), such as ``rate="1 Mbit/s", rtt="50 ms",
            buffer="100 packets", flows=["cubic:3", "ledbat:1@10s"], duration="300 s"``. Those not given, or None, have
            their defaults; the other direction is as the first unless it is given.

    Returns:
        A Dataset (btflow.link.results) with units in attrs. The same scenario and seed give the same bits anywhere.

    Raises:
        InputError: An argument is wrong, or the experiment does not fit into memory.
    """
    from btflow.link.program import compile_link
    from btflow.link.results import to_dataset

    if scenario is None:
        scenario = scenario_from(**options)
    elif options:
        raise InputError(next(iter(options)), None, "is given together with a scenario", "one of them")
    if not isinstance(scenario, LinkScenario):
        raise InputError("scenario", scenario, "is not a link experiment", 'such as btflow.load_link("geni")')
    seed = whole_number("seed", seed, 0, MAX_SEED)
    program = compile_link(scenario, fidelity_of("fidelity", fidelity))
    load_kernels(program)
    start = time.process_time()
    state = run_link(program, seed, progress)
    return to_dataset(scenario, program, state, seed, time.process_time() - start)


simulate_link.__signature__ = offered(simulate_link, SHOWN, others=False)  # type: ignore[attr-defined]  # inspect reads it


def load_kernels(program: LinkProgram) -> None:
    """Load or compile the kernels, so that this is not the experiment's CPU time."""
    if program.fidelity == "flow":
        fluid.load_kernels(program)
    else:
        termination.in_thread(lambda: engine.run(build(program, 0), 0))


def run_link(program: LinkProgram, seed: int, progress: Callable[[float], None] | None = None) -> State:
    """Run an experiment to its end and return its final state; the result does not depend on the chunks."""
    if program.fidelity == "flow":
        return fluid.run_fluid(program, seed, progress)
    state, events = build(program, seed), termination.FIRST_CHUNK
    while True:
        start = time.perf_counter()
        outcome = engine.run(state, events)
        if outcome == engine.DONE:
            return state
        events = termination.next_chunk(events, time.perf_counter() - start)
        if progress is not None:
            progress(float(state.clock[0].now) / program.rules.duration)
