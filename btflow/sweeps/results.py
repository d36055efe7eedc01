"""What is found of a sweep's swarms: words for their status, and arrays of tasks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from btflow.swarm.program import Program
from btflow.swarm.replica import GRID_POINTS, PER_PEER, Replica

PENDING, DONE, FAILED = 0, 1, 2
"""Status of a run: not run yet, finished, failed for a reason that is kept."""

STATUSES = ("pending", "done", "failed")
"""Their names in tables."""

CORRELATED = (
    "a replica has the same random numbers at both, so their chance is correlated, and intervals are too narrow"
)
"""What comes of points that share a seed unless the sweep says so."""

OWN_SEEDS = "parts of one sweep (part, btflow.merge), or sweeps of different seeds"

FULL = "full_"
"""How the names of the arrays begin that hold what the checked points give in full."""

CHECK = "check"
"""Dimension along which the checked points lie; of its coordinates the names begin with ``check_``."""

FIRST = 0
"""The replica of a checked point that is run in full."""

Floats = NDArray[np.float64]


class Statistic(NamedTuple):
    """Name, unit and meaning of a figure."""

    name: str
    units: str
    meaning: str


class Table(NamedTuple):
    """Figures that a run has once, or once for each of several parts of it, such as the classes of a swarm's peers."""

    statistics: tuple[Statistic, ...]
    dimension: str = ""
    """What the parts lie along; empty for the whole."""
    parts: tuple[str, ...] = ("",)
    """Names of the parts."""
    meaning: str = ""
    """What a part is."""

    @property
    def width(self) -> int:
        """Number of figures."""
        return len(self.statistics) * len(self.parts)


def prefixed(prefix: str, statistics: tuple[Statistic, ...], of: str = "") -> tuple[Statistic, ...]:
    """Return figures of a part of a run, whose names begin with what it is of."""
    return tuple(s._replace(name=f"{prefix}_{s.name}", meaning=f"{of}{s.meaning}") for s in statistics)


PEER_ARRAYS = (*(f"peer_{name}" for name in PER_PEER), "class_number")
"""What is kept of each peer on request."""

TIMES = GRID_POINTS + 1
"""Most times at which the pieces held are kept on request."""


class Shape(NamedTuple):
    """How many numbers are kept of a run: its figures, on request what each peer did, and the pieces held over time.

    They lie one after the other in a row: the figures, array after array of the peers, the pieces held, and the step.
    """

    width: int
    """Number of figures."""
    peers: int = 0
    """Most peers of a swarm; 0 if nothing is kept of each."""
    times: int = 0
    """Room for the pieces held over time; 0 if they are not kept."""
    swarms: bool = False
    """Whether all that is found of a swarm is kept, packed, beside the row."""

    @property
    def row(self) -> int:
        """Length of a row."""
        return self._held + (self.times + 1 if self.times else 0)

    def peer(self, number: int) -> slice:
        """Return where one of ``PEER_ARRAYS`` lies."""
        return slice(self.width + number * self.peers, self.width + (number + 1) * self.peers)

    @property
    def held(self) -> slice:
        """Where the pieces held lie; the time between two follows."""
        return slice(self._held, self._held + self.times)

    @property
    def _held(self) -> int:
        return self.width + self.peers * len(PEER_ARRAYS)

    def empty(self, first: int, count: int) -> Part:
        """Return the part of some units before anything is found."""
        unknown = np.full((count, self.row), np.nan)
        status, cpu, seed = np.zeros(count, np.int8), np.zeros(count), np.full(count, -1)
        return Part(self, first, status, [""] * count, cpu, seed, unknown, [None] * count)


class Packed(NamedTuple):
    """All that was found of a swarm, and of which."""

    scenario: str
    """Digest of the scenario."""
    content: bytes
    """``Replica.packed``."""


@dataclass(frozen=True)
class Part:
    """What was found of units ``first``, ``first + 1``..."""

    shape: Shape
    first: int
    status: NDArray[np.int8]
    """(units,)"""
    reasons: list[str]
    """Why each failed, empty if it did not."""
    cpu: Floats
    """CPU time [s] (units,)."""
    seed: NDArray[np.int64]
    """Seed of each unit's point (units,)."""
    values: Floats
    """A row for each (units, numbers), NaN where there is nothing."""
    swarms: list[Packed | None]
    """All that was found of each, if that is kept."""
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

    def put(self, number: int, scenario: str, program: Program, row: Replica, figures: Floats, cpu: float) -> None:
        """Enter what was found of a run; all but the figures is looked at for what is kept of a swarm besides.

        Args:
            number: Which of the units it is.
            scenario: Digest of its scenario.
            program: What was run.
            row: What was found of it.
            figures: Its figures (width,).
            cpu: CPU time of the run alone [s], as ``simulate`` has it.
        """
        self.status[number] = DONE
        values, shape = self.values[number], self.shape
        values[: shape.width] = figures
        if shape.peers:
            arrays = [value(row) for value, _, _ in PER_PEER.values()]
            for place, array in enumerate((*arrays, program.klass)):
                if array is not None:
                    values[shape.peer(place)][: len(array)] = array
        if shape.times:
            values[shape.held][: len(row.held)] = row.held
            values[shape.held.stop] = row.time_step
        if shape.swarms:
            self.swarms[number] = Packed(scenario, replace(row, cpu=cpu).packed())

    def fail(self, number: int, reason: str) -> None:
        """Enter that a run failed, and why."""
        self.status[number] = FAILED
        self.reasons[number] = reason

    def cut(self, count: int, elapsed: float) -> Part:
        """Return the first units alone, and how long they took."""
        columns = ("status", "reasons", "cpu", "seed", "values", "swarms")
        return replace(self, elapsed=elapsed, **{name: getattr(self, name)[:count] for name in columns})


class Rows(NamedTuple):
    """What was found of some units, in order, not of all between the first and the last."""

    units: NDArray[np.int64]
    status: NDArray[np.int8]
    failure: list[str]
    cpu: Floats
    seed: NDArray[np.int64]
    values: Floats
