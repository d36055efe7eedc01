"""Shared settings: what Hypothesis draws, what is compiled once, what browsers and servers are shared."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from dask_made import local
from hypothesis import settings
from left_out import LeftOut
from program import Run, runner
from scenario_made import Edit, editor

from btflow import load, load_link, simulate, simulate_link
from btflow.options import FIDELITIES
from btflow.swarm.scenario import Scenario
from btflow.sweeps.running import Running
from validation.served import Served, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# The same examples each time: whoever changes something is not stopped by what was there before. `make search` draws
# new ones. No deadline: the first call of a kernel compiles for seconds.
settings.register_profile("search", deadline=None, print_blob=True)
settings.register_profile("same", settings.get_profile("search"), derandomize=True)
settings.load_profile("same")

# A shell lets what it runs in the background, and all that starts, ignore Ctrl-C: the tests of Ctrl-C need it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def rao2010() -> Scenario:
    """Return the 2010 cluster experiment with its defaults."""
    return load("rao2010")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Return a function that runs the command line in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return runner(monkeypatch, capsys)


@pytest.fixture
def edit(tmp_path: Path) -> Edit:
    """Return a function that writes the 2010 model with one text replaced, and gives its path."""
    return editor(tmp_path)


@pytest.fixture(scope="session")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve the explorer for all tests of a worker; those of a file, which share a browser, are an xdist_group."""
    with served(tmp_path_factory.mktemp("explorer"), "--visitors", "20") as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start Chromium for the tests of a module: other modules start their own, and Playwright runs one at a time."""
    from browser import chromium

    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Return a client of a Dask cluster of two processes."""
    with local(2) as client:
        yield client


@pytest.fixture(params=["threads", "processes", "dask"])
def how(request: pytest.FixtureRequest) -> Running:
    """Return each way to run a sweep."""
    if request.param == "dask":
        return Running(client=request.getfixturevalue("cluster"))
    return Running(jobs=2, backend=request.param)


def pytest_configure(config: pytest.Config) -> None:
    """Add up what was left out, where the reports of all workers come together."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(LeftOut())


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Have the worker tell which tests it leaves out."""
    for item in items:
        if hasattr(item.config, "workeroutput"):
            item.config.workeroutput.setdefault("left_out", []).append(item.nodeid.split("[")[0])


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the kernels once, before the workers start: several processes filling one Numba cache can crash."""
    if not hasattr(session.config, "workerinput"):
        link = load_link("bufferbloat").set(duration="1 s")
        for fidelity in FIDELITIES:
            for model in ("rao2010", "flashcrowd"):
                simulate(load(model).set(leechers=2, file_size="256 KiB"), fidelity=fidelity)
            simulate_link(link, fidelity=fidelity)
