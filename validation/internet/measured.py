"""The figures of a swarm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from btflow.errors import SimulationError
from validation.internet.swarms import NEAR, Swarm
from validation.sweeps import Error, Sweeps

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Measured:
    """The figures of one swarm."""

    times: list[float]
    """Completion time of each leecher [s]."""
    seed_rtt: float = 0.0
    """Mean round-trip time between the seed and a leecher [s]."""
    seed_loss: float = 0.0
    """Mean loss between them."""
    rank_rtt: float = 0.0
    """Spearman's correlation, over the leechers, of the completion time and the mean round-trip time of their paths."""
    rank_loss: float = 0.0
    """The same of the mean loss; 0 where there is none."""
    cpu: float = 0.0
    """CPU time [s]."""

    @property
    def mean(self) -> float:
        """Mean completion time of the leechers [s]."""
        return float(np.mean(self.times))


def measure(swarm: Swarm, result: xr.Dataset) -> Measured:
    """Return the figures of a swarm."""
    leecher = result["role"].values == "leecher"
    times = result["completion_time"].values[0, leecher]
    kept = [round(float(time), 2) for time in times]
    cpu = float(result.attrs["cpu_s"])
    if swarm.kind == NEAR:
        return Measured(kept, cpu=cpu)
    rtt, loss = (result[name].values[0] for name in ("path_rtt", "path_loss"))
    of_seed = float(rtt[~leecher][0]), float(loss[~leecher][0])
    ranks = _rank(times, rtt[leecher]), _rank(times, loss[leecher])
    seed_rtt, seed_loss, rank_rtt, rank_loss = (round(figure, 6) for figure in (*of_seed, *ranks))
    return Measured(kept, seed_rtt, seed_loss, rank_rtt, rank_loss, cpu)


def _rank(one: np.ndarray, other: np.ndarray) -> float:
    from scipy.stats import spearmanr

    return float(spearmanr(one, other).statistic) if np.ptp(one) > 0.0 < np.ptp(other) else 0.0


def measured(swarms: Sequence[Swarm], sweeps: Sweeps) -> Iterator[tuple[Swarm, Measured]]:
    """Give each swarm with its figures; a SimulationError that names it if it does not finish."""
    for swarm, result in zip(swarms, sweeps.results([swarm.run for swarm in swarms]), strict=True):
        if isinstance(result, Error):
            raise SimulationError(f"{swarm.label}: {result}")
        yield swarm, measure(swarm, result)
