"""Runs what hears no signal, such as a compiler, in a thread of its own, so that Ctrl-C ends the waiting at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

T = TypeVar("T")

LOOK = 0.2
"""Time between two looks at signals [s]."""


def apart(function: Callable[[], T], limit: float = float("inf")) -> T:
    """Return what a function returns, run in a thread that nobody waits for any more once a signal has come.

    Args:
        function: What to run.
        limit: Longest time to wait [s].

    Raises:
        TimeoutError: It was not done in time; it may go on.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(function())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name="btflow", daemon=True).start()
    end = time.monotonic() + limit
    while not wait([done], min(LOOK, max(0.0, end - time.monotonic()))).done:
        if time.monotonic() >= end:
            raise TimeoutError
    return done.result()
