"""What is found of a run, as a sweep's dataset has it: names, units and meanings, in tables."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


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


class Figures(Protocol):
    """All figures of a run; the same for every run of a sweep."""

    @property
    def only_full(self) -> tuple[str, ...]:
        """Names of what flow does not know of a run."""

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables, in the order in which ``of`` returns them."""

    @property
    def width(self) -> int:
        """Number of figures."""

    def of(self, common: Any, found: Any) -> NDArray[np.float64]:
        """Return the figures of a run (width,): table after table, all of a part's before the next part's.

        Args:
            common: What all runs of the point have in common (``Kind.common``).
            found: What was kept of the run (``Kind.collect``).
        """
