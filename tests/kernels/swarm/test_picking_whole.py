"""Pickers that fetch whole pieces, or the piece with the fewest blocks left: each choice is one the rules allow."""

from __future__ import annotations

from collections import Counter

import plain
import pytest
import states
from hypothesis import event, given, settings, strategies as st
from test_picking import NOTHING, OTHERS, PIECES, UNREQUESTED, Position, positions

MISSING = plain.state.MISSING

PIECE = 2**15
MADE = {
    name: states.program(
        leechers=OTHERS + 1, file_size=f"{PIECES * 32 - 20} KiB", piece_size="32 KiB", client={"base": name}
    )
    for name in ("libtorrent-2", "transmission-4")
}
SECONDS = 20.0
"""A connection takes what it brings in this time for itself (libtorrent settings_pack.cpp, whole_pieces_threshold)."""
AT_RANDOM = 4
"""Pieces that are taken in any order (settings_pack.cpp, initial_picker_threshold)."""


def free_blocks(at: Position, piece: int) -> int:
    return int(at.s.blocks[1, piece, UNREQUESTED]).bit_count()


def is_open(at: Position, piece: int) -> bool:
    return free_blocks(at, piece) == states.blocks_of(at.s, piece)


def hold(at: Position, q: int, pieces: range) -> None:
    """Let the connection to `q` have some open pieces for itself."""
    y = at.s.tally[states.end(at.s, 1, q)]
    y.held_from, y.held_to = pieces.start, pieces.stop
    for piece in pieces:
        plain.bits.drop_piece(at.s.want, 1, piece)


def held(at: Position) -> set[int]:
    return {
        x
        for q in at.known
        for x in range(*(int(at.s.tally[states.end(at.s, 1, q)][f]) for f in ("held_from", "held_to")))
    }


def usable(at: Position, q: int) -> set[int]:
    """Pieces of which peer 1 may ask `q` for some block that is nobody's."""
    s, h = at.s, states.end(at.s, 1, q)
    pieces = {piece for piece in at.known[q] if free_blocks(at, piece)} - held(at)
    if s.dn[h] & plain.state.SERVED:
        return pieces
    allowed = int(s.tally[h].allowed)
    return pieces & {int(piece) for piece in s.fast[1, :allowed]} if allowed else set()


def shared(at: Position, q: int, piece: int) -> bool:
    """Whether another connection than that to `q` is to bring blocks of a piece."""
    s, h = at.s, states.end(at.s, 1, q)
    coming = int(s.blocks[1, piece, MISSING] & ~s.blocks[1, piece, UNREQUESTED])
    for seq in range(int(s.conn[h].dn_next), int(s.conn[h].dn_tail)):
        block = int(plain.limiter.entry(s, plain.ends.mate(s, h), seq))
        coming &= ~(1 << block % 2) if block // 2 == piece else ~0
    return coming != 0


def copies(at: Position) -> Counter[int]:
    return Counter(piece for known in at.known.values() for piece in known)


@st.composite
def served(draw: st.DrawFn, name: str) -> tuple[Position, int]:
    """A position, and a neighbour that serves peer 1, at some rate, or allows it some pieces."""
    at, q = draw(positions(MADE[name])), draw(st.sampled_from([0, 2, 3, 4, 5]))
    h = states.end(at.s, 1, q)
    y = at.s.tally[h]
    if draw(st.booleans()):
        at.s.dn[h] |= plain.state.SERVED
        y.rate = PIECE / SECONDS * draw(st.sampled_from([0.0, 0.5, 1.5, 4.2, 40.0]))
    else:
        y.allowed = draw(st.integers(0, 5)) if name == "libtorrent-2" else 0  # the others have no sets
    y.snubbed = draw(st.booleans())
    for piece in at.begun:
        for b in range(draw(st.integers(0, states.blocks_of(at.s, piece) - free_blocks(at, piece)))):
            plain.requests.enter(at.s, h, 2 * piece + b)  # the others of the piece are under way elsewhere
    for other in (0, 2, 3, 4, 5):
        start, length = draw(st.integers(0, PIECES - 1)), draw(st.sampled_from([0, 0, 2, 4]))
        pieces = range(start, min(start + length, PIECES))
        if pieces and all(is_open(at, x) and x not in held(at) for x in pieces):
            hold(at, other, pieces)
    return at, q


@pytest.mark.slow
@settings(max_examples=300)
@given(served("libtorrent-2"))
def test_fast_connections_take_whole_pieces_and_slow_ones_share_what_is_begun(drawn: tuple[Position, int]) -> None:
    at, q = drawn
    s, h = at.s, states.end(at.s, 1, q)
    y = s.tally[h]
    mine = [x for x in range(int(y.held_from), int(y.held_to)) if free_blocks(at, x)]
    others, can, known = held(at) - set(mine), usable(at, q), copies(at)
    alone = int(y.rate * SECONDS / PIECE)
    many = 2 * len([x for x in at.begun if free_blocks(at, x) and x not in held(at)]) > 3 * int(s.peer[1].complete)
    alone = 0 if many else alone
    common = bool(y.snubbed) and not many  # peer_connection.cpp, picker_options
    was_open = {x for x in range(PIECES) if is_open(at, x)}

    def order(piece: int) -> tuple[int, ...]:
        begun = piece not in was_open
        if s.n_log[1] < AT_RANDOM:  # what is begun in order, then anything
            return (2 if not begun else int(alone > 0 and shared(at, q, piece)), piece if begun else 0)
        last = (many and not begun) or (alone > 0 and shared(at, q, piece))
        return (last, -known[piece] if common else known[piece], begun == common, begun * many * free_blocks(at, piece))

    chosen = int(plain.picking_whole.next_piece(s, h))
    if mine:
        assert chosen == mine[0]
        event("its own")
        return
    if not can:
        assert chosen == NOTHING
        event("nothing")
        return
    best = {x for x in can if order(x) == min(order(x) for x in can)}
    taken = range(int(y.held_from), int(y.held_to))
    if alone > 0 and chosen not in was_open and not shared(at, q, chosen):
        assert chosen in best
        assert set(taken) == {chosen}  # all that is free of it
        event("begun and nobody else's")
    elif best <= was_open and alone > 0:
        assert chosen == taken.start
        assert set(taken) & best
        assert len(taken) <= alone
        assert set(taken) <= (was_open - others) & (can | set(taken) if s.dn[h] & plain.state.SERVED else can)
        for beside in (taken.start - 1, taken.stop):
            if len(taken) < alone:
                assert beside not in can & was_open
        event(f"whole pieces: {len(taken)}")
    else:
        assert chosen in best
        assert not len(taken) or set(taken).isdisjoint(can)
        event("begun" if chosen not in was_open else "new")


@settings(max_examples=150)
@given(served("transmission-4"))
def test_transmission_asks_for_the_piece_with_the_fewest_blocks_left(drawn: tuple[Position, int]) -> None:
    at, q = drawn
    can, known = usable(at, q), copies(at)
    left = {x: (free_blocks(at, x), known[x]) for x in can}
    best = {x for x in can if left[x] == min(left.values())}
    assert int(plain.picking_whole.next_piece(at.s, states.end(at.s, 1, q))) in (best or {NOTHING})
    event(f"pieces to choose from: {min(len(can), 5)}")


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_a_choked_client_asks_for_its_set_as_its_requests_are_rejected(kept: int) -> None:
    """peer_connection.cpp, incoming_reject_request; `kept` of those outstanding are of its set, and not rejected."""
    s = states.connected(MADE["libtorrent-2"])
    states.tell(s, 0, 1)
    h = states.end(s, 1, 0)
    s.dn[h] |= plain.state.SERVED | plain.state.WANTING
    y, blocks = s.tally[h], int(s.rules.blocks)
    y.allowed, y.queue, y.slow = 5, 4, 0
    its_set = {int(piece) for piece in s.fast[1, :5]}
    own = [piece * blocks + b for piece in sorted(its_set) for b in range(blocks)][:kept]
    others = [piece * blocks for piece in range(PIECES) if piece not in its_set][: 4 - kept]
    for block in own + others:
        piece = block // blocks
        plain.picking.begin(s, h, piece)
        plain.bits.drop_block(s.blocks, 1, piece, UNREQUESTED, block - piece * blocks)
        s.peer[1].unrequested -= 1
        plain.requests.enter(s, h, block)
    plain.downloading.got_choke(s, h, 0.0)
    now = states.requested(s, 1, 0)
    assert {block // blocks for block in now} <= its_set
    assert set(own) <= set(now)
    assert len(now) == (4 if kept < 2 else 2)
