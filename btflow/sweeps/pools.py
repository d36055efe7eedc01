"""Where tasks run: here, in threads, processes or on a cluster. All give futures of parts."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from btflow.errors import SimulationError
from btflow.sweeps import work
from btflow.sweeps.parts import Part
from btflow.sweeps.work import Job, Task


class WorkerDiedError(Exception):
    """The process that had a task went away; the task may be run again."""


class NotRunError(Exception):
    """A task was not run, through no fault of its own; it is to be run again."""


class PoolLostError(SimulationError):
    """Nothing is left that tasks could run on."""


class Pool(Protocol):
    """Runs tasks of a job. What a task finds does not depend on where it runs.

    Attributes:
        tries: How often a swarm alone may be said to have taken its process down before it is recorded as failed.
    """

    tries: int

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

    def stop(self) -> None:
        """Have all tasks come back soon with what they have."""

    def close(self) -> None:
        """Wait for nothing more and give everything back."""


class Threads:
    """Threads of this process: the kernels run without the interpreter's lock."""

    tries = 1  # there is no process left to try it in

    def __init__(self, job: Job, number: int) -> None:
        self._job, self._number = job, number
        self._stopping = threading.Event()
        self._executor = ThreadPoolExecutor(number, thread_name_prefix="btflow")

    def workers(self) -> int:
        """Return the number of threads."""
        return self._number

    def submit(self, task: Task) -> Future[Part]:
        """Have a task run in a thread."""
        return self._executor.submit(work.run, self._job, task, self._stopping.is_set)

    def result(self, future: Future[Part]) -> Part:
        """Return what a task has found."""
        return future.result()

    def stop(self) -> None:
        """Have the threads come back; a running kernel looks a few times a second."""
        self._stopping.set()

    def close(self) -> None:
        """Have the threads end by themselves; one that is still in the midst of something is not waited for."""
        self._stopping.set()
        self._executor.shutdown(wait=False, cancel_futures=True)


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
