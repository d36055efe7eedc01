"""Draws the paths between peers from a path model: quantiles of its tables, arranged by its structure.

Draws the paths between peers from a path model: the quantiles of its tables, arranged by its structure.

Peers have places in a plane (``Structure``). Two a distance R apart have the path length D = R exp(A), with A a
Laplace variable of the pair that is as wide as the paths of its two peers stray; the share of all pairs with a
shorter path, F(D), is known (``btflow.paths.distance``), so F(D) is uniform and the round-trip time Q(F(D)) of any
pair has exactly the table's distribution, for any number of peers. The loss of a pair is the quantile at Phi(b),
where b is standard normal: made of the pair's round-trip time, of its two peers and of its own.
"""

from functools import lru_cache
from itertools import combinations_with_replacement
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.special import chndtr, ndtr, ndtri

from btflow.options import MAX_SEED, whole_number
from btflow.paths.model import MOST_DETOUR, MOST_PEERS, PathModel, Region, Structure, load

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


_NEAREST = 2.0**-40
"""Shares are kept this far from 0 and 1, where the normal distribution has no finite value."""


class Sampled(NamedTuple):
    """Paths between all pairs of peers."""

    rtt: Floats
    """Round-trip times [s] (peers, peers), symmetric, zero on the diagonal."""
    loss: Floats
    """Losses (peers, peers), symmetric, zero on the diagonal."""


def draw(model: PathModel | str | Path, peers: int, seed: int = 0) -> xr.Dataset:
    """Return the paths between so many peers, drawn from a model: the same for the same seed.

    Args:
        model: A path model, the name of one that comes with btflow ("iplane"), or the path of its ``.toml`` file.
        peers: Number of peers, at least 2.
        seed: Of the random numbers.

    Returns:
        ``rtt`` [s] and ``loss`` (a fraction), each (peer, other), symmetric and zero on the diagonal.

    Raises:
        InputError: There is no such model, or a number is out of range.
    """
    count = whole_number("peers", peers, 2, MOST_PEERS)
    number = whole_number("seed", seed, 0, MAX_SEED)
    found = model if isinstance(model, PathModel) else load(model)
    paths = sample(found, count, np.random.default_rng(number))
    return xr.Dataset(
        {
            "rtt": (("peer", "other"), paths.rtt, {"units": "s", "long_name": "round-trip time"}),
            "loss": (("peer", "other"), paths.loss, {"units": "1", "long_name": "loss rate"}),
        },
        attrs={"model": found.name, "title": found.title, "source": found.source, "seed": number},
    )


def sample(model: PathModel, peers: int, random: np.random.Generator) -> Sampled:
    """Return the paths between so many peers."""
    one, other = np.triu_indices(peers, 1)
    closer = _closer(model.structure, peers, one, other, random)
    rtt, loss = np.zeros((peers, peers)), np.zeros((peers, peers))
    rtt[one, other] = rtt[other, one] = model.rtt_at(closer)
    lossier = _lossier(model.structure, closer, peers, one, other, random)
    loss[one, other] = loss[other, one] = model.loss_at(lossier)
    return Sampled(rtt, loss)


def _closer(
    structure: Structure, peers: int, one: NDArray[np.intp], other: NDArray[np.intp], random: np.random.Generator
) -> Floats:
    """Return for each pair the share of all pairs that have a shorter path, uniform in [0, 1] (pairs,)."""
    place = _places(structure, peers, random)
    between = place[one] - place[other]
    strays = random.standard_normal(peers)
    detour = detours_of(structure, np.sqrt(0.5) * (strays[one] + strays[other]))
    factor = np.exp(detour * random.laplace(0.0, 1.0, one.size))
    return share_below(structure, np.hypot(between[:, 0], between[:, 1]) * factor)


def _places(structure: Structure, peers: int, random: np.random.Generator) -> Floats:
    """Return where each peer lies [s] (peers, 2)."""
    shares = np.array([region.share for region in structure.regions])
    centre = np.array([(region.x, region.y) for region in structure.regions])
    spread = np.array([region.spread for region in structure.regions])
    region = random.choice(len(shares), peers, p=shares / shares.sum())
    return np.asarray(centre[region] + spread[region, None] * random.standard_normal((peers, 2)), np.float64)


def _lossier(
    structure: Structure,
    closer: Floats,
    peers: int,
    one: NDArray[np.intp],
    other: NDArray[np.intp],
    random: np.random.Generator,
) -> Floats:
    """Return for each pair the share of all pairs that lose less, uniform in [0, 1] (pairs,)."""
    of_peer = random.standard_normal(peers)
    together = np.sqrt(0.5 * structure.loss) * (of_peer[one] + of_peer[other])
    own = np.sqrt(1.0 - structure.loss) * random.standard_normal(one.size)
    length = ndtri(np.clip(closer, _NEAREST, 1.0 - _NEAREST))
    with_rtt = structure.loss_with_rtt
    return np.asarray(ndtr(with_rtt * length + np.sqrt(1.0 - with_rtt**2) * (together + own)), np.float64)
