"""Where tasks run on this machine: in threads or processes, which of them, and how many at once."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from btflow import memory, termination
from btflow.errors import SimulationError

if TYPE_CHECKING:
    from btflow.sweeps.results import Part
    from btflow.sweeps.runs import Job, Task

LOOK = 0.2
"""Time between two looks at whether the sweep is to stop, or tries to start a process [s]."""

ENDING = 0.5
"""Time that processes have to end by themselves [s]."""

STARTS = 3
"""How often it is tried to start a process."""

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
        """Have a task run by a thread."""
        return self._executor.submit(self._run, task)

    def _run(self, task: Task) -> Part:
        from btflow.sweeps import runs

        return runs.run(self._job, task, self._stopping.is_set)

    def stop(self) -> None:
        """Have the threads come back; a running kernel looks a few times a second."""
        self._stopping.set()

    def close(self) -> None:
        """Have the threads end by themselves; one that is still in the midst of something is not waited for."""
        self.stop()
        self._executor.shutdown(wait=False, cancel_futures=True)


class Processes(Threads):
    """Processes of this machine, each with a thread that hands it tasks: one that goes away takes no other with it."""

    tries = 2

    def __init__(self, job: Job, number: int) -> None:
        super().__init__(job, number)
        _CONTEXT.set_forkserver_preload(["btflow.sweeps.runs"])  # imported once, there for all
        self._ending = _CONTEXT.RawValue(ctypes.c_bool, False)  # no lock that a killed process could keep
        self._processes: list[Any] = []
        self._idle: list[tuple[Any, Any]] = []

    def _run(self, task: Task) -> Part:
        """Have a process run a task; its errors are those of ``Pool.result``."""
        try:
            process, pipe = self._idle.pop()
        except IndexError:
            process, pipe = self._started()
        try:
            pipe.send(task)
            found: Part | Exception = pipe.recv()
        except (EOFError, OSError):
            process.join()
            raise NotRunError if process.exitcode == LOST else WorkerDiedError(_end(process.exitcode)) from None
        self._idle.append((process, pipe))
        if isinstance(found, Exception):
            raise found
        return found

    def _started(self) -> tuple[Any, Any]:
        """Return a new process that is ready for tasks, and the pipe to it.

        Raises:
            PoolLostError: None can be started.
            NotRunError: The sweep is to end.
        """
        why = ""
        for _ in range(STARTS):
            pipe, theirs = _CONTEXT.Pipe()
            process = _CONTEXT.Process(target=_serve, args=(theirs, self._job, self._ending), daemon=True)
            try:
                with _STARTING, _without_main(), termination.without_interrupt():
                    if self._ending.value:
                        raise NotRunError
                    process.start()
                    self._processes.append(process)
                theirs.close()
                pipe.recv()
            except (EOFError, OSError) as error:
                why = f": {error}" if str(error) else ""
                time.sleep(LOOK)  # a fork server that was killed is there for a moment
            else:
                return process, pipe
        lost = f"processes cannot be started, or go away at once{why}"
        raise PoolLostError(f"{lost}; ulimit -a shows limits, and --backend threads starts none")

    def stop(self) -> None:
        """Have the processes come back, as threads do."""
        self._ending.value = True

    def close(self) -> None:
        """End the processes, by force if they need longer than ``ENDING``."""
        super().close()
        while self._idle:
            self._idle.pop()[1].close()
        deadline = time.monotonic() + ENDING
        with _STARTING:
            for process in self._processes:
                process.join(max(0.0, deadline - time.monotonic()))
                if process.is_alive():
                    process.kill()


def _end(code: int | None) -> str:
    """Return how a process ended that took a task with it."""
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        return f"its process was ended by {name}" + (", perhaps for want of memory" if name == "SIGKILL" else "")
    return f"its process ended with code {code}"


_CONTEXT: Any = multiprocessing.get_context("forkserver")

_STARTING = threading.Lock()


@contextmanager
def _without_main() -> Iterator[None]:
    """Keep a process from running the main module, of which it needs nothing: it may have no guard."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _serve(pipe: Any, job: Job, stopping: Any) -> None:
    """Run tasks in a process, which ends with the sweep's, however that ends."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from btflow.sweeps import runs

    pipe.send(None)  # it is ready
    while not stopping.value:
        try:
            task = pipe.recv()
        except EOFError:
            return
        try:
            found: Part | Exception = runs.run(job, task, lambda: bool(stopping.value))
        except Exception as error:
            found = error
        pipe.send(found)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


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
