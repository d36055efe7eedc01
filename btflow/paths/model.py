"""A model of the Internet's paths: quantiles of round-trip times and losses, and how the paths of one peer go together.

The round-trip time of a pair of peers is the quantile of the table at the share of pairs that lie closer to each other;
its loss is one at a share that partly goes with the peers. See ``btflow.paths.generate``.
"""

from __future__ import annotations

from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from btflow.errors import InputError, TableError
from btflow.paths.structure import Share, Structure
from btflow.quantity import FrozenModel, Quantity

if TYPE_CHECKING:  # reading a scenario takes no arrays
    from numpy.typing import ArrayLike

    from btflow.paths.table import Floats, Table

LONGEST = 60.0
"""Longest round-trip time [s]."""

MOST_PEERS = 5000
"""Most peers between all of which paths are drawn: 25 million paths, which take 70 B each while they are drawn."""

MOST_LOST = 0.4
"""Loss from which on TCP gets nothing through; the losses of a model are less."""


class RttPoint(FrozenModel):
    """A point of the table of round-trip times."""

    share: Share
    """Share of the pairs of peers whose round-trip time is at most ``value``."""
    value: Annotated[float, Quantity("time", 1e-6, LONGEST)]
    """Round-trip time [s]."""
    source: str = ""
    """Where the point is from."""


class LossPoint(FrozenModel):
    """A point of the table of losses."""

    share: Share
    """Share of the pairs of peers whose loss is at most ``value``."""
    value: Annotated[float, Quantity("fraction", 0, 1)]
    """Chance that a packet is lost, on the way to either peer."""
    source: str = ""
    """Where the point is from."""


def _rising(points: tuple[RttPoint | LossPoint, ...]) -> tuple[RttPoint | LossPoint, ...]:
    """Return the points of a table; an InputError if they are not in order."""
    for one, other in pairwise(points):
        if other.share <= one.share:
            raise InputError("share", f"{other.share:g} after {one.share:g}", "does not rise", "rising shares")
        if other.value < one.value:
            shown = f"{other.value:g} after {one.value:g}"
            raise InputError("value", shown, f"falls at share {other.share:g}", "values that do not fall")
    if isinstance(points[-1], LossPoint) and points[-1].value >= MOST_LOST:
        raise InputError("value", points[-1].value, "is too much loss for TCP", f"less than {MOST_LOST:g}")
    return points


def _varies(points: tuple[RttPoint | LossPoint, ...]) -> bool:
    """Return whether a table has more than one value; otherwise there is nothing between its points."""
    return points[0].value < points[-1].value


def _shares(given: ArrayLike) -> Floats:
    """Return shares as an array; an InputError if they are none."""
    import numpy as np

    try:
        shares = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        shares = np.array(np.nan)
    if not np.all((shares >= 0.0) & (shares <= 1.0)):
        raise InputError("share", given, "is no share of the paths", "numbers from 0 to 1")
    return shares


class PathModel(FrozenModel):
    """Paths between peers as on the Internet; a file in ``models/internet``."""

    name: str
    """Name of the model."""
    title: str
    """One line for people."""
    source: str
    """What it was made from."""
    tail: Share = 1.0
    """Share of the tables above which values lie on power laws of the share that is higher, below it on straight lines;
    1: on straight lines all. For a table of a single value it says nothing."""
    rtt: Annotated[tuple[RttPoint, ...], Field(min_length=1), AfterValidator(_rising)]
    """Quantiles of the round-trip times of pairs of peers."""
    loss: Annotated[tuple[LossPoint, ...], Field(min_length=1), AfterValidator(_rising)]
    """Quantiles of the losses of pairs of peers."""
    structure: Structure
    """What the paths of one peer have in common."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        tables: dict[str, tuple[RttPoint | LossPoint, ...]] = {"rtt": self.rtt, "loss": self.loss}
        for name, points in tables.items():
            values = {point.share: point.value for point in points}
            if self.tail < 1.0 and _varies(points) and (values.get(self.tail, 0.0) == 0.0 or 1.0 in values):
                reason = f"is not the share of a point of {name}, with a value above 0, of a table that ends below 1"
                raise TableError("tail", self.tail, reason, "such a share, or 1")
        return self

    def rtt_at(self, share: ArrayLike) -> Floats:
        """Return the round-trip time [s] at or below which each share of the pairs lies.

        Between the table's points as ``tail`` says; beyond its ends the values at its ends.

        Args:
            share: Cumulative shares, 0 to 1, of any shape.

        Raises:
            InputError: A share is no number from 0 to 1.
        """
        return self.table("rtt").quantile(_shares(share))

    def loss_at(self, share: ArrayLike) -> Floats:
        """Return the loss (a fraction) at or below which each share of the pairs lies; as ``rtt_at``."""
        return self.table("loss").quantile(_shares(share))

    def table(self, quantity: Literal["rtt", "loss"]) -> Table:
        """Return the quantiles of round-trip times [s] or losses (a fraction) as a distribution."""
        import numpy as np

        from btflow.paths.table import Table

        if quantity not in ("rtt", "loss"):
            raise InputError("quantity", quantity, "is unknown", "rtt or loss")
        points = self.rtt if quantity == "rtt" else self.loss
        share, value = (np.array([getattr(point, name) for point in points]) for name in ("share", "value"))
        return Table(share, value, self.tail if _varies(points) else 1.0)

    def content(self) -> dict[str, Any]:
        """Return the model as its file has it, with units, numbers to ten digits."""
        from btflow.paths.files import content

        return content(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model as a TOML file, that ``btflow.paths.load`` and ``paths.internet`` of a swarm take.

        Raises:
            InputError: No file ending in .toml can be written there.
            OSError: The file cannot be written; what was there before is kept.
        """
        from btflow.paths.files import save

        save(self, path)
