"""Violations of the triangle inequality: pairs of peers that a third one would connect faster."""

from collections.abc import Iterator
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from btflow.errors import InputError

Floats = NDArray[np.float64]

EXCESS = 0.1
"""A path counts as a violation from this excess on: less is within what a measurement of it varies by."""


def triangle_violations(rtt: ArrayLike, excess: float = EXCESS) -> float:
    """Return the share of pairs whose round-trip time exceeds the best path through one other peer by more than a part.

    It grows with the number of peers, as there are more to go through: compare matrices of one size.

    Args:
        rtt: Round-trip times (peers, peers), symmetric, above zero but for the diagonal.
        excess: Part of the best path's time, not negative.

    Raises:
        InputError: It is not such a matrix, or has fewer than three peers; or ``excess`` is no such number.
    """
    return float(np.mean(above_best(_matrix(rtt)) > _part(excess)))


def triangle_share(rtt: ArrayLike) -> float:
    """Return the share of triangles in which one side is longer than the two others together; as above."""
    direct = _matrix(rtt)
    violated = sum(int(np.count_nonzero(direct > through)) for through in _through(direct))
    peers = len(direct)
    return violated / 2 / (peers * (peers - 1) * (peers - 2) / 6)


def above_best(direct: Floats, of: int | None = None) -> Floats:
    """Return the part by which each pair's time exceeds its best path through another peer; below zero if it does not.

    (pairs,); with ``of``, of the pairs that the first so many peers make with all others.
    """
    if of is None:
        best = np.full_like(direct, np.inf)
        for through in _through(direct):
            np.minimum(best, through, out=best)
        pairs = np.triu_indices(len(direct), 1)
        return np.asarray(direct[pairs] / best[pairs] - 1.0, np.float64)
    apart = _apart(direct)
    best = np.stack([np.min(apart + row, axis=1) for row in apart[:of]])
    off = np.eye(*best.shape) == 0.0
    return np.asarray(direct[:of][off] / best[off] - 1.0, np.float64)


def _part(excess: object) -> float:
    """Return a part of a time; an InputError if it is none."""
    if not isinstance(excess, bool) and isinstance(excess, Real) and 0.0 <= float(excess) < np.inf:
        return float(excess)
    raise InputError("excess", excess, "is no part of a time", "a number, at least 0")


def _through(direct: Floats) -> Iterator[Floats]:
    """Give for each peer the times of all paths through it (peers, peers); infinite where it is an end of the path."""
    apart = _apart(direct)
    total = np.empty_like(apart)
    for row in apart:
        yield np.add(row[:, None], row, out=total)


def _apart(direct: Floats) -> Floats:
    """Return the times with infinite ones on the diagonal: nobody is between two peers and one of them."""
    apart = direct.copy()
    np.fill_diagonal(apart, np.inf)
    return apart


def _matrix(rtt: ArrayLike) -> Floats:
    try:
        direct = np.asarray(rtt, np.float64)
    except (TypeError, ValueError):
        raise InputError("rtt", rtt, "is not a matrix of numbers", "times [s], (peers, peers)") from None
    if direct.ndim != 2 or direct.shape[0] != direct.shape[1] or len(direct) < 3:
        raise InputError("rtt", direct.shape, "is not a matrix between peers", "(peers, peers), of 3 peers or more")
    off = ~np.eye(len(direct), dtype=bool)
    if not np.all(np.isfinite(direct[off]) & (direct[off] > 0.0)) or not np.allclose(direct, direct.T):
        raise InputError("rtt", None, "is not symmetric or not above zero between all peers", "finite times")
    return direct
