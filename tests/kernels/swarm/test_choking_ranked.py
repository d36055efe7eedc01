"""Chokers that rank all peers by one order: histories of ticks, interest and bytes, against the rules by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import plain
import pytest
import states
from hypothesis import event, given, settings, strategies as st

NEIGHBOURS = 9
BLOCK = 16384
PROGRAMS = {
    name: states.program(leechers=NEIGHBOURS, file_size="1 MB", rules={"ideal": 0}, client={"base": name})
    for name in ("libtorrent-2", "transmission-4")
}
LIBTORRENT = PROGRAMS["libtorrent-2"].client[0]
Histories = st.lists(
    st.tuples(
        st.floats(0.01, 12.0),
        st.sampled_from(
            ["tick", "tick", "tick", "interested", "interested", "not interested", "got", "got", "sent", "sent"]
        ),
        st.integers(0, NEIGHBOURS - 1),
        st.integers(1, 30),
    ),
    min_size=5,
    max_size=45,
)
"""Sequences of (wait, event, neighbour, blocks)."""


SORTED: list[tuple[list[int], int, list[int]]] = [
    ([0, 2, 0, 2, 0, 2, 0, 2, 0, 1, 1, 0, 1, 0], 7, [13, 8, 0, 6, 11, 4, 2, 12, 10, 9, 7, 5, 3, 1]),
    ([0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 0], 8, [5, 10, 9, 3, 4, 0, 6, 8, 7, 2, 1]),
    ([1, 1, 3, 3, 0, 1, 3, 1, 0, 3, 0, 3], 10, [11, 1, 0, 10, 4, 5, 9, 7, 8, 6, 3, 2]),
    ([1, 9, 7, 10, 0, 4, 0, 2, 5], 5, [0, 4, 6, 7, 5, 8, 3, 2, 1]),
]
"""Numbers, how many of them go first, and the order in which their places are then."""


@dataclass
class Rival:
    """What a choker knows of a peer."""

    interested: bool = False
    unchoked: bool = False
    optimistic: bool = False
    unchoked_at: float = 0.0
    favoured_at: float = 0.0
    got: float = 0.0
    sent: float = 0.0
    sent_since: float = 0.0

    def key(self, t: float, piece: int) -> tuple[float, ...]:
        """libtorrent's order (choker.cpp, unchoke_compare_rr): the least goes first."""
        quota = float(LIBTORRENT["piece_quota"]) * piece
        done = self.unchoked and self.sent_since > quota and t - self.unchoked_at > float(LIBTORRENT["slot_time"])
        return (-self.got, done, -self.sent if self.unchoked else 0.0, self.unchoked_at)


class RoundRobin:
    """libtorrent's choker of one peer in the engine, and the same from the words of its source: counters of seconds."""

    def __init__(self, p: int, slots: int) -> None:
        self.made = PROGRAMS["libtorrent-2"]
        self.s = states.connected(self.made)
        self.p, self.slots, self.t, self.unchoke_in, self.optimistic_in = p, slots, 0.0, 0, 0
        self.s.peer[p].upload_slots, self.s.peer[p].start = slots, 0.0
        plain.calendar.insert(self.s, self.made.rules.peers + p, plain.choking_ranked.start_choker(self.s, p, 0.0))
        self.neighbours = [q for q in range(NEIGHBOURS + 1) if q != p]
        self.rivals = {q: Rival() for q in self.neighbours}
        self.piece = int(self.s.rules.blocks * self.s.rules.block_size)

    def flags(self, q: int) -> int:
        return int(self.s.up[states.end(self.s, self.p, q)])

    def second(self) -> None:
        """session_impl.cpp, on_tick, once a second: first the one counter, then the other."""
        looks = self.s.node[self.made.rules.peers + self.p].time
        assert looks > self.t - 1e-6  # it never misses a second
        if looks == self.t:
            plain.calendar.remove(self.s, self.made.rules.peers + self.p)
            plain.choking.tick(self.s, self.p, self.t)
        found = states.unchoked(self.s, self.p)
        self.unchoke_in -= 1
        if self.unchoke_in <= 0:
            self.unchoke_in = 15
            self.recalculate(found)
        self.optimistic_in -= 1
        if self.optimistic_in <= 0:
            self.optimistic_in = 30
            self.favour()
        assert found == {q for q, r in self.rivals.items() if r.unchoked}

    def recalculate(self, found: set[int]) -> None:
        """All but the optimistic slots go to some of those that go first, of as many as there are slots."""
        ranked = [q for q in states.order(self.s, self.p) if self.rivals[q].interested]
        keys = sorted(self.rivals[q].key(self.t, self.piece) for q in ranked)
        regular = self.slots - (sum(r.optimistic for r in self.rivals.values()) or max(1, self.slots // 5))
        kept = [q for q in ranked if q in found and not self.flags(q) & plain.state.OPTIMISTIC]
        assert len(kept) == min(regular, len(ranked))
        assert all(self.rivals[q].key(self.t, self.piece) <= keys[: self.slots][-1] for q in kept)
        for q, rival in self.rivals.items():
            if q in kept:
                self.optimistic_in = 0 if rival.optimistic else self.optimistic_in
                rival.optimistic = False
                self.unchoke(rival)
            elif not rival.optimistic:
                rival.unchoked = False
            rival.got = rival.sent = 0.0

    def favour(self) -> None:
        """Whoever waits longest for an optimistic slot gets one, the first in the client's own order of equals."""
        there = [q for q in states.order(self.s, self.p) if self.rivals[q].interested]
        there = [q for q in there if not self.rivals[q].unchoked or self.rivals[q].optimistic]
        lucky = sorted(there, key=lambda q: self.rivals[q].favoured_at)[: max(1, self.slots // 5)]
        for q in there:
            rival = self.rivals[q]
            if q in lucky and not rival.optimistic:
                rival.favoured_at = self.t
                self.unchoke(rival)
            rival.optimistic = q in lucky
            rival.unchoked = rival.unchoked and rival.optimistic
        if sum(r.unchoked for r in self.rivals.values()) > self.slots:
            self.unchoke_in = 0

    def unchoke(self, rival: Rival) -> None:
        if not rival.unchoked:
            rival.unchoked, rival.unchoked_at, rival.sent_since = True, self.t, 0.0

    def do(self, wait: float, what: str, q: int, blocks: int) -> None:
        """Let something happen `wait` seconds later, and compare."""
        until = self.t + wait
        while math.floor(self.t) + 1.0 <= until:
            self.t = math.floor(self.t) + 1.0
            self.second()
        self.t = until
        rival, h = self.rivals[q], states.end(self.s, self.p, q)
        if what == "interested":
            plain.choking.got_interested(self.s, h, self.t)
            if not rival.interested and sum(r.unchoked for r in self.rivals.values()) < self.slots:
                self.unchoke(rival)
            rival.interested = True
        elif what == "not interested":
            plain.choking.got_not_interested(self.s, h, self.t)
            self.unchoke_in = 0 if rival.unchoked else self.unchoke_in
            self.optimistic_in = 0 if rival.optimistic else self.optimistic_in
            rival.interested, rival.unchoked, rival.optimistic = False, False, False
        elif what == "got":
            plain.rates.note_bytes(self.s, h, float(blocks * BLOCK), self.t, self.t, True)
            rival.got += blocks * BLOCK
        elif what == "sent":
            plain.rates.note_sent(self.s, h, float(blocks * BLOCK))
            rival.sent += blocks * BLOCK
            rival.sent_since += blocks * BLOCK
        assert states.unchoked(self.s, self.p) == {q for q, r in self.rivals.items() if r.unchoked}


@pytest.mark.slow
@settings(max_examples=120)
@given(Histories, st.integers(1, 12), st.sampled_from([0, 1]))
def test_a_peer_unchokes_whom_libtorrents_order_says(history: list[Any], slots: int, p: int) -> None:
    choker = RoundRobin(p, slots)
    for wait, what, i, blocks in history:
        choker.do(wait, what, choker.neighbours[i], blocks)
    event(f"optimistic at the end: {any(r.optimistic for r in choker.rivals.values())}")


def test_the_one_left_out_is_whom_the_partial_sort_of_gnus_library_leaves_last() -> None:
    """Orders that std::nth_element of GNU's library made (g++ 12): whoever stands last of the first has no slot."""
    for numbers, first, order in SORTED:
        keys = np.zeros(len(numbers) + 1, plain.state.RANK).view(np.recarray)
        keys.waits[:-1] = numbers
        ends = np.arange(len(numbers))
        plain.rules.split(keys, ends, len(numbers), first)
        assert ends.tolist() == order
        assert keys.waits[:-1].tolist() == [numbers[i] for i in order]


@settings(max_examples=60)
@given(Histories, st.integers(2, 12), st.sampled_from([0, 1]))
def test_whoever_has_a_slot_by_rate_is_not_slower_than_who_has_none(history: list[Any], slots: int, p: int) -> None:
    """Transmission's order: by rate, who has a slot first, then at random; one slot apart, which is drawn."""
    s, t = states.connected(PROGRAMS["transmission-4"]), 0.0
    s.peer[p].upload_slots = slots
    neighbours, count = [q for q in range(NEIGHBOURS + 1) if q != p], 0
    for wait, what, i, blocks in history:
        t += wait
        h = states.end(s, p, neighbours[i])
        client = plain.ends.client_of(s, p)
        if what == "got":
            plain.rates.download_rate(client, s.conn[h], t, float(blocks * BLOCK))
        elif what == "sent":
            plain.rates.upload_rate(s, h, t, float(blocks * BLOCK))
        elif what != "tick":
            (plain.choking.got_interested if what == "interested" else plain.choking.got_not_interested)(s, h, t)
        else:
            plain.calendar.remove(s, PROGRAMS["transmission-4"].rules.peers + p)
            plain.choking.tick(s, p, t)
            count += 1
            ends = [states.end(s, p, q) for q in neighbours]
            wanting = [e for e in ends if s.up[e] & states.INTERESTED]
            rates = {
                e: plain.rates.upload_rate(s, e, t, 0.0)
                if p == 0
                else plain.rates.download_rate(client, s.conn[e], t, 0.0)
                for e in wanting
            }
            has = [e for e in wanting if s.up[e] & states.UNCHOKED]
            by_rate = [rates[e] for e in has if s.up[e] & plain.state.OPTIMISTIC == 0]
            none = [rates[e] for e in wanting if e not in has]
            assert len(has) == min(slots, len(wanting))
            assert len(has) - len(by_rate) <= 1
            assert not by_rate or not none or min(by_rate) >= max(none)
            assert len(states.unchoked(s, p)) <= slots
    event(f"ticks: {min(count, 5)}")
