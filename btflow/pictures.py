"""Says before any work whether a figure can be written: as a picture Kaleido draws it with an installed Chromium."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from btflow.errors import InputError
from btflow.extras import extra
from btflow.options import output_path

PICTURES = (".png", ".svg", ".pdf")
"""Endings of pictures."""


def check_drawable(field: str, path: Path | None) -> None:
    """Raise an InputError if a file is a picture and there is nothing to draw it with."""
    if path is None or path.suffix not in PICTURES:
        return
    if find_spec("kaleido") is None:
        raise InputError(
            field, str(path), "needs Kaleido, which is not installed", f"{extra('image')}; or a .html file"
        )
    from choreographer.browsers.chromium import Chromium  # Kaleido's own search

    found = Chromium.find_browser(skip_local=False)
    if found is None or shutil.which(found) is None:  # what BROWSER_PATH says is not looked at
        there = "there is none" if found is None else f"BROWSER_PATH, {found}, is no program"
        allowed = "an installed Chromium or Chrome, or its path in BROWSER_PATH; or a .html file"
        raise InputError(field, str(path), f"needs a Chromium to be drawn with, and {there}", allowed)


def figure_path(option: str, given: Sequence[str] | None) -> Path | None:
    """Return where a figure goes, None if none is asked for; an InputError if it cannot be written there or drawn."""
    path = output_path(option, given, ".html", *PICTURES)
    check_drawable(option, path)
    return path
