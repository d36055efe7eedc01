"""Swarms that a sweep has kept whole: what `simulate` gives of them, without running them again."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from sweep_made import relabelled, tiny

import btflow
from btflow import InputError, Scenario, open_swarms, open_sweep, simulate
from btflow.options import Fidelity
from btflow.sweeps.database import FILE
from btflow.sweeps.plan import versions

RTT: dict[str | tuple[str, ...], object] = {"rtt": ["0 ms", "50 ms"]}


def links() -> Scenario:
    return btflow.load("flashcrowd").set(leechers=8, file_size="1 MB")


def bare(result: xr.Dataset) -> xr.Dataset:
    """Return a result without its CPU time."""
    return result.assign_attrs(cpu_s=0.0)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "kept.zarr"
    btflow.sweep(tiny(), RTT, replicas=2, keep="swarms", out=path, progress=False)
    return path


@pytest.mark.parametrize("fidelity", ["full", "flow"])
@pytest.mark.parametrize(("scenario", "vary"), [(tiny, RTT), (links, {"utp_share": ["0%", "50%"]})])
def test_what_was_kept_is_what_simulate_gives(
    tmp_path: Path, fidelity: Fidelity, scenario: Any, vary: dict[Any, Any]
) -> None:
    path = tmp_path / "kept.zarr"
    sweep = btflow.sweep(
        scenario(), vary, replicas=2, keep="swarms,series", fidelity=fidelity, out=path, progress=False
    )
    ((name, values),) = vary.items()
    for seed, value in zip(sweep["seed"].values, values, strict=True):
        point = scenario().set(**{name: value})
        kept, anew = open_swarms(path, point), simulate(point, seed=int(seed), replicas=2, fidelity=fidelity)
        xr.testing.assert_identical(bare(kept), bare(anew))
        assert {n: v.dtype for n, v in kept.variables.items()} == {n: v.dtype for n, v in anew.variables.items()}
        whole = sweep["cpu_s"].sel({name: sweep[name][values.index(value)]}).mean()
        assert 0.0 < kept.attrs["cpu_s"] < whole  # of the run alone, as simulate has it
        xr.testing.assert_equal(
            open_swarms(path, point, replicas=1), simulate(point, seed=int(seed), fidelity=fidelity)
        )


def test_processes_and_checked_points_keep_them_too(tmp_path: Path) -> None:
    path = tmp_path / "kept.zarr"
    common: Any = {"keep": "swarms", "progress": False, "jobs": 2, "backend": "processes"}
    btflow.sweep(tiny(), RTT, fidelity="flow", check=1, out=path, seed=3, common=True, **common)
    kept = open_swarms(path, tiny().set(rtt="0 ms"))  # in flow, though this point was run in full as well
    xr.testing.assert_identical(bare(kept), bare(simulate(tiny().set(rtt="0 ms"), seed=3, fidelity="flow")))
    (rtt,) = open_sweep(path)["check_rtt"].values
    point = tiny().set(rtt=f"{1000 * rtt:g} ms")
    checked = open_swarms(path, point, fidelity="full")
    xr.testing.assert_identical(bare(checked), bare(simulate(point, seed=3)))


def test_points_with_one_scenario_are_told_apart_by_their_seed(tmp_path: Path) -> None:
    path = tmp_path / "kept.zarr"
    btflow.sweep(tiny(), {"seed": [5, 6]}, keep=["swarms"], out=path, progress=False)
    with pytest.raises(InputError, match="seed: is missing: several points have this scenario; allowed: 5, 6"):
        open_swarms(path, tiny())
    with pytest.raises(InputError, match=r"seed = 7: .* allowed: 5, 6"):
        open_swarms(path, tiny(), seed=7)
    xr.testing.assert_identical(bare(open_swarms(path, tiny(), seed=6)), bare(simulate(tiny(), seed=6)))


def test_replicas_that_failed_are_left_out(tmp_path: Path) -> None:
    """At this horizon some of the swarms are done and others are not."""
    path = tmp_path / "kept.zarr"
    horizons: dict[Any, Any] = {"horizon": [f"{t} s" for t in range(60, 76, 4)]}
    sweep = btflow.sweep(tiny(), horizons, replicas=6, keep="swarms", common=True, out=path, progress=False)
    done = sweep["status"].values == 1
    number = int(np.flatnonzero((done.sum(axis=1) > 0) & (done.sum(axis=1) < 6))[0])
    kept = open_swarms(path, tiny().set(horizon=horizons["horizon"][number]))
    assert kept["replica"].values.tolist() == np.flatnonzero(done[number]).tolist()
    assert kept["replica"].attrs["long_name"] == "number of the replica"
    times = kept["completion_time"].isel(peer=slice(1, None)).mean("peer").values
    np.testing.assert_allclose(times, sweep["completion_mean"].values[number][done[number]])


def test_a_swarm_that_is_damaged_is_told(store: Path) -> None:
    with sqlite3.connect(store / FILE) as database:
        database.execute("UPDATE swarms SET content = CAST(SUBSTR(content, 2) AS BLOB) WHERE unit = 1")
    with pytest.raises(InputError, match=r"is damaged: a swarm of sweep.sqlite .* allowed: a copy of the store"):
        open_swarms(store, tiny().set(rtt="0 ms"))


def test_what_is_wrong_is_said(store: Path, tmp_path: Path) -> None:
    point: Any = tiny().set(rtt="0 ms")
    for path, why in (
        (None, "is not a path"),
        (tmp_path / "no.zarr", "does not exist"),
        (tmp_path, "is not the store"),
        ("x" * 5000, "does not exist"),
    ):
        with pytest.raises(InputError, match=f"path.*: {why}"):
            open_swarms(path, point)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="scenario = 'rao2010': is not the scenario of a swarm"):
        open_swarms(store, "rao2010")  # type: ignore[arg-type]
    for other, why in (
        (point.set(rtt="51 ms"), "; allowed: the sweep's, with rtt as at a point"),
        (point.set(leechers=4), r"\(leechers is 4 here, 3 there\)"),
        (links(), r"\(the model is flashcrowd here, rao2010 there\)"),
    ):
        with pytest.raises(InputError, match=f"scenario = .*: is that of no swarm that was kept in full.*{why}"):
            open_swarms(store, other)
    btflow.sweep(tiny(), RTT, out=tmp_path / "without.zarr", progress=False)
    for wrong in ({"seed": -1}, {"seed": True}, {"replicas": 0}, {"fidelity": "half"}):
        with pytest.raises(InputError, match=f"{next(iter(wrong))} = "):
            open_swarms(store, point, **wrong)
    with pytest.raises(InputError, match="is that of no swarm that was kept in flow"):
        open_swarms(store, point, fidelity="flow")
    with pytest.raises(InputError, match="has kept no swarms; allowed: the store that a sweep with keep="):
        open_swarms(tmp_path / "without.zarr", point)
    with pytest.raises(InputError, match="keep = 'swarms': is given without out"):
        btflow.sweep(tiny(), RTT, keep="swarms", progress=False)


def test_those_of_another_version_are_refused(store: Path) -> None:
    relabelled(store, versions=json.dumps(versions() | {"numpy": "1.0.0"}))
    with pytest.raises(InputError, match=r"is of another version: numpy 1\.0\.0 there"):
        open_swarms(store, tiny().set(rtt="0 ms"))
