"""Makes the store of a sweep: beside its path first, so that it is there complete or not at all."""

from __future__ import annotations

import glob
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from btflow.errors import InputError
from btflow.sweeps import layout
from btflow.sweeps.cells import division
from btflow.sweeps.lock import FILE, locked
from btflow.sweeps.plan import Plan
from btflow.sweeps.writing import LEFT, named, partial_name, sync_folder, sync_tree

_LONGEST = 100
"""Of a store's name, in that of the folder it is made in [B]."""


@contextmanager
def created(path: Path, plan: Plan, durable: bool) -> Iterator[None]:
    """Make a store and hold its lock, from before it has its name.

    Raises:
        InputError: Another process has made one meanwhile, or there are no locks.
        OSError: It cannot be written; nothing is left.
    """
    partial = path.with_name(partial_name(_beside(path)))
    with ExitStack() as held:
        held.callback(shutil.rmtree, partial, ignore_errors=True)
        try:
            with named(path):
                partial.mkdir()
                held.enter_context(locked(partial, path))
                _make(partial, path, plan, durable)
        except OSError:
            if path.exists():
                reason = "has been made by another process meanwhile"
                raise InputError("out", str(path), reason, "one sweep at a time") from None
            raise
        _clear(path)
        yield


def _make(partial: Path, path: Path, plan: Plan, durable: bool) -> None:
    layout.create(plan, division(plan.blocks, plan.job.shape.bytes), partial)
    if durable:
        sync_tree(partial, but=FILE)
    partial.rename(path)
    if durable:
        sync_folder(path.parent)


def _beside(path: Path) -> str:
    """Return how the name of the folder begins that a store is made in; stores of other names have others."""
    name = os.fsencode(path.name)
    return f".{path.name if len(name) <= _LONGEST else hashlib.sha256(name).hexdigest()}"


def _clear(path: Path) -> None:
    """Delete what processes left that were killed while they made this store; one that still does is too late."""
    for left in path.parent.glob(glob.escape(_beside(path)) + LEFT):
        shutil.rmtree(left, ignore_errors=True)
