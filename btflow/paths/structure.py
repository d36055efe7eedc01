"""Which paths between peers are long and which lossy: regions of a plane, detours, how distances are distributed."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from btflow.errors import TableError
from btflow.units.quantity import FrozenModel, Quantity

Share = Annotated[float, Quantity("fraction", 0, 1)]
Delay = Annotated[float, Quantity("time", 0, 60)]

MOST_SPREAD = 1.5
"""Of detours: with it, one pair in six strays 4.5 times as far as the median pair or further."""

MOST_DETOUR = 1.0
"""However far the paths of its peers stray, a pair's detour is not above this."""

ROUNDING = 1e-3
"""How far the regions' shares may sum from 1."""


class Region(FrozenModel):
    """Where some of the peers are, in a plane whose distances are round-trip times."""

    share: Annotated[float, Quantity("fraction", 1e-6, 1)]
    """Share of the peers."""
    x: Delay
    """Of its centre [s]."""
    y: Delay
    """Of its centre [s]."""
    spread: Annotated[float, Quantity("time", 1e-5, 60)]
    """Standard deviation of its peers' places around the centre, each way [s]."""


class Structure(FrozenModel):
    """What the paths of one peer, and of three, have in common."""

    regions: Annotated[tuple[Region, ...], Field(min_length=1, max_length=50)]
    """Where the peers are."""
    detour: Share
    """Median over pairs of the mean deviation of the logarithm of the factor by which a path is longer or shorter than
    others as far."""
    detour_spread: Annotated[float, Quantity("fraction", 0, MOST_SPREAD)] = 0.0
    """Standard deviation of the logarithm of that mean deviation among pairs; half of its variance is each peer's, as
    the paths of some peers stray further than those of others."""
    loss: Share
    """Share of the variance of a pair's loss (as a standard normal variable) that its two peers have, half each."""
    loss_with_rtt: Annotated[float, Quantity("fraction", 0, 1)]
    """Correlation of loss and round-trip time of a pair, both as standard normal variables."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        total = sum(region.share for region in self.regions)
        if abs(total - 1.0) > ROUNDING:
            raise TableError("regions", f"{total:g}", "is the sum of the shares", "shares that sum to 1")
        return self


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
    from scipy.special import chndtr  # slow to import, and scenarios import this module

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
    from scipy.signal import lfilter  # as above

    if detour < 1e-9:
        return straight
    ratio = step / detour
    kept, met = np.exp(-ratio), -np.expm1(-ratio) / ratio
    share, _ = lfilter([1.0 - met, met - kept], [1.0, -kept], straight[1:], zi=[(met - kept) * straight[0]])
    return np.concatenate([straight[:1], share])
