"""Which workers of a Dask cluster take part: those that find the same bits as this process, also if they join later."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Collection, Mapping
from concurrent.futures import Future
from typing import Any

from btflow.errors import InputError
from btflow.sweeps.versions import Versions, difference, versions

ALLOWED = "the same btflow, Python, NumPy and Numba on every worker as here"

PERIOD = 2.0
"""Time between two questions to the scheduler which workers there are [s]."""


class Workers:
    """The workers of a cluster.

    Whatever is asked here is read at a later look: a scheduler that does not answer keeps nothing from being stopped.

    Attributes:
        threads: Number of threads of those that take part, by address.
    """

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address = client, address
        self._executor = client.get_executor(pure=False)
        self._asked: dict[str, Future[Versions]] = {}
        self._refused: set[str] = set()
        self._waiting = False
        self._scheduler = client.scheduler
        self._there: Future[Mapping[str, int]] | None = None
        self.threads: dict[str, int] = dict.fromkeys(check_workers(client, address), 0)
        self._take(client.ncores())

    def look(self) -> None:
        """Take in what the scheduler has answered, who has come and who has gone, and ask it again now and then.

        Raises:
            OSError: It cannot be reached.
        """
        if self._there is None:
            if time.monotonic() - self._looked >= PERIOD:
                asked = self._scheduler.ncores(workers=None)
                self._there = asyncio.run_coroutine_threadsafe(asked, self._client.loop.asyncio_loop)
        elif self._there.done():
            there, self._there = self._there.result(), None
            self._take(there)

    def _take(self, there: Mapping[str, int]) -> None:
        """Take in who is there, with how many threads each."""
        self._looked = time.monotonic()
        self._refused &= set(there)
        self._asked = {worker: asked for worker, asked in self._asked.items() if worker in there}
        for worker in there:
            if worker not in self.threads and worker not in self._refused:
                self._ask(worker)
        self.threads = {worker: number for worker, number in there.items() if worker in self.threads}
        self._tell_of_waiting()

    def refuse(self, worker: str, reason: str) -> None:
        """Have a worker take part no more, and say so once."""
        if worker not in self._refused:
            _warn(f"worker {worker} takes no part: it {reason}")
        self._refused.add(worker)
        self.threads.pop(worker, None)
        self._asked.pop(worker, None)

    def _ask(self, worker: str) -> None:
        """Ask a new worker for its versions, or see what it has answered."""
        asked = self._asked.get(worker)
        if asked is None:
            self._asked[worker] = self._executor.submit(versions, workers=[worker])
        elif asked.cancelled():
            del self._asked[worker]
        elif asked.done():
            error = asked.exception()
            differs = difference(versions(), asked.result()) if error is None else ""
            if error is not None:
                self.refuse(worker, f"cannot run btflow: {type(error).__name__}: {error}")
            elif differs:
                self.refuse(worker, f"has other versions: {differs}")
            else:
                self.threads[worker] = 0
                del self._asked[worker]

    def _tell_of_waiting(self) -> None:
        if not self.threads and not self._waiting:
            _warn(f"no worker at {self._address}: waiting for one")
        self._waiting = not self.threads


def check_workers(client: Any, address: str) -> Collection[str]:
    """Return the addresses of the workers that are there; an InputError if one would not find the same bits."""
    here = versions()
    found = client.get_versions(packages=["btflow", "numba"])["workers"]
    for worker, seen in found.items():
        _same(address, worker, here, _reported(seen["packages"]), ("btflow", "python", "numpy", "numba"))
    answered: Mapping[str, Versions] = client.run(versions)
    for worker, there in answered.items():
        _same(address, worker, here, there, tuple(here))
    return answered.keys()


def _reported(packages: Mapping[str, Any]) -> Versions:
    """Return what Dask says of a worker's versions."""
    known = {name: str(packages.get(name) or "missing") for name in ("btflow", "numpy", "numba")}
    return known | {"python": ".".join(str(packages.get("python", "")).split(".")[:2])}


def _same(address: str, worker: str, here: Versions, there: Versions, names: tuple[str, ...]) -> None:
    differs = difference({name: here[name] for name in names}, there)
    if differs:
        raise InputError("dask", address, f"its worker {worker} has other versions: {differs}", ALLOWED)


def _warn(text: str) -> None:
    print(f"btflow: warning: dask: {text}", file=sys.stderr, flush=True)
