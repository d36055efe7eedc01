"""Runs a sweep: hands out tasks, keeps what comes back, and stops when it is told to."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager

from btflow.sweeps.backlog import Backlog
from btflow.sweeps.parts import Part
from btflow.sweeps.pools import Pool, WorkerDiedError
from btflow.sweeps.progress import Progress
from btflow.sweeps.store import Store
from btflow.sweeps.work import Task

LOOK = 0.2
"""Time between two looks at whether the sweep is to stop [s]."""

GRACE = 1.2
"""Time that running tasks have to come back when the sweep stops [s]."""

TRIES = 2
"""How often a swarm alone may take its process down before it is recorded as failed."""


def drive(store: Store, pool: Pool, progress: Progress, left: int) -> None:
    """Run what a store has pending.

    Raises:
        KeyboardInterrupt: It was interrupted; what was finished is kept.
        OSError: The store cannot be written; what it has is kept.
    """
    backlog = Backlog(store.plan, store.pending(), left)
    running: dict[Future[Part], Task] = {}
    with _interrupts() as stop:
        try:
            while not stop.is_set():
                workers = pool.workers()
                while len(running) < workers + (workers + 1) // 2 and (task := backlog.next(workers)) is not None:
                    running[pool.submit(task)] = task
                if not running:
                    break
                for future in wait(running, timeout=LOOK, return_when=FIRST_COMPLETED).done:
                    _finish(store, backlog, progress, future, running.pop(future))
                progress.look()
        finally:
            pool.stop()
            _collect(store, progress, running)
            store.flush()
            progress.look()
    if stop.is_set():
        raise KeyboardInterrupt


def _finish(store: Store, backlog: Backlog, progress: Progress, future: Future[Part], task: Task) -> None:
    """Keep what a task has found, and put back what it has not."""
    try:
        part = future.result()
    except WorkerDiedError as died:
        if task.tries + (task.count == 1) < TRIES:
            backlog.retry(task)
            return
        part = store.plan.job.shape.empty(task.first, 1)
        part.fail(0, str(died))
    store.add(part)
    backlog.back(task, part)
    progress.add(part)


def _collect(store: Store, progress: Progress, running: dict[Future[Part], Task]) -> None:
    """Keep what running tasks come back with once they are told to stop; those not begun are dropped."""
    begun = [future for future in running if not future.cancel()]
    for future in wait(begun, timeout=GRACE).done:
        if future.exception() is None:
            store.add(future.result())
            progress.add(future.result())


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """Give an event that Ctrl-C and SIGTERM set, in place of what they do; a second one does what it always does."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def interrupt(number: int, _: object) -> None:
        stop.set()
        signal.signal(number, before[signal.Signals(number)])

    for number in before:
        signal.signal(number, interrupt)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
