"""Sweeps in flow that are checked: which points run in full besides, and that all a sweep promises holds for them."""

from __future__ import annotations

import csv
import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, strategies as st
from no_clock import calls
from numpy.typing import NDArray
from program import Run
from sweep_made import VARY, bits, breaking_off, planned, read, small_tasks, start, sweep_args, tiny
from sweep_stopped import CODES, LONG, kept, stopped, wait_for_a_part

from btflow import InputError, analysis, sweep
from btflow.options import Fidelity
from btflow.swarm.program import Program
from btflow.swarm.replica import Replica
from btflow.swarm.run import simulate
from btflow.swarm.scenario import Scenario
from btflow.sweeps import api
from btflow.sweeps.design import Design
from btflow.sweeps.plan import Plan
from btflow.sweeps.precheck import CANDIDATES, checked_points, scout
from btflow.sweeps.running import Running
from btflow.sweeps.swarm_figures import Peers, Statistics, Swarms

CHECK = 5
REPLICAS = 3
UNITS = 12 * REPLICAS + CHECK

Vary = dict[str | tuple[str, ...], object]


def checking(**said: Any) -> Plan:
    """Return the sweep of twelve points in flow, of which five are checked."""
    return planned(**{"fidelity": "flow", "check": CHECK, "replicas": REPLICAS, **said})


@pytest.fixture(scope="module", autouse=True)
def small_chunks() -> Iterator[None]:
    """Write the design in chunks of one point, and what is run in full in two."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("btflow.sweeps.dataset.CHUNK_RUNS", REPLICAS)
        yield


@pytest.fixture(scope="module")
def whole_store(small_chunks: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the store of the sweep, run by one thread without a break."""
    assert small_chunks is None
    path = tmp_path_factory.mktemp("whole") / "a.zarr"
    assert api.execute(checking(), path, Running(jobs=1)) == (UNITS, 0)
    return path


@pytest.fixture(scope="module")
def whole(whole_store: Path) -> xr.Dataset:
    return bits(read(whole_store))


def grid_of(shape: tuple[int, ...]) -> Design:
    """Return what the choice of points asks a grid for."""

    def places(points: NDArray[np.int64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = (np.column_stack(np.unravel_index(points, shape)) + 0.5) / np.array(shape)
        return found

    return cast(Design, SimpleNamespace(shape=shape, places=places))


@given(st.data())
def test_checked_points_are_spread_over_every_dimension(data: st.DataObject) -> None:
    """Each once; every value of a dimension is among them as soon as there are as many points, and none too often."""
    shape = tuple(data.draw(st.lists(st.integers(1, 8), min_size=1, max_size=4)))
    total = int(np.prod(shape))
    number = data.draw(st.integers(1, total))
    found = checked_points(grid_of(shape), number)
    assert len(set(found)) == number
    assert list(found) == sorted(found)
    assert 0 <= found[0] <= found[-1] < total
    for index, length in zip(np.unravel_index(np.array(found), shape), shape, strict=True):
        times = np.bincount(index, minlength=length)
        assert times.max() <= 2 * -(-number // length)
        assert times.min() >= (number >= length)


@pytest.mark.parametrize("number", [7, CANDIDATES // 2])
def test_points_of_a_huge_grid_are_spread_at_once(number: int) -> None:
    shape = (1000, 50, 200)
    with calls(100_000):  # of ten million points
        found = np.array(checked_points(grid_of(shape), number))
    assert len(np.unique(found)) == number
    for index, length in zip(np.unravel_index(found, shape), shape, strict=True):
        halves = (index < length // 2).sum()
        assert abs(halves - number / 2) <= max(1.0, 0.02 * number)


@pytest.mark.parametrize("sample", ["lhs:40", "random:40", "sobol:32", "saltelli:8"])
def test_checked_points_of_a_sample_have_each_part_of_its_values(sample: str) -> None:
    """Numbers in thirds, words one by one: of nine points about three have each."""
    vary: Vary = {"rtt": "uniform(0 ms, 1 s)", "upload_limit": "log(10 kB/s, 1 MB/s)", "tso": "false,true"}
    made = checking(vary=vary, sample=sample, check=9)
    columns = {c.name: c.values for c in made.design.coordinates()}
    chosen = np.array(made.checked)
    for name in ("rtt", "upload_limit"):
        ranks = columns[name].argsort().argsort()[chosen] * 3 // len(columns[name])
        assert np.bincount(ranks, minlength=3).min() >= 1
    assert 3 <= columns["tso"][chosen].sum() <= 6


def test_the_store_has_both_fidelities_of_the_checked_points(whole: xr.Dataset) -> None:
    """Each is, to the bit, what a sweep in that fidelity alone finds; of full the first replica, as of ``simulate``."""
    full, flow = (sweep(tiny(), VARY, replicas=REPLICAS, fidelity=f, progress=False) for f in ("full", "flow"))
    names = [str(name).removeprefix("full_") for name in whole.data_vars if str(name).startswith("full_")]
    assert {"completion_mean", "class_completion_mean", "status"} <= set(names)
    for name in names:
        assert np.array_equal(flow[name].values, whole[name].values, equal_nan=True), name
    for row in range(CHECK):
        at = {name: whole[f"check_{name}"].values[row] for name in ("rtt", "upload_limit", "leechers")}
        for name in names:
            found = whole[f"full_{name}"].isel(check=row).values
            assert np.array_equal(full[name].sel(at).isel(replica=0).values, found, equal_nan=True), name
        assert int(whole["check_seed"][row]) == int(whole["seed"].sel(at))
    assert (whole["full_status"] == 1).all()
    assert (whole["full_failure"] == "").all()
    scenario = tiny().set(rtt=f"{at['rtt']} s", upload_limit=f"{int(at['upload_limit'])} B/s", leechers=at["leechers"])
    alone = simulate(scenario, seed=int(whole["check_seed"][-1]), replicas=1)
    times = alone["completion_time"].where(alone["role"] == "leecher").mean("peer")
    assert np.allclose(whole["full_completion_mean"].isel(check=-1), times, rtol=1e-12)


def test_what_is_kept_of_each_swarm_is_kept_in_full_too() -> None:
    found = sweep(
        tiny(), {"leechers": [2, 4]}, fidelity="flow", check=1, keep=("peers", "series"), progress=False, jobs=1
    )
    assert found["full_peer_completion_time"].dims == ("check", "peer")
    assert found["full_pieces_held"].dims == ("check", "step")
    times = found["full_peer_completion_time"].isel(check=0).values
    assert np.isfinite(times[1 : 1 + int(found["check_leechers"][0])]).all()
    assert np.isfinite(found["full_pieces_held"].values).any()


@pytest.mark.parametrize(
    ("vary", "sample"),
    [
        ({("rtt", "loss"): [("0 ms", 0.0), ("50 ms", 0.01), ("90 ms", 0.0)], "tso": "false,true"}, None),
        ({"rtt": "uniform(0 ms, 50 ms)", "leechers": "choice(2, 3)"}, "lhs:6"),
        ({"rtt": "uniform(0 ms, 50 ms)", "leechers": "choice(2, 3)"}, "saltelli:2"),
    ],
)
def test_every_design_can_be_checked(vary: Vary, sample: str | None) -> None:
    """Where all points are, the difference is of each pair, whatever names, words and dimensions tell the points."""
    points = {None: 6, "lhs:6": 6, "saltelli:2": 8}[sample]
    found = sweep(tiny(), vary, sample=sample, fidelity="flow", check=points, progress=False, jobs=1)
    assert found["check"].values.tolist() == list(range(points))
    full, flow = (found[f"{prefix}completion_mean"].values.ravel() for prefix in ("full_", ""))
    error = analysis.flow_error(found, ["completion_mean"])
    assert int(error["points"][0]) == points
    assert float(error["bias"][0]) == pytest.approx((flow / full - 1).mean(), rel=1e-12)


@pytest.mark.parametrize("after", [1, 3, 8])
def test_a_check_whose_writing_broke_off_goes_on(
    after: int, whole: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a full disk: in the midst of either block."""
    small_tasks(monkeypatch)
    path, made = tmp_path / "a.zarr", checking()
    with breaking_off(after):
        api.execute(made, path, Running(jobs=1))
    assert api.execute(made, path, Running(jobs=1), resume=True) == (UNITS, 0)
    assert bits(read(path)).identical(whole)


def test_each_array_belongs_to_the_block_whose_swarms_it_is_of(whole: xr.Dataset) -> None:
    full = {str(name) for name in whole.variables if str(name).startswith("full_")}
    of_design = {str(name) for name, array in whole.variables.items() if "replica" in array.dims} - {"replica"}
    assert {name.removeprefix("full_") for name in full} == of_design
    assert all(whole[name].dims[0] == "check" for name in full)


def test_swarms_that_fail_in_full_are_recorded_and_can_run_again(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    made = checking(vary={"leechers": [0, 3], "rtt": ["0 ms", "50 ms"]}, check=4)
    assert api.execute(made, path, Running(jobs=1)) == (8, 8)
    found = read(path)
    assert found.full_status.values.tolist() == [2, 2, 1, 1]
    assert all("leechers" in text for text in found.full_failure.values[:2])
    assert np.isnan(found.full_completion_mean.values[:2]).all()
    assert api.execute(made, path, Running(jobs=1, retry_failed=True), resume=True) == (8, 8)
    assert bits(read(path)).identical(bits(found))
    assert int(analysis.flow_error(found, ["completion_mean"])["points"][0]) == 2


def test_both_kernels_are_loaded_and_both_memories_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = {"full": 3000, "flow": 1000}
    monkeypatch.setattr("btflow.sweeps.swarm_figures.Swarms.bytes", lambda _, program: needs[program.fidelity])
    checked, alone = scout(checking()), scout(checking(check=None))
    assert {program.fidelity for program in checked.programs} == {"full", "flow"}
    assert [program.fidelity for program in alone.programs] == ["flow"]
    assert (checked.bytes, alone.bytes) == (3000, 1000)


@pytest.mark.parametrize("name", ["check", "full_status"])
def test_a_parameter_must_not_be_called_as_the_check_is(name: str, tmp_path: Path) -> None:
    source = (Path(__file__).parents[2] / "models" / "swarms" / "rao2010.toml").read_text()
    (tmp_path / "my.toml").write_text(source.replace("[parameters.rtt]", f"[parameters.{name}]"))
    scenario = tiny(str(tmp_path / "my.toml"))
    with pytest.raises(InputError, match=f"vary = '{name}': cannot be varied"):
        sweep(scenario, {name: ["0 ms", "1 s"]}, fidelity="flow", check=1, progress=False)


FLOW = ("--fidelity", "flow", "--replicas", "2")


def joined(text: str) -> str:
    """Return what was printed with what goes on below itself in one line."""
    return text.replace("\n    ", " ")


def test_the_summary_has_the_error_of_each_statistic(run: Run) -> None:
    """As ``flow_error`` finds it, as text and as JSON; the store that is complete says it again."""
    args = sweep_args(Path("a.zarr"), *FLOW, "--check", "3", "--jobs", "1")
    code, out, _ = run(*args)
    assert code == 0
    first, title, *lines = joined(out).splitlines()
    assert first == "a.zarr: 11 of 11 swarms (3 of them in full, the others at flow fidelity) done, 0 failed"
    assert title == "flow against full, at 3 checked points:"
    assert [line.split(":")[0].strip() for line in lines] == list(analysis.against_full.STATISTICS)
    code, out, _ = run(*args, "--resume", "--json", "--statistics", "completion_last, completion_mean")
    assert code == 0
    said = json.loads(out)["check"]
    error = analysis.flow_error(read(Path("a.zarr")), ["completion_last", "completion_mean"])
    assert list(said["statistics"]) == ["completion_last", "completion_mean"]
    assert said["confidence"] == 0.9
    for name, row in said["statistics"].items():
        found = error.sel(statistic=name)
        assert row == {str(column): found[column].item() for column in error.data_vars}
    row = said["statistics"]["completion_mean"]
    (line,) = (line for line in lines if line.startswith("  completion_mean:"))
    names = ("bias", "bias_low", "bias_high", "spread", "effect")
    shown = re.findall(r"([+-]?[\d.]+)%(?! interval)", line)
    assert [float(number) for number in shown] == pytest.approx([100 * row[name] for name in names], rel=0.05, abs=5e-3)


def test_one_checked_point_has_no_interval(run: Run) -> None:
    code, out, _ = run(*sweep_args(Path("a.zarr"), *FLOW, "--check", "1", "--jobs", "1"))
    assert code == 0
    assert out.count("spread of one swarm unknown") == 4
    assert "interval" not in out
    code, out, _ = run(*sweep_args(Path("a.zarr"), *FLOW, "--check", "1", "--resume", "--json"))
    assert json.loads(out)["check"]["statistics"]["completion_mean"]["bias_low"] is None


@pytest.mark.parametrize(("factor", "warned"), [(1.0, False), (3.0, True)])
def test_an_error_above_the_effect_of_the_sweep_is_warned_of(
    factor: float, warned: bool, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flow three times too slow, beside an effect of about a half of the mean; or as full."""
    found, compiled, flowing = Statistics.of, Swarms.compile, [False]

    def told(_: Swarms, scenario: Scenario, fidelity: Fidelity = "full") -> Program:
        flowing[:] = [fidelity == "flow"]
        return compiled(scenario, "full")

    def slower(self: Statistics, common: Peers, row: Replica) -> NDArray[np.float64]:
        return found(self, common, row) * (factor if flowing[0] else 1.0)

    monkeypatch.setattr(Swarms, "compile", told)
    monkeypatch.setattr(Statistics, "of", slower)
    code, out, err = run(*sweep_args(Path("a.zarr"), *FLOW, "--check", "4", "--jobs", "1", "--backend", "threads"))
    assert code == 0
    said = " ".join(err.split())
    assert said.count("warning: ") == warned
    assert (
        bool(re.search(r"of flow from full may be greater than .* over the sweep: completion_mean \(\d+%\)", said))
        == warned
    )
    (line,) = (line for line in out.splitlines() if line.startswith("  completion_mean:"))
    off = "+200%" if warned else "+0.00%"
    assert f": bias {off} (90% interval {off} to {off}), spread of one swarm 0.00%" in line


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_table_has_a_row_for_each_swarm_of_either_fidelity(run: Run, whole: xr.Dataset, whole_store: Path) -> None:
    code, _, _ = run("export", str(whole_store), "a.csv")
    assert code == 0
    rows = table(Path("a.csv"))
    assert [row["fidelity"] for row in rows] == ["flow"] * 12 * REPLICAS + ["full"] * CHECK
    for number, row in enumerate(rows[12 * REPLICAS :]):
        assert float(row["completion_mean [s]"]) == float(whole["full_completion_mean"][number])
        assert float(row["rtt [s]"]) == float(whole["check_rtt"][number])
        assert int(row["seed"]) == int(whole["check_seed"][number])
        assert (row["status"], row["replica"]) == ("done", "0")
    some = whole.sel(rtt=0.05, leechers=[2, 4])
    analysis.write_table(some, "b.csv")
    part = table(Path("b.csv"))
    wanted = [row for row in rows if row["rtt [s]"] == "0.05" and row["leechers"] in ("2", "4")]
    assert sorted(row["completion_mean [s]"] for row in part) == sorted(row["completion_mean [s]"] for row in wanted)
    assert {row["fidelity"] for row in part} == {"flow", "full"}
    for replica, numbers in ((0, 12 + CHECK), ([0, 2], 24 + CHECK), (1, 12), ([1, 2], 24)):
        assert analysis.write_table(whole.isel(replica=replica), "c.csv") == numbers


@pytest.mark.slow
def test_ctrl_c_ends_swarms_that_run_in_full(tmp_path: Path) -> None:
    """The checked points come first, each a second long."""
    path = tmp_path / "a.zarr"
    process = start("sweep", "rao2010", *LONG, "--fidelity", "flow", "--check", "2", "--out", str(path))
    wait_for_a_part(process, path)
    err = stopped(process, signal.SIGINT)
    code, word = CODES[signal.SIGINT]
    assert (process.returncode, err) == (code, f"btflow: {word}: {kept(path)}")
    there = read(path)
    assert (there.full_status == 1).any()
    assert (there.status == 0).any()


def test_a_check_without_values_is_said_to_have_none(run: Run) -> None:
    """Where every swarm failed, and where one checked point did."""
    args = (*FLOW, "--jobs", "1")
    code, out, _ = run(*sweep_args(Path("a.zarr"), *args, "--check", "2", vary=("horizon=11s,12s",)))
    assert code == 1
    assert "completion_mean: bias unknown, spread of one swarm unknown, effect of the sweep unknown;" in joined(out)
    assert "values in both at 0 points" in joined(out)
    vary = ("rtt=0ms,20ms,40ms", "seed_as=none,AS1")
    code, out, _ = run(*sweep_args(Path("b.zarr"), *args, "--check", "6", vary=vary))
    assert code == 0
    assert "6 failed" not in out.splitlines()[0]
    assert joined(out).count("; values in both at 3 points") == 4
