"""A real browser for the tests of pages: the distribution's Chromium, with everything but this machine cut off."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from busy import PATIENCE
from playwright.sync_api import Browser, Page, expect, sync_playwright

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)

REQUIRED = os.environ.get("BTFLOW_BROWSER_TESTS") == "required"
"""Set by .ci/run: there a missing browser is a failure."""

SCREENSHOTS = Path(os.environ.get("BTFLOW_SCREENSHOTS", "build/screenshots"))
"""Where the pictures that the tests take are kept, to be looked at."""

needs_browser = pytest.mark.skipif(not CHROMIUM and not REQUIRED, reason="there is no Chromium on this machine")

SLOWEST = 1000 * PATIENCE
"""Milliseconds to wait for anything, ten pages that open at once among it: a machine that runs other tests is slow."""

expect.set_options(timeout=SLOWEST)

LAPTOP = (1366, 768)
PHONE = (390, 844)

_FLAGS = [
    "--no-sandbox",  # as root, as in CI
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost, EXCLUDE 127.0.0.1",  # the network is cut
]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Chromium without a network but this machine."""
    assert CHROMIUM, "no Chromium is installed: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def page(browser: Browser, size: tuple[int, int] = LAPTOP) -> Iterator[Page]:
    """Open a page of a size [px] with a profile of its own."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]})
    context.set_default_timeout(SLOWEST)
    try:
        yield context.new_page()
    finally:
        context.close()


def screenshot(shown: Page, name: str) -> Path:
    """Keep a picture of the whole page as an artifact."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    path = SCREENSHOTS / f"{name}.png"
    shown.screenshot(path=path, full_page=True)
    return path
