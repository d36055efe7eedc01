"""A real browser for the tests of pages: which tests need it, and the pictures that they take."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from validation.browser import (
    LAPTOP as LAPTOP,
    NAMES,
    PHONE as PHONE,
    SLOWEST as SLOWEST,
    chromium as chromium,
    page as page,
)

REQUIRED = os.environ.get("BTFLOW_BROWSER_TESTS") == "required"
"""Set by .ci/run: there a missing browser is a failure."""

SCREENSHOTS = Path(os.environ.get("BTFLOW_SCREENSHOTS", "build/screenshots"))
"""Where the pictures that the tests take are kept, to be looked at."""

INSTALLED = any(map(shutil.which, NAMES))

needs_browser = pytest.mark.skipif(not REQUIRED and not INSTALLED, reason="there is no Chromium on this machine")

expect.set_options(timeout=SLOWEST)


def screenshot(shown: Page, name: str) -> Path:
    """Keep a picture of the whole page as an artifact."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    path = SCREENSHOTS / f"{name}.png"
    shown.screenshot(path=path, full_page=True)
    return path
