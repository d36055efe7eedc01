"""Single mechanisms of the client, each on a swarm small enough to follow by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import plain
import pytest
import states
from states import run_until

from btflow.swarm.program import compile_scenario
from btflow.swarm.run import run_swarm

STATE = plain.state
UNITS = 12  # of a block's message
BLOCK = 16384


def delayed(rtt: str = "100 ms", **values: Any) -> Any:
    """Return a swarm of connected peers whose messages take half of `rtt`."""
    return states.connected(states.program(rtt=rtt, rules={"ideal": 0}, **values))


def messages(s: Any, h: int, kind: int) -> list[float]:
    """Return when messages of a kind will arrive at end `h`."""
    return [time for time, what, target, _ in states.pending(s) if (what, target) == (kind, h)]


# Pieces begun on seeds.


@pytest.mark.parametrize("begun_on_seed", [False, True])
def test_only_pieces_begun_on_seeds_are_gone_on_with_at_a_seed(begun_on_seed: bool) -> None:
    s = delayed(leechers=2, file_size="4 MB")
    states.give(s, 1, range(4))  # past random first
    for q in (0, 2):
        states.tell(s, q, 1)
    states.give(s, 2, [7])
    states.tell(s, 2, 1)
    first, seed = (0 if begun_on_seed else 2), states.end(s, 1, 0)
    s.copies[8, 1] = 9  # piece 7 is not the rarest
    plain.picking.begin(s, states.end(s, 1, first), 7)
    s.blocks[1, 7, STATE.UNREQUESTED] &= ~3 & 0xFFFF
    s.peer[1].unrequested -= 2
    s.dn[seed] |= STATE.WANTING
    plain.downloading.got_unchoke(s, seed, 1.0)
    assert ({block // 16 for block in states.requested(s, 1, 0)} == {7}) == begun_on_seed


@pytest.mark.slow
def test_leaving_the_rule_out_delays_the_last_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces begun at leechers would be asked of the seed as well, which sends them twice before others once."""
    program = compile_scenario(
        states.scenario(leechers=12, file_size="512 KiB", piece_size="32 KiB", arrival_spread="0 s")
    )

    def last_piece_out(replica: int) -> float:
        """Time from which each piece is held by some leecher [s]."""
        s = plain.simulate.run_swarm(program, 1, replica)
        times, pieces = s.have_time[1:], s.have_log[1:]
        return max(float(times[pieces == piece].min()) for piece in range(s.rules.pieces))

    with_rule = np.mean([last_piece_out(replica) for replica in range(3)])
    monkeypatch.setattr(plain.picking, "other_is_seed", lambda *_: False)
    without = np.mean([last_piece_out(replica) for replica in range(3)])
    assert without > 1.15 * with_rule


# Slots.


def test_a_leecher_serves_two_until_it_has_received_then_four() -> None:
    s = delayed(leechers=7, file_size="4 MB", upload_limit="20 kB/s")
    others = range(2, 8)
    for q in others:
        plain.choking.got_interested(s, states.end(s, 1, q), 0.0)
    plain.choking.tick(s, 1, 10.0)
    assert len(states.unchoked(s, 1) - {0}) == 2
    for received, expected in ((1, 2), (2, 3), (3, 4), (4, 4)):
        h = states.end(s, 1, 1 + received)
        plain.rates.note_source(s, s.conn[h], h, 10.0 + received)
        plain.rates.download_rate(
            plain.ends.client_of(s, h >> s.rules.slot_bits), s.conn[h], 10.0 + received, float(BLOCK)
        )
        plain.calendar.remove(s, s.rules.peers + 1)
        plain.choking.tick(s, 1, 10.0 + received)
        assert len(states.unchoked(s, 1) - {0}) == expected


def test_a_reciprocator_that_falls_silent_loses_its_slot_after_thirty_seconds() -> None:
    s = delayed(leechers=7, file_size="4 MB")
    for q in range(2, 8):
        plain.choking.got_interested(s, states.end(s, 1, q), 0.0)
    h = states.end(s, 1, 7)
    plain.rates.note_source(s, s.conn[h], h, 1.0)
    for t, kept in ((10.0, True), (30.9, True), (31.1, False)):
        plain.choking.rechoke_leecher(s, 1, t)
        assert bool(plain.choking.reciprocators(s, 1, t)) == kept
        plain.ends.lower_flag(s.up, h, STATE.KEPT)


# Connections.


def test_messages_flow_two_round_trips_after_a_connection_is_opened() -> None:
    made = states.program(leechers=1, rtt="100 ms", file_size="1 MB", arrival_spread="0 s")
    s = plain.swarm.build(made, 1, 0)
    s.clock[0].now = 5.0
    plain.peer_set.connect(s, 1, 0, 5.0)
    opened: dict[int, float] = {}
    while len(opened) < 2:
        n = plain.calendar.pop(s)
        t = float(s.clock[0].now)
        plain.engine.handle(s, n, t)
        for p in (0, 1):
            if s.peer[p].complete and p not in opened:
                opened[p] = t
    # TCP: 1 RTT; the handshake: half an RTT to the acceptor, half an RTT for its answer, which names it; only then does
    # the initiator name itself, half an RTT before the acceptor sends its bitfield.
    assert opened == {1: pytest.approx(5.2), 0: pytest.approx(5.25)}
    run_until(s, 5.29)
    assert s.told[states.end(s, 0, 1)] == 0
    run_until(s, 5.31)
    assert s.told[states.end(s, 0, 1)] == made.rules.pieces
    assert s.dn[states.end(s, 1, 0)] & STATE.WANTING


def test_first_service_waits_for_a_tick_of_the_choker() -> None:
    program = compile_scenario(
        states.scenario(leechers=3, file_size="300 kB", piece_size="32 KiB", arrival_spread="0 s")
    )
    s = run_swarm(program, 1, 0)
    first = np.nanmin(s.have_time)
    assert first > 10.0 + 2 * BLOCK / 20480
    assert first < 10.0 + 4 * 2 * (BLOCK + 13) / 20480 + 1.0


# Control messages behind a part-sent block.


def uploading(s: Any, p: int, q: int) -> int:
    """Let peer `p` send a block to `q` from time 0 on, alone; return p's end."""
    h = states.end(s, p, q)
    s.up[h] = states.UNCHOKED | states.TOLD | states.INTERESTED
    s.peer[p].n_unchoked += 1
    s.dn[s.mate[h]] |= STATE.WANTING | STATE.SERVED
    states.requests(s, h)[0] = 0
    s.conn[s.mate[h]].dn_tail = s.conn[s.mate[h]].outstanding = 1
    plain.limiter.got_request(s, h, 1, 0.0)
    return h


def test_a_have_waits_behind_a_part_sent_block() -> None:
    s = delayed(leechers=3, file_size="4 MB", upload_limit="20 kB/s")
    h = uploading(s, 0, 1)
    free = states.end(s, 0, 2)
    s.clock[0].now = 0.3
    for e in (h, free):
        plain.messages.send(s, e, STATE.HAVE, 1, 0.3)
    assert messages(s, s.mate[free], STATE.HAVE) == [pytest.approx(0.35)]  # half a round trip
    assert messages(s, s.mate[h], STATE.HAVE) == []
    end = (UNITS - 1) * 1380 / 20480  # the last unit is written
    run_until(s, end + 0.001)
    (arrival,) = messages(s, s.mate[h], STATE.HAVE)
    assert end + 0.05 <= arrival <= end + 0.05 + 0.1 + 1e-9  # and Nagle holds it a round trip at most


def test_choke_follows_the_part_sent_block_and_drops_the_others() -> None:
    s = delayed(leechers=3, file_size="4 MB", upload_limit="20 kB/s")
    h = uploading(s, 0, 1)
    states.requests(s, h)[1] = 1
    s.conn[s.mate[h]].dn_tail = s.conn[s.mate[h]].outstanding = 2
    plain.limiter.got_request(s, h, 1, 0.0)
    s.clock[0].now = 0.3
    plain.choking.choke(s, h, 0.3)
    assert messages(s, s.mate[h], STATE.CHOKE) == []
    run_until(s, 1.5)
    assert s.peer[0].bytes_up == BLOCK
    assert s.peer[1].bytes_down == BLOCK
    assert not s.dn[s.mate[h]] & STATE.SERVED
    assert s.conn[s.mate[h]].outstanding == 0


def test_what_waited_goes_out_in_one_write_and_choke_last() -> None:
    s = delayed(leechers=3, file_size="4 MB", upload_limit="10 kB/s")  # a unit each 135 ms: Nagle holds none of them
    h = uploading(s, 0, 1)
    s.clock[0].now = 0.3
    plain.choking.choke(s, h, 0.3)
    plain.messages.send(s, h, STATE.INTERESTED, 0, 0.4)
    written = (UNITS - 1) * 1380 / 10240
    run_until(s, written + 0.001)
    arrivals = {kind: messages(s, s.mate[h], kind) for kind in (STATE.PIECE, STATE.INTERESTED, STATE.CHOKE)}
    assert list(arrivals.values()) == [[pytest.approx(written + 0.05)]] * 3
    while s.dn[s.mate[h]] & STATE.SERVED:
        plain.engine.handle(s, plain.calendar.pop(s), s.clock[0].now)
    assert s.up[s.mate[h]] & states.INTERESTED  # it came before CHOKE


# The seed's idle connections.


@pytest.mark.parametrize(("pending", "first", "ended"), [(True, 5, 0), (False, 5, 1), (False, 3, 0)])
def test_a_seed_gives_up_an_idle_peer_and_counts_it(pending: bool, first: int, ended: int) -> None:
    """Four peers are served, peer 3 since round 5 and the others longer; three wait; the list starts at `first`."""
    s = states.connected(states.program(leechers=7, file_size="4 MB", rules={"ideal": 0}, client={"max_uploads": 4}))
    for q in range(1, 8):
        h = states.end(s, 0, q)
        s.up[h] = states.INTERESTED | (states.UNCHOKED | states.TOLD if q < 5 else 0)
        s.conn[h].up_seen = 2 if q < 5 and (pending or q != 3) else 0
        s.conn[h].up_round = 5 if q == 3 else 1
    listed = [first, *(q for q in range(1, 8) if q != first)]
    s.order[0, :7] = [states.end(s, 0, q) for q in listed]
    s.peer[0].head = 0
    s.peer[0].n_unchoked = 4
    s.peer[0].ticks = 9  # the next round is number 10, which forces one unchoke
    plain.choking.tick(s, 0, 100.0)
    assert (3 in states.unchoked(s, 0)) == (ended == 0)  # what is kept or met first on the walk keeps its slot
    assert len(states.unchoked(s, 0)) == 4
    assert s.peer[0].idle_ends == ended


def test_idle_terminations_grow_with_the_round_trip_time() -> None:
    """At 20 kB/s a round trip of 400 ms leaves a seed's connections waiting for requests when its choker looks."""
    counts = []
    for rtt in ("0 ms", "400 ms"):
        program = compile_scenario(states.scenario(leechers=40, file_size="8 MB", rtt=rtt, upload_limit="20 kB/s"))
        counts.append(sum(int(run_swarm(program, 1, k).peer.idle_ends[0]) for k in range(3)))
    assert counts[1] > counts[0]


# Endgame.


def test_endgame_asks_everyone_and_cancels_what_has_come() -> None:
    s = delayed(leechers=3, file_size="1 MB", upload_limit="20 kB/s")
    states.give(s, 1, range(3))
    for q in (2, 3):
        states.give(s, q, [3])
        states.tell(s, q, 1)
    s.blocks[1, 3, :] = 0b11  # two blocks of the last piece are missing
    s.peer[1].unrequested = 2
    for q in (2, 3):
        h = states.end(s, q, 1)
        s.up[h] = states.UNCHOKED | states.TOLD | states.INTERESTED
        s.dn[s.mate[h]] |= STATE.WANTING
    plain.downloading.got_unchoke(s, states.end(s, 1, 2), 1.0)
    assert plain.ends.in_endgame(s, 1)
    assert sorted(states.requested(s, 1, 2)) == [48, 49]
    plain.downloading.got_unchoke(s, states.end(s, 1, 3), 1.0)
    assert sorted(states.requested(s, 1, 3)) == [48, 49]
    first = states.requested(s, 1, 2)[0]
    s.clock[0].now = 2.0
    assert not plain.downloading.got_block(s, states.end(s, 1, 2), 0, 2.0)
    assert states.requested(s, 1, 3) == [97 - first]
    assert s.peer[1].cancelled == 1
    assert len(messages(s, states.end(s, 3, 1), STATE.CANCEL)) == 1
    assert plain.downloading.got_block(s, states.end(s, 1, 2), 1, 3.0)  # the piece is complete
    assert states.requested(s, 1, 3) == []


def test_without_endgame_no_block_comes_twice() -> None:
    for endgame in (True, False):
        program = compile_scenario(
            states.scenario(leechers=12, file_size="1 MB", client={"endgame": "everywhere" if endgame else "none"})
        )
        duplicates = sum(run_swarm(program, 1, k).peer.duplicates.sum() for k in range(5))
        assert (duplicates > 0) == endgame


# A full socket.


def test_a_full_socket_leaves_the_limiter_until_it_takes_data_again(monkeypatch: pytest.MonkeyPatch) -> None:
    s = delayed(leechers=3, file_size="4 MB", upload_limit="20 kB/s")
    h, other = uploading(s, 0, 1), states.end(s, 0, 2)
    for block in (1, 2, 3):
        states.requests(s, h)[block] = block
    s.conn[s.mate[h]].dn_tail = s.conn[s.mate[h]].outstanding = 4
    plain.limiter.got_request(s, h, 2, 0.0)
    room_after = 3.0
    monkeypatch.setattr(
        plain.tcp, "block_arrival", lambda _s, _w, t, _gap, _units, _more: (t + 1.0, t + room_after, 0.5)
    )
    written = (UNITS - 1) * 1380 / 20480
    run_until(s, written + 0.001)
    assert s.peer[0].bytes_up == BLOCK
    assert s.up[h] & STATE.BLOCKED
    assert not s.up[h] & STATE.RINGED
    assert s.peer[0].n_ring == 0
    assert s.conn[h].cause == STATE.BY_LOSS
    assert messages(s, h, STATE.FLUSHED) == [pytest.approx(written + room_after)]
    assert messages(s, s.mate[h], STATE.PIECE) == [pytest.approx(written + 1.0)]
    # Another connection has the whole cap meanwhile, and requests that come in do not bring this one back.
    s.up[other] = states.UNCHOKED | states.TOLD | states.INTERESTED
    states.requests(s, other)[0] = 4
    plain.limiter.got_request(s, other, 1, 1.0)
    plain.limiter.got_request(s, h, 1, 1.1)
    run_until(s, 1.0 + written + 0.001)
    assert s.peer[0].bytes_up == 2 * BLOCK
    run_until(s, written + room_after - 0.001)
    assert s.peer[0].bytes_up == 2 * BLOCK
    assert s.up[h] & STATE.BLOCKED
    run_until(s, written + room_after + 0.001)
    assert not s.up[h] & STATE.BLOCKED
    assert s.up[h] & STATE.RINGED
    run_until(s, written + room_after + written + 0.001)
    assert s.peer[0].bytes_up == 3 * BLOCK
