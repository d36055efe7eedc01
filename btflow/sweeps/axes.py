"""One dimension of a grid: the values of a parameter, or of several that vary together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np

from btflow.describe import Variable
from btflow.errors import InputError
from btflow.sweeps.spec import Listed, Spaced, Zipped
from btflow.sweeps.variables import SI, is_number, is_whole, si_of, text_of, text_of_si


@dataclass(frozen=True)
class Axis:
    """Values along a dimension.

    Attributes:
        variables: What varies; several vary together.
        texts: The values as ``set`` takes them, a row for each place along the dimension.
        values: The same in SI units.
    """

    variables: tuple[Variable, ...]
    texts: tuple[tuple[str, ...], ...]
    values: tuple[tuple[SI, ...], ...]

    @property
    def name(self) -> str:
        """Name of the dimension: ``rtt``, or ``rtt+loss`` for two that vary together."""
        return "+".join(v.name for v in self.variables)

    def settings(self, index: int) -> dict[str, str]:
        """Return what to set at one place."""
        return {v.name: text for v, text in zip(self.variables, self.texts[index], strict=True)}


def axis(variables: tuple[Variable, ...], spec: Listed | Zipped) -> Axis:
    """Return the dimension that a list makes.

    Raises:
        InputError: A value is not one of its parameter, or is there twice.
    """
    rows = spec.rows if isinstance(spec, Zipped) else [(value,) for value in listed_values(spec, variables[0])]
    texts = tuple(tuple(text_of(v, value) for v, value in zip(variables, row, strict=True)) for row in rows)
    values = tuple(tuple(si_of(v, value) for v, value in zip(variables, row, strict=True)) for row in rows)
    made = Axis(variables, texts, values)
    if len(set(values)) < len(values):
        twice = next(i for i, row in enumerate(values) if row in values[:i])
        raise InputError(made.name, ", ".join(texts[twice]), "is there twice", "each value once")
    return made


def listed_values(listed: Listed, variable: Variable) -> list[object]:
    """Return the values of a list, those evenly spaced made."""
    return [
        value
        for item in listed.items
        for value in (spaced_values(item, variable) if isinstance(item, Spaced) else [item])
    ]


def spaced_values(spaced: Spaced, variable: Variable) -> Sequence[str]:
    """Return evenly spaced values as texts, the first and the last as given.

    Raises:
        InputError: The parameter is no number, or a logarithmic scale starts at zero.
    """
    shown = f"{spaced.scale}({spaced.low}, {spaced.high}, {spaced.count})"
    if not is_number(variable):
        raise InputError(variable.name, shown, "is a range of numbers, which this is not", "a list of values")
    ends = [si_of(variable, end) for end in (spaced.low, spaced.high)]
    low, high = (float(cast(float, end)) for end in ends)
    if not np.isfinite([low, high]).all():
        raise InputError(variable.name, shown, "has no end", "finite values")
    if spaced.scale == "log" and min(low, high) <= 0:
        raise InputError(variable.name, shown, "starts at zero", "values above zero on a logarithmic scale")
    inner = _linear(low, high, spaced.count) if spaced.scale == "lin" else _logarithmic(low, high, spaced.count)
    texts = [text_of_si(variable, round(value) if is_whole(variable) else value) for value in inner]
    texts[-1], texts[0] = text_of(variable, spaced.high), text_of(variable, spaced.low)
    return texts


def _linear(low: float, high: float, count: int) -> list[float]:
    """Return values at equal distances, each the nearest to the exact one."""
    first, step = Fraction(repr(low)), (Fraction(repr(high)) - Fraction(repr(low))) / max(1, count - 1)
    return [float(first + i * step) for i in range(count)]


def _logarithmic(low: float, high: float, count: int) -> list[float]:
    return [float(value) for value in np.geomspace(low, high, count)]
