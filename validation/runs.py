"""Runs cases: each once, in processes of their own, which end with the program that started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from btflow.errors import SimulationError
from btflow.options import Fidelity
from validation.cases import MODEL, Case, Setting
from validation.measured import Measured, measure

if TYPE_CHECKING:
    from btflow.swarm.scenario import Scenario

Of = TypeVar("Of")
Out = TypeVar("Out")


@dataclass(frozen=True)
class Task:
    """A case to run."""

    case: Case
    """The case."""
    replicas: int
    """How often."""
    swarm: Mapping[str, Setting]
    """Parameters set beside the case's, such as a smaller swarm."""
    fidelity: Fidelity = "full"
    """How it is run."""

    def scenario(self) -> Scenario:
        """Return the scenario to simulate."""
        from btflow import load

        return load(MODEL).set(**{**self.case.settings(), **self.swarm})


def run(task: Task) -> tuple[Task, Measured]:
    """Simulate a task; a SimulationError that names the case if a swarm does not finish."""
    from btflow import simulate

    scenario = task.scenario()
    try:
        result = simulate(scenario, seed=task.case.seed, replicas=task.replicas, fidelity=task.fidelity)
    except SimulationError as error:
        raise SimulationError(f"{task.case.label}: {error}") from None
    return task, measure(scenario, result)


def run_all(tasks: Sequence[Task], processes: int) -> Iterator[tuple[Task, Measured]]:
    """Yield each task with its figures as it ends; the results do not depend on the number of processes."""
    swarm: Mapping[str, Setting] = {"leechers": 10, "file_size": "1 MB"}
    small = [Task(Case(100), 1, swarm, fidelity) for fidelity in {task.fidelity for task in tasks}]
    yield from in_processes(run, tasks, processes, small)


def in_processes(work: Callable[[Of], Out], tasks: Sequence[Of], processes: int, small: Sequence[Of]) -> Iterator[Out]:
    """Yield what is done with each task as it ends.

    Args:
        work: What is done.
        tasks: With what.
        processes: How many at a time.
        small: Tasks that compile the kernels once, before the processes start.
    """
    if not tasks:
        return
    for task in small:
        work(task)
    if processes == 1:
        yield from map(work, tasks)
        return
    with _ended_by_sigterm():
        with _interrupts_ignored():  # the processes inherit this: Ctrl-C is the parent's to handle
            pool = multiprocessing.get_context("spawn").Pool(processes, _end_with_parent)
        try:
            yield from pool.imap_unordered(work, tasks)
            pool.close()
        finally:
            pool.terminate()
            pool.join()


def _end_with_parent() -> None:
    """Let this process end when its parent does, however that ends, instead of with its swarm."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end the program by an exception, so that the processes it started are ended too."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
