"""A sweep on disk: a zarr group that opens at every instant, and a journal of what is not merged into it yet.

One process writes, the others wait for a lock in vain. What is finished is first a part in the journal; when all swarms
of a cell are there, the cell is written to the arrays, its status last, and its parts are deleted. Each of these steps
may be done again, so a process that is killed, or a disk that is full, leaves nothing that cannot be gone on with.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray

from btflow.sweeps import layout
from btflow.sweeps.cells import Cells, cells
from btflow.sweeps.identity import check_same
from btflow.sweeps.journal import Journal, sync
from btflow.sweeps.lock import locked
from btflow.sweeps.parts import Part
from btflow.sweeps.paths import check_path
from btflow.sweeps.plan import Plan
from btflow.sweeps.status import FAILED, PENDING


class Store:
    """The store of one sweep, open for writing. A context manager, which gives the lock back.

    Attributes:
        path: Where it is.
        plan: The sweep.
        fresh: Whether no swarm was in it when it was opened.
        durable: Whether what is finished is to outlive a crash of the machine.
    """

    def __init__(self, path: Path, plan: Plan, *, fresh: bool, durable: bool = True) -> None:
        self.path, self.plan, self.fresh, self.durable = path, plan, fresh, durable
        self.cells: Cells = cells(plan.shape, plan.job.shape.bytes)
        self.arrays = layout.arrays(plan)
        self.left: dict[int, int] = {}
        """Swarms of each cell that was begun that are not there yet."""
        self._merged: set[int] = set()
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Store:
        self._open.enter_context(locked(self.path))
        try:
            self.group = zarr.open_group(self.path, mode="r+")
            if not self.fresh:
                check_same(self.path, dict(self.group.attrs), self.plan)
                self._tidy()
            self.journal = Journal(self.path, self.durable)
            for cell in list(self.journal.files):
                self._merge(cell)
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def pending(self) -> Iterator[range]:
        """Return the units that are to be run, in order, cell by cell; units of two cells are never in one range."""
        for cell in range(self.cells.count):
            units = self.cells.units(cell)
            todo = np.ones(len(units), bool) if self.fresh else self._status(cell) == PENDING
            if todo.any():
                self.left[cell] = int(todo.sum())
                edges = np.flatnonzero(np.diff(todo, prepend=False, append=False))
                for start, end in edges.reshape(-1, 2).tolist():
                    yield range(units.start + start, units.start + end)

    def add(self, part: Part) -> None:
        """Keep a part for good."""
        if part.count == 0:
            return
        cell = self.cells.cell(part.first)
        self.journal.add(cell, part)
        self.left[cell] -= part.count
        if self.left[cell] == 0:
            self._merge(cell)
            del self.left[cell]

    def flush(self) -> None:
        """Write all that is finished to the arrays; if that is the whole sweep, say so and delete the journal."""
        for cell in list(self.journal.files):
            self._merge(cell)
        done, failed = self.counts()
        if done + failed == self.plan.units:
            self.group.attrs["complete"] = 1
            self.journal.remove()

    def counts(self) -> tuple[int, int]:
        """Return how many swarms are done and how many failed, of those in the arrays."""
        number = np.zeros(3, np.int64)
        for cell in range(self.cells.count):
            number += np.bincount(self._status(cell), minlength=3)
        return int(number.sum() - number[PENDING] - number[FAILED]), int(number[FAILED])

    def _array(self, name: str) -> zarr.Array[Any]:
        found = self.group[name]
        assert isinstance(found, zarr.Array)
        return found

    def _status(self, cell: int) -> NDArray[np.int8]:
        return np.asarray(self._array("status")[self.cells.region(cell)]).ravel()

    def _merge(self, cell: int) -> None:
        """Write what is known of a cell to the arrays, then delete its parts."""
        units, region = self.cells.units(cell), self.cells.region(cell)
        whole = self.plan.job.shape.empty(units.start, len(units))
        if not self.fresh or cell in self._merged:
            self._fill(whole, region)
        for part in self.journal.read(cell):
            part.into(whole)
        shape = tuple(s.stop - s.start for s in region)
        seeds = [self.plan.seed_of(unit // self.plan.replicas) for unit in units[:: min(self.plan.replicas, shape[-1])]]
        self._array("seed")[region[:-1]] = np.array(seeds, np.int64).reshape(shape[:-1])
        self._sync("seed", self.cells.index(cell)[:-1])
        for array in self.arrays:  # the status is the last
            values = np.asarray(array.values(whole))
            self._array(array.name)[region] = values.reshape(shape + values.shape[1:])
            self._sync(array.name, self.cells.index(cell) + (0,) * len(array.extra))
        self.journal.drop(cell)
        self._merged.add(cell)

    def _fill(self, whole: Part, region: tuple[slice, ...]) -> None:
        """Enter what the arrays have of a cell."""
        for array in self.arrays:
            found = np.asarray(self._array(array.name)[region])
            into = np.asarray(array.values(whole))
            if array.name == "failure":
                whole.reasons[:] = [str(text) for text in found.ravel()]
            else:
                into[...] = found.reshape(into.shape)

    def _sync(self, name: str, index: tuple[int, ...]) -> None:
        """Have a chunk on the disk before anything is deleted or said to be done; what is all blank has no file."""
        file = self.path.joinpath(name, "c", *map(str, index))
        if self.durable and file.exists():
            sync(file)
            sync(file.parent)

    def _tidy(self) -> None:
        """Delete what a process left that was killed while it wrote."""
        for file in self.path.rglob("*.partial"):
            file.unlink(missing_ok=True)


def open_store(path: Path, plan: Plan, *, resume: bool = False, durable: bool = True) -> Store:
    """Return the store of a sweep: a new one, or one to go on with.

    Raises:
        InputError: There is something else, a sweep that is not to be gone on with, or another sweep.
        OSError: It cannot be written.
    """
    check_path(path, resume)
    if path.exists():
        return Store(path, plan, fresh=False, durable=durable)
    partial = path.with_name(f".{path.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        layout.create(plan, cells(plan.shape, plan.job.shape.bytes), partial)
        if durable:
            for made in (partial, *partial.rglob("*")):
                sync(made)
        partial.rename(path)
        if durable:
            sync(path.parent)
    except BaseException as error:
        shutil.rmtree(partial, ignore_errors=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror or str(error), str(path)) from None
        raise
    return Store(path, plan, fresh=True, durable=durable)
