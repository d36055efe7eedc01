"""The peer set: what the tracker replies, who connects to whom, who refuses, and when connections are given up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import plain
import pytest
import states

STATE = plain.state
REACHES = plain.peer_set.connected_to, plain.peer_set.connect
CROWD = 120
RTT = 0.1


def swarm(leechers: int = 9, seed: int = 1, loss: float = 0.0, **client: Any) -> Any:
    """Return unconnected peers whose messages take half a round trip of 100 ms."""
    made = states.program(leechers=leechers, rtt="100 ms", loss=loss, file_size="1 MB", client=client)
    return plain.swarm.build(made, seed, 0)


def register(s: Any, peers: range) -> None:
    """Let the tracker know some peers."""
    s.registered[0] = len(peers)
    s.registered[1 : 1 + len(peers)] = peers
    s.peer.registered[list(peers)] = 1


def reply(s: Any, p: int, t: float) -> None:
    """Let the tracker's answer come to peer `p`."""
    plain.tracker.reply(s, p, t, plain.ends.left, plain.ends.seeding, *REACHES)


def neighbours(s: Any, p: int) -> list[int]:
    """Return the peers to which `p` has an open connection."""
    base = p << s.rules.slot_bits
    return sorted(q for h in range(base, base + s.peer[p].top) if (q := states.other(s, h)) >= 0)


@pytest.fixture
def learned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the list of the peers that a tracker's reply names, which nobody then connects to."""
    named: list[int] = []
    monkeypatch.setattr(plain.tracker, "learn", lambda _s, _p, q, *_: named.append(int(q)))
    return named


# The tracker.


def test_a_reply_names_fifty_others_each_with_equal_chance(learned: list[int]) -> None:
    s, counts, replies = swarm(CROWD), Counter[int](), 400
    register(s, range(CROWD))
    for _ in range(replies):
        reply(s, 7, 1.0)
        assert len(set(learned)) == len(learned) == 50
        counts.update(learned)
        learned.clear()
    assert set(counts) == set(range(CROWD)) - {7}
    mean = replies * 50 / (CROWD - 1)
    assert max(abs(n - mean) for n in counts.values()) < 5 * mean**0.5
    assert s.registered[0] == CROWD  # nobody is entered twice


def test_a_seed_is_told_of_no_seeds(learned: list[int]) -> None:
    s = swarm(CROWD)
    register(s, range(20))
    s.mode[:10] |= STATE.SEEDING
    reply(s, 3, 1.0)
    assert sorted(learned) == list(range(10, 20))


def test_who_has_connections_enough_asks_for_none_but_is_registered(learned: list[int]) -> None:
    s = swarm(CROWD)
    register(s, range(100))
    s.peer[110].complete = plain.ends.client_of(s, 110).max_initiate
    reply(s, 110, 1.0)
    assert learned == []
    s.peer[111].complete = plain.ends.client_of(s, 110).max_initiate - 1
    reply(s, 111, 1.0)
    assert len(learned) == 50
    assert {int(q) for q in s.registered[1 : 1 + s.registered[0]]} == {*range(100), 110, 111}


@pytest.fixture
def announces(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[float]]:
    """Return a function that lets peer 1 look at its peers every minute and returns when it announces itself."""

    def look(s: Any, complete: int, incoming: bool, end: float) -> list[float]:
        asked: list[float] = []
        original = plain.peer_set.ask_tracker

        def ask(s: Any, p: int, t: float) -> None:
            asked.append(t)
            original(s, p, t)

        with monkeypatch.context() as patch:
            patch.setattr(plain.peer_set, "ask_tracker", ask)
            s.peer[1].complete, s.peer[1].ever_incoming = complete, incoming
            plain.peer_set.start_client(s, 1, 0.0)
            t = 60.0
            while t <= end:
                plain.tracker.check(s, 1, t, plain.ends.left, plain.calendar.post, plain.peer_set.ask_tracker)
                t += 60.0
        return asked

    return look


@pytest.mark.parametrize(
    ("complete", "incoming", "short"), [(19, False, True), (20, False, False), (6, True, True), (7, True, False)]
)
def test_who_is_short_of_peers_announces_itself_every_five_minutes(
    announces: Callable[..., list[float]], complete: int, incoming: bool, short: bool
) -> None:
    expected = [0.0, 300.0, 600.0, 900.0] if short else [0.0]
    assert announces(swarm(), complete, incoming, 1190.0) == expected


def test_who_has_enough_announces_itself_every_half_hour(announces: Callable[..., list[float]]) -> None:
    assert announces(swarm(), 20, False, 5500.0) == [0.0, 1800.0, 3600.0, 5400.0]


def test_the_minutely_look_goes_on() -> None:
    s = swarm()
    s.peer[1].complete = 50
    plain.peer_set.start_client(s, 1, 0.0)
    looks: list[float] = []
    while s.clock[0].now < 310.0:
        n = plain.calendar.pop(s)
        if s.node[n].kind == STATE.TRACKER_CHECK and n >= 2 * s.rules.peers:
            looks.append(float(s.clock[0].now))
        plain.engine.handle(s, n, s.clock[0].now)
    assert looks == [60.0, 120.0, 180.0, 240.0, 300.0]


# Connections.


def test_a_client_opens_connections_up_to_its_limit_and_keeps_the_others_for_later() -> None:
    s = swarm(20, max_initiate=3)
    register(s, range(10))
    reply(s, 15, 0.0)
    states.run_until(s, 1.0)
    first = neighbours(s, 15)
    assert len(first) == s.peer[15].degree == s.peer[15].complete == 3
    kept = {int(q) for q in s.spare[15, : s.peer[15].n_spare]}
    assert len(kept) == s.peer[15].n_spare == 3  # as many as there is room for
    assert not kept & set(first)


def test_nobody_is_connected_to_twice() -> None:
    s = swarm()
    for t in (0.0, 0.01, 1.0):  # while the first attempt is under way, and when it has come to something
        plain.tracker.learn(s, 1, 2, t, plain.ends.left, *REACHES)
        plain.tracker.learn(s, 2, 1, t + 0.5, plain.ends.left, *REACHES)
        states.run_until(s, t + 0.005)
    states.run_until(s, 3.0)
    assert neighbours(s, 1) == [2]
    assert neighbours(s, 2) == [1]
    assert s.peer[1].degree == s.peer[2].degree == 1
    assert s.peer[1].n_spare == s.peer[2].n_spare == 0


def test_a_kept_address_takes_the_place_of_a_connection_that_closes() -> None:
    s = swarm(20, max_initiate=3)
    for q in (2, 3, 4, 5, 6):
        plain.tracker.learn(s, 1, q, 0.0, plain.ends.left, *REACHES)
    states.run_until(s, 1.0)
    assert neighbours(s, 1) == [2, 3, 4]
    plain.peer_set.close(s, states.end(s, 1, 3), 1.0)
    states.run_until(s, 2.0)
    (new,) = set(neighbours(s, 1)) - {2, 4}
    assert new in (5, 6)
    plain.peer_set.close(s, states.end(s, 1, 4), 2.0)
    states.run_until(s, 3.0)
    assert neighbours(s, 1) == [2, 5, 6]
    plain.peer_set.close(s, states.end(s, 1, 2), 3.0)
    states.run_until(s, 4.0)
    assert neighbours(s, 1) == [5, 6]  # no address is left


def test_a_client_accepts_connections_below_its_limit_and_refuses_the_others() -> None:
    s = swarm(20, max_allow_in=4, max_initiate=3)
    for p in range(2, 9):
        plain.peer_set.connect(s, p, 1, 0.01 * p)
    states.run_until(s, 1.0)
    assert neighbours(s, 1) == [2, 3, 4, 5]  # in the order they came
    assert s.peer[1].degree == s.peer[1].complete == 4
    for p in range(2, 9):
        accepted = p in (2, 3, 4, 5)
        assert neighbours(s, p) == [1] * accepted
        assert s.peer[p].degree == s.peer[p].complete == accepted
    base = 1 << s.rules.slot_bits
    assert sum(s.conn[h].state != STATE.FREE for h in range(base, base + s.rules.slots)) == 4


def test_a_refused_client_hears_of_it_two_round_trips_after_it_called_and_calls_the_next() -> None:
    s = swarm(20, max_allow_in=1, max_initiate=1)
    plain.peer_set.connect(s, 2, 1, 0.0)
    states.run_until(s, 1.0)
    for q in (1, 3):
        plain.tracker.learn(s, 4, q, 1.0, plain.ends.left, *REACHES)
    states.run_until(s, 1.0 + 2 * RTT - 0.001)
    assert s.peer[4].n_spare == 1
    states.run_until(s, 1.0 + 2 * RTT + 0.001)
    assert s.peer[4].n_spare == 0
    states.run_until(s, 2.0)
    assert neighbours(s, 4) == [3]


@pytest.mark.parametrize(("fates", "delay"), [([False, False], 0.0), ([True, False, False], 3.0)])
def test_a_lost_syn_delays_the_connection(fates: list[bool], delay: float, monkeypatch: pytest.MonkeyPatch) -> None:
    s = swarm(loss=0.05)
    left = iter(fates)
    monkeypatch.setattr(plain.tcp, "lost", lambda *_: next(left))
    plain.peer_set.connect(s, 1, 2, 5.0)
    (syn,) = [time for time, kind, _, _ in states.pending(s) if kind == STATE.SYN]
    assert syn == pytest.approx(5.0 + delay + 1.5 * RTT)
    assert list(left) == []


def test_lost_syns_delay_connections_as_often_as_packets_are_lost() -> None:
    s, late, calls = swarm(CROWD, loss=0.2), 0, 400
    for k in range(calls):
        plain.peer_set.connect(s, 1 + k % CROWD, 1 + (k + 1 + k // CROWD) % CROWD, 10.0 * k)
    times = [time for time, kind, _, _ in states.pending(s) if kind == STATE.SYN]
    assert len(times) == calls
    late = sum(time % 10.0 > 1.0 for time in times)
    expected = calls * (1 - 0.8 * 0.8)  # the SYN or the SYN-ACK
    assert abs(late - expected) < 4 * expected**0.5


# Bitfields.


def test_copies_are_counted_from_the_bitfields_of_new_connections() -> None:
    s = swarm()
    states.give(s, 2, [0, 3])
    states.give(s, 4, [3])
    for q in (2, 3, 4):
        plain.peer_set.connect(s, 1, q, 0.0)
    plain.peer_set.connect(s, 4, 2, 0.0)
    states.run_until(s, 1.0)
    assert neighbours(s, 1) == [2, 3, 4]
    assert s.copies[:, 1].tolist() == [1, 0, 0, 2]
    assert s.copies[:, 4].tolist() == [1, 0, 0, 1]
    assert s.copies[:, 2].tolist() == [0, 0, 0, 1]
    assert not s.copies[:, 3].any()
    assert s.dn[states.end(s, 1, 2)] & STATE.WANTING
    assert not s.dn[states.end(s, 1, 3)] & STATE.WANTING


# Seeds.


def test_who_has_finished_closes_its_connections_to_seeds() -> None:
    s = states.connected(states.program(leechers=3, rtt="100 ms", file_size="1 MB"))
    for p in (1, 2):
        states.give(s, p, range(4))
    for p, q in ((0, 1), (0, 3), (2, 1), (2, 3)):
        states.tell(s, p, q)
    plain.engine.finished(s, 1, 5.0)
    assert [neighbours(s, p) for p in range(4)] == [[2, 3], [3], [0, 3], [0, 1, 2]]  # 0 and 2 are as they were


def test_a_seed_closes_its_connection_to_a_peer_that_turns_out_to_have_finished() -> None:
    s = states.connected(states.program(leechers=3, rtt="100 ms", file_size="1 MB"))
    states.give(s, 2, range(4))
    states.give(s, 1, range(3))
    states.tell(s, 1, 2)
    assert 2 in neighbours(s, 1)  # 2 has not said yet that it has finished, and 1 has not
    states.give(s, 1, [3], 5.0)
    plain.engine.tell(s, states.end(s, 1, 2), 4, 5.1)
    assert neighbours(s, 2) == neighbours(s, 1) == [0, 3]


@pytest.mark.parametrize("answerer_has_finished", [True, False])
def test_a_bitfield_of_a_seed_closes_the_connection_if_both_are_seeds(answerer_has_finished: bool) -> None:
    s = swarm()
    states.give(s, 2, range(4))
    if answerer_has_finished:
        states.give(s, 1, range(4))
    plain.peer_set.connect(s, 1, 2, 0.0)
    states.run_until(s, 1.0)
    assert neighbours(s, 2) == [1] * (not answerer_has_finished)
