"""CPU time of swarms run one after another in this process."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from btflow.options import Fidelity

MODEL = "rao2010"
SEED = 0
SMALL: Mapping[str, str | int] = {"leechers": 5, "file_size": "1 MB"}
"""A swarm that takes no time, to compile the kernels with or to start the command line with."""


@dataclass(frozen=True)
class Cost:
    """CPU time of one scenario."""

    peers: int
    """Seeds and leechers."""
    pieces: int
    """Pieces of the file."""
    cpu: tuple[float, ...]
    """CPU time of each replica [s]."""

    @property
    def least(self) -> float:
        """Least CPU time of a replica [s]: what the machine can do undisturbed."""
        return min(self.cpu)


def measure(settings: Mapping[str, object], replicas: int, model: str = MODEL, fidelity: Fidelity = "full") -> Cost:
    """Run replicas of a model with `settings` in this process and return what they cost."""
    from btflow.config.catalog import load
    from btflow.swarm.program import compile_scenario
    from btflow.swarm.run import run_swarm

    scenario = load(model).set(**settings)
    program, cpu = compile_scenario(scenario, fidelity), tuple[float, ...]()
    for replica in range(replicas):
        begun = time.process_time()
        run_swarm(program, SEED, replica)
        cpu += (time.process_time() - begun,)
    return Cost(scenario.seeds + scenario.leechers, scenario.swarm.pieces, cpu)


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Return k of the least-squares fit of cost = a * size**k, in logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def interval(sizes: Sequence[float], costs: Sequence[float], size: float) -> tuple[float, float, float]:
    """Return what a power law through the costs, fitted in logarithms, says of another size: (estimate, low, high).

    The interval is that of one further cost, at 90 %: Student t with two degrees of freedom less than sizes.
    """
    from scipy import stats

    x, y = np.log(sizes), np.log(costs)
    fitted = stats.linregress(x, y)
    left = y - (fitted.intercept + fitted.slope * x)
    free = len(x) - 2
    spread = np.sqrt(float(left @ left) / free)
    apart = (np.log(size) - x.mean()) ** 2 / float(((x - x.mean()) ** 2).sum())
    half = float(stats.t.ppf(0.95, free) * spread * np.sqrt(1.0 + 1.0 / len(x) + apart))
    middle = float(fitted.intercept + fitted.slope * np.log(size))
    return float(np.exp(middle)), float(np.exp(middle - half)), float(np.exp(middle + half))


def report(what: str) -> None:
    """Say on stderr what is measured now."""
    print(f"btflow bench: {what}", file=sys.stderr, flush=True)
