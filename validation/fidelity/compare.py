"""Flow against full over the same seeds: differences with intervals, tests of equivalence, growth of the pieces."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from btflow.options import FIDELITIES, Fidelity
from validation.fidelity.measured import Measured
from validation.fidelity.swarms import Setup, Swarm

Floats = NDArray[np.float64]

LEVEL = 0.05
"""Level of each of the two one-sided tests; their interval has 1 - 2 LEVEL."""
BOUND = 0.05
"""Relative difference up to which a statistic of the two fidelities counts as equal."""
AVERAGE = 0.02
"""The same for the mean over all cells."""
STATISTICS: Mapping[str, str] = {"mean": "mean", "p10": "p10", "p90": "p90", "copies": "seed's copies"}
"""What is compared, with its name."""
DRAWS = 999
"""Samples of the bootstrap."""


@dataclass(frozen=True)
class Difference:
    """By how much a statistic differs at flow, relative to its mean at full."""

    value: float
    """Mean over the seeds."""
    low: float
    """Lower end of the 90% interval."""
    high: float
    """Upper end of the 90% interval."""
    bound: float = BOUND
    """Up to which it counts as none."""

    @property
    def equal(self) -> bool:
        """Whether the two one-sided tests (TOST) find it within the bound: its 90% interval is."""
        return -self.bound < self.low and self.high < self.bound

    @property
    def beyond(self) -> bool:
        """Whether the interval is beyond the bound altogether."""
        return self.low > self.bound or self.high < -self.bound

    @property
    def text(self) -> str:
        """The difference with its interval in percent."""
        return f"{100 * self.value:+.1f} ({100 * self.low:+.1f} to {100 * self.high:+.1f})"


def difference(values: Sequence[float], base: Sequence[float], bound: float = BOUND) -> Difference:
    """Return by how much `values` exceed `base`, seed by seed, over the mean of `base`; the interval is Student's."""
    apart = (np.asarray(values, float) - np.asarray(base, float)) / np.mean(base)
    half = math.inf
    if apart.size > 1:
        half = float(stats.t.ppf(1.0 - LEVEL, apart.size - 1) * apart.std(ddof=1) / math.sqrt(apart.size))
    value = float(apart.mean())
    return Difference(value, value - half, value + half, bound)


class Compared(Protocol):
    """A setup at both fidelities."""

    @property
    def seeds(self) -> int:
        """Number of seeds."""

    def difference(self, statistic: str = "mean") -> Difference:
        """Return by how much flow's exceeds full's."""


@dataclass(frozen=True)
class Growth:
    """Greatest distance of the mean curves of the pieces held, as a part of all pieces."""

    distance: float
    """As it is."""
    most: float
    """The bootstrap over seeds has 95% below it; like every greatest distance it takes some chance for a difference."""

    @property
    def equal(self) -> bool:
        """Whether it is within the bound."""
        return self.most < BOUND

    @property
    def text(self) -> str:
        """The distance with its upper end, in percent of the pieces."""
        return f"{100 * self.distance:.1f} (up to {100 * self.most:.1f})"


def growth(flow: Sequence[Measured], full: Sequence[Measured]) -> Growth:
    """Compare the pieces held over time, seed by seed."""
    end = max(m.step * (len(m.held) - 1) for m in (*flow, *full))
    grid = np.linspace(0.0, end, 257)
    apart = np.array([_held(a, grid) - _held(b, grid) for a, b in zip(flow, full, strict=True)])
    drawn = np.random.default_rng(0).integers(len(apart), size=(DRAWS, len(apart)))
    distances = np.abs(apart[drawn].mean(axis=1)).max(axis=1)
    return Growth(float(np.abs(apart.mean(axis=0)).max()), float(np.quantile(distances, 1.0 - LEVEL)))


def _held(figures: Measured, grid: Floats) -> Floats:
    return np.asarray(np.interp(grid, figures.step * np.arange(len(figures.held)), figures.held), np.float64)


Of = TypeVar("Of")


@dataclass(frozen=True)
class Both(Generic[Of]):
    """A setup at both fidelities, over the same seeds, each with figures of a kind."""

    setup: Setup
    """What was run."""
    figures: Mapping[Fidelity, Sequence[Of]]
    """The figures of its seeds."""

    @property
    def seeds(self) -> int:
        """Number of seeds."""
        return len(self.figures["full"])

    def values(self, fidelity: Fidelity, statistic: str = "mean") -> list[float]:
        """Return a statistic of each seed."""
        return [float(getattr(one, statistic)) for one in self.figures[fidelity]]

    def difference(self, statistic: str = "mean", bound: float = BOUND) -> Difference:
        """Return by how much flow's exceeds full's, with the two one-sided tests for a bound."""
        return difference(self.values("flow", statistic), self.values("full", statistic), bound)


class Pair(Both[Measured]):
    """Of swarms without access links."""

    @property
    def refused(self) -> str:
        """Why flow refuses it, if it does."""
        return self.figures["flow"][0].refused

    @property
    def growth(self) -> Growth:
        """The growth of the pieces."""
        return growth(self.figures["flow"], self.figures["full"])


Kind = TypeVar("Kind", bound=Both[Any])


def pairs(
    kind: type[Kind], setups: Iterable[Setup], found: Mapping[Swarm, Any], seeds: int, first: int = 0
) -> list[Kind]:
    """Return the setups at both fidelities, with up to so many seeds from `first` on."""
    return [
        kind(setup, {f: [found[Swarm(setup, seed, f)] for seed in numbers(setup, seeds, first)] for f in FIDELITIES})
        for setup in setups
    ]


def wanted(setups: Iterable[Setup], seeds: int, first: int = 0) -> list[Swarm]:
    """Return the swarms that pairs need, full and flow in turn, so that an interrupted call has run as many of each."""
    return [Swarm(s, seed, f) for s in setups for seed in numbers(s, seeds, first) for f in FIDELITIES]


def numbers(setup: Setup, seeds: int, first: int) -> range:
    """Return the seeds of a setup."""
    return range(first, first + min(seeds, setup.seeds))


def average(found: Sequence[Pair], statistic: str = "mean") -> Difference:
    """Return the mean difference of a statistic over setups of the same seeds, with an interval over the seeds."""
    apart = []
    for pair in found:
        flow, full = np.array(pair.values("flow", statistic)), np.array(pair.values("full", statistic))
        apart.append((flow - full) / full.mean())
    mean = np.mean(apart, axis=0)
    return difference(1.0 + mean, np.ones_like(mean), AVERAGE)


def mean_error(found: Sequence[Compared], statistic: str = "mean") -> tuple[float, float]:
    """Return the mean absolute difference over setups, and what it would be in the mean by chance alone."""
    differences = [pair.difference(statistic) for pair in found]
    free = [pair.seeds - 1 for pair in found]
    errors = [(d.high - d.value) / stats.t.ppf(1.0 - LEVEL, n) for d, n in zip(differences, free, strict=True)]
    return float(np.mean([abs(d.value) for d in differences])), float(np.mean(errors) * math.sqrt(2.0 / math.pi))
