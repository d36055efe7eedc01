"""Draws the paths between peers from a path model: the quantiles of its tables, arranged by its structure.

Peers have places in a plane (``Structure``). Two a distance R apart have the path length D = R exp(A), with A a
Laplace variable of the pair that is as wide as the paths of its two peers stray; the share of all pairs with a
shorter path, F(D), is known (``btflow.paths.structure``), so F(D) is uniform and the round-trip time Q(F(D)) of any
pair has exactly the table's distribution, for any number of peers. The loss of a pair is the quantile at Phi(b),
where b is standard normal: made of the pair's round-trip time, of its two peers and of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from btflow.options import MAX_SEED, whole_number
from btflow.paths.distributions import detours_of, share_below
from btflow.paths.model import MOST_PEERS, PathModel, load
from btflow.paths.structure import Structure

Floats = NDArray[np.float64]

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
