"""Sobol indices against the known ones of Ishigami's function, and swings against those worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sweeps_made as made
import xarray as xr
from hypothesis import given, settings, strategies as st

from btflow import analysis, plots
from btflow.errors import InputError
from btflow.sweeps.store import open_store

PI = float(np.pi)
ENDS = {"x1": (-PI, PI), "x2": (-PI, PI), "x3": (-PI, PI)}
AXES: dict[str, list[Any]] = {"rtt": [0.0, 0.4, 1.0], "loss": [0.01, 0.05], "cc": ["reno", "cubic"]}


def ishigami(x: made.Floats) -> made.Floats:
    return np.asarray(np.sin(x[0]) + 7 * np.sin(x[1]) ** 2 + 0.1 * x[2] ** 4 * np.sin(x[0]))


@pytest.fixture(scope="module")
def design() -> xr.Dataset:
    return made.saltelli(ishigami, ENDS, 1024)


def test_indices_of_ishigamis_function_are_the_known_ones(design: xr.Dataset) -> None:
    found = analysis.sobol_indices(design, "completion_mean", resamples=500)
    # Ishigami and Homma, 1990, with a = 7, b = 0.1
    known = {"first_order": [0.3139, 0.4424, 0.0], "total": [0.5576, 0.4424, 0.2437]}
    assert found["parameter"].values.tolist() == ["x1", "x2", "x3"]
    for name, values in known.items():
        np.testing.assert_allclose(found[name], values, atol=0.02)
        assert (found[f"{name}_low"].values <= values).all()
        assert (found[f"{name}_high"].values >= values).all()
        assert (found[f"{name}_high"] - found[f"{name}_low"] < 0.25).all()
    assert np.isnan(found["chance"])
    xr.testing.assert_identical(found, analysis.sobol_indices(design, "completion_mean", resamples=500))


def test_replicas_are_averaged_and_tell_how_much_is_chance() -> None:
    design = made.saltelli(ishigami, ENDS, 256, replicas=2)
    noise = np.random.default_rng(0).normal(0, 1, design["completion_mean"].shape)
    noisy = design.assign(completion_mean=design["completion_mean"] + noise)
    found = analysis.sobol_indices(noisy, "completion_mean", resamples=100)
    assert float(found["chance"]) == pytest.approx(0.5 / (13.84 + 0.5), rel=0.1)  # half a unit of variance left
    assert float(analysis.sobol_indices(design, "completion_mean", resamples=100)["chance"]) == 0.0


@pytest.mark.filterwarnings("ignore:Consolidated metadata")
def test_names_keep_their_order_in_a_store(tmp_path: Path) -> None:
    design = made.saltelli(lambda x: x[0] + 0.1 * x[1], {"rtt": (0.0, 1.0), "loss": (0.0, 1.0)}, 64)
    made.store(design, tmp_path / "s.zarr")
    stored = open_store(tmp_path / "s.zarr", "store")
    whole, read = (analysis.sobol_indices(ds, "completion_mean", resamples=100) for ds in (design, stored))
    assert read["parameter"].values.tolist() == ["rtt", "loss"]
    xr.testing.assert_identical(whole, read)


def test_a_parameter_that_does_nothing_has_no_share() -> None:
    design = made.saltelli(lambda x: x[0] ** 2, {"rtt": (0.0, 1.0), "loss": (0.0, 0.1)}, 64)
    found = analysis.sobol_indices(design, "completion_mean", resamples=100)
    assert found["first_order"].values[1] == found["total"].values[1] == 0
    assert found["total"].values[0] == pytest.approx(1.0, abs=0.1)


def mixed_design(n: int, seed: int) -> xr.Dataset:
    """Return a Saltelli design over a number, a count and a word, in which values of the last two often agree."""
    rng = np.random.default_rng(seed)
    a, b = (np.array([rng.uniform(size=n), rng.integers(1, 4, n), rng.integers(0, 2, n)]) for _ in range(2))
    blocks = [a, b, *(np.where(np.arange(3)[:, None] == i, b, a) for i in range(3))]
    rtt, peers, words = np.concatenate(blocks, axis=1)
    columns = {
        "rtt": rtt.tolist(),
        "leechers": peers.astype(int).tolist(),
        "cc": np.where(words, "cubic", "reno").tolist(),
    }
    return made.sample(columns, (100 * rtt + 10 * peers + words)[:, None], design=f"saltelli:{n}")


def is_saltelli(ds: xr.Dataset) -> bool:
    """Return whether samples are A, B, AB_0, AB_1, AB_2 of three names, one value at a time."""
    rows = list(zip(*(ds[name].values.tolist() for name in ("rtt", "leechers", "cc")), strict=True))
    n, rest = divmod(len(rows), 5)
    if rest or n not in (2, 4, 8):
        return False
    a, b = rows[:n], rows[n : 2 * n]
    return all(
        rows[(2 + own) * n + j][name] == (b if own == name else a)[j][name]
        for own in range(3) for j in range(n) for name in range(3)
    )  # fmt: skip


@given(st.integers(0, 5), st.data())
@settings(max_examples=60, deadline=None)
def test_samples_that_are_no_saltelli_design_any_more_are_refused(seed: int, data: st.DataObject) -> None:
    whole = mixed_design(4, seed)
    swaps = st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=3)
    order = np.arange(20)
    for one, other in data.draw(swaps):
        order[[one, other]] = order[[other, one]]
    cut = data.draw(
        st.sampled_from([slice(None), slice(10), slice(10, None), slice(None, None, 2), slice(None, None, -1)])
    )
    part = whole.isel(sample=order[cut])
    try:
        found = analysis.sobol_indices(part, "completion_mean", resamples=100)
    except InputError as error:
        assert not is_saltelli(part) or "no variance" in error.reason
        return
    assert is_saltelli(part)
    again = made.sample({n: part[n].values.tolist() for n in ("rtt", "leechers", "cc")}, part["completion_mean"].values)
    again.attrs["design"] = "saltelli:4"
    xr.testing.assert_equal(found, analysis.sobol_indices(again, "completion_mean", resamples=100))


def test_a_design_cut_to_a_length_that_fits_or_reordered_says_so(design: xr.Dataset) -> None:
    shuffled = design.isel(sample=np.random.default_rng(0).permutation(design.sizes["sample"]))
    for wrong in (
        design.isel(sample=slice(2560)),
        shuffled,
        design.sortby("x1"),
        design.isel(sample=slice(None, None, -1)),
    ):
        with pytest.raises(InputError, match=r"is not in the order A, B, AB_0.*allowed: a whole design"):
            analysis.sobol_indices(wrong, "completion_mean")
    one = analysis.sobol_indices(shuffled.sortby("sample"), "completion_mean", resamples=100)
    xr.testing.assert_identical(one, analysis.sobol_indices(design, "completion_mean", resamples=100))


def test_a_base_sample_may_be_cut_in_every_block_alike(design: xr.Dataset) -> None:
    half = np.concatenate([np.arange(512) + 1024 * block for block in range(5)])
    found = analysis.sobol_indices(design.isel(sample=half), "completion_mean", resamples=100)
    xr.testing.assert_equal(
        found, analysis.sobol_indices(made.saltelli(ishigami, ENDS, 512), "completion_mean", resamples=100)
    )


def test_means_over_a_design_are_over_a_and_b_whatever_the_order(design: xr.Dataset) -> None:
    expected = design["completion_mean"].values[:2048].mean()
    shuffled = design.isel(sample=np.random.default_rng(0).permutation(design.sizes["sample"]))
    for ds in (design, shuffled):
        found = analysis.mean_effect(ds, "completion_mean", "x1", resamples=100, bins=4)
        assert found["points"].values.tolist() == [512] * 4
        assert float(found["mean"].mean()) == pytest.approx(expected)


def _with_failures(design: xr.Dataset) -> xr.Dataset:
    values = design["completion_mean"].values.copy()
    values[[3, 2000]] = np.nan
    columns = {name: design[name].values.tolist() for name in ENDS}
    return made.sample(columns, values, design="saltelli:1024")


WRONG: list[tuple[Callable[[xr.Dataset], object], str]] = [
    (lambda _: analysis.sobol_indices(made.grid(AXES, lambda *_: 1.0), "completion_mean"), "ds = 'grid'.*saltelli:N"),
    (
        lambda _: analysis.sobol_indices(made.sample({"x": [0.0, 1.0]}, np.ones((2, 1))), "completion_mean"),
        "'lhs:8'.*saltelli:N",
    ),
    (lambda d: analysis.sobol_indices(d.isel(sample=slice(100)), "completion_mean"), "100 samples.*not a whole"),
    (lambda d: analysis.sobol_indices(_with_failures(d), "completion_mean"), "missing at 2 of 5,120 samples.*2 failed"),
    (
        lambda d: analysis.sobol_indices(d.assign(completion_mean=0 * d["completion_mean"]), "completion_mean"),
        "no variance",
    ),
    (lambda d: analysis.sobol_indices(d, "nothing"), "is not a statistic"),
]


@pytest.mark.parametrize(("call", "text"), WRONG)
def test_bad_input_is_named(design: xr.Dataset, call: Callable[[xr.Dataset], object], text: str) -> None:
    with pytest.raises(InputError, match=text):
        call(design)


def exact(rtt: float, loss: float, cc: str) -> float:
    return 100 + 400 * (rtt - 0.4) ** 2 + 1000 * loss + 10 * (cc == "cubic")


def test_swings_are_between_the_least_and_the_greatest_mean() -> None:
    found = analysis.sensitivity(made.grid(AXES, exact), "completion_mean")
    assert found["parameter"].values.tolist() == ["rtt", "loss", "cc"]
    np.testing.assert_allclose(found["swing"], [144, 40, 10])
    np.testing.assert_allclose(found["swing_low"], [144, 40, 10])
    assert found["least_at"].values.tolist() == ["400 ms", "1%", "reno"]
    assert found["greatest_at"].values.tolist() == ["1 s", "5%", "cubic"]
    np.testing.assert_allclose(found["first"], found["least"] + [64, 0, 0])
    assert float(found["base"]) == pytest.approx(100 + (64 + 0 + 144) / 3 + 30 + 5)
    assert found["swing"].attrs["units"] == "s"


def test_swings_about_a_base_are_with_the_others_held() -> None:
    ds = made.grid(AXES, lambda rtt, loss, cc: rtt * loss * 1000 + (cc == "cubic"))
    found = analysis.sensitivity(ds, "completion_mean", base={"rtt": "1 s", "loss": 0.05, "cc": "reno"})
    swings = dict(zip(found["parameter"].values, found["swing"].values, strict=True))
    assert swings == pytest.approx({"rtt": 50, "loss": 40, "cc": 1})
    assert float(found["base"]) == pytest.approx(50)


def test_swings_of_a_sample_are_over_bins() -> None:
    rng = np.random.default_rng(0)
    rtt, loss = rng.uniform(0, 1, 500), rng.uniform(0, 0.1, 500)
    ds = made.sample({"rtt": rtt.tolist(), "loss": loss.tolist()}, (10 * rtt)[:, None])
    found = analysis.sensitivity(ds, "completion_mean", bins=5)
    order = np.sort(rtt).reshape(5, 100).mean(axis=1)
    assert found["parameter"].values.tolist() == ["rtt", "loss"]
    assert found["swing"].values[0] == pytest.approx(10 * (order[-1] - order[0]))
    assert found["swing_low"].values[1] < 1.5


def test_names_with_one_value_have_no_swing() -> None:
    ds = made.grid(AXES | {"leechers": [9]}, lambda *values: exact(*values[:3]))
    assert "leechers" not in analysis.sensitivity(ds, "completion_mean")["parameter"].values
    with pytest.raises(InputError, match="no varied name with two values"):
        analysis.sensitivity(made.grid({"rtt": [0.0]}, lambda _: 1.0), "completion_mean")


@pytest.mark.parametrize(
    ("base", "text"),
    [
        ({"rtt": 0.0}, "has no value for loss.*rtt, loss, cc"),
        ({"rtt": 0.3, "loss": 0.01, "cc": "reno"}, r"base\['rtt'\] = 0.3"),
        ({"rtt": 0.0, "loss": 0.01, "cc": "reno", "x": 1}, "base = 'x'.*is not a varied parameter"),
        ({"rtt": 1.0, "loss": 0.05, "cc": "cubic"}, "has no result"),
    ],
)
def test_a_base_that_is_no_point_is_refused(base: dict[str, object], text: str) -> None:
    values = made.grid(AXES, exact)["completion_mean"].values
    values[2, 1, 1] = np.nan
    with pytest.raises(InputError, match=text):
        analysis.sensitivity(made.grid(AXES, values=values), "completion_mean", base=base)


def test_names_that_vary_together_are_one_parameter() -> None:
    """Its indices are those of a single name that stands for the group."""
    ends = {"rtt": (0.0, 1.0), "upload_limit": (0.0, 1.0)}
    alone = made.saltelli(lambda x: x[0] + 3 * x[0] * x[1], ends, 64)
    written = json.dumps({"rtt+loss": "choice(...)", "upload_limit": "uniform(...)"})
    both = alone.assign_coords(loss=made.coordinate("loss", "sample", (1 - alone["rtt"].values).tolist()))
    both.attrs["varied"] = written
    found = analysis.sobol_indices(both, "completion_mean", resamples=100)
    assert found["parameter"].values.tolist() == ["rtt+loss", "upload_limit"]
    expected = analysis.sobol_indices(alone, "completion_mean", resamples=100)
    for name in ("first_order", "total_low", "total"):
        assert found[name].values.tolist() == expected[name].values.tolist()
    with pytest.raises(InputError, match="y = 'loss': varies together with rtt"):
        plots.heat_map(both, "completion_mean", "rtt", "loss")
    assert plots.heat_map(both, "completion_mean", "upload_limit", "loss") is not None


@pytest.mark.parametrize("shifted", ["rtt", "loss"])
def test_each_name_of_a_group_must_be_in_the_designs_order(shifted: str) -> None:
    alone = made.saltelli(lambda x: x[0] + x[1], {"rtt": (0.0, 1.0), "upload_limit": (0.0, 1.0)}, 32)
    both = alone.assign_coords(loss=made.coordinate("loss", "sample", alone["rtt"].values.tolist()))
    both.attrs["varied"] = json.dumps({"rtt+loss": "", "upload_limit": ""})
    moved = made.coordinate(shifted, "sample", np.roll(both[shifted].values, 1).tolist())
    both = both.assign_coords({shifted: moved})
    with pytest.raises(InputError, match="is not in the order A, B, AB_0"):
        analysis.sobol_indices(both, "completion_mean")
