"""What must hold of any swarm at flow fidelity: at its end, in between, and however its run is cut into pieces."""

from __future__ import annotations

import flow_made as made
import flow_states
import numpy as np
import pytest
from completion import forwarding_bound
from engines import FLOW, in_flow
from hypothesis import HealthCheck, event, example, given, settings, strategies as st

from btflow.analytic import kumar_ross_bound
from btflow.kernels.flow.state import Flow
from btflow.kernels.swarm.state import FOREVER, IN_TURNS
from btflow.swarm.program import Program, compile_scenario
from btflow.swarm.run import run_swarm
from btflow.swarm.scenario import Scenario

SEEDS = st.integers(0, 2**32)

ALL_LEAVE = made.scenario(
    4,
    rates=(150.0,),
    seed_rate=250.0,
    swarm={"file_size": "60 kB"},
    departures={"stay": "leave", "discard": 1, "completions": 2},
)
"""All four leechers end in one look, while three downloads end the run: it once went on to the horizon."""


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
@pytest.mark.parametrize("case", FLOW)
def test_the_state_agrees_with_itself_from_beginning_to_end(case: str) -> None:
    states = 0
    for seed in range(3):
        for s in made.steps(in_flow(case), seed, 67):
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
