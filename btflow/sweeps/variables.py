"""Values of what is varied, as texts and as the dataset has them."""

from __future__ import annotations

import math

from btflow.config.schema import Variable
from btflow.units import Kind

NUMBERS: tuple[Kind, ...] = ("size", "rate", "time", "fraction", "count", "packets")
"""Kinds whose values lie on a scale."""

SI = float | int | bool | str

Text = str | None
"""Of a value, as ``set`` takes it; None for one that is not set."""

LEFT_OUT = object()
"""In place of a value that is not set."""


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
