"""Resident memory of a process and of all that it has started."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PERIOD = 0.05
"""Time between two looks [s]."""

PROC = Path("/proc")


class Peak:
    """The most memory that was seen.

    Attributes:
        bytes: Resident memory of this process, and of its descendants without pages of files, such as libraries: they
            share these, and how many are resident depends on how the system reads files [B].
    """

    bytes = 0

    def look(self) -> None:
        """Take in how much there is now."""
        own, *others = _family() or ["self"]
        self.bytes = max(self.bytes, _status(own, "VmRSS") + sum(_status(pid, "RssAnon") for pid in others))


@contextmanager
def watched() -> Iterator[Peak]:
    """Look at the memory a few times a second; at the end the peak is at least that of this process alone."""
    peak, over = Peak(), threading.Event()

    def watch() -> None:
        while not over.wait(PERIOD):
            peak.look()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()
        peak.bytes = max(peak.bytes, peak_memory())


def peak_memory() -> int:
    """Return the most resident memory that this process has had [B].

    Linux's ru_maxrss begins at what the parent process had, VmHWM at nothing.
    """
    return _status("self", "VmHWM") or _usage()


def resident_memory() -> int:
    """Return the resident memory of this process [B]; the most it has had where the system does not say."""
    return _status("self", "VmRSS") or _usage()


def _family() -> list[str]:
    """Return the numbers of this process and of its descendants; none where the system does not say."""
    parents = {file.parent.name: _parent(file) for file in PROC.glob("[0-9]*/stat")}
    try:
        found = [(PROC / "self").readlink().name]
    except OSError:
        return []
    for member in found:  # it grows
        found += [pid for pid, parent in parents.items() if parent == member]
    return found


def _parent(stat: Path) -> str:
    try:
        return stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]
    except (OSError, IndexError):  # it has ended
        return ""


def _status(pid: str, name: str) -> int:
    try:
        lines = (PROC / pid / "status").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(name + ":")), 0)


def _usage() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
