"""Processes of this machine, each fed by a thread of its own; one that goes away is replaced."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any

from btflow.sweeps import work
from btflow.sweeps.parts import Part
from btflow.sweeps.pools import WorkerDiedError
from btflow.sweeps.work import Job, Task

METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"

_STARTING = threading.Lock()

FAREWELL = 1.0
"""Time that all processes have to end by themselves [s]."""


class Processes:
    """Processes that run tasks of a job; a swarm that takes its process down harms no other."""

    tries = 2

    def __init__(self, job: Job, number: int) -> None:
        self._context: Any = multiprocessing.get_context(METHOD)
        if METHOD == "forkserver":  # imported once, there for all
            self._context.set_forkserver_preload(["btflow.sweeps.processes"])
        self._job, self._number = job, number
        self._stopping = self._context.RawValue(ctypes.c_bool, False)  # no lock that a killed process could keep
        self._free: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        self._all = [_Worker(self._context, job, self._stopping) for _ in range(number)]
        for worker in self._all:
            self._free.put(worker)
        self._executor = ThreadPoolExecutor(number, thread_name_prefix="btflow")

    def workers(self) -> int:
        """Return the number of processes."""
        return self._number

    def submit(self, task: Task) -> Future[Part]:
        """Have a task run in the next process that is free."""
        return self._executor.submit(self._run, task)

    def result(self, future: Future[Part]) -> Part:
        """Return what a task has found; WorkerDiedError if its process went away."""
        return future.result()

    def stop(self) -> None:
        """Have the processes come back; a running kernel looks a few times a second."""
        self._stopping.value = True

    def close(self) -> None:
        """End the processes."""
        self.stop()
        self._executor.shutdown(wait=False, cancel_futures=True)
        for worker in self._all:
            worker.leave()
        deadline = time.monotonic() + FAREWELL
        for worker in self._all:
            worker.end(deadline)

    def _run(self, task: Task) -> Part:
        worker = self._free.get()
        try:
            return worker.run(task)
        finally:
            self._free.put(worker)


class _Worker:
    """A process and the pipe to it; started when it is first needed, and again when it has gone away."""

    def __init__(self, context: Any, job: Job, stopping: Any) -> None:
        self._context, self._job, self._stopping = context, job, stopping
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._left = False

    def run(self, task: Task) -> Part:
        """Return what the process finds."""
        try:
            pipe = self._pipe or self._start()
            pipe.send(task)
            found: Part | Exception = pipe.recv()
            if self._left:  # while it was being started
                pipe.close()
        except (EOFError, OSError):
            raise WorkerDiedError(self._obituary()) from None
        if isinstance(found, Exception):
            raise found
        return found

    def leave(self) -> None:
        """Have the process end by itself."""
        self._left = True
        if self._pipe is not None:
            self._pipe.close()

    def end(self, deadline: float) -> None:
        """End the process, by force if it is still there at some time of the clock ``monotonic``."""
        process = self._process
        if process is not None:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()

    def _start(self) -> Connection:
        self._pipe, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, self._job, self._stopping), daemon=True)
        with _without_main(), _without_interrupt():
            process.start()
        self._process = process  # one that is not started yet cannot be waited for
        theirs.close()
        assert self._pipe is not None
        return self._pipe

    def _obituary(self) -> str:
        """Return how the process ended, and forget it."""
        process, self._process, self._pipe = self._process, None, None
        if process is None:
            return "its process could not be started"
        process.join(FAREWELL)
        code = process.exitcode
        if code is not None and code < 0:
            name = signal.Signals(-code).name
            return f"its process was ended by {name}" + (", perhaps for want of memory" if name == "SIGKILL" else "")
        return f"its process ended with code {code}"


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


@contextmanager
def _without_interrupt() -> Iterator[None]:
    """Have what this thread starts not hear Ctrl-C, which a terminal sends to all, not even before `_serve`."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # where it is begun on the way to a process, the signal is let in again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Connection, job: Job, stopping: Any) -> None:
    """Run tasks until the pipe is closed; Ctrl-C is the parent's affair."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    enough = _enough(stopping)
    try:
        while True:
            task = pipe.recv()
            pipe.send(_outcome(job, task, enough))
    except (EOFError, OSError):  # the parent is gone
        return


def _outcome(job: Job, task: Task, enough: Callable[[], bool]) -> Part | Exception:
    try:
        return work.run(job, task, enough)
    except Exception as error:
        return error


def _enough(stopping: Any) -> Callable[[], bool]:
    """Return whether to stop: because it was said, or because the parent is no longer there."""
    parent = os.getppid()
    return lambda: bool(stopping.value) or os.getppid() != parent
