"""A model's parameters: named independent variables that stand for fields of its file."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cached_property
from typing import Annotated, Any, Self

from pydantic import Field, PrivateAttr

from btflow.config.fields import quantity_at
from btflow.errors import ScenarioError, UnitError
from btflow.units import KINDS, BytePrefix, Kind, Value, format_quantity, parse_quantity
from btflow.units.quantity import FrozenModel, Quantity


class Parameter(FrozenModel):
    """One parameter of a model, as declared in its file."""

    name: str = Field(exclude=True)
    """Name used with ``--set``."""
    kind: Kind
    """What the value is, hence which units it takes."""
    default: Any = None
    """Value if none is given: that of the first field it sets, as in the file."""
    default_from: str | None = None
    """Parameter whose value is taken if none is given."""
    meaning: str
    """One line for people."""
    sets: Annotated[tuple[str, ...], Field(min_length=1)]
    """Dotted paths of the fields that get the value; the file gives the first one its default."""
    choices: tuple[str, ...] = ()
    """Allowed values, or allowed names of a list; empty for no limit."""
    prefix: str = ""
    """Text put before each name of a list to make the field's value."""
    values: dict[str, str | tuple[str, ...]] = Field(default_factory=dict)
    """For a choice: the text that the fields get, by the word that is given; a list has one for each field."""

    _model: type[FrozenModel] | None = PrivateAttr(default=None)

    def of(self, model: type[FrozenModel]) -> Self:
        """Remember, once and by the loader only, the model whose fields it sets."""
        self._model = model
        return self

    @property
    def words(self) -> tuple[str, ...]:
        """Allowed values of a choice, or allowed names of a list; empty for no limit."""
        return self.choices or tuple(self.values)

    @cached_property
    def _fields(self) -> list[Quantity]:
        """What the fields it sets take, those of its own kind."""
        if self._model is None:
            return []
        found = [quantity_at(self._model, path) for path in self.sets]
        return [field for field in found if field and field.kind == self.kind]

    @property
    def unit(self) -> str:
        """SI unit of the value, empty where there is none."""
        return KINDS[self.kind].unit

    @cached_property
    def limits(self) -> tuple[float | None, float | None]:
        """Least and greatest value that every field it sets takes, SI units; None for the kind's own limit."""
        low = [field.minimum for field in self._fields if field.minimum is not None]
        high = [field.maximum for field in self._fields if field.maximum is not None]
        return max(low, default=None), min(high, default=None)

    def parse(self, value: object, byte_prefix: BytePrefix) -> Value:
        """Return ``value`` in SI units.

        Raises:
            UnitError: The value is not of the parameter's kind, or not one of its choices.
        """
        low, high = self.limits
        if self.kind == "choice" and isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        parsed = parse_quantity(
            value,
            self.kind,
            field=self.name,
            byte_prefix=byte_prefix,
            minimum=low,
            maximum=high,
            unlimited=bool(self._fields) and all(field.unlimited for field in self._fields),
        )
        if self.words and self.kind in ("choice", "names"):
            given = parsed if isinstance(parsed, tuple) else (str(parsed),)
            wrong = [name for name in given if name not in self.words]
            if wrong or len(set(given)) < len(given):
                allowed = ", ".join(self.words) + (", or none" if self.kind == "names" else "")
                reason = f"has the unknown {wrong[0]!r}" if wrong else "names one twice"
                raise UnitError(self.name, value, reason, allowed)
        return parsed

    def texts(self, word: str) -> tuple[str, ...]:
        """Return what a choice makes of each field it sets."""
        text = self.values.get(word, word)
        return (text,) * len(self.sets) if isinstance(text, str) else text

    def field_values(self, value: Value, byte_prefix: BytePrefix) -> tuple[Any, ...]:
        """Return what each field it sets gets, in the form that the model's file has it."""
        if self.kind == "choice":
            return self.texts(str(value))
        return (self._field_value(value, byte_prefix),) * len(self.sets)

    def _field_value(self, value: Value, byte_prefix: BytePrefix) -> Any:
        if isinstance(value, tuple):
            return [self.prefix + name for name in value]
        if self.kind in ("count", "flag"):
            return value
        return format_quantity(value, self.kind, byte_prefix=byte_prefix)


def unknown(name: str, known: Iterable[str], what: str = "parameter", field: str = "") -> ScenarioError:
    """Return the error for a name that is not known, with the names that are; ``field`` is what gave it."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    hint = f" (did you mean {' or '.join(close)}?)" if close else ""
    return ScenarioError(field or name, name if field else None, f"is not a {what}{hint}", ", ".join(names) or "none")
