"""Writes files whole: each has its old content or its new one whenever the process, or the machine, goes away."""

from __future__ import annotations

import asyncio
import errno
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from zarr.core.buffer import Buffer
from zarr.storage import LocalStore

PARTIAL = ".partial"
"""How the name of a file ends that is being written."""

LEFT = f".{'[0-9a-f]' * 12}{PARTIAL}"
"""Pattern of such a name, or of how it ends, and of no other."""


def partial_name(of: str = "") -> str:
    """Return a new name for what is being written."""
    return f"{of}.{uuid.uuid4().hex[:12]}{PARTIAL}"


class Disk(LocalStore):
    """A folder as zarr writes to it: file after file, each on the disk before the next is begun."""

    def __init__(self, root: Path, *, read_only: bool = False, durable: bool = True) -> None:
        super().__init__(root, read_only=read_only)
        self.durable = durable

    async def set(self, key: str, value: Buffer) -> None:
        """Write a file; the folder itself is not made again if somebody has removed it."""
        await asyncio.to_thread(self._write, self.root / key, value.to_bytes())

    def _write(self, path: Path, content: bytes) -> None:
        make_folder(path.parent, self.root, self.durable)
        write_whole(path, content, self.durable)


def write_whole(path: Path, content: bytes, durable: bool) -> None:
    """Write a file that is there, whole and under its name, once this returns.

    Args:
        path: Its path.
        content: What it contains.
        durable: Whether it is to be on the disk, too, so that it outlives the machine's next crash.

    Raises:
        OSError: It cannot be written; what was there before is left then.
    """
    partial = path.with_name(partial_name())
    try:
        with partial.open("wb") as file:
            file.write(content)
            if durable:  # before it has its name: a crash must not leave an empty file in place of the old one
                file.flush()
                os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def make_folder(folder: Path, root: Path, durable: bool) -> None:
    """Make a folder and those that it is in, up to one that must be there.

    Raises:
        OSError: One cannot be made, or the last is not there.
    """
    if folder == root or folder.is_dir():
        return
    make_folder(folder.parent, root, durable)
    folder.mkdir(exist_ok=True)
    if durable:
        sync_folder(folder.parent)


def remove(file: Path, durable: bool) -> None:
    """Delete a file, if it is there."""
    file.unlink(missing_ok=True)
    if durable and file.parent.is_dir():
        sync_folder(file.parent)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk, where there is a way to."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(folder: Path, but: str) -> None:
    """Have all that is in a folder on the disk, but for files of one name, which are not opened."""
    for made in (folder, *folder.rglob("*")):
        if made.is_dir():
            sync_folder(made)
        elif made.name != but:
            with made.open("r+b") as file:
                os.fsync(file.fileno())


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Have errors of the disk name the store, whatever file of it they are about."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


@contextmanager
def of_store(path: Path) -> Iterator[None]:
    """As ``named``, of a store that was there: it may be gone."""
    with named(path):
        try:
            yield
        except OSError:
            if path.exists():
                raise
            raise OSError(errno.ENOENT, "was removed while the sweep ran") from None
