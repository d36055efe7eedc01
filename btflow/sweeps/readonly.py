"""A store that cannot be written: what is complete needs no more than to be read, all else is an error."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from btflow.errors import InputError
from btflow.sweeps.identity import check_same
from btflow.sweeps.plan import Plan
from btflow.sweeps.sound import Sound, sound
from btflow.sweeps.status import FAILED
from btflow.units.formatting import counted


def writable(path: Path) -> bool:
    """Return whether files can be made in a folder, for all that is known without making one."""
    return os.access(path, os.W_OK | os.X_OK)


def unwritable(path: Path, reason: str) -> InputError:
    """Return the error for a store that cannot be written."""
    allowed = "a file system and a folder that can be written, such as a copy of the store there (cp -r)"
    return InputError("out", str(path), f"cannot be written: {reason}", allowed)


def counts(path: Path, plan: Plan, *, retry_failed: bool) -> tuple[int, int]:
    """Return how many swarms of a store are done and how many failed, if nothing is left to be run.

    Raises:
        InputError: It is another sweep's, or something is to be run.
    """
    found = sound(path, "out")
    check_same(path, found.attributes, plan)
    if not _complete(found):
        raise unwritable(path, f"it is not complete, or damaged, so that {plan.job.noun} are to be run")
    failed = sum(int((np.asarray(found.read_status(cell)) == FAILED).sum()) for cell in found.cells())
    if failed and retry_failed:
        lost, are = counted(failed, plan.job.noun.removesuffix("s")), "is" if failed == 1 else "are"
        raise unwritable(path, f"{lost} that failed {are} to be run again")
    return plan.units - failed, failed


def _complete(found: Sound) -> bool:
    if found.attributes.get("complete") != 1 or found.labels():
        return False
    return not any(found.broken(cell) for cell in found.cells())
