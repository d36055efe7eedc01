"""Differences within pairs: equal to those worked out by hand, and narrower where random numbers are common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sweeps_made as made
import xarray as xr
from scipy import stats

from btflow import analysis
from btflow.errors import InputError

AXES: dict[str, list[Any]] = {"cc": ["reno", "cubic", "bbr"], "rtt": [0.0, 0.4, 1.0]}


def sweep(common: bool, replicas: int = 6) -> xr.Dataset:
    """Return completion times in which a replica's luck is large and the variants' own noise is small."""
    rng = np.random.default_rng(4)
    luck = rng.normal(0, 20, size=(1, 1, replicas) if common else (3, 3, replicas))
    base = np.array([100.0, 110.0, 125.0])[:, None, None] + 50 * np.arange(3)[None, :, None]
    values = base + luck + rng.normal(0, 1, size=(3, 3, replicas))
    return made.grid(AXES, values=values).assign_attrs(common_random_numbers=int(common))


@pytest.mark.parametrize("common", [True, False])
def test_differences_are_those_of_the_values(common: bool) -> None:
    ds = sweep(common)
    found = analysis.paired_difference(ds, "completion_mean", "cc", "reno", "bbr")
    reno, _, bbr = ds["completion_mean"].values
    np.testing.assert_allclose(found["difference"], (bbr - reno).mean(axis=-1))
    np.testing.assert_allclose(found["ratio"], bbr.mean(axis=-1) / reno.mean(axis=-1))
    assert float(found["mean_difference"]) == pytest.approx((bbr - reno).mean())
    assert float(found["mean_ratio"]) == pytest.approx(bbr.mean() / reno.mean())
    assert found["difference"].attrs["units"] == found["mean_difference_low"].attrs["units"] == "s"
    assert found["ratio"].attrs["units"] == "1"
    assert found.attrs["paired_by"] == ("point and replica" if common else "point")
    assert (found.attrs["a"], found.attrs["b"]) == ("reno", "bbr")
    assert found["pairs"].values.tolist() == [6, 6, 6]


def test_the_interval_is_that_of_a_paired_t_test() -> None:
    ds = sweep(common=True, replicas=40)
    found = analysis.paired_difference(ds, "completion_mean", "cc", "reno", "bbr")
    within = (ds["completion_mean"].values[2] - ds["completion_mean"].values[0]).mean(axis=0)
    low, high = stats.ttest_1samp(within, 0.0).confidence_interval(0.95)
    assert float(found["mean_difference_low"]) == pytest.approx(low, abs=0.1 * (high - low))
    assert float(found["mean_difference_high"]) == pytest.approx(high, abs=0.1 * (high - low))


def test_pairs_of_replicas_narrow_the_interval() -> None:
    common = analysis.paired_difference(sweep(True), "completion_mean", "cc", "reno", "bbr")
    assert 0.0 < float(common["narrowing"]) < 0.15  # noise of 1 beside luck of 20
    assert float(common["mean_difference_low"]) < 25 < float(common["mean_difference_high"])
    apart = analysis.paired_difference(sweep(False), "completion_mean", "cc", "reno", "bbr")
    assert float(apart["narrowing"]) == 1.0
    wide, narrow = (float(ds["mean_difference_high"] - ds["mean_difference_low"]) for ds in (apart, common))
    assert wide > 5 * narrow


def test_swapped_variants_have_the_opposite_difference() -> None:
    ds = sweep(True)
    one, other = (
        analysis.paired_difference(ds, "completion_mean", "cc", *ab) for ab in (("reno", "bbr"), ("bbr", "reno"))
    )
    np.testing.assert_allclose(one["difference"], -other["difference"])
    np.testing.assert_allclose(one["ratio"], 1 / other["ratio"])
    np.testing.assert_allclose(one["mean_difference_low"], -other["mean_difference_high"], rtol=1e-9)


def test_a_swarm_without_partner_does_not_count() -> None:
    values = sweep(True)["completion_mean"].values
    values[0, 0, 2] = np.nan
    values[2, 1] = np.nan
    for common in (True, False):
        ds = made.grid(AXES, values=values).assign_attrs(common_random_numbers=int(common))
        found = analysis.paired_difference(ds, "completion_mean", "cc", "reno", "bbr")
        assert found["pairs"].values.tolist() == [5, 0, 6]
        assert np.isnan(found["difference"].values[1])
        partners = [n for n in range(6) if n != 2 or not common]  # by point the other five still say what bbr takes
        expected = values[2, 0][partners].mean() - np.nanmean(values[0, 0])
        assert found["difference"].values[0] == pytest.approx(expected)


def test_values_are_found_by_text_with_a_unit() -> None:
    ds = sweep(True)
    found = analysis.paired_difference(ds, "completion_mean", "rtt", "400 ms", 1.0)
    assert (found.attrs["a"], found.attrs["b"]) == (0.4, 1.0)
    one, other = (ds["completion_mean"].sel(rtt=rtt).mean("replica") for rtt in (1.0, 0.4))
    np.testing.assert_allclose(found["difference"], one - other)


def _sample() -> xr.Dataset:
    return made.sample({"cc": ["reno", "cubic"] * 4}, np.ones((8, 2)))


def _failed() -> xr.Dataset:
    values = np.ones((3, 3, 2))
    values[1] = np.nan
    return made.grid(AXES, values=values)


WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: analysis.paired_difference(sweep(True), "completion_mean", "c", "reno", "bbr"), "dim = 'c'.*rtt"),
    (
        lambda: analysis.paired_difference(sweep(True), "completion_mean", "cc", "reno", "vegas"),
        "b = 'vegas'.*reno, cubic, bbr",
    ),
    (lambda: analysis.paired_difference(sweep(True), "completion_mean", "cc", "reno", "reno"), "is the value of a"),
    (lambda: analysis.paired_difference(_sample(), "completion_mean", "cc", "reno", "cubic"), "use mean_effect"),
    (lambda: analysis.paired_difference(_failed(), "completion_mean", "cc", "reno", "cubic"), "12 swarms 6 failed"),
]


@pytest.mark.parametrize(("call", "text"), WRONG)
def test_bad_input_is_named(call: Callable[[], object], text: str) -> None:
    with pytest.raises(InputError, match=text):
        call()
