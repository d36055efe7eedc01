"""Where flow is worst: small swarms at points spread over the parameters, the worst of them run again by new seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from scipy.stats import qmc

from validation.cases import MODEL
from validation.fidelity.compare import BOUND, Compared, Difference
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
    of: str = ""
    """The parameter before it that `low` and `high` are multiples of, in the same unit, if they are."""

    def at(self, u: float, before: Mapping[str, Any]) -> str | int:
        """Return its value for `u` in [0, 1), as `Scenario.set` takes it, beside those `before` it."""
        value = self.low + (self.high - self.low) * u
        if self.log:
            value = float(self.low * (self.high / self.low) ** u)
        if self.of:
            value *= float(str(before[self.of]).split()[0])
        return round(value) if self.whole else f"{value:.4g} {self.unit}".rstrip()


@dataclass(frozen=True)
class Choice:
    """A parameter that takes some values, each as often."""

    name: str
    """The parameter."""
    values: Sequence[str]
    """Its values, as `Scenario.set` takes them."""

    def at(self, u: float, _: Mapping[str, Any]) -> str:
        """Return its value for `u` in [0, 1)."""
        return self.values[int(u * len(self.values))]


Space = Sequence[Axis | Choice]
"""What is varied together."""

CAPPED: Space = (
    Axis("upload_limit", 5, 200, "kB/s", log=True),
    Axis("rtt", 0, 1000, "ms"),
    Axis("loss", 0, 5, "%"),
    Axis("leechers", 30, 100, whole=True),
    Axis("file_size", 2, 20, "MB", log=True),
    Axis("arrival_spread", 0, 300, "s"),
    Choice("piece_size", [f"{size} kB" for size in (32, 64, 128, 256, 512, 1024)]),
    Axis("seed_upload_limit", 0.5, 8.0, "kB/s", log=True, of="upload_limit"),
)
"""Swarms with upload limits alone."""


def points(space: Space, number: int, seeds: int, model: str = MODEL) -> list[Setup]:
    """Return the first points of a Sobol sequence over a space, with up to so many seeds each."""
    rows = qmc.Sobol(len(space), scramble=True, rng=0).random(number)
    return [Setup(f"point {i}", settings(space, row), seeds, model) for i, row in enumerate(rows)]


def settings(space: Space, row: Sequence[float]) -> dict[str, Any]:
    """Return the parameters of a point of the unit cube."""
    found: dict[str, Any] = {}
    for axis, u in zip(space, row, strict=True):
        found[axis.name] = axis.at(float(u), found)
    return found


Some = TypeVar("Some", bound=Compared)


def answer(first: Sequence[Compared], again: Sequence[Compared]) -> list[str]:
    """Return what was found at the points, and at the worst of them with other seeds, in sentences."""
    differences = [pair.difference("mean") for pair in first]
    sizes = sorted(abs(d.value) for d in differences)
    worst = [pair.difference("mean") for pair in again]
    return [
        f"{len(first)} points, {first[0].seeds} seeds each: half of the differences of the mean are within "
        f"{100 * sizes[len(sizes) // 2]:.1f}%, nine tenths within {100 * sizes[int(0.9 * len(sizes))]:.1f}%; "
        f"{excess(differences)} are told from none at 10%, {len(first) // 10} would be by chance.",
        f"The {len(again)} worst, run again: the largest is {max(worst, key=lambda d: abs(d.value)).text}%, "
        f"{sum(d.equal for d in worst)} are equal within {100 * BOUND:.0f}%.",
    ]


def worst(found: Sequence[Some], statistic: str = "mean") -> list[Some]:
    """Return the pairs with the largest differences, the largest first."""
    return sorted(found, key=lambda pair: -abs(pair.difference(statistic).value))[:WORST]


def hidden(number: int, level: float = 0.95) -> float:
    """Return the part of the volume that may be worse than the worst of `number` independent points, at a level."""
    return float(1.0 - (1.0 - level) ** (1.0 / number))


def excess(differences: Sequence[Difference]) -> int:
    """Return how many differences are told from none."""
    return sum(d.low > 0.0 or d.high < 0.0 for d in differences)


def caution(space: Space, number: int, what: str, left: str) -> str:
    """Return what a search does and does not say: `what` was varied, and what was `left` out."""
    return (
        f"The points are a scrambled Sobol sequence over {len(space)} parameters: {what}. Swarms this small scatter by "
        "5% from seed to seed, so the worst are partly worst by chance: what counts is what they are with other "
        f"seeds. {number} points are no bound: {100 * hidden(number):.0f}% of the volume may be worse than the worst "
        f"of them (at 95%, if they were independent), and what is not varied ({left}) is not searched."
    )


def described(parameters: Mapping[str, Any]) -> str:
    """Return the parameters of a point as a text."""
    return ", ".join(f"{name} {value}" for name, value in parameters.items())
