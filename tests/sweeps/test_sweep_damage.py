"""A store of which something was deleted or changed: found, said, and run or written again; never taken for whole."""

from __future__ import annotations

import os
import random
import re
import shutil
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import xarray as xr
from hypothesis import given, settings, strategies as st
from sweep_made import bits, breaking_off, read, tiny, written

import btflow
from btflow import InputError
from btflow.analysis.table import write_table
from btflow.cli import app
from btflow.sweeps import api, runs
from btflow.sweeps.database import FILE, failures
from btflow.sweeps.dataset import SUMS, write_sums
from btflow.sweeps.declare import declaration, declare
from btflow.sweeps.plan import Plan
from btflow.sweeps.running import Running
from btflow.sweeps.store import LOCK, Store, opened

VARY = {"rtt": ["0 ms", "50 ms", "100 ms"], "seed_as": "none,AS1"}  # with AS1 every swarm fails
UNITS = 12


def delete(file: Path) -> None:
    file.unlink()


def empty(file: Path) -> None:
    file.write_bytes(b"")


def shorten(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def halve(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def lengthen(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"more")


def flip(file: Path, at: int = 7919, bit: int = 3) -> None:
    content = bytearray(file.read_bytes())
    content[at % len(content)] ^= 1 << bit
    file.write_bytes(content)


DAMAGE: tuple[Callable[[Path], None], ...] = (delete, empty, shorten, lengthen, flip)


@pytest.fixture(scope="module", autouse=True)
def small_chunks() -> Iterator[None]:
    """Write the arrays in chunks of a point each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("btflow.sweeps.dataset.CHUNK_RUNS", 2)
        yield


@pytest.fixture(scope="module")
def sweep() -> Plan:
    scenario = tiny()
    said = declaration(VARY, {}, "vary", replicas=2)
    return declare(scenario.document, scenario.given, said)


@pytest.fixture(scope="module")
def whole(sweep: Plan, small_chunks: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with all in it."""
    assert small_chunks is None
    path = tmp_path_factory.mktemp("whole") / "a.zarr"
    assert execute(sweep, path) == (6, 6)
    return path


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
    with opened(path, sweep, durable=False) as store:
        for first, count in ((0, 2), (2, 4), (7, 1)):
            store.add(runs.run(sweep.job, sweep.task(first, count), lambda: False, 60.0))
    return path


def execute(made: Plan, path: Path) -> tuple[int, int]:
    return api.execute(made, path, Running(jobs=1), resume=True, durable=False)


def arrays(path: Path) -> list[Path]:
    """Return the files of the arrays."""
    return sorted(file for file in path.rglob("*") if file.is_file() and file.name not in (FILE, LOCK, SUMS))


def test_every_chunk_has_a_file(whole: Path) -> None:
    """One for each point and array, though most are blank where swarms failed; one for each coordinate."""
    found = read(whole)
    labels = set(found.coords) - {"failure"}
    of_runs = len(found.variables) - len(labels)
    assert len([file for file in arrays(whole) if file.name != "zarr.json"]) == 6 * of_runs + len(labels)


def test_any_damage_of_any_file_of_the_arrays_is_found_and_mended(
    sweep: Plan, path: Path, content: xr.Dataset, tmp_path: Path
) -> None:
    """Metadata, too. Nothing has to be run for it: the database has all."""
    rng = random.Random(5)
    kinds = [rng.choice(arrays(path)) for _ in range(4)] + [path / "zarr.json", path / "status" / "zarr.json"]
    for number, file in enumerate(kinds):
        DAMAGE[number % 5](file)
        with pytest.raises(InputError) as caught:
            write_table(path, tmp_path / "a.csv")
        name = file.relative_to(path)
        assert f"is damaged: {name} is missing or is not what was written" in str(caught.value)
        assert not (tmp_path / "a.csv").exists()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("btflow.sweeps.running.drive", lambda *_: pytest.fail("something was run"))
            assert execute(sweep, path) == (6, 6)
        assert bits(written(path)).identical(content)


def test_an_export_names_the_file_and_what_to_do(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    monkeypatch.setattr(sys, "argv", ["btflow", "export", "a.zarr", "a.csv"])
    for damage in (flip, delete):
        damage(path / "completion_mean" / "c" / "0" / "1" / "0")
        with pytest.raises(SystemExit) as exit_:
            app.main()
        assert exit_.value.code == 2
        said = capsys.readouterr().err
        assert said.startswith("btflow: error: STORE = 'a.zarr': is damaged: completion_mean/c/0/1/0 is missing or")
        assert "--resume" in said
        assert said.count("\n") == 1
    assert not Path("a.csv").exists()


@pytest.fixture(scope="module")
def database(sweep: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store whose arrays are still to be written."""
    path = tmp_path_factory.mktemp("database") / "a.zarr"
    with opened(path, sweep, durable=False) as store:
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
        with opened(database, sweep, resume=True, durable=False) as store:
            api.run_missing(sweep, store, Running(jobs=1))
            assert bits(store.dataset().load()).identical(content) or bit is not None
    except InputError as error:
        assert "\n" not in str(error)
        assert error.value == str(database)
    finally:
        file.write_bytes(before)
        (database / f"{FILE}-journal").unlink(missing_ok=True)


def test_a_schema_that_is_no_text_is_damage(sweep: Plan, path: Path) -> None:
    """SQLite quotes it in its message, of which sqlite3 then makes another error than its own."""
    file = path / FILE
    file.write_bytes(file.read_bytes().replace(b"CREATE TABLE runs", b"CREATE T\xceBLE runs"))
    for use in (lambda: execute(sweep, path), lambda: failures(path)):
        with pytest.raises(InputError, match=r"is damaged: the schema in sweep\.sqlite is not what was written"):
            use()


def test_a_part_of_a_sweep_is_exported_with_what_is_pending(half: Path, tmp_path: Path) -> None:
    assert write_table(half, tmp_path / "a.csv") == UNITS
    assert (tmp_path / "a.csv").read_text().count("pending") == 5


@pytest.mark.parametrize("damage", [halve, flip, empty])
def test_a_database_that_cannot_be_read_is_one_error(
    sweep: Plan, half: Path, damage: Callable[[Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of an empty one nothing is left: the sweep begins anew, and says so."""
    if damage is flip:
        flip(half / FILE, 3)
    else:
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
    "change",
    [
        "UPDATE sweep SET layout = '{'",
        "UPDATE sweep SET layout = CAST(SUBSTR(layout, 2) AS BLOB)",
        "CREATE VIEW endless AS WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x FROM t) SELECT x FROM t",
        "UPDATE runs SET numbers = SUBSTR(numbers, 2) WHERE unit = 4",
        "UPDATE runs SET numbers = 'text' WHERE unit = 4",
        "UPDATE runs SET cpu = 'x' WHERE unit = 4",
        "UPDATE runs SET status = 1000 WHERE unit = 4",
    ],
)
def test_a_layout_or_a_row_that_cannot_be_one_is_one_error(half: Path, change: str, tmp_path: Path) -> None:
    with sqlite3.connect(half / FILE) as connection:
        connection.execute(change)
    with pytest.raises(InputError, match=r"is damaged: .*sweep\.sqlite is not what ") as caught:
        write_table(half, tmp_path / "a.csv")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize(
    "content", ["[" * 100_000, "{}", '{"zarr_format": 3, "node_type": "array"}'], ids=["deep", "empty", "array"]
)
def test_arrays_that_others_wrote_are_one_error(path: Path, content: str, tmp_path: Path) -> None:
    """Whoever writes them may write their digests, too."""
    (path / "zarr.json").write_text(content)
    (path / SUMS).unlink()
    write_sums(path)
    with pytest.raises(InputError, match="is damaged: its arrays cannot be opened") as caught:
        write_table(path, tmp_path / "a.csv")
    assert "\n" not in str(caught.value)


def test_an_empty_database_beside_whole_arrays_is_damage(path: Path, sweep: Plan) -> None:
    (path / FILE).write_bytes(b"")
    before = (path / SUMS).read_bytes()
    with pytest.raises(InputError, match=r"is damaged: sweep\.sqlite is empty, and the arrays are there"):
        execute(sweep, path)
    assert (path / SUMS).read_bytes() == before


def test_a_lock_that_is_none_is_named(half: Path, sweep: Plan) -> None:
    (half / LOCK).write_bytes(bytes(range(256)) * 16)
    with pytest.raises(InputError, match=r"cannot be locked: lock\.sqlite: .*; lock\.sqlite may be deleted"):
        execute(sweep, half)


@pytest.mark.parametrize("name", [f"{FILE}-journal", LOCK])
def test_a_pipe_in_place_of_a_file_is_not_waited_for(half: Path, sweep: Plan, name: str, tmp_path: Path) -> None:
    (half / name).unlink(missing_ok=True)
    os.mkfifo(half / name)
    for use in (lambda: write_table(half, tmp_path / "a.csv"), lambda: execute(sweep, half)):
        with pytest.raises(InputError, match=r"(store of|something else than) a sweep"):
            use()


def forgetting(sweep: Plan, path: Path) -> None:
    """Make what failed run again, but run nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("btflow.sweeps.api.run_missing", lambda *_: None)
        patch.setattr(Store, "write_arrays", lambda _: None)
        api.execute(sweep, path, Running(jobs=1, retry_failed=True), resume=True, durable=False)


def test_a_forgotten_swarm_looks_like_one_that_never_ran(sweep: Plan, path: Path, content: xr.Dataset) -> None:
    """Every array is blank there; the others are as they were."""
    forgetting(sweep, path)
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


@pytest.mark.slow
def test_failures_may_be_half_forgotten(sweep: Plan, path: Path, content: xr.Dataset) -> None:
    """Whatever transaction it ends at, no swarm has failed without a reason, and none that is done is lost."""
    for last in (0, 1):
        with breaking_off(last):
            forgetting(sweep, path)
        found = read(path)
        assert ((found.status == 2) <= (found.failure != "")).all()
        assert (found.status == 1).sum() == 6
        assert execute(sweep, path) == (6, 6)
        assert bits(read(path)).identical(content)


def deep(file: Path) -> None:
    file.write_text("[" * 100_000)


def endless(file: Path) -> None:
    file.unlink()
    file.symlink_to("/dev/zero")


def silent(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def huge(file: Path) -> None:
    """Declare a length without end, or have a file of one: nothing of it is on the disk."""
    text = file.read_text(errors="replace")
    file.write_text(re.sub(r'("(chunk_)?shape": \[)\s*\d+', r"\1 999999999999", text))
    os.truncate(file, file.stat().st_size if "999999999999" in file.read_text(errors="replace") else 2**40)


@pytest.mark.slow
@pytest.mark.parametrize("alone", [False, True])
def test_a_damaged_store_is_one_error_or_what_was_written(
    alone: bool, whole: Path, content: xr.Dataset, tmp_path: Path
) -> None:
    """Whatever happens to any of its files, with its database or alone."""
    rng, found, path = random.Random(7), Counter[str](), Path(shutil.copytree(whole, tmp_path / "a.zarr"))
    if alone:
        (path / FILE).unlink()
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.name != LOCK)
    names = [file for file in files if file.parent == path] * 11 + rng.sample(files, 99)
    for number, name in enumerate(names):
        before = name.read_bytes()
        (*DAMAGE, halve, deep, endless, silent, folder, huge)[number % 11](name)
        try:
            assert bits(btflow.open_sweep(path).load()).identical(content), name
            found["same"] += 1
        except (InputError, OSError) as error:  # the latter of SQLite, for what is no file of it
            assert "\n" not in str(error)
            found["refused"] += 1
        shutil.rmtree(name) if name.is_dir() and not name.is_symlink() else name.unlink(missing_ok=True)
        name.write_bytes(before)
    assert found["refused"] > 60
    assert bits(btflow.open_sweep(path).load()).identical(content)


def test_files_of_others_are_left_alone(sweep: Plan, path: Path, content: xr.Dataset) -> None:
    """In the store, whatever is written again."""
    (path / "notes.txt").write_text("mine")
    (path / "mine").mkdir()
    (path / "completion_mean" / "c" / "0" / "0" / "0").unlink()
    assert execute(sweep, path) == (6, 6)
    assert bits(read(path)).identical(content)
    assert (path / "notes.txt").read_text() == "mine"
    assert (path / "mine").is_dir()
