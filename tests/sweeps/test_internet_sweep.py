"""Sweeps over drawn paths: what cannot be is said before any work, and files are taken as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from internet_made import FIXED, SMALL, constant, file, swarm
from program import Run
from sweep_made import REFUSED

from btflow import analysis, load, simulate, sweep
from btflow.analysis.design import value_text


@pytest.fixture
def run(run: Run, tmp_path: Path) -> Run:
    """Return a function that runs a sweep of the command line in a folder of its own, which has a damaged model."""
    file(tmp_path / "falls.toml", loss=[{"share": 0.5, "value": 0.1}, {"share": 1.0, "value": 0}])
    file(tmp_path / "my.toml")
    (tmp_path / "broken.toml").write_text("x = [")
    return lambda model, *args: run("sweep", model, *FIXED, "--out=o.zarr", *args)


def test_one_swarm_is_said_in_the_singular(run: Run) -> None:
    assert run("rao2010", "--vary=internet=iplane")[1] == "o.zarr: 1 of 1 swarm done, 0 failed\n"


def test_iplane_alone_is_one_value_of_internet(run: Run) -> None:
    code, printed, _ = run("rao2010", "--vary=internet=iplane", "--vary=upload_limit=20kB/s,50kB/s")
    assert (code, printed) == (0, "o.zarr: 2 of 2 swarms done, 0 failed\n")
    vary: dict[Any, object] = {"internet": "iplane", "initial_window": "3,4"}
    for sample in (None, "random:2"):
        found = sweep(load("rao2010", **SMALL), vary, sample=sample, jobs=1, progress=False)
        assert set(found["internet"].values.tolist()) == {"iplane"}
    drawn = sweep(load("rao2010", **SMALL), {"rtt": "iplane"}, sample="random:2", jobs=1, progress=False)
    assert drawn["rtt"].dtype == float  # of numbers it is the distribution


@pytest.mark.parametrize(("model", "args", "said"), REFUSED["swept_paths"])
def test_what_no_point_can_be_is_said_before_any_work(model: str, args: list[str], said: str, run: Run) -> None:
    code, printed, error = run(model, *args)
    assert (code, printed, error.count("\n")) == (2, "", 1)
    assert error.startswith("btflow: error: ")
    assert said in error
    assert not Path("o.zarr").exists()


def test_other_damaged_files_are_found_before_any_work_too(run: Run) -> None:
    Path("tcp.toml").write_text('base = "linux-2.6.32"\nmss = "10 B"\n')
    code, _, error = run("rao2010", "--vary=transport=linux-2.6.32,tcp.toml")
    assert code == 2
    assert error.startswith("btflow: error: transport.mss = '10 B': is out of range, in tcp.toml; allowed: a size")


def test_points_that_places_refuse_are_recorded_and_the_others_run(run: Run) -> None:
    varied = ("--vary=internet=none,iplane", "--vary=leecher_as,seed_as=(none,none),(AS1,AS1)")
    code, printed, _ = run("rao2010", *varied)
    assert code == 0
    assert printed.startswith("o.zarr: 3 of 4 swarms done, 1 failed\n")
    assert "is a location, while the paths of each peer are drawn" in printed


def test_a_sweep_shows_the_rtt_if_a_point_has_one() -> None:
    for values, there in ((["none", "iplane"], True), (["iplane", constant()], False)):
        found = sweep(load("rao2010", **SMALL), {"internet": values}, jobs=1, progress=False)
        assert ("rtt" in json.loads(found.attrs["parameters"])) is there
    assert "rtt" not in json.loads(
        sweep(swarm(), {"initial_window": [3, 4]}, jobs=1, progress=False).attrs["parameters"]
    )


def test_a_sweep_is_not_resumed_with_another_content_of_its_path_model(run: Run) -> None:
    file(Path("my.toml"), **constant("20 ms"))
    assert run("rao2010", "--vary=internet=none,my.toml")[0] == 0
    assert run("rao2010", "--vary=internet=none,my.toml", "--resume")[0] == 0
    file(Path("my.toml"), **constant("1 s"))
    for args in (["--vary=internet=none,my.toml"], ["--vary=upload_limit=20kB/s,30kB/s", "--set=internet=my.toml"]):
        code, printed, error = run("rao2010", *args, "--resume")
        assert (code, printed, error.count("\n")) == (2, "", 1)
    file(Path("my.toml"), **constant("20 ms"))
    assert run("rao2010", "--vary=internet=none,my.toml", "--resume")[1] == "o.zarr: 2 of 2 swarms done, 0 failed\n"


ONE_OR_DRAWN = ("--set=rtt=400ms", "--set=loss=1%", "--vary=internet=none,iplane")


@pytest.mark.parametrize("sample", ["grid", "random:6"])
def test_what_is_set_for_all_points_holds_for_those_without_drawn_paths(sample: str, run: Run) -> None:
    code, printed, _ = run("rao2010", *ONE_OR_DRAWN, f"--sample={sample}")
    assert (code, "0 failed" in printed) == (0, True)
    found = xr.open_zarr("o.zarr", chunks=None)
    assert json.loads(found.attrs["parameters"])["rtt"] == "400 ms"
    alone: dict[str, dict[str, Any]] = {"none": {"rtt": "400 ms", "loss": 0.01}, "iplane": {"internet": "iplane"}}
    for place, name in enumerate(found["internet"].values.tolist()):
        check_point(found, place, alone[name])
    given = load("rao2010", **SMALL, rtt="400 ms", loss=0.01)
    again = sweep(given, {"internet": "none,iplane"}, sample=sample, progress=False)
    assert again["completion_mean"].values.tolist() == found["completion_mean"].values.tolist()


@pytest.mark.parametrize("sample", ["grid", "random:8"])
def test_a_group_leaves_out_what_its_paths_take_the_place_of(sample: str, run: Run) -> None:
    varied = "--vary=rtt,internet=(400ms,none),(none,iplane),(0ms,none)"
    code, printed, _ = run("rao2010", varied, f"--sample={sample}")
    assert (code, "0 failed" in printed) == (0, True)
    assert run("rao2010", varied, f"--sample={sample}", "--resume")[0] == 0
    found = xr.open_zarr("o.zarr", chunks=None)
    said = json.loads(found.attrs["varied"])["rtt+internet"]
    assert "(none, iplane)" in said or ["none", "iplane"] in said
    for place, (rtt, internet) in enumerate(zip(found["rtt"].values, found["internet"].values, strict=True)):
        assert np.isnan(rtt) == (internet == "iplane")
        check_point(found, place, {"internet": "iplane"} if internet == "iplane" else {"rtt": f"{rtt} s"})
    rows = [(None, "iplane"), ("400 ms", "none"), ("0 ms", "none")]  # in Python, in another order
    again = sweep(load("rao2010", **SMALL, loss=0.01), {("rtt", "internet"): rows}, progress=False)
    check_point(again, 0, {"internet": "iplane"})
    check_point(again, 1, {"rtt": "400 ms", "loss": 0.01})


def test_points_that_leave_a_number_out_are_cells_of_their_own() -> None:
    rows = [(None, "iplane"), ("400 ms", "none"), (None, constant()), ("0 ms", "none")]
    found = sweep(load("rao2010", **SMALL), {("rtt", "internet"): rows}, progress=False)
    by_rtt = analysis.mean_effect(found, "completion_mean", "rtt")
    np.testing.assert_array_equal(by_rtt["rtt"], [0.0, 0.4, np.nan])
    assert by_rtt["points"].values.tolist() == [1, 1, 2]
    assert float(by_rtt["mean"][2]) == pytest.approx(float(found["completion_mean"][[0, 2]].mean()))
    assert value_text(float("nan"), "s") == "none"


def check_point(found: xr.Dataset, place: int, settings: dict[str, Any]) -> None:
    """See that a point of a sweep is the swarm of the same settings alone."""
    point = found.isel({found["internet"].dims[0]: place, "replica": 0})
    alone = simulate(load("rao2010", **SMALL, **settings), seed=int(point["seed"]))
    assert float(point["completion_max"]) == float(alone["completion_time"].max())
