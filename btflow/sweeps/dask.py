"""A Dask cluster: its workers run the same tasks, what they find comes back here, and here alone it is stored.

Tasks, futures, what workers fetch and whom a task may run on are Dask's, by the public interface of its client. What it
does not do is done here: a client waits for ever for what is no scheduler (``_check_scheduler``), compares no code
(``_unfit``), blocks while it asks which workers there are (``Workers``), gives a task whose workers are all gone
to none of those that have come since (``Cluster._withdraw``), and has no limit of memory for a task (``seats``). No
private name of Dask's is used; ``tests/sweeps/test_sweep_insides.py`` fails when one that it does not document is gone.
"""

import asyncio
import logging
import pickle
import sys
import threading
import time
import uuid
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError, Future, wait
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

import dask.config
import distributed
from distributed.client import ClosedClientError
from distributed.comm.core import CommClosedError

from btflow import memory, termination
from btflow.errors import InputError, visible
from btflow.sweeps import executor, runs
from btflow.sweeps.plan import Versions, difference, versions
from btflow.sweeps.results import Part

CONNECT = 4.0
"""Time to reach the scheduler, and again for it to answer [s]."""

SCHEDULER = "the address of a running scheduler, such as tcp://10.0.0.1:8786"

ALLOWED = "the same btflow, Python, NumPy and Numba on every worker as here"

ASK_PERIOD = 2.0
"""Time between two questions to the scheduler which workers there are [s]."""

SILENCE = 60.0
"""Time without an answer of the scheduler after which a warning says so [s]."""

FETCH = 60.0
"""Time that a worker has to get the job from the scheduler [s]."""

NO_JOB = b""
"""What stays in place of the job of a sweep that was left with tasks out: for one that was deleted they would wait."""

FORGIVEN = 3
"""How often a task may lose all workers that it was given to, as often as Dask forgives by default.

A nanny starts a worker anew at another address, so that Dask itself never finds a task to blame on a small cluster."""

_making = threading.Lock()


def connect(address: str) -> distributed.Client:
    """Return a client of the scheduler at an address.

    Raises:
        InputError: Nobody answers there, or something else than a scheduler does.
    """
    with _quiet():
        _check_scheduler(address)
        try:
            return distributed.Client(address, timeout=CONNECT)
        except (OSError, ValueError) as error:
            raise _unreachable(address, error) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what Dask logs and warns of to itself: what matters is said in one line, and versions are compared later."""
    logger = logging.getLogger("distributed")
    before = logger.level
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logger.setLevel(logging.CRITICAL + 1)
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # when the scheduler goes, too
        for name in ("distributed", "tornado.application"):
            of_all_below = logging.getLogger(name)  # a filter of handlers sees what loggers below hand up, too
            for filtered in (of_all_below, *of_all_below.handlers):
                filtered.addFilter(_is_no_lost_connection)
        try:
            yield
        finally:
            logger.setLevel(before)


def _is_no_lost_connection(record: logging.LogRecord) -> bool:
    """Return whether a record is to be shown: what Dask still waits for when it is left, or lost, is not."""
    return not (record.exc_info and isinstance(record.exc_info[1], CommClosedError))


def _check_scheduler(address: str) -> None:
    """Raise an InputError if no scheduler answers.

    A client of Dask would wait for ever for an answer, and takes any server's first bytes for the size of a message.
    """
    try:
        kind = termination.in_thread(
            lambda: asyncio.run(asyncio.wait_for(_kind(address), CONNECT + 1.0)), CONNECT + 2.0
        )
    except TimeoutError:
        raise InputError("dask", address, "does not answer as a scheduler does", SCHEDULER) from None
    except (OSError, ValueError, TypeError) as error:  # TypeError: tls without a certificate
        raise _unreachable(address, error) from None
    except Exception:  # whatever comes of reading what was not written by Dask, such as a MemoryError
        raise InputError("dask", address, "is the address of something else than a scheduler", SCHEDULER) from None
    if kind != "Scheduler":
        raise InputError("dask", address, f"is the address of a {kind}", SCHEDULER)


async def _kind(address: str) -> str:
    """Return what a server of Dask says that it is, such as ``Scheduler`` or ``Worker``."""
    secured = distributed.Security().get_connection_args("client")
    async with distributed.rpc(address, timeout=CONNECT, connection_args=secured) as server:
        return str((await server.identity())["type"])


def _unreachable(address: str, error: Exception) -> InputError:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return InputError("dask", address, f"cannot be reached: {reason}", SCHEDULER)


News = tuple[dict[str, int], dict[str, Versions | Exception]]
"""Threads of all workers, by address, and the versions of those that are new, or what they raised."""


class Workers:
    """The workers of a cluster.

    Whatever is asked here is read at a later look: a scheduler that does not answer keeps nothing from being stopped.
    Dask's own ways wait for an answer, or tell of workers only while a coroutine of the program's own runs.

    Attributes:
        threads: Number of threads of those that take part, by address.
    """

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address = client, address
        self.threads: dict[str, int] = {}
        self._refused: set[str] = set()
        self._waiting = self._unanswered = False
        self._there: Future[News] | None = None
        self._looked = time.monotonic()
        asked = termination.begun_in_thread(self._news)
        while not wait([asked], executor.LOOK).done:
            if time.monotonic() - self._looked > SILENCE:
                self._looked = time.monotonic()
                _warn("a worker has not told its versions yet: it loads btflow, or stands still and is to be ended")
        for worker, told in asked.result()[1].items():
            if unfit := _unfit(told):
                raise InputError("dask", address, f"its worker {worker} {unfit}", ALLOWED)
        self._take(*asked.result())

    def look(self) -> None:
        """Take in what the scheduler has answered, who has come and who has gone, and ask it again now and then.

        Raises:
            OSError: It cannot be reached.
        """
        if self._there is None:
            if time.monotonic() - self._looked >= ASK_PERIOD:
                self._there = termination.begun_in_thread(self._news)
        elif self._there.done():
            news, self._there = self._there.result(), None
            self._take(*news)
        elif time.monotonic() - self._looked > SILENCE and not self._unanswered:
            self._unanswered = True
            _warn(f"the scheduler at {self._address}, or a worker that joins, has not answered for {SILENCE:.0f} s")

    def _news(self) -> News:
        """Ask who is there, with how many threads each, and those that are new for their versions."""
        there: dict[str, int] = self._client.nthreads()
        new = [worker for worker in there if worker not in self.threads and worker not in self._refused]
        return there, self._client.run(versions, workers=new, on_error="return")

    def _take(self, there: Mapping[str, int], told: Mapping[str, Versions | Exception]) -> None:
        """Take in who is there, with how many threads each, and what the new ones have told: an OSError once gone."""
        self._looked, self._unanswered = time.monotonic(), False
        self._refused &= set(there)
        for worker, of in told.items():
            if unfit := _unfit(of):
                self.refuse(worker, unfit)
        known = {*self.threads, *(worker for worker, of in told.items() if not isinstance(of, OSError))}
        self.threads = {worker: there[worker] for worker in there if worker in known - self._refused}
        if not self.threads and not self._waiting:
            _warn(f"no worker at {self._address}: waiting for one")
        self._waiting = not self.threads

    def refuse(self, worker: str, reason: str) -> None:
        """Have a worker take part no more, and say so once."""
        if worker not in self._refused:
            _warn(f"worker {worker} takes no part: it {reason}")
        self._refused.add(worker)
        self.threads.pop(worker, None)


def _unfit(told: Versions | Exception) -> str:
    """Return why a worker would not find the same bits, by what it has told; empty if it would, or has gone away."""
    if isinstance(told, Exception):
        return "" if isinstance(told, OSError) else f"cannot run btflow: {told}"
    differs = difference(versions(), told)
    return f"has other versions: {differs}" if differs else ""


def _warn(text: str) -> None:
    """Say it in one line: a worker's words have several at times."""
    print(visible(f"btflow: warning: dask: {' '.join(text.split())}"), file=sys.stderr, flush=True)


def seats(sweep: str, need: int) -> threading.BoundedSemaphore:
    """Return what a thread of this worker holds while it runs swarms of a sweep.

    Args:
        sweep: Name of the sweep.
        need: Memory of its largest swarm [B].
    """
    with _making:
        return _seats(sweep, need)


@lru_cache(maxsize=4)
def _seats(_: str, need: int) -> threading.BoundedSemaphore:
    worker = distributed.get_worker()
    memory.grant(_granted(worker))
    return threading.BoundedSemaphore(executor.fitting(need, worker.state.nthreads, show=False))


def _granted(worker: Any) -> int:
    """Return the bytes that a worker may take beyond what it has; its nanny ends it at a share of its limit."""
    limit = worker.memory_manager.memory_limit
    if not limit:
        return memory.UNKNOWN
    share = dask.config.get("distributed.worker.memory.terminate") or 1.0
    return int(share * limit) - int(worker.monitor.get_process_memory())


class SkewError(Exception):
    """A worker has other versions; its address, and what differs."""


class Cluster(executor.Pool):
    """Runs tasks of a job on the workers of a Dask cluster, those that join later too.

    The scheduler keeps the job; each worker fetches it once. A task that took workers down is not tried again: Dask has
    done so, until four of them were gone (``distributed.scheduler.allowed-failures``).

    Args:
        job: What all tasks have in common.
        client: A client of the cluster, or the address of its scheduler.
        need: Memory of the largest swarm [B].
    """

    def __init__(self, job: runs.Job, client: distributed.Client | str, need: int = 0) -> None:
        self._need = need
        self._owned = isinstance(client, str)
        self._client: Any = connect(client) if isinstance(client, str) else client
        self._address = str(getattr(self._client.scheduler, "address", client))
        self._given: dict[Future[Part], tuple[runs.Task, frozenset[str]]] = {}
        self._withdrawn: dict[Future[Part], runs.Task] = {}
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

    def submit(self, task: runs.Task) -> Future[Part]:
        """Have a task run on the cluster; Dask gives it to another worker if one goes away.

        Raises:
            PoolLostError: The scheduler is gone.
        """
        may, args = frozenset(self._workers.threads), (self._job.name, task, versions(), self._need)
        with self._reached():
            future: Future[Part] = self._executor.submit(run_there, *args, workers=sorted(may))
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
        self._given.pop(future, None)
        withdrawn = self._withdrawn.pop(future, None)
        try:
            found = future.result()
        except distributed.KilledWorker as killed:
            worker = getattr(killed.last_worker, "address", "its worker")
            raise executor.WorkerDiedError(
                f"{worker} and others before it went away, perhaps for want of memory"
            ) from None
        except CancelledError:
            if withdrawn is not None:
                raise self._outlived(withdrawn) from None
            raise self._lost() from None
        except SkewError as skew:  # a worker of another kind at the address of one that was there before
            self._workers.refuse(skew.args[0], f"has other versions: {skew.args[1]}")
            raise executor.NotRunError from None
        except Exception as error:  # it could not be read there, or what it found could not be read here
            reason = f"a worker cannot run its tasks: {type(error).__name__}: {error}"
            raise InputError("dask", self._address, reason, ALLOWED) from error
        if found is None:
            raise executor.NotRunError
        return found

    def stop(self) -> None:
        """Do nothing: the tasks of a second end by themselves, those that wait are cancelled one by one."""

    def close(self) -> None:
        """Leave the cluster; a client that was given stays open."""
        if self._job is not None and not self._given:
            self._job.delete()
        elif self._job is not None:
            with suppress(TimeoutError, OSError, ClosedClientError):  # the scheduler may be what is gone
                self._job.set(NO_JOB, callback_timeout=1)
        if self._owned:
            with suppress(TimeoutError, OSError):  # it is left in any case
                self._client.close(timeout=1)

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Have what Dask raises when it cannot reach the scheduler say so: an OSError is of the store elsewhere."""
        try:
            yield
        except (OSError, CancelledError, ClosedClientError):
            raise self._lost() from None

    def _lost(self) -> executor.PoolLostError:
        return executor.PoolLostError(f"the scheduler at {self._address} is gone")

    def _withdraw(self) -> None:
        """Take back the tasks all of whose workers have gone, for those that are there."""
        for future, (task, may) in list(self._given.items()):
            if may.isdisjoint(self._workers.threads) and future.cancel():
                del self._given[future]
                self._withdrawn[future] = task

    def _outlived(self, task: runs.Task) -> executor.NotRunError | executor.WorkerDiedError:
        """Return what is to be done with a task that has outlived its workers: that it did so often tells on it."""
        self._times[task.first, task.count] += 1
        if self._times[task.first, task.count] <= FORGIVEN:
            return executor.NotRunError()
        return executor.WorkerDiedError("all workers that had it went away, perhaps for want of memory")


def _kept(client: Any, job: runs.Job) -> Any:
    """Have the scheduler keep a job, and return the variable that it is."""
    kept = distributed.Variable(f"btflow-{uuid.uuid4().hex}", client=client)
    kept.set(pickle.dumps(job))
    return kept


def run_there(name: str, task: runs.Task, wanted: Versions, need: int) -> Part | None:
    """Run a task on a worker, of the job that the scheduler keeps under a name, once there is memory for it.

    None if the sweep was left meanwhile.
    """
    if differs := difference(wanted, versions()):
        raise SkewError(distributed.get_worker().address, differs)
    job = _job(name)
    if job is None:
        return None
    with seats(name, need):
        return runs.run(job, task, lambda: False)


@lru_cache(maxsize=4)
def _job(name: str) -> runs.Job | None:
    kept = distributed.Variable(name).get(timeout=FETCH)
    return None if kept == NO_JOB else pickle.loads(kept)
