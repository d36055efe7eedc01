"""A Dask cluster: its workers run the same tasks, what they find comes back here, and here alone it is stored."""

from __future__ import annotations

import pickle
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from btflow.errors import InputError
from btflow.sweeps import work
from btflow.sweeps.parts import Part
from btflow.sweeps.pools import NotRunError, PoolLostError, WorkerDiedError
from btflow.sweeps.scheduler import connect
from btflow.sweeps.versions import Versions, difference, versions
from btflow.sweeps.work import Job, Task
from btflow.sweeps.worker_room import seats
from btflow.sweeps.workers import ALLOWED, Workers

if TYPE_CHECKING:
    from distributed import Client

FETCH = 60.0
"""Time that a worker has to get the job from the scheduler [s]."""


FORGIVEN = 3
"""How often a task may lose all workers that it was given to, as often as Dask forgives by default.

A nanny starts a worker anew at another address, so that Dask itself never finds a task to blame on a small cluster."""


class SkewError(Exception):
    """A worker has other versions; its address, and what differs."""


class Cluster:
    """Runs tasks of a job on the workers of a Dask cluster, those that join later too.

    The scheduler keeps the job; each worker fetches it once.

    Args:
        job: What all tasks have in common.
        client: A client of the cluster, or the address of its scheduler.
        need: Memory of the largest swarm [B].
    """

    tries = 1  # of Dask's own, each of which costs four workers (``distributed.scheduler.allowed-failures``)

    def __init__(self, job: Job, client: Client | str, need: int = 0) -> None:
        self._need = need
        self._owned = isinstance(client, str)
        self._client: Any = connect(client) if isinstance(client, str) else client
        self._address = str(getattr(self._client.scheduler, "address", client))
        self._given: dict[Future[Part], tuple[Task, frozenset[str]]] = {}
        self._withdrawn: dict[Future[Part], Task] = {}
        self._times: Counter[tuple[int, int]] = Counter()
        self._job: Any = None
        try:
            with self._reached():
                self._workers = Workers(self._client, self._address)
                self._job = _kept(self._client, job)
        except BaseException:
            self.close()
            raise
        self._executor = self._client.get_executor(pure=False)

    def workers(self) -> int:
        """Return the number of the workers' threads now; 0 if there is no worker, for which the sweep waits.

        Raises:
            PoolLostError: The scheduler is gone.
        """
        if self._client.status in ("closed", "closing"):
            raise self._lost()
        if self._client.status == "running":
            with self._reached():
                self._workers.look()
            self._withdraw()
        return sum(self._workers.threads.values())

    def submit(self, task: Task) -> Future[Part]:
        """Have a task run on the cluster; Dask gives it to another worker if one goes away.

        Raises:
            PoolLostError: The scheduler is gone.
        """
        may, submit = frozenset(self._workers.threads), self._executor.submit
        with self._reached():
            future: Future[Part] = submit(run_there, self._job.name, task, versions(), self._need, workers=sorted(may))
        self._given[future] = task, may
        return future

    def result(self, future: Future[Part]) -> Part:
        """Return what a task has found.

        Raises:
            NotRunError: No worker that it was given to is left.
            WorkerDiedError: Several workers went away while they had it.
            PoolLostError: The scheduler is gone.
            InputError: A worker cannot run it.
        """
        from distributed import KilledWorker

        self._given.pop(future, None)
        withdrawn = self._withdrawn.pop(future, None)
        try:
            return future.result()
        except KilledWorker as killed:
            worker = getattr(killed.last_worker, "address", "its worker")
            raise WorkerDiedError(f"{worker} and others before it went away, perhaps for want of memory") from None
        except CancelledError:
            if withdrawn is not None:
                raise self._outlived(withdrawn) from None
            raise self._lost() from None
        except SkewError as skew:  # a worker of another kind at the address of one that was there before
            self._workers.refuse(skew.args[0], f"has other versions: {skew.args[1]}")
            raise NotRunError from None
        except Exception as error:  # it could not be read there, or what it found could not be read here
            reason = f"a worker cannot run its tasks: {type(error).__name__}: {error}"
            raise InputError("dask", self._address, reason, ALLOWED) from error

    def stop(self) -> None:
        """Do nothing: the tasks of a second end by themselves, those that wait are cancelled one by one."""

    def close(self) -> None:
        """Leave the cluster; a client that was given stays open."""
        if self._job is not None:
            self._job.delete()
        if self._owned:
            with suppress(TimeoutError, OSError):  # it is left in any case
                self._client.close(timeout=1)

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Have what Dask raises when it cannot reach the scheduler say so: an OSError is of the store elsewhere."""
        from distributed.client import ClosedClientError

        try:
            yield
        except (OSError, CancelledError, ClosedClientError):
            raise self._lost() from None

    def _lost(self) -> PoolLostError:
        return PoolLostError(f"the scheduler at {self._address} is gone")

    def _withdraw(self) -> None:
        """Take back the tasks all of whose workers have gone: others may have joined since."""
        for future, (task, may) in list(self._given.items()):
            if may.isdisjoint(self._workers.threads) and future.cancel():
                del self._given[future]
                self._withdrawn[future] = task

    def _outlived(self, task: Task) -> NotRunError | WorkerDiedError:
        """Return what is to be done with a task that has outlived its workers: that it did so often tells on it."""
        self._times[task.first, task.count] += 1
        if self._times[task.first, task.count] <= FORGIVEN:
            return NotRunError()
        return WorkerDiedError("all workers that had it went away, perhaps for want of memory")


def _kept(client: Any, job: Job) -> Any:
    """Have the scheduler keep a job, and return the variable that it is."""
    import distributed

    variable: Any = distributed.Variable
    kept = variable(f"btflow-{uuid.uuid4().hex}", client=client)
    kept.set(pickle.dumps(job))
    return kept


def run_there(name: str, task: Task, wanted: Versions, need: int) -> Part:
    """Run a task on a worker, of the job that the scheduler keeps under a name, once there is memory for it."""
    import distributed

    here: Any = distributed
    differs = difference(wanted, versions())
    if differs:
        raise SkewError(here.get_worker().address, differs)
    with seats(name, need):
        return work.run(_job(name), task, lambda: False)


@lru_cache(maxsize=4)
def _job(name: str) -> Job:
    import distributed

    variable: Any = distributed.Variable
    job: Job = pickle.loads(variable(name).get(timeout=FETCH))
    return job
