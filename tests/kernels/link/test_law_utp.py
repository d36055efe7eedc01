"""uTP without the engine: libutp's rule read literally, losses, slow start, small windows, silence."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, strategies as st
from laws_made import ACKS, base_of
from link_states import Driver


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
