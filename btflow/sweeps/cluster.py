"""A Dask cluster: its workers run the same tasks, what they find comes back here, and here alone it is stored."""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Mapping
from concurrent.futures import Future
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from btflow.errors import InputError
from btflow.sweeps import work
from btflow.sweeps.parts import Part
from btflow.sweeps.pools import PoolLostError
from btflow.sweeps.versions import Versions, difference, versions
from btflow.sweeps.work import Job, Task

if TYPE_CHECKING:
    from distributed import Client

CONNECT = 5.0
"""Time to reach the scheduler [s]."""

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

    def stop(self) -> None:
        """Do nothing: the tasks of a second end by themselves, those that wait are cancelled one by one."""

    def close(self) -> None:
        """Leave the cluster; a client that was given stays open."""
        if self._owned:
            self._client.close(timeout=1)


def connect(address: str) -> Any:
    """Return a client of the scheduler at an address.

    Raises:
        InputError: ``distributed`` is not installed, or nobody answers there.
    """
    try:
        import distributed
    except ImportError:
        raise InputError("dask", address, "needs the package distributed", "pip install 'btflow[dask]'") from None
    try:
        with warnings.catch_warnings():  # versions are compared below
            warnings.simplefilter("ignore")
            connected: Any = distributed.Client
            return connected(address, timeout=CONNECT)
    except (OSError, ValueError, TimeoutError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        allowed = "the address of a running scheduler, such as tcp://10.0.0.1:8786"
        raise InputError("dask", address, f"cannot be reached: {reason}", allowed) from None


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
