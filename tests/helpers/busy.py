"""Limits in seconds are of a machine that does nothing else: how much slower this one is, beside whatever it runs."""

from __future__ import annotations

import time

from validation.served import PATIENCE as PATIENCE

LOOK = 0.2
"""Processor time spent to find out [s]."""


def slowdown() -> float:
    """Return the seconds that pass in one second of this thread's processor time, 1 or more."""
    begun, end = time.perf_counter(), time.thread_time() + LOOK
    while time.thread_time() < end:
        pass
    return max(1.0, (time.perf_counter() - begun) / LOOK)


def soon(took: float, most: float) -> bool:
    """Return whether what took a time takes at most so long where nothing else runs [s]."""
    return took < most or took < most * slowdown()
