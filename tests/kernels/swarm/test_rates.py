"""The rate estimate: against the rule read literally, and against what it must be in simple cases."""

from __future__ import annotations

import math

import plain
import pytest
from entered import entered
from hypothesis import given, strategies as st
from naive import RateMeasure

from btflow.kernels.swarm import rates as kernels

updated = entered(kernels.updated)

WINDOW, FUDGE = 20.0, 5.0
UPDATES = st.lists(
    st.tuples(st.floats(0.0, 40.0), st.sampled_from([0.0, 1380.0, 16384.0, 16397.0])), min_size=1, max_size=40
)


def run(updates: list[tuple[float, float]], created: float = 0.0) -> list[float]:
    """Return the kernel's estimate after each (time since the last update, bytes)."""
    rate, since, last, t, out = 0.0, created - FUDGE, created - FUDGE, created, []
    for wait, amount in updates:
        t += wait
        rate, since, last = updated(rate, since, last, t, amount, WINDOW)
        out.append(rate)
    return out


@given(UPDATES, st.floats(0.0, 1e5))
def test_the_estimate_is_the_clients(updates: list[tuple[float, float]], created: float) -> None:
    measure, t, expected = RateMeasure(created), created, []
    for wait, amount in updates:
        t += wait
        expected.append(measure.update(amount, t))
    assert run(updates, created) == pytest.approx(expected, rel=1e-9)


@given(st.lists(st.tuples(st.floats(0.0, 1.0), st.sampled_from([0.0, 16384.0])), min_size=1, max_size=14))
def test_early_estimates_divide_by_the_age_and_five_seconds(updates: list[tuple[float, float]]) -> None:
    age = math.fsum(wait for wait, _ in updates)  # below 15 s, so the window has not moved
    assert run(updates)[-1] == pytest.approx(math.fsum(n for _, n in updates) / (age + FUDGE))


def test_blocks_at_a_steady_pace_are_measured_right_in_the_end() -> None:
    assert run([(3.2, 16384.0)] * 60)[-1] == pytest.approx(16384 / 3.2, rel=1e-3)


def test_silence_makes_the_estimate_fall_but_not_at_once() -> None:
    rates = run([(3.2, 16384.0)] * 60 + [(10.0, 0.0)] * 12)
    assert rates[60] == pytest.approx(rates[59] * 20 / 30)  # 20 s of history spread over 30 s
    assert 0.0 < rates[-1] < 0.02 * rates[59]


@given(UPDATES)
def test_reading_twice_at_one_time_changes_nothing(updates: list[tuple[float, float]]) -> None:
    assert run([*updates, (0.0, 0.0)])[-1] == pytest.approx(run(updates)[-1], rel=1e-12)


@given(st.tuples(*[st.floats(0, 1e6)] * 2), st.floats(0, 30), st.floats(0, 30), st.sampled_from([0.0, 16384.0]))
def test_compiled_and_plain_kernels_agree(state: tuple[float, float], age: float, wait: float, n: float) -> None:
    rate, last = state
    arguments = (rate, last - age - 0.1, last, last + wait, n, WINDOW)
    assert updated(*arguments) == plain.rates.updated(*arguments)
