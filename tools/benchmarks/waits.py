"""How long one waits for what is no simulation, beside a swarm or a start of the program in the same run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from btflow.errors import InputError, SimulationError

from .measure import MODEL, measure, report
from .process import LIMIT, start_up
from .sweeping import Grid
from .table import Section, at_most

FEW, MANY = 5_000, 50_000
"""Values of one list."""
PEERS = 1000
"""Of a draw from the model of the Internet's paths."""
HUGE: Grid = {
    "rtt": "lin(0 ms, 1 s, 10000)",
    "loss": "lin(0%, 5%, 10000)",
    "upload_limit": "lin(9 kB/s, 99 kB/s, 10000)",
}
"""A grid of 10^12 points."""
LONG = ["sweep", MODEL, "--vary", "rtt=0 ms,400 ms", "--replicas", "500", "--jobs", "2"]


def waits() -> Section:
    """Measure declaring, drawing paths and stopping."""
    from btflow.paths import draw

    report("declaring, drawing paths and stopping")
    swarm, start = measure({}, 1).least, start_up(["list", MODEL])
    draw("iplane", 3)
    paths = _cpu(partial(draw, "iplane", PEERS))
    few, many = (_cpu(partial(_declare, {"rtt": [f"{i} us" for i in range(number)]})) for number in (FEW, MANY))
    huge, stop = _cpu(partial(_declare, HUGE)), _stopping()
    rows = [
        ("a swarm of 301 peers", f"{swarm:.2f}"),
        (f"paths between {PEERS:,} peers", f"{paths:.2f}"),
        (f"a list of {MANY:,} values declared", f"{many:.2f}"),
        ("a grid of 10^12 points declared", f"{huge:.2f}"),
        (f"`btflow list {MODEL}`, elapsed", f"{start:.2f}"),
        ("Ctrl-C to the end of a sweep, elapsed", f"{stop:.2f}"),
    ]
    return Section(
        "What is no simulation",
        [("", "CPU time [s]"), *rows],
        ("The ratios are of this run: tests count calls and wait for events, and bound no clock.",),
        (
            at_most(f"paths between {PEERS:,} peers over a swarm of 301", 1.0, paths / swarm, ""),
            at_most("a value of 50,000 over one of 5,000, declared", 1.5, many / MANY * FEW / few, ""),
            at_most("a grid of 10^12 points declared, over a swarm of 301", 1.0, huge / swarm, ""),
            at_most("Ctrl-C to the end of a sweep, over a start of the program", 2.0, stop / start, ""),
        ),
    )


def _cpu(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def _declare(varied: Grid) -> object:
    from btflow.config.catalog import load
    from btflow.sweeps.declare import declaration, declare

    scenario = load(MODEL)
    return declare(scenario.document, scenario.given, declaration(varied, {}, "vary"), yes=True)


def _stopping() -> float:
    """Return how long a sweep takes to end after Ctrl-C once it has kept a swarm [s]."""
    with tempfile.TemporaryDirectory(prefix="btflow-bench-") as folder:
        out = Path(folder, "sweep.zarr")
        command = [sys.executable, "-P", "-m", "btflow", *LONG, "--out", str(out)]
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
        with subprocess.Popen(command, **quiet) as run:
            try:
                end = time.monotonic() + LIMIT
                while not _kept(out):
                    if run.poll() is not None or time.monotonic() > end:
                        raise SimulationError("the sweep that was to be stopped did not run")
                    time.sleep(0.2)
                begun = time.perf_counter()
                os.killpg(run.pid, signal.SIGINT)
                run.wait()
                return time.perf_counter() - begun
            finally:
                run.kill()  # if it was not stopped


def _kept(out: Path) -> bool:
    """Return whether a sweep that runs has kept a swarm."""
    from btflow import open_sweep

    with suppress(InputError):  # its store is being made
        return bool((open_sweep(out)["status"].values == 1).any())
    return False
