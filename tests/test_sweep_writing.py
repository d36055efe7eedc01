"""The order in which a sweep writes to the disk, and that one process writes at a time."""

from __future__ import annotations

import errno
import fcntl
import multiprocessing
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from sweep_made import bits, read, tiny

from btflow import InputError
from btflow.sweeps import api, lock
from btflow.sweeps.journal import FOLDER
from btflow.sweeps.plan import Plan
from btflow.sweeps.running import Running
from btflow.sweeps.store import open_store
from btflow.sweeps.table import declaration
from btflow.sweeps.work import run


@pytest.fixture(scope="module")
def sweep() -> Plan:
    scenario = tiny()
    return api.declare(scenario.document, scenario.given, declaration({"rtt": "0 ms,50 ms"}, {}, "vary", replicas=3))


Event = tuple[str, str]


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """Record what is asked of the disk: (fsync, path), (rename, new path), (unlink, path)."""
    seen: list[Event] = []
    fsync, replace, unlink = os.fsync, os.replace, os.unlink

    def synced(descriptor: int) -> None:
        seen.append(("fsync", os.readlink(f"/proc/self/fd/{descriptor}")))
        fsync(descriptor)

    def replaced(old: Any, new: Any, **how: Any) -> None:
        made = ".partial/" in str(new)  # a new store, which is synced as a whole
        assert made or ("fsync", str(old)) in seen, f"{new} got its name before its content was on the disk"
        replace(old, new, **how)
        seen.append(("rename", str(new)))

    def unlinked(path: Any, **how: Any) -> None:
        unlink(path, **how)
        seen.append(("unlink", str(path)))

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    monkeypatch.setattr(os, "unlink", unlinked)
    return seen


def test_parts_go_when_their_cell_is_on_the_disk_and_the_status_comes_last(
    sweep: Plan, tmp_path: Path, events: list[Event]
) -> None:
    path = tmp_path.resolve() / "a.zarr"
    with open_store(path, sweep) as store:
        assert ("fsync", str(path.parent)) in events  # its name
        list(store.pending())
        for first in (0, 2):
            events.clear()
            store.add(run(sweep.job, sweep.task(first, 2), lambda: False, 60.0))
            (part,) = [name for what, name in events if what == "rename"]
            assert part.endswith(f"0-{first}-2.part")
            assert events[-1] == ("fsync", str(path / FOLDER))
        events.clear()
        store.flush()  # a cell that is not whole
        _check_merge(path, events)
        events.clear()
        store.add(run(sweep.job, sweep.task(4, 2), lambda: False, 60.0))
        _check_merge(path, events[events.index(("fsync", str(path / FOLDER))) + 1 :])
        events.clear()
        store.flush()
        assert events[-1] == ("fsync", str(path))
        assert ("rename", str(path / "zarr.json")) in events


def _check_merge(path: Path, events: list[Event]) -> None:
    """Every chunk was written, and its folder synced, before the status, that before any part was deleted."""
    named = [name for what, name in events if what == "rename"]
    arrays = {Path(name).relative_to(path).parts[0] for name in named}
    assert len(named) == len(arrays) >= 30
    assert Path(named[-1]).relative_to(path).parts[0] == "status"
    status = events.index(("rename", named[-1]))
    for name in named[:-1]:
        assert ("fsync", str(Path(name).parent)) in events[events.index(("rename", name)) : status]
    gone = [place for place, (what, name) in enumerate(events) if what == "unlink" and name.endswith(".part")]
    assert gone
    assert ("fsync", str(Path(named[-1]).parent)) in events[status : gone[0]]


def test_failures_are_forgotten_on_the_disk(sweep: Plan, tmp_path: Path, events: list[Event]) -> None:
    """That the sweep is not complete comes first, then the status, and then all that was known of what failed."""
    path = tmp_path.resolve() / "a.zarr"
    with open_store(path, sweep) as store:
        list(store.pending())
        part = run(sweep.job, sweep.task(0, 6), lambda: False, 60.0)
        part.fail(1, "made up")
        store.add(part)
        store.flush()
        events.clear()
        store.forget_failures()
        named = [name for what, name in events if what == "rename"]
        assert named[:2] == [str(path / "zarr.json"), str(path / "status" / "c" / "0" / "0")]
        assert str(path / "failure" / "c" / "0" / "0") in named[2:]
        for name in named:
            assert ("fsync", str(Path(name).parent)) in events[events.index(("rename", name)) :]
        events.clear()
        store.forget_failures()  # nothing has failed any more
        assert events == []


def test_what_a_killed_process_left_in_the_store_goes(sweep: Plan, tmp_path: Path) -> None:
    """Wherever it wrote; what others have put there stays."""
    path = tmp_path / "a.zarr"
    assert api.execute(sweep, path, Running(jobs=1)) == (6, 0)
    (path / FOLDER).mkdir()
    for folder in (path, path / "status" / "c" / "0", path / "rtt" / "c", path / FOLDER):
        for name in (".0123456789ab.partial", ".mine.partial"):
            (folder / name).write_text("half")
    assert api.execute(sweep, path, Running(jobs=1), resume=True) == (6, 0)
    assert {file.name for file in path.rglob("*.partial")} == {".mine.partial"}
    assert len(list(path.rglob("*.partial"))) == 4


def test_new_folders_are_on_the_disk_too(sweep: Plan, tmp_path: Path, events: list[Event]) -> None:
    path = tmp_path.resolve() / "a.zarr"
    with open_store(path, sweep) as store:
        assert ("fsync", str(path)) in events  # the name of the journal's folder
        list(store.pending())
        events.clear()
        store.add(run(sweep.job, sweep.task(0, 6), lambda: False, 60.0))
    for folder in ("completion_mean", "completion_mean/c", "completion_mean/c/0"):
        assert ("fsync", str(path / folder)) in events


def _hold(path: Path, made: Plan, ready: Any) -> None:
    with open_store(path, made, resume=True):
        ready.set()
        time.sleep(60)


@pytest.mark.parametrize("new", [True, False])
def test_another_process_that_writes_is_found(sweep: Plan, tmp_path: Path, new: bool) -> None:
    """Whether it has made the store or goes on with it; its lock goes with it, however it ends."""
    path = tmp_path / "a.zarr"
    if not new:
        with open_store(path, sweep):
            pass
    fork = multiprocessing.get_context("fork")
    ready = fork.Event()
    other = fork.Process(target=_hold, args=(path, sweep, ready), daemon=True)
    other.start()
    try:
        assert ready.wait(30)
        with pytest.raises(InputError, match="is being written by another process"):
            api.execute(sweep, path, Running(jobs=1), resume=True)
    finally:
        other.kill()
        other.join()
    assert api.execute(sweep, path, Running(jobs=1), resume=True) == (6, 0)


def _make(path: Path, made: Plan, barrier: Any, said: Any) -> None:
    barrier.wait()
    try:
        said.put(api.execute(made, path, Running(jobs=1), resume=True))
    except InputError as error:
        said.put(str(error))


def test_of_processes_that_begin_at_once_one_runs_and_the_others_are_told(sweep: Plan, tmp_path: Path) -> None:
    whole = tmp_path / "whole.zarr"
    api.execute(sweep, whole, Running(jobs=1))
    fork = multiprocessing.get_context("fork")
    for turn in range(3):
        path = tmp_path / f"{turn}.zarr"
        barrier, said = fork.Barrier(3), fork.Queue()
        processes = [fork.Process(target=_make, args=(path, sweep, barrier, said)) for _ in range(3)]
        for process in processes:
            process.start()
        outcomes = [said.get(timeout=60) for _ in processes]
        for process in processes:
            process.join()
        told = [text for text in outcomes if isinstance(text, str)]
        assert all("another process" in text for text in told)
        assert set(outcomes) - set(told) == {(6, 0)}
        assert bits(read(path)).identical(bits(read(whole)))
    assert sorted(os.listdir(tmp_path)) == [*(f"{turn}.zarr" for turn in range(3)), "whole.zarr"]


def test_what_a_killed_process_left_beside_the_path_goes(sweep: Plan, tmp_path: Path) -> None:
    left = tmp_path / ".a.zarr.0123456789ab.partial"
    others = [tmp_path / f".{name}.0123456789ab.partial" for name in ("b.zarr", "a.zarr.x.zarr", "a.zarr.0.zarr")]
    for folder in (left, *others):
        folder.mkdir()
        (folder / "zarr.json").write_text("{")
    with open_store(tmp_path / "a.zarr", sweep):
        pass
    assert sorted(os.listdir(tmp_path)) == sorted([*(other.name for other in others), "a.zarr"])


@pytest.mark.parametrize(("letter", "length"), [("a", 249), ("\u2192", 83)])
def test_what_is_left_of_a_store_of_a_long_name_goes_and_that_of_one_like_it_stays(
    sweep: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, letter: str, length: int
) -> None:
    """Both names are as long as names may be, and alike but for the last letter before the ending."""
    kept = []
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        for last in (letter, "b"):
            patch.setattr("btflow.sweeps.layout.create", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                open_store(tmp_path / f"{letter * (length - 1)}{last}.zarr", sweep).__enter__()
            kept += [name for name in os.listdir(tmp_path) if name not in kept]
    path = tmp_path / f"{letter * length}.zarr"
    with open_store(path, sweep):
        pass
    assert len(kept) == 2
    assert sorted(os.listdir(tmp_path)) == sorted([kept[1], path.name])


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_storage_without_locks_is_one_error(
    sweep: Plan, tmp_path: Path, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "lockf", refuse)
    with pytest.raises(InputError, match=r"cannot be locked: .*; allowed: a path on storage with file locks"):
        api.execute(sweep, tmp_path / "a.zarr", Running(jobs=1))
    assert os.listdir(tmp_path) == []


def test_the_lock_is_on_a_file_open_for_writing(tmp_path: Path) -> None:
    """As network storage wants it."""
    with lock.locked(tmp_path):
        opened = [Path(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if fd.isdecimal()]
        (mine,) = [fd for fd in opened if fd.exists() and fd.resolve() == (tmp_path / lock.FILE).resolve()]
        flags = int(Path(f"/proc/self/fdinfo/{mine.name}").read_text().split("flags:")[1].split()[0], 8)
        assert flags & os.O_ACCMODE == os.O_RDWR
        with pytest.raises(InputError, match="another process"), lock.locked(tmp_path):
            pass
    with lock.locked(tmp_path):
        pass


def test_a_store_that_is_removed_is_said_and_not_made_again(sweep: Plan, tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    with open_store(path, sweep) as store:
        list(store.pending())
        store.add(run(sweep.job, sweep.task(0, 2), lambda: False, 60.0))
        shutil.rmtree(path)
        with pytest.raises(FileNotFoundError, match=f"was removed while the sweep ran: '{path}'"):
            store.add(run(sweep.job, sweep.task(2, 4), lambda: False, 60.0))
        with pytest.raises(FileNotFoundError, match=f"was removed while the sweep ran: '{path}'"):
            store.flush()
        assert not path.exists()
    assert os.listdir(tmp_path) == []


def test_errors_of_the_disk_name_the_store(sweep: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "a.zarr"
    fsync = os.fsync
    with open_store(path, sweep) as store:
        list(store.pending())
        monkeypatch.setattr(os, "fsync", full)
        for first in (0, 2):
            with pytest.raises(OSError, match="No space left") as caught:
                store.add(run(sweep.job, sweep.task(first, 2), lambda: False, 60.0))
            assert caught.value.filename == str(path)
        monkeypatch.setattr(os, "fsync", fsync)
        assert not list(path.rglob("*.partial"))
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        open_store(tmp_path / "b.zarr", sweep).__enter__()
    assert caught.value.filename == str(tmp_path / "b.zarr")
    assert os.listdir(tmp_path) == ["a.zarr"]
