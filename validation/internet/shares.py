"""Which share of swarms and of peers stays within 15% of the mean at RTT 0 without loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from validation.experiments import LIMITS
from validation.internet.measured import Measured
from validation.internet.swarms import KINDS, NEAR, Swarm
from validation.statistics import Interval, spread, wilson

Floats = NDArray[np.float64]

BOUND = 0.15
"""How much slower a swarm or peer may be."""


@dataclass(frozen=True)
class Results:
    """The simulated swarms."""

    measured: Mapping[Swarm, Measured]

    def of(self, limit: int, kind: str) -> list[Measured]:
        """Return the figures of all swarms of a limit and kind."""
        return [found for swarm, found in sorted(self.measured.items()) if (swarm.limit, swarm.kind) == (limit, kind)]

    def base(self, limit: int) -> float:
        """Return the mean completion time at RTT 0 without loss, over swarms [s]."""
        return float(np.mean([found.mean for found in self.of(limit, NEAR)]))

    def slowdowns(self, limit: int, kind: str) -> Floats:
        """Return by how much the mean completion time of each swarm exceeds that at RTT 0 (swarms,)."""
        return np.array([found.mean for found in self.of(limit, kind)]) / self.base(limit) - 1.0

    def peers(self, limit: int, kind: str) -> Floats:
        """Return by how much each leecher's completion time exceeds the mean at RTT 0 (swarms, leechers)."""
        return np.array([found.times for found in self.of(limit, kind)]) / self.base(limit) - 1.0


@dataclass(frozen=True)
class Row:
    """What was found of an upload limit and kind of paths."""

    limit: int
    """Upload limit [kB/s]."""
    kind: str
    """What lies between the peers."""
    slowdowns: Floats
    """By swarm."""
    within: int
    """Swarms that are less than 15% slower."""
    share: Interval
    """Of the share of such swarms, 95%, Wilson's."""
    peers: Floats
    """Share of the leechers that are less than 15% slower, by swarm."""
    slowest: Floats
    """Slowdown of the slowest leecher, by swarm."""

    @property
    def slowdown_text(self) -> str:
        """Mean slowdown of the swarms with its standard error, and the range, in percent."""
        return _signed(self.slowdowns)

    @property
    def slowest_text(self) -> str:
        """The same of the slowest leechers of the swarms."""
        return _signed(self.slowest)

    @property
    def share_text(self) -> str:
        """Share of the swarms with its interval."""
        number = len(self.slowdowns)
        return f"{self.within} of {number}: {100 * self.within / number:.0f}% ({self.share.percent(0)})"

    @property
    def peers_text(self) -> str:
        """Share of the leechers with its standard error over swarms, and the range."""
        found = spread((100 * self.peers).tolist())
        return f"{found.mean:.1f} ± {found.se:.1f}% ({found.min:.1f} to {found.max:.1f}%)"


def _signed(values: Floats) -> str:
    found = spread((100 * values).tolist())
    return f"{found.mean:+.1f} ± {found.se:.1f}% ({found.min:+.1f} to {found.max:+.1f}%)"


def rows(results: Results) -> list[Row]:
    """Return what was found, by kind and limit."""
    return [_row(results, limit, kind) for kind in KINDS for limit in LIMITS]


def _row(results: Results, limit: int, kind: str) -> Row:
    slowdowns = results.slowdowns(limit, kind)
    within = int((slowdowns < BOUND).sum())
    peers = results.peers(limit, kind)
    share = (peers < BOUND).mean(axis=1)
    return Row(limit, kind, slowdowns, within, wilson(within, len(slowdowns)), share, peers.max(axis=1))


def at_all_limits(results: Results, kind: str) -> tuple[int, int]:
    """Return how many draws of paths slow the swarm down by less than 15% at every upload limit, and of how many."""
    slowdowns = np.array([results.slowdowns(limit, kind) for limit in LIMITS])
    return int((slowdowns < BOUND).all(axis=0).sum()), slowdowns.shape[1]


@dataclass(frozen=True)
class Reasons:
    """What goes with being slow: Spearman's correlations at one upload limit."""

    limit: int
    """Upload limit [kB/s]."""
    seed_rtt: float
    """Of a swarm's mean completion and the mean round-trip time of the seed's paths, over swarms."""
    seed_loss: float
    """The same of the mean loss of the seed's paths."""
    peer_rtt: float
    """Of a leecher's completion and the mean round-trip time of its paths, in each swarm; the mean over swarms."""
    peer_loss: float
    """The same of the mean loss of its paths."""


def reasons(results: Results, kind: str) -> list[Reasons]:
    """Return what goes with being slow, by limit."""
    return [_reasons(results, limit, kind) for limit in LIMITS]


def _reasons(results: Results, limit: int, kind: str) -> Reasons:
    from scipy.stats import spearmanr

    found = results.of(limit, kind)
    means = [one.mean for one in found]
    of_seed = [
        float(spearmanr(means, [getattr(one, name) for one in found]).statistic) for name in ("seed_rtt", "seed_loss")
    ]
    of_peers = [float(np.mean([getattr(one, name) for one in found])) for name in ("rank_rtt", "rank_loss")]
    return Reasons(limit, *of_seed, *of_peers)
