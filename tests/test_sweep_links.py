"""Sweeps of link experiments: a point is ``simulate_link`` to the last bit, resumed or not; what is wrong is said."""

from __future__ import annotations

import csv
import json
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from sweep_made import bits, read, small_tasks, sweep_args, tiny

import btflow
from btflow import InputError, analysis, cli, load_link, plots, schema, simulate_link, sweep
from btflow.link.build import build, state_bytes
from btflow.link.program import compile_link
from btflow.link.scenario import LinkScenario
from btflow.sweeps import api, work
from btflow.sweeps.parts import Part
from btflow.sweeps.plan import Plan
from btflow.sweeps.running import Running
from btflow.sweeps.store import Store
from btflow.sweeps.table import declaration
from btflow.sweeps.versions import digest

Vary = dict[str | tuple[str, ...], object]

QUEUE_FIGURES = {"utilisation": "utilisation", "delay_mean": "queue_mean_delay", "packets_mean": "queue_mean_packets"}
"""Figures of queues that are variables of a single run, by their names there."""

FLOW_FIGURES = {"goodput": "goodput", "rtt_mean": "rtt_mean", "timeouts": "timeouts", "window_falls": "window_falls"}
"""Figures of a group of one flow that are variables of a single run, by their names there."""


def short(model: str = "coexistence", **values: object) -> LinkScenario:
    """Return an experiment of about a millisecond."""
    return load_link(model).set(**{"duration": "10 s", "warmup": "1 s", **values})


def same(found: object, expected: object) -> bool:
    """Return whether numbers are equal to the last bit, or both NaN."""
    return np.array_equal(np.asarray(found, float), np.asarray(expected, float), equal_nan=True)


def members(run: xr.Dataset, group: str) -> list[int]:
    """Return which flows of a single run belong to a group, by their names."""
    return [i for i, name in enumerate(run["flow"].values) if name == group or str(name).startswith(f"{group}-")]


def check_point(at: xr.Dataset, run: xr.Dataset, counted: int) -> None:
    """Compare a swept experiment with the single run of its scenario and seed, in the plainest way."""
    assert int(at.status) == 1
    goodput = run.goodput.values[:counted]
    assert same(at.goodput, goodput.sum())
    assert float(at.jain_index) == pytest.approx(goodput.sum() ** 2 / (len(goodput) * (goodput**2).sum()), rel=1e-12)
    assert same(at.retransmitted_share, run.resent[:counted].sum() / run.sent[:counted].sum())
    for name in at["queue"].values:
        at_queue = at.sel(queue=name)
        if name not in run["queue"].values:
            assert np.isnan(float(at_queue.queue_utilisation))
            continue
        queue = run.sel(queue=name)
        for mine, own in QUEUE_FIGURES.items():
            assert same(at_queue[f"queue_{mine}"], queue[own])
        assert same(at_queue.queue_packets_p95, queue.queue_quantile.sel(quantile=0.95))
        late = np.quantile(queue.queue_delay.values[run["time"].values >= run.attrs["warmup"]], 0.95)
        assert same(at_queue.queue_delay_p95, late)
        assert same(at_queue.queue_dropped_share, queue.drops / queue.arrivals if queue.arrivals > 0 else np.nan)
        if name == run.attrs["bottleneck"]:
            for mine in ("delay_mean", "delay_p95", "packets_median", "packets_p95", "dropped_share", "utilisation"):
                assert same(at[f"bottleneck_{mine}"], at_queue[f"queue_{mine}"])
    for name in at["flow_group"].values:
        own_flows, group = members(run, str(name)), at.sel(flow_group=name)
        flows = run.isel(flow=own_flows)
        if not own_flows:
            assert all(np.isnan(float(group[n])) for n in group.data_vars if str(n).startswith("group_"))
            continue
        assert same(group.group_goodput, flows.goodput.values.sum())
        assert same(group.group_goodput_mean, flows.goodput.values.mean())
        assert same(group.group_goodput_min, flows.goodput.values.min())
        assert same(group.group_goodput_max, flows.goodput.values.max())
        assert same(group.group_rtt_mean, np.mean(flows.rtt_mean.values))
        assert same(group.group_rtt_p95, np.mean(flows.rtt_quantile.sel(quantile=0.95).values))
        each = flows.goodput.values
        fair = each.sum() ** 2 / (len(each) * (each**2).sum()) if each.any() else np.nan
        assert float(group.group_jain_index) == pytest.approx(fair, rel=1e-12, nan_ok=True)
        if len(own_flows) == 1:
            for mine, own in FLOW_FIGURES.items():
                assert same(group[f"group_{mine}"], flows[own][0])
            assert same(group.group_retransmitted_share, (flows.resent / flows.sent)[0])


@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**63 - 1),
    common=st.booleans(),
    high=st.lists(st.integers(0, 3), min_size=1, max_size=2, unique=True),
    buffer=st.lists(st.integers(5, 80), min_size=1, max_size=2, unique=True),
    cc=st.sampled_from(["cubic", "newreno", "bbr"]),
    down=st.sampled_from(["4 Mbit/s", "unlimited"]),
    loss=st.sampled_from(["0%", "2%"]),
    replicas=st.integers(1, 2),
)
def test_a_point_of_a_sweep_is_the_single_run_of_its_scenario_and_seed(
    seed: int, common: bool, high: list[int], buffer: list[int], cc: str, down: str, loss: str, replicas: int
) -> None:
    base = short(**{"paths.loss": loss})
    vary: Vary = {
        "high": high,
        "buffer": [f"{n} packets" for n in buffer],
        "flows.high.cc": [cc],
        "access.home.downlink": ['{ rate = "' + down + '"' + (', buffer = "50 packets" }' if down[0] == "4" else " }")],
    }
    found = sweep(base, vary, seed=seed, replicas=replicas, common=common, jobs=1, progress=False)
    for i, number in enumerate(high):
        for j, packets in enumerate(buffer):
            at = found.isel({"high": i, "buffer": j, "flows.high.cc": 0, "access.home.downlink": 0})
            link = at["access.home.downlink"].item()
            alone = base.set(**{"high": number, "buffer": f"{packets} packets", "flows.high.cc": cc})
            alone = alone.set(**{"access.home.downlink": link})
            assert int(at.seed) == seed or not common
            for replica in range(replicas):
                run = simulate_link(alone, seed=(int(at.seed) + replica) % 2**63)
                check_point(at.isel(replica=replica), run, run.sizes["flow"])


FILE = """
name = "mixed"
title = "Everything that a flow can be"
source = "a test"
duration = "20 s"

[access.home]
base = "adsl"

[paths]
rtt = "50 ms"

[flows.long]
cc = "cubic"
from = "home"
to = "internet"

[flows.short]
cc = "newreno"
from = "home"
to = "internet"
count = 2
size = "40 kB"

[flows.call]
codec = "g729"
from = "home"
to = "internet"

[flows.probe]
cc = "cubic"
from = "home"
to = "internet"
message = "100 B"
period = "500 ms"

[sweep]
seed = 3
set = { "flows.short.count" = 1 }
vary = { "access.home.uplink.buffer" = ["10 packets", "60 packets"], "flows.call.count" = [0, 1, 2] }
"""


def test_calls_probes_and_flows_of_a_size(tmp_path: Path) -> None:
    (tmp_path / "mixed.toml").write_text(FILE)
    model = load_link(tmp_path / "mixed.toml")
    found = sweep(model, {"flows.short.size": ["40 kB", "1 GB"]}, jobs=1, progress=False)
    assert found["flow_group"].values.tolist() == ["long", "short", "call", "probe"]
    for size in (40e3, 1e9):
        for calls in (0, 1, 2):
            at = found.isel({"replica": 0, "access.home.uplink.buffer": 1}).sel(
                {"flows.short.size": size, "flows.call.count": calls}
            )
            settings = {"flows.short.size": f"{size / 1e3:.0f} kB", "flows.call.count": calls, "flows.short.count": 1}
            run = simulate_link(model.set(**settings, **{"access.home.uplink.buffer": "60 packets"}), seed=int(at.seed))
            check_point(at, run, 2)
            call, probe, short_ = (at.sel(flow_group=name) for name in ("call", "probe", "short"))
            assert same(short_.group_finish_max, run.finish[1])
            assert same(at.finish_max, run.finish[1])
            assert np.isnan(float(short_.group_finish_mean)) == (size == 1e9)
            assert same(probe.group_delay_mean, run.probe_delay_mean[0])
            assert same(probe.group_delay_p95, run.probe_delay_quantile.sel(quantile=0.95)[0])
            assert same(probe.group_delivered_share, (run.probe_delivered / run.probe_sent)[0])
            assert np.isnan(float(probe.group_share))
            assert same(at.mos, run.voip_mos.values.mean() if calls else np.nan)
            if calls:
                assert same(call.group_mos, run.voip_mos.values.mean())
                assert same(call.group_voice_loss, run.voip_loss.values.mean())
                assert same(call.group_jitter, run.voip_jitter.values.mean())
                assert same(call.group_delay_mean, run.voip_delay_mean.values.mean())
            assert np.isnan(float(short_.group_mos))
            assert float(at.group_share.sum()) == pytest.approx(1.0)


def test_the_schema_of_link_models_knows_sweeps() -> None:
    validator = pytest.importorskip("jsonschema").Draft202012Validator(schema("link"))
    tree = tomllib.loads(FILE)
    assert not list(validator.iter_errors(tree))
    tree["sweep"]["replicas"] = "many"
    assert list(validator.iter_errors(tree))


def planned(scenario: LinkScenario | None = None, **said: Any) -> Plan:
    """Return a sweep of 24 short experiments, declared."""
    scenario = scenario or short()
    vary: Vary = {"buffer": ["10 packets", "40 packets"], "low_cc": ["ledbat", "utp"], "high": [0, 1, 2]}
    given = declaration(said.pop("vary", vary), {}, "vary", **{"replicas": 2, **said})
    return api.declare(scenario.document, scenario.given, given)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    """Return the dataset of the sweep run by one thread without a break."""
    path = tmp_path_factory.mktemp("whole") / "a.zarr"
    assert api.execute(planned(), path, Running(jobs=1)) == (24, 0)
    return bits(read(path))


@pytest.mark.parametrize("backend", ["threads", "processes", "dask"])
def test_an_interrupted_sweep_resumes_to_the_same_bits(
    backend: str, whole: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_tasks(monkeypatch)
    path, made, keep = tmp_path / "a.zarr", planned(), Store.add
    kept: list[Part] = []

    def interrupted(self: Store, part: Part) -> None:
        keep(self, part)
        kept.append(part)
        if len(kept) == 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Store, "add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        api.execute(made, path, Running(jobs=1, backend="threads"))
    monkeypatch.undo()
    found = read(path)
    done = found.status == 1
    assert 0 < int(done.sum()) < 24
    assert bits(found).where(done).identical(whole.where(done).assign_attrs(found.attrs))
    if backend == "dask":
        distributed = pytest.importorskip("distributed")
        with (
            distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster,
            distributed.Client(cluster, set_as_default=False) as client,
        ):
            assert api.execute(made, path, Running(client=client), resume=True) == (24, 0)
    else:
        assert api.execute(made, path, Running(jobs=2, backend=backend), resume=True) == (24, 0)
    assert bits(read(path)).identical(whole)


def test_a_sample_has_points_that_are_single_runs_too() -> None:
    vary: Vary = {"buffer": "5 packets,30 packets", "rtt": "lin(10 ms, 90 ms)", "flows.high.start": "lin(0 s, 2 s)"}
    found = sweep(short(), vary, sample="sobol:4", seed=9, jobs=2, progress=False)
    for number in range(4):
        at = found.isel(sample=number, replica=0)
        assert 0.01 <= float(at.rtt) <= 0.09
        values = {n: f"{float(at[n])!r} s" for n in ("rtt", "flows.high.start")} | {"buffer": at.buffer.item()}
        check_point(at, simulate_link(short(**values), seed=int(at.seed)), 2)


def test_a_point_whose_values_do_not_go_together_fails_and_the_others_run() -> None:
    found = sweep(short(), {"high": [0, 1], "low": [0, 1]}, jobs=1, progress=False)
    assert found.status.values.squeeze().tolist() == [[2, 1], [1, 1]]
    assert "flows" in str(found.failure.values[0, 0, 0])


def test_a_point_that_needs_too_much_memory_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    room = state_bytes(compile_link(short()))
    monkeypatch.setattr("btflow.memory.available", lambda: room)
    found = sweep(short(), {"high": [1, 50]}, jobs=1, progress=False)
    assert found.status.values.tolist() == [[1], [2]]
    assert "GB of memory" in str(found.failure.values[1, 0])


def test_an_experiment_is_given_up_when_the_sweep_is_to_end() -> None:
    made = planned(short(duration="86400 s", rate="100 Mbit/s", buffer="1000 packets"), vary={"high": [4]})
    looks: list[float] = []

    def stopping() -> bool:
        looks.append(time.monotonic())
        return len(looks) > 3

    found = work.run(made.job, made.task(0, 1), stopping)
    assert found.count == 0
    assert len(looks) == 4
    assert max(np.diff([*looks, time.monotonic()])) < 1.0


@pytest.mark.parametrize("model", ["bufferbloat", "geni", "opnet2009"])
def test_the_memory_of_an_experiment_is_known_before_it_is_made(model: str) -> None:
    program = compile_link(load_link(model))
    state = build(program, 0)
    own = {"rules", "rng"}
    assert state_bytes(program) == sum(a.nbytes for name, a in state._asdict().items() if name not in own)


@pytest.mark.parametrize(
    ("vary", "said", "text"),
    [
        ({"bufer": ["5 packets"]}, {}, "did you mean buffer"),
        ({"flows.hihg.cc": ["cubic"]}, {}, "did you mean high"),
        ({"flows.0.cc": ["cubic"]}, {}, "flows has no '0'"),
        ({"rtt": ["5 kB"]}, {}, "rtt = '5 kB'"),
        ({"rtt": [5]}, {}, "rtt = 5"),
        ({"flows.high.cc": ["cubik"]}, {}, "cubic"),
        ({"high": "lin(0, 5000, 3)"}, {}, "5000"),
        ({"low_cc": "lin(1, 2, 3)"}, {}, "range of numbers"),
        ({"goodput": [1]}, {}, "goodput"),
        ({"sample": ["5 ms"]}, {}, "vary = 'sample': cannot be varied"),
        ({"rtt": ["5 ms"]}, {"keep": ["peers"]}, "is of swarms: link experiments do not have it"),
        ({"rtt": ["5 ms"]}, {"keep": "series"}, "is of swarms: link experiments do not have it"),
        ({"rtt": ["5 ms"]}, {"keep": "flows"}, "cannot be kept"),
        ({}, {}, "nothing is varied"),
    ],
)
def test_what_is_wrong_is_said_before_any_work(
    vary: Vary, said: dict[str, Any], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "execute", lambda *_, **__: pytest.fail("it was run"))
    with pytest.raises(InputError) as error:
        sweep(short(), vary, out=tmp_path / "a.zarr", progress=False, **said)
    assert text in str(error.value)
    assert not list(tmp_path.iterdir())


def test_a_parameter_that_has_the_name_of_a_figure_cannot_be_varied(tmp_path: Path) -> None:
    parameter = '[parameters.goodput]\nkind = "time"\nmeaning = "x"\nsets = ["paths.rtt"]\n'
    (tmp_path / "a.toml").write_text(FILE.replace("[sweep]", f"{parameter}\n[sweep]"))
    with pytest.raises(InputError, match="has something else of this name"):
        sweep(load_link(tmp_path / "a.toml"), {"goodput": ["5 ms"]}, progress=False)


def test_the_store_of_another_sweep_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    sweep(short(), {"high": [1]}, out=path, jobs=1, progress=False)
    before = read(path)
    for other, text in (
        (short(rtt="60 ms"), "another scenario"),
        (short("bufferbloat"), "model coexistence there, bufferbloat here"),
        (tiny(), "model coexistence there, rao2010 here"),
    ):
        vary: Vary = {"uploads": [1]} if "uploads" in other.parameters else {"high": [1]}
        vary = {"leechers": [2]} if "leechers" in other.parameters else vary
        with pytest.raises(InputError, match="was made by another sweep") as error:
            sweep(other, vary, out=path, resume=True, jobs=1, progress=False)
        assert text in str(error.value)
    assert read(path).identical(before)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Any]:
    """Return a function that runs the command line in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def invoke(*args: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["btflow", *args])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        captured = capsys.readouterr()
        return int(exit_.value.code or 0), captured.out, captured.err

    return invoke


def test_the_program_sweeps_and_exports_links(run: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "mixed.toml").write_text(FILE)
    code, out, err = run("sweep", "mixed.toml", "--out", "a.zarr", "--jobs", "1")
    assert (code, out) == (0, "a.zarr: 6 of 6 experiments done, 0 failed\n")
    assert "swarm" not in err
    code, out, _ = run("sweep", "mixed.toml", "--out", "a.zarr", "--resume", "--json")
    assert json.loads(out) == {"out": "a.zarr", "experiments": 6, "done": 6, "failed": 0, "reasons": {}}
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


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (("latecomer", "--vary", "rtt=5 kB"), "rtt = '5 kB'"),
        (("latecomer", "--vary", "rtt=5ms", "--keep", "peers"), "--keep = 'peers': is of swarms"),
        (("latecomer", "--vary", "sample=5ms"), "--vary = 'sample': cannot be varied"),
        (("latecommer", "--vary", "rtt=5ms"), "did you mean latecomer"),
        (("none.toml", "--vary", "rtt=5ms"), "no such file"),
        (("adsl", "--vary", "rtt=5ms"), "model = 'adsl'"),
    ],
)
def test_the_program_says_what_is_wrong(run: Callable[..., Any], args: tuple[str, ...], text: str) -> None:
    code, out, err = run("sweep", *args, "--out", "a.zarr")
    assert (code, out, text in err) == (2, "", True)
    assert not Path("a.zarr").exists()


def test_swarms_are_still_swept_by_name(run: Callable[..., Any]) -> None:
    assert run(*sweep_args(Path("a.zarr"), "--jobs", "1"))[:2] == (0, "a.zarr: 4 of 4 swarms done, 0 failed\n")


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


LOADED = """
import sys
from pathlib import Path
import btflow
from btflow.sweeps import work
from btflow.sweeps.kind import kind_of
from btflow.link.scenario import LinkScenario
scenario, kind = btflow.load_link("bufferbloat").set(duration="5 s"), kind_of(LinkScenario)
program = kind.compile(scenario)
figures = kind.figures(scenario, program)
state = kind.collect(program, kind.run(program, 1, 0, lambda: None))
figures.of(kind.common(scenario, program, figures), state)
root = Path(btflow.__file__).parent
files = {m.__file__ for n, m in sys.modules.items() if n.split(".")[0] == "btflow" and getattr(m, "__file__", None)}
print(*sorted(Path(f).relative_to(root) for f in files if Path(f).is_relative_to(root)), sep="\\n")
"""


def test_all_code_that_makes_a_links_figures_is_in_the_digest(tmp_path: Path) -> None:
    """But for closed forms, which are imported with the checks of arguments that they share with voice calls."""
    done = subprocess.run([sys.executable, "-P", "-c", LOADED], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {"link/voip.py", "link/results.py", "analytic/checks.py", "sweeps/links.py"} <= loaded
    copied, models = tmp_path / "btflow", tmp_path / "models"
    models.mkdir()
    root = Path(btflow.__file__).parent
    for name in loaded:
        (copied / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, copied / name)
    before = digest(copied, models)
    for name in loaded:
        whole_ = (copied / name).read_text()
        (copied / name).write_text(whole_ + "\n# edited")
        closed_form = name.startswith("analytic/") and name != "analytic/checks.py"
        assert (digest(copied, models) == before) == closed_form, name
        (copied / name).write_text(whole_)
