"""The statistics by which claims on swarms are judged: intervals, pairs, equivalence, effects, ranks."""

from __future__ import annotations

import numpy as np
import pytest
from validation_swarms_made import NOISE, RUNS

from validation.swarms.compare import interval, p_above, paired, slope, spearman


def test_interval_of_students_t() -> None:
    found = interval([1.0, 2.0, 3.0, 4.0])
    assert found.mean == 2.5
    assert found.high - found.mean == pytest.approx(3.1824463 * np.std([1, 2, 3, 4], ddof=1) / 2)
    assert interval([1.0, np.nan, 3.0]).number == 2
    assert interval([1.0]).high == np.inf
    assert interval([]).number == 0


def test_an_order_is_found_by_pairs_that_the_spread_hides() -> None:
    level = np.linspace(50.0, 150.0, 10)
    found = paired(level + 1.0 + 0.1 * NOISE[0][:10], level)
    assert found.greater
    assert not found.less
    assert abs(found.effect) < 0.1  # small beside the spread of the runs
    assert found.equal


@pytest.mark.parametrize(
    ("shift", "noise", "equal"), [(0.0, 2.0, True), (0.04, 0.5, True), (0.0, 20.0, False), (0.06, 0.1, False)]
)
def test_equivalence_needs_evidence(shift: float, noise: float, equal: bool) -> None:
    base = np.full(RUNS, 100.0)
    assert paired(100.0 * (1.0 + shift) + noise * (NOISE[1] - NOISE[1].mean()), base).equal is equal


def test_one_run_shows_nothing() -> None:
    found = paired([1.0], [2.0])
    assert (found.less, found.greater, found.equal) == (False, False, False)
    nothing = paired([np.nan, np.nan], [1.0, 2.0])
    assert (nothing.less, nothing.greater, nothing.equal) == (False, False, False)


def test_the_effect_is_cohens_d() -> None:
    a, b = 10.0 + NOISE[0], 12.0 + NOISE[1]
    pooled = np.sqrt(0.5 * (a.var(ddof=1) + b.var(ddof=1)))
    assert paired(a, b).effect == pytest.approx((a.mean() - b.mean()) / pooled)


def test_what_does_not_vary_is_compared_as_it_is() -> None:
    assert p_above([2.0, 2.0], 1.0) == 0.0
    assert p_above([2.0, 2.0], 3.0) == 1.0
    assert paired([2.0, 2.0], [1.0, 1.0]).greater


def test_slopes_and_ranks() -> None:
    assert slope([0, 1, 2], [[1.0, 5.0], [3.0, 5.0], [5.0, 5.0]]) == pytest.approx([2.0, 0.0])
    assert spearman([1, 2, 3], [1, 8, 9]) == 1.0
    assert spearman([1, 2, 3], [5, 5, 5]) == 0.0
