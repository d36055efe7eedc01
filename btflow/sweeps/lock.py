"""A lock on a folder, held while the process lives; it goes with the process, however that ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from btflow.errors import InputError


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; an InputError if another process does."""
    try:
        import fcntl
    except ImportError:  # Windows: no such lock
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            reason = "is being written by another process"
            raise InputError("out", str(folder), reason, "one sweep at a time") from None
        yield
    finally:
        os.close(descriptor)
