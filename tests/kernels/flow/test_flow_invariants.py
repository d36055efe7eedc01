"""What must hold of any swarm at flow fidelity: at its end, in between, and however its run is cut into pieces."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import flow_made as made
import flow_states
import numpy as np
import pytest
from completion import forwarding_bound
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from btflow.analytic import kumar_ross_bound
from btflow.kernels.flow import engine
from btflow.kernels.flow.state import Flow
from btflow.kernels.swarm.state import FOREVER, IN_TURNS
from btflow.swarm import flow
from btflow.swarm.program import Program, compile_scenario
from btflow.swarm.run import run_swarm
from btflow.swarm.scenario import Scenario
from btflow.swarm.state import grow

SEEDS = st.integers(0, 2**32)

ALL_LEAVE = made.scenario(
    4,
    rates=(150.0,),
    seed_rate=250.0,
    swarm={"file_size": "60 kB"},
    departures={"stay": "leave", "discard": 1, "completions": 2},
)
"""All four leechers end in one look, while three downloads end the run: it once went on to the horizon."""

CASES: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "no delay": ((12,), {"swarm": {"file_size": "1 MB"}}),
    "two classes, delay and loss": ((6, 6), {"rates": (10.0, 60.0), "paths": {"rtt": "300 ms", "loss": 0.05}}),
    "replaced": ((6,), {"departures": {"stay": "random", "mean_stay": 0.5, "replace": True, "completions": 20}}),
    "super-seeding": ((12,), {"super_seeding": True, "seed_rate": 60.0, "paths": {"rtt": "300 ms", "loss": 0.02}}),
    "two super-seeds, replaced": (
        (6,),
        {
            "super_seeding": True,
            "seeds": 2,
            "departures": {"stay": "random", "mean_stay": 0.5, "replace": True, "completions": 12},
        },
    ),
    "three super-seeds of two slots": (
        (12,),
        {
            "super_seeding": True,
            "seeds": 3,
            "seed_rate": 300.0,
            "swarm": {"file_size": "300 kB", "piece_size": "256 KiB"},
            "slots": 2,
            "paths": {"rtt": "300 ms", "loss": 0.02},
            "departures": {"stay": "random", "mean_stay": 0.5, "replace": True, "completions": 24},
        },
    ),
    "whole pieces, allowed-fast sets": ((12,), {"client": "libtorrent-2", "seed_rate": 60.0}),
    "whole pieces, delay and loss, replaced": (
        (6,),
        {
            "client": "libtorrent-2",
            "seed_rate": 100.0,
            "paths": {"rtt": "300 ms", "loss": 0.02},
            "departures": {"stay": "random", "mean_stay": 0.5, "replace": True, "completions": 20},
        },
    ),
    "drawn paths": ((9,), {"paths": {"internet": "iplane"}, "client": "libtorrent-2"}),
}


def case(name: str) -> Program:
    counts, options = CASES[name]
    return made.program(*counts, **{"swarm": {"file_size": "1 MB"}} | options)


def digest(s: Flow) -> str:
    """Return a hash of a final state, bit by bit."""
    found = hashlib.sha256()
    for name in ("have_time", "have_log", "peer", "end", "copies", "order", "gaps", "bursts", "rng", "births"):
        array = getattr(s, name)
        for field in array.dtype.names or [None]:
            found.update(np.ascontiguousarray(array if field is None else array[field]).tobytes())
    return found.hexdigest()


# -- the end ----------------------------------------------------------------------------------------------------------


def check_bytes(scenario: Scenario, program: Program, s: Flow) -> None:
    """What is sent is received, or under way in endgame; who is done has received the file, and what it got twice."""
    size, block = scenario.swarm.file_size, program.rules.block_size
    finished = (program.is_seed == 0) & (s.peer.done >= 0.0)
    dropped = s.peer.bytes_up.sum() - s.peer.bytes_down.sum() - flow_states.awaited_bytes(s)
    assert dropped >= 0  # as their connection was closed
    late = not program.rules.ideal or (program.client["limiter"] != IN_TURNS).any()
    assert dropped == 0 or (program.client["endgame"].any() and late)
    assert not s.peer.bytes_down[program.is_seed == 1].any()
    extra, short = s.peer.bytes_down[finished] - size, block - program.rules.last_block_size
    missing = s.peer.duplicates[finished] * block - extra  # of duplicates of the short last block
    assert (missing >= 0).all()
    assert (missing == 0).all() if short == 0 else (missing % short == 0).all()


def check_times(program: Program, s: Flow) -> None:
    """Who is done got each piece after its start, one after the other."""
    finished = np.flatnonzero((program.is_seed == 0) & (s.peer.done >= 0.0))
    assert len(finished) >= program.target
    assert (s.peer.n_log[finished] == program.rules.pieces).all()
    assert (np.sort(s.have_log[finished], axis=1) == np.arange(program.rules.pieces)).all()
    times = s.have_time[finished]
    assert (times >= s.peer.start[finished, None]).all()
    assert (np.diff(times, axis=1) >= 0.0).all()
    assert (times[:, -1] == s.peer.done[finished]).all()
    assert times.max() < program.rules.horizon
    assert (s.peer.left_at[finished] >= s.peer.done[finished]).sum() == (s.peer.left_at[finished] >= 0.0).sum()


def check_bounds(scenario: Scenario, program: Program, s: Flow) -> None:
    """Nobody is done before the seeds can have sent each byte once, nor the last before any schedule can be."""
    size, leechers = scenario.swarm.file_size, program.is_seed == 0
    seed_rate, rates = float(program.upload_limit[~leechers].sum()), program.upload_limit[leechers]
    done = s.peer.done[leechers & (s.peer.done >= 0.0)]
    assert done.min() >= size / seed_rate
    if len(done) == len(rates):
        assert done.max() >= kumar_ross_bound(size, seed_rate, rates)
        assert done.max() >= forwarding_bound(size, scenario.swarm.piece_size, seed_rate, rates)


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(made.scenarios(), SEEDS)
@example(ALL_LEAVE, 0)
def test_random_swarms_end_as_they_must(scenario: Scenario, seed: int) -> None:
    program = compile_scenario(scenario, "flow")
    s = run_swarm(program, seed, 0)
    assert isinstance(s, Flow)
    check_bytes(scenario, program, s)
    check_times(program, s)
    check_bounds(scenario, program, s)
    event(scenario.classes[0].client.name)
    event("no delay" if program.rules.ideal else "delay")
    event(f"super-seeding: {program.super_seeding}")
    event(f"departures: {scenario.departures.stay}, replace: {scenario.departures.replace}")
    event(f"endgame duplicates: {bool(s.peer.duplicates.any())}")


def test_downloads_beyond_the_last_that_counts_do_not_count() -> None:
    import btflow

    result = btflow.simulate(ALL_LEAVE, fidelity="flow", replicas=4)
    assert (result.counted.sum("peer") == 2).all()


# -- in between -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(made.scenarios(), SEEDS, st.integers(50, 1500))
def test_the_state_agrees_with_itself_at_any_time(scenario: Scenario, seed: int, looks: int) -> None:
    for n, s in enumerate(made.steps(compile_scenario(scenario, "flow"), seed, looks)):
        flow_states.check(s)
        if n == 8:
            break
    event(f"all done: {s.clock[0].unfinished <= 0}")
    event(f"endgame: {bool(s.peer.endgame.any())}")


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_state_agrees_with_itself_from_beginning_to_end(name: str) -> None:
    states = 0
    for seed in range(3):
        for s in made.steps(case(name), seed, 67):
            flow_states.check(s)
            states += 1
    assert states > 24


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(made.scenarios(), SEEDS, st.integers(1, 400))
def test_nobody_exceeds_its_cap_between_any_two_moments(scenario: Scenario, seed: int, looks: int) -> None:
    """In the time between two looks no more is written than the cap lets through, and the blocks begun before."""
    program = compile_scenario(scenario, "flow")
    rules = program.rules
    message = 1.0 + rules.header / rules.block_size
    before = (np.zeros(rules.peers), np.full(rules.peers, np.nan), np.zeros(rules.peers))
    for n, s in enumerate(made.steps(program, seed, looks)):
        begun = (s.finish < FOREVER).reshape(rules.peers, s.lanes).sum(axis=1) * (rules.block_size + rules.header)
        sent, now = s.peer.bytes_up * message, s.peer.now.copy()
        room = program.upload_limit * (now - np.where(np.isnan(before[1]), s.peer.start, before[1]))
        # A block that joins n others while none follows it is charged 1/(n+1) of a turn too little.
        slack = room / (2 * (rules.block_size // program.unit)) + 2 * program.unit * s.lanes
        slack += program.upload_limit * np.maximum(  # paid for before it is asked for
            program.client["limiter_interval"].max(), program.client["quota_kept"].max()
        )
        here = s.peer.tick_at > 0.0
        assert (sent - before[0] <= room + before[2] + slack)[here].all()
        before = (sent, np.where(here, now, np.nan), begun)
        if n == 40:
            break


# -- the same bits ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def expected() -> dict[str, str]:
    return {name: digest(flow.run(case(name), 7, 2)) for name in CASES}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("looks", [1, 13])
def test_any_number_of_looks_at_a_time_finds_the_same(name: str, looks: int, expected: dict[str, str]) -> None:
    s, outcome = flow.build(case(name), 7, 2), engine.MORE
    while outcome != engine.FINISHED:
        outcome = engine.run(s, looks)
        assert outcome != engine.STUCK
        if outcome == engine.FULL:
            s = grow(s)
    assert digest(s) == expected[name]


@pytest.mark.parametrize("name", CASES)
def test_threads_find_the_same(name: str, expected: dict[str, str]) -> None:
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda replica: digest(flow.run(case(name), 7, replica)), [2, 3, 2, 1, 2]))
    assert [found[i] for i in (0, 2, 4)] == [expected[name]] * 3
    assert len(set(found)) == 3


@pytest.mark.parametrize("name", CASES)
def test_a_longer_calendar_finds_the_same(name: str, expected: dict[str, str]) -> None:
    assert digest(_to_the_end(grow(grow(flow.build(case(name), 7, 2))))) == expected[name]


def _to_the_end(s: Flow) -> Flow:
    while (outcome := engine.run(s, 10_000)) != engine.FINISHED:
        assert outcome == engine.MORE
    return s
