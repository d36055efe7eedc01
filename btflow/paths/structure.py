"""Which paths between peers are long and which lossy: regions of a plane, and detours."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from btflow.errors import TableError
from btflow.units.quantity import FrozenModel, Quantity

Share = Annotated[float, Quantity("fraction", 0, 1)]
Delay = Annotated[float, Quantity("time", 0, 60)]

MOST_SPREAD = 1.5
"""Of detours: with it, one pair in six strays 4.5 times as far as the median pair or further."""

MOST_DETOUR = 1.0
"""However far the paths of its peers stray, a pair's detour is not above this."""

ROUNDING = 1e-3
"""How far the regions' shares may sum from 1."""


class Region(FrozenModel):
    """Where some of the peers are, in a plane whose distances are round-trip times."""

    share: Annotated[float, Quantity("fraction", 1e-6, 1)]
    """Share of the peers."""
    x: Delay
    """Of its centre [s]."""
    y: Delay
    """Of its centre [s]."""
    spread: Annotated[float, Quantity("time", 1e-5, 60)]
    """Standard deviation of its peers' places around the centre, each way [s]."""


class Structure(FrozenModel):
    """What the paths of one peer, and of three, have in common."""

    regions: Annotated[tuple[Region, ...], Field(min_length=1, max_length=50)]
    """Where the peers are."""
    detour: Share
    """Median over pairs of the mean deviation of the logarithm of the factor by which a path is longer or shorter than
    others as far."""
    detour_spread: Annotated[float, Quantity("fraction", 0, MOST_SPREAD)] = 0.0
    """Standard deviation of the logarithm of that mean deviation among pairs; half of its variance is each peer's, as
    the paths of some peers stray further than those of others."""
    loss: Share
    """Share of the variance of a pair's loss (as a standard normal variable) that its two peers have, half each."""
    loss_with_rtt: Annotated[float, Quantity("fraction", 0, 1)]
    """Correlation of loss and round-trip time of a pair, both as standard normal variables."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        total = sum(region.share for region in self.regions)
        if abs(total - 1.0) > ROUNDING:
            raise TableError("regions", f"{total:g}", "is the sum of the shares", "shares that sum to 1")
        return self
