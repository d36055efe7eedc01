"""A store of which something was deleted or changed: found, said, and run or written again; never taken for whole."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import xarray as xr
from hypothesis import given, settings, strategies as st
from program import Run
from sweep_made import bits, planned, read, written

from btflow import InputError
from btflow.analysis.table import write_table
from btflow.sweeps import api, runs
from btflow.sweeps.database import FILE
from btflow.sweeps.dataset import GROUP, SUMS, write_sums
from btflow.sweeps.plan import Plan
from btflow.sweeps.running import Running
from btflow.sweeps.store import Store, opened

UNITS = 12


def delete(file: Path) -> None:
    file.unlink()


def empty(file: Path) -> None:
    file.write_bytes(b"")


def halve(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def flip(file: Path, at: int = 3, bit: int = 3) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 1 << bit
    file.write_bytes(content)


@pytest.fixture(scope="module")
def sweep() -> Plan:
    """Return a sweep of six points, at three of which every swarm fails."""
    return planned(vary={"rtt": ["0 ms", "50 ms", "100 ms"], "seed_as": "none,AS1"}, replicas=2)


@pytest.fixture(scope="module")
def whole(sweep: Plan, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a store with all in it, its arrays in chunks of a point each."""
    path = tmp_path_factory.mktemp("whole") / "a.zarr"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("btflow.sweeps.dataset.CHUNK_RUNS", 2)
        assert execute(sweep, path) == (6, 6)
        yield path


@pytest.fixture(scope="module")
def content(whole: Path) -> xr.Dataset:
    return bits(read(whole))


@pytest.fixture
def path(whole: Path, tmp_path: Path) -> Path:
    """Return a copy of the store."""
    return Path(shutil.copytree(whole, tmp_path / "a.zarr"))


@pytest.fixture
def half(sweep: Plan, tmp_path: Path) -> Path:
    """Return a store of which seven swarms were run."""
    path = tmp_path / "half.zarr"
    with opened(path, sweep) as store:
        for first, count in ((0, 2), (2, 4), (7, 1)):
            store.add(runs.run(sweep.job, sweep.task(first, count), lambda: False, 60.0))
    return path


def execute(made: Plan, path: Path) -> tuple[int, int]:
    return api.execute(made, path, Running(jobs=1), resume=True)


@pytest.mark.parametrize(
    ("damage", "name"),
    [(flip, "completion_mean/c/0/0/0"), (delete, "failure/c/0/1/0"), (halve, GROUP), (halve, SUMS)],
)
def test_damage_of_the_arrays_is_said_and_mended(
    sweep: Plan, path: Path, content: xr.Dataset, damage: Callable[[Path], None], name: str, run: Run
) -> None:
    """Nothing has to be run for it: the database has all. What others have put into the store stays."""
    damage(path / name)
    (path / "notes.txt").write_text("mine")
    code, _, said = run("export", "a.zarr", "a.csv")
    assert (code, said.count("\n"), Path("a.csv").exists()) == (2, 1, False)
    assert said.startswith(f"btflow: error: STORE = 'a.zarr': is damaged: {name} is missing or is not what was written")
    assert "--resume" in said
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("btflow.sweeps.running.drive", lambda *_: pytest.fail("something was run"))
        assert execute(sweep, path) == (6, 6)
    assert bits(written(path)).identical(content)
    assert (path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("text", ["[" * 100_000, '{"zarr_format": 3, "node_type": "array"}'], ids=["deep", "array"])
def test_arrays_that_others_wrote_are_one_error(path: Path, text: str, tmp_path: Path) -> None:
    """Whoever writes them may write their digests, too."""
    (path / GROUP).write_text(text)
    write_sums(path, [])
    with pytest.raises(InputError, match="is damaged: its arrays cannot be opened") as caught:
        write_table(path, tmp_path / "a.csv")
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def database(sweep: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store whose arrays are still to be written."""
    path = tmp_path_factory.mktemp("database") / "a.zarr"
    with opened(path, sweep) as store:
        api.run_missing(sweep, store, Running(jobs=1))
    return path


@settings(max_examples=100)
@given(data=st.data())
def test_any_damage_of_the_database_is_one_error_or_none(
    data: st.DataObject, sweep: Plan, database: Path, content: xr.Dataset
) -> None:
    """Wherever the file ends it is one error, or all is there; a bit that changes in a number is no error to SQLite."""
    file = database / FILE
    before = file.read_bytes()
    place, bit = data.draw(st.integers(1, len(before) - 1)), data.draw(st.sampled_from([None, *range(8)]))
    try:
        if bit is None:
            file.write_bytes(before[:place])
        else:
            flip(file, place, bit)
        with opened(database, sweep, resume=True) as store:
            api.run_missing(sweep, store, Running(jobs=1))
            assert bits(store.dataset().load()).identical(content) or bit is not None
    except InputError as error:
        assert "\n" not in str(error)
        assert error.value == str(database)
    finally:
        file.write_bytes(before)
        (database / f"{FILE}-journal").unlink(missing_ok=True)


def test_a_part_of_a_sweep_is_exported_with_what_is_pending(half: Path, tmp_path: Path) -> None:
    assert write_table(half, tmp_path / "a.csv") == UNITS
    assert (tmp_path / "a.csv").read_text().count("pending") == 5


@pytest.mark.parametrize("damage", [halve, flip, empty])
def test_a_database_that_cannot_be_read_is_one_error(
    sweep: Plan, half: Path, damage: Callable[[Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of an empty one nothing is left: the sweep begins anew, and says so."""
    damage(half / FILE)
    with pytest.raises(InputError, match=r"is damaged: .*sweep\.sqlite") as caught:
        write_table(half, tmp_path / "a.csv")
    assert "\n" not in str(caught.value)
    if damage is empty:
        assert execute(sweep, half) == (6, 6)
        assert "the sweep begins anew" in capsys.readouterr().err
        return
    before = (half / FILE).read_bytes()
    with pytest.raises(InputError, match=r"is damaged: .*sweep\.sqlite"):
        execute(sweep, half)
    assert (half / FILE).read_bytes() == before


@pytest.mark.parametrize(
    "change", ["UPDATE sweep SET layout = 'as a former format has it'", "UPDATE runs SET numbers = x'00'"]
)
def test_a_layout_or_a_row_that_cannot_be_one_is_one_error(half: Path, change: str, tmp_path: Path) -> None:
    with sqlite3.connect(half / FILE) as connection:
        connection.execute(change)
    with pytest.raises(
        InputError, match=r"sweep\.sqlite is not what .*; allowed: .* the version that wrote it, "
    ) as said:
        write_table(half, tmp_path / "a.csv")
    assert "\n" not in str(said.value)
    assert not (tmp_path / "a.csv").exists()


def test_a_forgotten_swarm_looks_like_one_that_never_ran(sweep: Plan, path: Path, content: xr.Dataset) -> None:
    """Every array is blank there; the others are as they were."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("btflow.sweeps.api.run_missing", lambda *_: None)
        patch.setattr(Store, "write_arrays", lambda _: None)
        api.execute(sweep, path, Running(jobs=1, retry_failed=True), resume=True)
    assert not (path / SUMS).exists()
    found = bits(read(path))
    assert found.attrs["complete"] == 0
    failed = content.status == 2
    assert int(failed.sum()) == 6
    assert (found.status.values[failed.values] == 0).all()
    assert (found.failure.values[failed.values] == "").all()
    kept = [name for name in content.data_vars if name != "seed"]
    found, content = (each.drop_vars("failure") for each in (found, content))
    assert found[kept].where(~failed).identical(content[kept].where(~failed).assign_attrs(found.attrs))
    assert found[kept].drop_vars("status").where(failed).count().to_array().sum() == 0
    with opened(path, sweep, resume=True) as store:
        assert store.counts() == (6, 0)
        assert list(store.pending()) == [range(first, first + 2) for first in (2, 6, 10)]
