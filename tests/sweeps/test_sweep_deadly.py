"""Swarms that take their workers down: the task is divided, the one swarm recorded, and few workers are lost."""

from __future__ import annotations

import errno
import os
import signal
import time
from concurrent.futures import Future
from dataclasses import dataclass, replace
from multiprocessing import forkserver
from pathlib import Path

import psutil
import pytest
from dask_made import local
from sweep_made import UNITS, bits, planned, read, small_tasks, tiny

from btflow import sweep
from btflow.errors import SimulationError
from btflow.swarm.replica import Floats, Replica
from btflow.sweeps import api, executor, runs
from btflow.sweeps.executor import Processes, WorkerDiedError
from btflow.sweeps.plan import Plan
from btflow.sweeps.results import Part
from btflow.sweeps.running import Progress, Running, drive
from btflow.sweeps.runs import Job, Task
from btflow.sweeps.store import Store, opened
from btflow.sweeps.swarm_figures import Peers, Statistics

DEADLY = 3
"""Number of a swarm that takes its worker down, in a task with others."""


class OneByOne:
    """Runs tasks where they are submitted; dies of one swarm."""

    def __init__(self, job: Job, tries: int) -> None:
        self.tries, self._job = tries, job
        self.died_of: list[range] = []

    def workers(self) -> int:
        return 1

    def submit(self, task: Task) -> Future[Part]:
        future: Future[Part] = Future()
        if task.first <= DEADLY < task.end:
            self.died_of.append(range(task.first, task.end))
            future.set_exception(WorkerDiedError("it was killed"))
        else:
            future.set_result(replace(runs.run(self._job, task, lambda: False), elapsed=1e-3))
        return future

    def result(self, future: Future[Part]) -> Part:
        return future.result()

    def stop(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.mark.parametrize("tries", [1, 2])
def test_a_task_is_divided_before_a_swarm_is_tried_as_often_as_its_pool_allows(tries: int, tmp_path: Path) -> None:
    made = planned()
    pool, path = OneByOne(made.job, tries), tmp_path / "a.zarr"
    with opened(path, made, resume=False) as store:
        drive(made, store, pool, Progress(UNITS, 0, 0), UNITS)
    together, *alone = pool.died_of
    assert len(together) > 1
    assert alone == [range(DEADLY, DEADLY + 1)] * tries
    found = read(path)
    assert found.status.values.ravel().tolist() == [2 if unit == DEADLY else 1 for unit in range(UNITS)]
    assert found.failure.values.ravel()[DEADLY] == "it was killed"


def server() -> int:
    """Return the number of the process that starts the others, 0 if there is none."""
    number = int(getattr(forkserver, "_forkserver")._forkserver_pid or 0)  # noqa: B009  # not in the types
    return number if psutil.pid_exists(number) else 0


@pytest.mark.slow
@pytest.mark.parametrize("workers", [False, True])
def test_a_sweep_goes_on_when_its_fork_server_is_killed(
    workers: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed once it has started a process, while swarms run, and when the last is kept; its processes too.

    They are in the midst of swarms then: one that is killed while it takes a task loses that (a limit of pebble's).
    """
    small_tasks(monkeypatch)
    made, kept, submitted, killed = planned(tiny(leechers=100, file_size="5 MB")), [], [], set[int]()
    keep, submit = Store.add, Processes.submit

    def kill() -> None:
        time.sleep(0.1)
        if number := server():  # none while another is being started
            killed.add(number)
            children = [child.pid for child in psutil.Process(number).children()] if workers else []
            for process in [number, *children]:
                os.kill(process, signal.SIGKILL)

    def submitting(self: Processes, task: Task) -> Future[Part]:
        future = submit(self, task)
        submitted.append(self)
        if len(submitted) == 1:
            kill()
        return future

    def add(self: Store, part: Part) -> None:
        keep(self, part)
        kept.append(part.count)
        if sum(kept) in (UNITS // 3, UNITS // 2, UNITS):
            kill()

    monkeypatch.setattr(Store, "add", add)
    monkeypatch.setattr(Processes, "submit", submitting)
    assert api.execute(made, tmp_path / "a.zarr", Running(jobs=2, backend="processes")) == (UNITS, 0)
    assert len(killed) >= 1 + workers  # alone it is not missed
    monkeypatch.undo()
    api.execute(made, tmp_path / "b.zarr", Running(jobs=1, backend="threads"))
    assert bits(read(tmp_path / "a.zarr")).identical(bits(read(tmp_path / "b.zarr")))


def test_where_no_process_can_be_started_the_sweep_ends_and_no_swarm_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(executor._Process, "start", refused)
    with pytest.raises(SimulationError, match=r"cannot be started.*Resource temporarily unavailable; ulimit"):
        api.execute(planned(), tmp_path / "a.zarr", Running(jobs=2, backend="processes"))
    assert (read(tmp_path / "a.zarr").status == 0).all()


@dataclass(frozen=True)
class Deadly(Statistics):
    """Statistics by which swarms of four peers are the death of their process, which writes its end down first."""

    deaths: Path = Path()

    def of(self, common: Peers, row: Replica) -> Floats:
        if common.seeds.size == 4:
            with self.deaths.open("a") as file:
                file.write(".")
            os.kill(os.getpid(), signal.SIGKILL)
        return super().of(common, row)


def deadly(folder: Path, leechers: list[int]) -> tuple[Plan, Path]:
    """Return a sweep with swarms of four peers, and the file that has a point for each death."""
    made, deaths = planned(vary={"leechers": leechers}, replicas=1), folder / "deaths"
    of = made.job.statistics
    return replace(made, job=replace(made.job, statistics=Deadly(of.classes, of.linked, deaths=deaths))), deaths


@pytest.mark.slow
def test_a_swarm_that_kills_its_process_is_recorded_and_the_others_go_on(tmp_path: Path) -> None:
    (made, deaths), path = deadly(tmp_path, [2, 3, 4, 5]), tmp_path / "a.zarr"
    assert api.execute(made, path, Running(jobs=2, backend="processes")) == (3, 1)
    found, alone = read(path), sweep(tiny(), {"leechers": [2, 3, 4, 5]}, jobs=1, progress=False)
    assert found.status.values.ravel().tolist() == [1, 2, 1, 1]
    assert "SIGKILL" in str(found.failure.values[1, 0])
    others = [0, 2, 3]
    assert found.completion_mean[others].identical(alone.completion_mean[others])
    assert 2 <= len(deaths.read_text()) <= 3  # a task of several is divided first


@pytest.mark.slow
def test_a_deadly_swarm_takes_no_more_workers_down_than_are_forgiven(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only worker is started anew by its nanny, at another address each time; one is forgiven, to save time."""
    monkeypatch.setattr("btflow.sweeps.dask.FORGIVEN", 1)
    (made, deaths), path = deadly(tmp_path, [3]), tmp_path / "a.zarr"
    with local(1) as client:
        assert api.execute(made, path, Running(client=client)) == (0, 1)
    assert deaths.read_text() == ".."
    assert "went away" in str(read(path).failure.values.ravel()[0])
