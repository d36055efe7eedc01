"""How long a new process takes until a small swarm is done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

from btflow.errors import SimulationError
from btflow.options import FIDELITIES

from .measure import MODEL, SMALL, report
from .process import LIMIT, start_up
from .table import Row, Section, at_most

COMMAND = ["run", MODEL, "--json", *(word for item in SMALL.items() for word in ("--set", "{}={}".format(*item)))]
LONGER = 10.0
"""How much longer a first run may take with flow than in full [s]."""


PAGE, ALL = 60.0, 110.0
"""CPU time of `btflow explore` with an empty cache, until its address is told and until all is compiled [s]."""


def explorer() -> tuple[float, float, float]:
    """Measure `btflow explore` with an empty cache.

    Returns:
        CPU time of all its processes until it tells its address, and until all is compiled [s]; the time from Ctrl-C
        to its end [s].

    Raises:
        SimulationError: It ended before, or took longer than LIMIT.
    """
    import psutil

    used = []
    with tempfile.TemporaryDirectory() as folder:
        run = [sys.executable, "-P", "-m", "btflow", "explore", "--no-browser"]
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder, "PYTHONUNBUFFERED": "1"}
        merged: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        with subprocess.Popen(run, env=environment, **merged) as process:
            assert process.stdout is not None
            limit = threading.Timer(LIMIT, process.kill)
            limit.start()
            for line in process.stdout:
                if "http://" in line or "all kernels are compiled" in line:
                    top = psutil.Process(process.pid)
                    times = [each.cpu_times() for each in (top, *top.children(recursive=True))]
                    used.append(sum(sum(each[:4]) for each in times))  # ended children's, too
                if len(used) == 2:
                    break
            begun = time.perf_counter()
            process.send_signal(signal.SIGINT)
            process.wait()
            limit.cancel()
            stop = time.perf_counter() - begun
    if len(used) < 2:
        raise SimulationError("btflow explore ended before all was compiled")
    return used[0], used[1], stop


def start(cold: bool) -> Section:
    """Measure a second `btflow run`, and if `cold` a first one: the kernels compiled in an empty cache."""
    report("start-up of btflow run")
    start_up(COMMAND)
    second = start_up(COMMAND)
    rows: list[Row] = [("", "elapsed [s]"), ("a second `btflow run`", f"{second:.2f}")]
    first: dict[str, float] = {}
    for fidelity in FIDELITIES if cold else ():
        report(f"first btflow run, with compilation, {fidelity}")
        with tempfile.TemporaryDirectory() as folder:
            first[fidelity] = start_up([*COMMAND, "--fidelity", fidelity], {"NUMBA_CACHE_DIR": folder})
        row = f"the first `btflow run --fidelity {fidelity}`, compilation included"
        rows.append((row, f"{first[fidelity]:.2f}"))
    longer = first["flow"] - first["full"] if first else None
    goal = at_most("a first run with flow takes longer than in full by", LONGER, longer, "s", ".1f")
    goals = [goal]
    if cold:
        report("first btflow explore, with compilation")
        *used, stop = explorer()
        for most, found, until in zip((PAGE, ALL), used, ("its page opens", "all is compiled"), strict=True):
            rows.append((f"the first `btflow explore`, CPU time until {until}", f"{found:.1f}"))
            goals.append(at_most(f"a first btflow explore until {until}", most, found, "CPU s", ".1f"))
        goals.append(at_most("Ctrl-C to the end of btflow explore, over a second btflow run", 2.0, stop / second, ""))
    return Section("Start", rows, ("Of a swarm that takes no time.",), tuple(goals))
