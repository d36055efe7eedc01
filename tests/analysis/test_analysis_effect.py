"""Means along a varied name: equal to what is worked out by hand, and intervals that hold what they should."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
import sweeps_made as made
import xarray as xr
from hypothesis import given, settings, strategies as st

from btflow import analysis
from btflow.errors import InputError

AXES: dict[str, list[Any]] = {"rtt": [0.0, 0.4, 1.0], "loss": [0.01, 0.05], "cc": ["reno", "cubic"]}


def exact(rtt: float, loss: float, cc: str) -> float:
    return 100 + 50 * rtt + 1000 * loss + 10 * (cc == "cubic")


ANALYSES: tuple[Callable[[xr.Dataset], xr.Dataset], ...] = (
    lambda ds: analysis.response(ds, "completion_mean", "loss", "rtt", resamples=100),
    lambda ds: analysis.sensitivity(ds, "completion_mean", resamples=100),
    lambda ds: analysis.mean_effect(ds, "completion_mean", "rtt", 0.0, resamples=100),
    lambda ds: analysis.paired_difference(ds, "completion_mean", "cc", "reno", "cubic", resamples=100),
)


@pytest.fixture(scope="module")
def sweep() -> xr.Dataset:
    return made.grid(AXES, exact, replicas=4, noise=3.0)


def test_means_differences_and_ratios_are_those_of_the_values(sweep: xr.Dataset) -> None:
    found = analysis.mean_effect(sweep, "completion_mean", "rtt", reference="400 ms")
    mean = sweep["completion_mean"].values.mean(axis=(1, 2, 3))
    np.testing.assert_allclose(found["mean"], mean, rtol=1e-14)
    np.testing.assert_allclose(found["difference"], mean - mean[1], atol=1e-12)
    np.testing.assert_allclose(found["ratio"], mean / mean[1], rtol=1e-14)
    assert found["difference_low"].values[1] == found["difference_high"].values[1] == 0
    assert found["ratio_low"].values[1] == found["ratio_high"].values[1] == 1
    for name in ("mean", "difference", "ratio"):
        assert (found[f"{name}_low"] <= found[name]).all()
        assert (found[name] <= found[f"{name}_high"]).all()
    assert found["mean"].attrs["units"] == found["difference"].attrs["units"] == "s"
    assert found["rtt"].attrs["units"] == "s"
    assert (found.attrs["reference"], found.attrs["left_out"], found.attrs["balanced"]) == (0.4, 0, 1)
    assert found["points"].values.tolist() == [4, 4, 4]


def test_without_noise_intervals_are_points() -> None:
    found = analysis.mean_effect(made.grid(AXES, exact), "completion_mean", "cc", reference="reno")
    np.testing.assert_allclose(found["difference_high"], [0, 10], atol=1e-9)
    np.testing.assert_allclose(found["mean_low"], found["mean_high"])


def test_a_response_has_a_mean_for_each_pair(sweep: xr.Dataset) -> None:
    found = analysis.response(sweep, "completion_mean", "loss", "cc")
    assert found["mean"].dims == ("loss", "cc")
    np.testing.assert_allclose(found["mean"], sweep["completion_mean"].values.mean(axis=(0, 3)), rtol=1e-14)


@pytest.mark.slow
@given(st.randoms(use_true_random=False), st.booleans())
@settings(max_examples=10)
def test_the_order_of_replicas_changes_nothing(random: Random, common: bool) -> None:
    sweep = made.grid(AXES, exact, replicas=4, noise=3.0, common=common)
    values = sweep["completion_mean"].values + np.random.default_rng(3).normal(size=sweep["completion_mean"].shape)
    values[0, 0, 0, 1] = values[2, 1, 0, 2] = np.nan
    order = np.random.default_rng(random.getrandbits(32)).permutation(4)
    mixed = values[..., order]
    if not common:  # then a replica has nothing to do with that of the same number at another point
        mixed = np.random.default_rng(1).permuted(values, axis=-1)
    first, second = (made.grid(AXES, values=v) for v in (values, mixed))
    for ds in (first, second):
        ds.attrs["common_random_numbers"] = int(common)
    for function in ANALYSES:
        xr.testing.assert_allclose(function(first), function(second), rtol=1e-13)


@pytest.mark.slow
@given(st.sets(st.integers(0, 47), max_size=40), st.sampled_from([-1e9, 0.0, 1e9, np.inf]))
@settings(max_examples=20)
def test_what_failed_or_was_not_run_never_counts(lost: set[int], garbage: float) -> None:
    values = made.grid(AXES, exact, replicas=4, noise=3.0)["completion_mean"].values
    places = np.array(sorted(lost), int)
    values.ravel()[places] = np.nan
    if not np.isfinite(values).any():
        return
    clean = made.grid(AXES, values=values)
    dirty = clean.copy(deep=True)
    dirty["completion_mean"].values.ravel()[places] = garbage
    dirty["status"].values.ravel()[places[::2]] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that means are over different points is said elsewhere
        for function in ANALYSES[:2]:
            xr.testing.assert_equal(function(clean), function(dirty))


def test_a_failed_point_is_left_out_at_every_value() -> None:
    ds = made.grid({"cc": ["reno", "cubic"], "loss": [0.0, 0.1]}, lambda cc, loss: 10 + 100 * loss + (cc == "cubic"))
    values = ds["completion_mean"].values
    values[1, 1] = np.nan  # cubic fails where it is slow: without care it would look fast
    found = analysis.mean_effect(
        made.grid({"cc": ["reno", "cubic"], "loss": [0.0, 0.1]}, values=values), "completion_mean", "cc", "reno"
    )
    assert found["difference"].values[1] == pytest.approx(1.0)
    assert (found["points"].values.tolist(), found["missing"].values.tolist()) == ([1, 1], [0, 3])
    assert found.attrs["left_out"] == 1


def test_a_value_at_which_everything_failed_has_no_mean_and_no_say() -> None:
    ds = made.grid({"loss": [0.0, 0.1, 0.5], "rtt": [0.0, 1.0]}, lambda loss, rtt: 10 + loss + rtt)
    values = ds["completion_mean"].values
    values[2] = np.nan
    found = analysis.mean_effect(
        made.grid({"loss": [0.0, 0.1, 0.5], "rtt": [0.0, 1.0]}, values=values), "completion_mean", "loss", 0.0
    )
    np.testing.assert_allclose(found["mean"], [10.5, 10.6, np.nan])
    assert np.isnan(found["mean_low"].values[2])
    assert np.isnan(found["difference"].values[2])
    assert found.attrs["left_out"] == 0


def test_means_over_different_points_are_warned_of() -> None:
    values = made.grid({"loss": [0.0, 0.1], "rtt": [0.0, 1.0]}, lambda loss, rtt: 10 + loss + rtt)[
        "completion_mean"
    ].values
    values[0, 0] = values[1, 1] = np.nan
    with pytest.warns(UserWarning, match="over different points"):
        found = analysis.mean_effect(
            made.grid({"loss": [0.0, 0.1], "rtt": [0.0, 1.0]}, values=values), "completion_mean", "loss"
        )
    np.testing.assert_allclose(found["mean"], [11.0, 10.1])
    assert found.attrs["balanced"] == 0


def test_one_replica_has_no_interval(sweep: xr.Dataset) -> None:
    found = analysis.mean_effect(sweep.isel(replica=[0]), "completion_mean", "rtt", 0.0)
    assert np.isnan(found["mean_low"]).all()
    assert np.isfinite(found["mean"]).all()


def test_results_depend_on_the_seed_alone(sweep: xr.Dataset) -> None:
    def run(seed: int) -> xr.Dataset:
        return analysis.mean_effect(sweep, "completion_mean", "rtt", seed=seed, resamples=200)

    xr.testing.assert_identical(run(1), run(1))
    assert (run(1)["mean_low"] != run(2)["mean_low"]).any()


@pytest.mark.slow
@pytest.mark.parametrize(("points", "replicas", "common"), [(1, 5, False), (4, 3, False), (4, 5, True)])
def test_intervals_hold_the_mean_as_often_as_they_say(points: int, replicas: int, common: bool) -> None:
    rng = np.random.default_rng(5)
    axes = {"rtt": [0.0], "loss": np.linspace(0, 0.1, points).tolist()}
    inside = 0
    for _ in range(200):
        noise = rng.normal(size=(1, 1 if common else points, replicas)) * np.ones((1, points, 1))
        ds = made.grid(axes, values=50 + noise).assign_attrs(common_random_numbers=int(common))
        found = analysis.mean_effect(ds, "completion_mean", "rtt", resamples=200)
        inside += bool(found["mean_low"][0] <= 50 <= found["mean_high"][0])
    # 95 % with a standard deviation of 1.5 %; plain percentile intervals of five replicas hold it in 84 %
    assert 0.91 <= inside / 200 <= 0.985


def test_intervals_of_many_points_are_those_of_t() -> None:
    values = np.random.default_rng(2).gamma(2.0, 10.0, size=(400, 2))
    ds = made.sample({"cc": ["reno", "cubic"] * 200}, values)
    found = analysis.mean_effect(ds, "completion_mean", "cc")
    for number in range(2):
        own = values[number::2].mean(axis=1)
        half = 1.96 * own.std(ddof=1) / np.sqrt(200)
        assert found["mean"].values[number] == pytest.approx(own.mean())
        assert found["mean_low"].values[number] == pytest.approx(own.mean() - half, abs=0.1 * half)
        assert found["mean_high"].values[number] == pytest.approx(own.mean() + half, abs=0.1 * half)


def test_an_interval_of_a_sample_with_common_random_numbers_says_what_is_not_in_it() -> None:
    ds = made.sample({"cc": ["reno", "cubic"] * 4}, np.arange(16.0).reshape(8, 2))
    ways = [ds, ds.assign_attrs(common_random_numbers=1)]
    own, shared = (analysis.mean_effect(way, "completion_mean", "cc") for way in ways)
    assert "not in it" in shared.attrs["resampled"]
    assert "not in it" not in own.attrs["resampled"]
    xr.testing.assert_equal(own, shared)


def test_sampled_numbers_are_binned_with_equally_many_points() -> None:
    rng = np.random.default_rng(0)
    rtt = rng.uniform(0, 1, 100)
    ds = made.sample({"rtt": rtt.tolist()}, rtt[:, None] * [100.0, 102.0])
    found = analysis.mean_effect(ds, "completion_mean", "rtt", reference=float(rtt.min()), bins=5)
    order = np.sort(rtt).reshape(5, 20)
    np.testing.assert_allclose(found["mean"], 101 * order.mean(axis=1))
    np.testing.assert_allclose(found["rtt"], order.mean(axis=1))
    np.testing.assert_allclose(found["rtt_least"], order[:, 0])
    np.testing.assert_allclose(found["rtt_greatest"], order[:, -1])
    assert found["difference"].values[0] == 0
    assert found["rtt_least"].attrs["units"] == "s"


def test_names_that_vary_together_are_one_dimension() -> None:
    values = np.arange(6.0).reshape(3, 1, 2)
    ds = made.grid({"rtt+loss": [0, 1, 2], "cc": ["reno"]}, values=values).drop_vars("rtt+loss")
    ds = ds.assign_coords(
        rtt=made.coordinate("rtt", "rtt+loss", [0.0, 0.0, 1.0]),
        loss=made.coordinate("loss", "rtt+loss", [0.1, 0.2, 0.3]),
    )
    np.testing.assert_allclose(analysis.mean_effect(ds, "completion_mean", "loss")["mean"], [0.5, 2.5, 4.5])
    found = analysis.mean_effect(ds, "completion_mean", "rtt")
    np.testing.assert_allclose(found["mean"], [1.5, 4.5])
    assert found["points"].values.tolist() == [2, 1]
    with pytest.raises(InputError, match="varies together with rtt"):
        analysis.response(ds, "completion_mean", "rtt", "loss")


def test_real_swarms_take_longer_with_lower_limits() -> None:
    axes = {"upload_limit": ["20 kB/s", "50 kB/s"], "rtt": ["0 ms", "400 ms"]}
    ds = made.real(axes, {"upload_limit": [20480.0, 51200.0], "rtt": [0.0, 0.4]})
    found = analysis.mean_effect(ds, "completion_mean", "upload_limit", reference="50 kB/s")  # 1 kB is 1024 B here
    assert found["difference_low"].values[0] > 0
    np.testing.assert_allclose(found["mean"], ds["completion_mean"].mean(("rtt", "replica")))


def _failed() -> xr.Dataset:
    return made.grid(AXES, values=np.full((3, 2, 2, 4), np.nan))


WRONG: list[tuple[Callable[[xr.Dataset], object], str]] = [
    (lambda ds: analysis.mean_effect(ds, "completion_maen", "rtt"), r"variable.*did you mean completion_mean\?"),
    (lambda ds: analysis.mean_effect(ds, "completion_mean", "rt"), r"over = 'rt'.*did you mean rtt\?.*rtt, loss, cc"),
    (lambda ds: analysis.mean_effect(ds, "status", "rtt"), "is not a statistic of the sweep"),
    (lambda ds: analysis.mean_effect(ds, "completion_mean", "replica"), "is not a varied parameter"),
    (lambda ds: analysis.mean_effect(ds, "completion_mean", "rtt", 0.3), r"reference = 0.3.*allowed: 0 s, 400 ms, 1 s"),
    (lambda ds: analysis.mean_effect(ds, "completion_mean", "rtt", "4 kB"), "unknown unit"),
    (lambda ds: analysis.mean_effect(ds, "completion_mean", "rtt", True), "is not a number"),
    (lambda ds: analysis.mean_effect(ds, "completion_mean", "cc", "bbr"), "reno, cubic"),
    (lambda ds: analysis.mean_effect(ds, "completion_mean", "rtt", confidence=95), "between 0 and 1"),
    (lambda ds: analysis.mean_effect(ds, "completion_mean", "rtt", resamples=10), "resamples = 10"),
    (lambda ds: analysis.mean_effect(ds, "completion_mean", "rtt", bins=1), "bins = 1"),
    (lambda ds: analysis.response(ds, "completion_mean", "rtt", "rtt"), "by = 'rtt': is x already"),
    (lambda _: analysis.mean_effect(3, "completion_mean", "rtt"), "what btflow.sweep returns"),  # type: ignore[arg-type]  # on purpose
    (lambda _: analysis.mean_effect(xr.Dataset(), "completion_mean", "rtt"), "is not a sweep"),
    (lambda _: analysis.mean_effect(_failed(), "completion_mean", "rtt"), "has no value: of 48 swarms 48 failed"),
]


@pytest.mark.parametrize(("call", "text"), WRONG)
def test_bad_input_is_named(sweep: xr.Dataset, call: Callable[[xr.Dataset], object], text: str) -> None:
    with pytest.raises(InputError, match=text):
        call(sweep)


def test_a_statistic_by_class_is_asked_for_a_class(sweep: xr.Dataset) -> None:
    by_class = sweep["completion_mean"].expand_dims(peer_class=["seed", "leechers"], axis=-1)
    ds = sweep.assign(class_completion_mean=by_class)
    with pytest.raises(InputError, match=r"choose one first: ds.sel\(peer_class=...\) of seed, leechers"):
        analysis.mean_effect(ds, "class_completion_mean", "rtt")
    found = analysis.mean_effect(ds.sel(peer_class="leechers"), "class_completion_mean", "rtt")
    np.testing.assert_allclose(found["mean"], sweep["completion_mean"].mean(("loss", "cc", "replica")))
