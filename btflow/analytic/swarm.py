"""Bounds on the completion time of a swarm, and the steady state of an open one."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from btflow.analytic.checks import not_negative, positive, probability, whole


def kumar_ross_bound(
    file_size: float, seed_upload: float, leecher_upload: ArrayLike, leecher_download: ArrayLike = np.inf
) -> float:
    """Return the least time [s] in which the last of N leechers can hold the file, all there from the start.

    max(F / u_s, F / d_min, N F / (u_s + sum u_i)): the seed sends each byte once, the slowest downlink takes them all,
    and N copies leave through all uplinks. Fluid, so it is reached only with infinitely small parts. Kumar and Ross,
    "Peer-assisted file distribution: the minimum distribution time", IEEE HotWeb 2006.

    Args:
        file_size: F [B].
        seed_upload: Upload rate of all seeds together, u_s [B/s].
        leecher_upload: Upload rate of each leecher (N,) [B/s].
        leecher_download: Download rate of each leecher, or of all [B/s].

    Raises:
        InputError: An argument is out of range, or there is no leecher.
    """
    size, seed = float(positive("file_size", file_size)), float(positive("seed_upload", seed_upload))
    upload = np.atleast_1d(not_negative("leecher_upload", leecher_upload))
    slowest = float(np.min(positive("leecher_download", leecher_download, finite=False)))
    leechers = whole("number of leechers", upload.size)
    return max(size / seed, size / slowest, leechers * size / (seed + float(upload.sum())))


def mundinger_bound(file_size: float, upload: float, leechers: int, pieces: int) -> float:
    """Return the least time [s] in which N leechers can hold a file of M equal pieces, one upload at a time each.

    F/u (1 + floor(log2 N) / M), reached by an optimal schedule where the source and the N leechers all upload at u and
    no downlink limits. Mundinger, Weber and Weiss, "Optimal scheduling of peer-to-peer file dissemination", Journal of
    Scheduling 11, 2008 (arXiv:cs/0606110), theorem for equal capacities. M counts what is passed on as a whole: in
    BitTorrent the piece, not the block.

    Args:
        file_size: F [B].
        upload: u, of the source and of each leecher [B/s].
        leechers: N.
        pieces: M.

    Raises:
        InputError: An argument is out of range.
    """
    rounds = whole("leechers", leechers).bit_length() - 1  # floor(log2 N)
    return float(positive("file_size", file_size) / positive("upload", upload)) * (1 + rounds / whole("pieces", pieces))


class SteadyState(NamedTuple):
    """An open swarm at rest."""

    leechers: float
    """Mean number of leechers."""
    seeds: float
    """Mean number of seeds."""
    download_time: float
    """Mean time a leecher stays, until it completes or gives up [s]."""


def qiu_srikant(
    file_size: float,
    upload: float,
    download: float,
    arrival_rate: float,
    seed_departure: float,
    *,
    abort_rate: float = 0.0,
    effectiveness: float = 1.0,
) -> SteadyState:
    """Return the steady state of the fluid model of Qiu and Srikant.

    With x leechers and y seeds,

        x' = lambda - theta x - min(c x, mu (eta x + y)),   y' = min(c x, mu (eta x + y)) - gamma y,

    which rests at x = lambda T with T = 1 / (theta + beta), 1 / beta = max(1 / c, (1 / mu - 1 / gamma) / eta), and at
    y = beta x / gamma. Qiu and Srikant, "Modeling and performance analysis of BitTorrent-like peer-to-peer networks",
    SIGCOMM 2004. Exponential residence times: it says nothing of a flash crowd.

    Args:
        file_size: [B]; turns the rates below into mu and c, files per second.
        upload: Upload rate of each peer [B/s].
        download: Download rate of each peer [B/s].
        arrival_rate: lambda [1/s].
        seed_departure: gamma, one over the mean time a seed stays [1/s]; infinity if it leaves at once.
        abort_rate: theta, rate at which a leecher gives up [1/s].
        effectiveness: eta, share of a leecher's upload that finds a taker, in (0, 1].

    Raises:
        InputError: An argument is out of range.
    """
    size = float(positive("file_size", file_size))
    mu, c = (float(positive(n, v)) / size for n, v in (("upload", upload), ("download", download)))
    arrivals, theta = float(positive("arrival_rate", arrival_rate)), float(not_negative("abort_rate", abort_rate))
    gamma = float(positive("seed_departure", seed_departure, finite=False))
    eta = float(probability("effectiveness", effectiveness, below=math.nextafter(1.0, 2.0)))
    per_download = max(1.0 / c, (1.0 / mu - 1.0 / gamma) / eta)
    time = per_download / (1.0 + theta * per_download)
    return SteadyState(arrivals * time, arrivals * time / (per_download * gamma), time)
