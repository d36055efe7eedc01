"""TCP below the limiter: rounds counted by hand, window laws from their RFCs, throughput against closed forms."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import plain
import pytest
from entered import entered
from hypothesis import given, settings, strategies as st
from states import wire

from btflow.kernels import random

geometric = entered(random.geometric)

RTO_MIN = 0.2


@pytest.fixture
def losses(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that scripts which of the next segments are lost; the rest get through."""

    def script(fates: Iterable[bool]) -> None:
        left = iter(fates)
        monkeypatch.setattr(plain.tcp, "lost", lambda *_: next(left, False))
        monkeypatch.setattr(plain.tcp, "unlimited", lambda *_: 0)  # one after the other

    return script


# Slow start. One ACK for two segments, each opening the window by one: 3, 5, 8, 12, 18 segments a round. An ACK held
# back lengthens a round; without that, rounds are round trips. A receiver that is quick acknowledges every segment.


@pytest.mark.parametrize(("initial_window", "rounds"), [(3, 2), (10, 1)])
def test_the_first_block_takes_the_rounds_of_slow_start_and_a_second_goes_on(initial_window: int, rounds: int) -> None:
    s, w = wire(rtt=0.1, initial_window=initial_window, delayed_ack="0 s", quick_acks=0)
    arrival, _, stall = plain.tcp.block_arrival(s, w, 0.0, 0.0, 12, initial_window == 3)
    assert (arrival, stall) == pytest.approx((rounds * 0.1 + 0.05, 0.0))  # 3 + 5 + 4 segments, or 10 + 2
    if initial_window == 3:
        # Written when the first block's last round leaves, with room for 4 of 8: the other 8 leave in the next, of 12.
        assert plain.tcp.block_arrival(s, w, 0.2, 0.0, 12, False)[0] == pytest.approx(0.3 + 0.05)


def test_a_quick_receiver_doubles_the_window_until_its_quick_acks_are_used_up() -> None:
    s, w = wire(rtt=0.1, delayed_ack="0 s", quick_acks=8)
    plain.tcp.block_arrival(s, w, 0.0, 0.0, 12, True)
    # 3 segments, 6 acknowledged one by one, then (5 quick ACKs left do not cover them) the rest of 6 in pairs.
    assert (int(w.cwnd), w.in_round, w.quick) == (9, 3, 0)


@pytest.mark.parametrize(("begin", "end"), [(None, 5), (20.0, 20)])
def test_a_window_that_is_not_filled_but_for_a_burst_does_not_grow(begin: float | None, end: float) -> None:
    s, w = wire(rtt=0.1)
    if begin is not None:
        w.cwnd, w.ssthresh = begin, 10.0
    for k in range(100):
        plain.tcp.block_arrival(s, w, 3.0 * (k + 1), 0.25, 12, True)  # a unit at a time, each acknowledged before
    assert w.cwnd == end  # one in flight and three more count as full (tcp_is_cwnd_limited)


# Idle restart (RFC 2861; Linux tcp_cwnd_restart).


@pytest.mark.parametrize(("idle", "window"), [(0.25, 24), (0.31, 12), (0.59, 12), (0.61, 6), (0.95, 3), (100.0, 3)])
def test_the_window_is_halved_for_every_timeout_of_idleness(idle: float, window: float) -> None:
    s, w = wire(rtt=0.1)  # RTO 0.3 s
    w.cwnd, w.ssthresh, w.last_sent = 24, 10.0, 50.0
    plain.tcp_window.idle_restart(s, w, 50.0 + idle)
    assert w.cwnd == window
    assert w.ssthresh == (10.0 if idle < 0.3 else 18.0)  # at least three quarters of the window


@pytest.mark.parametrize("reset", [True, False])
def test_idleness_leaves_slow_start_without_loss_and_the_window_if_the_reset_is_off(reset: bool) -> None:
    s, w = wire(rtt=0.1, idle_reset=reset)
    w.cwnd, w.last_sent = 24, 50.0
    before = float(w.ssthresh)
    plain.tcp_window.idle_restart(s, w, 60.0)
    assert w.ssthresh == before  # ssthresh becomes max(ssthresh, 3/4 cwnd), and it was unlimited
    assert w.cwnd == (3 if reset else 24)


# CUBIC (Linux 2.6.32 tcp_cubic.c; RFC 9438).


@given(st.floats(4, 300), st.floats(0.5, 1.0), st.floats(0.01, 1.0), st.floats(0.0, 20.0))
def test_the_cubic_target(w_max: float, start: float, rtt: float, since: float) -> None:
    s, w = wire(rtt=round(rtt, 3))
    w.w_max, w.w_start, w.epoch = w_max, start * w_max, 7.0
    w.k = plain.tcp_window.plateau(s, w)
    c = 0.4
    k = ((w_max - start * w_max) / c) ** (1 / 3)  # from the window at the start of the epoch, not from beta Wmax
    exact = c * (since + w.rtt - k) ** 3 + w_max
    assert plain.tcp_window.cubic_target(s, w, 7.0 + since) == pytest.approx(
        exact, abs=1.001
    )  # the rise is cut to segments


def test_above_the_old_window_the_epoch_starts_where_it_is() -> None:
    s, w = wire(rtt=0.5)
    w.w_max, w.w_start, w.epoch = 5.0, 9.0, 7.0
    assert plain.tcp_window.cubic_target(s, w, 7.0 + 2.0) == 9 + math.floor(0.4 * 2.5**3)


def test_acknowledgements_for_a_segment() -> None:
    s, w = wire(rtt=0.1)
    w.cwnd, w.w_max, w.w_start, w.epoch = 10.0, 10.0, 10.0, 0.0
    assert plain.tcp_window.acks_per_segment(s, w, 0.0) == 1000  # at the target
    assert plain.tcp_window.acks_per_segment(s, w, 0.4) == 5  # Reno's line: 4 round trips x 0.53 = 2 segments ahead
    assert plain.tcp_window.acks_per_segment(s, w, 3.0) == 1  # 0.4 x 3.1^3 = 11 segments ahead


def test_a_round_grows_the_window_by_half_at_most_and_slow_start_ends_one_above_its_threshold() -> None:
    s, w = wire(rtt=0.1)
    w.cwnd, w.ssthresh, w.in_round = 4.0, 7.0, 4
    plain.tcp_window.grow(s, w, 1.0, 4.0)
    assert (w.cwnd, w.epoch) == (8.0, -1.0)
    s, w = wire(rtt=0.1)
    w.cwnd, w.ssthresh, w.w_max, w.w_start, w.epoch, w.in_round = 10.0, 5.0, 20.0, 7.0, 0.0, 10
    plain.tcp_window.grow(s, w, 100.0, 10.0)
    assert w.cwnd == 15.0  # the count starts at 0: two ACKs for a segment


@pytest.mark.parametrize(
    ("before", "timeout", "window", "w_max"),
    [(50.0, False, 70, 100), (50.0, True, 1, 0), (120.0, False, 70, 85)],  # 85: cwnd (1 + beta) / 2, for newcomers
)
def test_a_loss_leaves_beta_of_the_window_or_one_segment(
    before: float, timeout: bool, window: int, w_max: float
) -> None:
    s, w = wire()
    w.cwnd, w.w_max = 100.0, before
    plain.tcp_window.reduce(s, w, timeout)
    assert (w.cwnd, w.ssthresh, w.w_max) == (window, 70.0, w_max)


# Losses.


@pytest.mark.parametrize(
    ("fates", "wait"),
    [
        ([False], 0.3),  # the RTO: 0.1 + 0.2
        ([True, False], 0.3 + 0.6),
        ([True, True, False], 0.3 + 0.6 + 1.2),
        ([True] * 10, 0.3 * sum(2**k for k in range(9)) + 2 * 120.0),  # 0.3 to 76.8 s, then the most
    ],
)
def test_timeouts_double_up_to_the_longest(losses: Any, fates: list[bool], wait: float) -> None:
    s, w = wire(rtt=0.1)
    losses(fates)
    assert plain.tcp.repaired(s, w, 50.3) - 50.0 == pytest.approx(wait)


@pytest.mark.parametrize("nagle", [True, False])
def test_a_lost_control_message_arrives_an_rto_later_and_those_behind_it_in_order(losses: Any, nagle: bool) -> None:
    s, w = wire(rtt=0.1, loss=0.01, nagle=nagle)
    losses([True, False])
    first = plain.tcp.control_arrival(s, w, 50.0)
    assert first == pytest.approx(50.0 + 0.3 + 0.05)
    assert nagle or plain.tcp.control_arrival(s, w, 50.01) == first


@pytest.mark.parametrize(("fates", "delay"), [([True, False], 3), ([False, True, False], 3), ([True, True], 9)])
def test_lost_syns_wait_three_seconds_and_double(losses: Any, fates: list[bool], delay: float) -> None:
    s, w = wire(rtt=0.1, loss=0.01)
    losses(fates)
    assert plain.tcp.handshake_delay(s, w) == delay


def test_a_loss_with_little_in_flight_waits_for_the_timer(losses: Any) -> None:
    s, w = wire(rtt=0.1, loss=0.01)
    losses([*[False] * 11, True])  # the last of the block, nothing behind it
    arrival, _, stall = plain.tcp.block_arrival(s, w, 50.0, 0.25, 12, False)
    assert arrival == pytest.approx(50.0 + 0.3 + 0.05)
    assert stall == pytest.approx(0.3)


def test_three_segments_behind_a_lost_one_repair_it_in_a_round_trip(losses: Any) -> None:
    s, w = wire(rtt=0.4, loss=0.01, nagle=False)
    w.cwnd, w.last_sent = 20.0, 49.8
    losses([*[False] * 5, True])
    arrival, _, stall = plain.tcp.block_arrival(s, w, 50.0, 0.01, 12, False)
    sent = 50.0 - 6 * 0.01
    assert stall == pytest.approx(3 * 0.01 + 0.4)  # the third duplicate ACK, and the segment again
    assert arrival == pytest.approx(sent + 3 * 0.01 + 0.4 + 0.2)
    assert (w.falling, w.cwnd) == (1, 20.0)  # the sender learns of it with the third duplicate ACK
    plain.tcp_window.end_round(s, w, sent + 0.43)
    assert (w.falling, w.ssthresh) == (0, 14.0)


def test_one_segment_behind_a_lost_one_is_enough_once_the_lost_one_is_older_than_the_timeout(losses: Any) -> None:
    s, w = wire(rtt=0.4, loss=0.01, nagle=False)  # RTO 0.6 s
    losses([*[False] * 10, True])
    arrival, _, _ = plain.tcp.block_arrival(s, w, 50.0, 0.25, 12, False)
    assert arrival == pytest.approx(49.75 + 0.25 + 0.4 + 0.2)  # acknowledged 0.65 s after the lost one left


@pytest.mark.parametrize(("fates", "stall"), [([True, False], 0.6), ([True, True, False], 0.6 + 1.2)])
def test_a_lost_retransmission_at_a_small_window_waits_for_the_timer(
    losses: Any, fates: list[bool], stall: float
) -> None:
    s, w = wire(rtt=0.4, loss=0.01, nagle=False)
    w.last_sent = 49.0
    losses([True, *fates])
    _, _, waited = plain.tcp.block_arrival(s, w, 50.0, 0.0, 12, False)
    assert waited >= stall


# The socket's buffer: 16 KiB of segments charged 1960 B each, then two windows.


def test_the_buffer_grows_to_two_windows_when_it_leaves_the_window_unfilled() -> None:
    s, w = wire(rtt=0.4)
    assert w.buffer == pytest.approx(16384 / 1960)
    t = 0.0
    for _ in range(30):
        _, free, _ = plain.tcp.block_arrival(s, w, t, 1e-7, 12, True)
        t = max(t + 12e-7, free)
    assert w.buffer >= 2 * 12
    grown = float(w.buffer)
    plain.tcp.block_arrival(s, w, t + 60.0, 1e-7, 12, True)
    assert w.buffer >= grown  # it never shrinks


def test_what_was_sent_behind_a_hole_stays_in_the_buffer(losses: Any) -> None:
    s, w = wire(rtt=0.4, loss=0.01, nagle=False)
    w.cwnd, w.ssthresh = 10.0, 5.0
    losses([*[False] * 3, True])
    _, free, stall = plain.tcp.block_arrival(s, w, 50.0, 0.0, 12, True)
    assert stall == pytest.approx(0.4)
    assert free >= 50.0 + 2 * 0.4  # with the acknowledgement of the segment sent again, not a round trip earlier


def test_a_message_behind_waiting_data_shares_its_last_segment(losses: Any) -> None:
    s, w = wire(rtt=0.4, loss=0.01)
    plain.tcp.block_arrival(s, w, 50.0, 0.0, 12, False)
    losses([True])
    assert plain.tcp.control_arrival(s, w, 50.1) == w.last_arrival == pytest.approx(w.last_sent + 0.2)


@pytest.mark.parametrize("p", [0.4, 0.05, 1e-3])
def test_losses_come_as_often_as_asked(p: float) -> None:
    source = np.array([12345, 0], np.uint64)
    gaps = [geometric(source, p) for _ in range(20_000)]
    assert min(gaps) == 1
    assert np.mean(gaps) == pytest.approx(1 / p, rel=5 * math.sqrt((1 - p) / 20_000))


@pytest.mark.parametrize("p", [0.0, 5e-324, 1e-300, 1e-20, 1e-12])
def test_very_rare_losses_do_not_come_at_once(p: float) -> None:
    source = np.array([12345, 0], np.uint64)
    assert min(geometric(source, p) for _ in range(1000)) > 10**6


# Below the window TCP adds latency only.


@settings(max_examples=60)
@given(st.floats(0.0, 1.0), st.floats(1.0, 4.0), st.lists(st.floats(0.0, 30.0), min_size=1, max_size=8))
def test_a_capped_block_arrives_half_a_round_trip_after_its_end(rtt: float, ratio: float, pauses: list[float]) -> None:
    s, w = wire(rtt=round(rtt, 3))
    gap, end = ratio * (w.rtt + plain.nagle.longest_delay(s, w)), 0.0  # each write is acknowledged before the next
    for pause in pauses:
        end += pause + 12 * gap
        arrival, free, stall = plain.tcp.block_arrival(s, w, end, gap, 12, pause < 15.0)
        assert arrival == pytest.approx(end + w.rtt / 2)
        assert (free, stall) == (end, 0.0)


@settings(max_examples=60)
@given(st.floats(0.05, 1.0), st.floats(0.4, 1.0), st.booleans(), st.lists(st.floats(0.0, 30.0), min_size=1, max_size=8))
def test_nagle_costs_a_round_trip_at_most(rtt: float, ratio: float, nagle: bool, pauses: list[float]) -> None:
    s, w = wire(rtt=round(rtt, 3), nagle=nagle)
    gap, end = ratio * w.rtt, 0.0  # up to two and a half segments in flight: less than the window of 3
    for pause in pauses:
        end += pause + 12 * gap
        arrival, free, _ = plain.tcp.block_arrival(s, w, end, gap, 12, pause < 15.0)
        assert free == end
        latest = end + w.rtt / 2 + (w.rtt if nagle else 0.0)
        assert end + w.rtt / 2 - 1e-9 <= arrival <= latest + 1e-9


# Segmentation offload: a burst is one segment, lost and sent again as one.


def stalled_blocks(segment_units: int, blocks: int = 400) -> float:
    """Return the share of blocks of 12 writes that wait for a retransmission at 5 % loss."""
    s, w = wire(rtt=0.5, loss=0.05)
    s = s._replace(rules=s.rules._replace(segment_units=segment_units))
    ends = [100.0 * (k + 1) for k in range(blocks)]
    return float(np.mean([plain.tcp.block_arrival(s, w, end, 0.01, 12, False)[2] > 0.0 for end in ends]))


def test_an_offloaded_segment_is_lost_as_one() -> None:
    # 12 writes 10 ms apart pile up within a round trip of 500 ms: with offload they are one segment, or three of four.
    for segment_units, segments in ((1, 12), (4, 3), (64, 1)):
        share = 1.0 - 0.95**segments
        spread = 4.0 * math.sqrt(share * (1.0 - share) / 400)
        assert stalled_blocks(segment_units) == pytest.approx(share, abs=spread)


# Segments that leave as they are written.


@given(
    rtt=st.floats(0.01, 1.0),
    gap=st.floats(0.0, 2.0),
    since=st.floats(-0.5, 3.0),
    units=st.integers(1, 30),
    window=st.floats(1.0, 40.0),
    in_round=st.integers(0, 12),
    quick=st.integers(0, 20),
)
def test_coasting_is_what_one_departure_after_the_other_does(
    rtt: float, gap: float, since: float, units: int, window: float, in_round: int, quick: int
) -> None:
    made = [wire(rtt) for _ in range(2)]
    for _, w in made:
        w.cwnd, w.round_at, w.in_round, w.quick = window, 10.0, in_round, quick
    (s, all_at_once), (_, one_by_one) = made
    begin = 10.0 + since
    end = begin + (units - 1) * gap
    coasted = plain.tcp_window.coast(s, all_at_once, begin, gap, end, units)
    assert 0 <= coasted <= units
    for i in range(coasted):
        written = min(begin + i * gap, end)
        assert plain.tcp_window.next_departure(s, one_by_one, written) == written
    assert all_at_once.tobytes() == one_by_one.tobytes()
    if since >= rtt + s.rules.delayed_ack and window >= in_round + 40:
        assert coasted == units  # nothing holds any of them
