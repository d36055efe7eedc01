"""A sweep on a Dask cluster whose scheduler is a process of its own: it is interrupted, and the scheduler goes away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from dask_made import started, worker
from no_clock import until
from sweep_made import bits, planned, read, run, start, tiny
from sweep_stopped import LONG, besides_progress, kept, stopped, wait_for_a_part

from btflow.sweeps import api
from btflow.sweeps.running import Running
from validation.served import PATIENCE

distributed = pytest.importorskip("distributed")


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Return a scheduler with a worker that has joined it, and its address."""
    file = folder / "scheduler.json"
    with started("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file)) as scheduler:
        until(lambda: file.exists() and file.read_text())
        address = json.loads(file.read_text())["address"]
        with worker(address):
            with distributed.Client(address, set_as_default=False) as client:
                client.wait_for_workers(1, timeout=PATIENCE)
            yield scheduler, address
    file.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("answers", [True, False])
def test_ctrl_c_ends_a_sweep_on_a_cluster(answers: bool, tmp_path: Path) -> None:
    """Also if the scheduler does not answer: it is stopped, and the sweep has asked it which workers there are."""
    path = tmp_path / "a.zarr"
    with cluster(tmp_path) as (scheduler, address):
        process = start("sweep", "rao2010", *LONG, "--out", str(path), "--dask", address)
        wait_for_a_part(process, path)
        if not answers:
            os.kill(scheduler.pid, signal.SIGSTOP)
            time.sleep(2.5)
        err = stopped(process, signal.SIGINT)
    assert (process.returncode, err) == (130, f"btflow: interrupted: {kept(path)}")
    assert 1 <= int((read(path).status == 1).sum()) < 400


@pytest.mark.slow
def test_the_scheduler_goes_away_and_the_sweep_goes_on_here(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    settings: dict[str, Any] = {"leechers": 100, "file_size": "5 MB"}
    args = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    args = ["sweep", "rao2010", *args, "--vary", "rtt=0ms,400ms", "--replicas", "10", "--out", str(path)]
    with cluster(tmp_path) as (scheduler, address):
        process = start(*args, "--dask", address)
        wait_for_a_part(process, path)
        scheduler.kill()
        _, err = process.communicate(timeout=PATIENCE)
    said = f"btflow: {kept(path)}btflow: error: the scheduler at {address} is gone\n"
    assert (process.returncode, besides_progress(err)) == (1, said)
    done = int((read(path).status == 1).sum())
    assert 1 <= done < 20
    assert run(*args, "--resume").returncode == 0
    made = planned(tiny(**settings), vary={"rtt": ["0ms", "400ms"]}, replicas=10)
    assert api.execute(made, tmp_path / "b.zarr", Running(jobs=1)) == (20, 0)
    assert bits(read(path)).identical(bits(read(tmp_path / "b.zarr")))


LOST_WHILE_SENDING = """
import asyncio, contextlib
from btflow import InputError
from btflow.sweeps.dask import connect
from distributed.batched import BatchedSend
from distributed.comm import CommClosedError

class Lost:
    closed = lambda self: False
    abort = lambda self: None

    async def write(self, *args, **options):
        raise CommClosedError

async def send():
    sender = BatchedSend(interval=0.001)
    sender.start(Lost())
    sender.send("anything")
    await sender.stopped.wait()

with contextlib.suppress(InputError):
    connect("tcp://127.0.0.1:1")
asyncio.run(send())
"""


@pytest.mark.slow
def test_dask_says_nothing_of_its_own_when_the_scheduler_goes_while_it_sends() -> None:
    done = subprocess.run([sys.executable, "-c", LOST_WHILE_SENDING], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")
