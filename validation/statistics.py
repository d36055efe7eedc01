"""Spread over replicas, changes in percent, and the tests by which two cases are told apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from btflow.units.formatting import counted

Floats = NDArray[np.float64]

SIGNIFICANT = 0.05
"""Greatest p-value at which an order counts as found."""


@dataclass(frozen=True)
class Spread:
    """A figure over the replicas of a case."""

    mean: float
    """Mean of the replicas."""
    se: float
    """Standard error of the mean; 0 for a single replica."""
    min: float
    """Least of the replicas."""
    max: float
    """Greatest of the replicas."""
    replicas: int
    """Number of replicas."""

    @property
    def half(self) -> float:
        """Half the width of the mean's 95% confidence interval, by Student's t; infinite for a single replica."""
        return float(stats.t.ppf(0.975, self.replicas - 1)) * self.se if self.replicas > 1 else math.inf

    def mean_text(self, digits: int, unit: str = "") -> str:
        """Return the mean and half of its interval as a short text."""
        return f"{self.mean:.{digits}f} ± {self.half:.{digits}f}" + (f" {unit}" if unit else "")

    def text(self, digits: int = 0, unit: str = "") -> str:
        """Return mean, standard error and range as a short text."""
        numbers = [f"{value:.{digits}f}" for value in (self.mean, self.se, self.min, self.max)]
        unit = f" {unit}" if unit else ""
        return f"{numbers[0]} ± {numbers[1]}{unit} ({numbers[2]} to {numbers[3]})"


@dataclass(frozen=True)
class Change:
    """By how much one case exceeds another."""

    value: float
    """Difference of the means over the other's mean."""
    se: float
    """Its standard error, to first order."""

    @property
    def text(self) -> str:
        """The change in percent with its standard error."""
        return f"{100 * self.value:+.1f} ± {100 * self.se:.1f}%"


@dataclass(frozen=True)
class Interval:
    """A confidence interval of a share."""

    low: float
    """Lower end, 0 to 1."""
    high: float
    """Upper end, 0 to 1."""

    def percent(self, digits: int) -> str:
        """Return it as a short text in percent."""
        return f"{100 * self.low:.{digits}f} to {100 * self.high:.{digits}f}%"


def wilson(number: int, of: int) -> Interval:
    """Return Wilson's 95% confidence interval of a share of which `number` of `of` independent trials had it."""
    found = stats.binomtest(number, of).proportion_ci(method="wilson")
    return Interval(float(found.low), float(found.high))


def spread(values: Sequence[float] | Floats) -> Spread:
    """Return mean, standard error, least and greatest of some replicas' values."""
    array = np.asarray(values, float)
    error = float(array.std(ddof=1)) / math.sqrt(array.size) if array.size > 1 else 0.0
    return Spread(float(array.mean()), error, float(array.min()), float(array.max()), array.size)


def replicas_text(found: Iterable[Spread]) -> str:
    """Return how many replicas some figures are made of, as a short text."""
    numbers = sorted({s.replicas for s in found})
    return counted(numbers[0], "replica") if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]} replicas"


def change(values: Sequence[float], base: Sequence[float]) -> Change:
    """Return by how much the mean of `values` exceeds that of `base`, over the latter."""
    a, b = spread(values), spread(base)
    ratio = a.mean / b.mean
    return Change(ratio - 1.0, ratio * math.hypot(a.se / a.mean, b.se / b.mean))


def p_greater(values: Sequence[float], base: Sequence[float]) -> float:
    """Return the p-value of Welch's one-sided t test that the mean of `values` is greater than that of `base`.

    Values that do not vary at all are compared as they are: 0 if greater, else 1. A single replica shows nothing: 1.
    """
    if min(len(values), len(base)) < 2:
        return 1.0
    if np.ptp(values) == np.ptp(base) == 0.0:
        return 0.0 if values[0] > base[0] else 1.0
    return float(stats.ttest_ind(values, base, equal_var=False, alternative="greater").pvalue)


def p_rank(values: Sequence[float], base: Sequence[float]) -> float:
    """Return the p-value of the one-sided Mann-Whitney test that `values` tend to be greater than `base`."""
    return float(stats.mannwhitneyu(values, base, alternative="greater").pvalue)


def distribution(pairs: Sequence[tuple[float, float]]) -> tuple[Floats, Floats]:
    """Return the counted values in rising order and the share at or below each; pairs are (value, count)."""
    values, counts = np.array(sorted(pairs), float).T
    cumulated = np.cumsum(counts)
    return values, cumulated / cumulated[-1]


def quantile(pairs: Sequence[tuple[float, float]], share: float) -> float:
    """Return the least value that at least `share` of the counted ones do not exceed; pairs are (value, count)."""
    values, cumulated = distribution(pairs)
    return float(values[np.argmax(cumulated >= share * (1.0 - 1e-12))])


def share_above(pairs: Sequence[tuple[float, float]], limit: float) -> float:
    """Return the share of the counted values that exceed `limit`; pairs are (value, count)."""
    values, cumulated = distribution(pairs)
    return 1.0 - float(np.max(cumulated, initial=0.0, where=values <= limit))
