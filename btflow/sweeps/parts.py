"""What was found of some consecutive swarms, as arrays; and as a file."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from btflow.swarm.program import Program
from btflow.swarm.replica import GRID_POINTS, PER_PEER, Replica
from btflow.sweeps.status import DONE, FAILED

Floats = NDArray[np.float64]

PEER_ARRAYS = (*(f"peer_{name}" for name in PER_PEER), "class_number")
"""What is kept of each peer on request."""

TIMES = GRID_POINTS + 1
"""Most times at which the pieces held are kept on request."""


class Shape(NamedTuple):
    """How much is kept of a swarm."""

    width: int
    """Number of figures."""
    peers: int = 0
    """Most peers of a swarm; 0 if nothing is kept of each."""
    times: int = 0
    """Room for the pieces held over time; 0 if they are not kept."""

    @property
    def bytes(self) -> int:
        """Memory of one swarm [B]."""
        return 8 * (self.width + self.peers * len(PEER_ARRAYS) + self.times + 4)

    def empty(self, first: int, count: int) -> Part:
        """Return the part of some units before anything is found."""
        return Part(
            first,
            np.zeros(count, np.int8),
            [""] * count,
            np.full(count, np.nan),
            np.full((count, self.width), np.nan),
            np.full((count, len(PEER_ARRAYS), self.peers), np.nan),
            np.full((count, self.times), np.nan),
            np.full(count, np.nan),
        )


@dataclass(frozen=True)
class Part:
    """What was found of units ``first``, ``first + 1``..."""

    first: int
    status: NDArray[np.int8]
    """(units,)"""
    reasons: list[str]
    """Why each failed, empty if it did not."""
    cpu: Floats
    """CPU time [s] (units,)."""
    values: Floats
    """Figures (units, width)."""
    peers: Floats
    """What is kept of each peer (units, arrays, peers), NaN beyond the last."""
    held: Floats
    """Mean number of pieces a leecher holds (units, times), NaN beyond the last completion."""
    step: Floats
    """Time between two of these [s] (units,)."""
    elapsed: float = 0.0
    """Wall time that it took to find [s]; not kept."""

    @property
    def count(self) -> int:
        """Number of units."""
        return len(self.status)

    @property
    def failed(self) -> int:
        """Number of units that failed."""
        return int((self.status == FAILED).sum())

    def has(self, shape: Shape) -> bool:
        """Return whether its arrays are those of a shape."""
        blank = shape.empty(self.first, self.count)
        names = ("status", "cpu", "values", "peers", "held", "step")
        same = all(getattr(self, name).shape == getattr(blank, name).shape for name in names)
        return same and len(self.reasons) == self.count

    def put(self, number: int, program: Program, row: Replica, values: Floats) -> None:
        """Enter what was found of a run; program and row are looked at for what is kept of a swarm besides."""
        self.status[number] = DONE
        self.values[number] = values
        if self.peers.shape[2]:
            arrays = [value(row) for value, _, _ in PER_PEER.values()]
            for out, array in zip(self.peers[number], (*arrays, program.klass), strict=True):
                if array is not None:
                    out[: len(array)] = array
        if self.held.shape[1]:
            self.held[number, : len(row.held)] = row.held
            self.step[number] = row.time_step

    def fail(self, number: int, reason: str) -> None:
        """Enter that a swarm failed, and why."""
        self.status[number] = FAILED
        self.reasons[number] = reason

    def cut(self, count: int, elapsed: float) -> Part:
        """Return the first units alone, and how long they took."""
        arrays = [array[:count] for array in (self.cpu, self.values, self.peers, self.held, self.step)]
        cpu, values, peers, held, step = arrays
        return Part(self.first, self.status[:count], self.reasons[:count], cpu, values, peers, held, step, elapsed)

    def into(self, whole: Part) -> None:
        """Enter these units into a part that has them among others."""
        at = slice(self.first - whole.first, self.first - whole.first + self.count)
        whole.reasons[at] = self.reasons
        for name in ("status", "cpu", "values", "peers", "held", "step"):
            getattr(whole, name)[at] = getattr(self, name)

    def to_bytes(self) -> bytes:
        """Return the content of a file, with checksums."""
        content = io.BytesIO()
        arrays = {name: getattr(self, name) for name in ("status", "cpu", "values", "peers", "held", "step")}
        np.savez(content, allow_pickle=False, first=self.first, reasons=np.array(self.reasons, np.str_), **arrays)
        return content.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Part:
        """Return the part in a file; an exception, of whatever kind, if it is damaged."""
        with np.load(io.BytesIO(content), allow_pickle=False) as found:
            first, reasons = int(found["first"]), [str(text) for text in found["reasons"]]
            arrays = (found[name] for name in ("cpu", "values", "peers", "held", "step"))
            return cls(first, found["status"], reasons, *arrays)
