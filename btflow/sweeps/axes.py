"""Values of what is varied, along a dimension: as texts that set them, and as the dataset has them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, cast

import numpy as np

from btflow.config.document import Document
from btflow.config.schema import Variable, describe
from btflow.config.values import Setting
from btflow.errors import InputError
from btflow.options import MAX_SEED, whole_number
from btflow.sweeps.spec import Listed, Names, Spaced, Zipped
from btflow.units import Kind

NUMBERS: tuple[Kind, ...] = ("size", "rate", "time", "fraction", "count", "packets")
"""Kinds whose values lie on a scale."""

SI = float | int | bool | str

Text = str | None
"""Of a value, as ``set`` takes it; None for one that is not set."""

LEFT_OUT = object()
"""In place of a value that is not set."""


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


def is_number(variable: Variable) -> bool:
    """Return whether its values lie on a scale."""
    return variable.kind in NUMBERS


def is_counted(variable: Variable) -> bool:
    """Return whether its values are numbers of things."""
    return variable.kind in ("count", "packets")


def is_whole(variable: Variable) -> bool:
    """Return whether its values are whole: numbers of things, or of bytes."""
    return variable.kind in ("count", "packets", "size")


def text_of(variable: Variable, given: object) -> Text:
    """Return the text of a value; one that was given as a text stays as it is."""
    if given is LEFT_OUT:
        return None
    return given.strip() if isinstance(given, str) else variable.text(given)


def si_of(variable: Variable, given: object) -> SI:
    """Return a value in SI units as the dataset has it: int for numbers of things, float for other numbers.

    Raises:
        InputError: It is not a value of the variable.
    """
    if given is LEFT_OUT:
        return math.nan if is_number(variable) else "none"
    value = variable.value(given)
    if not is_number(variable) or isinstance(value, bool | str):
        return value
    return int(value) if is_counted(variable) and math.isfinite(value) else float(value)


def shown(text: Text) -> str:
    """Return a text for people."""
    return "none" if text is None else text


def text_of_si(variable: Variable, value: float) -> str:
    """Return the text that is read as exactly a number in SI units."""
    return variable.from_si(int(value) if is_whole(variable) and math.isfinite(value) else float(value))


def plain_text_of_si(variable: Variable, value: SI) -> str:
    """Return a text as ``text_of_si`` does, in the SI unit: at once."""
    if isinstance(value, str) or not math.isfinite(value):
        return variable.from_si(value)
    number = int(value) if is_whole(variable) else float(value)
    return f"{number!r} {variable.unit}".rstrip()


def units_of(variable: Variable) -> str:
    """Return the unit of a variable's values: 1 for numbers without one, empty for words."""
    return variable.unit or ("1" if is_number(variable) or variable.kind == "flag" else "")


LONG_LIST = 1000
"""Longer lists are written in SI units: to find the shortest text of each value takes a while."""


@dataclass(frozen=True)
class Axis:
    """Values along a dimension.

    Attributes:
        variables: What varies; several vary together.
        texts: The values as ``set`` takes them, a row for each place along the dimension; None for one that is not set.
        values: The same in SI units.
    """

    variables: tuple[Variable, ...]
    texts: tuple[tuple[Text, ...], ...]
    values: tuple[tuple[SI, ...], ...]

    @property
    def name(self) -> str:
        """Name of the dimension: ``rtt``, or ``rtt+loss`` for two that vary together."""
        return "+".join(v.name for v in self.variables)

    def settings(self, index: int) -> dict[str, str]:
        """Return what to set at one place."""
        row = zip(self.variables, self.texts[index], strict=True)
        return {v.name: text for v, text in row if text is not None and v is not SEED}

    def seed(self, index: int) -> int | None:
        """Return the seed at one place, None if it is not varied here."""
        at = next((place for place, v in enumerate(self.variables) if v is SEED), None)
        return None if at is None else int(self.values[index][at])


def axis(variables: tuple[Variable, ...], spec: Listed | Zipped) -> Axis:
    """Return the dimension that a list makes.

    Raises:
        InputError: A value is not one of its parameter, or is there twice.
    """
    if isinstance(spec, Zipped):
        columns = [_column(v, given) for v, given in zip(variables, zip(*spec.rows, strict=True), strict=True)]
    else:
        columns = [_listed(variables[0], spec)]
    texts = tuple(zip(*(column.texts for column in columns), strict=True))
    values = tuple(zip(*(column.values for column in columns), strict=True))
    made = Axis(variables, texts, values)
    counts = Counter(values)
    if len(counts) < len(values):
        twice = next(i for i, row in enumerate(values) if counts[row] > 1)
        raise InputError(made.name, ", ".join(map(shown, texts[twice])), "is there twice", "each value once")
    return made


class Column(NamedTuple):
    """Values of a parameter: as texts and in SI units."""

    texts: Sequence[Text]
    values: Sequence[SI]


def _listed(variable: Variable, listed: Listed) -> Column:
    """Return the values of a list, those evenly spaced made."""
    alone = _column(variable, [item for item in listed.items if not isinstance(item, Spaced)])
    others = zip(alone.texts, alone.values, strict=True)
    texts: list[Text] = []
    values: list[SI] = []
    for item in listed.items:
        if isinstance(item, Spaced):
            column = _spaced(variable, item)
            texts += column.texts
            values += column.values
        else:
            text, value = next(others)
            texts.append(text)
            values.append(value)
    return Column(texts, values)


def _column(variable: Variable, given: Sequence[object]) -> Column:
    """Return values that were given one by one."""
    values = [si_of(variable, value) for value in given]
    if len(given) <= LONG_LIST or not is_number(variable):
        return Column([text_of(variable, value) for value in given], values)
    pairs = zip(given, values, strict=True)
    return Column([g.strip() if isinstance(g, str) else plain_text_of_si(variable, v) for g, v in pairs], values)


def _spaced(variable: Variable, spaced: Spaced) -> Column:
    """Return evenly spaced values, the first and the last as given.

    Raises:
        InputError: The parameter is no number, or a logarithmic scale starts at zero.
    """
    said = f"{spaced.scale}({spaced.low}, {spaced.high}, {spaced.count})"
    if not is_number(variable):
        raise InputError(variable.name, said, "is a range of numbers, which this is not", "a list of values")
    ends = [si_of(variable, end) for end in (spaced.low, spaced.high)]
    low, high = (float(cast(float, end)) for end in ends)
    if not np.isfinite([low, high]).all():
        raise InputError(variable.name, said, "has no end", "finite values")
    if spaced.scale == "log" and min(low, high) <= 0:
        raise InputError(variable.name, said, "starts at zero", "values above zero on a logarithmic scale")
    inner = _linear(low, high, spaced.count) if spaced.scale == "lin" else _logarithmic(low, high, spaced.count)
    numbers = [float(round(value)) for value in inner] if is_whole(variable) else inner
    values: list[SI] = [int(value) for value in numbers] if is_counted(variable) else list(numbers)
    text = text_of_si if spaced.count <= LONG_LIST else plain_text_of_si
    texts: list[Text] = [text(variable, value) for value in numbers]
    texts[-1], texts[0] = text_of(variable, spaced.high), text_of(variable, spaced.low)
    values[-1], values[0] = ends[1], ends[0]
    return Column(texts, values)


def _linear(low: float, high: float, count: int) -> list[float]:
    """Return values at equal distances, each the nearest to the exact one."""
    first, step = Fraction(repr(low)), (Fraction(repr(high)) - Fraction(repr(low))) / max(1, count - 1)
    return [float(first + i * step) for i in range(count)]


def _logarithmic(low: float, high: float, count: int) -> list[float]:
    return [float(value) for value in np.geomspace(low, high, count)]


def without_superseded(document: Document[Any], names: Names, group: Zipped) -> Zipped:
    """Return values that vary together, with ``LEFT_OUT`` for each ``none`` that another value takes the place of."""
    return Zipped(tuple(_row(document, names, row) for row in group.rows))


def _row(document: Document[Any], names: Names, row: tuple[object, ...]) -> tuple[object, ...]:
    values = dict(zip(names, row, strict=True))
    none = {name: value for name, value in values.items() if value is None or str(value).strip() == "none"}
    others = {name: value for name, value in values.items() if name not in none}
    out = document.assigner.outdated(none, others)
    return tuple(LEFT_OUT if name in out else value for name, value in values.items())
