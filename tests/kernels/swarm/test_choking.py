"""The chokers: sequences of ticks, interest, blocks, arrivals and departures, against the rules by brute force."""

from __future__ import annotations

from typing import Any

import plain
import pytest
import states
from hypothesis import event, given, settings, strategies as st
from naive import FORCED, Peer, RateMeasure, leecher_unchokes, optimistic_rotation, seed_rechoke

NEIGHBOURS = 9
PROGRAM = states.program(leechers=NEIGHBOURS + 1, file_size="1 MB", rules={"ideal": 0})
SNUB_TIME = 30.0
BLOCK = 16384

STEPS = st.floats(0.01, 12.0)
WHOM = st.integers(0, NEIGHBOURS - 1)
EVENTS = ("interested", "interested", "not interested", "leave", "join")


class Choker:
    """One peer's choker in the engine, with its neighbours, and the same by the oracle."""

    def __init__(self, p: int, neighbours: list[int], slots: int) -> None:
        self.s = plain.swarm.build(PROGRAM, 1, 0)
        self.p, self.slots, self.t = p, slots, 0.0
        self.s.peer[p].upload_slots = slots
        self.away: list[Any] = list(neighbours)
        self.order: list[Any] = []
        self.peers: dict[Any, Peer] = {}
        self.measures: dict[int, RateMeasure] = {}
        self.heard: dict[int, float] = {}
        self.ticks = self.opened = 0
        for q in neighbours[:-2]:
            self.join(q)

    def end(self, q: int) -> int:
        return states.end(self.s, self.p, q)

    def unchoke(self, chosen: set[Any]) -> None:
        """Take the oracle's choice over: who is newly unchoked, who is choked."""
        for q, peer in self.peers.items():
            if q in chosen and not peer.unchoked:
                peer.round = self.ticks
            if q not in chosen:
                peer.pending = False
            peer.unchoked = q in chosen

    def rechoke(self) -> None:
        raise NotImplementedError

    def tick(self) -> None:
        raise NotImplementedError

    def join(self, q: int) -> None:
        """Connect; the new one may stand anywhere in the list, the others keep their order."""
        if q not in self.away:
            return
        self.away.remove(q)
        states.link(self.s, self.p, q, self.t)
        now = states.order(self.s, self.p)
        assert [x for x in now if x != q] == self.order
        self.order, self.peers[q], self.measures[q] = now, Peer(), RateMeasure(self.t)

    def leave(self, q: int) -> None:
        if q not in self.peers:
            return
        plain.peer_set.close(self.s, self.end(q), self.t)
        gone = self.peers.pop(q)
        self.order.remove(q)
        self.away.append(q)
        self.heard.pop(q, None)
        if gone.unchoked and gone.interested:
            self.rechoke()

    def interest(self, q: int, interested: bool) -> None:
        if q not in self.peers:
            return
        handler = plain.choking.got_interested if interested else plain.choking.got_not_interested
        handler(self.s, self.end(q), self.t)
        changed, self.peers[q].interested = self.peers[q].interested != interested, interested
        if not interested:
            self.peers[q].pending = False
        if changed and self.peers[q].unchoked:
            self.rechoke()

    def do(self, wait: float, what: str, q: int, amount: int) -> None:
        """Let something happen `wait` seconds later, and compare."""
        self.t += wait
        if what == "tick":
            plain.calendar.remove(self.s, PROGRAM.rules.peers + self.p)
            plain.choking.tick(self.s, self.p, self.t)
            self.ticks += 1
            self.tick()
        elif what in ("leave", "join"):
            getattr(self, what)(q)
        elif what in ("interested", "not interested"):
            self.interest(q, what == "interested")
        elif q in self.peers:
            self.own_event(what, q, amount)
        assert states.unchoked(self.s, self.p) == {q for q, peer in self.peers.items() if peer.unchoked}
        assert states.order(self.s, self.p) == self.order
        assert self.s.peer[self.p].n_unchoked == sum(peer.unchoked for peer in self.peers.values())

    def own_event(self, what: str, q: int, amount: int) -> None:
        raise NotImplementedError


class LeecherChoker(Choker):
    """Peer 1, a leecher."""

    def __init__(self, slots: int) -> None:
        super().__init__(1, [0, *range(2, NEIGHBOURS + 1)], slots)

    def tick(self) -> None:
        if self.ticks % 3 == 0:
            self.order = optimistic_rotation(self.order, self.peers)
        self.rechoke()

    def rechoke(self) -> None:
        for q, peer in self.peers.items():
            peer.snubbed = q not in self.heard or self.t - self.heard[q] > SNUB_TIME
            if peer.interested and not peer.snubbed:
                peer.rate = self.measures[q].update(0.0, self.t)
        self.unchoke(leecher_unchokes(self.order, self.peers, self.slots))

    def own_event(self, what: str, q: int, amount: int) -> None:
        """A block of `amount` bytes arrives from `q`."""
        assert what == "block"
        h = self.end(q)
        plain.rates.note_source(self.s, self.s.conn[h], h, self.t)
        plain.rates.download_rate(
            plain.ends.client_of(self.s, h >> self.s.rules.slot_bits), self.s.conn[h], self.t, float(amount)
        )
        self.measures[q].update(amount, self.t)
        self.heard[q] = self.t


class SeedChoker(Choker):
    """Peer 0, a seed."""

    def __init__(self, slots: int) -> None:
        super().__init__(0, list(range(1, NEIGHBOURS + 1)), slots)

    def tick(self) -> None:
        self._apply(max(0, FORCED[self.slots][self.ticks % 3] - self.opened))
        self.opened = 0

    def rechoke(self) -> None:
        self.opened += self._apply(0)

    def _apply(self, forced: int) -> int:
        for q, peer in self.peers.items():
            if peer.interested and peer.unchoked:
                peer.rate = self.measures[q].update(0.0, self.t)
        chosen, self.order, free = seed_rechoke(self.order, self.peers, self.slots, forced, self.ticks)
        self.unchoke(chosen)
        return free

    def own_event(self, what: str, q: int, amount: int) -> None:
        """Bytes were sent to `q`, requests of it wait or none do, or its socket is full or not."""
        h, peer = self.end(q), self.peers[q]
        if what == "sent":
            plain.rates.upload_rate(self.s, h, self.t, float(amount))
            self.measures[q].update(amount, self.t)
        elif what == "requests" and peer.unchoked and peer.interested:
            peer.pending = amount > 0
            self.s.conn[h].up_seen = self.s.conn[h].up_head + (3 if amount > 0 else 0)
        elif what == "socket":
            peer.flushed = amount > 0
            flag = plain.ends.lower_flag if amount > 0 else plain.ends.raise_flag
            flag(self.s.up, h, plain.state.BLOCKED)


def histories(*own: str) -> st.SearchStrategy[list[tuple[float, str, int, int]]]:
    """Sequences of (wait, event, neighbour, amount)."""
    what = st.sampled_from(["tick", "tick", "tick", *EVENTS, *own])
    return st.lists(st.tuples(STEPS, what, WHOM, st.sampled_from([0, BLOCK, 2 * BLOCK])), min_size=5, max_size=45)


@settings(max_examples=120)
@given(histories(*["block"] * 5), st.integers(2, 7))
def test_a_leecher_unchokes_whom_the_rules_say(history: list[tuple[float, str, int, int]], slots: int) -> None:
    choker = LeecherChoker(slots)
    for wait, what, i, amount in history:
        choker.do(wait, what, [0, *range(2, NEIGHBOURS + 1)][i], amount)
    event(f"{sum(p.unchoked and p.interested for p in choker.peers.values())} unchoked at the end")


@settings(max_examples=120)
@given(histories("sent", "sent", "requests", "requests", "requests", "socket"), st.integers(2, 12))
def test_a_seed_unchokes_whom_the_rules_say(history: list[tuple[float, str, int, int]], slots: int) -> None:
    choker = SeedChoker(slots)
    for wait, what, i, amount in history:
        choker.do(wait, what, i + 1, amount)
    event(f"{sum(p.unchoked and p.interested for p in choker.peers.values())} unchoked at the end")


@pytest.mark.parametrize("slots", FORCED)
def test_forced_unchokes_of_three_rounds(slots: int) -> None:
    assert tuple(plain.rules.forced_unchokes(slots, count, 0) for count in (3, 4, 5)) == FORCED[slots]
    assert [plain.rules.forced_unchokes(slots, 5, opened) for opened in (1, 2)] == [
        max(0, FORCED[slots][2] - 1),
        max(0, FORCED[slots][2] - 2),
    ]


@pytest.mark.parametrize(("reciprocators", "unchoked"), [(0, 2), (1, 2), (2, 3), (3, 4), (6, 4)])
def test_a_leecher_serves_more_the_more_serve_it(reciprocators: int, unchoked: int) -> None:
    choker = LeecherChoker(4)
    for q in range(2, NEIGHBOURS - 1):
        choker.do(0.01, "interested", q, 0)
    for q in range(2, 2 + reciprocators):
        choker.do(0.01, "block", q, BLOCK)
    choker.do(10.0, "tick", 0, 0)
    assert sum(peer.unchoked and peer.interested for peer in choker.peers.values()) == unchoked


def test_every_interested_peer_gets_its_turn_as_the_optimistic_one() -> None:
    choker = LeecherChoker(4)
    everybody = {q for q in choker.peers if q != 0}
    for q in everybody:
        choker.do(0.01, "interested", q, 0)
    served = set()
    for _ in range(3 * len(everybody)):
        choker.do(10.0, "tick", 0, 0)
        served |= {q for q, peer in choker.peers.items() if peer.unchoked and peer.interested}
    assert served == everybody


def test_a_seed_serves_all_interested_peers_in_turn() -> None:
    choker = SeedChoker(4)
    for q in choker.peers:
        choker.do(0.01, "interested", q, 0)
    rounds: dict[Any, int] = dict.fromkeys(choker.peers, 0)
    for _ in range(6 * 3 * len(rounds)):
        choker.do(10.0, "tick", 0, 0)
        for q, peer in choker.peers.items():
            rounds[q] += peer.unchoked
    assert max(rounds.values()) <= 1.35 * min(rounds.values())


def test_new_connections_enter_the_list_anywhere_with_equal_chance() -> None:
    s = plain.swarm.build(PROGRAM, 5, 0)
    for q in range(2, 6):
        states.link(s, 1, q)
    s.peer[1].head = 2
    counts = [0] * 5
    for _ in range(1000):
        states.link(s, 1, 6)
        counts[states.order(s, 1).index(6)] += 1
        plain.peer_set.close(s, states.end(s, 1, 6), 0.0)
    assert min(counts) > 200 - 4 * (200 * 0.8) ** 0.5


def test_a_cancelled_request_is_not_pending() -> None:
    s = states.connected(PROGRAM)
    h = states.end(s, 0, 1)
    s.up[h] = states.UNCHOKED | states.TOLD | states.INTERESTED
    states.requests(s, h)[:2] = (0, 1)
    plain.limiter.got_request(s, h, 2, 0.0)
    plain.limiter.sync(s, 0, 0.01)
    assert plain.limiter.part_sent(s, h)
    assert plain.choking.has_pending(s, h)
    plain.limiter.got_cancel(s, h, 1, 0.02)
    assert not plain.choking.has_pending(s, h)


@pytest.mark.parametrize(("pending", "flushed", "kept"), [(True, True, 1), (True, False, 2), (False, True, 2)])
def test_a_seed_prefers_requests_that_wait_only_while_the_socket_is_flushed(
    pending: bool, flushed: bool, kept: int
) -> None:
    """Two peers were unchoked long ago, 2 gets more than 1; a new unchoke is forced, and one of them must go."""
    s = states.connected(states.program(leechers=4, file_size="4 MB", rules={"ideal": 0}, client={"max_uploads": 2}))
    for q in (1, 2, 3):
        s.up[states.end(s, 0, q)] = states.INTERESTED
    s.order[0, :4] = [states.end(s, 0, q) for q in (3, 1, 2, 4)]
    s.peer[0].head = 0
    for q in (1, 2):
        s.up[states.end(s, 0, q)] |= states.UNCHOKED | states.TOLD
        s.conn[states.end(s, 0, q)].up_round = 1
    s.peer[0].n_unchoked = 2
    one, two = states.end(s, 0, 1), states.end(s, 0, 2)
    s.conn[one].up_seen = 2 if pending else 0
    if not flushed:
        plain.ends.raise_flag(s.up, one, plain.state.BLOCKED)
    plain.rates.upload_rate(s, two, 105.0, 20.0 * BLOCK)
    s.peer[0].ticks = 10  # the next round is number 11: one is forced
    plain.choking.tick(s, 0, 110.0)
    assert states.unchoked(s, 0) == {3, kept}


def test_a_seed_does_not_give_a_free_slot_to_a_peer_whose_socket_is_full() -> None:
    s = states.connected(states.program(leechers=3, file_size="4 MB", rules={"ideal": 0}, client={"max_uploads": 2}))
    for q in (1, 2, 3):
        s.up[states.end(s, 0, q)] = states.INTERESTED
    s.order[0, :3] = [states.end(s, 0, q) for q in (1, 2, 3)]
    s.peer[0].head = 0
    plain.ends.raise_flag(s.up, states.end(s, 0, 1), plain.state.BLOCKED)
    plain.choking.tick(s, 0, 10.0)
    assert states.unchoked(s, 0) == {2, 3}
