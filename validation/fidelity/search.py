"""Where flow is worst: small swarms at points spread over the parameters, the worst of them run again by new seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy.stats import qmc

from validation.fidelity.compare import Difference, Pair
from validation.fidelity.swarms import Setup

POINTS = 64
"""Points, a power of two, as a Sobol sequence is balanced then."""
SEEDS = 6
"""Seeds of each point."""
WORST = 5
"""Points that are run again."""
AGAIN = 24
"""Seeds of these, none of which was among the first: a worst one is partly worst by chance."""


@dataclass(frozen=True)
class Axis:
    """A parameter that is varied."""

    name: str
    """The parameter."""
    low: float
    """Its least value."""
    high: float
    """Its greatest value."""
    unit: str = ""
    """The unit of both."""
    log: bool = False
    """Whether its logarithm is spread evenly."""
    whole: bool = False
    """Whether it is a whole number."""

    def at(self, u: float) -> str | int:
        """Return its value for `u` in [0, 1), as `Scenario.set` takes it."""
        value = self.low + (self.high - self.low) * u
        if self.log:
            value = float(self.low * (self.high / self.low) ** u)
        return round(value) if self.whole else f"{value:.4g} {self.unit}"


AXES = (
    Axis("upload_limit", 5, 200, "kB/s", log=True),
    Axis("rtt", 0, 1000, "ms"),
    Axis("loss", 0, 5, "%"),
    Axis("leechers", 30, 100, whole=True),
    Axis("file_size", 2, 20, "MB", log=True),
    Axis("arrival_spread", 0, 300, "s"),
)
"""What is varied, beside the size of a piece and the seed's share."""
PIECES = (32, 64, 128, 256, 512, 1024)
"""Sizes of a piece [kB]."""
SHARE = (0.5, 8.0)
"""The seed's upload limit over that of a leecher."""


def points(number: int) -> list[Setup]:
    """Return the first points of a Sobol sequence over the parameters."""
    rows = qmc.Sobol(len(AXES) + 2, scramble=True, rng=0).random(number)
    return [Setup(f"point {i}", settings(row), AGAIN) for i, row in enumerate(rows)]


def settings(row: Sequence[float]) -> dict[str, Any]:
    """Return the parameters of a point of the unit cube."""
    found: dict[str, Any] = {axis.name: axis.at(float(u)) for axis, u in zip(AXES, row[:-2], strict=True)}
    found["piece_size"] = f"{PIECES[int(row[-2] * len(PIECES))]} kB"
    limit = float(found["upload_limit"].split()[0])
    found["seed_upload_limit"] = f"{limit * SHARE[0] * (SHARE[1] / SHARE[0]) ** float(row[-1]):.4g} kB/s"
    return found


def worst(found: Sequence[Pair], statistic: str = "mean") -> list[Pair]:
    """Return the pairs with the largest differences, the largest first."""
    return sorted(found, key=lambda pair: -abs(pair.difference(statistic).value))[:WORST]


def hidden(number: int, level: float = 0.95) -> float:
    """Return the part of the volume that may be worse than the worst of `number` independent points, at a level."""
    return float(1.0 - (1.0 - level) ** (1.0 / number))


def excess(differences: Sequence[Difference]) -> int:
    """Return how many differences are told from none."""
    return sum(d.low > 0.0 or d.high < 0.0 for d in differences)


def described(parameters: Mapping[str, Any]) -> str:
    """Return the parameters of a point as a text."""
    return ", ".join(f"{name} {value}" for name, value in parameters.items())
