"""What tests do in place of a bound on a clock, which a busy machine breaks: wait for what happens, and count calls."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from validation.served import PATIENCE


def until(happened: Callable[[], object]) -> None:
    """Wait until something has happened, or fail where it never does."""
    end = time.monotonic() + PATIENCE
    while not happened():
        if time.monotonic() > end:
            pytest.fail("it never happened")
        time.sleep(0.05)


@contextmanager
def calls(most: int) -> Iterator[None]:
    """Let a block make at most so many calls of functions, those in C included: the next one fails."""
    made = count(1)

    def note(_frame: object, event: str, _: Any) -> None:
        if event in ("call", "c_call") and next(made) > most:
            sys.setprofile(None)
            raise AssertionError(f"more than {most} calls")

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
