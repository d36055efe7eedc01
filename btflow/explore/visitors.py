"""Those who visit the page: how many there may be, and the process that each has.

On Linux processes come from a fork server, which has everything loaded: a process that loads by itself takes some five
seconds of CPU time and 400 MB, a fork a fraction of a second, and it shares most of its memory. One process is kept
ready, with its page made, for who comes next.
"""

import asyncio
import multiprocessing
import select
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from typing import Any

from btflow import termination
from btflow.errors import SimulationError
from btflow.explore.visitor import SIZE, run

IDLE = 15 * 60
"""A page that nobody touched for so long gives way when there is no room [s]."""
END = 5.0
"""How long a process may take to end once its connection has ended [s]."""

_PAUSES = (0.01, 0.05, 0.25, 1.0)
"""Between two attempts to have a process forked [s]."""

FORKS = sys.platform == "linux"
"""Whether there is a fork server: elsewhere system libraries may not survive that."""


class Process:
    """A visitor's process.

    Attributes:
        touched: When its page last sent something.
    """

    def __init__(self, megabytes: int, compiled: object) -> None:
        context: Any = multiprocessing.get_context("forkserver" if FORKS else "spawn")
        if FORKS:
            context.set_forkserver_preload(["btflow.explore.preload"])
            with termination.without_interrupt():
                forkserver.ensure_running()
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process: BaseProcess = context.Process(target=run, args=(theirs, compiled, megabytes), daemon=True)
            self._process.start()
        self._writer: asyncio.StreamWriter | None = None
        self._ended = False
        self.touched = 0.0

    @property
    def alive(self) -> bool:
        """Whether it runs: that it has ended its socket tells before the fork server does, which looks after others."""
        return self._process.is_alive() and not _hung_up(self._socket)

    async def frames(self) -> AsyncIterator[bytes]:
        """Yield what it sends until it ends."""
        reader, self._writer = await asyncio.open_connection(sock=self._socket)
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                (size,) = SIZE.unpack(await reader.readexactly(SIZE.size))
                yield await reader.readexactly(size)

    async def send(self, frame: bytes) -> None:
        """Send it a frame, if it is there yet."""
        self.touched = time.monotonic()
        if self._writer is not None:
            self._writer.write(SIZE.pack(len(frame)) + frame)
            with suppress(OSError):
                await self._writer.drain()

    async def died(self) -> bool:
        """Return whether it has ended by itself, and not because of what its page sent."""
        await asyncio.to_thread(self._process.join, END)
        return not self._ended and self._process.exitcode != 0

    def end(self) -> None:
        """End it at once."""
        self._ended = True
        if self._writer is not None:
            self._writer.close()
        self._socket.close()
        self._process.kill()


def _hung_up(end: socket.socket) -> bool:
    """Return whether the other end of a pair of sockets is closed, without reading."""
    poll = select.poll()
    poll.register(end, 0)  # what is told without being asked for: that it is closed, or broken
    return bool(poll.poll(0))


class Visitors:
    """The visitors, and the process that is ready for the next one.

    Args:
        most: Most visitors at once.
        megabytes: Bound on the data of each one's process [MB].
        compiled: Shared number, the share of swarms' kernels that is compiled.

    Raises:
        SimulationError: A visitor's process cannot be had: why was written.
    """

    def __init__(self, most: int, megabytes: int, compiled: object) -> None:
        self._most = most
        self._given = megabytes, compiled
        self._door = asyncio.Lock()
        self._inside: set[Process] = set()
        self._ready: Process | None = None
        try:
            self._make_ready()
        except (EOFError, OSError):
            raise SimulationError("the simulator could not be loaded; see above") from None

    def _make_ready(self) -> None:
        if self._ready is None or not self._ready.alive:
            self._ready = Process(*self._given)

    async def enter(self) -> Process | None:
        """Return a process for one more visitor; None if there is no room, and nobody who gives way.

        Raises:
            EOFError: None can be had now.
            OSError: As well.
        """
        async with self._door:
            if len(self._inside) >= self._most and not self._one_gives_way():
                return None
            await self._prepare()
            found, self._ready = self._ready, None
            assert found is not None
            self._inside.add(found)
            found.touched = time.monotonic()
        self._preparing = asyncio.create_task(self._prepare_next())
        return found

    async def _prepare(self) -> None:
        """Have a process ready; one that forks and has just died is replaced as soon as the system tells of its end."""
        for pause in _PAUSES:
            with suppress(EOFError, OSError):
                await asyncio.to_thread(self._make_ready)
                return
            await asyncio.sleep(pause)
        await asyncio.to_thread(self._make_ready)

    async def _prepare_next(self) -> None:
        async with self._door:
            with suppress(EOFError, OSError):
                await self._prepare()

    def _one_gives_way(self) -> bool:
        """End the process whose page nobody touched for longest, if that is long."""
        oldest = min(self._inside, key=lambda process: process.touched)
        if time.monotonic() - oldest.touched < IDLE:
            return False
        self.leave(oldest)
        return True

    def leave(self, process: Process) -> None:
        """End a visitor's process."""
        self._inside.discard(process)
        process.end()

    def end(self) -> None:
        """End all processes."""
        for process in (self._ready, *self._inside):
            if process is not None:
                process.end()
