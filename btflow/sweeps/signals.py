"""Ctrl-C and SIGTERM: both end a sweep in the same way, what is finished kept; only the exit code differs."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from btflow.termination import TERMINATED, Terminated, hush


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
