"""Whether all that a store says it has is there and can be read, found from its files alone.

Every chunk of a cell has a file once the cell's status has one, and a checksum in it: a file that was deleted, cut
short or changed is found.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numcodecs.zstd import Zstd
from numpy.typing import NDArray

from btflow.errors import InputError
from btflow.sweeps.check import FULL
from btflow.sweeps.paths import is_store, was_store

FORMAT = 2
"""Of the store; the first had no checksums, and no files of chunks in which all was blank."""

Index = tuple[int, ...]
"""Place of a chunk along each dimension, in chunks."""


class Place(NamedTuple):
    """Where a cell is."""

    block: str
    """How the names of the arrays begin that it is in."""
    at: Index
    """Its place along the dimensions of these."""


@dataclass(frozen=True)
class Chunks:
    """The chunks of an array, as its metadata describes them."""

    folder: Path
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    dtype: np.dtype[Any] | None
    """None for texts, whose length is not known."""

    @property
    def number(self) -> tuple[int, ...]:
        """Number of chunks along each dimension."""
        return tuple(-(-length // chunk) for length, chunk in zip(self.shape, self.chunk, strict=True))

    def file(self, index: Index) -> Path:
        """Return the file of a chunk."""
        return self.folder.joinpath("c", *map(str, index))

    def read(self, index: Index) -> NDArray[Any] | None:
        """Return the content of a chunk, None if it is missing or damaged; of texts the bytes that they are."""
        try:
            content = self.file(index).read_bytes()
            if self.dtype is None:
                return np.frombuffer(Zstd().decode(content), np.uint8)
            room = np.empty(self.chunk, self.dtype)
            Zstd().decode(content, room)  # an error unless it fills the room and has the right checksum
        except (OSError, RuntimeError, ValueError, MemoryError):
            return None
        return room[tuple(slice(0, length - i * n) for i, n, length in zip(index, self.chunk, self.shape, strict=True))]

    def files(self) -> Iterator[Index]:
        """Give the chunks that have a file, in order."""
        yield from _numbered(self.folder / "c", self.number)


@dataclass(frozen=True)
class Sound:
    """What the files of a store are, and which of them cannot be used.

    Attributes:
        path: The store.
        attributes: Its attributes.
        arrays: Its arrays by name.
    """

    path: Path
    attributes: dict[str, Any]
    arrays: dict[str, Chunks]

    @cached_property
    def blocks(self) -> dict[str, tuple[str, ...]]:
        """Names of the arrays with values for each swarm, or each point, by how they begin: of the design, in full."""
        checked = self.arrays.get(f"{FULL}status")
        full = () if checked is None else tuple(n for n, a in self.arrays.items() if _is_of(FULL, n, a, checked))
        others = {name: array for name, array in self.arrays.items() if name not in full}
        swarms = tuple(n for n, a in others.items() if n == "seed" or _is_of("", n, a, self.status("")))
        return {"": swarms} | ({FULL: full} if full else {})

    def status(self, block: str) -> Chunks:
        """Return the status, which says what of a cell is there; its chunks are the cells."""
        return self.arrays[f"{block}status"]

    def read_status(self, cell: Place) -> NDArray[Any] | None:
        """Return the status of a cell's swarms, None if it is missing or damaged."""
        return self.status(cell.block).read(cell.at)

    def cells(self) -> Iterator[Place]:
        """Give the cells that are to be there: those with a status, all if the sweep is complete."""
        whole = self.attributes.get("complete") == 1
        for block in self.blocks:
            status = self.status(block)
            yield from (Place(block, index) for index in (np.ndindex(status.number) if whole else status.files()))

    def broken(self, cell: Place) -> list[str]:
        """Return the names of the arrays whose chunk of a cell is missing or damaged."""
        return [name for name in self.blocks[cell.block] if self.arrays[name].read(self.index(name, cell)) is None]

    def labels(self) -> list[str]:
        """Return the names of the coordinates that are missing or damaged."""
        others = {name for names in self.blocks.values() for name in names}
        return [name for name in self.arrays if name not in others and self.arrays[name].read((0,)) is None]

    def index(self, name: str, cell: Place) -> Index:
        """Return the place of an array's chunk that a cell lies in."""
        at = dict(zip(self.status(cell.block).dims, cell.at, strict=True))
        return tuple(at.get(dim, 0) for dim in self.arrays[name].dims)

    def check(self, field: str) -> None:
        """Raise an InputError, which names the first file, if anything cannot be read."""
        bad = next(self._bad(), None)
        if bad is not None:
            reason = f"is damaged: {bad.relative_to(self.path)} is missing or cannot be read"
            allowed = "the same btflow sweep with --resume (resume=True), which runs again what is lost"
            raise InputError(field, str(self.path), reason, allowed)

    def _bad(self) -> Iterator[Path]:
        """Give the files that are missing or damaged."""
        yield from (self.arrays[name].file((0,)) for name in self.labels())
        for cell in self.cells():
            yield from (self.file(name, cell) for name in self.broken(cell))

    def file(self, name: str, cell: Place) -> Path:
        """Return the file of an array's chunk that a cell lies in."""
        return self.arrays[name].file(self.index(name, cell))


def _is_of(prefix: str, name: str, array: Chunks, status: Chunks) -> bool:
    """Return whether an array has values for each swarm that has a status."""
    return name.startswith(prefix) and set(status.dims) <= set(array.dims)


def check(path: Path, field: str) -> None:
    """Raise an InputError, which names the first file, if something of a store of this version cannot be read."""
    if not is_store(path):
        if was_store(path):
            raise damaged(path / "zarr.json", path, field)
        return
    attributes = json.loads((path / "zarr.json").read_bytes())["attributes"]
    if attributes.get("store_format") == FORMAT:
        sound(path, field).check(field)


def sound(path: Path, field: str) -> Sound:
    """Return what a store's files are to be.

    Raises:
        InputError: The metadata of the store, or of one of its arrays, are missing or damaged.
    """
    root = _read(path / "zarr.json", path, field)
    try:
        described = dict(root["consolidated_metadata"]["metadata"])
        arrays = {name: _chunks(path / name, of) for name, of in described.items()}
        attributes = dict(root["attributes"])
        if "status" not in arrays:
            raise KeyError("status")
    except (KeyError, TypeError, ValueError):
        raise damaged(path / "zarr.json", path, field) from None
    for name, array in arrays.items():
        file = path / name / "zarr.json"
        try:
            same = _chunks(path / name, _read(file, path, field)) == array
        except (KeyError, TypeError, ValueError):
            same = False
        if not same:
            raise damaged(file, path, field)
    return Sound(path, attributes, arrays)


def _chunks(folder: Path, of: dict[str, Any]) -> Chunks:
    dtype = None if of["data_type"] == "string" else np.dtype(of["data_type"])
    chunk = tuple(of["chunk_grid"]["configuration"]["chunk_shape"])
    return Chunks(folder, tuple(of["dimension_names"]), tuple(of["shape"]), chunk, dtype)


def _read(file: Path, path: Path, field: str) -> Any:
    try:
        return json.loads(file.read_bytes())
    except (OSError, ValueError):
        raise damaged(file, path, field) from None


def damaged(file: Path, path: Path, field: str) -> InputError:
    """Return the error for a file of metadata that cannot be used."""
    reason = f"is damaged: {file.relative_to(path)} is missing or is not what was written"
    return InputError(
        field, str(path), reason, "a copy of the store that is whole, or to run the sweep to another path"
    )


def _numbered(folder: Path, number: Index) -> Iterator[Index]:
    """Give the places of the chunks that a folder has files of, in order."""
    if not number:
        yield ()
        return
    try:
        names = (name for name in os.listdir(folder) if name.isdecimal() and name == str(int(name)))
        found = sorted(int(name) for name in names if int(name) < number[0])
    except (FileNotFoundError, NotADirectoryError):
        return
    for at in found:
        yield from ((at, *rest) for rest in _numbered(folder / str(at), number[1:]))
