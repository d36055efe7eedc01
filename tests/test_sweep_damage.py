"""A store of which something was deleted or changed: found, said, and run again; never taken for whole."""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from sweep_made import bits, breaking_off, read, sweep_args, tiny

from btflow import InputError
from btflow.analysis.table import write_table
from btflow.cli import app
from btflow.sweeps import api, work
from btflow.sweeps.cells import cells
from btflow.sweeps.parts import Part
from btflow.sweeps.paths import check_path
from btflow.sweeps.plan import Plan
from btflow.sweeps.running import Running
from btflow.sweeps.sound import check, sound
from btflow.sweeps.store import open_store
from btflow.sweeps.table import declaration

VARY = {"rtt": ["0 ms", "50 ms", "100 ms"], "seed_as": "none,AS1"}  # with AS1 every swarm fails
UNITS = 12


def delete(file: Path) -> None:
    file.unlink()


def empty(file: Path) -> None:
    file.write_bytes(b"")


def shorten(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def lengthen(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"more")


def flip(file: Path, at: int = 7919, bit: int = 3) -> None:
    content = bytearray(file.read_bytes())
    content[at % len(content)] ^= 1 << bit
    file.write_bytes(content)


def reshape(file: Path) -> None:
    """Change what a file of metadata says of the chunks."""
    file.write_text(file.read_text().replace('"chunk_shape"', '"chunk_sharp"'))


DAMAGE: tuple[Callable[[Path], None], ...] = (delete, empty, shorten, lengthen, flip)


@pytest.fixture(scope="module", autouse=True)
def small_cells() -> Iterator[None]:
    """Divide the sweep into cells of a point each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("btflow.sweeps.cells.MOST_UNITS", 2)
        yield


@pytest.fixture(scope="module")
def sweep() -> Plan:
    scenario = tiny()
    said = declaration(VARY, {}, "vary", replicas=2)
    return api.declare(scenario.document, scenario.given, said, keep=["peers", "series"])


@pytest.fixture(scope="module")
def whole(sweep: Plan, small_cells: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with all in it."""
    assert small_cells is None
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


def execute(made: Plan, path: Path) -> tuple[int, int]:
    return api.execute(made, path, Running(jobs=1), resume=True)


def chunks(path: Path) -> list[Path]:
    return sorted(file for file in path.glob("*/c/**/*") if file.is_file())


def test_every_chunk_has_a_file(whole: Path, sweep: Plan) -> None:
    """One for each cell and array, though most are blank where swarms failed; one for each coordinate."""
    found = sound(whole, "out")
    assert cells(sweep.shape, sweep.job.shape.bytes).count == 6
    labels = set(read(whole).coords) - {"failure"}
    assert len(chunks(whole)) == 6 * (len(found.arrays) - len(labels)) + len(labels)
    check(whole, "out")


def reads_as(path: Path, content: xr.Dataset) -> bool:
    try:
        return bool(bits(read(path)).identical(content))
    except (OSError, RuntimeError, ValueError):
        return False


HARMLESS = ((4, 4), (4, 5))
"""Byte and bit: not used; says whether the next byte tells a size or how much memory to take (RFC 8878, 3.1.1.1.1)."""


@settings(max_examples=100)
@given(data=st.data())
def test_any_damage_of_any_chunk_is_found(data: st.DataObject, whole: Path, content: xr.Dataset) -> None:
    """Each bit matters; of two in a chunk's header it does if what is read changes."""
    file = data.draw(st.sampled_from(chunks(whole)))
    before = file.read_bytes()
    kind = data.draw(st.sampled_from([*DAMAGE, None]))
    place = data.draw(st.tuples(st.integers(0, len(before) - 1), st.integers(0, 7))) if kind is None else None
    try:
        if place is not None:
            flip(file, *place)
        elif kind is not None:
            kind(file)
        if place in HARMLESS and reads_as(whole, content):
            return
        with pytest.raises(InputError) as caught:
            sound(whole, "STORE").check("STORE")
        assert str(file.relative_to(whole)) in str(caught.value)
    finally:
        file.write_bytes(before)


def test_what_is_damaged_runs_again(
    sweep: Plan, path: Path, content: xr.Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    """Six times one to three files at random, of one or several cells."""
    rng = random.Random(5)
    for number in range(6):
        bad = rng.sample(chunks(path), 1 + number % 3)
        for file in bad:
            rng.choice(DAMAGE)(file)
        assert execute(sweep, path) == (6, 6)
        said = capsys.readouterr().err
        assert said.count("\n") <= 1
        if any(file.parent.parent.parent.parent.name == "completion_mean" for file in bad):
            assert "swarms run again" in said
        assert bits(read(path)).identical(content)
        check(path, "out")
        assert read(path).attrs["complete"] == 1


def forgetting(sweep: Plan, path: Path) -> None:
    """Make what failed run again, but run nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("btflow.sweeps.drive.drive", lambda *_: None)
        api.execute(sweep, path, Running(jobs=1, retry_failed=True), resume=True)


def test_damage_is_said_of_a_sweep_whose_failures_run_again(
    sweep: Plan, path: Path, content: xr.Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a cell that was done, and in one that had failed."""
    for cell in (("1", "0", "0"), ("1", "1", "0")):
        file = path.joinpath("completion_mean", "c", *cell)
        flip(file)
        assert api.execute(sweep, path, Running(jobs=1, retry_failed=True), resume=True) == (6, 6)
        assert capsys.readouterr().err == f"btflow: {file} was missing or damaged: 2 swarms run again\n"
        assert bits(read(path)).identical(content)


def test_a_forgotten_swarm_looks_like_one_that_never_ran(sweep: Plan, path: Path, content: xr.Dataset) -> None:
    """Every array has what it was made with, but for the seed, which is the point's; the others are as they were."""
    forgetting(sweep, path)
    found = read(path)
    assert found.attrs["complete"] == 0
    failed = content.status.values == 2
    assert failed.sum() == 6
    for name in sound(path, "out").blocks[""]:
        array = zarr.open_group(path, mode="r")[name]
        assert isinstance(array, zarr.Array)
        values = np.asarray(array[...])
        if name == "seed":
            assert np.array_equal(values, content.seed)
            continue
        blank = np.full_like(values[failed], array.fill_value)
        assert np.array_equal(values[failed], blank, equal_nan=values.dtype.kind == "f"), name
        if name != "cpu_s":
            kept = content[name].values[~failed]
            assert np.array_equal(values[~failed], kept, equal_nan=values.dtype.kind == "f"), name
    check(path, "out")
    with open_store(path, sweep, resume=True) as store:
        assert store.counts() == (6, 0)
        assert store.lost.file is None
        assert list(store.pending()) == [range(first, first + 2) for first in (2, 6, 10)]


def test_failures_may_be_half_forgotten(sweep: Plan, path: Path, content: xr.Dataset) -> None:
    """Whatever write it ends at, no swarm has failed without a reason, and none that is done is lost."""
    for last in (0, 1, 2, 20, 60):
        with breaking_off(last):
            forgetting(sweep, path)
        found = read(path)
        assert ((found.status == 2) <= (found.failure != "")).all()
        assert (found.status == 1).sum() == 6
        assert execute(sweep, path) == (6, 6)
        assert bits(read(path)).identical(content)


def test_a_store_that_is_complete_but_for_a_chunk_is_not_complete(sweep: Plan, path: Path) -> None:
    """A file of figures was deleted: its cell's status goes before anything runs, so that no NaN is a figure."""
    (path / "completion_mean" / "c" / "1" / "0" / "0").unlink()
    with open_store(path, sweep, resume=True) as store:
        assert store.lost.swarms == 2
        assert store.lost.file == path / "completion_mean" / "c" / "1" / "0" / "0"
        assert list(store.pending()) == [range(4, 6)]
        found = read(path)
        assert found.attrs["complete"] == 0
        assert (found.status == 0).values.ravel().nonzero()[0].tolist() == [4, 5]
        assert np.isnan(found.completion_mean[1, 0]).all()
        assert store.counts() == (4, 6)


def test_a_status_that_was_deleted_before_the_end_means_not_run(
    sweep: Plan, tmp_path: Path, content: xr.Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.zarr"
    with open_store(path, sweep) as store:
        list(store.pending())
        for first in (0, 2):
            store.add(work.run(sweep.job, sweep.task(first, 2), lambda: False, 60.0))
        store.flush()
    delete(path / "status" / "c" / "0" / "0" / "0")
    assert write_table(path, tmp_path / "a.csv") == UNITS
    assert (tmp_path / "a.csv").read_text().count("pending") == 10
    assert execute(sweep, path) == (6, 6)
    assert capsys.readouterr().err == ""
    assert bits(read(path)).identical(content)


def test_labels_and_seeds_are_made_again_without_a_run(
    sweep: Plan, path: Path, content: xr.Dataset, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("something was run")

    monkeypatch.setattr("btflow.sweeps.drive.drive", never)
    for file in (path / "rtt" / "c" / "0", path / "peer_class" / "c" / "0", path / "seed" / "c" / "1" / "1"):
        for damage in (delete, flip):
            damage(file)
            assert execute(sweep, path) == (6, 6)
            assert bits(read(path)).identical(content)
    assert capsys.readouterr().err == ""


def test_a_part_of_a_sweep_is_checked_too(sweep: Plan, tmp_path: Path, content: xr.Dataset) -> None:
    path = tmp_path / "a.zarr"
    with open_store(path, sweep) as store:
        list(store.pending())
        for first, count in ((0, 2), (2, 2), (4, 1)):
            store.add(work.run(sweep.job, sweep.task(first, count), lambda: False, 60.0))
        store.flush()
    check(path, "out")  # half of the third cell is there
    assert write_table(path, tmp_path / "a.csv") == UNITS
    assert (tmp_path / "a.csv").read_text().count("pending") == 7
    flip(path / "unchokes" / "c" / "1" / "0" / "0")
    with open_store(path, sweep, resume=True) as store:
        assert store.lost.swarms == 1
        assert store.counts() == (2, 2)
    assert execute(sweep, path) == (6, 6)
    assert bits(read(path)).identical(content)


def test_a_codec_that_nobody_knows_is_one_error(
    sweep: Plan, path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = path / "zarr.json"
    file.write_text(file.read_text().replace('"zstd"', '"zsTd"'))
    with pytest.raises(InputError, match=r"is damaged: zarr\.json"):
        execute(sweep, path)
    with pytest.raises(InputError):
        write_table(path, tmp_path / "a.csv")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("damage", DAMAGE[:3] + DAMAGE[4:])  # what comes after the end of a part changes nothing
@pytest.mark.parametrize("last", [False, True])
def test_a_part_that_is_damaged_while_the_sweep_runs_is_said(
    sweep: Plan, tmp_path: Path, content: xr.Dataset, damage: Callable[[Path], None], *, last: bool
) -> None:
    """Whether its cell is merged since it is whole, or at the end; what else was finished is kept."""
    path = tmp_path / "a.zarr"
    with open_store(path, sweep) as store:
        list(store.pending())
        for first in (0, 2, 4):
            store.add(work.run(sweep.job, sweep.task(first, 1), lambda: False, 60.0))
        damage(path / ".journal" / "0-0-1.part")
        with pytest.raises(OSError, match=r"\.journal/0-0-1\.part was damaged or deleted .* --resume") as caught:
            store.flush() if last else store.add(work.run(sweep.job, sweep.task(1, 1), lambda: False, 60.0))
        assert caught.value.filename == str(path)
        store.flush()  # as a sweep does in the end, whatever happens
        assert sum(store.counts()) == 2 + (not last)
    assert execute(sweep, path) == (6, 6)
    assert bits(read(path)).identical(content)


def test_a_sweep_whose_parts_go_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from btflow.sweeps.journal import Journal

    add = Journal.add

    def lose(self: Journal, cell: int, part: Part) -> None:
        add(self, cell, part)
        delete(self.files[cell][0])

    monkeypatch.setattr(Journal, "add", lose)
    monkeypatch.setattr(sys, "argv", ["btflow", *sweep_args(tmp_path / "b.zarr", "--jobs", "1")])
    with pytest.raises(SystemExit) as exit_:
        app.main()
    assert exit_.value.code == 1
    said = capsys.readouterr().err
    assert f"btflow: error: {tmp_path / 'b.zarr'}: .journal/" in said
    assert "was damaged or deleted while the sweep ran; --resume" in said


@pytest.mark.parametrize("name", ["zarr.json", "rtt/zarr.json", "completion_mean/zarr.json", "status/zarr.json"])
@pytest.mark.parametrize("damage", [delete, empty, shorten, reshape])
def test_metadata_that_are_damaged_are_one_error(
    sweep: Plan, path: Path, name: str, damage: Callable[[Path], None], tmp_path: Path
) -> None:
    damage(path / name)
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    with pytest.raises(InputError) as caught:
        execute(sweep, path)
    assert "\n" not in str(caught.value)
    assert caught.value.value == str(path)
    assert name in str(caught.value) or "something else than a sweep" in str(caught.value)
    with pytest.raises(InputError):
        write_table(path, tmp_path / "a.csv")
    assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before


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


def test_files_of_others_are_left_alone(sweep: Plan, path: Path, content: xr.Dataset) -> None:
    """In the store, among the chunks and in the journal."""
    journal = path / ".journal"
    (journal / "folder.part").mkdir(parents=True)
    for file in ("notes.txt", "journal.part", "1-x-2.part", "99999999-1-1.part"):
        (journal / file).write_text("mine")
    (path / "status" / "c" / "notes").write_text("mine")
    (path / "status" / "c" / "77").mkdir()
    (path / "completion_mean" / "c" / "0" / "0" / "0").unlink()
    assert execute(sweep, path) == (6, 6)
    assert bits(read(path)).identical(content)
    assert {file.name for file in journal.iterdir()} == {
        *("folder.part", "notes.txt", "journal.part", "1-x-2.part", "99999999-1-1.part")
    }


@pytest.mark.parametrize("content", [None, "", "{}", "[]", '{"attributes": {}}'])
def test_a_store_without_its_own_metadata_is_called_damaged(whole: Path, tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "a.zarr"
    shutil.copytree(whole, path)
    (path / "zarr.json").unlink()
    if content is not None:
        (path / "zarr.json").write_text(content)
    with pytest.raises(InputError, match=r"is damaged: zarr\.json"):
        write_table(path, tmp_path / "a.csv")
    for resume in (True, False):
        with pytest.raises(InputError, match=r"the store of a sweep, damaged: zarr\.json"):
            check_path(path, resume)
    assert not (tmp_path / "a.csv").exists()
