"""What can be varied: a parameter or a field of a scenario, its kind, and its values as texts and in SI units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from btflow.document import Document
from btflow.errors import InputError, ScenarioError, UnitError
from btflow.fields import quantity_at
from btflow.parameters import Parameter, unknown
from btflow.quantity import Quantity
from btflow.scenario import Scenario
from btflow.units import KINDS, BytePrefix, Kind, Value, format_quantity, parse_quantity

NUMBERS: tuple[Kind, ...] = ("size", "rate", "time", "fraction", "count", "packets")
"""Kinds whose values lie on a scale."""

WHOLE: tuple[Kind, ...] = ("count", "packets")
"""Kinds whose values are whole numbers by nature; a size is rounded to whole bytes."""

SI = float | int | bool | str


@dataclass(frozen=True)
class Variable:
    """A parameter of a model, or one of its fields by the dotted path.

    Attributes:
        name: What ``set`` calls it.
        kind: What its values are; a field that names a file, or that has no kind of its own, takes texts.
        meaning: One line for people.
        byte_prefix: What kB means.
        low: Least value in SI units, -inf if none is known.
        high: Greatest value, inf if none is known.
        parameter: The parameter, None for a field.
        checked: Whether ``parse`` finds every wrong value; what a file's name stands for shows in a scenario alone.
    """

    name: str
    kind: Kind
    meaning: str
    byte_prefix: BytePrefix
    low: float
    high: float
    unlimited: bool
    parameter: Parameter | None
    checked: bool

    @property
    def units(self) -> str:
        """Unit of the values; 1 for what has none."""
        return KINDS[self.kind].unit or "1"

    def parse(self, value: object) -> Value:
        """Return a value in SI units; a UnitError if it is not one."""
        if self.parameter is not None:
            return self.parameter.parse(value, self.byte_prefix)
        if self.kind == "text":
            if not isinstance(value, str | int | float):
                raise UnitError(self.name, value, "is not a text")
            return str(value).strip()
        low, high = (None if abs(limit) == float("inf") else limit for limit in (self.low, self.high))
        return parse_quantity(
            value,
            self.kind,
            field=self.name,
            byte_prefix=self.byte_prefix,
            minimum=low,
            maximum=high,
            unlimited=self.unlimited,
        )

    def text(self, value: Value) -> str:
        """Return a text that ``parse`` turns into ``value``."""
        return format_quantity(value, self.kind, byte_prefix=self.byte_prefix)

    def text_of(self, given: object) -> str:
        """Return the text of a value as it was given: a text stays as it is."""
        return given.strip() if isinstance(given, str) else self.text(self.parse(given))

    def si(self, given: object) -> SI:
        """Return a value as the dataset has it: numbers in SI units, whole ones as int, the rest as text."""
        value = self.parse(given)
        if self.kind in WHOLE:
            return int(cast(int, value))
        if self.kind in NUMBERS:
            return float(cast(float, value))
        return value if isinstance(value, bool) else self.text(value)


def document_of(scenario: Scenario) -> Document[Scenario]:
    """Return the model file that a scenario was made from; a ScenarioError if there is none."""
    document = getattr(scenario._rebuild, "__self__", None)
    if not isinstance(document, Document):
        raise ScenarioError("scenario", scenario.name, "was not loaded from a model file", "one of btflow.load")
    return document


def variable(document: Document[Any], name: str) -> Variable:
    """Return the parameter or field of a model that a name stands for; a ScenarioError if there is none."""
    parameter = document.parameters.get(name)
    if parameter is not None:
        return _parameter(parameter, document.byte_prefix)
    if "." not in name:
        raise unknown(name, document.parameters)
    quantity = quantity_at(document.kind.model, name)
    return _field(name, quantity, document.byte_prefix)


def _parameter(parameter: Parameter, byte_prefix: BytePrefix) -> Variable:
    low, high = _limits(parameter.kind, *parameter.limits)
    return Variable(
        parameter.name, parameter.kind, parameter.meaning, byte_prefix, low, high, False, parameter, checked=True
    )


def _field(name: str, quantity: Quantity | None, byte_prefix: BytePrefix) -> Variable:
    if quantity is None or quantity.kind in ("choice", "text"):
        inf = float("inf")
        return Variable(name, "text", name, byte_prefix, -inf, inf, False, None, checked=False)
    low, high = _limits(quantity.kind, quantity.minimum, quantity.maximum)
    return Variable(name, quantity.kind, name, byte_prefix, low, high, quantity.unlimited, None, checked=True)


def _limits(kind: Kind, low: float | None, high: float | None) -> tuple[float, float]:
    if kind not in NUMBERS:
        return -float("inf"), float("inf")
    info = KINDS[kind]
    return info.minimum if low is None else low, info.maximum if high is None else high


def check_values(scenario: Scenario, variables: tuple[Variable, ...], rows: list[Mapping[str, str]]) -> None:
    """Raise the error of a value that shows in a scenario alone, such as the name of a file that is not there."""
    if all(v.checked for v in variables):
        return
    names = {v.name for v in variables}
    for row in rows:
        try:
            scenario.set(**row)
        except InputError as error:
            if error.field in names or any(p.field in names for p in error.problems):
                raise
