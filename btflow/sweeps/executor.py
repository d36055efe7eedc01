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
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from btflow import memory, termination
from btflow.errors import SimulationError

if TYPE_CHECKING:
    from btflow.sweeps.results import Part
    from btflow.sweeps.runs import Job, Task

LOOK = 0.2
"""Time between two looks at whether the sweep is to stop, or tries to start a process [s]."""

BROKEN = 3
"""How often in a row all processes may go away before they have begun, or none may start."""

LOST = 255
"""Exit code that Python gives a process whose fork server, which alone hears how it ends, is gone."""

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
        self.stop()
        self._executor.shutdown(wait=False, cancel_futures=True)


class Processes(Pool):
    """Processes of this machine (pebble): a swarm that takes its process down harms no other."""

    tries = 2

    def __init__(self, job: Job, number: int) -> None:
        self._job, self._number, self._broken, self._lost = job, number, 0, 0
        self._context: Any = copy.copy(_CONTEXT)
        self._context.Process = self._made
        self._context.set_forkserver_preload(["btflow.sweeps.runs"])  # imported once, there for all
        self._stopping = self._context.RawValue(ctypes.c_bool, False)  # no lock that a killed process could keep
        self._pool = self._new()

    def _new(self) -> Any:
        from pebble import ProcessPool

        self._processes: list[Any] = []
        known = self._job, self._stopping
        return ProcessPool(self._number, initializer=_begin, initargs=known, context=self._context)

    def _made(self, *args: Any, **options: Any) -> _Process:
        """Return a process that pebble is to start."""
        process = _Process(*args, **options)
        self._processes.append(process)
        return process

    def workers(self) -> int:
        """Return the number of processes."""
        return self._number

    def submit(self, task: Task) -> Future[Part]:
        """Have a task run in the next process that is free.

        Raises:
            PoolLostError: Processes cannot be started, or go away again and again before they have begun.
        """
        try:
            future: Future[Part] = self._pool.schedule(_run, (task,))
        except RuntimeError as error:  # pebble gives up if none can be started, or all went away without a task
            self._broken += 1
            if self._broken > BROKEN:
                why = f": {error.__cause__}" if isinstance(error.__cause__, OSError) else ""
                lost = f"processes cannot be started, or go away at once{why}"
                raise PoolLostError(f"{lost}; ulimit -a shows limits, and --backend threads starts none") from None
            self._end()
            time.sleep(LOOK)  # a fork server that was killed is there for a moment
            self._pool = self._new()
            return self.submit(task)
        return future

    def result(self, future: Future[Part]) -> Part:
        """Return what a task has found.

        Raises:
            WorkerDiedError: Its process went away.
            NotRunError: Its process went away with the fork server, or before it had begun.
        """
        from pebble import ProcessExpired

        try:
            part = future.result()
        except ProcessExpired as expired:
            self._lost += expired.exitcode == LOST
            if expired.exitcode == LOST and self._lost <= BROKEN * self._number:
                raise NotRunError from None
            raise WorkerDiedError(_how_ended(expired.exitcode)) from None
        except BrokenProcessPool:
            raise NotRunError from None
        self._broken = self._lost = 0
        return part

    def stop(self) -> None:
        """Have the processes come back, as threads do."""
        self._stopping.value = True

    def close(self) -> None:
        """End the processes, whatever they do."""
        self.stop()
        self._end()

    def _end(self) -> None:
        """Kill the processes: pebble would give each three seconds to end, one after the other."""
        self._pool.stop()
        for process in self._processes:
            if process.pid is not None:  # it was started
                process.kill()
        self._pool.join()


def _how_ended(code: int | None) -> str:
    """Return how a process ended that took a task with it."""
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        return f"its process was ended by {name}" + (", perhaps for want of memory" if name == "SIGKILL" else "")
    return f"its process ended with code {code}"


_CONTEXT: Any = multiprocessing.get_context("forkserver")

_STARTING = threading.Lock()


class _Process(_CONTEXT.Process):  # type: ignore[misc]  # of whatever method
    """A process that does not hear Ctrl-C, nor run the main module, which it does not need and may have no guard."""

    def start(self) -> None:
        with _STARTING, termination.without_interrupt():
            main = sys.modules["__main__"]
            sys.modules["__main__"] = ModuleType("__main__")
            try:
                super().start()
            finally:
                sys.modules["__main__"] = main


_job: Job
_stopping: Any


def _begin(job: Job, stopping: Any) -> None:
    """Make a process ready for tasks."""
    global _job, _stopping
    _job, _stopping = job, stopping


def _run(task: Task) -> Part:
    """Run a task in a process."""
    from btflow.sweeps import runs

    return runs.run(_job, task, _is_stopping)


def _is_stopping() -> bool:
    """Return whether the sweep is to end, or its process has gone."""
    parent = multiprocessing.parent_process()
    return bool(_stopping.value) or parent is None or not parent.is_alive()


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
