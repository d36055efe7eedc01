"""The store of a sweep: its rows, its arrays, what it takes back, and what it refuses."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from hypothesis import given, settings, strategies as st
from no_clock import calls
from sweep_links_made import planned as links_planned
from sweep_made import bits, breaking_off, planned, read, tiny, written

from btflow import InputError, open_sweep
from btflow.swarm.program import compile_scenario
from btflow.sweeps import api, plan as planning, runs
from btflow.sweeps.database import FILE
from btflow.sweeps.dataset import CHUNK_RUNS, GROUP, SUMS, chunks, regions
from btflow.sweeps.declare import declaration, declare
from btflow.sweeps.plan import Plan
from btflow.sweeps.results import DONE, PENDING, Part
from btflow.sweeps.running import Running
from btflow.sweeps.store import check_path, in_memory, opened

VARY: dict[str, object] = {"rtt": ["0 ms", "50 ms", "100 ms"], "upload_limit": "20 kB/s,50 kB/s"}


def plan(vary: dict[Any, object] | None = None, **said: Any) -> Plan:
    return planned(vary=vary or VARY, **{"replicas": 2, **said})


def part(sweep: Plan, units: range) -> Part:
    """Return the part of some units, run here and now."""
    return runs.run(sweep.job, sweep.task(units.start, len(units)), lambda: False, budget=60.0)


shapes = st.lists(st.integers(1, 12), min_size=1, max_size=4).map(tuple)


@given(shapes, st.integers(1, 2**24))
def test_chunks_divide_the_runs_in_order(shape: tuple[int, ...], run_bytes: int) -> None:
    everything = np.arange(int(np.prod(shape))).reshape(shape)
    found = list(regions(shape, chunks(shape, run_bytes)))
    assert [unit for region in found for unit in everything[region].ravel().tolist()] == list(range(everything.size))
    most = int(np.prod(chunks(shape, run_bytes)))
    assert max(everything[region].size for region in found) == most
    assert most * run_bytes <= 2**24 or most == 1


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=4).map(tuple))
def test_chunks_are_neither_too_large_nor_too_many(shape: tuple[int, ...]) -> None:
    found = chunks(shape, 400)
    numbers = [-(-length // chunk) for length, chunk in zip(shape, found, strict=True)]
    assert int(np.prod(found)) <= CHUNK_RUNS
    split = next((i for i, n in reversed(list(enumerate(numbers))) if n > 1), 0)
    rows = np.prod(shape[:split], dtype=float)  # each has at most one chunk that is short
    assert np.prod(numbers, dtype=float) <= 2 * np.prod(shape, dtype=float) / CHUNK_RUNS + rows


@settings(max_examples=20)
@given(st.integers(1, 12), st.integers(0, 2**31))
def test_a_part_is_the_same_after_it_was_in_the_store(sweep: Plan, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = sweep.job.shape.empty(int(rng.integers(0, 13 - count)), count)
    made.values[...] = np.where(rng.random(made.values.shape) < 0.2, np.nan, rng.normal(size=made.values.shape))
    made.cpu[:] = rng.random(count)
    made.seed[:] = rng.integers(0, 2**63 - 1, count)
    made.status[:] = rng.integers(1, 3, count)
    made.reasons[:] = [str(text) for text in rng.choice(["", "a", "nothing\u2009left"], count)]
    with in_memory(sweep) as store:
        store.add(made)
        (rows,) = store.rows(0, 11)
    assert rows.units.tolist() == list(range(made.first, made.first + count))
    assert rows.failure == made.reasons
    for mine, own in ((rows.status, made.status), (rows.cpu, made.cpu), (rows.seed, made.seed)):
        assert mine.tobytes() == own.tobytes()
    assert rows.values.tobytes() == made.values.tobytes()


@settings(max_examples=30)
@given(data=st.data())
def test_any_selection_of_what_is_read_lazily_is_that_of_the_whole(data: st.DataObject, sweep: Plan) -> None:
    """Slices, numbers and lists, with repetitions, of an array with and without more dimensions than the runs'."""
    with in_memory(sweep) as store:
        store.add(part(sweep, range(3, 9)))
        lazy = store.dataset()
        for name in ("completion_mean", "class_downloads", "status", "seed", "failure"):
            whole, key = lazy[name].load(), {}
            for dim, length in whole.sizes.items():
                number = st.integers(-length, length - 1)
                cut = st.slices(length).filter(lambda cut: (cut.step or 1) > 0)  # xarray has a fault of its own there
                key[str(dim)] = data.draw(st.one_of(number, cut, st.lists(number, max_size=4)), str(dim))
            assert store.dataset()[name].isel(key).identical(whole.isel(key))


@pytest.fixture(scope="module")
def sweep() -> Plan:
    return plan()


@pytest.fixture(scope="module")
def whole(sweep: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the store of the sweep run without a break."""
    path = tmp_path_factory.mktemp("whole") / "a.zarr"
    api.execute(sweep, path, Running(jobs=1))
    return path


def test_the_dataset_is_labelled(whole: Path, sweep: Plan) -> None:
    found = read(whole)
    assert dict(found.completion_mean.sizes) == {"rtt": 3, "upload_limit": 2, "replica": 2}
    assert dict(found.class_completion_mean.sizes) == {"rtt": 3, "upload_limit": 2, "replica": 2, "peer_class": 2}
    assert found.rtt.values.tolist() == [0.0, 0.05, 0.1]
    assert found.upload_limit.values.tolist() == [20480.0, 51200.0]
    assert (found.rtt.attrs["units"], found.upload_limit.attrs["units"]) == ("s", "B/s")
    assert found.peer_class.values.tolist() == ["seed", "leechers"]
    assert (found.status == DONE).all()
    assert all("long_name" in found[name].attrs for name in found.variables)
    assert all("units" in found[name].attrs for name in found.data_vars)
    assert [sweep.seed_of(point) for point in range(6)] == found.seed.values.ravel().tolist()
    assert found.attrs["complete"] == 1
    assert found.attrs["replicas"] == 2
    assert json.loads(found.attrs["varied"]) == {
        "rtt": ["0 ms", "50 ms", "100 ms"],
        "upload_limit": ["20 kB/s", "50 kB/s"],
    }
    assert "seed_upload_limit" not in json.loads(found.attrs["parameters"])


def test_a_complete_store_is_a_zarr_group_and_its_database(whole: Path) -> None:
    arrays = set(zarr.open_group(whole, mode="r").array_keys())
    assert arrays == set(read(whole).variables)
    assert {file.name for file in whole.iterdir()} == {*arrays, GROUP, SUMS, FILE}
    assert written(whole).identical(read(whole))


def test_the_database_gives_the_same_dataset_as_the_arrays(whole: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(whole, tmp_path / "a.zarr"))
    (path / SUMS).unlink()
    assert read(path).identical(read(whole))


def test_figures_of_swarms_that_have_not_run_are_blank(sweep: Plan, tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    with opened(path, sweep) as store:
        assert read(path).attrs["complete"] == 0
        assert list(store.pending()) == [range(12)]
        store.add(part(sweep, range(2, 5)))
        assert list(store.pending()) == [range(2), range(5, 12)]
        found = read(path)
        assert found.status.values.ravel().tolist() == [PENDING] * 2 + [DONE] * 3 + [PENDING] * 7
        assert np.isfinite(found.completion_mean.values.ravel()).tolist() == [False] * 2 + [True] * 3 + [False] * 7
        assert (found.seed.values.ravel() == -1).tolist() == [True, False, False, True, True, True]
        assert store.counts() == (3, 0)


def test_what_was_opened_stays_as_it_was_while_the_sweep_goes_on(sweep: Plan, tmp_path: Path) -> None:
    """No variable tells of a swarm that another does not know of, whenever each is read."""
    path = tmp_path / "a.zarr"
    with opened(path, sweep) as store:
        store.add(part(sweep, range(3)))
        found = open_sweep(path)
        assert (found.status != PENDING).sum() == 3
        store.add(part(sweep, range(3, 7)))
        assert np.isfinite(found.completion_mean).sum() == 3
        assert np.isfinite(open_sweep(path).completion_mean).sum() == 7


def pieces(units: int) -> st.SearchStrategy[list[range]]:
    """Return divisions of the first units into ranges."""
    cuts = st.sets(st.integers(1, units - 1)).map(lambda found: [0, *sorted(found), units])
    return cuts.map(lambda edges: [range(a, b) for a, b in pairwise(edges)])


@pytest.mark.slow
@settings(max_examples=5)
@given(data=st.data())
def test_any_order_of_any_parts_with_any_breaks_gives_the_same_bits(
    data: st.DataObject, sweep: Plan, whole: Path
) -> None:
    import tempfile

    parts = data.draw(pieces(12).flatmap(st.permutations), "parts")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.zarr")
        for units in parts:
            with opened(path, sweep, resume=True) as store:
                assert any(units.start in left and units[-1] in left for left in store.pending())
                store.add(part(sweep, units))
        with opened(path, sweep, resume=True) as store:
            assert not list(store.pending())
            store.write_arrays()
        assert bits(read(path)).identical(bits(read(whole)))


def test_the_arrays_may_be_half_written(
    sweep: Plan, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process goes away while they are: until all are written there is no group."""
    path = tmp_path / "a.zarr"
    with monkeypatch.context() as patch:
        patch.setattr("btflow.sweeps.dataset._write_group", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            api.execute(sweep, path, Running(jobs=1))
    assert (path / "completion_mean").exists()
    assert not (path / GROUP).exists()
    assert bits(read(path)).identical(bits(read(whole)))
    assert api.execute(sweep, path, Running(jobs=1), resume=True) == (12, 0)
    assert bits(written(path)).identical(bits(read(whole)))


def test_a_store_has_one_writer(sweep: Plan, tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    with opened(path, sweep), pytest.raises(InputError, match="is being written by another"):
        opened(path, sweep, resume=True).__enter__()
    with opened(path, sweep, resume=True):
        pass


def others() -> Iterator[tuple[Plan, str]]:
    yield plan(seed=1), "seed 0 there, 1 here"
    yield plan(replicas=3), "replicas 2 there, 3 here"
    yield plan(common=True), "common random numbers"
    yield plan(keep=["series"]), "kept nothing there, series here"
    yield plan(sample="random:6"), "design grid there, random:6 here"
    yield plan(VARY | {"rtt": ["0 ms", "50 ms", "200 ms"]}), "other values of rtt"
    yield plan({"rtt": "0 ms"}), "varies rtt, upload_limit there, rtt here"
    yield plan(scenario=tiny(initial_window=4)), "another scenario"
    yield plan(fidelity="flow", check=5), "fidelity full there, flow here; checked points 0 there, 5 here"
    yield links_planned(), "model rao2010 there, coexistence here"


def test_another_sweep_is_refused_and_the_store_left_alone(whole: Path) -> None:
    before = {file: file.stat().st_mtime_ns for file in whole.rglob("*")}
    for other, text in others():
        with pytest.raises(InputError) as caught:
            opened(whole, other, resume=True).__enter__()
        assert text in str(caught.value)
    assert {file: file.stat().st_mtime_ns for file in whole.rglob("*")} == before


@pytest.mark.parametrize("name", ["btflow", "code", "python", "numpy", "numba"])
def test_another_version_is_refused(whole: Path, sweep: Plan, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    there = planning.versions()
    monkeypatch.setattr(planning, "versions", lambda: there | {name: "0"})
    with pytest.raises(InputError, match=f"{name} .* there, 0 here"):
        opened(whole, sweep, resume=True).__enter__()


def test_paths_that_are_something_else(tmp_path: Path, whole: Path) -> None:
    file, folder, foreign = (tmp_path / name for name in ("file.zarr", "folder.zarr", "foreign.zarr"))
    file.write_text("mine")
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    zarr.create_group(foreign)
    for path in (file, folder, foreign):
        for resume in (False, True):
            with pytest.raises(InputError, match="is something else"):
                check_path(path, resume)
        with pytest.raises(InputError, match="is not the store of a sweep"):
            open_sweep(path)
    dangling = tmp_path / "link.zarr"
    dangling.symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="is something else"):
        check_path(dangling, resume=False)
    with pytest.raises(InputError, match="resume=True"):
        check_path(whole, resume=False)
    check_path(whole, resume=True)
    for name, reason in (("none/a.zarr", "No such file"), ("a" * 300 + ".zarr", "too long"), ("a\0.zarr", "null")):
        with pytest.raises(InputError, match=f"cannot be written: .*{reason}"):
            check_path(tmp_path / name, resume=False)
    for wrong in (tmp_path / "none.zarr", 5):
        with pytest.raises(InputError, match=r"does not exist|is not a path"):
            open_sweep(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("files", [(), (FILE,)])
def test_a_process_killed_at_once_leaves_what_can_be_gone_on_with(
    files: tuple[str, ...], sweep: Plan, tmp_path: Path
) -> None:
    """It has made no more than the folder, or a database without anything."""
    path = tmp_path / "a.zarr"
    path.mkdir()
    for name in files:
        (path / name).touch()
    assert api.execute(sweep, path, Running(jobs=1), resume=True) == (12, 0)


def test_arrays_alone_are_read_but_not_gone_on_with(whole: Path, sweep: Plan, tmp_path: Path) -> None:
    path = Path(shutil.copytree(whole, tmp_path / "a.zarr"))
    (path / FILE).unlink()
    assert read(path).identical(read(whole))
    with pytest.raises(InputError, match=r"is something else than a sweep with its sweep\.sqlite"):
        api.execute(sweep, path, Running(jobs=1), resume=True)
    (path / SUMS).unlink()
    with pytest.raises(InputError, match="is not the store of a sweep"):
        open_sweep(path)


def test_a_store_that_cannot_be_made_leaves_nothing(sweep: Plan, tmp_path: Path) -> None:
    with breaking_off(0):
        opened(tmp_path / "a.zarr", sweep).__enter__()
    assert os.listdir(tmp_path) == []


def test_what_is_kept_of_each_peer_is_what_a_run_says() -> None:
    from btflow import simulate, sweep

    scenario = tiny()
    found = sweep(scenario, {"leechers": [2, 4]}, replicas=2, keep=["peers", "series"], seed=3, progress=False)
    for place, leechers in enumerate((2, 4)):
        at = found.isel(leechers=place)
        run = simulate(scenario.set(leechers=leechers), seed=int(at.seed), replicas=2)
        for name in ("unchokes", "counted"):
            assert np.array_equal(at[f"peer_{name}"].values[:, : leechers + 1], run[name].values.astype(float))
        names = found.peer_class.values[at.class_number.values[0, : leechers + 1].astype(int)]
        assert names.tolist() == run.peer_class.values.tolist()
        for replica in range(2):
            alone = at.isel(replica=replica)
            held = alone.pieces_held.values
            held = held[np.isfinite(held)]
            times = float(alone.time_step) * np.arange(len(held))
            seen = run.pieces_held.isel(replica=replica).reindex(time=times, method="ffill")
            both = times <= float(run.time[-1])
            assert np.isin(run.time.values[run.time.values <= times[-1]], times).all()
            on = np.isin(times, run.time.values) & both
            assert np.array_equal(held[on], seen.values[on])


@pytest.mark.parametrize(
    "vary",
    [
        {"leechers": "4,9,2", "rtt": "0 ms,1 s", "uplink": "256 kbit/s,1 Mbit/s"},
        {"leechers": "4,9", "departures.stay": "forever,leave", "departures.replace": "true,false"},
        {"leechers": "3,5,1", "departures.discard": "0,2,4", "departures.stay": "leave", "departures.replace": "true"},
        {("leechers", "utp_share"): [(4, "0%"), (7, "50%"), (5, "100%")], "slots": "2,4"},
        {"classes.seed.count": "1,3", "leechers": [4], "arrivals.spread": "1 s,2 s"},
        {"rtt": "0 ms,1 s"},
    ],
)
def test_the_room_for_peers_is_that_of_the_largest_swarm(vary: dict[Any, object]) -> None:
    scenario = tiny("flashcrowd")
    made = declare(scenario.document, scenario.given, declaration(vary, {}, "vary"), keep=["peers"])
    counts = []
    for point in range(made.units):
        with contextlib.suppress(InputError):
            counts.append(len(compile_scenario(scenario.set(**made.settings(point))).klass))
    assert made.job.shape.peers == max(counts)


def test_the_room_for_peers_is_found_from_the_values_that_change_it() -> None:
    """A grid of two hundred million points is declared at once."""
    scenario = tiny("flashcrowd")
    vary = {"rtt": "lin(0 ms, 1 s, 10000)", "leechers": "4,9", "uplink": "lin(256 kbit/s, 4 Mbit/s, 10000)"}
    with calls(3 * 10**6):
        made = declare(scenario.document, scenario.given, declaration(vary, {}, "vary"), keep=["peers"], yes=True)
    assert made.job.shape.peers == 10
    sampled = plan({"leechers": "uniform(2, 9)", "rtt": "uniform(0 ms, 1 s)"}, keep=["peers"], sample="lhs:64")
    assert sampled.job.shape.peers == 10


@pytest.mark.parametrize("names", [("rtt", "loss", "upload_limit"), ("rtt", "loss", "upload_limit", "arrival_spread")])
def test_a_sweep_without_end_starts_and_stops_at_once(names: tuple[str, ...], tmp_path: Path) -> None:
    """Of 10^12 and 10^16 swarms; what is done is found by what there is, not by what there might be."""
    ends = {"rtt": "0 ms, 1 s", "loss": "0%, 5%", "upload_limit": "10 kB/s, 100 kB/s", "arrival_spread": "1 s, 60 s"}
    vary: dict[str, object] = {name: f"lin({ends[name]}, 10000)" for name in names}
    scenario, path = tiny(), tmp_path / "a.zarr"
    with calls(3 * 10**6):
        made = declare(scenario.document, scenario.given, declaration(vary, {}, "vary"), yes=True)
    with calls(3 * 10**6), opened(path, made) as store:
        assert next(store.pending()) == range(made.units)
        store.add(part(made, range(3)))
    with calls(3 * 10**6), opened(path, made, resume=True) as store:
        assert store.counts() == (3, 0)
        assert next(store.pending()) == range(3, made.units)
        found = open_sweep(path)
        assert np.isfinite(found.completion_mean[(0,) * len(names)]).all()
        assert int(found.status[(-1,) * len(names)].sum()) == 0
    far = part(made, range(made.units - 1, made.units))
    assert far.status.tolist() == [DONE]


@pytest.mark.filterwarnings("ignore:Object at")
def test_a_store_gives_nobody_a_reason_to_warn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A warning could not be ignored for certain: another thread, as of a what-if, may undo it in the meantime."""

    def warn(*said: object, **_: object) -> None:
        raise AssertionError(said)

    path, made = tmp_path / "a.zarr", plan()
    with monkeypatch.context() as patch:
        patch.setattr("warnings.warn", warn)
        assert api.execute(made, path, Running(jobs=2)) == (made.units, 0)
        assert open_sweep(path).sizes["rtt"] == 3
    metadata = (path / "zarr.json").read_text()
    with pytest.warns(UserWarning, match="Consolidated metadata"):
        zarr.consolidate_metadata(path)
    assert json.loads((path / "zarr.json").read_text()) == json.loads(metadata)
