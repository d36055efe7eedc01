"""The program ended by signals: how long it takes, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from busy import soon
from sweep_made import finished

CODES = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated")}

LIMIT = 2.0
"""Longest time from a signal to the end [s]."""

LONG = ("--set", "leechers=300", "--set", "file_size=20 MB", "--replicas", "200", "--vary", "rtt=0ms,400ms")
"""Swarms of about a second each, so that a signal comes in the midst of some."""


_PROGRESS = re.compile(r"^btflow: [\d,]+ of [\d,]+ swarms, .*swarms/s.*\n", re.MULTILINE)


def besides_progress(err: str) -> str:
    """Return what a sweep printed but for how far it was, which it tells every ten seconds: on a busy machine only."""
    return _PROGRESS.sub("", err)


def stopped(process: subprocess.Popen[str], number: signal.Signals) -> tuple[float, str]:
    """Send a signal to a process and its children, as a terminal does.

    Returns:
        How long they took to end [s], and what was printed besides progress.
    """
    try:
        begun = time.monotonic()
        os.killpg(process.pid, number)
        _, err = process.communicate(timeout=30)
        return time.monotonic() - begun, besides_progress(err)
    finally:
        process.kill()


def wait_for_a_part(process: subprocess.Popen[str], path: Path) -> None:
    """Wait until something was finished."""
    deadline = time.monotonic() + 120
    while not finished(path):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)


def in_time(measured: Callable[[Path], float], folder: Path) -> None:
    """Assert that something ends in time; what was slow on a busy machine is measured once more, from its start."""
    assert soon(measured(folder / "a.zarr"), LIMIT) or soon(measured(folder / "b.zarr"), LIMIT)


def kept(path: Path) -> str:
    """Return what is said of a store."""
    return f"what was finished is in {path}; --resume goes on with it\n"
