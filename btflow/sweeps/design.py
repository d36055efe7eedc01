"""The points of a sweep: values of what is varied, and of these every combination (a grid) or a sample."""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from btflow.config.document import Document
from btflow.config.schema import NUMBERS, Variable, describe
from btflow.config.values import Setting
from btflow.errors import InputError
from btflow.options import MAX_SEED, whole_number
from btflow.paths.model import load
from btflow.units import Kind

MOST = 1_000_000
"""Most swarms of a sweep that is not confirmed."""

FORMS = (
    "values separated by commas, lin(a, b, n), log(a, b, n); with a sample also lin(a, b), log(a, b), uniform(a, b), "
    "loguniform(a, b), lognormal(median, sigma), choice(a, b, ...) and iplane"
)

COUNTED: tuple[Kind, ...] = ("count", "packets")
"""Kinds whose values are numbers of things."""

WHOLE: tuple[Kind, ...] = ("count", "packets", "size")
"""Kinds whose values are whole: numbers of things, or of bytes."""

SI = float | int | bool | str
Text = str | None
"""Of a value, as ``set`` takes it; None for one that is not set."""

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Names = tuple[str, ...]

LEFT_OUT = object()
"""In place of a value that is not set."""


@dataclass(frozen=True)
class Spaced:
    """``count`` values from ``low`` to ``high``, both included, evenly spaced on a linear or a logarithmic scale."""

    scale: str
    low: object
    high: object
    count: int


@dataclass(frozen=True)
class Listed:
    """Values one by one: of each of the names that vary together one, or of a single name several evenly spaced."""

    rows: tuple[tuple[object, ...] | Spaced, ...]
    text: str = ""
    """As it was written if that is a ``choice``, which makes sense in a sample alone."""

    @property
    def count(self) -> int:
        """Number of values, without making them."""
        return sum(row.count if isinstance(row, Spaced) else 1 for row in self.rows)


@dataclass(frozen=True)
class Drawn:
    """A distribution by name."""

    name: str
    arguments: tuple[object, ...]
    scale: str = ""
    """``lin`` or ``log`` if it was written so, without a number of values."""

    @property
    def text(self) -> str:
        """As it is written."""
        return f"{self.name}({', '.join(map(str, self.arguments))})" if self.arguments else self.name


Spec = Listed | Drawn


def _seed(given: object) -> Setting:
    text = isinstance(given, str) and re.fullmatch(r"[0-9]{1,20}", given.strip())
    number = whole_number("seed", int(str(given)) if text else given, 0, MAX_SEED)
    return Setting(number, str(number), number)


SEED = Variable(
    "seed", "count", "seed of the point's replicas", (), (0, MAX_SEED), optional=False, byte_prefix="decimal",
    _read=_seed,
)  # fmt: skip
"""What is varied under the name ``seed``: no field of the model, but what the point's swarms are run with."""


def variable_of(document: Document[Any], name: str) -> Variable:
    """Return what a name that is varied takes; an InputError if nothing has it."""
    return SEED if name == SEED.name and name not in document.parameters else describe(document, name)


def si_of(variable: Variable, given: object) -> SI:
    """Return a value in SI units as the dataset has it: int for numbers of things, float for other numbers.

    Raises:
        InputError: It is not a value of the variable.
    """
    if given is LEFT_OUT:
        return math.nan if variable.kind in NUMBERS else "none"
    value = variable.value(given)
    if variable.kind not in NUMBERS or isinstance(value, bool | str):
        return value
    return int(value) if variable.kind in COUNTED and math.isfinite(value) else float(value)


def text_of_si(variable: Variable, value: SI, *, shortest: bool = True) -> str:
    """Return a text that is read as exactly a value in SI units: the shortest, or at once one in the SI unit."""
    if isinstance(value, str) or not math.isfinite(value):
        return variable.from_si(value)
    number = int(value) if variable.kind in WHOLE else float(value)
    return variable.from_si(number) if shortest else f"{number!r} {variable.unit}".rstrip()


@dataclass(frozen=True)
class Column:
    """Values of a name: in SI units, and as texts that set them; of a distribution these are made when asked for."""

    variable: Variable
    values: Sequence[SI] | NDArray[Any]
    texts: Sequence[Text] | None = None

    def text(self, index: int) -> Text:
        """Return one of the values as ``set`` takes it, exactly; None if it is not set."""
        return text_of_si(self.variable, self.values[index]) if self.texts is None else self.texts[index]


@dataclass(frozen=True)
class Axis:
    """Values of one name, or of several that vary together: of a grid a dimension."""

    columns: tuple[Column, ...]
    drawn: str = ""
    """The distribution that a sample's values are drawn from, one for each point; empty for a list."""
    index: Indices | None = None
    """In a sample: which value of the list each point has."""

    def __len__(self) -> int:
        return len(self.columns[0].values)

    @property
    def name(self) -> str:
        """Name of the dimension: ``rtt``, or ``rtt+loss`` for two that vary together."""
        return "+".join(column.variable.name for column in self.columns)

    def rows(self) -> list[list[str]]:
        """Return the texts of a list for people, those that go together together."""
        texts = (["none" if text is None else text for text in column.texts or ()] for column in self.columns)
        return [list(row) for row in zip(*texts, strict=True)]


LONG_LIST = 1000
"""Longer lists are written in SI units: to find the shortest text of each value takes a while."""


def axis(variables: Sequence[Variable], spec: Listed) -> Axis:
    """Return the values of a list.

    Raises:
        InputError: A value is not one of its parameter, or is there twice.
    """
    given = ([row if isinstance(row, Spaced) else row[n] for row in spec.rows] for n in range(len(variables)))
    made = Axis(tuple(map(partial(_column, shortest=spec.count <= LONG_LIST), variables, given)))
    values = list(zip(*(column.values for column in made.columns), strict=True))
    counts = Counter(values)
    if len(counts) < len(values):
        twice = next(place for place, row in enumerate(values) if counts[row] > 1)
        raise InputError(made.name, ", ".join(made.rows()[twice]), "is there twice", "each value once")
    return made


def _column(variable: Variable, given: Iterable[object], shortest: bool) -> Column:
    """Return the values of a list, those evenly spaced made."""
    each = [
        pair
        for item in given
        for pair in (_spaced(variable, item) if isinstance(item, Spaced) else [(item, si_of(variable, item))])
    ]
    texts = [_text(variable, item, value, shortest) for item, value in each]
    return Column(variable, [value for _, value in each], texts)


def _text(variable: Variable, given: object, value: SI, shortest: bool) -> Text:
    """Return the text of a value; one that was given as a text stays as it is."""
    if given is LEFT_OUT:
        return None
    if isinstance(given, str):
        return given.strip()
    return text_of_si(variable, value, shortest=shortest) if variable.kind in NUMBERS else variable.text(given)


def _spaced(variable: Variable, spaced: Spaced) -> list[tuple[object, SI]]:
    """Return evenly spaced values, each as it was given and in SI units.

    Raises:
        InputError: The parameter is no number, or a logarithmic scale starts at zero.
    """
    said = f"{spaced.scale}({spaced.low}, {spaced.high}, {spaced.count})"
    if variable.kind not in NUMBERS:
        raise InputError(variable.name, said, "is a range of numbers, which this is not", "a list of values")
    first, last = (si_of(variable, end) for end in (spaced.low, spaced.high))
    low, high = float(first), float(last)
    if not math.isfinite(low) or not math.isfinite(high):
        raise InputError(variable.name, said, "has no end", "finite values")
    if spaced.scale == "log" and min(low, high) <= 0:
        raise InputError(variable.name, said, "starts at zero", "values above zero on a logarithmic scale")
    if spaced.scale == "lin":  # each the nearest to the exact one
        start, step = Fraction(repr(low)), (Fraction(repr(high)) - Fraction(repr(low))) / max(1, spaced.count - 1)
        numbers = [float(start + i * step) for i in range(spaced.count)]
    else:
        numbers = np.geomspace(low, high, spaced.count).tolist()
    if variable.kind in WHOLE:
        numbers = [int(n) if variable.kind in COUNTED else float(n) for n in map(round, numbers)]
    return [(spaced.low, first), *((n, n) for n in numbers[1:-1]), (spaced.high, last)][: spaced.count]


Inverse = Callable[[Floats], Floats]
"""Turns shares in [0, 1) into values in SI units."""

NEAREST = 2.0**-40
"""Shares are kept this far from 0 and 1, where a distribution may have no finite value."""


def inverse(spec: Drawn, variable: Variable) -> Inverse:
    """Return a distribution of values of a variable.

    By its formula: ``ppf`` of scipy.stats takes a second to import, and its loguniform has other last bits.

    Raises:
        InputError: The variable is no number, or the arguments do not make a distribution of it.
    """

    def wrong(reason: str, allowed: str) -> InputError:
        return InputError(variable.name, spec.text, reason, allowed)

    if variable.kind not in NUMBERS:
        raise wrong("is a distribution of numbers, which this is not", "a list of values")
    match spec.name:
        case "uniform" | "loguniform":
            low, high = (_finite(argument, variable) for argument in spec.arguments)
            if low > high:
                raise wrong("ends below its start", "the lower value first")
            if spec.name == "uniform" and variable.kind in COUNTED:
                return lambda shares: np.minimum(low + np.floor(shares * (high - low + 1)), high)
            if spec.name == "uniform":
                return lambda shares: low + shares * (high - low)
            if low <= 0:
                raise wrong("starts at zero", "a first value above zero")
            return lambda shares: np.clip(low * (high / low) ** shares, low, high)
        case "lognormal":
            from scipy.special import ndtri  # takes a while to import

            median, text = _finite(spec.arguments[0], variable), str(spec.arguments[1])
            try:
                sigma = float(text)
            except ValueError:
                sigma = math.nan
            if not 0 < sigma < 100:
                raise wrong(f"has the sigma {text}", "a number above 0, of the logarithm")
            if median <= 0:
                raise wrong("has no median above zero", "a median above zero")
            return lambda shares: median * np.exp(sigma * ndtri(shares))
        case _:  # iplane
            if variable.kind not in ("time", "fraction"):
                raise wrong("is a distribution of times or losses", FORMS)
            return load("iplane").table("rtt" if variable.kind == "time" else "loss").quantile


def _finite(value: object, variable: Variable) -> float:
    number = float(si_of(variable, value))
    if not math.isfinite(number):
        raise InputError(variable.name, value, "is not finite", "a finite value")
    return number


def drawn_axis(spec: Drawn, variable: Variable, inverted: Inverse, shares: Floats) -> Axis:
    """Return the values of a distribution at some shares; an InputError if one is out of the variable's range."""
    values = inverted(np.clip(shares, NEAREST, 1.0 - NEAREST))
    values = np.round(values) if variable.kind in WHOLE else values
    assert variable.limits is not None
    low, high = variable.limits
    for wrong in values[(values < low) | (values > high) | ~np.isfinite(values)][:1]:
        least, most, drawn = (text_of_si(variable, value) for value in (low, high, wrong))
        raise InputError(variable.name, spec.text, f"draws {drawn}", f"values from {least} to {most}")
    column = Column(variable, values.astype(np.int64) if variable.kind in COUNTED else values)
    return Axis((column,), drawn=spec.text)


def chosen_axis(listed: Axis, shares: Floats) -> Axis:
    """Return a list of which each share stands for one value, all equally likely."""
    index = np.minimum((shares * len(listed)).astype(np.int64), len(listed) - 1)
    rows = (row[0] if len(row) == 1 else f"({', '.join(row)})" for row in listed.rows())
    return replace(listed, drawn=f"choice({', '.join(rows)})", index=index)


GRID = "grid"
"""No sample, where one was declared before."""

_STREAM = (2**32 - 1, 0)
"""Key of the sample's random numbers; the swarms' keys have one number."""


@dataclass(frozen=True)
class Sample:
    """A kind of sample and its size."""

    kind: str
    number: int

    @property
    def text(self) -> str:
        """As it is written: ``sobol:4096``."""
        return f"{self.kind}:{self.number}"

    def size(self, dimensions: int) -> int:
        """Return the number of points: of a Saltelli design n (d + 2)."""
        return self.number * (dimensions + 2) if self.kind == "saltelli" else self.number

    def cube(self, dimensions: int, seed: int) -> Floats:
        """Return the points (points, dimensions) in [0, 1); the same for the same seed.

        A Saltelli design, which SciPy has not, is one after the other the samples A and B, halves of a Sobol sequence,
        and for each dimension i the sample A with column i of B, as in ``scipy.stats.sobol_indices``.
        """
        from scipy.stats import qmc  # takes a second to import

        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=_STREAM))
        if self.kind == "random":
            return rng.random((self.number, dimensions))
        if self.kind == "lhs":
            return np.asarray(qmc.LatinHypercube(dimensions, rng=rng).random(self.number), np.float64)
        columns = 2 * dimensions if self.kind == "saltelli" else dimensions
        points = qmc.Sobol(columns, rng=rng).random_base2(self.number.bit_length() - 1)
        if self.kind == "sobol":
            return np.asarray(points, np.float64)
        a, b = np.split(points, 2, axis=1)
        return np.concatenate([a, b, *(np.where(np.arange(dimensions) == i, b, a) for i in range(dimensions))])


class Coordinate(NamedTuple):
    """Values of a parameter along a dimension of the dataset."""

    name: str
    dimension: str
    values: NDArray[Any]
    """float64, int64, bool or object (texts), in SI units."""
    units: str
    meaning: str


@dataclass(frozen=True)
class Design:
    """The points of a sweep, numbered in C order over its dimensions.

    Attributes:
        axes: What is varied.
        sample: The sample of the space that the axes span; None for a grid, every combination of their values.
        size: Number of points of the sample.
    """

    axes: tuple[Axis, ...]
    sample: Sample | None = None
    size: int = 0

    @property
    def kind(self) -> str:
        """``grid``, or the sample such as ``sobol:4096``."""
        return self.sample.text if self.sample else GRID

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the dimensions: a grid's axes, or ``sample``."""
        return ("sample",) if self.sample else tuple(along.name for along in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Their lengths."""
        return (self.size,) if self.sample else tuple(len(along) for along in self.axes)

    def settings(self, point: int) -> dict[str, str]:
        """Return the texts that make a point of the model, by name."""
        texts = ((c.variable.name, c.text(index)) for c, index in self._at(point) if c.variable is not SEED)
        return {name: text for name, text in texts if text is not None}

    def seed(self, point: int) -> int | None:
        """Return the seed that a point says, None if no seeds are varied."""
        return next((int(c.values[index]) for c, index in self._at(point) if c.variable is SEED), None)

    def settings_of(self, names: Collection[str]) -> Iterator[dict[str, str]]:
        """Give the values that some parameters, and those that vary with them, have together, each once."""
        axes = tuple(along for along in self.axes if any(c.variable.name in names for c in along.columns))
        kept, seen = replace(self, axes=axes), set[tuple[str, ...]]()
        for point in range(prod(kept.shape) if axes else 1):
            settings = kept.settings(point)
            if (values := (*settings, *settings.values())) not in seen:
                seen.add(values)
                yield settings

    def coordinates(self) -> list[Coordinate]:
        """Return the value of each parameter along its dimension."""
        return [
            _coordinate(c, "sample" if self.sample else along.name, along.index)
            for along in self.axes
            for c in along.columns
        ]

    def places(self, points: Indices) -> Floats:
        """Return where some points lie in the unit cube (points, axes), the values of each axis at equal distances.

        Those of a distribution lie by their rank in the sample, those of one value in one place.
        """
        found = []
        for along, index in zip(self.axes, self._indices(points), strict=True):
            if along.drawn and along.index is None:
                values = np.asarray(along.columns[0].values)
                ordered = np.sort(values)
                low, high = (np.searchsorted(ordered, values[points], side) for side in ("left", "right"))
                found.append((low + high) / (2 * len(values)))
            else:
                found.append((index + 0.5) / len(along))
        return np.column_stack(found)

    def written(self) -> dict[str, Any]:
        """Return what each dimension or parameter is varied over, as texts."""
        return {a.name: a.drawn or [row if len(row) > 1 else row[0] for row in a.rows()] for a in self.axes}

    def _indices(self, points: Indices | int) -> Sequence[Any]:
        """Return which value of each axis some points have."""
        if self.sample is None:
            return np.unravel_index(points, self.shape) if self.axes else ()
        return [points if along.index is None else along.index[points] for along in self.axes]

    def _at(self, point: int) -> Iterator[tuple[Column, int]]:
        """Give each column, and which of its values a point has."""
        for along, index in zip(self.axes, self._indices(point), strict=True):
            yield from ((column, int(index)) for column in along.columns)


def _coordinate(column: Column, dimension: str, index: Indices | None) -> Coordinate:
    """Return the values of a column, or those that points of a sample have of them."""
    values, of = column.values, column.variable
    if not isinstance(values, np.ndarray):
        along = values if index is None else [values[i] for i in index]
        kinds: dict[type, Any] = {bool: np.bool_, int: np.int64, float: np.float64}
        types = {type(value) for value in along}
        kind = np.float64 if types == {int, float} else kinds.get(*types) if len(types) == 1 else object  # NaN: none
        values = np.array(along, kind or object)
    units = of.unit or ("1" if of.kind in NUMBERS or of.kind == "flag" else "")  # none for words
    return Coordinate(of.name, dimension, values, units, of.meaning)


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
    specs = {names: _meant(document, names, spec, variables[names]) for names, spec in specs.items()}
    if sample is None:
        lists = {names: _listed(names, spec) for names, spec in specs.items()}
        _confirm(prod(spec.count for spec in lists.values()) * replicas, yes)
        return Design(tuple(axis(variables[names], spec) for names, spec in lists.items()))
    size = sample.size(len(specs))
    _confirm(size * replicas, yes)
    made = [_of_sample(spec, variables[names]) for names, spec in specs.items()]  # what is wrong is found before
    shares = sample.cube(len(made), seed).T
    return Design(tuple(make(column) for make, column in zip(made, shares, strict=True)), sample, size)


def _meant(document: Document[Any], names: Names, spec: Spec, of: Sequence[Variable]) -> Spec:
    """Return a distribution's name as a value of a variable that takes it as a word.

    Of a group ``LEFT_OUT`` takes the place of each ``none`` that another of its values supersedes.
    """
    if isinstance(spec, Drawn):
        return Listed(((spec.name,),)) if not spec.arguments and spec.name in of[0].words else spec
    if len(names) == 1:
        return spec
    return replace(spec, rows=tuple(_without_superseded(document, names, row) for row in spec.rows))


def _without_superseded(document: Document[Any], names: Names, row: Any) -> tuple[object, ...]:
    values = dict(zip(names, row, strict=True))
    none = {name: value for name, value in values.items() if value is None or str(value).strip() == "none"}
    others = {name: value for name, value in values.items() if name not in none}
    out = document.assigner.outdated(none, others)
    return tuple(LEFT_OUT if name in out else value for name, value in values.items())


def _listed(names: Names, spec: Spec) -> Listed:
    """Return what a grid is over; an InputError for what makes sense in a sample alone."""
    if isinstance(spec, Listed) and not spec.text:
        return spec
    name, sample = ",".join(names), 'sample="KIND:N"'
    if isinstance(spec, Drawn) and spec.scale:
        ends = f"{spec.scale}({', '.join(map(str, spec.arguments))}"
        reason = "has no number of values: without one it is a distribution, and there is no sample"
        raise InputError(name, f"{ends})", reason, f"{ends}, NUMBER), or {sample}")
    raise InputError(name, spec.text, "is a distribution, and there is no sample", f"a list of values, or {sample}")


def _confirm(swarms: int, yes: bool) -> None:
    """Raise an InputError for more swarms than are run without a yes; the points are not made to be counted."""
    if swarms > MOST and not yes:
        raise InputError("vary", f"{swarms:,} swarms", f"is more than {MOST:,}", "yes=True if that is meant")


def _of_sample(spec: Spec, of: Sequence[Variable]) -> Callable[[Floats], Axis]:
    """Return what makes the values at shares of the unit interval."""
    if isinstance(spec, Drawn):
        return partial(drawn_axis, spec, of[0], inverse(spec, of[0]))
    return partial(chosen_axis, axis(of, spec))
