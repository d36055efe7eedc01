"""A super-seed at flow fidelity: what it shows to whom, when that is known, and what it saves."""

from __future__ import annotations

from typing import Any

import flow_made as made
import flow_states as states
import numpy as np
from hypothesis import given, settings, strategies as st

from btflow.kernels.flow.state import Flow
from btflow.kernels.swarm.state import OPEN
from btflow.swarm.run import run_swarm


def shown(s: Flow) -> dict[int, set[int]]:
    """Return the pieces that the neighbours of peer 0 know of, by its open ends."""
    return {h: states.told_on(s, h) for h in states.ends_of(s, 0) if s.end.state[h] == OPEN}


def super_seeded(leechers: int, shows: bool = True, **options: Any) -> Any:
    """Return a swarm whose seed shows its pieces one by one."""
    return made.program(leechers, super_seeding=shows, **options)


def test_a_super_seed_shows_each_peer_another_piece() -> None:
    """Until somebody passes a piece on, each peer knows of one, the one shown least."""
    first: dict[int, set[int]] = {}
    for s in made.steps(super_seeded(5, swarm={"file_size": "1 MiB", "piece_size": "64 KiB"}), 7, 1):
        for h, pieces in shown(s).items():
            if pieces:
                first.setdefault(h, pieces)
    assert sorted(map(list, first.values())) == [[piece] for piece in range(5)]
    assert s.offers.sum() >= s.rules.pieces


def test_a_super_seed_sends_less_than_an_ordinary_one() -> None:
    sent = {}
    for shows in (True, False):
        program = super_seeded(8, shows, swarm={"file_size": "2 MB"}, seed_rate=100.0)
        sent[shows] = np.mean([run_swarm(program, 5, replica).peer.bytes_up[0] for replica in range(8)]) / 2e6
    assert 1.0 <= sent[True] < sent[False]


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.integers(0, 800), st.integers(2, 12))
def test_what_is_shown_is_only_added_to_while_a_connection_is_open(seed: int, rtt: int, leechers: int) -> None:
    """A connection's pieces grow, interest follows what is known, and all of them were shown at some time."""
    program = super_seeded(leechers, swarm={"file_size": "1 MB"}, paths={"rtt": f"{rtt} ms", "loss": 0.0})
    before: dict[tuple[int, int], set[int]] = {}
    for s in made.steps(program, seed, 25):
        now = {(h, int(s.end.generation[h])): pieces for h, pieces in shown(s).items()}
        assert all(before[key] <= now[key] for key in before.keys() & now.keys())
        assert s.offers.sum() >= sum(map(len, now.values()))
        before = now


def test_memory_grows_for_super_seeds_alone() -> None:
    from btflow.swarm import flow

    plain, showing = (flow.build(super_seeded(20, shows), 1, 0) for shows in (False, True))
    assert len(plain.has) == len(plain.shown) == plain.rules.peers
    assert len(plain.heard) == 1
    assert len(showing.has) == len(showing.shown) == showing.rules.peers + showing.rules.slots
