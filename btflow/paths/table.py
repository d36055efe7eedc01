"""A table of quantiles as a distribution: the value at a share, and the share below a value."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Table(NamedTuple):
    """Quantiles; between them straight lines up to a share, above it power laws of the share that lies higher."""

    share: Floats
    """Cumulative shares, rising (points,)."""
    value: Floats
    """The values there, not falling (points,)."""
    tail: float
    """One of the shares, from which on power laws hold; 1: nowhere."""

    def quantile(self, share: Floats) -> Floats:
        """Return the value at or below which each share lies, of any shape; beyond the table's ends those at its ends.

        Nothing is drawn that the table does not have: it ends where its sources do.
        """
        shares = np.clip(share, self.share[0], self.share[-1])
        body, tail = self.share <= self.tail, self.share >= self.tail
        low = np.interp(shares, self.share[body], self.value[body])
        if self.tail == 1.0:
            return np.asarray(low, np.float64)
        rest = np.log1p(-np.maximum(shares, self.tail))
        high = np.exp(np.interp(-rest, -np.log1p(-self.share[tail]), np.log(self.value[tail])))
        within = np.clip(high, self.value[tail][0], self.value[-1])
        return np.asarray(np.where(shares <= self.tail, low, within), np.float64)

    def share_below(self, value: Floats) -> Floats:
        """Return the share at or below each value: of values on a flat part the largest; 0 below the table, 1 above."""
        at, last = np.asarray(value, np.float64), len(self.value) - 1
        below = np.searchsorted(self.value, at, side="right") - 1
        i = np.clip(below, 0, max(last - 1, 0))
        j = np.minimum(i + 1, last)
        one, other, low, high = self.share[i], self.share[j], self.value[i], self.value[j]
        with np.errstate(divide="ignore", invalid="ignore"):
            line = one + (other - one) * (at - low) / (high - low)
            power = 1.0 - (1.0 - one) * ((1.0 - other) / (1.0 - one)) ** (np.log(at / low) / np.log(high / low))
        return np.select([below < 0, below >= last, one >= self.tail], [0.0, 1.0, power], line)
