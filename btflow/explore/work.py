"""Work in the background of a widget: the newest request wins, it tells how far it is, and it can be cancelled.

The simulator's kernels let go of Python's lock while they run, so that a thread is enough: the page stays live.
Everything that the thread finds is handed to the event loop on which it was asked for, where widgets may be changed;
a program without an event loop takes it by ``wait``.
"""

import asyncio
import contextvars
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from btflow.errors import InputError, SimulationError

GRACE = 0.5
"""How long a run goes on although a newer request waits [s]: short ones are finished, so that a figure moves while a
slider is dragged; long ones are given up."""

REST = 0.3
"""How long no newer request comes until the inputs rest [s]: a slider that is dragged moves several times as often."""

Request = TypeVar("Request")
Result = TypeVar("Result")


class Cancelled(BaseException):
    """A run is to end without a result; no Exception, so that nothing on the way takes it for an error."""


class Look:
    """What a run calls, and what ends it by raising `Cancelled`; this one ends none."""

    def __call__(self, share: float) -> None:
        """Tell the share done, a few times a second."""

    def wait(self, why: str) -> None:
        """Tell what a run waits for, and wait a moment; a newer request ends the run at once."""

    def rest(self) -> None:
        """Wait until the inputs rest; from then on a newer request ends the run at once, however short it has been."""

    def last(self) -> bool:
        """Return whether no newer request waits."""
        return True


def _nothing(_: object) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Listeners(Generic[Result]):
    """What is called on the event loop."""

    done: Callable[[Result], None]
    """With each result."""
    failed: Callable[[str], None] = _nothing
    """With the text of an error."""
    progress: Callable[[float], None] = _nothing
    """With the share done."""
    busy: Callable[[bool], None] = _nothing
    """With whether anything runs, when that may have changed."""
    waits: Callable[[str], None] = _nothing
    """With what a run waits for."""


class Work(Generic[Request, Result]):
    """Runs requests one at a time, the newest one only.

    Args:
        run: Yields one result or several of a request; it calls what it is given a few times a second.
        listeners: What is told.
    """

    def __init__(self, run: Callable[[Request, Look], Iterator[Result]], listeners: Listeners[Result]) -> None:
        self._run = run
        self._listeners = listeners
        self._lock = threading.Condition()
        self._asked = 0.0
        self._waiting: list[Request] = []  # one at most
        self._running = False
        self._cancels = 0
        self._found: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._wake: Callable[[], object] = lambda: None

    @property
    def busy(self) -> bool:
        """Whether something runs or waits to."""
        with self._lock:
            return self._running

    def ask(self, request: Request) -> None:
        """Run a request as soon as what runs is finished or given up; one that still waits is dropped."""
        with self._lock:
            self._wake = self._waker()
            self._waiting, self._asked = [request], time.monotonic()
            begins, self._running = not self._running, True
            self._lock.notify_all()
        if begins:
            self._listeners.busy(True)
            threading.Thread(target=self._work, name="btflow-explore", daemon=True).start()

    def cancel(self) -> None:
        """End what runs, within a second; no result of it comes any more."""
        with self._lock:
            self._waiting = []
            self._cancels += 1
            self._lock.notify_all()

    def wait(self, timeout: float = 60.0, enough: Callable[[], bool] = lambda: False) -> bool:
        """Take what is found until nothing runs, or it is enough; return whether that is so within a time [s]."""
        end = time.monotonic() + timeout
        while not enough() and (self.busy or not self._found.empty()):
            try:
                self._take(self._found.get(timeout=max(0.0, end - time.monotonic())))
            except queue.Empty:
                return False
        return True

    def _waker(self) -> Callable[[], object]:
        """Return what makes the present event loop take what is found; nothing if there is no loop."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return lambda: None
        here = contextvars.copy_context()  # a kernel's messages say which message they answer
        return lambda: loop.is_closed() or loop.call_soon_threadsafe(self._drain, context=here)

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._running = False
                    self._put(lambda: self._listeners.busy(self.busy))
                    return
                request, number = self._waiting.pop(), self._cancels
            self._one(request, number)

    def _one(self, request: Request, number: int) -> None:
        """Run one request and hand over what it yields."""
        look = _Watched(self, number)
        try:
            for result in self._run(request, look):
                look.check()
                self._tell(number, partial(self._listeners.done, result))
        except Cancelled:
            return
        except Exception as error:
            self._tell(number, partial(self._listeners.failed, text_of(error)))

    def _outdated(self, number: int, patient: bool) -> bool:
        """Return whether a run begun after so many cancels is to end; a patient one goes on though another waits."""
        with self._lock:
            return number != self._cancels or bool(self._waiting and not patient)

    def _rest(self, number: int) -> None:
        """Wait until the inputs rest, or a run begun after so many cancels is outdated."""
        with self._lock:
            remaining = self._asked + REST - time.monotonic()
            self._lock.wait_for(lambda: number != self._cancels or self._waiting, remaining)

    def _tell(self, number: int, call: Callable[[], None]) -> None:
        """Hand over a call, to be left out if there is a cancel before it is made."""
        self._put(lambda: call() if number == self._cancels else None)

    def _put(self, call: Callable[[], None]) -> None:
        self._found.put(call)
        self._wake()

    def _drain(self) -> None:
        while True:
            try:
                self._take(self._found.get_nowait())
            except queue.Empty:
                return

    def _take(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception as error:
            self._listeners.failed(text_of(error))


class _Watched(Look):
    """Watches one run of a ``Work``, begun after so many cancels."""

    def __init__(self, work: Work[Any, Any], number: int) -> None:
        self._work, self._number = work, number
        self._patient_until = time.monotonic() + GRACE

    def __call__(self, share: float) -> None:
        self.check()
        self._work._tell(self._number, partial(self._work._listeners.progress, share))

    def check(self) -> None:
        """Raise `Cancelled` if the run is to end."""
        if self._work._outdated(self._number, time.monotonic() < self._patient_until):
            raise Cancelled

    def wait(self, why: str) -> None:
        self._work._tell(self._number, partial(self._work._listeners.waits, why))
        time.sleep(REST)
        if self._work._outdated(self._number, patient=False):
            raise Cancelled
        self._patient_until = time.monotonic() + GRACE

    def last(self) -> bool:
        return not self._work._waiting

    def rest(self) -> None:
        self._patient_until = 0.0
        self._work._rest(self._number)
        self.check()


def text_of(error: Exception) -> str:
    """Return an error as a line for people; of one that a user cannot cause with its kind."""
    if isinstance(error, InputError | SimulationError):
        return str(error)
    if isinstance(error, MemoryError):
        return "this needs more memory than one page may take"
    return f"{type(error).__name__}: {error}"
