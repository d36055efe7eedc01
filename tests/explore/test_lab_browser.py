"""JupyterLab, in a real browser without a network, opens the first notebook, runs all of it and draws its figures."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from browser import chromium, needs_browser, page, screenshot
from playwright.sync_api import Page

from btflow.explore.options import Options
from btflow.explore.serve import arguments

pytestmark = pytest.mark.slow

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
FIRST = min(NOTEBOOKS.glob("*.ipynb"))
TOKEN = "only-this-test"
PATIENCE = 600
"""Longest to wait [s]: what takes longer hangs, however busy the machine is. It promises no time."""

OVERLAPS = """figure => {
  const boxes = selector => [...figure.querySelectorAll(selector)].map(e => e.getBoundingClientRect());
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  return boxes(".legend").flatMap(l => boxes(".xtitle, .ytitle").filter(t => meet(l, t)).map(t => t.top));
}"""
"""Where a figure's legend and the title of an axis meet, in the page."""


def free_port() -> int:
    """Return a port nobody listens on."""
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


@contextmanager
def lab(folder: Path) -> Iterator[str]:
    """Run JupyterLab as `btflow lab` does, in a folder and with settings of its own; its address, without the token."""
    own = {f"JUPYTER_{name}_DIR": str(folder.parent / name.lower()) for name in ("CONFIG", "DATA")}
    own |= {"JUPYTERLAB_SETTINGS_DIR": str(folder.parent / "lab"), "IPYTHONDIR": str(folder.parent / "ipython")}
    port = free_port()
    options = arguments(Options("127.0.0.1", port, TOKEN, visitors=1), port, folder, browser=False)
    prefer(folder.parent / "lab")
    with (folder.parent / "lab.log").open("wb") as log, tempfile.TemporaryDirectory() as runtime:
        own["JUPYTER_RUNTIME_DIR"] = runtime  # short enough for sockets
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options],
            cwd=folder, env=os.environ | own, stdout=log, stderr=log,
        )  # fmt: skip
        try:
            wait_for(server, f"http://127.0.0.1:{port}/api?token={TOKEN}", Path(log.name))
            yield f"http://127.0.0.1:{port}"
        finally:
            stop(server)


def prefer(settings: Path) -> None:
    """Do not ask whether to fetch news, over the page; keep in the page what is out of sight, to count figures."""
    chosen = {
        "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
        "notebook-extension/tracker": {"windowingMode": "none"},
    }
    for name, values in chosen.items():
        file = settings / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(values))


def stop(server: subprocess.Popen[bytes]) -> None:
    """Let the server end its kernels and itself."""
    server.send_signal(signal.SIGTERM)
    try:
        server.wait(timeout=PATIENCE)
    except subprocess.TimeoutExpired:  # it was stopped while a kernel started, because a test had failed
        server.kill()
        server.wait()


def wait_for(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    """Return when a server answers."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and server.poll() is None:
        try:
            with urlopen(address, timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start: {log.read_text()[-2000:]}")


@needs_browser
def test_the_first_notebook_runs_in_jupyterlab_and_draws_its_figures(tmp_path: Path) -> None:
    folder = tmp_path / "notebooks"
    folder.mkdir()
    shutil.copy(FIRST, folder)
    with lab(folder) as address, chromium() as browser, page(browser) as shown:
        shown.set_default_timeout(1000 * PATIENCE)
        shown.goto(f"{address}/lab/tree/{FIRST.name}?reset&token={TOKEN}")
        shown.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
        shown.get_by_text("Python 3 (ipykernel) | Idle").wait_for()  # what is run before there is a kernel is not run
        run_all(shown)
        wait_until_saved_with_outputs(shown, folder / FIRST.name)
        traces = draw_all(shown)
        screenshot(shown, "jupyterlab-01")
    assert len(traces) == len(re.findall(r'"\*\*Figure \d', FIRST.read_text())) > 0  # each has a caption
    assert all(traces)


def run_all(shown: Page) -> None:
    """Choose Run All Cells from the menu, as a user does; no dialog asks for a kernel."""
    shown.get_by_role("menuitem", name="Run", exact=True).click()
    shown.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    assert not shown.locator(".jp-Dialog").count()


def wait_until_saved_with_outputs(shown: Page, file: Path) -> None:
    """Save until the file says that the last cell has run, and look for errors in it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        shown.keyboard.press("Control+s")
        shown.wait_for_timeout(1000)
        code = [cell for cell in json.loads(file.read_text())["cells"] if cell["cell_type"] == "code"]
        errors = [output for cell in code for output in cell["outputs"] if output["output_type"] == "error"]
        assert not errors, errors
        if code[-1]["execution_count"] is not None:
            return
    pytest.fail(f"not all cells had run after {PATIENCE} s")


def draw_all(shown: Page) -> list[int]:
    """Bring every figure into view; the number of traces with a shape in each."""
    figures = shown.locator(".jp-OutputArea-output.js-plotly-plot")
    found = []
    for number in range(figures.count()):
        figures.nth(number).scroll_into_view_if_needed()
        figures.nth(number).locator("svg.main-svg .trace").first.wait_for()
        assert figures.nth(number).evaluate(OVERLAPS) == [], "a legend lies on the title of an axis"
        found.append(figures.nth(number).locator("svg.main-svg .trace").count())
    return found
