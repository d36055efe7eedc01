"""Fits the places of peers and their regions to a matrix of round-trip times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.optimize import minimize
from scipy.special import ndtri

from btflow.paths.structure import Region

Floats = NDArray[np.float64]

REGIONS = 14
"""Chosen by hand."""

_ROBUST = 0.3
"""Deviations of a logarithm count by their square up to this and linearly above (Huber)."""

_NEAR = 0.1
"""Of the median round-trip time: places nearer than this may as well coincide. With less, places are not unique."""


def places(rtt: Floats, step: Callable[[], None] | None = None) -> Floats:
    """Return places in the plane whose distances are near to the round-trip times [s] (peers, 2).

    After each step that it takes ``step`` is called.

    It starts from classical scaling (Torgerson 1952) and minimises Huber's measure of ln(distance / rtt), as network
    coordinates do (Dabek et al., Vivaldi, SIGCOMM 2004). The distance is sqrt(x^2 + y^2 + near^2), which is smooth.
    """
    peers = len(rtt)
    apart = np.eye(peers, dtype=bool)
    measured, near = np.log(np.where(apart, 1.0, rtt)), _NEAR * float(np.median(rtt[~apart]))

    def misfit(flat: Floats) -> tuple[float, Floats]:
        x, y = (at[:, None] - at for at in flat.reshape(2, peers))
        square = x * x + y * y + near**2
        off = np.where(apart, 0.0, 0.5 * np.log(square) - measured)
        clipped = np.clip(off, -_ROBUST, _ROBUST)
        pull = clipped / square
        slope = np.concatenate([np.einsum("ij,ij->i", pull, x), np.einsum("ij,ij->i", pull, y)])
        return float(np.sum(clipped * (off - 0.5 * clipped))) / 2.0, slope

    found = minimize(
        misfit,
        _scaled(rtt).T.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 500, "ftol": 1e-10},
        callback=lambda _: None if step is None else step(),
    )
    return _turned(found.x.reshape(2, peers).T)


def _scaled(rtt: Floats) -> Floats:
    """Return the places of classical scaling (peers, 2)."""
    centring = np.eye(len(rtt)) - 1.0 / len(rtt)
    value, vector = np.linalg.eigh(-0.5 * centring @ rtt**2 @ centring)
    return np.asarray(vector[:, -2:] * np.sqrt(np.maximum(value[-2:], 1e-12)), np.float64)


def _turned(place: Floats) -> Floats:
    """Return places along their principal axes, most peers on the far side, so that they do not depend on the start."""
    centred = place - place.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    turned = centred @ axes.T
    turned *= np.where(np.sum(turned**3, axis=0) > 0.0, -1.0, 1.0)
    return np.asarray(turned - turned.min(axis=0), np.float64)


def regions_of(place: Floats, most: int) -> tuple[Region, ...]:
    """Return places in groups (Ward's), to a tenth of a millisecond."""
    group = fcluster(linkage(place, "ward"), most, criterion="maxclust")
    found = [place[group == number] for number in np.unique(group)]
    return tuple(
        Region(
            share=round(len(inside) / len(place), 4),
            x=_milliseconds(inside[:, 0].mean()),
            y=_milliseconds(inside[:, 1].mean()),
            spread=_milliseconds(max(np.sqrt(inside.var(axis=0).mean()), 1e-3)),
        )
        for inside in sorted(found, key=len, reverse=True)
    )


def _milliseconds(delay: float) -> Any:
    """Return a delay as a model file has it, to a tenth of a millisecond."""
    return f"{1e3 * delay:.1f} ms"


def peer_share(rtt: Floats) -> float:
    """Return the share of the variance of round-trip times that goes with the two peers of a pair.

    Round-trip times are turned into normal scores z by their ranks; in z = p(one) + p(other) + rest, twice the variance
    of p over that of z, the part that the rest adds to p taken off.
    """
    peers = len(rtt)
    one, other = np.triu_indices(peers, 1)
    scores = ndtri((scipy.stats.rankdata(rtt[one, other]) - 0.5) / one.size)
    total = np.bincount(one, scores, peers) + np.bincount(other, scores, peers)
    part = total / (peers - 2)
    rest = np.sum((scores - part[one] - part[other]) ** 2) / (one.size - peers)
    return float(2.0 * (np.var(part, ddof=1) - rest * (peers - 1) / (peers - 2) ** 2) / np.var(scores))
