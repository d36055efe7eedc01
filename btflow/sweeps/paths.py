"""Where a sweep can be stored, found out before anything is imported or run."""

from __future__ import annotations

import json
import os
from pathlib import Path

from btflow.errors import InputError

LONGEST = 255
"""Bytes of a file's name that file systems take."""

MARKS = {"scenario_hash", "common_random_numbers"}
"""Attributes that a sweep's store has and other zarr groups have not."""


def check_path(path: Path, resume: bool) -> None:
    """Raise an InputError if a sweep cannot be stored at a path, or gone on with there."""
    allowed = "a path ending in .zarr, in a folder that exists and is writable"
    if path == Path():
        raise InputError("out", "", "is empty", allowed)
    if "\0" in str(path):
        raise InputError("out", str(path), "has a NUL in it", allowed)
    if len(os.fsencode(path.name)) > LONGEST:
        raise InputError("out", str(path), "has too long a name", f"at most {LONGEST} bytes")
    if path.suffix != ".zarr":
        raise InputError("out", str(path), "has the wrong ending", allowed)
    if not os.path.lexists(path):
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise InputError("out", str(path), "cannot be written", allowed)
    elif not is_store(path) and was_store(path):
        reason = "is the store of a sweep, damaged: zarr.json is missing or is not what was written"
        raise InputError("out", str(path), reason, "a copy of the store that is whole, or another path")
    elif not is_store(path):
        raise InputError("out", str(path), "exists and is something else than a sweep", "another path")
    elif not resume:
        raise InputError("out", str(path), "exists", "--resume (resume=True) to go on with it, or another path")


def was_store(path: Path) -> bool:
    """Return whether something has what only the store of a sweep has, whatever its metadata say."""
    return (path / ".lock").is_file() and (path / "status").is_dir()


def is_store(path: Path) -> bool:
    """Return whether something is the store of a sweep."""
    try:
        attributes = json.loads((path / "zarr.json").read_bytes())["attributes"]
        return set(attributes) >= MARKS
    except (OSError, ValueError, KeyError, TypeError):
        return False
