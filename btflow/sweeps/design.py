"""The points of a sweep: a grid over the values of its parameters, or a sample of the space they span."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from btflow.config.document import Document
from btflow.config.schema import Variable
from btflow.errors import InputError
from btflow.options import Fidelity, whole_number
from btflow.sweeps.axes import (
    SEED,
    SI,
    Axis,
    Text,
    axis,
    is_counted,
    shown,
    text_of_si,
    units_of,
    variable_of,
    without_superseded,
)
from btflow.sweeps.samples import Floats, Sample, choice_index, draw, inverse, written
from btflow.sweeps.spec import Drawn, Listed, Names, Spec, Zipped

MOST = 1_000_000
"""Most swarms of a sweep that is not confirmed."""


class Coordinate(NamedTuple):
    """Values of a parameter along a dimension of the dataset."""

    name: str
    dimension: str
    values: NDArray[Any]
    """float64, int64, bool or object (texts), in SI units."""
    units: str
    meaning: str


class Design(Protocol):
    """The points of a sweep, numbered in C order over its dimensions."""

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the dimensions."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Their lengths."""

    def settings(self, point: int) -> dict[str, str]:
        """Return the texts that make a point of the model, by name."""

    def seed(self, point: int) -> int | None:
        """Return the seed that a point says, None if no seeds are varied."""

    def settings_of(self, names: Collection[str]) -> Iterator[dict[str, str]]:
        """Give the values that some parameters, and those that vary with them, have together, once at least."""

    def coordinates(self) -> list[Coordinate]:
        """Return the value of each parameter along its dimension."""

    def places(self, points: NDArray[np.int64]) -> Floats:
        """Return where some points lie in the unit cube (points, axes), the values of each axis at equal distances."""

    @property
    def kind(self) -> str:
        """``grid``, or the sample such as ``sobol:4096``."""

    def written(self) -> dict[str, Any]:
        """Return what each dimension or parameter is varied over, as texts."""


@dataclass(frozen=True)
class Grid:
    """Every combination of the values of some axes; of none, a single point."""

    axes: tuple[Axis, ...]
    kind = "grid"

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the axes."""
        return tuple(a.name for a in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of values."""
        return tuple(len(a.values) for a in self.axes)

    def settings(self, point: int) -> dict[str, str]:
        """Return the texts that make a point."""
        found: dict[str, str] = {}
        for along in reversed(self.axes):
            point, index = divmod(point, len(along.values))
            found = along.settings(index) | found
        return found

    def seed(self, point: int) -> int | None:
        """Return the seed of a point, None if they are not varied."""
        places = np.unravel_index(point, self.shape) if self.axes else ()
        seeds = (along.seed(int(index)) for along, index in zip(self.axes, places, strict=True))
        return next((seed for seed in seeds if seed is not None), None)

    def settings_of(self, names: Collection[str]) -> Iterator[dict[str, str]]:
        """Give the values that some parameters, and those that vary with them, have together."""
        kept = Grid(tuple(a for a in self.axes if any(v.name in names for v in a.variables)))
        return (kept.settings(point) for point in range(prod(kept.shape)))

    def coordinates(self) -> list[Coordinate]:
        """Return each parameter along its axis."""
        return [
            _coordinate(v, a.name, [row[i] for row in a.values]) for a in self.axes for i, v in enumerate(a.variables)
        ]

    def places(self, points: NDArray[np.int64]) -> Floats:
        """Return where some points lie in the unit cube (points, axes)."""
        index = np.column_stack(np.unravel_index(points, self.shape))
        return np.asarray((index + 0.5) / self.shape, np.float64)

    def written(self) -> dict[str, Any]:
        """Return the values of each axis as they were given."""
        rows = {a.name: [[shown(text) for text in row] for row in a.texts] for a in self.axes}
        return {name: [row if len(row) > 1 else row[0] for row in of] for name, of in rows.items()}


@dataclass(frozen=True)
class SampleColumn:
    """A parameter in a sample: drawn from a distribution, or one of some values."""

    variable: Variable
    axis: str
    """What it is varied in: its own name, or those of all that vary together, as of a grid's dimension."""
    written: str
    values: NDArray[np.float64] | None
    """Value at each point, SI units; None for one of a list."""
    texts: tuple[Text, ...] = ()
    """The list; None for what is not set."""
    listed: tuple[SI, ...] = ()
    """The list in SI units."""
    index: NDArray[np.int64] | None = None
    """Which of them each point has."""

    def text(self, point: int) -> Text:
        """Return the value at a point as ``set`` takes it, exactly; None if it is not set there."""
        if self.values is None:
            assert self.index is not None
            return self.texts[int(self.index[point])]
        return text_of_si(self.variable, float(self.values[point]))

    def along(self) -> Sequence[SI]:
        """Return the value at each point, SI units."""
        if self.values is None:
            assert self.index is not None
            return [self.listed[i] for i in self.index]
        return [int(v) for v in self.values] if is_counted(self.variable) else self.values.tolist()

    def places(self) -> Floats:
        """Return where each point lies between 0 and 1, those of one value in one place."""
        if self.values is None:
            assert self.index is not None
            return np.asarray((self.index + 0.5) / len(self.texts), np.float64)
        ordered = np.sort(self.values)
        sides = (np.searchsorted(ordered, self.values, side) for side in ("left", "right"))
        return np.asarray(sum(sides) / (2 * len(ordered)), np.float64)


@dataclass(frozen=True)
class Drawing:
    """Points of the space that some parameters span, one after the other along the dimension ``sample``."""

    sample: Sample
    columns: tuple[SampleColumn, ...]
    size: int
    dims = ("sample",)

    @property
    def kind(self) -> str:
        """The sample as it is written."""
        return self.sample.text

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of points."""
        return (self.size,)

    def settings(self, point: int) -> dict[str, str]:
        """Return the texts that make a point."""
        texts = ((c.variable.name, c.text(point)) for c in self.columns if c.variable is not SEED)
        return {name: text for name, text in texts if text is not None}

    def seed(self, point: int) -> int | None:
        """Return the seed of a point, None if they are not varied."""
        return next((int(str(c.text(point))) for c in self.columns if c.variable is SEED), None)

    def settings_of(self, names: Collection[str]) -> Iterator[dict[str, str]]:
        """Give the values that some parameters, and those that vary with them, have together."""
        axes = {c.axis for c in self.columns if c.variable.name in names}
        kept = Drawing(self.sample, tuple(c for c in self.columns if c.axis in axes), self.size)
        return (kept.settings(point) for point in range(self.size if kept.columns else 1))

    def coordinates(self) -> list[Coordinate]:
        """Return each parameter along ``sample``."""
        return [_coordinate(c.variable, "sample", c.along()) for c in self.columns]

    def places(self, points: NDArray[np.int64]) -> Floats:
        """Return where some points lie in the unit cube (points, axes): numbers by their rank in the sample."""
        axes = {c.axis: c for c in self.columns}
        return np.column_stack([c.places()[points] for c in axes.values()])

    def written(self) -> dict[str, Any]:
        """Return the distribution of each parameter, and of those that vary together."""
        return {c.axis: c.written for c in self.columns}


def design(
    document: Document[Any], specs: Mapping[Names, Spec], sample: Sample | None, seed: int, replicas: int, yes: bool
) -> Design:
    """Return the design that some parameters make, checked value by value.

    Args:
        document: The model.
        specs: What each name, or group of names, is varied over.
        sample: The kind of sample; None for a grid.
        seed: Of the sample's random numbers.
        replicas: Swarms of each point.
        yes: Whether more than ``MOST`` swarms are meant.

    Raises:
        InputError: A name is unknown, a value is wrong, a distribution has no sample, or there are too many swarms.
    """
    variables = {names: tuple(variable_of(document, name) for name in names) for names in specs}
    specs = {names: _read(document, names, spec, variables[names]) for names, spec in specs.items()}
    if sample is None:
        lists = {names: _listed(names, spec) for names, spec in specs.items()}
        _confirm((spec.count for spec in lists.values()), replicas, yes)
        return Grid(tuple(axis(variables[names], spec) for names, spec in lists.items()))
    if not specs:
        raise InputError("sample", sample.text, "has nothing to vary", "at least one varied parameter")
    size = sample.size(len(specs))
    _confirm([size], replicas, yes)
    makers = [_maker(variables[names], spec) for names, spec in specs.items()]
    cube = sample.cube(len(makers), seed)
    drawn = [make(shares) for make, shares in zip(makers, cube.T, strict=True)]
    return Drawing(sample, tuple(column for columns in drawn for column in columns), size)


def _read(document: Document[Any], names: Names, spec: Spec, of: tuple[Variable, ...]) -> Spec:
    """Return a distribution's name as a value of a variable that takes it as a word, and what a group leaves out."""
    if isinstance(spec, Zipped):
        return without_superseded(document, names, spec)
    if isinstance(spec, Drawn) and not spec.arguments and spec.name in of[0].words:
        return Listed((spec.name,))
    return spec


def _listed(names: Names, spec: Spec) -> Listed | Zipped:
    if isinstance(spec, Drawn) or (isinstance(spec, Listed) and spec.drawn):
        name, sample = ",".join(names), "--sample KIND:N (sample=)"
        if isinstance(spec, Drawn) and spec.scale:
            ends = f"{spec.scale}({', '.join(map(str, spec.arguments))}"
            reason = "has no number of values: without one it is a distribution, and there is no sample"
            raise InputError(name, f"{ends})", reason, f"{ends}, NUMBER), or {sample}")
        said = written(spec) if isinstance(spec, Drawn) else f"choice({', '.join(map(str, spec.items))})"
        raise InputError(name, said, "is a distribution, and there is no sample", f"a list of values, or {sample}")
    return spec


def _confirm(counts: Iterable[int], replicas: int, yes: bool) -> None:
    """Raise an InputError for more swarms than are run without a yes; the points are not made to be counted."""
    swarms = prod(counts) * replicas
    if swarms > MOST and not yes:
        raise InputError("vary", f"{swarms:,} swarms", f"is more than {MOST:,}", "--yes (yes=True) if that is meant")


def _maker(of: tuple[Variable, ...], spec: Spec) -> Callable[[Floats], list[SampleColumn]]:
    """Return what makes columns from shares of the unit interval; what is wrong with them is found now.

    Parameters that vary together are one choice among their groups of values.
    """
    if isinstance(spec, Drawn):
        (one,) = of
        inverted = inverse(spec, one)
        return lambda shares: [SampleColumn(one, one.name, written(spec), draw(inverted, spec, one, shares))]
    choices = axis(of, spec)
    texts = ([shown(text) for text in row] for row in choices.texts)
    rows = (row[0] if len(of) == 1 else f"({', '.join(row)})" for row in texts)
    said = f"choice({', '.join(rows)})"
    lists = list(zip(of, zip(*choices.texts, strict=True), zip(*choices.values, strict=True), strict=True))

    def make(shares: Floats) -> list[SampleColumn]:
        index = choice_index(len(choices.values), shares)
        return [SampleColumn(one, choices.name, said, None, texts, values, index) for one, texts, values in lists]

    return make


def _coordinate(of: Variable, dimension: str, values: Sequence[SI]) -> Coordinate:
    kinds = {bool: np.bool_, int: np.int64, float: np.float64}
    dtype: Any = kinds.get(type(values[0]), object)
    return Coordinate(of.name, dimension, np.array(values, dtype), units_of(of), of.meaning)


MOST_CHECKED = 10**9
"""Most points that can be checked."""

CANDIDATES = 2**16
"""Points, drawn at random, of a larger design that are looked at for each of the checked ones."""


def check_number(check: object, fidelity: Fidelity) -> int:
    """Return how many points are to be checked, 0 for None; an InputError if there can be no such check."""
    if check is None:
        return 0
    number = whole_number("check", check, 1, MOST_CHECKED)
    if fidelity == "full":
        raise InputError(
            "check", check, "is of flow: all points are run in full as it is", '--fidelity flow (fidelity="flow") too'
        )
    return number


def checked_points(design: Design, number: int) -> tuple[int, ...]:
    """Return the numbers of the points of a design that are run in full, too, spread evenly over it, in order.

    The first points of a Sobol sequence, each coordinate replaced by its rank among them, so that every stretch of a
    dimension has its share (a Latin hypercube); of each the nearest point of the design that is not taken yet. So each
    value along a grid's dimension has as many of them as any other, or one more, unless some had to give way. Very many
    (a quarter of ``CANDIDATES``) are drawn at random, without preference.

    Args:
        design: The points of the sweep.
        number: How many of them.

    Raises:
        InputError: There are fewer points.
    """
    total = prod(design.shape)
    if number > total:
        raise InputError("check", number, f"is more than the sweep's {total:,} points", f"at most {total:,}")
    if number in (0, total):
        return tuple(range(number))
    if 4 * number > CANDIDATES:  # so many are spread evenly by chance
        return tuple(_drawn(total, number).tolist())
    candidates = np.arange(total) if total <= CANDIDATES else _drawn(total, CANDIDATES)
    places = design.places(candidates)
    taken = [_take(places, target) for target in _spread(number, places.shape[1])]
    return tuple(sorted(candidates[taken].tolist()))


def _drawn(total: int, number: int) -> NDArray[np.int64]:
    """Return the numbers of some points, always the same ones, in order."""
    return np.sort(np.random.default_rng(0).choice(total, number, replace=False, shuffle=False))


def _spread(number: int, dimensions: int) -> NDArray[np.float64]:
    """Return points (number, dimensions) in the unit cube: in any dimension, one in each of as many equal stretches."""
    from scipy.stats import qmc  # takes a second to import

    first = qmc.Sobol(dimensions, scramble=False).random_base2((number - 1).bit_length())[:number]
    return np.asarray((first.argsort(axis=0).argsort(axis=0) + 0.5) / number, np.float64)


def _take(places: NDArray[np.float64], target: NDArray[np.float64]) -> int:
    """Return the nearest place that is not taken, and take it."""
    found = int(np.square(places - target).sum(axis=1).argmin())
    places[found] = np.inf
    return found
