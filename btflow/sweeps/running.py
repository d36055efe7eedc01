"""Runs a sweep as it was asked for: hands out tasks, keeps what comes back, stops on signals, shows how far it is."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Self

from btflow.errors import InputError
from btflow.files import extra
from btflow.options import whole_number
from btflow.sweeps import executor
from btflow.sweeps.runs import BUDGET, Task
from btflow.termination import TERMINATED, Terminated
from btflow.units.formatting import counted

if TYPE_CHECKING:
    from distributed import Client

    from btflow.sweeps.plan import Plan
    from btflow.sweeps.results import Part
    from btflow.sweeps.store import Store

BACKENDS = ("threads", "processes")

MAX_JOBS = 1024
"""Most swarms at once on this machine."""


@dataclass(frozen=True)
class Running:
    """How a sweep is run; what it finds does not depend on it.

    Attributes:
        jobs: Swarms at once; None for all cores.
        backend: ``threads`` or ``processes``; None for processes if many swarms are left.
        client: A Dask client, or the address of a scheduler; None for this machine.
        show: Whether to show progress.
        retry_failed: Whether swarms that failed run again.
    """

    jobs: int | None = None
    backend: str | None = None
    client: Client | str | None = None
    show: bool = False
    retry_failed: bool = False

    def check(self, *, resume: bool) -> None:
        """Raise an InputError for what does not go; ``resume``: whether there may be a part of the sweep already."""
        if self.retry_failed and not resume:
            raise InputError("retry_failed", None, "is said of a sweep that is not resumed", "resume too")
        if self.jobs is not None:
            whole_number("jobs", self.jobs, 1, MAX_JOBS)
        if self.backend is not None and self.backend not in BACKENDS:
            raise InputError("backend", self.backend, "is unknown", " or ".join(BACKENDS))
        if self.client is not None and (self.jobs is not None or self.backend is not None):
            name = "jobs" if self.jobs is not None else "backend"
            raise InputError(name, getattr(self, name), "is of this machine, and the sweep runs on a cluster")

    def cluster(self, declared: Plan) -> executor.Pool | None:
        """Return the cluster that a sweep runs on, None for this machine; an InputError if it cannot be used."""
        if self.client is None:
            return None
        try:
            from btflow.sweeps.dask import Cluster
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("dask", "distributed"):
                raise
            raise InputError("dask", self.client, "needs Dask, which is not installed", extra("dask")) from None
        from btflow.sweeps.precheck import scout

        return Cluster(declared.job, self.client, scout(declared).bytes)

    def local(self, declared: Plan, left: int) -> executor.Pool:
        """Return what runs so many swarms on this machine; the kernels are loaded once this returns.

        So they are compiled once, by this process: those of its own find them on the disk.
        """
        from btflow.sweeps.precheck import scout

        scouted, job = scout(declared), declared.job
        for program in scouted.programs:
            job.kind.load_kernels(program)
        jobs = self.jobs or executor.cores()
        kind = self.backend or ("processes" if jobs > 1 and left > executor.MANY else "threads")
        need = scouted.bytes + (executor.PROCESS if kind == "processes" else 0)
        jobs = executor.fitting(need, jobs, show=self.show, noun=job.noun)
        return executor.Threads(job, jobs) if kind == "threads" else executor.Processes(job, jobs)


GRACE = 1.2
"""Time that running tasks have to come back when the sweep stops [s]."""

GROWTH = 4.0
"""A task has at most so many times the units of the last one that came back."""


def drive(plan: Plan, store: Store, pool: executor.Pool, progress: Progress, left: int) -> None:
    """Run what a store has pending.

    Raises:
        KeyboardInterrupt: It was interrupted; what was finished is kept.
        SystemExit: SIGTERM came; what was finished is kept.
        SimulationError: The cluster is gone; what was finished is kept.
        InputError: A worker of the cluster cannot run tasks; what was finished is kept.
        OSError: The store cannot be written; what it has is kept.
    """
    backlog = Backlog(plan, store.pending(), left)
    running: dict[Future[Part], Task] = {}
    with heard() as stop:
        try:
            while not stop.is_set() and (running or backlog.any):
                workers = pool.workers()
                while len(running) < workers + (workers + 1) // 2 and (task := backlog.next(workers)) is not None:
                    running[pool.submit(task)] = task
                if not running:  # no worker is there
                    stop.wait(executor.LOOK)
                for future in wait(running, timeout=executor.LOOK, return_when=FIRST_COMPLETED).done:
                    part = _found(plan, pool, future, running[future], backlog)
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


def _found(plan: Plan, pool: executor.Pool, future: Future[Part], task: Task, backlog: Backlog) -> Part:
    """Return what a task has found, and put back what it has not; a swarm that takes processes down has failed."""
    try:
        part = pool.result(future)
    except executor.NotRunError:
        part = plan.job.shape.empty(task.first, 0)
    except executor.WorkerDiedError as died:
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
    """The units that are left to run, in order; what came back undone goes first.

    How many make a task depends on how long the last ones took: executors have chunks of one size.
    """

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
def _handled(handler: Callable[[int, object], None], *numbers: signal.Signals) -> Iterator[dict[int, Any]]:
    """Have a function handle signals, where they are heard, and give what has handled each before."""
    if threading.current_thread() is not threading.main_thread():
        yield {}
        return
    before = {int(number): signal.getsignal(number) for number in numbers}
    for number in numbers:
        signal.signal(number, handler)
    try:
        yield before
    finally:
        for number in numbers:
            signal.signal(number, before[number])


@contextmanager
def heard() -> Iterator[Stop]:
    """Give an event that Ctrl-C and SIGTERM set, in place of what they do; a second one does what it always does."""
    stop = Stop()

    def interrupt(number: int, _: object) -> None:
        stop.number = signal.Signals(number)
        stop.set()
        signal.signal(number, before[number])

    with _handled(interrupt, signal.SIGINT, signal.SIGTERM) as before:
        yield stop


@contextmanager
def terminable() -> Iterator[None]:
    """Have SIGTERM end what runs as Ctrl-C does, so that all is left in order, and then raise SystemExit."""

    def terminate(*_: object) -> NoReturn:
        raise Terminated

    try:
        with _handled(terminate, signal.SIGTERM):
            yield
    except Terminated:
        raise SystemExit(TERMINATED) from None


PERIOD = 10.0
"""Time between two lines where there is no terminal [s]."""


class Progress:
    """Says nothing; a context manager, as those are that do."""

    def __init__(self, total: int, done: int, failed: int, noun: str = "swarms") -> None:
        self.noun, self.total, self.done, self.failed, self.before = noun, total, done, failed, done
        self.begun = self.last = time.perf_counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End what is shown."""

    def add(self, part: Part) -> None:
        """Count a part."""
        self.done += part.count
        self.failed += part.failed
        if part.count:
            self.last = time.perf_counter()

    def look(self) -> None:
        """Show how far it is; called a few times a second."""

    @property
    def left(self) -> str:
        """The time that is left; for how long nothing has come once that is longer: the last tasks may stand still."""
        if not self.rate:
            return ""
        quiet, left = time.perf_counter() - self.last, (self.total - self.done) / self.rate
        return f"nothing new for {_time(quiet)}" if quiet > max(PERIOD, left) else f"{_time(left)} left"

    @property
    def rate(self) -> float:
        """Runs per second since this run began."""
        return (self.done - self.before) / max(time.perf_counter() - self.begun, 1e-9)


class Lines(Progress):
    """A line on stderr every few seconds, for a log, where tqdm would draw one bar over the other."""

    _said = 0.0

    def look(self) -> None:
        """Print a line if the last one is old enough."""
        now = time.perf_counter() - self.begun
        if now - self._said >= PERIOD:
            self._said = now
            self._print(f", {self.left}" if self.left else "")

    def __exit__(self, *_: object) -> None:
        if self._said:
            self._print(f", {_time(time.perf_counter() - self.begun)}")

    def _print(self, end: str) -> None:
        failed = f", {self.failed:,} failed" if self.failed else ""
        of = counted(self.total, self.noun.removesuffix("s"))
        text = f"btflow: {self.done:,} of {of}{failed}, {self.rate:.3g} {self.noun}/s{end}"
        print(text, file=sys.stderr, flush=True)


FORM = "{percentage:3.0f}% of {total_fmt}{unit} |{bar}| {elapsed}, {remaining} left, {rate_fmt}{postfix}"
"""How a bar looks, in tqdm's form."""


class Bar(Progress):
    """A bar on a terminal (tqdm)."""

    def __enter__(self) -> Self:
        from tqdm import tqdm

        unit = f" {self.noun}" if self.total != 1 else f" {self.noun.removesuffix('s')}"
        self.bar = tqdm(
            total=self.total, initial=self.done, bar_format=FORM, unit=unit, dynamic_ncols=True, smoothing=0.1
        )
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.close()

    def look(self) -> None:
        """Draw the bar."""
        quiet = self.left.startswith("nothing")
        self.bar.bar_format = FORM.replace("{remaining} left", self.left) if quiet else FORM
        if quiet:
            self.bar.refresh()
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
