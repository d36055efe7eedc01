"""The explorer as a program that is started, waited for, and stopped as a user does."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 600.0
"""Longest to wait for anything [s]: what takes longer hangs, however busy the machine is. It promises no time."""

_CHANGED = """from btflow.__main__ import main
from btflow.explore import visitors
vars(visitors).update({})
main()"""


@dataclass
class Served:
    """A server under way."""

    process: subprocess.Popen[bytes]
    url: str
    """With the token."""
    bare: str
    """Without it."""
    log: Path

    def interrupt(self) -> float:
        """Press Ctrl-C; return how long the program takes to end [s]."""
        start = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE)
        return time.monotonic() - start


@contextmanager
def served(
    folder: Path, *options: str, command: str = "explore", program: Sequence[str] = ("-m", "btflow"), **changed: int
) -> Iterator[Served]:
    """Run `btflow explore` in a folder, on a free port unless the options name one.

    Args:
        folder: Where it runs.
        options: Of the command line.
        command: Of btflow.
        program: What runs btflow, to Python.
        changed: Constants of the server's rules for visitors, by name, that are not as in the program.
    """
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "log.txt"
    with log.open("wb") as out:
        program = ["-c", _CHANGED.format(changed)] if changed else program
        run = [sys.executable, *program, command, "--no-browser", *options]
        own = {"JUPYTER_DATA_DIR": "jupyter", "JUPYTER_CONFIG_DIR": "config", "IPYTHONDIR": "ipython"}
        environment = os.environ | {name: str(folder / place) for name, place in own.items()}
        process = subprocess.Popen(run, stdout=out, stderr=subprocess.STDOUT, cwd=folder, env=environment)
    try:
        yield _wait(process, log)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], log: Path) -> Served:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        found = re.search(r"http://\S+\n[^$]*Ctrl-C", log.read_text(encoding="utf-8"))
        if found:
            url = found[0].split()[0]
            return Served(process, url, url.partition("?")[0], log)
        time.sleep(0.1)
    raise AssertionError(f"the server did not start:\n{log.read_text(encoding='utf-8')}")
