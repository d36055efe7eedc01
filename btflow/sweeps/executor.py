"""Where tasks run on this machine: in threads or processes, which of them, and how many at once."""

from __future__ import annotations

import copy
import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from btflow import memory, termination
from btflow.errors import SimulationError

if TYPE_CHECKING:
    from btflow.sweeps.results import Part
    from btflow.sweeps.runs import Job, Task

LOOK = 0.2
"""Time between two looks at whether the sweep is to stop [s]."""

ENDING = 0.5
"""Time that processes have to end by themselves [s]."""

BROKEN = 3
"""How often in a row processes may go away, each of them, through no fault of their swarms."""

LOST = 255
"""Exit code that Python gives processes whose fork server is gone, which alone hears how they end."""

PROCESS = 120_000_000
"""Memory that a process takes besides its swarm: what it does not share with the fork server [B]."""

MARGIN = 1.2
"""What a swarm may take in the end, over what it is known to take when it begins."""

MANY = 2000
"""Swarms above which processes pay: in threads each holds the interpreter's lock for about a millisecond, all of them
together for longer than processes take to start, 1.5 s."""


class WorkerDiedError(Exception):
    """The process that had a task went away; the task may be run again."""


class NotRunError(Exception):
    """A task was not run, through no fault of its own; it is to be run again."""


class PoolLostError(SimulationError):
    """Nothing is left that tasks could run on."""


class Pool(Protocol):
    """Runs tasks of a job. What a task finds does not depend on where it runs."""

    tries: int = 1
    """How often a swarm alone may be said to have taken its process down before it is recorded as failed."""

    def workers(self) -> int:
        """Return how many tasks run at once now; 0 while there is nothing to run them on."""

    def submit(self, task: Task) -> Future[Part]:
        """Have a task run."""

    def result(self, future: Future[Part]) -> Part:
        """Return what a task has found, once it is done.

        Raises:
            WorkerDiedError: Its process went away.
            NotRunError: It was not run, but may be yet.
        """
        return future.result()

    def stop(self) -> None:
        """Have running tasks come back soon, with what they have; called before the last of them are waited for."""

    def close(self) -> None:
        """Wait for nothing more and give everything back."""


class Threads(Pool):
    """Threads of this process: the kernels run without the interpreter's lock."""

    def __init__(self, job: Job, number: int) -> None:
        self._job, self._number = job, number
        self._stopping = threading.Event()
        self._executor = ThreadPoolExecutor(number, thread_name_prefix="btflow")

    def workers(self) -> int:
        """Return the number of threads."""
        return self._number

    def submit(self, task: Task) -> Future[Part]:
        """Have a task run in a thread."""
        from btflow.sweeps import runs

        return self._executor.submit(runs.run, self._job, task, self._stopping.is_set)

    def stop(self) -> None:
        """Have the threads come back; a running kernel looks a few times a second."""
        self._stopping.set()

    def close(self) -> None:
        """Have the threads end by themselves; one that is still in the midst of something is not waited for."""
        self._stopping.set()
        self._executor.shutdown(wait=False, cancel_futures=True)


class Processes(Pool):
    """Processes of this machine (pebble): a swarm that takes its process down harms no other.

    What pebble does not do is done here: processes without the main module and deaf to Ctrl-C from their first moment
    (``_Process``), that end when this one is killed (``_begin``) and all within half a second (``close``), and tasks
    that come back with what they have when the sweep stops, where pebble would end them with it (``stop``).
    """

    tries = 2

    def __init__(self, job: Job, number: int) -> None:
        self._context: Any = copy.copy(_CONTEXT)
        self._context.Process = self._made
        self._processes: list[_Process] = []
        self._context.set_forkserver_preload(["btflow.sweeps.runs"])  # imported once, there for all
        self._job, self._number, self._broken = job, number, 0
        self._stopping = self._context.RawValue(ctypes.c_bool, False)  # no lock that a killed process could keep
        self._pool = self._new()

    def workers(self) -> int:
        """Return the number of processes."""
        return self._number

    def submit(self, task: Task) -> Future[Part]:
        """Have a task run in the next process that is free.

        Raises:
            PoolLostError: No process can be started.
        """
        while True:
            try:
                future: Future[Part] = self._pool.schedule(_run, (task,))
            except RuntimeError as error:  # all processes went away since, or none can be started
                self._count(error)
                self._end()
                self._pool = self._new()
            else:
                return future

    def result(self, future: Future[Part]) -> Part:
        """Return what a task has found.

        Raises:
            WorkerDiedError: Its process went away.
            NotRunError: Its process went away with the fork server, or before it had begun.
            PoolLostError: Processes go away again and again before they have begun.
        """
        from pebble import ProcessExpired

        try:
            part = future.result()
        except ProcessExpired as expired:
            if expired.exitcode != LOST or self._broken >= BROKEN * self._number:
                self._broken = 0
                raise WorkerDiedError(_end(expired.exitcode)) from None
            self._broken += 1
            raise NotRunError from None
        except BrokenProcessPool as error:  # processes went away while none had a task, as they do that cannot start
            self._count(error)
            raise NotRunError from None
        self._broken = 0
        return part

    def _count(self, error: RuntimeError) -> None:
        """Count a loss of all processes; a PoolLostError if there have been too many."""
        self._broken += 1
        if self._broken > BROKEN * self._number:
            why = f": {error.__cause__}" if isinstance(error.__cause__, OSError) else ""
            lost = f"processes cannot be started, or go away at once{why}"
            raise PoolLostError(f"{lost}; ulimit -a shows limits, and --backend threads starts none") from None

    def stop(self) -> None:
        """Have the processes come back; a running kernel looks a few times a second."""
        self._stopping.value = True

    def close(self) -> None:
        """End the processes: pebble would give each three seconds, one after the other."""
        self.stop()
        self._end(ENDING)

    def _end(self, patience: float = 0.0) -> None:
        """End the processes, by force if they need longer than this [s]; those that never started have no number."""
        self._pool.stop()
        deadline = time.monotonic() + patience
        for process in (process for process in self._processes if process.pid is not None):
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
        self._processes = []
        self._pool.join()

    def _made(self, *args: Any, **options: Any) -> _Process:
        """Return a process that pebble is to start."""
        self._processes.append(_Process(*args, **options))
        return self._processes[-1]

    def _new(self) -> Any:
        from pebble import ProcessPool

        return ProcessPool(
            self._number, initializer=_begin, initargs=(self._job, self._stopping), context=self._context
        )


def _end(code: int | None) -> str:
    """Return how a process ended that took a task with it."""
    if code == LOST:
        return "its process and those that started it went away again and again, perhaps for want of memory"
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        return f"its process was ended by {name}" + (", perhaps for want of memory" if name == "SIGKILL" else "")
    return f"its process ended with code {code}"


_CONTEXT: Any = multiprocessing.get_context("forkserver")


class _Process(_CONTEXT.Process):  # type: ignore[misc]  # of whatever method
    """A process that neither runs the main module nor hears Ctrl-C; pebble cannot be told so otherwise."""

    def start(self) -> None:
        with _without_main(), termination.without_interrupt():
            super().start()


_STARTING = threading.Lock()


@contextmanager
def _without_main() -> Iterator[None]:
    """Keep the processes from running the main module, of which they need nothing: it may have no guard."""
    with _STARTING:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


_job: Job
_stopping: Any


def _begin(job: Job, stopping: Any) -> None:
    """Make a process ready for tasks; it ends with the sweep's, however that ends."""
    global _job, _stopping
    _job, _stopping = job, stopping
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End with the sweep's process; without the fork server, by which alone it is known to be there, with the sweep.

    Not at once: a process that ends in the midst of taking a task loses it, and pebble waits for that for ever.
    """
    parent, server = multiprocessing.parent_process(), os.getppid()
    assert parent is not None
    while parent.is_alive() and not (_stopping.value and os.getppid() != server):
        parent.join(LOOK)
    os._exit(1)


def _run(task: Task) -> Part:
    """Run a task in a process."""
    from btflow.sweeps import runs

    return runs.run(_job, task, lambda: bool(_stopping.value))


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def fitting(need: int, jobs: int, *, show: bool, noun: str = "swarms") -> int:
    """Return how many swarms or experiments to run at once, one at least.

    Args:
        need: Memory of the largest [B].
        jobs: How many there may be.
        show: Whether to say so if there are fewer.
        noun: What runs, as a plural.
    """
    free = memory.available()
    fit = max(1, min(jobs, int(free / (MARGIN * max(need, 1)))))
    if fit < jobs and show:
        one = "a swarm" if noun == "swarms" else "an experiment"
        text = f"{one} takes up to {MARGIN * need / 1e9:,.1f} GB and {free / 1e9:,.1f} GB of memory are free"
        print(f"btflow: {fit} at once instead of {jobs}: {text}", file=sys.stderr, flush=True)
    return fit
