"""uTP without the engine: libutp's rule read literally, losses, slow start, small windows, silence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plain
import pytest
from hypothesis import given, strategies as st
from laws_made import ACKS, base_of
from link_states import STATE, Driver


@pytest.mark.parametrize("variant", [0, 1])
@given(ACKS)
def test_utp_is_libutps(variant: int, acks: list[Any]) -> None:
    """The rule in bytes, with packets of 300."""
    x = Driver("utp", variant=variant, min_window=1 / 30)
    t, samples, window = 0.0, [], 300.0
    slow, ssthresh, delays, maxed = variant == 1, math.inf, [0.0] * 3, 0.0
    for gap, owd, acked in acks:
        t += gap
        x.flow.limited = int(gap < 0.25)
        maxed = t if x.flow.limited else maxed
        if x.flow.variant == 1 and x.flow.pacing > 0.0:
            window, slow = 300.0, True
        samples.append((t, owd))
        delays.append(owd - base_of(samples, 13))
        ours, part = min(delays[-3:]), min(300.0 * acked, window) / max(300.0 * acked, window)
        change = 3000.0 * part * (1.0 - ours / 0.1)
        if change > 0.0 and t - maxed > 0.3:
            change = 0.0
        new = max(10.0, window + change)
        if slow:
            opened = window + 300.0 * part
            if opened > ssthresh:
                slow = False
            elif ours > 0.09:
                slow, ssthresh = False, window
            else:
                window = max(opened, new)
        else:
            window = new
        assert x.ack(t, owd + 0.02, owd, acked) * 300.0 == pytest.approx(window, rel=1e-9)


@given(st.lists(st.floats(0.0, 0.3), min_size=1, max_size=30))
def test_utp_answers_losses_once_per_gap(gaps: list[float]) -> None:
    x, t, answered, window = Driver("utp", cwnd=100), 0.0, -math.inf, 100.0
    for gap in gaps:
        t += gap
        if t >= answered + 0.1:
            answered, window = t, max(1 / 30, 0.78 * window)
        assert x.lose(t) == pytest.approx(window)


def test_the_slow_start_of_2013_is_hardly_one() -> None:
    old, new = Driver("utp"), Driver("utp", variant=1)
    for k in range(1, 11):
        old.round(0.1 * k, 0.1, 0.05)
        new.round(0.1 * k, 0.1, 0.05)
    assert new.flow.cwnd == old.flow.cwnd
    assert old.flow.cwnd <= 1 + 10 * 10


def test_a_utp_window_below_a_packet_is_paced_or_stuck() -> None:
    for variant in (0, 1):
        x = Driver("utp", variant=variant, filter=1)
        x.ack(0.0, 0.1, 0.05)
        for k in range(1, 12):
            x.measure(0.1 * k, 0.6, 0.55)
            x.flow.una, x.flow.nxt, x.flow.flight = k, k, 0
            x.law.sample(x.state, 0, x.flow, 0.1 * k, 1.0)
            if x.flow.cwnd < 1.0:
                break
        assert 1 / 30 <= x.flow.cwnd < 1.0
        assert x.flow.pacing == pytest.approx(x.flow.cwnd / 0.1 if variant == 0 else 1.0)
    assert x.ack(5.0, 0.1, 0.05) > 1.0
    assert x.flow.pacing == 0.0


def test_idle_time_shrinks_the_window_of_2013_by_thirds() -> None:
    x = Driver("utp", variant=1, cwnd=27, rto=1)
    x.flow.last_sent = 0.0
    x.law.rest(x.state, 0, x.flow, 7.5)  # the timer fires at 1, 3 and 7 s
    assert x.flow.cwnd == pytest.approx(8.0)


LIBTORRENT = {
    "variant": 2,
    "mss": 1451,
    "cwnd": 1500 / 1451,
    "min_window": 1471 / 1451,
    "gate": 0,
    "beta": 0.5,
    "app": 2,
}


@given(ACKS)
def test_utp_of_libtorrent_is_do_ledbat(acks: list[Any]) -> None:
    """The source's rule in bytes and 16.16 fixed point."""
    x = Driver("utp", max_gain=3000 / 1451, **LIBTORRENT)
    f, one, mtu = x.flow, 1 << 16, 1471
    t, samples, delays, window, slow, ssthresh = 0.0, [], [], 1500 * one, True, 0
    for gap, owd, n in acks:
        t += gap
        samples.append((t, owd))
        delays.append(owd - base_of(samples, 13))
        delay, acked = int(1e6 * min(min(delays[-3:]), owd + 0.02) + 0.5), 1451 * n
        left = 1451 * int(max(f.nxt - f.una - n, 0))
        window = round(float(f.cwnd) * 1451 * one)
        linear = 3000 * acked * (100_000 - delay) * one // ((left + acked) * 100_000)
        if delay >= 100_000 and slow:
            slow, ssthresh = False, (window >> 16) // 2
        if left + acked + mtu > window >> 16:
            if slow and ssthresh and (window >> 16) + acked > ssthresh:
                slow = False
            window = max(window + (max(acked * one, linear) if slow else linear), mtu * one)
        assert x.ack(t, owd + 0.02, owd, n) * 1451 == pytest.approx(window / one, abs=0.1)
        assert f.opening == slow


def test_slow_start_of_libtorrent_doubles_until_the_target_and_again_to_half_of_that() -> None:
    x = Driver("utp", max_gain=3000 / 1451, **{**LIBTORRENT, "cwnd": 2})
    windows = [x.round(0.1 * k, 0.1, 0.05) for k in range(1, 6)]
    assert windows == pytest.approx([4, 8, 16, 32, 64], abs=0.1)  # the first ACK by the linear gain
    for k in range(3):
        x.ack(0.6, 0.26, 0.16 + 1e-6 * k)
    assert x.flow.opening == 0
    assert x.flow.ssthresh == pytest.approx(33, abs=1)  # two ACKs before the least of three shows it
    x.time_out(1.0)
    assert x.flow.opening == 1
    x.flow.una, x.flow.flight = x.flow.nxt, 0
    windows = [x.round(1.0 + 0.1 * k, 0.1, 0.05) for k in range(1, 6)]
    assert windows[:4] == pytest.approx([3, 6, 12, 24], abs=0.1)
    assert 32 < windows[4] < 36


@pytest.mark.parametrize(("unexpected", "times"), [(0.0, 1), (1.75, 8), (2.0, 0)])
def test_a_timeout_too_early_lets_the_window_of_libtorrent_leap(unexpected: float, times: int) -> None:
    """Two segments arrive, of which the timer held some lost: the gain counts them over what was on the way."""
    x = Driver("utp", max_gain=3000 / 1451, **{**LIBTORRENT, "cwnd": 2})
    x.flow.opening, x.flow.nxt, x.flow.unexpected = 0, 2, unexpected
    assert x.ack(0.1, 0.1, 0.05, 2) == pytest.approx(2 + times * 3000 / 1451)


@given(st.lists(st.tuples(st.floats(0.0, 0.3), st.floats(0.0, 0.5)), min_size=1, max_size=30))
def test_libtorrent_answers_no_loss_of_what_left_before_the_last(losses: list[tuple[float, float]]) -> None:
    x, t, fell, window = Driver("utp", **{**LIBTORRENT, "cwnd": 100}), 0.0, -math.inf, 100.0
    for gap, age in losses:
        t += gap
        x.flow.lost_sent = t - age
        if t - age > fell and t > fell + 0.1:
            fell, window = t, max(1471 / 1451, 0.5 * window)
        assert x.lose(t) == pytest.approx(window)
        assert x.flow.opening == (fell == -math.inf)


def test_libtorrent_finds_five_losses_with_an_ack_and_beyond_the_first_with_four_behind_them() -> None:
    """Of 20 packets the first ten are lost; the others arrive one by one."""
    none = {"top": -1, "top2": -1, "top3": -1, "top4": -1}
    x = Driver("utp", **{**LIBTORRENT, **none, "nxt": 20, "flight": 20, "ring_mask": 31, "sack": 1})
    x.state.segment = np.zeros(32, STATE.SEGMENT).view(np.recarray)
    x.state.segment.bytes = 1451
    board, found = plain.link_module("scoreboard"), []
    for number in range(10, 20):
        board.mark_arrived(x.state, 0, x.flow, number)
        found.append(int(board.find_losses(x.state, 0, x.flow)))
    assert found == [0, 0, 1, 5, 4, 0, 0, 0, 0, 0]
    assert x.flow.waiting_retransmit == 10
    assert x.flow.flight == 0


def test_libtorrent_finds_the_size_of_its_packets_by_halves() -> None:
    x = Driver("utp", **{**LIBTORRENT, "cwnd": 50, "app": 0})
    x.flow.opening, sizes = 0, [528]
    for k in range(1, 1000):
        x.ack(0.1 * k, 0.1, 0.05)
        if sizes[-1] != x.flow.packet:
            sizes.append(int(x.flow.packet))
    assert sizes == [528, 990, 1221, 1336, 1394, 1423, 1437, 1444, 1448, 1450, 1451]


def test_the_timer_of_libtorrent_looks_every_tick_and_adds_seconds() -> None:
    law = Driver("utp", **LIBTORRENT, rto=0.7, rto_max=60).law.utp_libtorrent
    f = Driver("utp", **LIBTORRENT, rto=0.7, rto_max=60).flow
    assert [law.expiry(f, 0.1, 2.0**n) for n in range(4)] == pytest.approx([1.0, 2.0, 3.0, 5.0])
    assert law.expiry(f, 0.1, 128.0) == pytest.approx(60.5)
    f.cwnd, f.last_sent, f.last_ack = 27.0, 0.0, 0.1
    law.rest(f, 2.6)  # 1, 2 (0.7 s after 1, at the next look) and 3 s are its timeouts
    assert f.cwnd == pytest.approx(12.0)
    assert f.opening == 1


@pytest.mark.parametrize(("fall", "rise"), [(0.004, 0.004), (0.011, 0.0)])
def test_the_base_of_libtorrent_rises_as_that_of_the_other_way_falls(fall: float, rise: float) -> None:
    x = Driver("utp", max_gain=3000 / 1451, **LIBTORRENT)
    x.ack(0.1, 0.08, 0.03)
    x.ack(0.2, 0.11 - fall, 0.06)
    assert x.flow.base_delay == pytest.approx(0.03 + rise)
