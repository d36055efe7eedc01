"""Two settings or classes compared over runs: intervals, orders by t tests, equivalence, effect sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from validation.statistics import SIGNIFICANT, spread

Floats = NDArray[np.float64]

MARGIN = 0.05
"""Greatest relative difference that counts as none."""
CONFIDENCE = 0.95
"""Of intervals; those of means are `Spread.half`."""


@dataclass(frozen=True)
class Interval:
    """A mean over runs with its 95 % confidence interval, by Student's t."""

    mean: float
    """The mean."""
    low: float
    """Lower end."""
    high: float
    """Upper end."""
    number: int
    """Number of runs."""

    def text(self, digits: int = 1, unit: str = "", scale: float = 1.0) -> str:
        """Return the mean and the half width as a short text, in a unit `scale` times as small."""
        half = 0.5 * scale * (self.high - self.low)
        return f"{scale * self.mean:.{digits}f} ± {half:.{digits}f}" + (f" {unit}" if unit else "")


def interval(values: Sequence[float] | Floats) -> Interval:
    """Return the mean of some runs and its confidence interval; infinitely wide for a single run."""
    array = _finite(values)
    if array.size == 0:
        return Interval(math.nan, math.nan, math.nan, 0)
    found = spread(array)
    return Interval(found.mean, found.mean - found.half, found.mean + found.half, found.replicas)


@dataclass(frozen=True)
class Paired:
    """One side over the other, run by run."""

    relative: Interval
    """Difference over the mean of the other side."""
    p_less: float
    """p-value of the one-sided paired t test that it is below 0."""
    p_equal: float
    """p-value of the two one-sided paired t tests that it is within MARGIN."""
    effect: float
    """Cohen's d: difference of the means over the pooled standard deviation of the runs' means."""

    @property
    def p_greater(self) -> float:
        """p-value of the one-sided paired t test that it is above 0."""
        return 1.0 - self.p_less

    @property
    def less(self) -> bool:
        """Whether it is below 0, by the test."""
        return self.p_less < SIGNIFICANT

    @property
    def greater(self) -> bool:
        """Whether it is above 0, by the test."""
        return self.p_greater < SIGNIFICANT

    @property
    def equal(self) -> bool:
        """Whether it is within MARGIN, by the tests."""
        return self.p_equal < SIGNIFICANT

    @property
    def text(self) -> str:
        """The difference in percent with its confidence interval, and the effect size."""
        r = self.relative
        return (
            f"{100 * r.mean:+.1f}% (95% CI {100 * r.low:+.1f} to {100 * r.high:+.1f}%, d = {self.effect:+.1f}, "
            f"{r.number} runs)"
        )

    def ordered(self, greater: bool = False) -> str:
        """Return the difference and the p-value of its order."""
        return f"{self.text}, paired t: {p_text(self.p_greater if greater else self.p_less)}"

    @property
    def equivalence(self) -> str:
        """The difference and the p-value of the equivalence."""
        return f"{self.text}, TOST ±{100 * MARGIN:g}%: {p_text(self.p_equal)}"


def paired(values: Sequence[float] | Floats, base: Sequence[float] | Floats) -> Paired:
    """Compare two sides replica by replica; runs in which either has no figure, or beyond the shorter, are left out."""
    number = min(len(values), len(base))
    a, b = np.asarray(values, float)[:number], np.asarray(base, float)[:number]
    known = np.isfinite(a) & np.isfinite(b)
    a, b = a[known], b[known]
    if a.size == 0:
        return Paired(interval([]), 0.5, 1.0, math.nan)
    relative = (a - b) / b.mean()
    pooled = math.sqrt(0.5 * (float(a.var(ddof=1)) + float(b.var(ddof=1)))) if a.size > 1 else 0.0
    difference = float(a.mean() - b.mean())
    effect = difference / pooled if pooled > 0.0 else math.copysign(math.inf, difference) if difference else 0.0
    margins = max(_p_above(relative, -MARGIN), 1.0 - _p_above(relative, MARGIN))
    return Paired(interval(relative), 1.0 - _p_above(relative, 0.0), margins, effect)


def p_above(values: Sequence[float] | Floats, limit: float) -> float:
    """Return the p-value of the one-sided t test that the mean of some runs exceeds a limit."""
    return _p_above(_finite(values), limit)


def _p_above(array: Floats, limit: float) -> float:
    """Return as `p_above`; values that do not vary are compared as they are, a single one shows nothing: 0.5."""
    if array.size < 2:
        return 0.5
    if np.ptp(array) == 0.0:
        return 0.0 if array[0] > limit else 1.0 if array[0] < limit else 0.5
    return float(stats.ttest_1samp(array, limit, alternative="greater").pvalue)


def p_text(p: float) -> str:
    """Return a p-value as a short text."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def slope(x: Sequence[float], rows: Sequence[Sequence[float] | Floats]) -> list[float]:
    """Return the least-squares slope over x of each replica; rows are the values at each x."""
    number = min(len(row) for row in rows)
    table = np.array([np.asarray(row, float)[:number] for row in rows])
    return [float(np.polyfit(x, column, 1)[0]) for column in table.T]


def spearman(x: Sequence[float] | Floats, y: Sequence[float] | Floats) -> float:
    """Return Spearman's rank correlation; 0 where a side does not vary."""
    if np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return 0.0
    return float(stats.spearmanr(x, y).statistic)


def apart(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the greatest distance of two distributions, given by as many quantiles each, from 0 to 100%."""
    at = np.union1d(one, other)
    shares = [np.interp(at, quantiles, np.linspace(0.0, 1.0, len(quantiles))) for quantiles in (one, other)]
    return float(np.abs(shares[0] - shares[1]).max())


def _finite(values: Sequence[float] | Floats) -> Floats:
    array = np.asarray(values, np.float64)
    return array[np.isfinite(array)]
