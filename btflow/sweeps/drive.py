"""Runs a sweep: hands out tasks, keeps what comes back, and stops when it is told to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait

from btflow.sweeps.backlog import Backlog
from btflow.sweeps.parts import Part
from btflow.sweeps.plan import Plan
from btflow.sweeps.pools import NotRunError, Pool, WorkerDiedError
from btflow.sweeps.progress import Progress
from btflow.sweeps.signals import heard
from btflow.sweeps.store import Store
from btflow.sweeps.work import Task

LOOK = 0.2
"""Time between two looks at whether the sweep is to stop [s]."""

GRACE = 1.2
"""Time that running tasks have to come back when the sweep stops [s]."""


def drive(store: Store, pool: Pool, progress: Progress, left: int) -> None:
    """Run what a store has pending.

    Raises:
        KeyboardInterrupt: It was interrupted; what was finished is kept.
        SystemExit: SIGTERM came; what was finished is kept.
        SimulationError: The cluster is gone; what was finished is kept.
        InputError: A worker of the cluster cannot run tasks; what was finished is kept.
        OSError: The store cannot be written; what it has is kept.
    """
    backlog = Backlog(store.plan, store.pending(), left)
    running: dict[Future[Part], Task] = {}
    with heard() as stop:
        try:
            while not stop.is_set() and (running or backlog.any):
                workers = pool.workers()
                while len(running) < workers + (workers + 1) // 2 and (task := backlog.next(workers)) is not None:
                    running[pool.submit(task)] = task
                if not running:  # no worker is there
                    stop.wait(LOOK)
                for future in wait(running, timeout=LOOK, return_when=FIRST_COMPLETED).done:
                    part = _found(store.plan, pool, future, running[future], backlog)
                    del running[future]
                    store.add(part)
                    progress.add(part)
                progress.look()
        finally:
            pool.stop()
            for part in _rest(running):
                store.add(part)
                progress.add(part)
            store.flush()
            progress.look()
    if stop.is_set():
        raise stop.error()


def _found(plan: Plan, pool: Pool, future: Future[Part], task: Task, backlog: Backlog) -> Part:
    """Return what a task has found, and put back what it has not; a swarm that takes processes down has failed."""
    try:
        part = pool.result(future)
    except NotRunError:
        part = plan.job.shape.empty(task.first, 0)
    except WorkerDiedError as died:
        if task.count > 1 or task.tries + 1 < pool.tries:
            backlog.retry(task)
            return plan.job.shape.empty(task.first, 0)
        part = plan.job.shape.empty(task.first, 1)
        part.fail(0, str(died))
    backlog.back(task, part)
    return part


def _rest(running: Iterable[Future[Part]]) -> Iterator[Part]:
    """Return what tasks come back with once they are told to stop; those not begun are dropped."""
    begun = [future for future in running if not future.cancel()]
    for future in wait(begun, timeout=GRACE).done:
        if future.exception() is None:
            yield future.result()
