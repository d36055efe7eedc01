"""Swarms that take their workers down: the task is divided, the one swarm recorded, and few workers are lost."""

from __future__ import annotations

import os
import signal
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from dask_made import local
from sweep_made import UNITS, planned, read, tiny

from btflow.swarm.replica import Floats, Replica
from btflow.sweeps import api, runs
from btflow.sweeps.executor import WorkerDiedError
from btflow.sweeps.results import Part
from btflow.sweeps.running import Progress, Running, drive
from btflow.sweeps.runs import Job, Task
from btflow.sweeps.store import opened
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
    with opened(path, made, resume=False, durable=False) as store:
        drive(made, store, pool, Progress(UNITS, 0, 0), UNITS)
    together, *alone = pool.died_of
    assert len(together) > 1
    assert alone == [range(DEADLY, DEADLY + 1)] * tries
    found = read(path)
    assert found.status.values.ravel().tolist() == [2 if unit == DEADLY else 1 for unit in range(UNITS)]
    assert found.failure.values.ravel()[DEADLY] == "it was killed"


@dataclass(frozen=True)
class Deadly(Statistics):
    """Statistics that are the death of their process, which writes its end down first."""

    deaths: Path = Path()

    def of(self, common: Peers, row: Replica) -> Floats:
        with self.deaths.open("a") as file:
            file.write(".")
        os.kill(os.getpid(), signal.SIGKILL)
        return super().of(common, row)


@pytest.mark.slow
def test_a_deadly_swarm_takes_no_more_workers_down_than_are_forgiven(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only worker is started anew by its nanny, at another address each time; one is forgiven, to save time."""
    monkeypatch.setattr("btflow.sweeps.dask.FORGIVEN", 1)
    made, deaths, path = planned(tiny(), vary={"rtt": "0ms"}, replicas=1), tmp_path / "deaths", tmp_path / "a.zarr"
    statistics = made.job.statistics
    deadly = Deadly(statistics.classes, statistics.linked, deaths=deaths)
    made = replace(made, job=replace(made.job, statistics=deadly))
    with local(1) as client:
        assert api.execute(made, path, Running(client=client)) == (0, 1)
    assert deaths.read_text() == ".."
    assert "went away" in str(read(path).failure.values.ravel()[0])
