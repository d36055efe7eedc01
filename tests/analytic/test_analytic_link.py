"""Closed forms of one link against hand calculations, each other and plain step-by-step models."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, strategies as st

from btflow import analytic
from btflow.errors import InputError

MBIT = 125e3  # [B/s]
RATES = st.floats(1e4, 1e8)
RTTS = st.floats(0.005, 1.0)
RATIOS = st.floats(0.0, 20.0)
BETAS = st.floats(0.3, 0.9)


def reno_of_bdp(ratio: float, *, bdp: float = 1000.0, beta: float = 0.5) -> analytic.Sawtooth:
    """Return the sawtooth of a Reno flow with a buffer of `ratio` BDP."""
    return analytic.reno_sawtooth(bdp * 1500 / 0.1, 0.1, ratio * bdp, beta=beta)


def test_reno_uses_three_quarters_of_a_link_without_a_buffer() -> None:
    found = reno_of_bdp(0.0)
    assert (found.utilisation, found.mean_queue) == pytest.approx((0.75, 0.0))
    assert found.period == pytest.approx(500 * 0.1)  # from 500 to 1000 packets, one more each 0.1 s
    # B = BDP / 4: H = 1.25, L = 0.625 of it
    assert reno_of_bdp(0.25).utilisation == pytest.approx((1.25**2 - 0.625**2) / (2 * 0.375 + 1.25**2 - 1))


def test_reno_with_a_bdp_of_buffer_keeps_the_link_busy() -> None:
    # from BDP to 2 BDP: mean window 2/3 (8 - 1) / (4 - 1) = 14/9 BDP; half the time below sqrt(5/2) BDP
    found = reno_of_bdp(1.0)
    assert (found.low, found.high, found.utilisation) == pytest.approx((1000, 2000, 1.0))
    assert found.mean_queue == pytest.approx(1000 * 5 / 9, rel=1e-6)
    assert found.queue([0.0, 0.5, 1.0]) == pytest.approx([0, 1000 * (math.sqrt(2.5) - 1), 1000], abs=0.3)
    # 1.5 BDP^2 packets squared at 10^4 packets/s
    assert found.period == pytest.approx(1.5 * 1000**2 / 1e4)


def test_reno_in_a_deep_buffer_by_hand() -> None:
    # 1 Mbit/s, 50 ms: BDP 4.1667; H = 104.1667, L = 52.0833: 2/3 (H^3 - L^3) / (H^2 - L^2) - BDP = 76.8519
    found = analytic.reno_sawtooth(MBIT, 0.05, 100)
    assert (found.high, found.low) == pytest.approx((104.1667, 52.0833), rel=1e-5)
    assert found.mean_queue == pytest.approx(76.8519, abs=1e-3)
    assert found.period == pytest.approx((104.1667**2 - 52.0833**2) / (2 * MBIT / 1500), rel=1e-5)


@given(RATES, RTTS, RATIOS, BETAS)
def test_reno_agrees_with_the_formulas_of_its_docstring(rate: float, rtt: float, ratio: float, beta: float) -> None:
    bdp = rate / 1500 * rtt
    found = analytic.reno_sawtooth(rate, rtt, ratio * bdp, beta=beta)
    high = bdp * (1 + ratio)
    low = beta * high
    if low >= bdp:
        mean = 2 / 3 * (high**3 - low**3) / (high**2 - low**2) - bdp
        assert found.utilisation == pytest.approx(1.0)
    else:
        time = 2 * bdp * (bdp - low) + high**2 - bdp**2
        mean = (2 * (high**3 - bdp**3) / 3 - bdp * (high**2 - bdp**2)) / time
        assert found.utilisation == pytest.approx((high**2 - low**2) / time, rel=1e-5)
    assert found.mean_queue == pytest.approx(mean, rel=1e-4, abs=1e-5 * bdp)


def test_reno_agrees_with_a_window_stepped_round_by_round() -> None:
    bdp, buffer, rate = 200.0, 120.0, 1000.0
    window = (bdp + buffer) / 2
    time = sent = queued = 0.0
    while window < bdp + buffer:
        queue = max(0.0, window - bdp)
        rtt = bdp / rate + queue / rate
        time, sent, queued = time + rtt, sent + window, queued + queue * rtt
        window += 1
    found = analytic.reno_sawtooth(rate * 1500, bdp / rate, buffer)
    assert (found.period, found.mean_queue) == pytest.approx((time, queued / time), rel=0.02)
    assert found.utilisation == pytest.approx(sent / rate / time, rel=0.005)


def test_cubic_by_hand() -> None:
    # 1 Mbit/s, 50 ms, 100 packets: H = 104.1667, K = cbrt(78.125) = 4.2749 s; H 3.7 / 4 - 4.1667 = 92.1875
    found = analytic.cubic_sawtooth(MBIT, 0.05, 100)
    assert (found.low, found.high, found.utilisation) == pytest.approx((72.9167, 104.1667, 1.0), rel=1e-5)
    assert found.period == pytest.approx(4.2749, abs=1e-4)
    assert found.mean_queue == pytest.approx(92.1875, abs=1e-3)
    # half the time (t - K)^3 is above -K^3 / 8
    assert found.queue(0.5) == pytest.approx(104.1667 - 31.25 / 8 - 4.1667, abs=0.01)


@given(RATES, RTTS, RATIOS, BETAS)
def test_cubic_agrees_with_the_formulas_of_its_docstring(rate: float, rtt: float, ratio: float, beta: float) -> None:
    bdp = rate / 1500 * rtt
    found = analytic.cubic_sawtooth(rate, rtt, ratio * bdp, beta=beta, friendly=False)
    high = bdp * (1 + ratio)
    fall = high * (1 - beta)
    assert found.period == pytest.approx((fall / 0.4) ** (1 / 3))
    if high - fall >= bdp:
        mean, used = high * (3 + beta) / 4 - bdp, 1.0
    else:
        v = (ratio * bdp / fall) ** (1 / 3)
        mean, used = 0.75 * ratio * bdp * v, v + (high * (1 - v) - fall * (1 - v**4) / 4) / bdp
    assert found.utilisation == pytest.approx(used, rel=1e-5)
    assert found.mean_queue == pytest.approx(mean, rel=1e-4, abs=1e-4 * bdp)


def test_cubic_without_a_buffer() -> None:
    found = analytic.cubic_sawtooth(MBIT, 0.4, 0.0, friendly=False)
    assert found.utilisation == pytest.approx(3.7 / 4)
    assert found.mean_queue == 0.0


@given(RATES, RTTS, st.floats(0.0, 20.0))
def test_the_friendly_region_only_helps(rate: float, rtt: float, ratio: float) -> None:
    buffer = ratio * rate / 1500 * rtt
    both = analytic.cubic_sawtooth(rate, rtt, buffer)
    curve = analytic.cubic_sawtooth(rate, rtt, buffer, friendly=False)
    line = analytic.reno_sawtooth(rate, rtt, buffer, beta=0.7, growth=0.9 / 1.7)
    assert both.period == pytest.approx(min(curve.period, line.period))
    assert (both.low, both.high) == (curve.low, curve.high)
    assert np.all(both.window <= both.high * (1 + 1e-9))
    assert np.all(both.window >= both.low * (1 - 1e-9))
    if line.period > 1.01 * curve.period:  # the whole of the curve counts
        assert both.utilisation >= curve.utilisation - 1e-9
        assert both.mean_queue >= curve.mean_queue - 1e-6 * both.high


def test_cubic_is_friendly_on_short_paths_and_cubic_on_long_ones() -> None:
    def periods(rate: float, rtt: float) -> tuple[float, float, float]:
        friendly = analytic.cubic_sawtooth(rate, rtt, 20)
        curve = analytic.cubic_sawtooth(rate, rtt, 20, friendly=False)
        line = analytic.reno_sawtooth(rate, rtt, 20, beta=0.7, growth=0.9 / 1.7)
        return friendly.period, curve.period, line.period

    short, curve, line = periods(10 * MBIT, 0.005)
    assert short == pytest.approx(line)
    assert short < 0.5 * curve
    long, curve, line = periods(100 * MBIT, 0.2)
    assert long == curve
    assert long < 0.1 * line


@given(RATES, RTTS, RATIOS, st.sampled_from([analytic.reno_sawtooth, analytic.cubic_sawtooth]))
def test_sawtooths_stay_within_the_buffer(
    rate: float, rtt: float, ratio: float, law: Callable[..., analytic.Sawtooth]
) -> None:
    bdp = rate / 1500 * rtt
    found = law(rate, rtt, ratio * bdp)
    assert 0 <= found.mean_queue <= ratio * bdp * (1 + 1e-9)
    assert 0.75 - 1e-6 <= found.utilisation <= 1.0
    quantiles = np.asarray(found.queue(np.linspace(0, 1, 11)))
    assert np.all(np.diff(quantiles) >= 0)
    assert np.all((quantiles >= 0) & (quantiles <= ratio * bdp * (1 + 1e-9) + 1e-9))
    # twice the capacity with packets of twice the size: nothing changes
    scaled = law(2 * rate, rtt, ratio * bdp, packet=3000)
    assert scaled[:5] == pytest.approx(found[:5])


@given(RTTS, st.floats(0.0, 3.0), st.floats(1.05, 3.0))
def test_more_buffer_more_use_and_more_queue(rtt: float, ratio: float, more: float) -> None:
    for law in (analytic.reno_sawtooth, analytic.cubic_sawtooth):
        buffer = ratio * MBIT / 1500 * rtt
        small, large = law(MBIT, rtt, buffer), law(MBIT, rtt, more * buffer)
        assert large.utilisation >= small.utilisation - 1e-3
        assert large.mean_queue >= small.mean_queue - 1e-6


def test_synchronised_flows_have_the_same_queue_sooner() -> None:
    for law in (analytic.reno_sawtooth, analytic.cubic_sawtooth):
        one, four = law(80 * MBIT, 0.1, 500), law(80 * MBIT, 0.1, 500, flows=4)
        assert (four.low, four.high) == (one.low, one.high)
        assert four.mean_queue == pytest.approx(one.mean_queue, rel=0.01)
        assert four.period < 0.7 * one.period
    assert analytic.reno_sawtooth(MBIT, 0.1, 50, growth=0.5).period == pytest.approx(
        2 * analytic.reno_sawtooth(MBIT, 0.1, 50).period
    )


def test_a_sawtooth_obeys_its_response_function() -> None:
    # one loss each period: p = 1 / packets sent in it; without a queue the RTT is constant, as it is there
    reno = analytic.reno_sawtooth(800 * MBIT, 0.1, 0.0)
    rate = reno.utilisation * 800 * MBIT
    loss = 1500 / (rate * reno.period)
    assert analytic.mathis(loss, 0.1, mss=1500, acked=1) == pytest.approx(rate, rel=1e-3)
    cubic = analytic.cubic_sawtooth(800 * MBIT, 0.1, 0.0, friendly=False)
    rate = cubic.utilisation * 800 * MBIT
    loss = 1500 / (rate * cubic.period)
    assert analytic.cubic_response(loss, 0.1, mss=1500) == pytest.approx(rate, rel=1e-3)


def test_vegas_backlog_of_the_paper_is_alpha_to_beta_a_flow() -> None:
    assert analytic.vegas_backlog(MBIT, 0.05, flows=4, linux=False) == (8, 16)
    assert analytic.vegas_backlog(MBIT, 0.05, linux=False, alpha=1, beta=3) == (1, 3)


def test_vegas_backlog_of_linux_by_hand() -> None:
    # BDP 25/6: 25/12 (sqrt(1 + 8 * 6/25) - 1) = 25/12 * 0.7088 and 25/12 (sqrt(1 + 16 * 6/25) - 1) = 25/12 * 1.2
    assert analytic.vegas_backlog(MBIT, 0.05) == pytest.approx((1.47667, 2.5), abs=1e-5)


@given(RATES, RTTS, st.integers(1, 50))
def test_vegas_windows_of_linux_rest_where_their_estimate_says(rate: float, rtt: float, flows: int) -> None:
    found = analytic.vegas_backlog(rate, rtt, flows=flows)
    per_second = rate / 1500
    for queue, end in zip(found, (2, 4), strict=True):
        window = (per_second * rtt + queue) / flows
        assert window * (queue / per_second) / rtt == pytest.approx(end)
        assert 0 < queue < end * flows
    long = analytic.vegas_backlog(rate * 1e6, rtt, flows=flows)
    assert long == pytest.approx((2 * flows, 4 * flows), rel=0.05)


def test_ledbat_in_a_small_buffer() -> None:
    # 12.5 kB would be the target's; 20 packets are 30 kB, 5 packets 7.5 kB, that is 60 ms
    assert analytic.ledbat_fixed_point(MBIT, 0.05, buffer=30e3) == analytic.ledbat_fixed_point(MBIT, 0.05)
    assert analytic.ledbat_fixed_point(MBIT, 0.05, buffer=7.5e3) == pytest.approx((0.06, 7_500, 125e3 * 0.11))


def test_latecomers_stack_up_to_the_buffer() -> None:
    assert analytic.ledbat_latecomers(MBIT, 150e3, flows=3) == pytest.approx((0.1, 0.3))
    assert analytic.ledbat_latecomers(MBIT, 25e3, flows=3) == pytest.approx((0.1, 0.2))
    assert analytic.ledbat_latecomers(MBIT, 7.5e3, flows=3) == pytest.approx((0.06, 0.06))
    assert analytic.ledbat_latecomers(MBIT, 150e3, target=0.025) == (0.025, 0.025)


@given(RATES, st.floats(0.0, 1e7), st.integers(1, 20))
def test_latecomers_hold_at_least_the_fixed_point(rate: float, buffer: float, flows: int) -> None:
    low, high = analytic.ledbat_latecomers(rate, buffer, flows=flows)
    assert 0 <= low <= high <= buffer / rate
    if buffer > 0:
        assert low == analytic.ledbat_fixed_point(rate, 0.05, buffer=buffer).queueing_delay


def test_utp_grows_by_3000_bytes_a_round_trip() -> None:
    assert analytic.ledbat_growth(0.05) == pytest.approx(60e3)
    assert analytic.ledbat_growth(0.4) / 0.4 == pytest.approx(18_750)  # the rate, in B/s each second
    assert analytic.ledbat_growth(0.05, [0.0, 0.05, 0.1, 0.2]) == pytest.approx([60e3, 15e3, 0, -12e3])


@given(st.floats(1e4, 1e7), RTTS, st.floats(0.05, 0.95), st.integers(1, 5))
def test_settling_is_growth_summed_up(rate: float, rtt: float, share: float, flows: int) -> None:
    waits = np.linspace(0, share * 0.1, 2001)
    pace = flows * np.asarray(analytic.ledbat_growth(rtt, waits)) / rate  # of the queueing delay
    expected = np.trapezoid(1 / pace, waits)
    assert analytic.ledbat_settling_time(rate, rtt, share, flows=flows) == pytest.approx(expected, rel=1e-3)


def test_headers_of_small_packets() -> None:
    assert analytic.goodput_share(300) == pytest.approx(300 / 340)
    assert analytic.goodput_share() == pytest.approx(1460 / 1500)
    assert analytic.goodput_share([300, 1400], 48) == pytest.approx([300 / 348, 1400 / 1448])
    assert analytic.goodput_share(1, 0) == 1.0


BAD: list[tuple[str, Callable[[], object]]] = [
    ("capacity", lambda: analytic.reno_sawtooth(0, 0.1, 10)),
    ("base_rtt", lambda: analytic.reno_sawtooth(1e5, -0.1, 10)),
    ("buffer", lambda: analytic.reno_sawtooth(1e5, 0.1, -1)),
    ("packet", lambda: analytic.reno_sawtooth(1e5, 0.1, 10, packet=0)),
    ("beta", lambda: analytic.reno_sawtooth(1e5, 0.1, 10, beta=1)),
    ("growth", lambda: analytic.reno_sawtooth(1e5, 0.1, 10, growth=0)),
    ("flows", lambda: analytic.cubic_sawtooth(1e5, 0.1, 10, flows=0)),
    ("c", lambda: analytic.cubic_sawtooth(1e5, 0.1, 10, c=0)),
    ("share", lambda: analytic.reno_sawtooth(1e5, 0.1, 10).queue(1.1)),
    ("alpha", lambda: analytic.vegas_backlog(1e5, 0.1, alpha=0)),
    ("target", lambda: analytic.ledbat_latecomers(1e5, 1e4, target=0)),
    ("buffer", lambda: analytic.ledbat_latecomers(1e5, math.inf)),
    ("buffer", lambda: analytic.ledbat_fixed_point(1e5, 0.1, buffer=0)),
    ("queueing_delay", lambda: analytic.ledbat_growth(0.1, -1)),
    ("share", lambda: analytic.ledbat_settling_time(1e5, 0.1, 1.0)),
    ("mss", lambda: analytic.goodput_share(0)),
    ("header", lambda: analytic.goodput_share(100, -1)),
]


@pytest.mark.parametrize(("name", "call"), BAD, ids=[f"{name}-{i}" for i, (name, _) in enumerate(BAD)])
def test_errors_name_the_argument(name: str, call: Callable[[], object]) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.field == name
