"""The arrays of a store, cell by cell: what they have, how a cell is written, and what of them cannot be read."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import zarr
from numpy.typing import NDArray

from btflow.sweeps import layout
from btflow.sweeps.cells import Division
from btflow.sweeps.parts import Part
from btflow.sweeps.plan import Plan
from btflow.sweeps.sound import Place, Sound, damaged
from btflow.sweeps.status import FAILED, PENDING
from btflow.sweeps.writing import LEFT, Disk, remove

WRITERS = 8
"""Files written at once."""


class Lost(NamedTuple):
    """What could not be read."""

    swarms: int = 0
    """Swarms that run again."""
    file: Path | None = None
    """The first file that was damaged."""


class Merged:
    """The arrays of a store that is open for writing.

    Attributes:
        pending: Swarms that have not been run of each cell that is there.
        done: Swarms that are done.
        failed: Swarms that failed.
        lost: What was damaged and has been deleted.
    """

    def __init__(self, found: Sound, plan: Plan, cells: Division, durable: bool) -> None:
        self.plan, self.cells, self.durable = plan, cells, durable
        self.arrays = layout.arrays(plan)
        self.pending: dict[int, int] = {}
        self.done = self.failed = 0
        self._found = found
        self._tidy()
        self._group, self._opened = _open(found, durable)
        self.lost = self._take()

    def status(self, cell: int) -> NDArray[np.int8]:
        """Return the status of a cell's swarms (units,)."""
        return np.asarray(self._array("status", cell)[self.cells.region(cell)]).ravel()

    def read(self, cell: int) -> Part:
        """Return what is there of a cell."""
        units, region = self.cells.units(cell), self.cells.region(cell)
        whole = self.plan.job.shape.empty(units.start, len(units))
        for array in self.arrays if cell in self.pending else ():
            found = np.asarray(self._array(array.name, cell)[region])
            into = np.asarray(array.values(whole))
            if array.name == "failure":
                whole.reasons[:] = [str(text) for text in found.ravel()]
            else:
                into[...] = found.reshape(into.shape)
        return whole

    def write(self, cell: int, whole: Part) -> None:
        """Write a cell, its status last: what that says is on the disk by then."""
        self._write_seeds(cell)
        with ThreadPoolExecutor(WRITERS) as pool:  # they wait for the disk
            deque(pool.map(lambda array: self._put(cell, array, whole), self.arrays[:-1]), maxlen=0)
        self._write_status(cell, whole)

    def forget_failures(self, cell: int) -> None:
        """Make the failed swarms of a cell ones that have not been run; the others stay as they are."""
        failed = self.status(cell) == FAILED
        if not failed.any():
            return
        whole = self.read(cell)
        for start, end in stretches(failed):
            self.plan.job.shape.empty(whole.first + start, end - start).into(whole)
        self._group.attrs["complete"] = 0
        self._write_status(cell, whole)  # first, too: none has failed without a reason if this ends here
        self.write(cell, whole)

    def complete(self) -> None:
        """Say that the sweep is complete."""
        self._group.attrs["complete"] = 1

    def _tidy(self) -> None:
        """Delete the files that a process was writing when it was killed."""
        for file in self._found.path.rglob(LEFT):
            file.unlink(missing_ok=True)

    def _take(self) -> Lost:
        """Take in what is there; what is damaged is deleted, and so runs again, or made again if that can be done."""
        lost = Lost()
        for name in self._found.labels():
            layout.rewrite(self._group, self.plan, name)
        for place in self._found.cells():
            cell, broken = self.cells.at(*place), self._found.broken(place)
            if broken == ["seed"]:
                self._write_seeds(cell)
            if broken in ([], ["seed"]):
                self._count(cell, self._found.read_status(place), 1)
            else:
                lost = self._discard(place, broken[0], lost)
        return lost

    def _discard(self, place: Place, broken: str, lost: Lost) -> Lost:
        """Delete a cell, its status first."""
        found, status = self._found, self._found.read_status(place)
        number = len(self.cells.units(self.cells.at(*place))) if status is None else int((status != PENDING).sum())
        self._group.attrs["complete"] = 0
        first = f"{place.block}status"
        for name in (first, *(name for name in found.blocks[place.block] if name not in (first, "seed"))):
            remove(found.file(name, place), self.durable)
        return Lost(lost.swarms + number, lost.file or found.file(broken, place))

    def _array(self, name: str, cell: int) -> zarr.Array[Any]:
        """Return the array of a name that a cell is in."""
        return self._opened[self.cells.prefix(cell) + name]

    def _put(self, cell: int, array: layout.Array, whole: Part) -> None:
        region, values = self.cells.region(cell), np.asarray(array.values(whole))
        shape = tuple(s.stop - s.start for s in region)
        self._array(array.name, cell)[region] = values.reshape(shape + values.shape[1:])

    def _write_status(self, cell: int, whole: Part) -> None:
        before = self.status(cell) if cell in self.pending else ()
        self._put(cell, self.arrays[-1], whole)
        self._count(cell, before, -1)
        self._count(cell, whole.status, 1)

    def _count(self, cell: int, status: Any, sign: int) -> None:
        pending, done, failed = np.bincount(np.ravel(status).astype(int), minlength=3).tolist()
        self.pending[cell] = pending
        self.done += sign * done
        self.failed += sign * failed

    def _write_seeds(self, cell: int) -> None:
        if self.cells.prefix(cell):  # of points that are in the design, and have their seeds there
            return
        units, region = self.cells.units(cell), self.cells.region(cell)
        replicas = self.plan.replicas
        shape = tuple(s.stop - s.start for s in region)
        seeds = [self.plan.seed_of(unit // replicas) for unit in units[:: min(replicas, shape[-1])]]
        self._opened["seed"][region[:-1]] = np.array(seeds, np.int64).reshape(shape[:-1])


def stretches(which: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return where each stretch of consecutive true elements begins, and where it ends."""
    edges = np.flatnonzero(np.diff(which, prepend=False, append=False))
    return [(start, end) for start, end in edges.reshape(-1, 2).tolist()]


def _open(found: Sound, durable: bool) -> tuple[zarr.Group, dict[str, zarr.Array[Any]]]:
    """Return the group and its arrays; an InputError if zarr cannot make anything of their metadata."""
    try:
        group = zarr.open_group(Disk(found.path, durable=durable), mode="r+")
        return group, {name: layout.opened(group, name) for name in found.arrays}
    except OSError:
        raise
    except Exception:  # zarr raises anything for what it did not write
        raise damaged(found.path / "zarr.json", found.path, "out") from None
