"""A lock on a folder, held while the process lives; it goes with the process, however that ends."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from btflow.errors import InputError

FILE = ".lock"
"""The file in the folder that is locked: a folder itself cannot be on network storage.

Nothing else of the process may open it: the system takes a lock back when any descriptor of its file is closed.
"""

_held: set[tuple[int, int]] = set()
_changing = threading.Lock()


@contextmanager
def locked(folder: Path, called: Path | None = None) -> Iterator[None]:
    """Hold the lock of a folder, also while it gets another name.

    Args:
        folder: The folder.
        called: What errors call it, if not so.

    Raises:
        InputError: Another process, or another thread of this one, holds it, or its file system has no locks.
    """
    name, about = called or folder, folder.stat()
    this = (about.st_dev, about.st_ino)
    with _changing:
        if this in _held:
            raise _taken(name)
        _held.add(this)
    try:
        descriptor = _opened(folder / FILE, name)
        try:
            _lock(descriptor, name)
            yield
        finally:
            os.close(descriptor)
    finally:
        _held.discard(this)


def _opened(file: Path, name: Path) -> int:
    try:
        return os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        raise InputError("out", str(name), f"cannot be written: {error.strerror}", "another path") from None


def _lock(descriptor: int, name: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: no such lock
        return
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            raise _taken(name) from None
        reason = f"cannot be locked: {error.strerror}"
        allowed = "a path on storage with file locks, such as a local disk"
        raise InputError("out", str(name), reason, allowed) from None


def _taken(name: Path) -> InputError:
    return InputError("out", str(name), "is being written by another process", "one sweep at a time")
