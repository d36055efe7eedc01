"""HAVE: everybody connected is told of a verified piece, each after its own delay."""

from __future__ import annotations

from typing import Any

import plain
import pytest
import states
from states import run_until

from btflow.swarm.network import PathMatrix
from btflow.swarm.program import compile_scenario

STATE = plain.state
PIECE = 2
FILE: dict[str, Any] = {"file_size": "1 MB", "transport": {"nagle": False}}


def about_to_complete(s: Any, p: int) -> int:
    """Let `p` lack one block of one piece, asked of the seed; return its end of that connection."""
    h = states.end(s, p, 0)
    s.blocks[p, PIECE, STATE.UNREQUESTED] = 0
    s.blocks[p, PIECE, STATE.MISSING] = 1
    s.peer[p].unrequested -= states.blocks_of(s, PIECE)
    plain.bits.drop_piece(s.want, p, PIECE)
    plain.picking.begin(s, h, PIECE)
    s.dn[h] |= STATE.WANTING
    plain.requests.enter(s, h, PIECE * s.rules.blocks)
    return h


@pytest.mark.parametrize("rtt", ["0 ms", "100 ms"])
@pytest.mark.parametrize("behind_a_block", [False, True])
def test_have_goes_to_every_neighbour_those_that_hold_the_piece_included(
    rtt: str, behind_a_block: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = states.connected(states.program(leechers=4, rtt=rtt, upload_limit="20 kB/s", **FILE))
    h = about_to_complete(s, 1)
    states.give(s, 2, [PIECE])  # beside the seed, which has everything
    others = (0, 2, 3, 4)
    if behind_a_block:  # what is being sent to 2 and to 3 must end first
        for q in (2, 3):
            e = states.end(s, 1, q)
            s.up[e] = states.UNCHOKED | states.TOLD | states.INTERESTED
            states.requests(s, e)[0] = PIECE * s.rules.blocks
            plain.limiter.got_request(s, e, 1, 0.0)
        run_until(s, 0.5)
    states.set_clock(s, 0.5)
    plain.engine.piece_arrived(s, h, 0, 0.5)
    assert s.n_log[1] == 1
    monkeypatch.setattr(plain.engine, "piece_arrived", lambda *_: None)  # the blocks are nobody's
    run_until(s, 0.5 + 0.051)
    assert {q for q in others if s.told[states.end(s, 1, q)]} == ({0, 4} if behind_a_block else {0, 2, 3, 4})
    run_until(s, 3.0)
    assert [int(s.told[states.end(s, 1, q)]) for q in others] == [1, 1, 1, 1]
    assert [int(s.copies[PIECE, q]) for q in others] == [1, 1, 1, 1]


def test_have_reaches_each_neighbour_after_half_its_own_round_trip() -> None:
    scenario = states.scenario(leechers=5, leecher_as=["AS1", "AS3", "AS5"], seed_as=["AS2"], **FILE)
    s = states.connected(compile_scenario(scenario))
    matrix = scenario.paths.matrix
    assert isinstance(matrix, PathMatrix)
    places = [*scenario.classes[0].placement(), *scenario.classes[1].placement()]
    delays = {q: matrix.between(places[1], places[q]) / 2 for q in (0, 2, 3, 4, 5)}
    assert len(set(delays.values())) >= 3
    h = about_to_complete(s, 1)
    states.set_clock(s, 10.0)
    plain.engine.piece_arrived(s, h, 0, 10.0)
    heard: dict[int, float] = {}
    while len(heard) < len(delays):
        n = plain.calendar.pop(s)
        t = float(s.clock[0].now)
        plain.engine.handle(s, n, t)
        for q in delays:
            if s.told[states.end(s, 1, q)] and q not in heard:
                heard[q] = t
        assert t < 11.0
    assert heard == {q: pytest.approx(10.0 + delay) for q, delay in delays.items()}


def test_have_makes_a_neighbour_that_lacks_the_piece_interested() -> None:
    s = states.connected(states.program(leechers=3, rtt="100 ms", **FILE))
    h = about_to_complete(s, 1)
    states.give(s, 2, [PIECE])
    plain.engine.piece_arrived(s, h, 0, 0.0)
    run_until(s, 0.06)
    assert [bool(s.dn[states.end(s, q, 1)] & STATE.WANTING) for q in (2, 3)] == [False, True]


def test_a_client_that_batches_lets_a_have_wait_for_another_message_or_ten_seconds() -> None:
    """Transmission 3.00: what is written after 6 s leaves with the look at 6.5 s, a HAVE alone 10 s after its piece."""
    made = states.program(leechers=3, rtt="100 ms", client={"base": "transmission-3"}, transport={"nagle": False})
    s = states.connected(made)
    s.peer.start[:] = 0.0
    states.set_clock(s, 5.0)
    states.give(s, 1, [3], 5.0)
    plain.messages.announce_have(s, 1, 5.0)
    kinds = (plain.state.HAVE, plain.state.INTERESTED)

    def under_way() -> list[tuple[float, int, int]]:
        found = [(round(t, 6), kind, states.other(s, h)) for t, kind, h, _ in states.pending(s)]
        return [(t, kind, q) for t, kind, q in found if kind in kinds]

    assert not under_way()
    plain.messages.send(s, states.end(s, 1, 2), plain.state.INTERESTED, 0, 6.2)
    assert [kind for _, kind, _ in under_way()] == list(kinds)
    assert {t for t, _, _ in under_way()} == {6.55}
    plain.messages.send_due_haves(s, 1, 14.9)
    assert len(under_way()) == 2
    plain.messages.send_due_haves(s, 1, 15.0)
    assert sum(kind == plain.state.HAVE for _, kind, _ in under_way()) == 3
