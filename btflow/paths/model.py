"""A model of the Internet's paths: quantiles of round-trip times and losses, their structure, and its TOML file.

The round-trip time of a pair of peers is the quantile of the table at the share of pairs that lie closer to each other;
its loss is one at a share that partly goes with the peers. See ``btflow.paths.generate``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from btflow.config.files import inline, read_table, split_sources
from btflow.config.problems import translated
from btflow.errors import InputError, TableError
from btflow.files import replacing
from btflow.options import output_file
from btflow.units.quantity import FrozenModel, Quantity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


class Table(NamedTuple):
    """Quantiles; between them straight lines up to a share, above it power laws of the share that lies higher."""

    share: Floats
    """Cumulative shares, rising (points,)."""
    value: Floats
    """The values there, not falling (points,)."""
    tail: float
    """One of the shares, from which on power laws hold; 1: nowhere."""

    def quantile(self, share: Floats) -> Floats:
        """Return the value at or below which each share lies, of any shape; beyond the table's ends those at its ends.

        Nothing is drawn that the table does not have: it ends where its sources do.
        """
        import numpy as np

        shares = np.clip(share, self.share[0], self.share[-1])
        body, tail = self.share <= self.tail, self.share >= self.tail
        low = np.interp(shares, self.share[body], self.value[body])
        if self.tail == 1.0:
            return np.asarray(low, np.float64)
        rest = np.log1p(-np.maximum(shares, self.tail))
        high = np.exp(np.interp(-rest, -np.log1p(-self.share[tail]), np.log(self.value[tail])))
        within = np.clip(high, self.value[tail][0], self.value[-1])
        return np.asarray(np.where(shares <= self.tail, low, within), np.float64)

    def share_below(self, value: Floats) -> Floats:
        """Return the share at or below each value: of values on a flat part the largest; 0 below the table, 1 above."""
        import numpy as np

        at, last = np.asarray(value, np.float64), len(self.value) - 1
        below = np.searchsorted(self.value, at, side="right") - 1
        i = np.clip(below, 0, max(last - 1, 0))
        j = np.minimum(i + 1, last)
        one, other, low, high = self.share[i], self.share[j], self.value[i], self.value[j]
        with np.errstate(divide="ignore", invalid="ignore"):
            line = one + (other - one) * (at - low) / (high - low)
            power = 1.0 - (1.0 - one) * ((1.0 - other) / (1.0 - one)) ** (np.log(at / low) / np.log(high / low))
        return np.select([below < 0, below >= last, one >= self.tail], [0.0, 1.0, power], line)


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

        if quantity not in ("rtt", "loss"):
            raise InputError("quantity", quantity, "is unknown", "rtt or loss")
        points = self.rtt if quantity == "rtt" else self.loss
        share, value = (np.array([getattr(point, name) for point in points]) for name in ("share", "value"))
        return Table(share, value, self.tail if _varies(points) else 1.0)

    def content(self) -> dict[str, Any]:
        """Return the model as its file has it, with units, numbers to ten digits."""
        structure = {name: getattr(self.structure, name) for name in Structure.model_fields}
        return {
            "name": self.name,
            "title": self.title,
            "source": self.source,
            "tail": self.tail,
            "rtt": [_point(point, _milliseconds(point.value)) for point in self.rtt],
            "loss": [_point(point, point.value) for point in self.loss],
            "structure": structure | {"regions": [_region(region) for region in self.structure.regions]},
        }

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model as a TOML file, that ``btflow.paths.load`` and ``paths.internet`` of a swarm take.

        Raises:
            InputError: No file ending in .toml can be written there.
            OSError: The file cannot be written; what was there before is kept.
        """
        file = output_file("path", path, ".toml")
        with replacing(file) as partial:
            partial.write_text(text(self), encoding="utf-8", newline="\n")


FOLDER = "internet"
"""Of the path models among those that come with btflow."""


def load(model: str | PathLike[str]) -> PathModel:
    """Return a path model.

    Args:
        model: The name of one that comes with btflow, such as ``iplane``, or the path of a ``.toml`` file,
            which may start from another one: ``base = "iplane"``.

    Raises:
        InputError: There is no such model, or its file is not one.
    """
    if not isinstance(model, str | PathLike) or isinstance(os.fspath(model), bytes):
        raise InputError("model", model, "is no path model", 'one, the name of one such as "iplane", or a .toml file')
    return parse(split_sources(read_table(str(model), FOLDER, Path(), "model"))[0])


def parse(content: Any) -> PathModel:
    """Return the model that a file's content, without the sources of its values, describes; InputError if none."""
    try:
        return PathModel.model_validate(content)
    except ValidationError as error:
        raise translated(error, PathModel, {}, {}) from None


def text(model: PathModel, comment: str = "") -> str:
    """Return a model as a TOML file."""
    found = model.content()
    structure = found.pop("structure")
    lines = [*(f"# {line}" for line in comment.splitlines()), *([""] if comment else [])]
    return "\n".join([*lines, *_table(found), "", "[structure]", *_table(structure)]) + "\n"


def _table(fields: dict[str, Any]) -> Iterator[str]:
    """Give the lines of a table: its numbers and texts, then its lists, a line for each entry."""
    for name, value in fields.items():
        if not isinstance(value, list):
            yield f"{name} = {inline(value)}"
    for name, entries in fields.items():
        if isinstance(entries, list):
            yield from ("", f"{name} = [", *(f"  {inline(entry)}," for entry in entries), "]")


def _point(point: RttPoint | LossPoint, value: str | float) -> dict[str, Any]:
    return {"share": point.share, "value": value} | ({"source": point.source} if point.source else {})


def _region(region: Region) -> dict[str, Any]:
    places = {name: _milliseconds(getattr(region, name)) for name in ("x", "y", "spread")}
    return {"share": region.share} | places


def _milliseconds(time: float) -> str:
    """Return a time as a file has it: in as few digits as a measurement has."""
    return f"{1e3 * time:.10g} ms"
