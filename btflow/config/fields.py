"""What the fields of a model file hold, read off the models, and which fields a dotted path names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from btflow.config.files import Keys, present
from btflow.config.kinds import ModelKind
from btflow.errors import ScenarioError
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
    meaning = _UNIT.sub("", " ".join((info.description or "").replace("`", "").split())).rstrip(".")
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


def shape_at(model: type[FrozenModel], path: str) -> Shape | None:
    """Return what the field at a dotted path holds, None if there is none; any key is the name of an entry."""
    shape: Shape | None = Shape("table", model=model)
    for part in path.split("."):
        if shape is None:
            return None
        if shape.kind in ("list", "keyed"):
            shape = shape.entry  # the part is the name of an entry
        else:
            shape = fields_of(shape.model).get(part) if shape.model else None
    return shape


def fields_below(model: type[FrozenModel]) -> set[str]:
    """Return the names, as in a file, of all fields of a model and of the models in it."""
    found = set(fields_of(model))
    for shape in fields_of(model).values():
        inner = shape.model or (shape.entry.model if shape.entry else None)
        found |= fields_below(inner) if inner else set()
    return found


EVERY = "*"
"""In a path: every entry of a table of entries, such as every class."""

ALSO_CALLED = {"aqm": "discipline", "cc": "tcp", "rate": "upload_limit", "upload_slots": "slots"}
"""Fields that people look for under another name."""

_FIXED = {"byte_prefix": "it says what the units in the model's file mean"}


@dataclass(frozen=True)
class Place:
    """A field of one model file.

    Attributes:
        keys: Where it is in the file.
        shape: What it holds.
        folder: Where in ``models/`` the files are that it may name; None if it names none.
        below: The same of fields in it, by their dotted path from it on.
        needs: Tables on the way that must be there, since no single field makes one.
        new_key: A key on the way that its keyed table does not have in the file.
    """

    keys: Keys
    shape: Shape
    folder: str | None
    needs: tuple[Keys, ...] = ()
    new_key: str = ""
    below: tuple[tuple[str, str], ...] = ()


def places(kind: ModelKind[Any], tree: Mapping[str, Any], path: str) -> tuple[Place, ...]:
    """Return the fields of a model file that a path names: more than one if there is a ``*`` in it.

    Args:
        kind: What kind of model it is.
        tree: The file's content.
        path: Keys of tables and the field's own, with dots between them.

    Raises:
        ScenarioError: There is no such field; it says what there is at the part that is not known.
    """
    if path in _FIXED:
        raise ScenarioError(path, None, f"cannot be set: {_FIXED[path]}")
    root = Place((), Shape("table", model=kind.model), None)
    found = tuple(_walk(kind, path, root, tree, path.split(".")))
    for place in found:
        if place.keys[0] in kind.named and len(place.keys) == 1:
            what = kind.named[place.keys[0]][0]
            raise ScenarioError(path, None, f"is a table of one {what} each", f"a field of one, or of all: {path}.*")
    return found


def everywhere(kind: ModelKind[Any], tree: Mapping[str, Any]) -> Iterator[Place]:
    """Give every field that can be set in a model file, tables that name files among them."""
    return _below(kind, Place((), Shape("table", model=kind.model), None), tree)


def _walk(kind: ModelKind[Any], path: str, at: Place, node: Any, rest: list[str]) -> Iterator[Place]:
    """Give the places at the rest of a path, from a place whose content is ``node``."""
    if not rest:
        yield at
        return
    inner = _inside(kind, at, node)
    if rest[0] == EVERY and _has_entries(kind, at):
        for key, place in inner.items():
            yield from _walk(kind, path, place, present(node, (key,)), rest[1:])
        return
    key, length = _longest(inner, rest)
    if key in inner:
        yield from _walk(kind, path, inner[key], present(node, (key,)), rest[length:])
    elif at.shape.kind == "keyed" and at.shape.entry is not None:
        yield from _walk(kind, path, _step(kind, at, key, at.shape.entry, new_key=key), None, rest[length:])
    else:
        raise _unknown(path, at, key, [*inner, *([EVERY] if _has_entries(kind, at) else [])])


def _below(kind: ModelKind[Any], at: Place, node: Any) -> Iterator[Place]:
    """Give the places of the fields in a table that can be set one by one."""
    for key, place in _inside(kind, at, node).items():
        content = present(node, (key,))
        whole = place.shape.kind not in ("table", "keyed") or place.folder is not None
        if whole and not (place.shape.kind == "list" and _has_entries(kind, place)) and place.keys[0] not in _FIXED:
            yield place
        if isinstance(content, dict) or (content is None and place.shape.kind == "table" and place.folder is None):
            yield from _below(kind, place, content)


def _inside(kind: ModelKind[Any], at: Place, node: Any) -> dict[str, Place]:
    """Return the places one step further, by the key of the step."""
    shape = at.shape
    if shape.entry is not None and (shape.kind == "keyed" or _has_entries(kind, at)):
        return {key: _step(kind, at, key, shape.entry) for key in (node if isinstance(node, dict) else {})}
    if shape.model is None:
        return {}
    fields = dict(fields_of(shape.model))
    if len(at.keys) == 2 and at.keys[0] in kind.named:
        fields.pop("name", None)  # the key of the table is the name
    return {key: _step(kind, at, key, inner) for key, inner in fields.items()}


def _has_entries(kind: ModelKind[Any], at: Place) -> bool:
    return len(at.keys) == 1 and at.keys[0] in kind.named


def _step(kind: ModelKind[Any], at: Place, key: str, shape: Shape, new_key: str = "") -> Place:
    needs = (at.keys,) if at.folder is not None and not at.shape.makes_itself else ()
    keys = (*at.keys, key)
    return Place(keys, shape, kind.folder_of(keys), at.needs + needs, at.new_key or new_key, kind.folders_below(keys))


def _longest(known: Mapping[str, Place], rest: list[str]) -> tuple[str, int]:
    """Return the key that a path goes on with, and how many parts it is: a name may have dots in it."""
    for length in range(len(rest), 1, -1):
        if ".".join(rest[:length]) in known:
            return ".".join(rest[:length]), length
    return rest[0], 1


def _unknown(path: str, at: Place, key: str, known: list[str]) -> ScenarioError:
    """Return the error for a path whose part ``key`` is not there, with what is."""
    close = get_close_matches(key, known, n=3, cutoff=0.6)
    other = ALSO_CALLED.get(key)
    close += [other] if other in known and other not in close else []
    hint = f" (did you mean {' or '.join(close)}?)" if close else ""
    where = ".".join(at.keys) or "the model"
    if not known:
        return ScenarioError(path, None, f"is not a field: {where} has no fields of its own", where)
    return ScenarioError(path, None, f"is not a field: {where} has no {key!r}{hint}", ", ".join(known))
