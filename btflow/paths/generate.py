"""Draws the paths between peers from a path model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from btflow.paths.model import PathModel


class Sampled(NamedTuple):
    """Paths between all pairs of peers."""

    rtt: NDArray[np.float64]
    """Round-trip times [s] (peers, peers), symmetric, zero on the diagonal."""
    loss: NDArray[np.float64]
    """Losses (peers, peers), symmetric, zero on the diagonal."""


def sample(model: PathModel, peers: int, random: np.random.Generator) -> Sampled:
    """Return the paths between so many peers; all pairs independent of each other until the structure is used."""
    one, other = np.triu_indices(peers, 1)
    rtt, loss = np.zeros((peers, peers)), np.zeros((peers, peers))
    rtt[one, other] = rtt[other, one] = model.rtt_at(ndtr(random.standard_normal(one.size)))
    loss[one, other] = loss[other, one] = model.loss_at(ndtr(random.standard_normal(one.size)))
    return Sampled(rtt, loss)
