"""How the distances between two peers of a structure are distributed: exactly, not by drawing."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.special import chndtr

from btflow.paths.structure import Structure

Floats = NDArray[np.float64]

POINTS = 8192
"""Of the grid of distances, even in the logarithm; linear in between (error of a share below 1e-5)."""


def share_below(structure: Structure, distance: Floats) -> Floats:
    """Return the share of pairs of peers whose distance, detour included, is at most each distance [s], any shape."""
    at, share = _grid(structure)
    return np.asarray(np.interp(np.log(np.maximum(distance, np.exp(at[0]))), at, share), np.float64)


@lru_cache(maxsize=16)
def _grid(structure: Structure) -> tuple[Floats, Floats]:
    """Return logarithms of distances and the shares below (points,)."""
    spreads = np.array([region.spread for region in structure.regions])
    places = np.array([(region.x, region.y) for region in structure.regions])
    longest = float(np.hypot(*np.ptp(places, axis=0)) + 15.0 * spreads.max())
    at = np.linspace(np.log(1e-4 * spreads.min()), np.log(longest) + 30.0 * structure.detour, POINTS)
    return at, _with_detours(_straight(structure, np.exp(at)), float(at[1] - at[0]), structure.detour)


def _straight(structure: Structure, distance: Floats) -> Floats:
    """Return the share of pairs whose places are at most each distance apart.

    The places of a peer of one region and one of another differ by a normal variable in the plane, so their distance
    has Rice's distribution: its square over the variance is noncentral chi-squared with two degrees of freedom.
    """
    total = sum(region.share for region in structure.regions)
    share = np.zeros_like(distance)
    for one, other in combinations_with_replacement(structure.regions, 2):
        weight = one.share * other.share * (1.0 if one is other else 2.0) / total**2
        variance = one.spread**2 + other.spread**2
        apart = ((one.x - other.x) ** 2 + (one.y - other.y) ** 2) / variance
        share += weight * chndtr(distance**2 / variance, 2.0, apart)
    return share


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
