"""Which swarms lie in one chunk of the store: consecutive ones, so that a chunk is finished before the next begins."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import NamedTuple

MOST_UNITS = 4096
"""Most swarms of a cell."""

MOST_BYTES = 16 * 2**20
"""About the most memory of a cell."""


class Block(NamedTuple):
    """Units whose figures lie in arrays of their own."""

    prefix: str
    """How the names of these begin."""
    dims: tuple[str, ...]
    """Their dimensions, the replicas' last if they lie along them."""
    shape: tuple[int, ...]
    """Lengths of these."""


@dataclass(frozen=True)
class Cells:
    """A regular division of an array of units in C order into chunks of consecutive ones.

    The last dimensions lie whole in a cell, the one before them in ``chunk[split]`` places, those before one by one.
    """

    shape: tuple[int, ...]
    """Lengths of the dimensions."""
    chunk: tuple[int, ...]
    """Lengths of a cell."""
    split: int
    """The dimension that is divided."""

    @property
    def inner(self) -> int:
        """Units of one place along the divided dimension."""
        return prod(self.shape[self.split + 1 :])

    @property
    def along(self) -> int:
        """Cells along the divided dimension."""
        return -(-self.shape[self.split] // self.chunk[self.split])

    @property
    def count(self) -> int:
        """Number of cells."""
        return prod(self.shape[: self.split]) * self.along

    def units(self, cell: int) -> range:
        """Return the numbers of a cell's units."""
        outer, place = divmod(cell, self.along)
        row = outer * self.shape[self.split] * self.inner
        first = place * self.chunk[self.split]
        last = min(first + self.chunk[self.split], self.shape[self.split])
        return range(row + first * self.inner, row + last * self.inner)

    def cell(self, unit: int) -> int:
        """Return the cell of a unit."""
        outer, rest = divmod(unit, self.shape[self.split] * self.inner)
        return outer * self.along + rest // (self.chunk[self.split] * self.inner)

    def index(self, cell: int) -> tuple[int, ...]:
        """Return the place of a cell along each dimension, in cells."""
        outer, place = divmod(cell, self.along)
        places = []
        for length in reversed(self.shape[: self.split]):
            outer, at = divmod(outer, length)
            places.append(at)
        return (*reversed(places), place, *(0 for _ in self.shape[self.split + 1 :]))

    def at(self, index: tuple[int, ...]) -> int:
        """Return the cell at a place along each dimension, in cells."""
        outer = 0
        for at, length in zip(index[: self.split], self.shape, strict=False):
            outer = outer * length + at
        return outer * self.along + index[self.split]

    def region(self, cell: int) -> tuple[slice, ...]:
        """Return what a cell has of each dimension."""
        return tuple(
            slice(at * chunk, min(at * chunk + chunk, length))
            for at, chunk, length in zip(self.index(cell), self.chunk, self.shape, strict=True)
        )


def cells(shape: tuple[int, ...], unit_bytes: int) -> Cells:
    """Return the division into cells of at most about 4096 units and 16 MB.

    Args:
        shape: Lengths of the dimensions.
        unit_bytes: Memory of one unit [B].
    """
    room = max(1, min(MOST_UNITS, MOST_BYTES // unit_bytes))
    split, inner = len(shape) - 1, 1
    while split > 0 and inner * shape[split] <= room:
        inner *= shape[split]
        split -= 1
    number = -(-shape[split] // max(1, room // inner))  # of cells, all about as long
    length = -(-shape[split] // number)
    return Cells(shape, (*(1 for _ in shape[:split]), length, *shape[split + 1 :]), split)


@dataclass(frozen=True)
class Division:
    """The cells of several blocks; units and cells are numbered block after block."""

    blocks: tuple[Block, ...]
    cells: tuple[Cells, ...]
    """Of each block."""

    @property
    def count(self) -> int:
        """Number of cells."""
        return sum(each.count for each in self.cells)

    def units(self, cell: int) -> range:
        """Return the numbers of a cell's units."""
        block, own = self.own(cell)
        units, before = self.cells[block].units(own), self._first_unit(block)
        return range(units.start + before, units.stop + before)

    def cell(self, unit: int) -> int:
        """Return the cell of a unit."""
        block = _at(unit, [prod(each.shape) for each in self.cells])
        return self._first_cell(block) + self.cells[block].cell(unit - self._first_unit(block))

    def own(self, cell: int) -> tuple[int, int]:
        """Return which block a cell is of, and its number there."""
        block = _at(cell, [each.count for each in self.cells])
        return block, cell - self._first_cell(block)

    def at(self, prefix: str, index: tuple[int, ...]) -> int:
        """Return the cell at a place along each dimension of a block, in cells."""
        block = [each.prefix for each in self.blocks].index(prefix)
        return self._first_cell(block) + self.cells[block].at(index)

    def region(self, cell: int) -> tuple[slice, ...]:
        """Return what a cell has of each dimension of its block."""
        block, own = self.own(cell)
        return self.cells[block].region(own)

    def prefix(self, cell: int) -> str:
        """Return how the names of the arrays begin that a cell is in."""
        return self.blocks[self.own(cell)[0]].prefix

    def _first_unit(self, block: int) -> int:
        return sum(prod(each.shape) for each in self.cells[:block])

    def _first_cell(self, block: int) -> int:
        return sum(each.count for each in self.cells[:block])


def _at(number: int, lengths: Sequence[int]) -> int:
    """Return in which of some stretches, one after the other, a number lies."""
    return bisect_right(list(accumulate(lengths)), number)


def division(blocks: Sequence[Block], unit_bytes: int) -> Division:
    """Return the cells of blocks whose units take some memory each [B]."""
    return Division(tuple(blocks), tuple(cells(block.shape, unit_bytes) for block in blocks))
