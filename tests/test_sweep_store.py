"""The store of a sweep: its cells, its journal, what it takes back, and what it refuses."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from sweep_made import bits, breaking_off, read, tiny

from btflow import InputError
from btflow.swarm.program import compile_scenario
from btflow.sweeps import api, journal
from btflow.sweeps import work as working
from btflow.sweeps.cells import MOST_UNITS, cells
from btflow.sweeps.parts import Part, Shape
from btflow.sweeps.paths import check_path
from btflow.sweeps.plan import Plan
from btflow.sweeps.running import Running
from btflow.sweeps.status import DONE, PENDING
from btflow.sweeps.store import open_store
from btflow.sweeps.table import declaration

VARY: dict[str, object] = {"rtt": ["0 ms", "50 ms", "100 ms"], "upload_limit": "20 kB/s,50 kB/s"}


def plan(vary: dict[str, object] | None = None, *, keep: Sequence[str] = (), **said: object) -> Plan:
    scenario = tiny()
    said_ = declaration(vary or VARY, {}, "vary", **{"replicas": 2, **said})
    return api.declare(scenario.document, scenario.given, said_, keep=keep)


def part(sweep: Plan, units: range) -> Part:
    """Return the part of some units, run here and now."""
    return working.run(sweep.job, sweep.task(units.start, len(units)), lambda: False, budget=60.0)


shapes = st.lists(st.integers(1, 12), min_size=1, max_size=4).map(tuple)


@given(shapes, st.integers(1, 2**24))
def test_cells_divide_the_units_in_order(shape: tuple[int, ...], unit_bytes: int) -> None:
    found = cells(shape, unit_bytes)
    numbers = [unit for cell in range(found.count) for unit in found.units(cell)]
    assert numbers == list(range(int(np.prod(shape))))
    everything = np.arange(len(numbers)).reshape(shape)
    for cell in range(found.count):
        units = list(found.units(cell))
        assert everything[found.region(cell)].ravel().tolist() == units
        assert {found.cell(unit) for unit in units} == {cell}
        assert all(s.start == i * c for s, i, c in zip(found.region(cell), found.index(cell), found.chunk, strict=True))
        assert len(units) * unit_bytes <= 2**24 or len(units) == 1


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=4).map(tuple))
def test_cells_are_neither_too_large_nor_too_many(shape: tuple[int, ...]) -> None:
    found, units = cells(shape, 400), int(np.prod(shape, dtype=float))
    assert int(np.prod(found.chunk)) <= MOST_UNITS
    whole = (
        found.inner * found.shape[found.split]
    )  # each row of the divided dimension has at most one cell that is short
    rows = units / whole
    assert found.count <= 2 * units / MOST_UNITS + rows


@given(st.integers(1, 20), st.integers(0, 3), st.integers(0, 5), st.integers(0, 2**31))
def test_a_part_is_the_same_after_it_was_a_file(count: int, peers: int, times: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = Shape(7, peers, times).empty(seed, count)
    for array in (made.values, made.peers, made.held, made.cpu, made.step):
        array[...] = np.where(rng.random(array.shape) < 0.2, np.nan, rng.normal(size=array.shape))
    made.status[:] = rng.integers(0, 3, count)
    made.reasons[:] = [str(text) for text in rng.choice(["", "a", "nothing\u2009left"], count)]
    again = Part.from_bytes(made.to_bytes())
    assert (again.first, again.reasons) == (made.first, made.reasons)
    for name in ("status", "values", "peers", "held", "cpu", "step"):
        assert getattr(again, name).tobytes() == getattr(made, name).tobytes()


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


def test_a_complete_store_is_a_plain_zarr_group(whole: Path) -> None:
    assert not [file for file in whole.rglob("*") if file.suffix in (".part", ".partial")]
    assert not (whole / journal.FOLDER).exists()
    assert set(zarr.open_group(whole, mode="r").array_keys()) == set(read(whole).variables)


def test_figures_of_swarms_that_have_not_run_are_blank(sweep: Plan, tmp_path: Path) -> None:
    with open_store(tmp_path / "a.zarr", sweep) as store:
        assert read(store.path).attrs["complete"] == 0
        list(store.pending())
        store.add(part(sweep, range(2, 5)))
        store.flush()
        found = read(store.path)
        assert found.status.values.ravel().tolist() == [PENDING] * 2 + [DONE] * 3 + [PENDING] * 7
        assert np.isfinite(found.completion_mean.values.ravel()).tolist() == [False] * 2 + [True] * 3 + [False] * 7
        assert store.counts() == (3, 0)


def pieces(units: int) -> st.SearchStrategy[list[range]]:
    """Return divisions of the first units into ranges."""
    cuts = st.sets(st.integers(1, units - 1)).map(lambda found: [0, *sorted(found), units])
    return cuts.map(lambda edges: [range(a, b) for a, b in pairwise(edges)])


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
            with open_store(path, sweep, resume=True, durable=False) as store:
                assert any(units.start in left and units[-1] in left for left in store.pending())
                store.add(part(sweep, units))
                if data.draw(st.booleans(), "flushed"):
                    store.flush()
        with open_store(path, sweep, resume=True, durable=False) as store:
            assert not list(store.pending())
            store.flush()
        assert bits(read(path)).identical(bits(read(whole)))


def test_what_is_damaged_in_the_journal_runs_again(sweep: Plan, whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    with open_store(path, sweep) as store:
        list(store.pending())
        store.add(part(sweep, range(4)))
        store.add(part(sweep, range(4, 6)))
    bad = next((path / journal.FOLDER).glob("0-0-4.part"))
    content = bytearray(bad.read_bytes())
    content[len(content) // 2] ^= 0xFF
    bad.write_bytes(content)
    (path / journal.FOLDER / "0-6-2.partial").write_bytes(b"half")
    with open_store(path, sweep, resume=True) as store:
        assert list(store.pending()) == [range(4), range(6, 12)]
    api.execute(sweep, path, Running(jobs=1), resume=True)
    assert bits(read(path)).identical(bits(read(whole)))


def test_a_merge_may_end_after_any_of_its_arrays(sweep: Plan, whole: Path, tmp_path: Path) -> None:
    """The process goes away while a cell is written: the parts are still there, and the status says nothing yet."""
    path = tmp_path / "a.zarr"
    for writes in (0, 20, 40):
        shutil.rmtree(path, ignore_errors=True)
        with open_store(path, sweep) as store:
            list(store.pending())
            with breaking_off(writes):
                store.add(part(sweep, range(12)))
        read(path)
        api.execute(sweep, path, Running(jobs=1), resume=True)
        assert bits(read(path)).identical(bits(read(whole)))


def test_a_store_has_one_writer(sweep: Plan, tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    with open_store(path, sweep), pytest.raises(InputError, match="is being written by another"):
        open_store(path, sweep, resume=True).__enter__()
    with open_store(path, sweep, resume=True):
        pass


def others() -> Iterator[tuple[Plan, str]]:
    yield plan(seed=1), "seed 0 there, 1 here"
    yield plan(replicas=3), "replicas 2 there, 3 here"
    yield plan(common=True), "common random numbers"
    yield plan(keep=["series"]), "kept nothing there, series here"
    yield plan(sample="random:6"), "design grid there, random:6 here"
    yield plan(VARY | {"rtt": ["0 ms", "50 ms", "200 ms"]}), "other values of rtt"
    yield plan({"rtt": "0 ms"}), "varies rtt, upload_limit there, rtt here"
    scenario = tiny(initial_window=4)
    said = declaration(VARY, {}, "vary", replicas=2)
    yield api.declare(scenario.document, scenario.given, said), "another scenario"


def test_another_sweep_is_refused_and_the_store_left_alone(whole: Path) -> None:
    before = {file: file.stat().st_mtime_ns for file in whole.rglob("*")}
    for other, text in others():
        with pytest.raises(InputError) as caught:
            open_store(whole, other, resume=True).__enter__()
        assert text in str(caught.value)
    assert {file: file.stat().st_mtime_ns for file in whole.rglob("*")} == before


@pytest.mark.parametrize("name", ["btflow", "code", "python", "numpy", "numba"])
def test_another_version_is_refused(whole: Path, sweep: Plan, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    from btflow.sweeps import plan as planning
    from btflow.sweeps.versions import versions

    here = versions()
    monkeypatch.setattr(planning, "versions", lambda: here | {name: "0"})
    with pytest.raises(InputError, match=f"{name} .* there, 0 here"):
        open_store(whole, sweep, resume=True).__enter__()


def test_paths_that_are_something_else(tmp_path: Path, whole: Path) -> None:
    file, folder, foreign = (tmp_path / name for name in ("file.zarr", "folder.zarr", "foreign.zarr"))
    file.write_text("mine")
    folder.mkdir()
    zarr.create_group(foreign)
    for path in (file, folder, foreign):
        for resume in (False, True):
            with pytest.raises(InputError, match="is something else"):
                check_path(path, resume)
    dangling = tmp_path / "link.zarr"
    dangling.symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="is something else"):
        check_path(dangling, resume=False)
    with pytest.raises(InputError, match="--resume"):
        check_path(whole, resume=False)
    check_path(whole, resume=True)
    with pytest.raises(InputError, match="wrong ending"):
        check_path(tmp_path / "a.nc", resume=False)
    with pytest.raises(InputError, match="cannot be written"):
        check_path(tmp_path / "none" / "a.zarr", resume=False)


def test_a_store_that_cannot_be_made_leaves_nothing(
    sweep: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("btflow.sweeps.layout._write", fail)
    with pytest.raises(OSError, match="No space left"):
        open_store(tmp_path / "a.zarr", sweep).__enter__()
    assert os.listdir(tmp_path) == []


def test_what_is_kept_of_each_peer_is_what_a_run_says() -> None:
    from btflow import simulate, sweep

    scenario = tiny()
    found = sweep(scenario, {"leechers": [2, 4]}, replicas=2, keep=["peers", "series"], seed=3, progress=False)
    for place, leechers in enumerate((2, 4)):
        at = found.isel(leechers=place)
        run = simulate(scenario.set(leechers=leechers), seed=int(at.seed), replicas=2)
        for name in ("completion_time", "bytes_sent", "unchokes", "counted"):
            kept = at[f"peer_{name}"].values
            assert np.array_equal(kept[:, : leechers + 1], run[name].values.astype(float), equal_nan=True)
            assert np.isnan(kept[:, leechers + 1 :]).all()
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
    made = api.declare(scenario.document, scenario.given, declaration(vary, {}, "vary"), keep=["peers"])
    counts = []
    for point in range(made.units):
        with contextlib.suppress(InputError):
            counts.append(len(compile_scenario(scenario.set(**made.settings(point))).klass))
    assert made.job.shape.peers == max(counts)


def test_the_room_for_peers_is_found_from_the_values_that_change_it() -> None:
    """A grid of two hundred million points is declared at once."""
    scenario = tiny("flashcrowd")
    vary = {"rtt": "lin(0 ms, 1 s, 10000)", "leechers": "4,9", "uplink": "lin(256 kbit/s, 4 Mbit/s, 10000)"}
    begun = time.process_time()
    made = api.declare(scenario.document, scenario.given, declaration(vary, {}, "vary"), keep=["peers"], yes=True)
    assert made.job.shape.peers == 10
    assert time.process_time() - begun < 5.0
    sampled = plan({"leechers": "uniform(2, 9)", "rtt": "uniform(0 ms, 1 s)"}, keep=["peers"], sample="lhs:64")
    assert sampled.job.shape.peers == 10


@pytest.mark.parametrize("names", [("rtt", "loss", "upload_limit"), ("rtt", "loss", "upload_limit", "arrival_spread")])
def test_a_sweep_without_end_starts_and_stops_at_once(names: tuple[str, ...], tmp_path: Path) -> None:
    """Of 10^12 and 10^16 swarms; what is done is found by what there is, not by what there might be."""
    ends = {"rtt": "0 ms, 1 s", "loss": "0%, 5%", "upload_limit": "10 kB/s, 100 kB/s", "arrival_spread": "1 s, 60 s"}
    vary: dict[str, object] = {name: f"lin({ends[name]}, 10000)" for name in names}
    scenario, path = tiny(), tmp_path / "a.zarr"
    begun = time.process_time()
    made = api.declare(scenario.document, scenario.given, declaration(vary, {}, "vary"), yes=True)
    with open_store(path, made) as store:
        assert next(store.pending()) == range(3334)
        store.add(part(made, range(3)))
        store.flush()
    with open_store(path, made, resume=True) as store:
        assert store.counts() == (3, 0)
        assert next(store.pending()) == range(3, 3334)
        store.flush()
    far = part(made, range(made.units - 1, made.units))
    assert far.status.tolist() == [DONE]
    assert time.process_time() - begun < 5.0


@pytest.mark.filterwarnings("ignore:Object at .lock")
def test_a_store_gives_nobody_a_reason_to_warn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A warning could not be ignored for certain: another thread, as of a what-if, may undo it in the meantime."""

    def warn(*said: object, **_: object) -> None:
        raise AssertionError(said)

    path, made = tmp_path / "a.zarr", plan()
    with monkeypatch.context() as patch:
        patch.setattr("warnings.warn", warn)
        assert api.execute(made, path, Running(jobs=2)) == (made.units, 0)
        assert api.open_dataset(path).sizes["rtt"] == 3
    metadata = (path / "zarr.json").read_text()
    with pytest.warns(UserWarning, match="Consolidated metadata"):
        zarr.consolidate_metadata(path)
    assert json.loads((path / "zarr.json").read_text()) == json.loads(metadata)
