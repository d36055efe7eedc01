"""Endgame, and requests that a choke gives back: who is asked, for how much, and in what order."""

from __future__ import annotations

from collections import Counter
from typing import Any

import plain
import pytest
import states

STATE = plain.state
SEEDS = range(60)


def last_piece(missing: int, seed: int = 1) -> Any:
    """Return a swarm in which peer 1 lacks the first blocks of one piece, which 2 and 3 have and 2 was asked for."""
    s = states.connected(states.program(leechers=3, rtt="100 ms", file_size="1 MB"), seed)
    states.give(s, 1, range(3))
    for q in (2, 3):
        states.give(s, q, [3])
        states.tell(s, q, 1)
    s.blocks[1, 3, STATE.MISSING] = (1 << missing) - 1
    s.blocks[1, 3, STATE.UNREQUESTED] = 0
    s.peer[1].unrequested = 0
    plain.bits.drop_piece(s.want, 1, 3)
    asked = states.end(s, 1, 2)
    plain.picking.begin(s, asked, 3)
    for block in range(missing):
        plain.requests.enter(s, asked, 48 + block)
    for q in (2, 3):
        s.dn[states.end(s, 1, q)] |= STATE.WANTING
    s.dn[asked] |= STATE.SERVED
    plain.ends.raise_flag(s.mode, 1, STATE.ENDGAME)
    return s


def unchoked_by_3(s: Any, rate: float = 0.0) -> list[int]:
    """Let 3 unchoke 1, which downloads from it at a rate; return the blocks then asked of it."""
    h, t = states.end(s, 1, 3), 5.0
    c = s.conn[h]
    c.dn_rate, c.dn_since, c.dn_last = rate, t - 20.0, t
    plain.downloading.got_unchoke(s, h, t)
    return states.requested(s, 1, 3)


@pytest.mark.parametrize(("rate", "missing", "asked"), [(0.0, 9, 2), (4096.0, 9, 3), (20480.0, 9, 7), (20480.0, 5, 5)])
def test_endgame_asks_for_no_more_than_the_floor(rate: float, missing: int, asked: int) -> None:
    assert len(unchoked_by_3(last_piece(missing), rate)) == asked


@pytest.mark.parametrize(("rate", "asked"), [(0.0, 2), (20480.0, 6)])
def test_endgame_asks_in_random_order(rate: float, asked: int) -> None:
    """Whether only some of the missing blocks can be asked for or all of them."""
    orders = [unchoked_by_3(last_piece(6, seed), rate) for seed in SEEDS]
    assert {len(set(order)) for order in orders} == {asked}
    for position in range(asked):
        counts = Counter(order[position] for order in orders)
        assert set(counts) == set(range(48, 54))
        assert max(counts.values()) < 3 * len(SEEDS) / 6
    assert max(Counter(map(tuple, orders)).values()) <= 8


def test_every_missing_block_has_the_same_chance_to_be_asked_for() -> None:
    s, draws = last_piece(6), 600
    h = states.end(s, 1, 3)
    s.dn[h] |= STATE.SERVED
    counts: Counter[int] = Counter()
    for _ in range(draws):
        plain.requests.request_missing(s, h, 2, 5.0)
        counts.update(states.requested(s, 1, 3))
        s.conn[h].dn_tail = s.conn[h].outstanding = 0
    assert set(counts) == set(range(48, 54))
    assert max(abs(n - draws / 3) for n in counts.values()) < 5 * (draws * 2 / 9) ** 0.5


def lost_to_others(seed: int) -> Any:
    """Return a swarm in which 2 chokes 1, which asked it for two blocks of a piece that 3, 4 and 5 have as well."""
    s = states.connected(states.program(leechers=5, rtt="100 ms", file_size="1 MB"), seed)
    for q in (2, 3, 4, 5):
        states.give(s, q, [0])
        states.tell(s, q, 1)
        s.dn[states.end(s, 1, q)] |= STATE.SERVED
    h = states.end(s, 1, 2)
    s.dn[h] |= STATE.WANTING
    plain.picking.begin(s, h, 0)
    for block in (14, 15):
        plain.requests.enter(s, h, block)
    s.blocks[1, 0, STATE.UNREQUESTED] = 0
    s.peer[1].unrequested -= 16
    plain.bits.drop_piece(s.want, 1, 0)
    return s


def test_lost_requests_are_offered_to_the_others_in_random_order() -> None:
    """The first that is offered them takes both; the others are left without, and uninteresting."""
    takers: Counter[int] = Counter()
    for seed in SEEDS:
        s = lost_to_others(seed)
        plain.downloading.got_choke(s, states.end(s, 1, 2), 5.0)
        asked = {q: states.requested(s, 1, q) for q in (2, 3, 4, 5)}
        (taker,) = [q for q, blocks in asked.items() if blocks]
        assert asked[taker] == [14, 15]
        assert [bool(s.dn[states.end(s, 1, q)] & STATE.WANTING) for q in (3, 4, 5)] == [q == taker for q in (3, 4, 5)]
        takers[taker] += 1
    assert set(takers) == {3, 4, 5}
    assert max(takers.values()) < 2 * len(SEEDS) / 3


def test_lost_requests_make_those_that_choke_us_interesting_again() -> None:
    s = lost_to_others(1)
    for q in (3, 4, 5):
        s.dn[states.end(s, 1, q)] &= ~STATE.SERVED & 0xFF
    plain.downloading.got_choke(s, states.end(s, 1, 2), 5.0)
    assert all(s.dn[states.end(s, 1, q)] & STATE.WANTING for q in (3, 4, 5))
    kinds = [(kind, target) for _, kind, target, _ in states.pending(s)]
    assert sorted(kinds) == sorted((int(STATE.INTERESTED), states.end(s, q, 1)) for q in (3, 4, 5))


def test_a_full_piece_makes_those_uninteresting_that_have_nothing_else() -> None:
    """But not one that owes us a block of it."""
    s = lost_to_others(1)
    for q in (3, 4, 5):
        s.dn[states.end(s, 1, q)] |= STATE.WANTING
    states.give(s, 4, [1])
    states.tell(s, 4, 1)
    plain.downloading.lose_interest(s, 1, 0, 1, 5.0)
    assert [bool(s.dn[states.end(s, 1, q)] & STATE.WANTING) for q in (2, 3, 4, 5)] == [True, False, True, False]
