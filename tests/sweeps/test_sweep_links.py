"""Sweeps of link experiments: resumed to the same bits; what is wrong is said."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from program import Run
from sweep_links_made import FILE, Vary, check_point, planned, short
from sweep_made import bits, read

from btflow import InputError, analysis, load_link, plots, simulate_link, sweep
from btflow.link.program import compile_link
from btflow.link.state import build, state_bytes
from btflow.sweeps import api, runs
from btflow.sweeps.running import Running


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    """Return the dataset of the sweep run by one thread without a break."""
    path = tmp_path_factory.mktemp("whole") / "a.zarr"
    assert api.execute(planned(), path, Running(jobs=1)) == (24, 0)
    return bits(read(path))


def test_a_sample_has_points_that_are_single_runs_too() -> None:
    vary: Vary = {"buffer": "5 packets,30 packets", "rtt": "lin(10 ms, 90 ms)", "flows.high.start": "lin(0 s, 2 s)"}
    found = sweep(short(), vary, sample="sobol:4", seed=9, jobs=2, progress=False)
    for number in range(4):
        at = found.isel(sample=number, replica=0)
        assert 0.01 <= float(at.rtt) <= 0.09
        values = {n: f"{float(at[n])!r} s" for n in ("rtt", "flows.high.start")} | {"buffer": at.buffer.item()}
        check_point(at, simulate_link(short(**values), seed=int(at.seed)), 2)


def test_a_point_that_needs_too_much_memory_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    room = state_bytes(compile_link(short()))
    monkeypatch.setattr("btflow.memory.available", lambda: room)
    found = sweep(short(), {"high": [1, 50]}, jobs=1, progress=False)
    assert found.status.values.tolist() == [[1], [2]]
    assert "GB of memory" in str(found.failure.values[1, 0])


def test_an_experiment_is_given_up_when_the_sweep_is_to_end() -> None:
    made = planned(short(duration="86400 s", rate="100 Mbit/s", buffer="1000 packets"), vary={"high": [4]})
    looks = iter([False, False, False, True])  # a fifth would raise StopIteration
    found = runs.run(made.job, made.task(0, 1), lambda: next(looks))
    assert found.count == 0
    assert list(looks) == []


@pytest.mark.parametrize("model", ["bufferbloat", "geni", "opnet2009"])
def test_the_memory_of_an_experiment_is_known_before_it_is_made(model: str) -> None:
    program = compile_link(load_link(model))
    state = build(program, 0)
    own = {"rules", "rng"}
    assert state_bytes(program) == sum(a.nbytes for name, a in state._asdict().items() if name not in own)


def test_a_parameter_that_has_the_name_of_a_figure_cannot_be_varied(tmp_path: Path) -> None:
    parameter = '[parameters.goodput]\nkind = "time"\nmeaning = "x"\nsets = ["paths.rtt"]\n'
    (tmp_path / "a.toml").write_text(FILE.replace("[sweep]", f"{parameter}\n[sweep]"))
    with pytest.raises(InputError, match="has something else of this name"):
        sweep(load_link(tmp_path / "a.toml"), {"goodput": ["5 ms"]}, progress=False)


def test_the_program_sweeps_and_exports_links(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mixed.toml").write_text(FILE)
    code, out, err = run("sweep", "mixed.toml", "--out", "a.zarr", "--jobs", "1")
    assert (code, out) == (0, "a.zarr: 6 of 6 experiments done, 0 failed\n")
    assert "swarm" not in err
    code, out, _ = run("sweep", "mixed.toml", "--out", "a.zarr", "--resume", "--json")
    assert json.loads(out) == {"format": 1, "out": "a.zarr", "experiments": 6, "done": 6, "failed": 0, "reasons": {}}
    assert run("export", "a.zarr", "a.csv") == (0, "6 rows in a.csv\n", "")
    found = read(Path("a.zarr"))
    with open("a.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["group_goodput[long] [B/s]"]) for row in rows] == found.group_goodput.sel(
        flow_group="long"
    ).values.ravel().tolist()
    queue = found.queue_delay_p95.sel(queue="home.uplink").values.ravel()
    assert [float(row["queue_delay_p95[home.uplink] [s]"]) for row in rows] == queue.tolist()
    assert [row["group_mos[call]"] == "" for row in rows] == [row["flows.call.count"] == "0" for row in rows]
    code, _, err = run("export", "a.zarr", "b.csv", "--peers")
    assert (code, "was not kept" in err) == (2, True)


def test_units_meanings_and_coordinates(whole: xr.Dataset) -> None:
    assert whole.attrs["runs"] == "experiments"
    for name, array in whole.variables.items():
        assert array.attrs["long_name"], name
        assert "units" in array.attrs or array.dtype.kind == "T", name
    assert whole.seed.attrs["long_name"].startswith("seed of the point's replica 0, replica r has it plus r;")
    assert whole.group_goodput.attrs["units"] == "B/s"
    assert whole.queue_packets_p95.attrs["units"] == "packets"
    assert whole["flow_group"].values.tolist() == ["high", "low"]
    assert whole["queue"].values.tolist() == ["home.uplink", "home.downlink"]


def test_analysis_and_figures_work_on_links(whole: xr.Dataset) -> None:
    found = analysis.response(whole, "bottleneck_utilisation", "buffer", resamples=100)
    expected = whole.bottleneck_utilisation.mean(("low_cc", "high", "replica"))
    np.testing.assert_allclose(found["mean"].values, expected.values)
    drawn = plots.heat_map(whole, "goodput", "high", "buffer")
    assert drawn.layout.title.subtitle.text.startswith("coexistence, 12 points × 2 replicas")
    alone = plots.heat_map(whole.isel(replica=[0]), "goodput", "high", "buffer")
    assert alone.layout.title.subtitle.text.startswith("coexistence, 12 experiments")
    with pytest.raises(InputError, match="has a value for each flow_group"):
        analysis.response(whole, "group_goodput", "high")
    some = analysis.response(whole.sel(flow_group="high"), "group_goodput", "high", resamples=100)
    assert np.isnan(some["mean"].values[0])
    assert some["missing"].attrs["long_name"] == "experiments without a value"
