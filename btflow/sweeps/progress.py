"""Hands tasks to an executor, keeps what comes back, stops on signals, and shows how far a sweep is."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from btflow.sweeps.executor import NotRunError, Pool, WorkerDiedError
from btflow.sweeps.results import Part
from btflow.sweeps.runs import BUDGET, Task
from btflow.termination import TERMINATED, Terminated, hush
from btflow.units.formatting import counted

if TYPE_CHECKING:
    from btflow.sweeps.plan import Plan
    from btflow.sweeps.results import Part
    from btflow.sweeps.store import Store


PERIOD = 10.0
"""Time between two lines where there is no terminal [s]."""


class Progress:
    """Says nothing; a context manager, as those are that do."""

    def __init__(self, total: int, done: int, failed: int, noun: str = "swarms") -> None:
        self.noun, self.total, self.done, self.failed, self.before = noun, total, done, failed, done
        self.begun = time.perf_counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End what is shown."""

    def add(self, part: Part) -> None:
        """Count a part."""
        self.done += part.count
        self.failed += part.failed

    def look(self) -> None:
        """Show how far it is; called a few times a second."""

    @property
    def rate(self) -> float:
        """Runs per second since this run began."""
        return (self.done - self.before) / max(time.perf_counter() - self.begun, 1e-9)


class Lines(Progress):
    """A line on stderr every few seconds."""

    _said = 0.0

    def look(self) -> None:
        """Print a line if the last one is old enough."""
        now = time.perf_counter() - self.begun
        if now - self._said >= PERIOD:
            self._said = now
            self._print(f", {_time((self.total - self.done) / self.rate)} left" if self.rate else "")

    def __exit__(self, *_: Any) -> None:
        if self._said:
            self._print(f", {_time(time.perf_counter() - self.begun)}")

    def _print(self, end: str) -> None:
        failed = f", {self.failed:,} failed" if self.failed else ""
        of = counted(self.total, self.noun.removesuffix("s"))
        text = f"btflow: {self.done:,} of {of}{failed}, {self.rate:.3g} {self.noun}/s{end}"
        print(text, file=sys.stderr, flush=True)


class Bar(Progress):
    """A bar on a terminal (tqdm)."""

    def __enter__(self) -> Self:
        from tqdm import tqdm

        form = "{percentage:3.0f}% of {total_fmt}{unit} |{bar}| {elapsed}, {remaining} left, {rate_fmt}{postfix}"
        unit = f" {self.noun}" if self.total != 1 else f" {self.noun.removesuffix('s')}"
        self.bar = tqdm(
            total=self.total, initial=self.done, bar_format=form, unit=unit, dynamic_ncols=True, smoothing=0.1
        )
        return self

    def __exit__(self, *_: Any) -> None:
        self.bar.close()

    def look(self) -> None:
        """Draw the bar."""
        if self.failed:
            self.bar.set_postfix_str(f"{self.failed:,} failed", refresh=False)
        self.bar.update(self.done - self.bar.n)


def progress(shown: bool, total: int, done: int, failed: int, noun: str = "swarms") -> Progress:
    """Return what shows how far a sweep is, if anything is to be shown."""
    kind = (Bar if sys.stderr.isatty() else Lines) if shown else Progress
    return kind(total, done, failed, noun)


def _time(seconds: float) -> str:
    """Return a time as ``1:02:03``, without the hours if there are none."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


T = TypeVar("T")

LOOK = 0.2
"""Time between two looks at whether the sweep is to stop [s]."""

GRACE = 1.2
"""Time that running tasks have to come back when the sweep stops [s]."""

GROWTH = 4.0
"""A task has at most so many times the units of the last one that came back."""


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
    # Pebble would end the process of a running task that is cancelled, and with it what the task has finished.
    begun = [future for future in running if future.running() or not future.cancel()]
    for future in wait(begun, timeout=GRACE).done:
        if future.exception() is None:
            yield future.result()


class Backlog:
    """The units that are left to run, in order; what came back undone goes first."""

    def __init__(self, plan: Plan, pending: Iterable[range], left: int) -> None:
        self._plan, self._pending = plan, iter(pending)
        self._again: deque[Task] = deque()
        self._rest: range = range(0)
        self._left = left
        self._size = 1.0

    @property
    def any(self) -> bool:
        """Whether anything is left to hand out."""
        return bool(self._again) or self._left > 0

    def next(self, workers: int) -> Task | None:
        """Return a task for one of so many workers; None if nothing is left."""
        if self._again:
            return self._again.popleft()
        if not self._rest:
            self._rest = next(self._pending, range(0))
        fair = -(-self._left // (2 * workers))
        count = min(len(self._rest), max(1, min(int(self._size), fair)))
        if count == 0:
            return None
        taken, self._rest = self._rest[:count], self._rest[count:]
        self._left -= count
        return self._plan.task(taken.start, count)

    def back(self, task: Task, part: Part) -> None:
        """Take back what a task has not done of its units, and learn from how long the others took."""
        if part.count:
            self._size = min(part.count * GROWTH, max(1.0, part.count * BUDGET / max(part.elapsed, 1e-6)))
        if part.count < task.count:
            self._again.append(task.part(task.first + part.count, task.count - part.count))

    def retry(self, task: Task) -> None:
        """Take back a task whose process went away: its units one by one, to find the one that is to blame."""
        for unit in range(task.first, task.end):
            self._again.append(task.part(unit, 1, task.tries + (task.count == 1)))


class Stop(threading.Event):
    """Set when a sweep is to end, by the signal ``number``."""

    number = signal.SIGINT

    def error(self) -> BaseException:
        """Return what is raised once all is in order."""
        return KeyboardInterrupt() if self.number == signal.SIGINT else SystemExit(TERMINATED)


@contextmanager
def heard() -> Iterator[Stop]:
    """Give an event that Ctrl-C and SIGTERM set, in place of what they do; a second one does what it always does."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def interrupt(number: int, _: object) -> None:
        stop.number = signal.Signals(number)
        stop.set()
        signal.signal(number, before[stop.number])

    for number in before:
        signal.signal(number, interrupt)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def terminable() -> Iterator[None]:
    """Have SIGTERM end what runs as Ctrl-C does, so that all is left in order, and then raise SystemExit."""

    def terminate(*_: object) -> NoReturn:
        raise Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except Terminated:
        raise SystemExit(TERMINATED) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def leave(code: int) -> NoReturn:
    """End the program now, even where a thread of it is in compiled code that hears nothing."""
    if any(thread.name.startswith("btflow") for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    hush()
    raise SystemExit(code)


def begun_in_thread(function: Callable[[], T]) -> Future[T]:
    """Have a function run in a thread of its own, for which the program does not wait at its end."""
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(function())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name="btflow", daemon=True).start()
    return done


def in_thread(function: Callable[[], T], limit: float = float("inf")) -> T:
    """Return what a function returns that hears no signal, such as a compiler; Ctrl-C ends the waiting at once.

    Args:
        function: What to run.
        limit: Longest time to wait [s].

    Raises:
        TimeoutError: It was not done in time; it may go on.
    """
    done, end = begun_in_thread(function), time.monotonic() + limit
    while not wait([done], min(LOOK, max(0.0, end - time.monotonic()))).done:
        if time.monotonic() >= end:
            raise TimeoutError
    return done.result()
