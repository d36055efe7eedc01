"""What the ping logs say of losses: their quantiles, and what the losses of one peer's paths have in common.

Most paths lose nothing, so that a loss is a standard normal variable of which only its being above a threshold is seen;
correlations are those of that variable.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import multivariate_normal, norm, rankdata

from btflow.paths.generate import sample
from btflow.paths.model import PathModel
from validation.calibration.logs import Log

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Peers = NDArray[np.str_] | NDArray[np.intp]

SHARES = (0.75, 0.9, 0.95, 0.98, 0.99, 0.998)
MATRIX = "Results31"
"""The run in which 39 PlanetLab nodes pinged each other: the others have servers as destinations."""
DIGITS = 3
"""Of a loss: a log has 3600 pings."""
SOURCES = {
    "loss": f"pings between 39 PlanetLab nodes ({MATRIX}): any loss on two paths with one peer in common",
    "loss_with_rtt": "all logs: any loss and the median round-trip time",
}
"""Of the numbers in the structure that are of losses."""
DRAWN = 100
"""Matrices over which correlations are averaged."""


def quantiles(logs: Sequence[Log]) -> dict[float, float]:
    """Return the losses by the share of logs with less, the last share without loss first."""
    losses = np.array([log.loss for log in logs])
    found = {round(float(np.mean(losses == 0.0)), 3): 0.0}
    return found | {share: float(f"{np.quantile(losses, share):.{DIGITS}g}") for share in SHARES}


def in_common(logs: Sequence[Log], model: PathModel) -> dict[str, float]:
    """Return the numbers of the structure that are of losses: those with which drawn paths correlate as measured ones.

    Paths are drawn between as many peers as the matrix has: within one, peers' shares vary less than among all.
    """
    lossy, of_neighbours = measured(logs)
    peers = len({end for log in logs if log.run == MATRIX for end in (log.source, log.destination)})
    structure = {"loss_with_rtt": round(lossy, 2)}

    def excess(loss: float) -> float:
        changed = model.structure.model_copy(update=structure | {"loss": loss})
        return drawn(model.model_copy(update={"structure": changed}), peers)[1] - of_neighbours

    return structure | {"loss": round(float(brentq(excess, 0.0, 1.0, xtol=1e-3)), 2)}


def measured(logs: Sequence[Log]) -> tuple[float, float]:
    """Return the correlations of losses with round-trip times, and of two paths with one peer in common."""
    with_rtt = correlation_with(np.array([log.rtt for log in logs]), np.array([log.loss > 0.0 for log in logs]))
    matrix = [log for log in logs if log.run == MATRIX and log.source != log.destination]
    ends = np.array([(log.source, log.destination) for log in matrix])
    return with_rtt, correlation_of_neighbours(ends, np.array([log.loss > 0.0 for log in matrix]))


def drawn(model: PathModel, peers: int) -> tuple[float, float]:
    """Return the means of both correlations over drawn matrices, always the same."""
    ends = np.stack(np.triu_indices(peers, 1), axis=1)
    found = []
    for seed in range(DRAWN):
        paths = sample(model, peers, np.random.default_rng(seed))
        rtt, lossy = (matrix[tuple(ends.T)] for matrix in (paths.rtt, paths.loss > 0.0))
        found.append((correlation_with(rtt, lossy), correlation_of_neighbours(ends, lossy)))
    with_rtt, of_neighbours = np.mean(found, axis=0)
    return float(with_rtt), float(of_neighbours)


def correlation_with(values: Floats, lossy: Flags) -> float:
    """Return the correlation of normal scores of values with the variable behind which paths are lossy (biserial)."""
    scores, share = ndtri((rankdata(values) - 0.5) / len(values)), float(np.mean(lossy))
    apart = scores[lossy].mean() - scores[~lossy].mean()
    return float(apart * share * (1.0 - share) / norm.pdf(ndtri(share)) / scores.std())


def correlation_of_neighbours(ends: Peers, lossy: Flags) -> float:
    """Return the correlation between the variables behind which two paths with one peer in common are lossy.

    Tetrachoric (Pearson 1900): that with which both are as often lossy as they are.

    Args:
        ends: The two peers of each path (paths, 2), in any order.
        lossy: Whether each path is (paths,).
    """
    one, both = shares_of_neighbours(ends, lossy)
    threshold = ndtri(one)

    def excess(correlation: float) -> float:
        covariance = [[1.0, correlation], [correlation, 1.0]]
        return float(multivariate_normal.cdf([threshold, threshold], cov=covariance)) - both

    return float(brentq(excess, -0.99, 0.99, xtol=1e-6))


def shares_of_neighbours(ends: Peers, lossy: Flags) -> tuple[float, float]:
    """Return, of all paths beside one with one peer in common, the share that is lossy, and that of which both are.

    Each path counts beside all others of its two peers, less those between the same two.
    """
    _, number = np.unique(ends, return_inverse=True)
    peers = np.sort(number.reshape(ends.shape), axis=1)
    _, between = np.unique(peers, axis=0, return_inverse=True)
    at, lossy_at = np.bincount(peers.ravel()), np.bincount(peers[lossy].ravel(), minlength=peers.max() + 1)
    same = np.bincount(between.ravel())
    lossy_same = np.bincount(between.ravel()[lossy], minlength=len(same))
    pairs = np.sum(at * (at - 1)) - 2 * np.sum(same * (same - 1))
    lossy_first = np.sum(lossy_at * (at - 1)) - 2 * np.sum(lossy_same * (same - 1))
    both = np.sum(lossy_at * (lossy_at - 1)) - 2 * np.sum(lossy_same * (lossy_same - 1))
    return float(lossy_first / pairs), float(both / pairs)
