"""Where visitors' kernels come from: a process that has everything compiled, and forks; and the server's side of it.

A kernel that imports by itself takes some five seconds of CPU time and 400 MB; a fork takes a fraction of a second and
shares most of its memory. Where there is no fork, Jupyter starts kernels as ever.
"""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

POSSIBLE = hasattr(os, "fork") and sys.platform == "linux"  # elsewhere system libraries may not survive it
READY = b"ready\n"
_LONGEST_REQUEST = 2**20


def start(place: str) -> subprocess.Popen[bytes]:
    """Start the process that listens on a socket at a path; it writes READY, and ends when its input is closed.

    Without a path it compiles, writes READY and ends.
    """
    run = [sys.executable, "-m", "btflow.explore.nursery", place]
    # a session of its own: Ctrl-C is for the server, which ends everything
    return subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)


def main(place: str) -> None:
    """Import, compile, and fork a kernel for each request until the input is closed."""
    from btflow.explore import warm

    warm.warm()
    if not place:
        _write_ready()
        return
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children that end leave nothing behind
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        listener.listen(64)
        _write_ready()
        while True:
            ready, _, _ = select.select([listener, sys.stdin, *warm.under_way()], [], [])
            if sys.stdin in ready:  # the server is gone, perhaps without a word: nobody may stay
                os.killpg(0, signal.SIGKILL)
            if listener not in ready:
                warm.finish()
                continue
            asked, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _kernel(asked)
            asked.close()


def _write_ready() -> None:
    sys.stdout.buffer.write(READY)
    sys.stdout.flush()


def _kernel(asked: socket.socket) -> None:
    """Be a visitor's kernel until it is shut down, or whoever asked for it is gone."""
    try:
        with asked.makefile("rb") as stream:
            wanted = json.loads(stream.readline(_LONGEST_REQUEST))
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream_number in (0, 1):
            os.dup2(nowhere, stream_number)
        os.environ.clear()
        os.environ.update(wanted["env"])
        os.environ.pop("JPY_PARENT_PID", None)  # its parent is the nursery, not the server
        os.chdir(wanted["cwd"])
        threading.Thread(target=_end_with, args=(asked,), daemon=True).start()
        _launch(wanted["file"])
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def _launch(file: str) -> None:
    from ipykernel.kernelapp import IPKernelApp

    launch: Any = IPKernelApp.launch_instance
    launch(argv=["-f", file, "--HistoryManager.enabled=False", "--IPKernelApp.log_level=ERROR"])


def _end_with(asked: socket.socket) -> None:
    """End this process as soon as the other side of a socket is closed."""
    while asked.recv(4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])


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
        if POSSIBLE:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        else:
            self._process.kill()
        self._process.wait()

    def _begin(self) -> None:
        self._ready, self._told = threading.Event(), threading.Event()
        with contextlib.suppress(OSError):
            os.unlink(self.place)
        self._process = start(self.place)
        threading.Thread(target=self._listen, args=(self._process, self._ready, self._told), daemon=True).start()

    @staticmethod
    def _listen(process: subprocess.Popen[bytes], ready: threading.Event, told: threading.Event) -> None:
        assert process.stdout is not None
        if process.stdout.readline() == READY:
            ready.set()
        told.set()
