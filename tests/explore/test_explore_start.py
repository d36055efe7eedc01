"""The explorer's start: two processes compile, a stop leaves none of them, and pages wait for their kernels."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest

from btflow.explore import server
from btflow.explore.options import options
from btflow.sweeps.executor import cores


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux" or cores() < 2, reason="one process compiles everything there")
def test_stopped_while_it_compiles_it_leaves_no_process(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    command = [sys.executable, "-m", "btflow", "explore", "--no-browser"]
    with subprocess.Popen(command, env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as explorer:
        under_way = _compiling(psutil.Process(explorer.pid))
        explorer.send_signal(signal.SIGINT)
        _, said = explorer.communicate(timeout=60)
    assert psutil.wait_procs(under_way, timeout=30)[1] == []
    assert said.splitlines()[-1] == "btflow: interrupted"
    assert "Traceback" not in said


@pytest.mark.slow
def test_what_is_compiled_before_a_page_opens_is_all_that_it_runs() -> None:
    subprocess.run([sys.executable, "-c", _WARMED], check=True, timeout=120)


_WARMED = """
import btflow
from btflow.explore import warm
from btflow.explore.link_state import LinkState, scenario
from btflow.explore.swarm_panel import INPUTS, SwarmState, scenario_of
from btflow.options import FIDELITIES
from btflow.kernels import access, flow, fluid, link, swarm

runs = [found.run for found in (access.engine, swarm.engine, flow.engine, fluid.engine, link.engine)]
for compile in (warm.access_links, warm.others, warm.flow):
    compile()
compiled = [len(run.signatures) for run in runs]
assert all(compiled)
for fidelity in FIDELITIES:
    btflow.simulate_link(scenario(LinkState(duration="11 s")), fidelity=fidelity)
    for model in INPUTS:
        small = SwarmState(model, leechers="4", file_size="64 kB", utp_share="50%")
        btflow.simulate(scenario_of(small), fidelity=fidelity)
assert compiled == [len(run.signatures) for run in runs]
"""


def _compiling(explorer: psutil.Process) -> list[psutil.Process]:
    """Wait until two processes compile; return all that the explorer has started."""
    end = time.monotonic() + 90
    while time.monotonic() < end:
        found: list[psutil.Process] = explorer.children(recursive=True)
        if any("btflow.explore.warm" in _command(process) for process in found):
            return found
        time.sleep(0.1)
    raise AssertionError("no second process compiles")


def _command(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:  # it has just ended
        return []


def test_a_page_waits_for_widgets_that_come_late(tmp_path: Path) -> None:
    """Voila's own 4 s were too few with many pages opening on a busy machine: pages without widgets were sent."""
    from voila.execute import VoilaExecutor

    config = server._config(options("127.0.0.1", None, "1", token=True), str(tmp_path))
    notebook: Any = nbformat.NotebookNode
    executor = VoilaExecutor(notebook(cells=[]), config=config)
    assert min(executor.iopub_timeout, executor.startup_timeout) >= 300
