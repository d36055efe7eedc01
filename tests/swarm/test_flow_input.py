"""What a user asks of flow fidelity that it does not have: one line each; and what its results lack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import flow_made as made
import pytest
import xarray as xr
from program import Run

import btflow
from btflow import InputError, ScenarioError, load, memory, plots, simulate
from btflow.options import FIDELITIES
from btflow.swarm.flow_limits import check_flow
from btflow.swarm.report import summary

SMALL = ("--set", "leechers=4", "--set", "file_size=300 kB")


@pytest.fixture(scope="module")
def result() -> xr.Dataset:
    return simulate(load("rao2010", leechers=5, file_size="500 kB"), fidelity="flow", replicas=2)


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no swarm be run."""

    def never(*_: Any) -> None:
        raise AssertionError("a swarm is run")

    monkeypatch.setattr(btflow.swarm.flow, "run", never)
    monkeypatch.setattr(btflow.swarm.flow, "load_kernels", never)


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize("value", [3, None, "", "fluid", "FULL", True, ("flow",), ["flow"], {"flow": 1}])
def test_python_says_what_is_no_fidelity(value: Any) -> None:
    with pytest.raises(InputError, match="is no fidelity") as caught:
        simulate(load("rao2010"), fidelity=value)
    assert caught.value.field == "fidelity"
    assert "full or flow" in str(caught.value)


@pytest.mark.usefixtures("idle")
def test_a_swarm_larger_than_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 10**9)
    with pytest.raises(ScenarioError, match=r"leechers = 100000: needs \d[\d.,]* GB of memory for 200 pieces"):
        simulate(load("rao2010", leechers=100_000), fidelity="flow")


def test_the_memory_of_a_replica_is_that_of_its_arrays() -> None:
    from btflow.swarm import flow
    from btflow.swarm.program import compile_scenario

    program = compile_scenario(load("rao2010", leechers=40, file_size="10 MB"), "flow")
    built = sum(getattr(array, "nbytes", 0) for array in flow.build(program, 1, 0))
    assert built <= flow.state_bytes(program) * 1.01 <= 1.2 * built


def test_a_result_says_its_fidelity_and_lacks_what_flow_does_not_know(result: xr.Dataset) -> None:
    assert result.attrs["fidelity"] == "flow"
    assert not {"unchokes", "limited_share"} & set(result.data_vars)
    assert "cause" not in result.dims
    full = simulate(load("rao2010", leechers=5, file_size="500 kB"))
    assert full.attrs["fidelity"] == "full"
    only_full = {"unchokes", "limited_share", "slots_seen", "slots_dry", "control_gap_count"}
    assert set(full.data_vars) - set(result.data_vars) == only_full
    assert set(result.data_vars) <= set(full.data_vars)
    for name in result.data_vars:
        assert result[name].dims == full[name].dims
        assert result[name].attrs == full[name].attrs


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_json_says_the_fidelity(run: Run, fidelity: str) -> None:
    code, out, _ = run("run", "rao2010", "--fidelity", fidelity, "--json", *SMALL)
    assert code == 0
    assert json.loads(out)["fidelity"] == fidelity


def test_full_is_what_runs_if_nothing_is_said(run: Run) -> None:
    assert json.loads(run("run", "rao2010", "--json", *SMALL)[1])["fidelity"] == "full"


def test_a_result_that_was_written_says_the_same(result: xr.Dataset, tmp_path: Path) -> None:
    result.to_netcdf(tmp_path / "flow.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "flow.nc", engine="h5netcdf") as read:
        assert summary(read) == summary(result)
        assert read.attrs["fidelity"] == "flow"


def test_plots_of_a_result_of_flow(result: xr.Dataset) -> None:
    drawn = plots.overview(result)
    assert len(drawn.data) > 0
    assert drawn.layout.title.subtitle.text.endswith("flow fidelity")
    with pytest.raises(InputError, match="does not know what held uploads back") as caught:
        plots.why_slow(result)
    assert "\n" not in str(caught.value)
    assert "fidelity full" in str(caught.value)


def test_places_of_a_matrix_that_nobody_is_at_do_not_count() -> None:
    far = {
        "AS1": {"AS1": "20 ms", "AS2": "50 ms", "AS9": "9 s"},
        "AS2": {"AS2": "20 ms", "AS9": "9 s"},
        "AS9": {"AS9": "0 s"},
    }
    paths = {"loss": 0.0, "matrix": {"name": "far", "title": "far", "source": "none", "rtt": far}}
    near = made.scenario(2, paths=paths, locations={"seed": ["AS1"], "a": ["AS1", "AS2"]})
    check_flow(near)
    with pytest.raises(ScenarioError, match=r"paths\.matrix = '9 s': is more than the 1\.5 s"):
        check_flow(made.scenario(2, paths=paths, locations={"seed": ["AS1"], "a": ["AS2", "AS9"]}))
