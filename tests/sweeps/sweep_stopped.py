"""The program ended by signals, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

from no_clock import until
from sweep_made import finished

from validation.served import PATIENCE

CODES = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated")}

LONG = ("--set", "leechers=300", "--set", "file_size=20 MB", "--replicas", "200", "--vary", "rtt=0ms,400ms")
"""Swarms of about a second each, so that a signal comes in the midst of some."""


_PROGRESS = re.compile(r"^btflow: [\d,]+ of [\d,]+ swarms, .*swarms/s.*\n", re.MULTILINE)


def besides_progress(err: str) -> str:
    """Return what a sweep printed but for how far it was, which it tells every ten seconds: on a busy machine only."""
    return _PROGRESS.sub("", err)


def stopped(process: subprocess.Popen[str], number: signal.Signals) -> str:
    """Send a signal to a process and its children, as a terminal does; return what was printed besides progress."""
    try:
        os.killpg(process.pid, number)
        _, err = process.communicate(timeout=PATIENCE)
        return besides_progress(err)
    finally:
        process.kill()


def wait_for_a_part(process: subprocess.Popen[str], path: Path) -> None:
    """Wait until something was finished."""
    until(lambda: process.poll() is not None or finished(path))
    assert process.poll() is None


def kept(path: Path) -> str:
    """Return what is said of a store."""
    return f"what was finished is in {path}; --resume goes on with it\n"
