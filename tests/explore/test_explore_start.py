"""The explorer's start: two processes compile each kernel once, a stop leaves none, and no folder disturbs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from explorer_socket import visit
from no_clock import until

from btflow.explore import warm
from btflow.kernels.compiler import cache
from btflow.sweeps.executor import cores
from validation.served import PATIENCE, served


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux" or cores() < 2, reason="one process compiles everything there")
def test_stopped_while_it_compiles_it_leaves_no_process(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    command = [sys.executable, "-m", "btflow", "explore", "--no-browser"]
    with subprocess.Popen(command, env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as explorer:
        under_way = _compiling(psutil.Process(explorer.pid))
        explorer.send_signal(signal.SIGINT)
        _, said = explorer.communicate(timeout=PATIENCE)
    assert psutil.wait_procs(under_way, timeout=PATIENCE)[1] == []
    assert said.splitlines()[-1] == "btflow: interrupted"
    assert "Traceback" not in said


@pytest.mark.slow
def test_each_kernel_is_compiled_once_by_all_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba writes what it has compiled under another name first; links come first, and the page opens with them."""
    saved = tmp_path / "saved"
    (tmp_path / "sitecustomize.py").write_text(_SAVED.format(str(saved)), encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    with served(tmp_path / "server") as server:
        first = saved.read_text(encoding="utf-8").splitlines()
        assert {"link", "fluid"} <= {_package(name) for name in first}
        with visit(server.url) as visitor:
            assert visitor.answers()
            until(lambda: "all kernels are compiled" in server.log.read_text(encoding="utf-8"))
        with visit(server.url) as visitor:
            assert visitor.answers()
    packages = [_package(name) for name in saved.read_text(encoding="utf-8").splitlines()]
    assert sorted(packages) == sorted(warm.LINKS + warm.SWARMS)
    assert warm.missing() == []
    cache.whole("flow").unlink()  # as a start leaves it that was stopped while it compiled flow
    assert warm.missing() == ["flow"]
    with served(tmp_path / "again") as server:
        until(lambda: "all kernels are compiled" in server.log.read_text(encoding="utf-8"))
    assert warm.missing() == []
    assert len(saved.read_text(encoding="utf-8").splitlines()) == len(packages)


_SAVED = """
import sys
def note(event, given):
    if event == "os.rename" and str(given[1]).endswith(".nbc"):
        with open({!r}, "a", encoding="utf-8") as out:
            print(given[1], file=out)
sys.addaudithook(note)
"""


def _package(file: str) -> str:
    """Return the package of a file of the cache: it is in a folder named after it."""
    return Path(file).parent.name


@pytest.mark.slow
def test_what_is_compiled_before_a_page_opens_is_all_that_it_runs() -> None:
    subprocess.run([sys.executable, "-c", _WARMED], check=True, timeout=PATIENCE)


_WARMED = """
import btflow
from btflow.explore import warm
from btflow.explore.link_state import LinkState, scenario
from btflow.explore.swarm_panel import INPUTS, SwarmState, scenario_of
from btflow.options import FIDELITIES
from btflow.kernels import access, flow, fluid, link, swarm

runs = [found.run for found in (access.engine, swarm.engine, flow.engine, fluid.engine, link.engine)]
warm.load()
compiled = [len(run.signatures) for run in runs]
assert all(compiled)
for fidelity in FIDELITIES:
    btflow.simulate_link(scenario(LinkState(duration="11 s")), fidelity=fidelity)
    for model in INPUTS:
        small = SwarmState(model, leechers="4", file_size="64 kB", utp_share="50%")
        btflow.simulate(scenario_of(small), fidelity=fidelity)
assert compiled == [len(run.signatures) for run in runs]
"""


@pytest.mark.slow
@pytest.mark.parametrize("children", [1, 2, 3])
def test_ctrl_c_while_it_starts_is_one_line(children: int, tmp_path: Path) -> None:
    """It comes as soon as the fork server, what looks after it, or a visitor's process begins, and to all of them."""
    command = [sys.executable, "-m", "btflow", "explore", "--no-browser"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, start_new_session=True, **pipes) as explorer:
        until(lambda: len(psutil.Process(explorer.pid).children(recursive=True)) >= children)
        os.killpg(explorer.pid, signal.SIGINT)
        _, said = explorer.communicate(timeout=PATIENCE)
    told = [line for line in said.splitlines() if not line.startswith("Port 8866 is taken")]  # by another test
    assert told in (["btflow: interrupted"], ["The explorer has stopped."])


def _compiling(explorer: psutil.Process) -> list[psutil.Process]:
    """Wait until two processes compile; return all that the explorer has started."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found: list[psutil.Process] = explorer.children(recursive=True)
        if sum("btflow.explore.warm" in str(_command(process)) for process in found) == 2:
            return found
        time.sleep(0.1)
    raise AssertionError("no second process compiles")


def _command(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:  # it has just ended
        return []


@pytest.mark.slow
def test_a_folder_of_the_same_name_is_not_taken_for_the_program(tmp_path: Path) -> None:
    """Python puts the working directory first on the path of what is run by -m or -c."""
    other = tmp_path / "btflow"
    other.mkdir()
    (other / "__init__.py").write_text("raise RuntimeError('the wrong one')", encoding="utf-8")
    for name in ("numba", "tornado", "comm"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('the wrong one')", encoding="utf-8")
    program = ["-P", "-c", "from btflow.__main__ import main; main()"]  # as the script btflow, which is not in there
    with served(tmp_path, program=program) as server, visit(server.url) as visitor:
        assert visitor.answers()
        assert "wrong" not in server.log.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux" or cores() < 2, reason="one process compiles everything there")
def test_what_compiles_takes_nothing_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "btflow").mkdir()
    (tmp_path / "btflow" / "__init__.py").write_text("raise RuntimeError('the wrong one')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with warm._start([]) as process:
        assert process.wait() == 0
