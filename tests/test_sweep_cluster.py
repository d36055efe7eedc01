"""A Dask cluster whose workers come, go, and are of other versions."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest
from dask_made import local, worker
from sweep_made import UNITS, bits, planned, read, small_tasks

import btflow
from btflow import InputError
from btflow.sweeps import api, cluster, workers
from btflow.sweeps.cluster import Cluster
from btflow.sweeps.parts import Part
from btflow.sweeps.pools import NotRunError, PoolLostError
from btflow.sweeps.running import Running
from btflow.sweeps.scheduler import connect
from btflow.sweeps.store import Store
from btflow.sweeps.versions import digest, versions
from btflow.sweeps.workers import Workers, check_workers

CommClosedError: type[OSError] = pytest.importorskip("distributed.comm").CommClosedError


class Client:
    """A client of a cluster with one worker of some versions."""

    def __init__(self, packages: dict[str, Any], there: dict[str, str]) -> None:
        self.packages, self.there = packages, there

    def get_versions(self, packages: list[str]) -> dict[str, Any]:
        assert packages == ["btflow", "numba"]
        return {"workers": {"tcp://w": {"packages": self.packages}}}

    def run(self, function: Callable[[], object]) -> dict[str, dict[str, str]]:
        assert function is versions
        return {"tcp://w": self.there}


def test_versions_of_workers_are_compared_before_any_work() -> None:
    here = versions()
    same = {
        "btflow": here["btflow"],
        "numba": here["numba"],
        "numpy": here["numpy"],
        "python": f"{here['python']}.0.final.0",
    }
    check_workers(Client(same, here), "tcp://s")
    for name in same:
        with pytest.raises(InputError, match=f"worker tcp://w has other versions: {name} (0.0|missing) there"):
            check_workers(Client(same | {name: "0.0"}, here), "tcp://s")
    with pytest.raises(InputError, match="btflow missing there"):
        check_workers(Client(same | {"btflow": None}, here), "tcp://s")
    with pytest.raises(InputError, match=f"code abc there, {here['code']} here"):
        check_workers(Client(same, here | {"code": "abc"}), "tcp://s")


def test_the_digest_of_the_code_is_of_the_models_too_wherever_they_are(tmp_path: Path) -> None:
    """In a checkout their folder lies beside btflow/, in a wheel inside it; both have one digest."""
    installed = Path(btflow.__file__).parent
    copied = tmp_path / "btflow"
    models = copied / "models"
    left_out = shutil.ignore_patterns("__pycache__", "data", "models")
    shutil.copytree(installed, copied, ignore=left_out)
    shutil.copytree(Path(str(files("btflow.models"))), models)
    same = digest(copied, models)
    assert same == versions()["code"]
    models_and_code = ("models/clients/mainline-4.0.toml", "models/transports/linux-2.6.32.toml", "kernels/state.py")
    for name in (*models_and_code, "units/parsing.py"):
        file = copied / name
        whole = file.read_text()
        file.write_text(whole + "\n# edited")
        assert digest(copied, models) != same
        file.write_text(whole)
    (models / "clients" / "mainline-4.0.toml").rename(models / "clients" / "mainline-5.0.toml")
    assert digest(copied, models) != same


def test_what_dask_raises_when_it_loses_the_scheduler_is_not_taken_for_the_store() -> None:
    """A plain OSError would be."""

    def lost() -> NoReturn:
        raise CommClosedError("in <TCP>: Stream is closed")

    pool = Cluster.__new__(Cluster)
    pool._address, pool._given = "tcp://s", {}
    pool._client = SimpleNamespace(status="running")
    pool._workers = cast("workers.Workers", SimpleNamespace(look=lost))
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


@pytest.fixture
def scheduler() -> Iterator[Any]:
    """Return a client of a scheduler without workers."""
    with local(0, processes=False, protocol="tcp") as client:
        yield client


def executed(client: Any) -> dict[str, int]:
    """Return how many tasks each worker has run, by its name."""
    found = client.run(lambda dask_worker: (dask_worker.name, dask_worker.state.executed_count))
    return dict(found.values())


def test_workers_that_join_later_take_part_unless_their_versions_differ(
    scheduler: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Once the sweep waits for workers three join, one of them of other versions; then the first one goes away."""
    small_tasks(monkeypatch)
    monkeypatch.setattr(workers, "PERIOD", 0.0)
    (tmp_path / "skewed.py").write_text("import btflow; btflow.__version__ = '9.9'")
    path, made, keep, kept = tmp_path / "a.zarr", planned(), Store.add, 0
    options = {"first": (), "second": (), "skewed": ("--preload", str(tmp_path / "skewed.py"))}
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
            scheduler.wait_for_workers(3, timeout=60)
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
    assert ran["second"] > 1
    assert ran["skewed"] == 1  # it has told its versions
    assert api.execute(made, tmp_path / "b.zarr", Running(jobs=1)) == (UNITS, 0)
    assert bits(read(path)).identical(bits(read(tmp_path / "b.zarr")))


def test_tasks_of_workers_that_are_gone_are_taken_back(scheduler: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As are those that found a worker of another kind at an address."""
    monkeypatch.setattr(workers, "PERIOD", 0.0)
    made = planned()
    with worker(scheduler.scheduler.address) as only:
        scheduler.wait_for_workers(1, timeout=60)
        pool = Cluster(made.job, scheduler)
        assert pool.workers() == 1
        skewed = made.task(0, 1)
        monkeypatch.setattr(cluster, "versions", lambda: versions() | {"numpy": "1.0"})
        future = pool.submit(skewed)
        with pytest.raises(NotRunError):
            pool.result(future)
        assert pool.workers() == 0
        pool._workers.threads = dict.fromkeys(pool._workers._refused, 1)
        only.kill()
        future = pool.submit(replace(made.task(0, 1)))
        deadline = time.monotonic() + 30
        while not future.done():
            assert pool.workers() == 0 or time.monotonic() < deadline
            time.sleep(0.05)
        with pytest.raises(NotRunError):
            pool.result(future)
        pool.close()


def test_a_workers_address_is_no_schedulers(scheduler: Any) -> None:
    with worker(scheduler.scheduler.address):
        scheduler.wait_for_workers(1, timeout=60)
        (address,) = scheduler.ncores()
        with pytest.raises(InputError, match="is the address of a Worker"):
            connect(address)
