"""Finds the browser that pages are measured in."""

from __future__ import annotations

import shutil

from btflow.errors import InputError

NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str:
    """Return the path of the distribution's Chromium or Chrome; InputError if there is none."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise InputError("Chromium", None, "is not installed", " or ".join(NAMES))
    return found
