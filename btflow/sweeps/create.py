"""Makes the store of a sweep: beside its path first, so that it is there complete or not at all."""

from __future__ import annotations

import errno
import glob
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from btflow.errors import InputError
from btflow.sweeps import layout
from btflow.sweeps.cells import cells
from btflow.sweeps.lock import locked
from btflow.sweeps.plan import Plan
from btflow.sweeps.writing import PARTIAL, named, sync_folder, sync_tree

_LONGEST = 100
"""Of a store's name, in that of the folder it is made in."""


@contextmanager
def created(path: Path, plan: Plan, durable: bool) -> Iterator[None]:
    """Make a store and hold its lock, from before it has its name.

    Raises:
        InputError: Another process has made one meanwhile, or there are no locks.
        OSError: It cannot be written; nothing is left.
    """
    _clear(path)
    partial = path.with_name(f".{path.name[:_LONGEST]}.{uuid.uuid4().hex[:12]}{PARTIAL}")
    try:
        with named(path):
            partial.mkdir()
        with locked(partial):
            with named(path):
                _make(partial, path, plan, durable)
            yield
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _make(partial: Path, path: Path, plan: Plan, durable: bool) -> None:
    layout.create(plan, cells(plan.shape, plan.job.shape.bytes), partial)
    if durable:
        sync_tree(partial)
    try:
        partial.rename(path)
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
            raise InputError("out", str(path), "has been made by another process meanwhile", "another path") from None
        raise
    if durable:
        sync_folder(path.parent)


def _clear(path: Path) -> None:
    """Delete what processes have left that were killed while they made this store."""
    for left in path.parent.glob(f".{glob.escape(path.name[:_LONGEST])}.*{PARTIAL}"):
        try:
            with locked(left):
                shutil.rmtree(left, ignore_errors=True)
        except (InputError, OSError):  # it is being made
            continue
