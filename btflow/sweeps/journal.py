"""Finished parts as files, until their cell is whole: each is there completely or not at all."""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict
from pathlib import Path

from btflow.sweeps.cells import Division
from btflow.sweeps.parts import Part, Shape
from btflow.sweeps.writing import sync_folder, write_whole

FOLDER = ".journal"
"""Folder of a store that the parts are in; it goes when the sweep is complete."""

_NAME = re.compile(r"([0-9]+)-([0-9]+)-([0-9]+)\.part")
"""Cell, first unit and number of units; whatever has another name is somebody else's and left alone."""


class Journal:
    """The parts of a store by cell."""

    def __init__(self, store: Path, cells: Division, shape: Shape, durable: bool) -> None:
        self.folder, self.cells, self.shape, self.durable = store / FOLDER, cells, shape, durable
        self.files: dict[int, list[Path]] = defaultdict(list)
        self.folder.mkdir(exist_ok=True)
        if durable:  # its own name; what is in it is nowhere otherwise
            sync_folder(store)
        for file in sorted(self.folder.iterdir()):
            name = _NAME.fullmatch(file.name)
            if name is not None and file.is_file() and int(name[1]) < cells.count:
                self.files[int(name[1])].append(file)

    def add(self, cell: int, part: Part) -> None:
        """Write a part; it is there for good once this returns."""
        path = self.folder / f"{cell}-{part.first}-{part.count}.part"
        write_whole(path, part.to_bytes(), self.durable)
        self.files[cell].append(path)

    def read(self, cell: int) -> tuple[list[Part], list[Path]]:
        """Return the parts of a cell, and the files of those that are damaged, whose units run again."""
        found = {file: self._read(file, cell) for file in self.files.get(cell, ())}
        return [part for part in found.values() if part is not None], [file for file in found if found[file] is None]

    def drop(self, cell: int) -> None:
        """Delete the parts of a cell."""
        for file in self.files.pop(cell, ()):
            file.unlink(missing_ok=True)

    def remove(self) -> None:
        """Delete the folder, unless somebody else has put something there."""
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def _read(self, file: Path, cell: int) -> Part | None:
        try:
            part = Part.from_bytes(file.read_bytes())
        except Exception:  # NumPy and zipfile raise anything for what they did not write
            return None
        units = self.cells.units(cell)
        fits = units.start <= part.first and part.first + part.count <= units.stop and part.has(self.shape)
        return part if fits else None
