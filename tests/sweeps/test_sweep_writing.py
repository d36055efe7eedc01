"""How a sweep writes to the disk, and that one process writes at a time."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from sweep_made import bits, breaking_off, read, tiny

from btflow import InputError
from btflow.sweeps import api
from btflow.sweeps.database import FILE
from btflow.sweeps.dataset import GROUP
from btflow.sweeps.declare import declaration, declare
from btflow.sweeps.plan import Plan
from btflow.sweeps.running import Running
from btflow.sweeps.runs import run
from btflow.sweeps.store import opened
from validation.served import PATIENCE


@pytest.fixture(scope="module")
def sweep() -> Plan:
    scenario = tiny()
    return declare(scenario.document, scenario.given, declaration({"rtt": "0 ms,50 ms"}, {}, "vary", replicas=3))


def test_a_task_is_on_the_disk_before_it_is_counted(sweep: Plan, tmp_path: Path) -> None:
    """SQLite is told so; there is no log beside it that a copy could lack. The next transaction keeps others out."""
    with opened(path := tmp_path / "a.zarr", sweep) as store:
        store.add(run(sweep.job, sweep.task(0, 2), lambda: False, 60.0))
        assert store.connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert store.connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert store.connection.in_transaction
        assert [file.name for file in path.iterdir()] == [FILE]


def test_failures_are_forgotten_in_one_transaction(sweep: Plan, tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    with opened(path, sweep) as store:
        part = run(sweep.job, sweep.task(0, 6), lambda: False, 60.0)
        part.fail(1, "made up")
        store.add(part)
        assert store.counts() == (5, 1)
        with breaking_off(0):
            store.forget_failures()
        assert (read(path).status == 2).sum() == 1
        store.forget_failures()
        assert store.counts() == (5, 0)
        assert list(store.pending()) == [range(1, 2)]
        assert read(path).failure.values.ravel().tolist() == [""] * 6


def _hold(path: Path, made: Plan, ready: Any) -> None:
    with opened(path, made, resume=True):
        ready.set()
        time.sleep(60)


@pytest.mark.parametrize("new", [True, False])
def test_another_process_that_writes_is_found(sweep: Plan, tmp_path: Path, new: bool) -> None:
    """Whether it has made the store or goes on with it; others may read. Its lock goes with it, however it ends."""
    path = tmp_path / "a.zarr"
    if not new:
        with opened(path, sweep):
            pass
    fork = multiprocessing.get_context("fork")
    ready = fork.Event()
    other = fork.Process(target=_hold, args=(path, sweep, ready), daemon=True)
    other.start()
    try:
        assert ready.wait(PATIENCE)
        with pytest.raises(InputError, match="is being written by another process"):
            api.execute(sweep, path, Running(jobs=1), resume=True)
        assert (read(path).status == 0).all()
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


@pytest.mark.slow
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
        outcomes = [said.get(timeout=PATIENCE) for _ in processes]
        for process in processes:
            process.join()
        told = [text for text in outcomes if isinstance(text, str)]
        assert all("another process" in text for text in told)
        assert set(outcomes) - set(told) == {(6, 0)}
        assert bits(read(path)).identical(bits(read(whole)))
    assert sorted(os.listdir(tmp_path)) == [*(f"{turn}.zarr" for turn in range(3)), "whole.zarr"]


def test_a_killed_process_leaves_a_transaction_that_is_taken_back(sweep: Plan, tmp_path: Path) -> None:
    """In the midst of its write, with part of the new pages in the database: whoever opens it next, also to read."""
    path, fork = tmp_path / "a.zarr", multiprocessing.get_context("fork")
    with opened(path, sweep) as store:
        store.add(run(sweep.job, sweep.task(0, 2), lambda: False, 60.0))
    before = read(path)
    process = fork.Process(target=_break_off, args=(path,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert (path / f"{FILE}-journal").stat().st_size > 0
    assert read(path).identical(before)
    assert not (path / f"{FILE}-journal").exists()
    assert api.execute(sweep, path, Running(jobs=1), resume=True) == (6, 0)


def _break_off(path: Path) -> None:
    connection = sqlite3.connect(path / FILE, isolation_level=None)
    connection.execute("PRAGMA cache_spill = 1")
    connection.execute("PRAGMA cache_size = 1")  # what is written goes to the file at once
    connection.execute("BEGIN")
    row = "INSERT INTO runs VALUES (?, 9, 1, '', 0.0, 0, ?)"
    connection.executemany(row, ((unit, bytes(10_000)) for unit in range(2, 6)))
    os.kill(os.getpid(), signal.SIGKILL)


def test_errors_of_the_disk_name_the_store(sweep: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite's own, and those of what writes the arrays."""
    path = tmp_path / "a.zarr"
    with opened(path, sweep) as store:
        (pages,) = store.connection.execute("PRAGMA page_count").fetchone()
        store.connection.execute(f"PRAGMA max_page_count = {pages}")
        large = sweep.job.shape.empty(0, 6)
        for number in range(6):
            large.fail(number, "for want of something" * 100)
        with pytest.raises(OSError, match="No space left") as caught:
            store.add(large)
        assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))
        assert store.counts() == (0, 0)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("btflow.sweeps.dataset._write_group", full)
        with pytest.raises(OSError, match="No space left") as caught:
            api.execute(sweep, path, Running(jobs=1), resume=True)
        assert caught.value.filename == str(path)
        assert not (path / GROUP).exists()
        assert (read(path).status == 1).all()
    assert api.execute(sweep, path, Running(jobs=1), resume=True) == (6, 0)
