"""The request pipeline: its floor and refill, and the books of requested blocks through any sequence of messages."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import plain
import pytest
import states
from hypothesis import event, given, settings, strategies as st
from naive import refill, request_floor

BLOCK = 16384
UNREQUESTED, MISSING = plain.state.UNREQUESTED, plain.state.MISSING
WANTING, SERVED = plain.state.WANTING, plain.state.SERVED

FAST = states.program(leechers=1, file_size="8 MB", upload_limit="10 MB/s", rules={"ideal": 0})
SMALL = states.program(leechers=5, file_size="1000 KiB", piece_size="64 KiB", rules={"ideal": 0})


def at_rate(s: Any, h: int, rate: float, t: float) -> None:
    """Let the estimate of end `h` be `rate` [B/s] when it is read at `t`."""
    c = s.conn[h]
    c.dn_rate, c.dn_since, c.dn_last = rate, t - 20.0, t


@pytest.mark.parametrize(
    ("rate", "floor"),
    [(0, 2), (4095, 2), (4096, 3), (5 * 1024, 3), (20 * 1024, 7), (192 * 1024, 50), (200 * 1024, 50), (10**7, 183)],
)
def test_floor_of_the_pipeline(rate: float, floor: int) -> None:
    s = states.connected(FAST)
    h = states.end(s, 1, 0)
    at_rate(s, h, rate, 100.0)
    assert plain.requests.backlog(s, h, 100.0) == floor == request_floor(rate)


@settings(max_examples=100)
@given(
    st.floats(0, 1e7),
    st.integers(0, 260),
    st.lists(st.tuples(st.integers(0, 31), st.integers(0, 16)), max_size=20),
    st.booleans(),
)
def test_a_refill_asks_for_as_much_as_the_rule(
    rate: float, outstanding: int, asked_before: list[tuple[int, int]], random_first: bool
) -> None:
    s = states.connected(FAST)
    h, t = states.end(s, 1, 0), 100.0
    states.tell(s, 0, 1)
    s.dn[h] |= WANTING | SERVED
    at_rate(s, h, rate, t)
    if not random_first:
        states.give(s, 1, range(4))
    left = {piece: 16 for piece in range(32) if random_first or piece >= 4}
    for piece, n in asked_before:
        if left.get(piece) == 16:
            left[piece] = 16 - n
            s.blocks[1, piece, UNREQUESTED] &= ~((1 << n) - 1) & 0xFFFF
            s.peer[1].unrequested -= n
            if n == 16:
                plain.bits.drop_piece(s.want, 1, piece)
    s.conn[h].outstanding = outstanding
    plain.downloading.request_more(s, h, s.scratch[1], 0, t)
    made = [(piece, len(list(run))) for piece, run in groupby(block // 16 for block in states.requested(s, 1, 0))]
    unpicked = [n for piece, n in left.items() if n > 0 and piece not in dict(made)]
    assert [n for _, n in made] == refill(outstanding, rate, [*(left[piece] for piece, _ in made), *unpicked])
    event(f"{min(len(made), 4)} pieces")


def test_first_requests_are_two() -> None:
    s = states.connected(FAST)
    h = states.end(s, 1, 0)
    states.tell(s, 0, 1)
    plain.downloading.got_bitfield(s, h, 1.0)
    plain.downloading.got_unchoke(s, h, 5.0)
    assert len(states.requested(s, 1, 0)) == 2


class Books:
    """Peer 1's downloads from the seed and four leechers, and what must hold of them after every message."""

    def __init__(self, complete: int = 0) -> None:
        self.s = states.connected(SMALL)
        self.t = 0.0
        self.neighbours = (0, 2, 3, 4, 5)
        states.give(self.s, 1, range(complete))
        self.hear(0)

    def end(self, q: int) -> int:
        return states.end(self.s, 1, q)

    def hear(self, q: int) -> None:
        """Peer `q` tells of all it has."""
        plain.engine.tell(self.s, states.end(self.s, q, 1), int(self.s.n_log[q]), self.t)

    def do(self, wait: float, what: str, q: int, number: int) -> None:
        s, h = self.s, self.end(q)
        self.t += wait
        s.clock[0].now = self.t
        if what == "unchoke":
            plain.downloading.got_unchoke(s, h, self.t)
        elif what == "choke":
            plain.downloading.got_choke(s, h, self.t)
        elif what == "have" and q != 0:
            missing = [x for x in range(s.rules.pieces) if not plain.bits.has_piece(s.has, q, x)]
            if missing:
                states.give(s, q, [missing[number % len(missing)]])
                self.hear(q)
        elif what == "blocks":
            for _ in range(number):
                self.receive(h)
        self.check()

    def receive(self, h: int) -> None:
        """The next block arrives that was requested on end `h`."""
        s, c = self.s, self.s.conn[h]
        for seq in range(c.dn_next, c.dn_tail):
            if plain.limiter.entry(s, s.mate[h], seq) >= 0 and s.n_log[1] < s.rules.pieces:
                plain.downloading.got_block(s, h, seq, self.t)
                return

    def check(self) -> None:
        s, blocks = self.s, self.s.rules.blocks
        asked = {q: states.requested(s, 1, q) for q in self.neighbours}
        for q, requests in asked.items():
            assert len(requests) == len(set(requests)) == s.conn[self.end(q)].outstanding
            assert all(plain.picking.knows(s, self.end(q), block // blocks) for block in requests)
            assert not requests or s.dn[self.end(q)] & SERVED
        free = self.blocks(UNREQUESTED)
        missing = self.blocks(MISSING)
        together = [block for requests in asked.values() for block in requests]
        assert set(together) <= missing
        assert len(free) == s.peer[1].unrequested
        assert {x for x in range(s.rules.pieces) if plain.bits.has_piece(s.want, 1, x)} == {b // blocks for b in free}
        if plain.ends.in_endgame(s, 1):
            assert not free
        else:
            assert len(together) == len(set(together))
            assert not set(together) & free
            assert set(together) | free == missing
            for q, requests in asked.items():
                self.check_interest(q, requests, free)

    def check_interest(self, q: int, requests: list[int], free: set[int]) -> None:
        """We are interested in whoever has a block nobody was asked for or owes us one, and never idle if served."""
        h = self.end(q)
        usable = any(plain.picking.knows(self.s, h, block // self.s.rules.blocks) for block in free)
        assert bool(self.s.dn[h] & WANTING) == bool(requests or usable)
        if self.s.dn[h] & SERVED and usable:
            assert len(requests) >= request_floor(float(self.s.conn[h].dn_rate))

    def blocks(self, which: int) -> set[int]:
        """Numbers of the blocks in one of the masks of peer 1."""
        s = self.s
        return {
            piece * s.rules.blocks + b
            for piece in range(s.rules.pieces)
            for b in range(s.rules.blocks)
            if int(s.blocks[1, piece, which]) >> b & 1
        }


MESSAGES = st.sampled_from(["unchoke", "choke", "have", "blocks", "blocks"])


@settings(max_examples=80)
@given(
    st.lists(
        st.tuples(st.floats(0.01, 8.0), MESSAGES, st.sampled_from([0, 2, 3, 4, 5]), st.integers(1, 15)),
        min_size=5,
        max_size=60,
    ),
    st.integers(0, SMALL.rules.pieces - 1),
)
def test_every_missing_block_is_requested_once_or_waits(
    messages: list[tuple[float, str, int, int]], complete: int
) -> None:
    books = Books(complete)
    for wait, what, q, number in messages:
        books.do(wait, what, q, number)
    s = books.s
    event("complete" if s.n_log[1] == s.rules.pieces else "endgame" if plain.ends.in_endgame(s, 1) else "before")


def test_requests_lost_to_a_choke_go_to_the_others() -> None:
    books = Books()
    every = list(range(SMALL.rules.pieces))
    states.give(books.s, 2, every[:1])
    books.hear(2)
    books.do(1.0, "unchoke", 2, 0)
    lost = set(states.requested(books.s, 1, 2))
    assert len(lost) == 2
    states.give(books.s, 3, every[:1])
    books.hear(3)
    at_rate(books.s, books.end(3), 6000.0, books.t)  # a floor of 3: room for one more request once it has two
    books.do(1.0, "unchoke", 3, 0)
    assert states.requested(books.s, 1, 3) == [2, 3]  # what is left of the only piece it has
    books.do(1.0, "choke", 2, 0)
    assert states.requested(books.s, 1, 2) == []
    assert set(states.requested(books.s, 1, 3)) & lost


def test_blocks_of_requests_given_back_are_discarded_when_they_come() -> None:
    books = Books()
    books.do(1.0, "unchoke", 0, 0)
    h, s = books.end(0), books.s
    books.do(1.0, "choke", 0, 0)
    before = books.blocks(MISSING)
    assert not plain.downloading.got_block(s, h, 0, books.t)
    assert books.blocks(MISSING) == before
    assert s.peer[1].duplicates == 1
