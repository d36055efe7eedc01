"""A Dask cluster: its workers run the same tasks, what they find comes back here, and here alone it is stored."""

from __future__ import annotations

import pickle
import time
from collections.abc import Mapping
from concurrent.futures import CancelledError, Future
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from btflow.errors import InputError
from btflow.sweeps import work
from btflow.sweeps.parts import Part
from btflow.sweeps.pools import PoolLostError, WorkerDiedError
from btflow.sweeps.scheduler import connect
from btflow.sweeps.versions import Versions, difference, versions
from btflow.sweeps.work import Job, Task

if TYPE_CHECKING:
    from distributed import Client

PERIOD = 2.0
"""Time between two looks at which workers there are [s]."""

ALLOWED = "the same btflow, Python, NumPy and Numba on every worker as here"


class Cluster:
    """Runs tasks of a job on the workers of a Dask cluster, those that join later too."""

    def __init__(self, job: Job, client: Client | str) -> None:
        self._owned = isinstance(client, str)
        self._client: Any = connect(client) if isinstance(client, str) else client
        self._address = str(getattr(self._client.scheduler, "address", client))
        self._packed = pickle.dumps(job)
        self._threads, self._looked = 0, 0.0
        try:
            check_workers(self._client, self._address)
        except BaseException:
            self.close()
            raise
        self._executor = self._client.get_executor(pure=False)

    def workers(self) -> int:
        """Return the number of the workers' threads now, one at least: tasks wait for workers to come.

        Raises:
            PoolLostError: The scheduler is gone.
        """
        if self._client.status in ("closed", "closing"):
            raise PoolLostError(f"the scheduler at {self._address} is gone")
        if time.monotonic() - self._looked > PERIOD:
            self._threads = sum(self._client.ncores().values()) if self._client.status == "running" else self._threads
            self._looked = time.monotonic()
        return max(1, self._threads)

    def submit(self, task: Task) -> Future[Part]:
        """Have a task run on the cluster; Dask gives it to another worker if one goes away."""
        future: Future[Part] = self._executor.submit(run_there, self._packed, task, versions())
        return future

    def result(self, future: Future[Part]) -> Part:
        """Return what a task has found.

        Raises:
            WorkerDiedError: Several workers went away while they had it.
            PoolLostError: The scheduler is gone.
            InputError: A worker cannot run it: its versions differ.
        """
        from distributed import KilledWorker

        try:
            return future.result()
        except KilledWorker as killed:
            worker = getattr(killed.last_worker, "address", "its worker")
            raise WorkerDiedError(f"{worker} and others before it went away, perhaps for want of memory") from None
        except CancelledError:
            raise PoolLostError(f"the scheduler at {self._address} is gone") from None
        except InputError:
            raise
        except Exception as error:  # it could not be read there, or what it found could not be read here
            reason = f"a worker cannot run its tasks: {type(error).__name__}: {error}"
            raise InputError("dask", self._address, reason, ALLOWED) from error

    def stop(self) -> None:
        """Do nothing: the tasks of a second end by themselves, those that wait are cancelled one by one."""

    def close(self) -> None:
        """Leave the cluster; a client that was given stays open."""
        if self._owned:
            self._client.close(timeout=1)


def check_workers(client: Any, address: str) -> None:
    """Raise an InputError if a worker would not find the same bits as this process."""
    here = versions()
    found = client.get_versions(packages=["btflow", "numba"])["workers"]
    for worker, seen in found.items():
        _same(address, worker, here, _reported(seen["packages"]), ("btflow", "python", "numpy", "numba"))
    for worker, there in client.run(versions).items():
        _same(address, worker, here, there, tuple(here))


def _reported(packages: Mapping[str, Any]) -> Versions:
    """Return what Dask says of a worker's versions."""
    known = {name: str(packages.get(name) or "missing") for name in ("btflow", "numpy", "numba")}
    return known | {"python": ".".join(str(packages.get("python", "")).split(".")[:2])}


def _same(address: str, worker: str, here: Versions, there: Versions, names: tuple[str, ...]) -> None:
    differs = difference({name: here[name] for name in names}, there)
    if differs:
        raise InputError("dask", address, f"its worker {worker} has other versions: {differs}", ALLOWED)


def run_there(packed: bytes, task: Task, wanted: Versions) -> Part:
    """Run a task on a worker, which may have joined after the others were checked."""
    differs = difference(versions(), wanted)
    if differs:
        raise InputError("dask", None, f"a worker has other versions: {differs}", ALLOWED)
    return work.run(_job(packed), task, lambda: False)


@lru_cache(maxsize=4)
def _job(packed: bytes) -> Job:
    job: Job = pickle.loads(packed)
    return job
