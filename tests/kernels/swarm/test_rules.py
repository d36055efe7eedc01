"""The client's rules one by one, as functions of plain values: both engines call these (test_one_client.py)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import plain
import pytest
import states
from hypothesis import given, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

rules = plain.rules
MADE = states.program(leechers=2, file_size="3000001 B", piece_size="64 KiB")
R = MADE.rules
C = MADE.client.view(np.recarray)[0]


def without_endgame() -> Any:
    """Return the constants of a client that asks for nothing twice."""
    client = MADE.client.copy().view(np.recarray)
    client.endgame = 0
    return client[0]


def generator(seed: int) -> Any:
    """Return the state of a swarm's random numbers."""
    return np.random.SeedSequence(seed).generate_state(2, np.uint64)


# The choker's list.


class ChokersList(RuleBasedStateMachine):
    """Arrivals, departures and rotations, against a list of Python's that starts at its first entry."""

    def __init__(self) -> None:
        super().__init__()
        self.lists = np.zeros((2, 12), np.int16)
        self.rng = generator(1)
        self.n = self.head = self.arrived = 0
        self.expected: list[int] = []

    def listed(self) -> list[int]:
        return [int(self.lists[1, rules.position(self.head, i, self.n)]) for i in range(self.n)]

    @rule()
    def arrive(self) -> None:
        if self.n == 12:
            return
        self.arrived += 1
        self.head = rules.enlist(self.rng, self.lists, 1, self.n, self.head, self.arrived)
        self.n += 1
        self.expected.insert(self.listed().index(self.arrived), self.arrived)

    @rule(i=st.integers(0, 11))
    def depart(self, i: int) -> None:
        if i < self.n:
            entry = self.expected.pop(i)
            self.head = rules.delist(self.lists, 1, self.n, self.head, entry)
            self.n -= 1

    @rule(i=st.integers(0, 11))
    def rotate(self, i: int) -> None:
        if i < self.n:
            self.head = rules.position(self.head, i, self.n)
            self.expected = self.expected[i:] + self.expected[:i]

    @invariant()
    def the_order_is_kept(self) -> None:
        assert self.listed() == self.expected
        assert 0 <= self.head < max(self.n, 1)
        assert not self.lists[0].any()


TestChokersList = ChokersList.TestCase


@pytest.mark.parametrize("head", range(5))
def test_a_new_connection_may_stand_anywhere(head: int) -> None:
    rng, counts = generator(2), Counter[int]()
    for _ in range(1000):
        lists = np.arange(6, dtype=np.int32)[None].copy()
        start = rules.enlist(rng, lists, 0, 5, head, 9)
        counts[[int(lists[0, rules.position(start, i, 6)]) for i in range(6)].index(9)] += 1
    assert set(counts) <= set(range(6))
    assert min(counts[i] for i in range(1, 5)) > 1000 / 6 - 5 * 139**0.5


# Slots.


@pytest.mark.parametrize(("slots", "candidates", "kept"), [(4, 9, 3), (4, 3, 3), (4, 1, 1), (4, 0, 0), (2, 9, 1)])
def test_all_slots_but_one_are_reciprocal(slots: int, candidates: int, kept: int) -> None:
    assert rules.reciprocal_slots(candidates, slots) == kept


@pytest.mark.parametrize(("kept", "slots", "more"), [(0, 4, 2), (1, 4, 1), (2, 4, 1), (3, 4, 1), (0, 1, 1), (0, 2, 2)])
def test_at_least_one_unchoke_is_optimistic_and_slots_bind(kept: int, slots: int, more: int) -> None:
    assert C.min_uploads == 2
    assert rules.optimistic_slots(C, kept, slots) == more


def test_a_source_is_snubbed_after_thirty_seconds() -> None:
    assert not rules.snubbed(C, 10.0, 40.0)
    assert rules.snubbed(C, 10.0, 40.001)


@pytest.mark.parametrize(
    ("candidates", "slots", "forced", "kept"), [(9, 4, 0, 4), (9, 4, 1, 3), (2, 4, 1, 2), (3, 1, 2, 0)]
)
def test_a_seed_keeps_all_slots_but_the_forced_ones(candidates: int, slots: int, forced: int, kept: int) -> None:
    assert rules.seed_keeps(candidates, slots, forced) == kept


def test_a_seed_ranks_the_latest_first_and_the_idle_last() -> None:
    latest, recent, pending, idle = (
        rules.seed_rank(C, at, 20, waits) for at, waits in ((20, False), (18, False), (3, True), (17, False))
    )
    assert latest < recent < pending < idle
    assert rules.is_idle_end(idle, 17, 3)
    assert not rules.is_idle_end(idle, 17, 17)
    assert not rules.is_idle_end(recent, 18, 3)


@pytest.mark.parametrize(
    ("unchoked", "blocked", "may"),
    [(True, True, True), (True, False, True), (False, True, False), (False, False, True)],
)
def test_a_full_socket_gets_no_new_slot(unchoked: bool, blocked: bool, may: bool) -> None:
    assert rules.may_fill(unchoked, blocked) == may


@given(st.lists(st.tuples(st.sampled_from([-3.0, -1.0, 1.0]), st.sampled_from([-2.0, -1.0, 0.0])), max_size=12))
def test_whom_a_seed_keeps_is_a_stable_sort(keys: list[tuple[float, float]]) -> None:
    number, chosen = np.zeros(24), np.zeros(12, np.int64)
    for n, key in enumerate(keys):
        rules.insert_kept(number, chosen, n, *key, n)
    assert [int(h) for h in chosen[: len(keys)]] == sorted(range(len(keys)), key=lambda h: keys[h])


@given(st.permutations(range(8)), st.integers(0, 7), st.lists(st.sampled_from([0.0, 5.0, 6.0]), min_size=8, max_size=8))
def test_sources_alike_keep_the_order_of_the_list(come: list[int], head: int, rates: list[float]) -> None:
    lists = np.arange(8, dtype=np.int32)[None]
    number, chosen = np.zeros(8), np.zeros(8, np.int64)
    for n, entry in enumerate(come):
        rules.insert_source(number, chosen, lists, 0, 8, head, entry, -rates[entry], n)
    listed = [(head + i) % 8 for i in range(8)]
    assert [int(entry) for entry in chosen] == sorted(listed, key=lambda entry: -rates[entry])


# Requests.


def test_endgame_begins_with_the_last_request() -> None:
    assert rules.endgame_begins(C, 0)
    assert not rules.endgame_begins(C, 1)
    assert not rules.endgame_begins(without_endgame(), 0)


@pytest.mark.parametrize(("most", "blocks"), [(3, 2), (3, 3), (3, 7), (1, 4)])
def test_every_missing_block_may_be_drawn(most: int, blocks: int) -> None:
    rng, counts, draws = generator(3), Counter[int](), 1200
    for _ in range(draws):
        chosen, seen = np.full(most, -1), 0
        for block in range(blocks):
            seen = rules.draw_missing(rng, chosen, most, seen, block)
        assert seen == blocks
        drawn = {int(block) for block in chosen[: min(most, blocks)]}
        assert len(drawn) == min(most, blocks)
        counts.update(drawn)
    share = min(most / blocks, 1.0)
    assert (
        max(abs(counts[block] - draws * share) for block in range(blocks)) <= 5 * (draws * share * (1 - share)) ** 0.5
    )


def test_at_a_seed_only_what_was_begun_on_seeds_goes_on() -> None:
    assert [rules.may_continue(*case) for case in ((True, True), (True, False), (False, True), (False, False))] == [
        True,
        False,
        True,
        True,
    ]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=8), st.integers(0, 99))
def test_the_begun_piece_of_fewest_copies_goes_on(copies: list[int], seed: int) -> None:
    rng, best, fewest, ties = generator(seed), -1, 1 << 30, 0
    for piece, n in enumerate(copies):
        better, fewest, ties = rules.fewer(rng, n, fewest, ties)
        if better:
            best = piece
    assert copies[best] == fewest == min(copies)
    assert ties == copies.count(fewest)


def test_begun_pieces_alike_go_on_with_equal_chance() -> None:
    rng, counts = generator(4), Counter[int]()
    for _ in range(900):
        best, fewest, ties = -1, 1 << 30, 0
        for piece in range(3):
            better, fewest, ties = rules.fewer(rng, 7, fewest, ties)
            best = piece if better else best
        counts[best] += 1
    assert max(abs(counts[piece] - 300) for piece in range(3)) < 5 * 200**0.5


def test_a_rarer_piece_comes_first_and_of_those_alike_the_lower_rank() -> None:
    assert rules.rarer(1, 9, 2, 0)
    assert rules.rarer(2, 3, 2, 4)
    assert not rules.rarer(2, 4, 2, 4)
    assert not rules.rarer(3, 0, 2, 4)


def test_four_pieces_are_picked_at_random() -> None:
    assert [rules.picks_at_random(C, held) for held in (0, 3, 4, 40)] == [True, True, False, False]


# The limiter.


def test_bytes_of_blocks_and_their_turns() -> None:
    last = (R.pieces - 1) * R.blocks + R.last_piece_blocks - 1
    sizes = [int(rules.block_bytes(R, block)) for block in range(last + 1)]
    assert sum(sizes) == 3000001
    assert set(sizes[:-1]) == {16384}
    assert rules.turns(R, 16384, 1380) == 12
    assert rules.last_turn(R, 16384, 12, 1380) == 16384 + 13 - 11 * 1380 == 1217
    assert rules.turns(R, 1380 - 13, 1380) == 1
    assert rules.last_turn(R, 1380 - 13, 1, 1380) == 1380


# Peers.


def test_how_many_connections_are_opened_and_taken() -> None:
    assert [rules.may_initiate(C, degree) for degree in (39, 40)] == [True, False]
    assert [rules.may_accept(C, degree) for degree in (79, 80)] == [True, False]


@pytest.mark.parametrize(
    ("reached", "failures", "waited", "up"),
    [
        (False, 0, 15.0, False),
        (False, 0, 15.1, True),
        (False, 2, 21.0, False),
        (False, 2, 21.1, True),
        (True, 2, 10.0, False),
        (True, 2, 10.1, True),
    ],
)
def test_an_attempt_to_connect_has_15_s_for_the_syn_and_10_for_the_handshake(
    reached: bool, failures: int, waited: float, up: bool
) -> None:
    assert rules.gives_up(LIBTORRENT, reached, failures, waited) == up
    assert not rules.gives_up(C, reached, failures, waited)


def test_a_new_connection_has_a_slot_while_one_is_free() -> None:
    assert [rules.serves_first(LIBTORRENT, served, 4) for served in (3, 4)] == [True, False]
    assert not rules.serves_first(C, 0, 4)


def test_the_trackers_reply_comes_after_two_round_trips() -> None:
    assert rules.reply_time(1, 0.4) == 0.8
    assert rules.reply_time(0, 0.4) == 0.0


@pytest.mark.parametrize(
    ("p", "seeds", "q", "other", "named"),
    [(1, False, 1, False, False), (1, True, 2, True, False), (1, True, 2, False, True), (1, False, 2, True, True)],
)
def test_nobody_is_told_of_itself_nor_a_seed_of_seeds(p: int, seeds: bool, q: int, other: bool, named: bool) -> None:
    assert rules.is_named(p, seeds, q, other) == named


def test_the_tracker_names_everybody_once_in_random_order() -> None:
    rng, registered, first = generator(5), np.zeros(8, np.int64), Counter[int]()
    for p in range(10, 16):
        rules.register(registered, p)
    rules.unregister(registered, 12)
    rules.unregister(registered, 12)  # it is gone
    for _ in range(1000):
        named = [int(rules.draw_registered(rng, registered, 5, i)) for i in range(5)]
        assert sorted(named) == [10, 11, 13, 14, 15]
        first[named[0]] += 1
    assert max(abs(n - 200) for n in first.values()) < 5 * 160**0.5


# Departures.


def test_who_does_not_stay_draws_no_random_number() -> None:
    rng = generator(6)
    before = rng.copy()
    assert rules.stay(R._replace(stay=0.0), 500.0, rng) == 0.0
    assert (rng == before).all()


def test_stays_are_exponential() -> None:
    rng = generator(7)
    stays = [rules.stay(R._replace(stay=0.5), 400.0, rng) for _ in range(4000)]
    assert np.mean(stays) == pytest.approx(200.0, rel=0.08)
    assert np.mean(np.array(stays) > 200.0) == pytest.approx(np.exp(-1.0), abs=0.04)


def test_those_who_wait_are_born_one_after_the_other() -> None:
    births = np.array([[0, 0], [7, 9]])
    assert [int(rules.next_born(births, 1)) for _ in range(3)] == [7, 8, -1]
    assert rules.next_born(births, 0) == -1


# libtorrent and Transmission.

LIBTORRENT = states.program(client={"base": "libtorrent-2"}).client.view(np.recarray)[0]
TRANSMISSION = states.program(client={"base": "transmission-4"}).client.view(np.recarray)[0]
TRANSMISSION_3 = states.program(client={"base": "transmission-3"}).client.view(np.recarray)[0]
MIB = 2**20


@pytest.mark.parametrize(
    ("unchoked", "pieces", "since", "done"),
    [(True, 20.1, 60.1, True), (True, 20.0, 60.1, False), (True, 20.1, 60.0, False), (False, 30.0, 90.0, False)],
)
def test_a_slot_is_had_for_more_than_20_pieces_and_a_minute(
    unchoked: bool, pieces: float, since: float, done: bool
) -> None:
    assert rules.had_its_share(LIBTORRENT, MIB, unchoked, pieces * MIB, since) == done


@pytest.mark.parametrize(("slots", "by_chance"), [(1, 1), (4, 1), (8, 1), (9, 1), (10, 2), (20, 4)])
def test_a_fifth_of_the_slots_goes_by_waiting_and_one_is_drawn(slots: int, by_chance: int) -> None:
    assert rules.slots_by_chance(LIBTORRENT, slots) == by_chance
    assert rules.slots_by_chance(TRANSMISSION, slots) == 1


def test_optimistic_slots_go_to_others_after_30_s_and_50_s() -> None:
    for client, after in ((LIBTORRENT, 30.0), (TRANSMISSION, 50.0)):
        session = np.zeros(1, plain.state.SESSION).view(np.recarray)[0]
        assert rules.renews(client, session, 7.0)
        assert not rules.renews(client, session, 7.0 + after - 0.1)
        assert rules.renews(client, session, 7.0 + after)
        assert not rules.renews(client, session, 7.0 + after)


@pytest.mark.parametrize(("t", "at"), [(0.25, 1.25), (1.0, 1.25), (1.25, 2.25), (9.5, 10.25)])
def test_a_client_that_looks_once_a_second_does_so_at_its_own_seconds(t: float, at: float) -> None:
    assert rules.next_second(0.25, t) == at


@pytest.mark.parametrize(
    ("before", "now", "over"), [(0, 0, False), (0, 9000, False), (40000, 45000, True), (40000, 45001, False)]
)
def test_slow_start_of_requests_ends_with_a_second_that_brings_at_most_5000_bytes_more(
    before: float, now: float, over: bool
) -> None:
    assert rules.levels_off(float(before), float(now)) == over


@pytest.mark.parametrize(
    ("rate", "libtorrent", "transmission"), [(0, 2, 32), (16384, 3, 32), (10**5, 18, 61), (10**8, 500, 500)]
)
def test_requests_outstanding_are_3_and_10_s_of_the_rate_within_bounds(
    rate: float, libtorrent: int, transmission: int
) -> None:
    assert rules.queue_of_rate(LIBTORRENT, 16384, float(rate), 500) == libtorrent
    assert rules.queue_of_rate(TRANSMISSION, 16384, float(rate), 500) == transmission


def test_requests_end_at_what_the_other_side_tells_where_both_know_the_message_that_says_it() -> None:
    for other, most in ((LIBTORRENT, 2000), (TRANSMISSION, 2000), (TRANSMISSION_3, 512), (C, 500)):
        assert rules.most_requests(LIBTORRENT, other) == rules.most_requests(TRANSMISSION, other) == most
        assert rules.most_requests(C, other) == 50  # mainline 4.0.2 has no such message


@pytest.mark.parametrize(("rejected", "left", "asks"), [(0, 0, False), (3, 0, True), (3, 1, True), (3, 2, False)])
def test_a_rejection_has_a_choked_client_ask_while_fewer_than_two_requests_are_left(
    rejected: int, left: int, asks: bool
) -> None:
    assert rules.asks_for_its_set(rejected, left) == asks


@pytest.mark.parametrize(("rate", "pieces"), [(0, 0), (6000, 0), (6554, 1), (13108, 2), (10**7, 64)])
def test_a_connection_takes_the_pieces_of_20_s_and_no_more_than_8_mib(rate: float, pieces: int) -> None:
    assert rules.pieces_at_once(LIBTORRENT, 131072, float(rate)) == pieces


@pytest.mark.parametrize(
    ("begun", "neighbours", "blocks", "many"),
    [(15, 10, 8, False), (16, 10, 8, True), (256, 900, 8, False), (257, 900, 8, True)],
)
def test_begun_pieces_are_too_many_beyond_one_and_a_half_a_neighbour_or_2048_blocks(
    begun: int, neighbours: int, blocks: int, many: bool
) -> None:
    assert rules.too_many_begun(begun, neighbours, blocks) == many


@pytest.mark.parametrize(
    ("rate", "tcp", "connections", "limit"),
    [
        (1e5, 4, 4, 0.0),  # nobody uses uTP
        (1e5, 2, 4, 0.0),  # too few to tell
        (1e5, 2, 10, 8e4),
        (1e5, 0, 10, 4e4),  # as if one did
        (1e4, 1, 10, 5000.0),
    ],
)
def test_tcp_beside_utp_is_limited_to_four_times_its_part(
    rate: float, tcp: int, connections: int, limit: float
) -> None:
    assert rules.limit_of_tcp(rate, tcp, connections) == pytest.approx(limit)


def test_headers_of_a_block_are_those_of_its_packets() -> None:
    assert rules.packet_headers(16397) == 12 * 40  # in packets of 1460 B
    assert rules.packet_headers(1460) == 40
    assert rules.packet_headers(1461) == 80


@pytest.mark.parametrize(("time", "at"), [(0.3, 0.3), (0.31, 0.8), (0.8, 0.8), (0.1 + 0.7, 0.8), (4.2, 4.3)])
def test_quotas_are_handed_out_each_half_second_from_the_start(time: float, at: float) -> None:
    assert rules.next_quota(LIBTORRENT, 0.3, time) == pytest.approx(at, abs=1e-12)
