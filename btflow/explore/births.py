"""The nursery as the server sees it: a process that is started again when it dies."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable

from btflow.explore import nursery

DEATHS = 3
"""After so many, Jupyter starts the visitors' processes by itself."""


class Births:
    """Keeps a nursery running.

    Args:
        place: Path of its socket; empty where processes cannot fork: then a process only compiles.
        say: Tells people a line.

    Attributes:
        place: Path of the nursery's socket; empty once Jupyter starts the visitors' processes by itself.
    """

    def __init__(self, place: str, say: Callable[[str], None]) -> None:
        self.place = place
        self._say = say
        self._deaths = 0
        self._begin()

    @property
    def ready(self) -> bool:
        """Whether a visitor's process can be had."""
        return not self.place or (self._ready.is_set() and self._process.poll() is None)

    def wait(self) -> bool:
        """Wait until the nursery has compiled and loaded everything; return whether it has."""
        self._told.wait()
        return self._ready.is_set()

    def look(self) -> None:
        """Start the nursery again if it is dead."""
        if not self.place or self._process.poll() is None:
            return
        self._deaths += 1
        if self._deaths >= DEATHS:
            self._say("The process that starts pages keeps ending; each page now starts by itself, which takes longer.")
            self.place = ""
            return
        self._say("The process that starts pages has ended; it is started again. Open pages are not touched.")
        self._begin()

    def stop(self) -> None:
        """End the nursery, with what it has started."""
        if nursery.POSSIBLE:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        else:
            self._process.kill()
        self._process.wait()

    def _begin(self) -> None:
        self._ready, self._told = threading.Event(), threading.Event()
        with contextlib.suppress(OSError):
            os.unlink(self.place)
        self._process = nursery.start(self.place)
        threading.Thread(target=self._listen, args=(self._process, self._ready, self._told), daemon=True).start()

    @staticmethod
    def _listen(process: subprocess.Popen[bytes], ready: threading.Event, told: threading.Event) -> None:
        assert process.stdout is not None
        if process.stdout.readline() == nursery.READY:
            ready.set()
        told.set()
