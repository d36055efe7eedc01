"""Ctrl-C and SIGTERM end the program alike, wherever it is; the word that is said and the exit code differ."""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NoReturn, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM
"""Exit codes after Ctrl-C and SIGTERM."""


_AGAIN = 0.02
"""Time after which a dropped signal comes once more [s]: what dropped it has returned, and nobody has noticed."""


class Terminated(KeyboardInterrupt):
    """SIGTERM came.

    A KeyboardInterrupt, as Python's compiler, which works while modules are imported, drops all other exceptions.

    Attributes:
        came: Whether it came to the program itself: of the exception itself, typer leaves no more than an exit code.
    """

    came = False


def terminate(*_: object) -> NoReturn:
    """Handle SIGTERM in the program."""
    Terminated.came = True
    raise Terminated


def hear_again(dropped: sys.UnraisableHookArgs) -> None:
    """Have a signal come once more whose exception was dropped, as where C calls Python: a ``sys.unraisablehook``."""
    if not issubclass(dropped.exc_type, KeyboardInterrupt):
        if dropped.exc_type is not AttributeError:  # of an object that a signal has left half made
            sys.__unraisablehook__(dropped)
        return
    number = signal.SIGTERM if Terminated.came else signal.SIGINT
    with contextlib.suppress(RuntimeError):  # no thread is started any more when the program has ended
        again = threading.Timer(_AGAIN, _thread.interrupt_main, (number,))
        again.daemon = True
        again.start()


def stopped() -> int:
    """Say in one line what has stopped the program, and return its exit code."""
    word, code = ("terminated", TERMINATED) if Terminated.came else ("interrupted", INTERRUPTED)
    print(f"btflow: {word}", file=sys.stderr, flush=True)
    return code


def release_output() -> None:
    """Write what is left for standard output; what it does not take is dropped, or Python would tell of it at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def leave(code: int) -> NoReturn:
    """End the program now, even where a thread of it is in compiled code that hears nothing, such as the compiler's."""
    if "asyncio" in sys.modules:  # it would tell of what a signal left unfinished in threads of libraries, as zarr's
        from asyncio.log import logger

        logger.disabled = True
    release_output()
    if any(thread.name.startswith("btflow") for thread in threading.enumerate()):
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


@contextlib.contextmanager
def without_interrupt() -> Iterator[None]:
    """Have what this thread starts not hear Ctrl-C, which a terminal sends to all."""
    from multiprocessing import resource_tracker  # most commands start nothing

    resource_tracker.ensure_running()  # where it is begun on the way to a process, the signal is let in again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


FIRST_CHUNK = 4096
"""Events before the first look at Ctrl-C."""

CHUNK_SECONDS = 0.2
"""Wall time between two looks at Ctrl-C, to which the number of events is adapted."""


def next_chunk(events: int, elapsed: float) -> int:
    """Number of events that take about CHUNK_SECONDS if the last `events` took `elapsed` [s]; at most twice as many."""
    return max(1, int(events * min(2.0, CHUNK_SECONDS / max(elapsed, 1e-9))))


T = TypeVar("T")


def begun_in_thread(function: Callable[[], T]) -> Future[T]:
    """Have a function run in a thread of its own: the program waits at its end for those of executors, for this not."""
    from concurrent.futures import Future  # most commands wait for none

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
    from concurrent.futures import wait

    done, end = begun_in_thread(function), time.monotonic() + limit
    while not wait([done], min(CHUNK_SECONDS, max(0.0, end - time.monotonic()))).done:
        if time.monotonic() >= end:
            raise TimeoutError
    return done.result()
