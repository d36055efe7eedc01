"""Puts together what was measured between the same two peers."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from btflow.words import counted

Floats = NDArray[np.float64]
Ends = NDArray[np.int64]


class Pairs:
    """The two peers of each row of a file, in its order."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._ends = array("q")

    def add(self, one: str, other: str) -> None:
        """Take the peers of the next row."""
        self._ends.append(self._number.setdefault(one, len(self._number)))
        self._ends.append(self._number.setdefault(other, len(self._number)))

    def together(self) -> Together:
        """Return which rows are of the same two peers, whichever is first; peers are numbered by their names."""
        peers = len(self._number)
        by_name = np.empty(peers, np.int64)
        by_name[[self._number[name] for name in sorted(self._number)]] = np.arange(peers)
        ends = np.sort(by_name[np.array(self._ends, np.int64).reshape(-1, 2)], axis=1)
        apart = ends[:, 0] != ends[:, 1]
        key, pair = np.unique(ends[apart] @ np.array([peers, 1]), return_inverse=True)
        return Together(np.stack(np.divmod(key, max(peers, 1)), axis=1), apart, pair)


@dataclass(frozen=True)
class Together:
    """Which rows are of the same two peers.

    Attributes:
        ends: Numbers of the two peers (pairs, 2), the lower one first; each pair once.
        apart: Whether a row is of two peers, not of one (rows,).
        pair: The pair of each row of two peers.
    """

    ends: Ends
    apart: NDArray[np.bool_]
    pair: NDArray[np.intp]

    def medians(self, values: Floats) -> Floats:
        """Return the median of the rows of each pair."""
        kept = values[self.apart]
        ordered = kept[np.lexsort((kept, self.pair))]
        count = np.bincount(self.pair, minlength=len(self.ends))
        start = np.cumsum(count) - count
        return np.asarray(0.5 * (ordered[start + (count - 1) // 2] + ordered[start + count // 2]), np.float64)

    def means(self, values: Floats) -> Floats:
        """Return the mean of the rows of each pair."""
        size = len(self.ends)
        total = np.bincount(self.pair, values[self.apart], minlength=size)
        return np.asarray(total / np.bincount(self.pair, minlength=size), np.float64)

    def unequal(self, values: Floats) -> int:
        """Return the number of pairs whose rows have not all the same value."""
        low, high = np.full((2, len(self.ends)), np.nan)
        np.fmin.at(low, self.pair, values[self.apart])
        np.fmax.at(high, self.pair, values[self.apart])
        return int(np.sum(low < high))

    @property
    def alone(self) -> int:
        """Number of rows of one peer."""
        return int(np.sum(~self.apart))

    @property
    def notes(self) -> list[str]:
        """What was done with rows that are no pair of their own, in words."""
        rows, pairs = len(self.pair), len(self.ends)
        notes = [f"{counted(self.alone, 'row')} of a peer and itself: left out"] if self.alone else []
        once = "each counts once, with its median round-trip time and its mean loss"
        said = f"{counted(rows, 'row')} of {counted(pairs, 'pair of peers')}: {once}"
        return [*notes, said] if rows > pairs else notes
