"""A model of the Internet's paths: quantiles of round-trip times and losses, and how the paths of one peer go together.

The round-trip time of a pair of peers is a quantile of the table at the share Phi(z), with z a standard normal variable
of the pair that is made of three independent parts (``Structure``); its loss likewise. See ``btflow.paths.generate``.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, model_validator

from btflow.errors import InputError, TableError
from btflow.quantity import FrozenModel, Quantity

Floats = NDArray[np.float64]
Share = Annotated[float, Quantity("fraction", 0, 1)]

LONGEST = 60.0
"""Longest round-trip time [s]."""

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


class Structure(FrozenModel):
    """How the variance of a pair's standard normal variables is divided; the rest of each is the pair's own."""

    geometry: Share
    """Of the round-trip time: part of the distance between the two peers in space."""
    peer: Share
    """Of the round-trip time: part of the two peers themselves, half each, the same on all of a peer's paths."""
    loss: Share
    """Of the loss: part of the two peers themselves, half each."""
    dimensions: Annotated[int, Quantity("count", 1, 10)] = 2
    """Of the space."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.geometry + self.peer > 1.0 + 1e-12:
            shown = f"{self.geometry:g} + {self.peer:g}"
            raise TableError("peer", shown, "is more than the whole, with geometry", "parts that sum to at most 1")
        return self


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
    1: on straight lines all."""
    rtt: Annotated[tuple[RttPoint, ...], Field(min_length=1), AfterValidator(_rising)]
    """Quantiles of the round-trip times of pairs of peers."""
    loss: Annotated[tuple[LossPoint, ...], Field(min_length=1), AfterValidator(_rising)]
    """Quantiles of the losses of pairs of peers."""
    structure: Structure
    """What the paths of one peer have in common."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name in ("rtt", "loss"):
            at, value = self._table(name)
            if self.tail < 1.0 and (self.tail not in at or at[-1] == 1.0 or value[at == self.tail][0] == 0.0):
                reason = f"is not the share of a point of {name}, with a value above 0, of a table that ends below 1"
                raise TableError("tail", self.tail, reason, "such a share, or 1")
        return self

    def rtt_at(self, share: Floats) -> Floats:
        """Return the round-trip time [s] at or below which each share of the pairs lies.

        Between the table's points as ``tail`` says; beyond its ends the values at its ends.

        Args:
            share: Cumulative shares, 0 to 1, of any shape.
        """
        return self._at("rtt", share)

    def loss_at(self, share: Floats) -> Floats:
        """Return the loss (a fraction) at or below which each share of the pairs lies; as ``rtt_at``."""
        return self._at("loss", share)

    def _table(self, quantity: Literal["rtt", "loss"]) -> tuple[Floats, Floats]:
        points = self.rtt if quantity == "rtt" else self.loss
        return np.array([point.share for point in points]), np.array([point.value for point in points])

    def _at(self, quantity: Literal["rtt", "loss"], share: Floats) -> Floats:
        at, value = self._table(quantity)
        shares = np.clip(share, at[0], at[-1])
        body, tail = at <= self.tail, at >= self.tail
        low = np.interp(shares, at[body], value[body])
        if self.tail == 1.0:
            return np.asarray(low, np.float64)
        rest = np.log1p(-np.maximum(shares, self.tail))
        high = np.exp(np.interp(-rest, -np.log1p(-at[tail]), np.log(value[tail])))
        return np.asarray(np.where(shares <= self.tail, low, np.clip(high, value[tail][0], value[-1])), np.float64)
