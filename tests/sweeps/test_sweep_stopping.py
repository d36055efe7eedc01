"""Ctrl-C and SIGTERM end a sweep wherever they come, in one line, with what is finished kept."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from no_clock import until
from sweep_made import planned, read, start, sweep_args
from sweep_stopped import CODES, LONG, besides_progress, kept, stopped, wait_for_a_part

from btflow.sweeps import api
from btflow.sweeps.database import FILE
from btflow.sweeps.executor import Processes
from btflow.sweeps.results import Part
from btflow.sweeps.running import Running
from btflow.sweeps.store import Store
from btflow.termination import in_thread
from validation.served import PATIENCE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "number"),
    [("threads", signal.SIGINT), ("threads", signal.SIGTERM), ("processes", signal.SIGINT)],
)
def test_a_signal_ends_a_sweep_and_keeps_what_is_finished(backend: str, number: signal.Signals, tmp_path: Path) -> None:
    """How soon is measured by `btflow bench`."""
    (code, word), path = CODES[number], tmp_path / "a.zarr"
    process = start("sweep", "rao2010", *LONG, "--jobs", "2", "--backend", backend, "--out", str(path))
    wait_for_a_part(process, path)
    time.sleep(0.3)  # into the next swarms
    err = stopped(process, number)
    assert (process.returncode, err) == (code, f"btflow: {word}: {kept(path)}")
    found = read(path)
    assert 1 <= int((found.status == 1).sum()) < 400
    assert np.isfinite(found.completion_mean.values[found.status.values == 1]).all()


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.0, 0.2, 0.5])
def test_ctrl_c_while_processes_start(delay: float, tmp_path: Path) -> None:
    """A terminal sends it to all of them, whatever they have imported by then."""
    path = tmp_path / "a.zarr"
    process = start(*sweep_args(path, "--replicas", "100000", "--backend", "processes", "--jobs", "2"))
    while not (path / FILE).exists() or not (path / FILE).stat().st_size:
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(delay)
    err = stopped(process, signal.SIGINT)
    said = f": {kept(path)}" if path.exists() else "\n"  # it may come when nothing is in the store yet
    assert path.exists() or not delay
    assert (process.returncode, err) == (130, f"btflow: interrupted{said}")


LEFT_BY_ZARR = """
import asyncio, itertools
from btflow.__main__ import main
calls, submit = itertools.count(1), asyncio.run_coroutine_threadsafe
async def unfinished():
    await asyncio.gather(asyncio.get_running_loop().create_future())
def interrupted(coroutine, loop):
    if next(calls) == CALL:
        submit(unfinished(), loop)
        raise KeyboardInterrupt
    return submit(coroutine, loop)
asyncio.run_coroutine_threadsafe = interrupted
main()
"""


@pytest.mark.parametrize("call", [*(pytest.param(call, marks=pytest.mark.slow) for call in (1, 20)), 60])
def test_ctrl_c_while_zarr_works(call: int, tmp_path: Path) -> None:
    """Python would tell at exit of what zarr was about to run, and asyncio of what its event loop has not finished."""
    path, program = tmp_path / "a.zarr", LEFT_BY_ZARR.replace("CALL", str(call))
    run = [sys.executable, "-c", program, *sweep_args(path)]
    ended = subprocess.run(run, capture_output=True, text=True, timeout=PATIENCE)
    assert (ended.returncode, besides_progress(ended.stderr)) == (130, f"btflow: interrupted: {kept(path)}")
    assert (read(path).status == 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("number", CODES)
@pytest.mark.parametrize("args", [("sweep", "flashcrowd"), ("run", "flashcrowd"), ("link", "bufferbloat")])
def test_a_signal_while_the_kernels_compile(args: tuple[str, str], number: signal.Signals, tmp_path: Path) -> None:
    """They are those of access links or of one link, whose compilation is said, too."""
    (code, word), path = CODES[number], tmp_path / "a.zarr"
    kernels = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    process = start(*args, *(sweep_args(path)[2:] if args[0] == "sweep" else ()), environment=kernels)
    assert process.stderr is not None
    of = "links" if args[0] == "link" else "swarms on access links"
    assert f"compiling the kernels of {of}, once: 0 of " in process.stderr.readline()
    time.sleep(0.5)
    err = stopped(process, number)
    said = f": {kept(path)}" if args[0] == "sweep" else "\n"
    assert (process.returncode, err) == (code, f"btflow: {word}{said}")
    assert args[0] != "sweep" or (read(path).status == 0).all()


def test_nothing_is_said_of_a_store_that_was_not_made(tmp_path: Path) -> None:
    """It is stopped while it waits for a scheduler that does not answer."""
    path = tmp_path / "a.zarr"
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = "tcp://{}:{}".format(*server.getsockname())
        process = start(*sweep_args(path, "--dask", address))
        server.accept()
        err = stopped(process, signal.SIGTERM)
    assert (process.returncode, err) == (143, "btflow: terminated\n")
    assert not path.exists()


def test_sigterm_ends_a_sweep_of_python_as_sys_exit_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep, coming = Store.add, [signal.SIGTERM]

    def add(self: Store, part: Part) -> None:
        keep(self, part)
        if coming:
            signal.raise_signal(coming.pop())

    monkeypatch.setattr(Store, "add", add)
    path, before = tmp_path / "a.zarr", signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as exit_:
        api.execute(planned(replicas=2000), path, Running(jobs=1, backend="threads"))
    assert exit_.value.code == 143
    assert signal.getsignal(signal.SIGTERM) is before
    assert (read(path).status == 1).any()


def test_many_processes_that_do_not_listen_are_ended_together() -> None:
    """A process that is stopped does nothing until it is killed."""
    made = planned()
    pool = Processes(made.job, 4)
    for number in range(4):
        pool.submit(replace(made.task(0, 1), first=number))
    started = pool._processes
    until(lambda: len(started) == 4)
    for process in started:
        os.kill(process.pid or 0, signal.SIGSTOP)
    pool.close()
    for process in started:
        process.join(PATIENCE)  # by nothing but SIGKILL
        assert not process.is_alive()


def test_what_runs_in_a_thread_returns_raises_or_takes_too_long() -> None:
    assert in_thread(lambda: 5) == 5
    with pytest.raises(ZeroDivisionError):
        in_thread(lambda: 1 // 0)
    held = threading.Event()
    with pytest.raises(TimeoutError):
        in_thread(held.wait, 0.05)
    held.set()
