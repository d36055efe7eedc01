"""A Dask cluster whose workers come, go, and are of other versions."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest
from dask_made import local, worker
from no_clock import until
from sweep_made import UNITS, bits, planned, read, small_tasks

from btflow import InputError
from btflow.sweeps import api, dask
from btflow.sweeps.dask import Cluster, Workers, connect
from btflow.sweeps.executor import NotRunError, PoolLostError
from btflow.sweeps.plan import versions
from btflow.sweeps.results import Part
from btflow.sweeps.running import Running
from btflow.sweeps.store import Store
from validation.served import PATIENCE

CommClosedError: type[OSError] = pytest.importorskip("distributed.comm").CommClosedError


class Client:
    """A client of a cluster with one worker, which tells something when it is asked for its versions."""

    def __init__(self, told: dict[str, str] | Exception) -> None:
        self.told = told

    def nthreads(self) -> dict[str, int]:
        return {"tcp://w": 3}

    def run(self, function: object, workers: list[str], on_error: str) -> dict[str, object]:
        assert (function, workers, on_error) == (versions, ["tcp://w"], "return")
        return {"tcp://w": self.told}


def test_versions_of_workers_are_compared_before_any_work() -> None:
    here = versions()
    assert Workers(Client(here), "tcp://s").threads == {"tcp://w": 3}
    assert Workers(Client(OSError("it has gone")), "tcp://s").threads == {}
    for name in here:
        with pytest.raises(InputError, match=f"worker tcp://w has other versions: {name} 0.0 there, {here[name]} here"):
            Workers(Client(here | {name: "0.0"}), "tcp://s")
    with pytest.raises(InputError, match="worker tcp://w cannot run btflow: No module"):
        Workers(Client(ModuleNotFoundError("No module named 'btflow'")), "tcp://s")


def test_what_dask_raises_when_it_loses_the_scheduler_is_not_taken_for_the_store() -> None:
    """A plain OSError would be."""

    def lost() -> NoReturn:
        raise CommClosedError("in <TCP>: Stream is closed")

    pool = Cluster.__new__(Cluster)
    pool._address, pool._given = "tcp://s", {}
    pool._client = SimpleNamespace(status="running")
    pool._workers = cast("dask.Workers", SimpleNamespace(look=lost))
    with pytest.raises(PoolLostError, match="the scheduler at tcp://s is gone"):
        pool.workers()
    pool._client.status = "closed"
    with pytest.raises(PoolLostError, match="the scheduler at tcp://s is gone"):
        pool.workers()


def test_what_is_submitted_to_a_scheduler_that_is_gone(scheduler: Any) -> None:
    made = planned()
    pool = Cluster(made.job, scheduler)
    scheduler.close()
    with pytest.raises(PoolLostError):
        pool.submit(made.task(0, 1))


def test_a_task_that_begins_when_its_sweep_was_left_keeps_no_worker() -> None:
    """After Ctrl-C, say: it would wait for the job, and the next sweep for the worker."""
    with local(1, processes=False) as client:
        made = planned()
        pool = Cluster(made.job, client)
        until(pool.workers)
        out = pool.submit(made.task(0, 1))
        pool.close()
        dask._job.cache_clear()  # as where no task of it has been yet
        late = client.submit(dask.run_there, pool._job.name, made.task(1, 1), versions(), 0)
        assert late.result(timeout=PATIENCE) is None
        wait([out], timeout=PATIENCE)


@pytest.fixture
def scheduler() -> Iterator[Any]:
    """Return a client of a scheduler without workers."""
    with local(0, processes=False, protocol="tcp") as client:
        yield client


def executed(client: Any) -> dict[str, int]:
    """Return how many tasks each worker has run, by its name."""
    found = client.run(lambda dask_worker: (dask_worker.name, dask_worker.state.executed_count))
    return dict(found.values())


@pytest.mark.slow
def test_workers_that_join_later_take_part_unless_their_versions_differ(
    scheduler: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Once the sweep waits for workers four join, one of other versions, one without btflow; then the first goes."""
    small_tasks(monkeypatch)
    monkeypatch.setattr(dask, "ASK_PERIOD", 0.0)
    (tmp_path / "skewed.py").write_text("import btflow; btflow.__version__ = '9.9'")
    path, made, keep, kept = tmp_path / "a.zarr", planned(), Store.add, 0
    (tmp_path / "bare.py").write_text("import sys; sys.modules['btflow'] = None")
    options: dict[str, tuple[str, ...]] = {
        name: ("--preload", str(tmp_path / f"{name}.py")) for name in ("skewed", "bare")
    }
    options |= {"first": (), "second": ()}
    there: dict[str, subprocess.Popen[bytes]] = {}
    look = Workers.look

    def join(self: Workers) -> None:
        look(self)
        if not there:
            assert not self.threads
            for name, more in options.items():
                there[name] = joined.enter_context(worker(scheduler.scheduler.address, "--name", name, *more))

    def add(self: Store, part: Part) -> None:
        nonlocal kept
        keep(self, part)
        kept += 1
        if kept == 2:
            scheduler.wait_for_workers(4, timeout=PATIENCE)
        if kept == 6:
            there["first"].kill()

    monkeypatch.setattr(Workers, "look", join)
    monkeypatch.setattr(Store, "add", add)
    with ExitStack() as joined:
        assert api.execute(made, path, Running(client=scheduler)) == (UNITS, 0)
        ran = executed(scheduler)
    err = capfd.readouterr().err
    assert "waiting for one" in err
    assert "takes no part: it has other versions: btflow 9.9 there" in err
    assert "takes no part: it cannot run btflow: ModuleNotFoundError" in err
    assert ran["second"] > 1
    assert ran["skewed"] == ran["bare"] == 0
    assert api.execute(made, tmp_path / "b.zarr", Running(jobs=1)) == (UNITS, 0)
    assert bits(read(path)).identical(bits(read(tmp_path / "b.zarr")))


def test_before_a_sweep_workers_that_have_not_told_their_versions_are_waited_for_with_a_warning(
    scheduler: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(dask, "SILENCE", 0.5)
    monkeypatch.setattr(dask, "_warn", said.append)

    def late(_: Workers) -> dask.News:
        until(lambda: bool(said))
        return {}, {}

    monkeypatch.setattr(Workers, "_news", late)
    Workers(scheduler, "tcp://here")
    assert said[0].startswith("a worker has not told its versions yet")


def test_tasks_of_workers_that_are_gone_are_taken_back(scheduler: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As are those that found a worker of another kind at an address."""
    monkeypatch.setattr(dask, "ASK_PERIOD", 0.0)
    made = planned()
    with worker(scheduler.scheduler.address) as only:
        scheduler.wait_for_workers(1, timeout=PATIENCE)
        pool = Cluster(made.job, scheduler)
        assert pool.workers() == 1
        skewed = made.task(0, 1)
        monkeypatch.setattr(dask, "versions", lambda: versions() | {"numpy": "1.0"})
        future = pool.submit(skewed)
        with pytest.raises(NotRunError):
            pool.result(future)
        assert pool.workers() == 0
        pool._workers.threads = dict.fromkeys(pool._workers._refused, 1)
        only.kill()
        future = pool.submit(replace(made.task(0, 1)))
        until(lambda: pool.workers() == 0 and future.done())
        with pytest.raises(NotRunError):
            pool.result(future)
        pool.close()


def test_a_workers_address_is_no_schedulers(scheduler: Any) -> None:
    with worker(scheduler.scheduler.address):
        scheduler.wait_for_workers(1, timeout=PATIENCE)
        (address,) = scheduler.ncores()
        with pytest.raises(InputError, match="is the address of a Worker"):
            connect(address)
