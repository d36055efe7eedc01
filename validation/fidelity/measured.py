"""The figures of a swarm, and its cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from btflow.errors import ScenarioError, SimulationError
from btflow.options import FIDELITIES, Fidelity
from validation.fidelity.swarms import Setup, Swarm
from validation.sweeps import Error, Sweeps

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Measured:
    """The figures of one swarm."""

    mean: float = 0.0
    """Mean completion time of the leechers [s]."""
    p10: float = 0.0
    """A tenth of them is at or below [s]."""
    p90: float = 0.0
    """Nine tenths of them are at or below [s]."""
    copies: float = 0.0
    """Copies of the file that the seed sent."""
    step: float = 1.0
    """Step of the time grid of `held` [s]."""
    held: tuple[float, ...] = ()
    """Mean number of pieces that a leecher holds, over the number of pieces, on that grid."""
    refused: str = ""
    """Why it was not run, if flow refuses it."""


def measure(result: xr.Dataset) -> Measured:
    """Return the figures of one replica."""
    times = result["completion_time"].values[0, result["role"].values == "leecher"]
    counted = result["counted"].values[0, result["role"].values == "leecher"]
    times = times[counted & np.isfinite(times)]
    held = result["pieces_held"].values[0] / result.attrs["pieces"]
    p10, p90 = np.quantile(times, (0.1, 0.9))
    mean, p10, p90, copies = (
        round(float(figure), 4) for figure in (times.mean(), p10, p90, result["seed_copies"].values[0])
    )
    return Measured(
        mean,
        p10,
        p90,
        copies,
        step=float(result["time"].values[1] - result["time"].values[0]),
        held=tuple(round(float(share), 5) for share in held),
    )


def measured(swarms: Sequence[Swarm], sweeps: Sweeps) -> Iterator[tuple[Swarm, Measured]]:
    """Give each swarm with its figures; a SimulationError that names it if it does not finish."""
    for swarm, result in zip(swarms, sweeps.results([swarm.run for swarm in swarms]), strict=True):
        if isinstance(result, SimulationError):
            raise SimulationError(f"{swarm.setup.label}, {swarm.fidelity}, seed {swarm.seed}: {result}")
        yield swarm, Measured(refused=str(result)) if isinstance(result, Error) else measure(result)


def cost(setup: Setup) -> dict[Fidelity, float]:
    """Return the CPU time of a swarm at each fidelity [s], one run right after the other; 0 where it is refused."""
    return {fidelity: _cost(Swarm(setup, 0, fidelity)) for fidelity in FIDELITIES}


def _cost(swarm: Swarm) -> float:
    from btflow import simulate

    try:
        result = simulate(swarm.run.scenario(), seed=swarm.seed, fidelity=swarm.fidelity)
    except ScenarioError:
        return 0.0
    return round(float(result.attrs["cpu_s"]), 4)
