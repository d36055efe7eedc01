"""A sweep on disk: a zarr group that opens at every instant, and a journal of what is not merged into it yet.

One process writes, the others are refused. What is finished is first a part in the journal; when all swarms of a cell
are there, the cell is written to the arrays, its status last, and then its parts are deleted. Every file is on the disk
before the next step. Each of these steps may be done again, so a process that is killed, or a disk that is full, leaves
nothing that cannot be gone on with.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import numpy as np

from btflow.sweeps.cells import Division, division
from btflow.sweeps.create import created
from btflow.sweeps.identity import check_same
from btflow.sweeps.journal import Journal
from btflow.sweeps.lock import locked
from btflow.sweeps.merged import Lost, Merged, stretches
from btflow.sweeps.parts import Part
from btflow.sweeps.paths import check_path
from btflow.sweeps.plan import Plan
from btflow.sweeps.sound import sound
from btflow.sweeps.status import PENDING
from btflow.sweeps.writing import of_store


class Store:
    """The store of one sweep, open for writing by the process that has its lock.

    Attributes:
        path: Where it is.
        plan: The sweep.
        cells: How its swarms are divided.
    """

    def __init__(self, path: Path, plan: Plan, *, durable: bool = True) -> None:
        self.path, self.plan = path, plan
        self.cells: Division = division(plan.blocks, plan.job.shape.bytes)
        self._left: dict[int, int] = {}
        found = sound(path, "out")
        check_same(path, found.attributes, plan)
        with of_store(path):
            self._merged = Merged(found, plan, self.cells, durable)
            self._journal = Journal(path, self.cells, plan.job.shape, durable)
            for cell in list(self._journal.files):
                self._merge(cell)

    @property
    def lost(self) -> Lost:
        """What could not be read, and is run again."""
        return self._merged.lost

    def forget_failures(self) -> None:
        """Make every failed swarm one that has not been run: there may be more memory now, say."""
        with of_store(self.path):
            for cell in list(self._merged.pending):
                self._merged.forget_failures(cell)

    def pending(self) -> Iterator[range]:
        """Return the units that are to be run, cell by cell; units of two cells are never in one range.

        Those that check the sweep come first: they take longest, and what is long is not left to the end.
        """
        designed = self.cells.cells[0].count
        for cell in chain(range(designed, self.cells.count), range(designed)):
            units, left = self.cells.units(cell), self._merged.pending.get(cell)
            if left == 0:
                continue
            todo = np.ones(len(units), bool) if left is None else self._merged.status(cell) == PENDING
            self._left[cell] = int(todo.sum())
            for start, end in stretches(todo):
                yield range(units.start + start, units.start + end)

    def add(self, part: Part) -> None:
        """Keep a part for good.

        Raises:
            OSError: It cannot be written, or one that was has been damaged since.
        """
        if part.count == 0:
            return
        cell = self.cells.cell(part.first)
        with of_store(self.path):
            self._journal.add(cell, part)
            self._left[cell] -= part.count
            if self._left[cell] == 0:
                del self._left[cell]
                self._check(self._merge(cell))

    def flush(self) -> None:
        """Write all that is finished to the arrays; if that is the whole sweep, say so and delete the journal.

        Raises:
            OSError: It cannot be written, or something of it was damaged; all else has been written then.
        """
        with of_store(self.path):
            self._check([file for cell in list(self._journal.files) for file in self._merge(cell)])
            if sum(self.counts()) == self.plan.units:
                self._merged.complete()
                self._journal.remove()

    def counts(self) -> tuple[int, int]:
        """Return how many swarms are done and how many failed, of those in the arrays."""
        return self._merged.done, self._merged.failed

    def _merge(self, cell: int) -> list[Path]:
        """Write what is known of a cell to the arrays, then delete its parts; return the files of damaged ones."""
        whole = self._merged.read(cell)
        parts, damaged = self._journal.read(cell)
        for part in parts:
            part.into(whole)
        self._merged.write(cell, whole)
        self._journal.drop(cell)
        return damaged

    def _check(self, damaged: Sequence[Path]) -> None:
        """Raise an error if parts were damaged that this process has written: their units have been handed out."""
        if damaged:
            file = damaged[0].relative_to(self.path)
            text = f"{file} was damaged or deleted while the sweep ran; --resume (resume=True) runs what is lost again"
            raise OSError(errno.EIO, text, str(self.path))


@contextmanager
def open_store(path: Path, plan: Plan, *, resume: bool = False, durable: bool = True) -> Iterator[Store]:
    """Give the store of a sweep: a new one, or one to go on with. No other process writes to it meanwhile.

    Raises:
        InputError: There is something else, a sweep that is not to be gone on with, another sweep, one that another
            process writes to, or one whose metadata are damaged.
        OSError: It cannot be written.
    """
    check_path(path, resume)
    with locked(path) if path.exists() else created(path, plan, durable):
        yield Store(path, plan, durable=durable)
