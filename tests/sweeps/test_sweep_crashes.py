"""Whatever ends a sweep, its store opens and goes on to the same bits: SIGKILL, a full disk, Ctrl-C, a long sweep."""

from __future__ import annotations

import errno
import gc
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import psutil
import pytest
import xarray as xr
from sweep_made import bits, finished, planned, read, start, sweep_args
from sweep_stopped import wait_for_a_part

from btflow.sweeps import api, runs
from btflow.sweeps.plan import Plan
from btflow.sweeps.running import Running
from btflow.sweeps.store import opened
from validation.served import PATIENCE

KILLS = 12
"""Processes that are killed, all but two at most before they have finished."""

REPLICAS = 240
"""Of each of the eight points that they run: 1,920 swarms, of which a process that is killed has time for 250."""

VARY: dict[Any, object] = {"rtt": ["0 ms", "20 ms", "40 ms", "60 ms"], "upload_limit": "20 kB/s,50 kB/s"}


SWEEP: dict[str, Any] = {"vary": VARY, "replicas": 24}


def execute(path: Path, made: Plan) -> tuple[int, int]:
    return api.execute(made, path, Running(jobs=2), resume=True)


@pytest.fixture(scope="module")
def small_chunks() -> Iterator[None]:
    """Write the arrays in many chunks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("btflow.sweeps.dataset.CHUNK_RUNS", 48)
        yield


@pytest.fixture(scope="module")
def whole(small_chunks: None, tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    """Return the dataset of the sweep run without a break."""
    assert small_chunks is None
    path = tmp_path_factory.mktemp("whole") / "a.zarr"
    assert execute(path, planned(**SWEEP)) == (192, 0)
    return bits(read(path))


@pytest.mark.slow
@pytest.mark.usefixtures("small_chunks")
def test_a_process_killed_many_times_at_random_leaves_a_store_that_opens_and_resumes(tmp_path: Path) -> None:
    """The processes are forked, so that they are killed while they make, write and merge, not while they import."""
    made = planned(vary=VARY, replicas=REPLICAS, fidelity="flow", check=8)
    path, rng = tmp_path / "a.zarr", random.Random(7)
    fork = multiprocessing.get_context("fork")
    killed, seen = 0, [0]
    for _ in range(KILLS):
        process = fork.Process(target=execute, args=(path, made))
        process.start()
        _wait(process, path, rng)
        process.kill()
        process.join()
        killed += process.exitcode == -signal.SIGKILL
        seen.append(finished(path))
    assert seen == sorted(seen)
    assert len(set(seen)) >= 4  # they did not only begin
    assert killed >= KILLS - 2
    whole = tmp_path / "whole.zarr"
    assert execute(path, made) == (made.units, 0)
    assert api.execute(made, whole, Running(jobs=2)) == (made.units, 0)
    assert bits(read(path)).identical(bits(read(whole)))
    assert sorted(os.listdir(tmp_path)) == ["a.zarr", "whole.zarr"]
    assert not list(path.rglob("*.partial"))


def _wait(process: BaseProcess, path: Path, rng: random.Random) -> None:
    """Wait for a time at random after the process has finished a number of swarms at random, none among them."""
    swarms, before = rng.choice([0, 1, 40, 80]), finished(path)
    while finished(path) - before < swarms and process.is_alive():
        time.sleep(0.005)
    time.sleep(rng.uniform(0.0, 0.02 if swarms else 0.3))


MOUNTED = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[1], sys.argv[1].replace("sweeps", "helpers")
import test_sweep_crashes
test_sweep_crashes.fill(Path(sys.argv[2]))
"""


@pytest.mark.slow
def test_a_full_disk_loses_nothing_that_was_finished(tmp_path: Path) -> None:
    """In a process that sees mounts of its own, for which some systems want no rights; without, root may mount."""
    program = [sys.executable, "-c", MOUNTED, str(Path(__file__).parent), str(tmp_path)]
    alone = ["unshare", "-rm"]
    if shutil.which("unshare") is None or not _mounts(alone, tmp_path):
        alone = []
        if not _mounts(alone, tmp_path):
            pytest.skip("no filesystem can be mounted")
    done = subprocess.run([*alone, *program], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr


def _mounts(alone: list[str], folder: Path) -> bool:
    """Return whether a process can mount a filesystem, and unmount it."""
    if shutil.which("mount") is None:
        return False
    tried = [*alone, "sh", "-c", 'mount -t tmpfs -o size=100k tmpfs "$0" && umount "$0"', str(folder)]
    return subprocess.run(tried, capture_output=True).returncode == 0


def fill(folder: Path) -> None:
    """Sweep on a filesystem that has room for the store, for more and more of its parts, and at last for all."""
    made, size, outcomes = planned(**SWEEP), 20, list[int]()
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as other:
        patch.setattr("btflow.sweeps.running.GROWTH", 1.0)  # many tasks
        whole, path = Path(other, "a.zarr"), folder / "a.zarr"
        assert execute(whole, made) == (192, 0)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", folder], check=True)
        try:
            while not _fits(path, made):
                outcomes.append(finished(path) if path.exists() else -1)
                assert path.exists() or os.listdir(folder) == []
                size += 40
                subprocess.run(["mount", "-o", f"remount,size={size}k", folder], check=True)
            assert outcomes[0] == -1
            assert sorted(outcomes) == outcomes
            assert len({done for done in outcomes if done >= 0}) >= 3  # task by task
            assert bits(read(path)).identical(bits(read(whole)))
        finally:
            gc.collect()  # datasets that were opened there
            subprocess.run(["umount", folder], check=True)


def _fits(path: Path, made: Plan) -> bool:
    """Run the sweep and return whether the disk had room for it."""
    try:
        assert execute(path, made) == (192, 0)
    except OSError as error:
        assert error.errno == errno.ENOSPC
        return False
    return True


def test_a_file_that_may_not_grow_loses_nothing_either(whole: xr.Dataset, tmp_path: Path) -> None:
    """As a quota: no file may be larger than a limit, so that the database cannot grow."""
    path, made = tmp_path / "a.zarr", planned(**SWEEP)
    execute_some(path, made)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
        with pytest.raises(OSError, match="disk I/O error"):
            execute(path, made)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    read(path)
    assert execute(path, made) == (192, 0)
    assert bits(read(path)).identical(whole)


def execute_some(path: Path, made: Plan) -> None:
    """Run the first units alone."""

    with opened(path, made) as store:
        store.add(runs.run(made.job, made.task(0, 10), lambda: False))


@pytest.mark.slow
def test_a_killed_program_leaves_no_processes_behind(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    process = start(*sweep_args(path, "--replicas", "100000", "--backend", "processes", "--jobs", "2"))
    wait_for_a_part(process, path)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.communicate()
    assert workers
    assert psutil.wait_procs(workers, timeout=PATIENCE)[1] == []


MEMORY = """
import sys
import tracemalloc
sys.path[:0] = sys.argv[1], sys.argv[1].replace("sweeps", "helpers")
from pathlib import Path
import numpy as np
import btflow
from btflow.benchmarks.memory import watched
from btflow.sweeps import api
from btflow.cli import sweep
from btflow.sweeps import runs
from btflow.sweeps.running import Running
from no_clock import calls
from sweep_made import planned

path, backend, points, kind = Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5]
made_up = kind != "real"

def run(job, task, stopping, budget=0.0):
    part = job.shape.empty(task.first, task.count)
    part.status[:] = 1
    for number in range(task.count if kind == "failures" else 0):
        part.fail(number, f"for the reason {'abcdefghij'[(task.first + number) % 10]}".ljust(200, "."))
    part.values[:] = np.arange(task.first, task.end)[:, None] + np.linspace(0, 1, job.shape.row)
    return part

if made_up:
    runs.run = run
vary = {"rtt": f"lin(0 ms, 1 s, {points})", "upload_limit": "lin(10 kB/s, 100 kB/s, 20)"}
made = planned(vary=vary, replicas=10)
with watched() as peak:
    found = api.execute(made, path, Running(jobs=2, backend=backend))
assert found == ((0, 200 * points) if kind == "failures" else (200 * points, 0))
if made_up:
    with calls(10 * 200 * points):
        assert api.execute(made, path, Running(jobs=2, backend=backend), resume=True) == found
    assert float(btflow.open_sweep(path).completion_mean[-1, -1, -1]) == 200 * points - 1
if kind == "failures":
    tracemalloc.start()
    assert list(sweep._causes(path).values()) == [20 * points] * 3
    took = tracemalloc.get_traced_memory()[1]
    assert took < 5e6, f"to count why swarms failed took {took / 1e6} MB"
print(peak.bytes // 10**6)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "points", "kind"),
    [("threads", 500, "made up"), ("threads", 500, "failures"), ("threads", 10, "real"), ("processes", 10, "real")],
)
def test_a_hundred_thousand_swarms_take_less_than_a_gigabyte(
    backend: str, points: int, kind: str, tmp_path: Path
) -> None:
    """Most are made up, all else is real: tasks, rows, arrays. Of real ones it is a fiftieth."""
    path = tmp_path / "a.zarr"
    program = [sys.executable, "-c", MEMORY, str(Path(__file__).parent), str(path), backend, str(points), kind]
    done = subprocess.run(program, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 1000  # MB
    assert len([file for file in path.rglob("*") if file.is_file()]) < 100 * 45
