"""Piece selection: the piece asked for is one of those the rules allow, and chance falls where they say."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import plain
import states
from hypothesis import event, given, settings, strategies as st
from naive import admissible_pieces

from btflow.swarm.program import Program

PIECES = 24
OTHERS = 4  # leechers 2 to 5, beside peer 1 and the seed
PROGRAM = states.program(leechers=OTHERS + 1, file_size=f"{PIECES * 32 - 20} KiB", piece_size="32 KiB")
NOTHING = plain.picking.NOTHING
UNREQUESTED = plain.state.UNREQUESTED

piece_lists = st.lists(st.integers(0, PIECES - 1), unique=True)


class Position:
    """Peer 1 amid its neighbours, in the engine and as plain sets."""

    def __init__(self, seed: int = 1, made: Program = PROGRAM) -> None:
        self.s = states.connected(made, seed)
        self.known: dict[int, set[int]] = {q: set() for q in (0, *range(2, OTHERS + 2))}
        self.begun: set[int] = set()
        self.on_seeds: set[int] = set()

    def own(self, pieces: list[int]) -> None:
        states.give(self.s, 1, pieces)

    def other(self, q: int, pieces: list[int], told: int) -> None:
        """Let neighbour `q` have pieces, of which peer 1 knows the first `told`."""
        if q != 0:
            states.give(self.s, q, pieces)
        states.tell(self.s, q, 1, min(told, int(self.s.n_log[q])))
        self.known[q] = {int(x) for x in self.s.have_log[q, : self.s.told[states.end(self.s, q, 1)]]}

    def begin(self, piece: int, requested: int, from_seed: bool) -> None:
        """Let peer 1 have requested the first blocks of a piece it has not."""
        s, blocks = self.s, states.blocks_of(self.s, piece)
        if plain.bits.has_piece(s.has, 1, piece) or piece in self.begun:
            return
        requested = min(requested, blocks)
        s.blocks[1, piece, UNREQUESTED] = ((1 << blocks) - 1) & ~((1 << requested) - 1)
        s.peer[1].unrequested -= requested
        if requested == blocks:
            plain.bits.drop_piece(s.want, 1, piece)
        plain.picking.begin(s, states.end(s, 1, 0 if from_seed else 2), piece)
        self.begun.add(piece)
        if from_seed or len(self.known[2]) == PIECES:  # neighbour 2 may be a seed, too
            self.on_seeds.add(piece)

    def usable(self, q: int) -> set[int]:
        missing = {piece for piece in range(PIECES) if int(self.s.blocks[1, piece, UNREQUESTED]) != 0}
        return self.known[q] & missing

    def admissible(self, q: int) -> set[int]:
        copies = Counter(piece for known in self.known.values() for piece in known)
        order = [int(piece) for piece in self.s.random_order[1]]
        complete = int(self.s.n_log[1])
        return admissible_pieces(
            self.usable(q), self.begun, self.on_seeds, copies, order, complete, len(self.known[q]) == PIECES
        )

    def chosen(self, q: int) -> int:
        return int(plain.picking.next_piece(self.s, states.end(self.s, 1, q)))


@st.composite
def positions(draw: st.DrawFn, made: Program = PROGRAM) -> Position:
    """Any state of the pieces that peers 0 to 5 can be in."""
    at = Position(draw(st.integers(0, 99)), made)
    at.own(draw(piece_lists.map(lambda pieces: pieces[:8])))
    if draw(st.booleans()):
        at.other(0, [], PIECES)  # else its bitfield is still under way
    for q in range(2, OTHERS + 2):
        at.other(q, draw(piece_lists), draw(st.integers(0, PIECES)))
    for piece in draw(piece_lists.map(lambda pieces: pieces[:8])):
        at.begin(piece, draw(st.integers(1, 2)), bool(at.known[0]) and draw(st.booleans()))
    return at


@settings(max_examples=150)
@given(positions())
def test_the_choice_is_one_the_rules_allow(at: Position) -> None:
    for q in at.known:
        allowed = at.admissible(q)
        choice = at.chosen(q)
        assert choice in (allowed or {NOTHING})
        event("nothing" if choice == NOTHING else "begun" if choice in at.begun else "new")


@settings(max_examples=60)
@given(positions())
def test_a_neighbour_is_interesting_if_it_has_something_unrequested(at: Position) -> None:
    for q in at.known:
        assert bool(plain.picking.some_wanted(at.s, states.end(at.s, 1, q)) >= 0) == bool(at.usable(q))


@settings(max_examples=25)
@given(positions())
def test_ties_between_begun_pieces_are_broken_at_random(at: Position) -> None:
    for q in at.known:
        allowed = at.admissible(q)
        drawn = {at.chosen(q) for _ in range(100)}
        if len(allowed) < 6 and allowed <= (at.on_seeds if len(at.known[q]) == PIECES else at.begun):
            assert drawn == (allowed or {NOTHING})
        else:
            assert len(drawn) == 1  # the order of new pieces is fixed


def test_the_order_within_a_rarity_class_differs_between_clients() -> None:
    choices = []
    for seed in range(300):
        at = Position(seed)
        at.own([20, 21, 22, 23])
        at.other(2, list(range(10)), PIECES)
        choices.append(at.chosen(2))
    assert set(choices) == set(range(10))
    assert max(Counter(choices).values()) < 30 + 5 * 27**0.5


def test_a_seed_is_asked_for_pieces_begun_on_seeds_only() -> None:
    at = Position()
    at.own([0, 1, 2, 3])
    at.other(0, [], PIECES)
    at.other(2, [4, 5], PIECES)
    at.begin(4, 1, from_seed=False)
    assert at.chosen(2) == 4  # the leecher has it, and it is begun
    assert at.chosen(0) not in (4, 5)  # the seed is asked for a rarer one
    at.begin(9, 1, from_seed=True)
    assert at.chosen(0) == 9


def test_a_piece_begun_on_a_seed_counts_as_begun_for_leechers_too() -> None:
    at = Position()
    at.own([0, 1, 2, 3])
    at.other(0, [], PIECES)
    at.other(2, [4, 5, 6], PIECES)
    at.begin(6, 1, from_seed=True)
    assert at.chosen(2) == 6


def test_the_first_pieces_come_in_the_clients_random_order() -> None:
    at = Position()
    at.other(2, list(range(PIECES)), PIECES)
    order = [int(piece) for piece in at.s.random_order[1]]
    assert sorted(order) == list(range(PIECES))
    assert at.chosen(2) == order[0]
    at.own(order[:3])
    assert at.chosen(2) == order[3]


def test_every_client_has_a_random_order_of_its_own() -> None:
    orders: Any = Position().s.random_order
    assert len(np.unique(orders, axis=0)) == len(orders)
