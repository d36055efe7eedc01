"""Finished parts as files, until their cell is whole: each is there completely or not at all."""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from pathlib import Path

from btflow.sweeps.parts import Part

FOLDER = ".journal"
"""Folder of a store that the parts are in; it goes when the sweep is complete."""


class Journal:
    """The parts of a store by cell."""

    def __init__(self, store: Path, durable: bool) -> None:
        self.folder, self.durable = store / FOLDER, durable
        self.files: dict[int, list[Path]] = defaultdict(list)
        self.folder.mkdir(exist_ok=True)
        for file in sorted(self.folder.iterdir()):
            if file.suffix == ".part":
                self.files[int(file.name.split("-")[0])].append(file)
            else:  # of a process that was killed while it wrote
                file.unlink()

    def add(self, cell: int, part: Part) -> None:
        """Write a part; it is there for good once this returns."""
        path = self.folder / f"{cell}-{part.first}-{part.count}.part"
        write_whole(path, part.to_bytes(), self.durable)
        self.files[cell].append(path)

    def read(self, cell: int) -> list[Part]:
        """Return the parts of a cell; what is damaged is left out, and so runs again."""
        return [part for file in self.files.get(cell, ()) if (part := _read(file)) is not None]

    def drop(self, cell: int) -> None:
        """Delete the parts of a cell."""
        for file in self.files.pop(cell, ()):
            file.unlink(missing_ok=True)

    def remove(self) -> None:
        """Delete the folder."""
        shutil.rmtree(self.folder)


def write_whole(path: Path, content: bytes, durable: bool) -> None:
    """Write a file that is there, whole and under its name, once this returns.

    Args:
        path: Its path.
        content: What it contains.
        durable: Whether it is to be on the disk, too, so that it outlives the machine's next crash.

    Raises:
        OSError: It cannot be written; nothing is left then.
    """
    partial = path.with_suffix(".partial")
    try:
        partial.write_bytes(content)
        if durable:
            sync(partial)
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
    if durable:
        sync(path.parent)


def sync(path: Path) -> None:
    """Have the content of a file, or the names in a folder, on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(file: Path) -> Part | None:
    try:
        return Part.from_bytes(file.read_bytes())
    except Exception:  # NumPy and zipfile raise anything for what they did not write
        return None
