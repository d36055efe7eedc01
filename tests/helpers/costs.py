"""A bound on the work of a block in calls, which are as many on a busy machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any


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
        print(next(made) - 1, "calls")
