"""Ours against the packet-level figure: the means over the seeds, the allowance, and whether it is kept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from validation.links.frozen import Frozen
from validation.links.measured import measure
from validation.statistics import Spread, spread

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Quantity:
    """What is compared, and how far it may be off: the greater of a share of the reference and of a fixed amount."""

    column: str
    """Its name in the frozen tables."""
    name: str
    """Its name for people."""
    unit: str
    """Unit it is shown in."""
    share: float = 0.0
    """Allowed difference, as a share of the reference."""
    amount: float = 0.0
    """Allowed difference, in the shown unit."""
    scale: float = 1.0
    """Shown unit per unit of the table."""
    digits: int = 1
    """Decimals shown."""

    def allowed(self, reference: float) -> float:
        """Return the greatest difference that counts as right."""
        return max(self.share * abs(reference), self.amount)

    @property
    def tolerance(self) -> str:
        """The allowance in words."""
        parts = [f"{100 * self.share:g}%"] * (self.share > 0)
        parts += [f"{self.amount:g} {self.unit}".strip()] * (self.amount > 0)
        return " or ".join(parts)


@dataclass(frozen=True)
class Compared:
    """One figure of one cell."""

    cell: str
    """The cell."""
    quantity: Quantity
    """What is compared."""
    ours: Spread
    """Ours, over our seeds."""
    theirs: Spread
    """The reference, over its own."""

    @property
    def error(self) -> float:
        """Ours less the reference."""
        return self.ours.mean - self.theirs.mean

    @property
    def relative(self) -> float:
        """The error over the reference."""
        if self.theirs.mean == 0.0:
            return 0.0 if self.error == 0.0 else math.copysign(math.inf, self.error)
        return self.error / abs(self.theirs.mean)

    @property
    def strain(self) -> float:
        """The error over what is allowed: within -1 and 1 it is kept."""
        allowed = self.quantity.allowed(self.theirs.mean)
        if allowed == 0.0:
            return 0.0 if self.error == 0.0 else math.copysign(math.inf, self.error)
        return self.error / allowed

    @property
    def held(self) -> bool:
        """Whether the means differ by no more than what is allowed; a figure that is missing is not."""
        return abs(self.strain) <= 1.0 + _ROUNDING  # False for NaN

    @property
    def noise(self) -> float:
        """Standard error of the difference of the two means."""
        return math.hypot(self.ours.se, self.theirs.se)

    @property
    def by_chance(self) -> bool:
        """Whether a difference that is not kept exceeds the allowance by less than two standard errors."""
        excess = abs(self.error) - self.quantity.allowed(self.theirs.mean)
        return not self.held and excess < 2.0 * self.noise

    @property
    def text(self) -> str:
        """Both figures and the error, in short."""
        q = self.quantity
        ours, theirs = (f"{s.mean:.{q.digits}f}" for s in (self.ours, self.theirs))
        off = (
            f"{100 * self.relative:+.0f}%"
            if q.share and math.isfinite(self.relative)
            else f"{self.error:+.{q.digits}f}"
        )
        return f"{q.name} {ours} {q.unit}".rstrip() + f" (ns-3 {theirs}, {off})"


@dataclass(frozen=True)
class Line:
    """A cell with all that is compared in it."""

    cell: Frozen
    """The cell of the frozen table."""
    figures: tuple[Compared, ...]
    """One entry for each quantity."""

    @cached_property
    def held(self) -> bool:
        """Whether every figure is within its tolerance."""
        return all(figure.held for figure in self.figures)

    @property
    def strain(self) -> float:
        """The greatest strain of its figures."""
        return max((abs(f.strain) for f in self.figures if not math.isnan(f.strain)), default=0.0)

    @property
    def label(self) -> str:
        """The cell in words."""
        return self.cell.experiment.label


def compared(cell: Frozen, quantity: Quantity, runs: int | None = None) -> Compared:
    """Return a figure of a cell beside ours, over as many seeds as the cell has, or `runs`."""
    theirs = [quantity.scale * value for value in cell.figures[quantity.column]]
    ours = measure(cell.experiment, runs or len(theirs))[quantity.column]
    return Compared(cell.experiment.label, quantity, spread([quantity.scale * value for value in ours]), spread(theirs))


def lines(cells: Iterable[Frozen], quantities: Sequence[Quantity], runs: int | None = None) -> tuple[Line, ...]:
    """Return cells with what is compared in each: those of the quantities that the cell has."""
    return tuple(
        Line(cell, tuple(compared(cell, q, runs) for q in quantities if q.column in cell.figures)) for cell in cells
    )


def kept(figures: Sequence[Compared]) -> float:
    """Return the share of figures within their tolerance."""
    return sum(figure.held for figure in figures) / len(figures) if figures else math.nan


def worst(found: Iterable[Line], count: int = 5) -> list[Line]:
    """Return the cells that strain their tolerances most, those beyond them only."""
    return sorted((line for line in found if not line.held), key=lambda line: -line.strain)[:count]


def median_error(figures: Iterable[Compared]) -> float:
    """Return the median of the relative errors' sizes."""
    return median(abs(figure.relative) for figure in figures)
