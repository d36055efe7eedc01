"""Single rules of swarms on access links: rings, transports, sockets, small segments, queues."""

from __future__ import annotations

from typing import Any

import access_checks as checks
import access_made as made
import numpy as np
import plain
import pytest
from access_idle import access, connected, idle

from btflow.kernels.access.state import SMALLEST_RING, TCP, TCP_ACKS, TCP_DATA, TOP, UTP
from btflow.kernels.link import state as k
from btflow.kernels.swarm.engine import FINISHED
from btflow.kernels.swarm.state import BLOCKED, FREE, OPEN
from btflow.swarm.program import Program

connections, stream = access.connections, access.stream
turns, sender = plain.link_module("turns"), access.sender

NOWHERE = {"base": "mainline-4.0", "max_allow_in": 16, "rerequest_interval": "30 s", "check_interval": "20 s"}


# ---- rings


def test_a_ring_that_is_given_back_is_the_next_that_is_taken() -> None:
    """Rings of a size are used again, empty; only when none is free the pool's part in use grows."""
    _, x = idle()
    first, second = connections.take_ring(x, 4), connections.take_ring(x, 5)
    assert (first, second, x.rings[TOP]) == (0, 16, 48)
    x.net.got[first : first + 16] = 7
    connections.give_ring(x, first, 15)
    assert connections.take_ring(x, 5) == 48
    assert connections.take_ring(x, 4) == first
    assert not x.net.got[first : first + 16].any()
    connections.give_ring(x, second, 31)
    connections.give_ring(x, 48, 31)
    assert [connections.take_ring(x, 5) for _ in range(3)] == [48, second, 80]
    assert x.rings[TOP] == 112


def test_a_wider_ring_has_all_that_was_in_the_narrow_one() -> None:
    """Segments, what is sent again, what was logged and what came early keep their numbers when a flow moves."""
    _, x = idle()
    connections.take_ring(x, 5)
    n, f = x.net, x.net.flow[3]
    f.ring_at, f.ring_mask = connections.take_ring(x, SMALLEST_RING), 15
    f.una, f.nxt, f.expected, f.seen, f.log, f.again_first, f.again_last = 1003, 1016, 1005, 2030, 2044, 77, 90
    for number in range(1002, 1016):
        n.segment[f.ring_at + number % 16].end = 10 * number
    came = [1007, 1011]
    for number in came:
        n.got[f.ring_at + number % 16] = number + 1
    n.log[f.ring_at + np.arange(2030, 2044) % 16] = np.arange(2030, 2044) + 5
    n.again[f.ring_at + np.arange(77, 90) % 16] = np.arange(77, 90) + 9
    narrow = int(f.ring_at)
    connections.widen_ring(x, 3)
    at = int(f.ring_at)
    assert (f.ring_mask, at) == (31, 48)
    assert [int(n.segment[at + number % 32].end) for number in range(1002, 1016)] == list(range(10020, 10160, 10))
    assert [number for number in range(1005, 1037) if n.got[at + number % 32] == number + 1] == came
    assert n.log[at + np.arange(2030, 2044) % 32].tolist() == list(range(2035, 2049))
    assert n.again[at + np.arange(77, 90) % 32].tolist() == list(range(86, 99))
    assert connections.take_ring(x, SMALLEST_RING) == narrow


# ---- transports


def opened(way: dict[str, Any], accepts: list[str]) -> tuple[float, int]:
    """Return when a leecher that starts at 1 s has a connection to the seed, and over what."""
    program = made.program(
        made.leechers(1, utp="utp", **way),
        seed={"accepts": accepts, **({"utp": "utp"} if "utp" in accepts else {})},
        common={"access": {}},
        paths={"rtt": "100 ms"},
        arrivals={"kind": "trace", "times": ["1 s"]},
    )
    for s, x, _ in made.steps(program, 1):
        found = [h for h in made.ends_of(s, 1) if s.conn.state[h] == OPEN]
        if found:
            return float(s.clock[0].now), int(x.protocol[found[0]])
    raise AssertionError


ASKED = 1.0 + 2 * 0.1
"""The tracker has answered [s]."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("opens", "attempts", "accepts", "waits", "transport"),
    [
        (["utp", "tcp"], "sequential", ["tcp", "utp"], 0, UTP),
        (["tcp", "utp"], "parallel", ["tcp", "utp"], 0, TCP),
        (["utp", "tcp"], "sequential", ["tcp"], 1 + 2 + 4, TCP),
        (["utp", "tcp"], "parallel", ["tcp"], 1, TCP),
        (["tcp", "utp"], "sequential", ["utp"], 1 + 2 + 4, UTP),
    ],
)
def test_who_opens_over_two_transports_takes_the_second_if_the_first_is_not_answered(
    opens: list[str], attempts: str, accepts: list[str], waits: int, transport: int
) -> None:
    """Three SYNs wait for the timeout, doubled each time, one if both are tried at once; set-up takes two more RTTs."""
    initial = {UTP: "tcp", TCP: "utp"}[np.int64(transport)]  # the one that waits in vain
    time, protocol = opened({"opens": opens, "attempts": attempts}, accepts)
    classes = made.scenario(made.leechers(1, utp="utp")).classes
    timeout = getattr(classes[1], initial).rto_initial
    assert protocol == transport
    assert time == pytest.approx(ASKED + waits * timeout + 2 * 0.1, abs=1e-9)


def test_who_cannot_open_is_given_up_and_opened_to_later() -> None:
    """A leecher's uTP is not accepted; it gives up after three SYNs, and the seed reaches it over TCP."""
    program = made.program(
        made.leechers(1, utp="utp", opens=["utp"], accepts=["tcp"]),
        common={"client": NOWHERE},
        arrivals={"kind": "trace", "times": ["1 s"]},
    )
    states = [(float(s.clock[0].now), s.conn.state.max()) for s, _, _ in made.steps(program, 1)]
    first = next(time for time, state in states if state != FREE)
    given_up = next(time for time, state in states if state == FREE and time > first)
    timeout = made.scenario(made.leechers(1, utp="utp")).classes[1].utp
    assert timeout is not None
    waits = [min(2**number * timeout.rto_initial, timeout.rto_max) for number in range(3)]
    assert given_up - first == pytest.approx(sum(waits))
    s, _ = made.run(program)
    assert s.peer.done[1] > given_up


def test_who_opens_nothing_is_opened_to() -> None:
    """A seed that opens no connections sends to those who come; nobody is ever asked by it."""
    program = made.program(made.leechers(3), seed={"opens": []}, arrivals={"kind": "trace", "times": ["0 s"] * 3})
    outgoing = set()
    for s, _, last in made.steps(program, 1):
        outcome = last
        used = [h for h in made.ends_of(s, 0) if s.conn.state[h] != FREE]
        outgoing |= {int(s.conn.outgoing[h]) for h in used}
    assert outcome == FINISHED
    assert plain.state.OUTGOING not in outgoing
    assert len(outgoing) == 2  # coming, and accepted


# ---- sockets and segments


@pytest.mark.parametrize(
    ("fields", "wrote", "full", "free_again"),
    [
        # a buffer of 12104 B, or two windows and a segment if that is more, a third of which must be free again
        ({"socket": 12104, "socket_windows": 2, "socket_free": 0.333, "cwnd": 3, "mss": 1448}, 12104, False, None),
        ({"socket": 12104, "socket_windows": 2, "socket_free": 0.333, "cwnd": 3, "mss": 1448}, 12105, True, 8073),
        ({"socket": 12104, "socket_windows": 2, "socket_free": 0.333, "cwnd": 10, "mss": 1448}, 30408, False, None),
        ({"socket": 12104, "socket_windows": 2, "socket_free": 0.333, "cwnd": 10, "mss": 1448}, 30409, True, 20282),
        # a window, and a segment that is being filled
        ({"socket": 0, "socket_windows": 1, "socket_free": 0, "cwnd": 4, "mss": 1382}, 6910, False, None),
        ({"socket": 0, "socket_windows": 1, "socket_free": 0, "cwnd": 4, "mss": 1382}, 6911, True, 6910),
        # bytes not sent yet
        ({"socket": 1459, "socket_windows": 0, "socket_free": 0, "socket_unsent": 1}, 1459, False, None),
        ({"socket": 1459, "socket_windows": 0, "socket_free": 0, "socket_unsent": 1}, 1460, True, 1459),
    ],
)
def test_a_socket_refuses_what_is_beyond_its_buffer_and_takes_data_when_enough_is_free(
    fields: made.Table, wrote: int, full: bool, free_again: int | None
) -> None:
    """What counts are the bytes not acknowledged, or those not sent; the end that was refused waits for `free`."""
    s, x = idle()
    h = connected(s, x, 1, 0)
    f = x.net.flow[h]
    for name, value in ({"socket_unsent": 0} | dict(fields)).items():
        f[name] = value
    gone = "cut" if f.socket_unsent else "acked"
    f.wrote = 7000 + wrote
    f[gone] = 7000
    assert stream.refuses(s, h, f, 1.0) == full
    if free_again is not None:
        s.up[h] |= BLOCKED
        f[gone] = f.wrote - free_again - 1
        stream.drained(x, h, 0.0)
        assert s.up[h] & BLOCKED
        f[gone] += 1
        stream.drained(x, h, 0.0)
        assert not s.up[h] & BLOCKED


@pytest.mark.parametrize(("rate", "ahead"), [(0, 57344), (3000, 57344), (20_000, 300_000)])
def test_what_is_written_ahead_of_a_socket_is_15_s_of_its_rate_or_three_and_a_half_blocks(
    rate: float, ahead: int
) -> None:
    s, x = idle()
    h = connected(s, x, 1, 0)
    s = s._replace(rules=s.rules._replace(tallied=1))
    f, c = x.net.flow[h], s.conn[h]
    f["socket"], f["socket_windows"], f["socket_unsent"], f.cut = 12104, 0, 1, 7000
    s.client["write_ahead"], s.client["write_ahead_least"] = 15.0, 57344
    c.up_rate, c.up_since, c.up_last = rate, 8.0, 10.0
    f.wrote = 7000 + 12104 + ahead
    assert not stream.refuses(s, h, f, 10.0)
    f.wrote += 1
    assert stream.refuses(s, h, f, 10.0)


@pytest.mark.parametrize(
    ("nagle", "left", "acked", "goes"),
    [
        (k.NO_NAGLE, 0, 5000, False),
        (k.NO_NAGLE, 1, 0, True),
        (k.SMALL_DATA, 1, 2999, False),  # the last small segment ended at 3000
        (k.SMALL_DATA, 1, 3000, True),
        (k.SMALL_DATA, 1448, 0, True),
        (k.ANY_DATA, 1447, 4999, False),  # 5000 were sent
        (k.ANY_DATA, 1447, 5000, True),
        (k.ANY_DATA, 1448, 0, True),
    ],
)
def test_a_small_segment_waits_as_nagles_rule_has_it(nagle: int, left: int, acked: int, goes: bool) -> None:
    """A full segment never waits; a small one for nothing, for the last small one, or for all that was sent."""
    f = np.zeros(1, k.FLOW).view(np.recarray)[0]
    f.nagle, f.mss, f.cut, f.wrote, f.acked, f.small_end = nagle, 1448.0, 5000, 5000 + left, acked, 3000
    assert sender.something_new(f) == goes


def test_segments_are_cut_from_what_was_written() -> None:
    """A segment takes as much as it can hold, whatever messages it is from; where the last small one ends is noted."""
    f, seg = (np.zeros(1, kind).view(np.recarray)[0] for kind in (k.FLOW, k.SEGMENT))
    f.mss, f.wrote, f.small_end = 1448.0, 3000, -1
    found = []
    while f.cut < f.wrote:
        sender.cut(f, seg)
        found.append((int(seg.bytes), int(seg.end), int(f.small_end)))
    assert found == [(1448, 1448, -1), (1448, 2896, -1), (104, 3000, 3000)]


def lone_acks(program: Program, ride: bool) -> float:
    """Return the bytes of ACKs that travel alone, per byte of data; `ride`: others may travel with data."""
    for s, x, _ in made.steps(program, 100, 1):
        if s.clock[0].now > 5.0 and not ride:  # all are connected, nobody is unchoked yet
            x.net.flow["reverse"] = k.NONE
    return float(x.crossed[:, TCP_ACKS].sum() / x.crossed[:, TCP_DATA].sum())


def test_acks_ride_on_data_that_goes_the_same_way() -> None:
    """Where peers send to each other, fewer ACKs travel alone than if none could ride on data."""
    program = made.program(made.leechers(2), swarm={"file_size": "2 MB", "piece_size": "16 KiB"})
    assert lone_acks(program, ride=True) < 0.97 * lone_acks(program, ride=False)


def test_an_ack_that_rides_says_what_one_alone_would() -> None:
    """It is that of the flow in the other direction, which then owes none; nothing rides where nothing is owed."""
    s, x = idle()
    h = connected(s, x, 1, 0)
    g = int(s.mate[h])
    forth, back, parcel = x.net.flow[h], x.net.flow[g], x.net.parcel[0]
    parcel.ack = k.NONE
    sender.receiver.ride(x.net, forth, 3.0, parcel)
    assert parcel.ack == k.NONE
    back.unacked, back.log, back.first_stamp, back.last_stamp, back.times_newest = 1, 17, 2.25, 2.5, 1
    back.ack_at = 3.04
    sender.receiver.ride(x.net, forth, 3.0, parcel)
    assert (parcel.ack, parcel.ack_stamp, parcel.ack_owd) == (17, 2.5, 0.75)
    assert (back.unacked, back.ack_at) == (0, k.FOREVER)


# ---- queues


def test_a_slot_that_is_used_again_keeps_its_subqueues_in_one_queue() -> None:
    """With turns, packets of a closed connection may wait at another downlink than those of the next one of its end."""
    s, x = idle()
    lines: dict[int, int] = {}
    for q in (2, 3):
        h = connected(s, x, 1, q)
        g = int(s.mate[h])
        for owner in (2 * h, 2 * h + 1, 2 * g, 2 * g + 1):
            for peer in (1, q):
                for way in (0, 1):
                    queue = 2 * peer + way
                    x.net.hand[0].owner = owner
                    line = turns.line_of(x.net, queue, 0, x.net.hand[0])
                    sends = (owner >> 1 == h) == (peer == 1)
                    if sends == (owner & 1 == way):  # data goes up at its sender's and down at the other's, ACKs back
                        assert lines.setdefault(line, queue) == queue
        plain.peer_set.release(s, h, 0.0)
        plain.peer_set.forget_attempt(s, g)
        access.do_todo(x, 0.0)
    assert h == 1 << s.rules.slot_bits  # the same slot
    assert len(lines) == 12  # of peers 1, 2 and 3, each with data and ACKs, up and down


def test_a_queue_that_counts_bytes_takes_no_more_small_packets_than_it_has_places() -> None:
    """PIE's rings once overflowed when many handshakes and HAVEs met in a short buffer given as a time."""
    program = made.program(
        made.leechers(12, access={"uplink": made.way("377 kbit/s", "97 ms", discipline="pie")}),
        seed={"access": {}},
        swarm={"file_size": "300 kB", "piece_size": "128 KiB"},
        paths={"rtt": "0 ms", "delay_max": "47 ms"},
        arrivals={"kind": "flash", "spread": "0 s"},
        departures={"completions": 1},
    )
    for _, x, _ in made.steps(program, 100, 1816):
        checks.check_queues(x)


# ---- the uplink's queue


@pytest.mark.slow
def test_a_host_is_told_what_its_own_queue_refuses() -> None:
    """CUBIC fills a queue of 12 packets: a modem's drops many, the host's none; what it refuses is sent later."""
    found = {}
    for place in ("modem", "host"):
        queue = {"rate": "1 Mbit/s", "buffer": "12 packets"}
        program = made.program(
            made.leechers(1), seed={"uplink_queue": place, "access": {"uplink": queue}}, common={"access": {}}
        )
        s, x = made.run(program)
        data = [f for f in x.net.flow if f.arrived > 100]
        found[place] = float(s.peer.done[1])
        assert len(data) == 1
        assert (data[0].dropped > 0) == (place == "modem")
        assert (data[0].resent > 0) == (place == "modem")
        assert data[0].falls > 0
    assert found["host"] <= found["modem"]
