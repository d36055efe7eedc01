"""What the fields of a model file hold: read off the models, for everything that goes by a field's dotted path."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from btflow.units import Kind
from btflow.units.quantity import FrozenModel, Quantity

_UNIT = re.compile(r" \[(s|B|B/s)\]")


@dataclass(frozen=True)
class Shape:
    """What a field of a model file holds.

    Attributes:
        kind: A kind of quantity; ``table`` for a table of fields, ``keyed`` for one whose keys are anybody's, ``list``.
        quantity: Range and so on of a quantity.
        words: Allowed values of a choice or in a list of names; empty for no limit.
        model: What a table holds.
        entry: What each entry of a list or of a keyed table holds.
        optional: Whether the field may be left out.
        meaning: One line for people.
    """

    kind: Kind | Literal["table", "keyed", "list"]
    quantity: Quantity | None = None
    words: tuple[str, ...] = ()
    model: type[FrozenModel] | None = None
    entry: Shape | None = None
    optional: bool = False
    meaning: str = ""

    @property
    def value_kind(self) -> Kind:
        """Kind of the value, where one value is all it holds."""
        if self.kind == "table" or self.kind == "keyed" or self.kind == "list":  # mypy narrows no `in`
            raise TypeError(f"a {self.kind} holds more than one value")
        return self.kind

    @property
    def makes_itself(self) -> bool:
        """Whether it is a table that may be empty, so that one field of it may be set where it is not there."""
        return self.kind == "keyed" or (
            self.model is not None and all(shape.optional for shape in fields_of(self.model).values())
        )


@cache
def fields_of(model: type[FrozenModel]) -> Mapping[str, Shape]:
    """Return what each field of a model holds, by its name in a file."""
    return MappingProxyType({info.alias or name: _of_field(info) for name, info in model.model_fields.items()})


def _of_field(info: FieldInfo) -> Shape:
    meaning = _UNIT.sub("", " ".join((info.description or "").split())).rstrip(".")
    return replace(_of_type(info.annotation, info.metadata), optional=not info.is_required(), meaning=meaning)


def _of_type(annotation: Any, marks: list[Any]) -> Shape:
    """Return what a type with these annotations holds; optional or not is the same."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return _of_type(next(kind for kind in inner if kind is not NoneType), marks)
    if origin is Annotated:
        return _of_type(inner[0], [*marks, *inner[1:]])
    quantity = next((mark for mark in marks if isinstance(mark, Quantity)), None)
    if origin is tuple:
        entry = _of_type(inner[0], [])
        named = entry.kind in ("choice", "text")
        return Shape("names" if named else "list", quantity, words=entry.words, entry=entry)
    if origin is dict:
        return Shape("keyed", entry=_of_type(inner[1], []))
    if isinstance(annotation, type) and issubclass(annotation, FrozenModel):
        return Shape("table", model=annotation)
    words = inner if origin is Literal else ()
    return Shape(quantity.kind if quantity else "choice" if words else "text", quantity, words)


def quantity_at(model: type[FrozenModel], path: str) -> Quantity | None:
    """Return what the field at a dotted path accepts; None if there is no such field or it is not a quantity."""
    shape: Shape | None = Shape("table", model=model)
    for part in path.split("."):
        if shape is None:
            return None
        if shape.kind in ("list", "keyed"):
            shape = shape.entry  # the part is the name of an entry
        else:
            shape = fields_of(shape.model).get(part) if shape.model else None
    return shape.quantity if shape else None


def fields_below(model: type[FrozenModel]) -> set[str]:
    """Return the names, as in a file, of all fields of a model and of the models in it."""
    found = set(fields_of(model))
    for shape in fields_of(model).values():
        inner = shape.model or (shape.entry.model if shape.entry else None)
        found |= fields_below(inner) if inner else set()
    return found
