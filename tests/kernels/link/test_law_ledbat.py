"""LEDBAT and LEDBAT++ without the engine, and the base delay that they and uTP keep."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from laws_made import ACKS, base_of
from link_states import Driver


@given(ACKS, st.integers(1, 10), st.integers(1, 6))
def test_the_base_is_the_least_of_the_minutes_kept(acks: list[Any], minutes: int, keep: int) -> None:
    x, t, samples = Driver("ledbat", history=minutes, filter=keep), 0.0, []
    for gap, owd, _ in acks:
        t += gap
        samples.append((t, owd))
        x.ack(t, owd + 0.02, owd)
        base = base_of(samples, minutes)
        assert x.flow.base_delay == base
        assert x.flow.queueing == max(0.0, min(d for _, d in samples[-keep:]) - base)


def test_a_base_is_forgotten_after_the_minutes_kept() -> None:
    x = Driver("ledbat", history=3)
    x.ack(0.0, 0.05, 0.01)
    bases = []
    for k in range(1, 300):
        x.ack(k, 0.05, 0.03)
        bases.append(x.flow.base_delay)
    assert bases[179] == 0.01  # t = 180: the third minute ends after it
    assert bases[-1] == 0.03
    assert 180 < 1 + bases.index(0.03) <= 186


@given(ACKS, st.floats(0.01, 0.2), st.floats(0.1, 1.0))
def test_ledbat_is_the_rfcs(acks: list[Any], target: float, gain: float) -> None:
    x, t, samples, cwnd = Driver("ledbat", target=target, gain=gain), 0.0, [], 2.0
    for gap, owd, acked in acks:
        t += gap
        samples.append((t, owd))
        flight = max(0, x.flow.nxt - x.flow.una - acked) + acked
        queueing = min(d for _, d in samples[-4:]) - base_of(samples, 10)
        cwnd += gain * (1.0 - max(queueing, 0.0) / target) * acked / cwnd
        cwnd = max(min(cwnd, flight + 1.0), 2.0)
        assert x.ack(t, owd + 0.02, owd, acked) == pytest.approx(cwnd, rel=1e-12)


@pytest.mark.parametrize("variant", [1, 2])
@given(st.lists(st.integers(5, 400), min_size=1, max_size=200))
def test_the_modules_count_in_milliseconds(variant: int, owds: list[int]) -> None:
    target = 25 if variant == 1 else 100
    x, cwnd, counter = Driver("ledbat", variant=variant, target=target / 1e3, filter=2, min_window=1), 2, 0
    for k, owd in enumerate(owds):
        counter += min(target, target - (min(owds[max(0, k - 1) : k + 1]) - min(owds[: k + 1])))
        if counter < 0:
            cwnd = max(1, cwnd - 1)
            counter = (cwnd - 1) * target
        elif counter >= cwnd * target:
            cwnd, counter = cwnd + 1, 0
        assert x.ack(0.001 * k, 0.5, owd / 1e3 + 2e-4) == cwnd
        assert x.flow.count * target == pytest.approx(counter, abs=1e-6)
        counter = round(counter)


@given(st.floats(2.0, 100.0), st.lists(st.floats(0.0, 0.5), min_size=2, max_size=9))
def test_the_longer_the_queue_the_less_ledbat_grows(cwnd: float, queues: list[float]) -> None:
    windows = []
    for queue in sorted(queues):
        x = Driver("ledbat", filter=1)
        x.ack(0.0, 0.1, 0.05)
        x.flow.cwnd, x.flow.nxt = cwnd, x.flow.una + int(cwnd)
        windows.append(x.ack(0.1, 0.1 + queue, 0.05 + queue))
    assert windows == sorted(windows, reverse=True)


def test_ledbat_answers_losses_once_per_round_trip() -> None:
    x = Driver("ledbat", cwnd=40)
    x.ack(0.0, 0.1, 0.05)
    x.flow.cwnd = 40.0
    assert x.lose(1.0) == 20.0
    assert x.lose(1.05) == 20.0
    assert x.lose(1.11) == 10.0
    assert [x.lose(2.0 + k) for k in range(4)] == [5.0, 2.5, 2.0, 2.0]


@pytest.mark.parametrize(("mode", "kept"), [(0, False), (1, False), (2, True)])
def test_slow_start_of_ledbat_ends_at_the_target_if_it_shall(mode: int, kept: bool) -> None:
    x = Driver("ledbat", slow_start=mode)
    assert (x.ack(0.0, 0.1, 0.05) == 3.0) == (mode > 0)
    for k in range(1, 9):
        x.ack(0.1 * k, 0.3, 0.25)
    before = x.flow.cwnd
    assert (x.ack(1.0, 0.3, 0.25) > before) == kept


def test_the_linux_module_falls_to_one_after_a_silence() -> None:
    for variant, window in ((1, 30.0), (2, 1.0)):
        x = Driver("ledbat", variant=variant, min_window=1)
        x.ack(0.0, 0.1, 0.05)
        x.flow.cwnd = 30.0
        assert x.ack(0.09, 0.1, 0.05) == 30.0
        assert window <= x.ack(0.3, 0.1, 0.05) <= window + 1


@pytest.mark.parametrize(("base", "share"), [(0.005, 16), (0.05, 3), (0.06, 2), (0.12, 1), (0.5, 1)])
def test_ledbatpp_grows_by_its_gain(base: float, share: int) -> None:
    x = Driver("ledbatpp", cwnd=10)
    assert x.ack(0.0, base) == pytest.approx(10 + 1 / share)  # slow start
    x.flow.slowing = 1
    window = x.flow.cwnd
    assert x.ack(0.1, base) == pytest.approx(window + 1 / share / window)


def test_ledbatpp_leaves_slow_start_at_three_quarters_and_slows_down_two_round_trips_later() -> None:
    x, t = Driver("ledbatpp", cwnd=20), 0.0
    x.ack(0.0, 0.1)
    while x.flow.slowing == 0:
        t += 0.01
        x.ack(t, 0.147)
    assert x.flow.samples == 5  # the filter was full of it
    left, window = t, x.flow.cwnd
    while x.flow.slowing == 1:
        t += 0.01
        x.ack(t, 0.1)
        window = x.flow.cwnd if x.flow.slowing == 1 else window
    assert t - left == pytest.approx(2 * 0.147, abs=0.09)
    assert (x.flow.slow_window, x.flow.cwnd) == (window, 2.0)
    began = t
    while x.flow.slowing == 2:
        t += 0.01
        assert x.ack(t, 0.1) == 2.0
    assert t - began == pytest.approx(0.2, abs=0.08)
    while x.flow.slowing == 3:
        t += 0.01
        x.ack(t, 0.3)  # no delay ends the rise
    assert x.flow.cwnd == window
    assert x.flow.slow_at == pytest.approx(t + 9 * (t - began))


@given(st.floats(0.0, 0.4), st.floats(2.0, 200.0))
def test_ledbatpp_falls_once_per_round_by_at_most_half(queue: float, cwnd: float) -> None:
    x = Driver("ledbatpp", filter=1)
    x.ack(0.0, 0.1)
    x.flow.slowing, x.flow.cwnd, x.flow.round_end = 1, cwnd, x.flow.una + 1
    x.flow.nxt = x.flow.una + 10
    assert x.ack(0.1, 0.1 + queue) >= cwnd or queue < 0.06 or x.flow.cwnd == cwnd
    x.flow.cwnd = cwnd
    window = x.ack(0.1, 0.1 + queue)
    if queue >= 0.0601:
        assert window == pytest.approx(max(2.0, cwnd + max(0.5 - cwnd * (queue / 0.06 - 1), -0.5 * cwnd)), abs=1e-6)
    before = x.flow.cwnd
    assert x.ack(0.1, 0.1 + queue) >= before


@pytest.mark.parametrize(
    ("cwnd", "rtt", "window"),
    [
        (12.672, 0.144, 8.6135),  # 12.672 + 0.5 - 12.672 (81.584 / 60 - 1)
        (10.0, 0.152416, 5.5),  # 10 + 0.5 - 10 (90 / 60 - 1)
        (10.0, 0.182416, 5.0),  # 0.5 - 10 is more than half
        (2.5, 0.182416, 2.0),  # two are kept
    ],
)
def test_a_decrease_of_ledbatpp_by_hand(cwnd: float, rtt: float, window: float) -> None:
    """The base is 62.416 ms, so GAIN is 1 / ceil(120 / 62.416) = 1/2."""
    x = Driver("ledbatpp", filter=1)
    x.ack(0.0, 0.062416)
    x.flow.slowing, x.flow.cwnd, x.flow.round_end = 1, cwnd, x.flow.una
    assert x.ack(0.2, rtt) == pytest.approx(window, abs=1e-4)


def test_a_loss_in_a_slowdown_halves_what_it_regains() -> None:
    x = Driver("ledbatpp", cwnd=30)
    x.ack(0.0, 0.1)
    x.flow.slowing, x.flow.slow_at, x.flow.cwnd = 1, 0.5, 40.0
    x.ack(1.0, 0.1)
    assert x.lose(1.1) == 2.0
    assert x.flow.slow_window == 20.0
