"""Distributions of a path model: its tables of quantiles, and how far apart peers lie.

Apart from the models themselves, so that a scenario is loaded without NumPy and SciPy.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.special import chndtr

from btflow.paths.structure import MOST_DETOUR, Region, Structure

Floats = NDArray[np.float64]

POINTS = 4096
"""Of the grid of distances without detours, even in the logarithm; linear in between (error of a share below 1e-5)."""

_FURTHEST = 20.0
"""Mean deviations beyond which a detour does not lie: a share of exp(-20)."""

_NORMAL = np.linspace(-5.0, 5.0, 41)
"""Where a standard normal variable is looked at instead of everywhere: once in a million it is beyond."""


def share_below(structure: Structure, distance: Floats) -> Floats:
    """Return the share of pairs of peers whose distance, detour included, is at most each distance [s], any shape."""
    at, share = _grid(structure)
    return np.asarray(np.interp(np.log(np.maximum(distance, np.exp(at[0]))), at, share), np.float64)


def detours_of(structure: Structure, normal: Floats) -> Floats:
    """Return the detours of pairs, whose logarithms have these standard normal variables, any shape."""
    return np.asarray(np.minimum(structure.detour * np.exp(structure.detour_spread * normal), MOST_DETOUR), np.float64)


@lru_cache(maxsize=32)
def _grid(structure: Structure) -> tuple[Floats, Floats]:
    """Return logarithms of distances and the shares below (points,).

    They are those for each detour that pairs have, by the share of pairs that have it.
    """
    normal = _NORMAL if structure.detour_spread else np.zeros(1)
    detours, weights = detours_of(structure, normal), np.exp(-0.5 * normal**2)
    at, straight = _with_room(*_straight(structure.regions), _FURTHEST * float(detours.max()))
    step = float(at[1] - at[0])
    return at, np.average([_both_ways(straight, step, detour) for detour in detours], axis=0, weights=weights)


@lru_cache(maxsize=32)
def _straight(regions: tuple[Region, ...]) -> tuple[Floats, Floats]:
    """Return logarithms of distances, and the share of pairs whose places are at most so far apart (points,).

    The places of a peer of one region and one of another differ by a normal variable in the plane, so their distance
    has Rice's distribution: its square over the variance is noncentral chi-squared with two degrees of freedom.
    """
    spreads = np.array([region.spread for region in regions])
    places = np.array([(region.x, region.y) for region in regions])
    furthest = float(np.hypot(*np.ptp(places, axis=0)) + 15.0 * spreads.max())
    at = np.linspace(np.log(1e-3 * spreads.min()), np.log(furthest), POINTS)
    total, share = sum(region.share for region in regions), np.zeros(POINTS)
    for one, other in combinations_with_replacement(regions, 2):
        weight = one.share * other.share * (1.0 if one is other else 2.0) / total**2
        variance = one.spread**2 + other.spread**2
        apart = ((one.x - other.x) ** 2 + (one.y - other.y) ** 2) / variance
        share += weight * chndtr(np.exp(2.0 * at) / variance, 2.0, apart)
    return at, share


def _with_room(at: Floats, share: Floats, more: float) -> tuple[Floats, Floats]:
    """Return the same for longer logarithms of distances and for shorter ones, so much more at both ends."""
    step = float(at[1] - at[0])
    steps = int(np.ceil(more / step))
    added = step * np.arange(1, steps + 1)
    wider = np.concatenate([at[0] - added[::-1], at, at[-1] + added])
    return wider, np.pad(share, steps, constant_values=(0.0, 1.0))


def _both_ways(straight: Floats, step: float, detour: float) -> Floats:
    """Return the shares with a detour: its logarithm is a Laplace variable, the difference of two exponential ones."""
    longer = _with_detours(straight, step, detour)
    return 1.0 - _with_detours(1.0 - longer[::-1], step, detour)[::-1]


def _with_detours(straight: Floats, step: float, detour: float) -> Floats:
    """Return the shares once the logarithm of each distance has grown by an exponential variable of mean ``detour``.

    F(x) is the mean of G(x - detour e) over e, so detour F' = G - F: solved exactly for a G of straight lines.
    """
    if detour < 1e-9:
        return straight
    ratio = step / detour
    kept, met = np.exp(-ratio), -np.expm1(-ratio) / ratio
    share, _ = lfilter([1.0 - met, met - kept], [1.0, -kept], straight[1:], zi=[(met - kept) * straight[0]])
    return np.concatenate([straight[:1], share])


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
