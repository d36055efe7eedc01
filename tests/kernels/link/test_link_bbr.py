"""BBR: its modes by scripted ACKs, and on a link of its own."""

from __future__ import annotations

from collections import deque
from typing import Any

import numba
import numpy as np
import plain
import pytest
from link_bare import bare

from btflow.kernels.compiler import intrinsics
from btflow.kernels.link.laws import bbr as compiled

by_ref: Any = intrinsics.by_ref
bbr = plain.link.bbr
STATE = plain.link.state
GAIN = 2.885
INITIAL = 10.0
MSS = 1448.0


class Flow:
    """A flow whose rounds and ACKs are scripted."""

    def __init__(self, seed: int = 1, train: int = 1) -> None:
        self.s = bare(flows=1, seed=seed)
        self.f = f = self.s.flow[0]
        f.train, f.mss, f.min_window = train, MSS, 1.0
        f.initial_window = f.cwnd = INITIAL
        f.ssthresh = STATE.FOREVER
        f.top, f.srtt = -1, -1.0
        self.t = 0.0
        bbr.start(self.s, 0, f, 0.0)
        f.nxt = 10

    def ack(self, rate: float, rtt: float = 0.1, flight: int = 0, limited: bool = False, acked: float = 1.0) -> None:
        """Let all that was sent be acknowledged, and then something be sent: a round."""
        f = self.f
        f.una, f.top = f.nxt, f.nxt - 1
        self.same_round(rate, rtt, flight, limited, acked)
        f.nxt += 1

    def same_round(
        self, rate: float, rtt: float = 0.1, flight: int = 0, limited: bool = False, acked: float = 1.0
    ) -> None:
        """Let an ACK come that ends no round."""
        f = self.f
        f.sample_rate, f.sample_limited, f.rtt, f.srtt, f.flight = rate, int(limited), rtt, rtt, flight
        f.delivered += acked
        bbr.sample(self.s, 0, f, self.t, acked)

    def after(self, dt: float) -> Flow:
        """Let time pass."""
        self.t += dt
        return self


def in_probe_bw(seed: int = 1, rate: float = 1000.0, rtt: float = 0.1) -> Flow:
    """Return a flow that has found its bandwidth."""
    flow = Flow(seed)
    for _ in range(4):
        flow.after(rtt).ack(rate, rtt, flight=1000)
    assert flow.f.mode == bbr.DRAIN
    flow.after(rtt).ack(rate, rtt, flight=int(rate * rtt))
    assert flow.f.mode == bbr.PROBE_BW
    return flow


def test_startup_lasts_while_three_rounds_bring_a_quarter_more() -> None:
    flow, rate = Flow(), 100.0
    for _ in range(6):
        flow.after(0.1).ack(rate, flight=50)
        assert flow.f.mode == bbr.STARTUP
        assert flow.f.pacing == pytest.approx(max(GAIN * rate, GAIN * INITIAL / 0.1))
        rate *= 1.3
    peak = rate / 1.3
    for growth in (1.2, 1.24, 1.249):  # measured against the last one that was a quarter more
        assert flow.f.mode == bbr.STARTUP
        flow.after(0.1).ack(growth * peak, flight=10_000)
    assert flow.f.mode == bbr.DRAIN
    assert flow.f.pacing == pytest.approx(1.249 * peak / GAIN)


def test_acks_within_a_round_and_limited_samples_do_not_end_startup() -> None:
    flow = Flow()
    flow.after(0.1).ack(100.0, flight=50)
    for _ in range(10):
        flow.after(0.01).same_round(100.0, flight=50)
        flow.after(0.1).ack(90.0, flight=50, limited=True)
    assert flow.f.mode == bbr.STARTUP


def test_the_window_grows_by_what_arrives_in_startup() -> None:
    flow = Flow()
    for n in range(1, 21):
        flow.same_round(0.0, flight=9, acked=0.5)  # no rate is known, until the initial window has arrived
        assert flow.f.cwnd == min(INITIAL + 0.5 * n, 19.5)
    flow.ack(1000.0, flight=19, acked=19.5)
    assert flow.f.cwnd == 39.0
    flow.ack(1000.0, flight=39, acked=1000.0)
    flow.ack(1000.0, flight=39, acked=1000.0)  # beyond 2.885 times what the path holds
    assert flow.f.cwnd == 1039.0


def test_drain_lasts_until_the_path_holds_no_more_than_it_can() -> None:
    flow = Flow()
    for _ in range(4):
        flow.after(0.1).ack(1000.0, flight=1000)
    for flight in (288, 200, 107):
        flow.after(0.01).same_round(1000.0, flight=flight)
        assert flow.f.mode == bbr.DRAIN
        assert flow.f.pacing == pytest.approx(1000.0 / GAIN)
    flow.after(0.01).same_round(1000.0, flight=100 + 3 * 2)  # three quanta of two segments at 4 Mbit/s
    assert flow.f.mode == bbr.PROBE_BW


def test_the_cycle() -> None:
    flow = in_probe_bw()
    gains = []
    for _ in range(24):
        flow.after(0.1001).ack(1000.0, flight=150)
        gains.append(flow.f.pacing / 1000.0)
        assert flow.f.cwnd <= 2 * 100 + 3 * 2
    start = gains.index(1.25)
    assert gains[start : start + 8] == [1.25, 0.75, 1, 1, 1, 1, 1, 1]
    assert gains[start + 8 : start + 16] == gains[start : start + 8]


def test_the_first_phase_fills_the_path_or_loses_something() -> None:
    def probing() -> Flow:
        flow = in_probe_bw()
        while flow.f.cycle != 0:
            flow.after(0.11).ack(1000.0, flight=100)
        return flow

    flow = probing()
    for _ in range(5):
        flow.after(0.11).ack(1000.0, flight=100)
        assert flow.f.cycle == 0
    flow.after(0.11).ack(1000.0, flight=131)
    assert flow.f.cycle == 1
    flow = probing()
    flow.after(0.11)
    bbr.reduce(flow.s, 0, flow.f, flow.t)
    flow.ack(1000.0, flight=100)
    assert flow.f.cycle == 1
    flow.after(0.01).ack(1000.0, flight=80)  # the queue is empty
    assert flow.f.cycle == 2


def test_cycles_begin_anywhere_but_at_the_lower_rate() -> None:
    assert {int(in_probe_bw(seed).f.cycle) for seed in range(200)} == {0, 2, 3, 4, 5, 6, 7}


def test_bandwidth_is_the_greatest_of_ten_rounds() -> None:
    flow = in_probe_bw()
    flow.after(0.1).ack(1500.0, flight=100)
    for _ in range(9):
        flow.after(0.1).ack(800.0, flight=100)
        assert flow.f.bandwidth == 1500.0
    flow.after(0.1).ack(800.0, flight=100)
    assert flow.f.bandwidth == 800.0
    flow.same_round(700.0, limited=True)
    flow.same_round(900.0, limited=True)
    assert flow.f.bandwidth == 900.0  # a limited sample counts if it is higher


def test_probe_rtt_every_ten_seconds_for_200_ms_and_a_round() -> None:
    flow = in_probe_bw()
    found = flow.t
    while flow.f.mode == bbr.PROBE_BW:
        before = float(flow.f.cwnd)
        flow.after(0.1).ack(1000.0, rtt=0.15, flight=100)
    assert 10.0 < flow.t - found <= 10.21 + 0.1 * 5  # the last least round trip was seen in DRAIN or before
    assert flow.f.base_delay == 0.15
    assert flow.f.cwnd == 4.0
    assert flow.f.app_limited == flow.f.delivered + 100
    flow.after(0.05).ack(1000.0, flight=4)
    began = flow.t
    while flow.f.mode == bbr.PROBE_RTT:
        flow.after(0.03).same_round(40.0, rtt=0.09, flight=4, limited=True)
        if flow.t > began + 0.25:
            flow.ack(40.0, rtt=0.09, flight=4, limited=True)
    assert flow.t - began > 0.2
    assert flow.f.mode == bbr.PROBE_BW
    assert flow.f.base_delay == 0.09
    assert flow.f.cwnd >= before > 100
    assert flow.f.bandwidth == 1000.0


def test_no_probe_rtt_after_a_silence_of_the_application() -> None:
    flow = in_probe_bw().after(20.0)
    bbr.restart(flow.s, 0, flow.f, flow.t)
    assert flow.f.pacing == flow.f.bandwidth
    flow.after(0.2).ack(1000.0, rtt=0.12, flight=10)
    assert flow.f.mode == bbr.PROBE_BW
    assert flow.f.base_delay == 0.12


def test_after_a_loss_packets_are_conserved_for_a_round() -> None:
    flow = in_probe_bw()
    for _ in range(30):
        flow.after(0.1).ack(1000.0, flight=100, acked=100)
    before = float(flow.f.cwnd)
    assert before == 206.0
    flow.f.flight = 90
    assert bbr.reduce(flow.s, 0, flow.f, flow.t) == STATE.FOREVER
    assert flow.f.cwnd == 91.0
    flow.after(0.01).same_round(1000.0, flight=85, acked=3.0)
    assert flow.f.cwnd == 91.0
    flow.after(0.01).same_round(1000.0, flight=90, acked=3.0)
    assert flow.f.cwnd == 93.0
    flow.after(0.1).ack(1000.0, flight=90)  # all that was sent before the loss is acknowledged
    assert flow.f.cwnd == before


def test_after_a_timeout_the_window_grows_from_one_and_is_restored() -> None:
    flow = in_probe_bw()
    for _ in range(30):
        flow.after(0.1).ack(1000.0, flight=100, acked=100)
    f = flow.f
    bbr.timeout(flow.s, 0, f, flow.t)
    f.cwnd, f.phase, f.flight = 1.0, STATE.LOSS, 1
    flow.after(0.5).same_round(0.0, flight=2, acked=1.0)
    assert f.cwnd == 4.0
    flow.after(0.1).same_round(0.0, flight=2, acked=3.0)
    assert f.cwnd == 7.0
    f.phase = STATE.OPEN
    flow.after(0.1).ack(1000.0, flight=7)
    assert f.cwnd == 206.0


def test_a_train_fits_the_least_window() -> None:
    flow = Flow(train=16)
    for _ in range(5):
        flow.after(0.1).ack(10.0, flight=0)
    assert flow.f.cwnd >= 16.0


def on_a_link(rate: float, delay: float, room: float, duration: float, seed: int = 1) -> np.ndarray:
    """A greedy sender on a link of its own: rows of time, queue, pacing, window, delivered and mode, one per ACK.

    Segments are lost at a full queue and found lost by the third later one that arrives; they are sent again as if new.
    """
    flow = Flow(seed)
    s, f = flow.s, flow.f
    f.nxt = 0
    acks: deque[tuple[float, int, float, float, float]] = deque()  # when, number, sent, delivered and when by then
    lost: deque[int] = deque()
    rows = []
    t = free_at = pace_at = delivered_at = 0.0
    while t < duration:
        if f.flight < int(f.cwnd) and (not acks or max(pace_at, t) < acks[0][0]):
            t = max(pace_at, t)
            pace_at = t + 1.0 / float(f.pacing)
            if not acks:
                delivered_at = t
            if max(free_at - t, 0.0) * rate <= room:
                free_at = max(free_at, t) + 1.0 / rate
                acks.append((free_at + delay, int(f.nxt), t, float(f.delivered), delivered_at))
            else:
                lost.append(int(f.nxt))
            f.nxt += 1
            f.flight += 1
            continue
        t, number, sent, delivered, when = acks.popleft()
        f.flight -= 1
        f.top, f.una = number, number + 1
        f.delivered += 1.0
        delivered_at = t
        f.rtt = f.srtt = t - sent
        f.sample_rate = (f.delivered - delivered) / (t - when)
        while lost and lost[0] + 3 <= number:
            lost.popleft()
            f.flight -= 1
            bbr.reduce(s, 0, f, t)
        bbr.sample(s, 0, f, t, 1.0)
        rows.append((t, max(free_at - t, 0.0) * rate, f.pacing, f.cwnd, f.delivered, f.mode))
    return np.array(rows, float)


@pytest.mark.parametrize(("rate", "delay"), [(200.0, 0.1), (800.0, 0.05)])
def test_alone_on_a_link_it_fills_it_with_a_short_queue(rate: float, delay: float) -> None:
    log = on_a_link(rate, delay, room=1e9, duration=22.0)
    t, queue, pacing, _, delivered, mode = log.T
    assert set(mode) == {bbr.STARTUP, bbr.DRAIN, bbr.PROBE_BW, bbr.PROBE_RTT}
    assert t[mode == bbr.STARTUP].max() < 20 * delay
    bdp = rate * delay
    assert queue[mode == bbr.STARTUP].max() == pytest.approx((GAIN - 1) * bdp, rel=0.6)
    cruising = mode == bbr.PROBE_BW
    assert np.median(pacing[cruising]) == pytest.approx(rate, rel=0.02)
    assert queue[cruising].max() < 1.0 * bdp + 6
    assert queue[cruising].mean() < 0.25 * bdp + 2
    late = t > 3.0
    assert (delivered[late][-1] - delivered[late][0]) / (t[late][-1] - t[late][0]) == pytest.approx(rate, rel=0.05)
    starts = t[1:][(mode[1:] == bbr.PROBE_RTT) & (mode[:-1] != bbr.PROBE_RTT)]
    assert len(starts) == 2
    assert 10.0 < starts[1] - starts[0] < 12.0  # one as short while it cruises puts it off
    low = queue[mode == bbr.PROBE_RTT]
    assert low.min() == 0.0


def test_losses_at_a_short_buffer_hardly_slow_it() -> None:
    rate, delay = 400.0, 0.1
    log = on_a_link(rate, delay, room=4.0, duration=10.0)
    t, delivered = log[:, 0], log[:, 4]
    late = t > 3.0
    assert (delivered[late][-1] - delivered[late][0]) / (t[late][-1] - t[late][0]) > 0.9 * rate


@numba.njit
def scripted(state: Any, times: Any, rates: Any, rtts: Any, flights: Any, log: Any) -> None:
    """Call all functions of the compiled law."""
    s = by_ref(state)
    f = s.flow[0]
    compiled.start(s, 0, f, 0.0)
    for j in range(times.size):
        f.una, f.top, f.sample_rate, f.rtt, f.flight = f.nxt, f.nxt - 1, rates[j], rtts[j], flights[j]
        f.delivered += 1.0
        if j % 7 == 3:
            compiled.reduce(s, 0, f, times[j])
        if j % 31 == 30:
            compiled.timeout(s, 0, f, times[j])
        if j % 11 == 10:
            compiled.restart(s, 0, f, times[j])
        compiled.sample(s, 0, f, times[j], 1.0)
        compiled.grow(s, 0, f, times[j], 1.0)
        f.nxt += 1
        log[j, 0], log[j, 1], log[j, 2] = f.pacing, f.cwnd, f.mode


def test_the_compiled_law_does_the_same() -> None:
    random = np.random.default_rng(1)
    n = 600
    times = np.cumsum(random.uniform(0.0, 0.2, n))
    script = times, random.uniform(0, 2000, n), random.uniform(0.05, 0.2, n), random.integers(0, 200, n)
    logs = np.zeros((2, n, 3))
    scripted(Flow().s, *script, logs[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(scripted.py_func.__globals__, "compiled", bbr)
        patch.setitem(scripted.py_func.__globals__, "by_ref", lambda state: state)
        scripted.py_func(Flow().s, *script, logs[1])
    assert (logs[0] == logs[1]).all()
    assert set(logs[0, :, 2]) == {0, 1, 2, 3}
