"""``python -m validation.first_figure``: how long a fresh machine takes from pip install to its first live figure.

It makes an empty environment, installs the committed sources with the extra `notebook` without any cache, starts
`btflow explore` with an empty cache of kernels, and waits in a real Chromium until the first figure has lines.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import sync_playwright

from validation.chromium import chromium as installed
from validation.command import application, run_app

ROOT = Path(__file__).parent.parent
PINS = ROOT / "requirements" / "constraints.txt"
DRAWN = ".js-plotly-plot .scatterlayer .trace path"
"""A line of a figure on the page."""


app = application()


@app.command()
def measure() -> None:
    """Print how long pip install, the explorer's start and its first figure take on a machine without any of it."""
    chromium = installed()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        took = {"pip install": _timed(lambda: _install(folder))}
        with _explorer(folder) as (url, ready, compiled):
            took["btflow explore until it listens"] = ready
            took["page until the first figure"] = _timed(lambda: _open(url, chromium))
    for step, seconds in took.items():
        print(f"{step:<34} {seconds:6.1f} s")
    print(f"{'in all':<34} {sum(took.values()):6.1f} s, of which {compiled:.1f} s compiling kernels")


def _timed(step: Callable[[], None]) -> float:
    begun = time.monotonic()
    step()
    return time.monotonic() - begun


def _install(folder: Path) -> None:
    """Make an environment with what is committed."""
    sources = folder / "sources"
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", ROOT.as_uri(), str(sources)], check=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    pip = [str(folder / "venv/bin/python"), "-m", "pip", "install", "--quiet", "--no-cache-dir"]
    subprocess.run([*pip, "--constraint", str(PINS), f"{sources}[notebook]"], check=True)


@contextmanager
def _explorer(folder: Path) -> Iterator[tuple[str, float, float]]:
    """Start the explorer; give its address, and how long it took to listen and to compile [s]."""
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    own = clean | {"NUMBA_CACHE_DIR": str(folder / "kernels"), "HOME": str(folder), "PYTHONUNBUFFERED": "1"}
    begun = time.monotonic()
    command = [str(folder / "venv/bin/btflow"), "explore", "--no-browser"]
    with subprocess.Popen(
        command, cwd=folder, env=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as p:
        try:
            url, compiled = _listening(p)
            yield url, time.monotonic() - begun, compiled
        finally:
            p.terminate()


def _listening(process: subprocess.Popen[str]) -> tuple[str, float]:
    """Return the address that the server prints, and the time from its word that it compiles until then [s]."""
    compiling = None
    assert process.stdout is not None
    for line in process.stdout:
        now = time.monotonic()
        if "ompil" in line and compiling is None:
            compiling = now
        found = re.search(r"https?://\S+", line)
        if found:
            return found.group(), now - (compiling or now)
    raise RuntimeError("btflow explore ended before it listened")


def _open(url: str, chromium: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(url)
        page.wait_for_selector(DRAWN, timeout=120_000, state="attached")
        browser.close()


if __name__ == "__main__":
    sys.exit(run_app(app, "validation.first_figure"))
