"""Uploads in closed form against the limiter turn by turn: when each block is in its socket, and that none is lost."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import plain
import pytest
import states
from hypothesis import event, given, settings, strategies as st
from naive import UnitLimiter

from btflow.swarm.program import compile_scenario

CONNECTIONS, UNIT, HEADER = 6, 1380, 13
PROGRAM = compile_scenario(states.scenario(leechers=CONNECTIONS, file_size="1000001 B", piece_size="256 KiB"), "flow")
RULES = PROGRAM.rules
TICK = Fraction(1, 1009)
"""Grain of the times of requests [s]: no multiple of a turn."""

Request = tuple[Fraction, int, list[tuple[int, int]]]
"""When, on which connection, and which blocks: (piece, number in it)."""

LAST = (RULES.pieces - 1, RULES.last_piece_blocks - 1)
"""The file's last block, which is short."""


def size(block: tuple[int, int]) -> int:
    return int(RULES.last_block_size if block == LAST else RULES.block_size)


def closed_form(requests: list[Request], cap: Fraction) -> tuple[dict[tuple[int, int], float], Any]:
    """Return when the engine writes each block, and its state."""
    s = plain.flow.build(PROGRAM, 1, 0)
    uploads = plain.flow.uploads
    s.peer.upload_limit[0], s.peer.per_byte[0] = float(cap), 1 / float(cap)
    s.peer.top[0] = CONNECTIONS
    for u in range(CONNECTIONS):
        s.lane.state[u] = plain.flow.state.SERVING
        s.lane.h[u], s.lane.g[u] = u, (u + 1) << s.rules.slot_bits
        s.end.lane[u] = u
        for piece in range(RULES.pieces):
            s.begun.piece[u + 1, piece] = piece
    written: dict[tuple[int, int], float] = {}

    def got_block(s: Any, u: int, _: int, entry: int, b: int, bytes_: int, stale: bool, __: float, t: float) -> bool:
        assert not stale
        assert bytes_ == size((int(entry), int(b)))
        assert (int(entry), int(b)) not in written
        written[int(entry), int(b)] = float(t)
        s.lane.outstanding[u] -= 1
        return False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uploads, "got_block", got_block)
        for at, u, blocks in requests:
            if s.peer.next_at[0] <= at:
                uploads.advance(s, 0, float(at))
            mask = np.uint64(sum(1 << b for _, b in blocks))
            plain.flow.requests.ask(s, u, blocks[0][0], mask, len(blocks), float(at), float(at))
        uploads.advance(s, 0, 1e7)
    return written, s


def turn_by_turn(requests: list[Request], cap: Fraction) -> dict[tuple[int, int], float]:
    """Return when the limiter's loop writes each block."""
    naive = UnitLimiter(cap, CONNECTIONS, UNIT)
    names: list[tuple[int, int]] = []
    for at, u, blocks in requests:
        for block in sorted(blocks):
            naive.request(u, len(names), size(block) + HEADER, at)
            names.append(block)
    naive.advance(Fraction(10**7))
    return {names[name]: float(t) for t, _, name in naive.written}


@st.composite
def scripts(draw: st.DrawFn, connections: int = CONNECTIONS) -> list[Request]:
    """Requests in bursts, each block at most once, a connection's in order."""
    left = {p: list(range(RULES.blocks if p < LAST[0] else RULES.last_piece_blocks)) for p in range(RULES.pieces)}
    found: list[Request] = []
    bursts = st.tuples(st.integers(1, 60_000), st.integers(0, connections - 1), st.integers(1, 5))
    for at, u, n in sorted(draw(st.lists(bursts, min_size=1, max_size=9))):
        piece = draw(st.sampled_from([p for p, numbers in left.items() if numbers]))
        numbers = draw(st.permutations(left[piece]))[:n]
        left[piece] = [b for b in left[piece] if b not in numbers]
        found.append((at * TICK, u, [(piece, b) for b in numbers]))
    return found


CAPS = st.integers(5_000, 200_000).map(Fraction)


def late(requests: list[Request], cap: Fraction) -> dict[tuple[int, int], float]:
    """Return by how many turns each block is written later than turn by turn; all that is asked for is written."""
    written, s = closed_form(requests, cap)
    expected = turn_by_turn(requests, cap)
    asked = {block for _, _, blocks in requests for block in blocks}
    assert set(written) == set(expected) == asked
    assert s.peer.bytes_up[0] == sum(size(block) for block in asked)
    assert s.peer.active[0] == 0
    assert (s.lane.runs == 0).all()
    assert (s.lane.outstanding[:CONNECTIONS] == 0).all()
    return {block: (written[block] - expected[block]) * float(cap) / UNIT for block in asked}


@settings(max_examples=100)
@given(scripts(), CAPS)
def test_blocks_are_written_within_a_round_of_turns(requests: list[Request], cap: Fraction) -> None:
    """A round is one turn of each connection; which of them comes first in it is not kept."""
    connections = len({u for _, u, _ in requests})
    found = late(requests, cap)
    assert max(found.values()) < connections + 1
    assert min(found.values()) > -connections - 1
    event(f"{connections} connections")


@settings(max_examples=50)
@given(scripts(connections=1), CAPS)
def test_a_connection_alone_is_as_turn_by_turn(requests: list[Request], cap: Fraction) -> None:
    assert list(late(requests, cap).values()) == pytest.approx([0.0] * sum(len(b) for *_, b in requests), abs=1e-5)


def test_a_block_that_joins_another_connection_gains_half_a_turn_at_most() -> None:
    """The limiter lets who joins wait for half a turn more in the mean than the closed form: it adds up."""
    joins = 13
    busy: list[Request] = [(TICK, 0, [(piece, b) for b in range(RULES.blocks)]) for piece in range(RULES.pieces - 1)]
    others: list[Request] = [(TICK + (2 + 3 * i), 1, [(LAST[0], i)]) for i in range(joins)]
    found = late(busy + others, Fraction(20_000))
    last = found[RULES.pieces - 2, RULES.blocks - 1]
    assert -0.5 * joins - 1 < last < 1
