"""One dimension of a grid: the values of a parameter, or of several that vary together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, cast

import numpy as np

from btflow.config.schema import Variable
from btflow.errors import InputError
from btflow.sweeps.spec import Listed, Spaced, Zipped
from btflow.sweeps.variables import (
    SI,
    Text,
    is_counted,
    is_number,
    is_whole,
    plain_text_of_si,
    shown,
    si_of,
    text_of,
    text_of_si,
)

LONG = 1000
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
        return {v.name: text for v, text in row if text is not None}


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
    if len(given) <= LONG or not is_number(variable):
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
    text = text_of_si if spaced.count <= LONG else plain_text_of_si
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
