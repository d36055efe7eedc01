"""The distribution's Chromium with everything but this machine cut off, for pictures and tests of pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from btflow.errors import InputError
from validation.served import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
SLOWEST = 1000 * PATIENCE
"""Milliseconds to wait for anything, ten pages that open at once among it: a machine that runs other tests is slow."""

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
    """Start Chromium without a network but this machine; InputError if there is none."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        raise InputError("Chromium", None, "is not installed", " or ".join(NAMES))
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def page(browser: Browser, size: tuple[int, int] = LAPTOP, **more: Any) -> Iterator[Page]:
    """Open a page of a size [px] with a profile of its own; `more` goes to Playwright's `new_context`."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **more)
    context.set_default_timeout(SLOWEST)
    try:
        yield context.new_page()
    finally:
        context.close()
