"""Programs of Dask as processes of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def started(program: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program of Dask, ``scheduler`` or ``worker``, and kill it at the end."""
    line = [sys.executable, "-m", f"distributed.cli.dask_{program}", "--no-dashboard", *options]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def worker(address: str, *options: str, threads: int = 1) -> Iterator[subprocess.Popen[bytes]]:
    """Start a worker of the scheduler at an address; it may join later."""
    with started("worker", address, "--no-nanny", "--nthreads", str(threads), *options) as process:
        yield process
