"""Clusters of Dask in this process, and its programs as processes of their own, each with ports that are free."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NO_DASHBOARD = {"dashboard": False, "dashboard_address": ":0"}
"""What a scheduler is told: without a dashboard, too, it serves HTTP, on a port that is the same for all."""


@contextmanager
def local(workers: int, **options: Any) -> Iterator[Any]:
    """Return a client of a cluster with some workers of one thread each, which are processes unless options say not."""
    distributed = pytest.importorskip("distributed")
    given = {"threads_per_worker": 1, "processes": True, "scheduler_kwargs": NO_DASHBOARD} | options
    with (
        distributed.LocalCluster(n_workers=workers, dashboard_address=None, **given) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@contextmanager
def started(program: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program of Dask, ``scheduler`` or ``worker``, and kill it at the end."""
    ports = ("--no-dashboard", "--dashboard-address", ":0")
    line = [sys.executable, "-m", f"distributed.cli.dask_{program}", *ports, *options]
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
