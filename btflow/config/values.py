"""Reads the value given for a field of a model: whatever a file may have there, and always a text too."""

import os
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from btflow.config.fields import Place, Shape
from btflow.config.files import NOTHING, inline, names, read_inline, reference, resolved, split_sources
from btflow.errors import ScenarioError, UnitError
from btflow.paths.model import PathModel
from btflow.units import BytePrefix, Value, as_in_file, format_quantity
from btflow.units.quantity import Quantity


class Setting(NamedTuple):
    """What a field is set to.

    Attributes:
        content: As in a file, references resolved; ``NOTHING`` to leave the field out.
        text: As a text that is read back as the same.
        value: In SI units, if it is a quantity; else the text.
        parameter: The parameter that sets it, empty if its path does.
    """

    content: Any
    text: str
    value: Value
    parameter: str = ""


def read_setting(place: Place, given: object, name: str, byte_prefix: BytePrefix) -> Setting:
    """Return what a value given for a field makes of it.

    Args:
        place: The field.
        given: The value: a text, or what a file may have there; None to leave the field out.
        name: What the value was given for.
        byte_prefix: What ``kB`` means.

    Raises:
        InputError: It is not a value of that field.
    """
    shape = place.shape
    if given is None and not shape.optional:
        raise UnitError(name, "none", "is not known: the field cannot be left out", _allowed(place))
    if given is None or (isinstance(given, str) and given.strip() == "none" and _leaves_out(shape)):
        return Setting(NOTHING, "none", "none")
    if shape.kind in ("table", "keyed", "list"):
        return _read_composed(place, given, name, byte_prefix)
    if shape.kind == "names" and isinstance(given, str) and given.strip().startswith("["):
        given = read_inline(given.strip(), name)
    value = read_value(shape, given, name, byte_prefix)
    text = format_quantity(value, shape.value_kind, byte_prefix=byte_prefix)
    return Setting(as_in_file(value, shape.value_kind, byte_prefix), text, value)


def read_value(shape: Shape, given: object, name: str, byte_prefix: BytePrefix) -> Value:
    """Return the value of a field that is no table and no list, in SI units.

    Raises:
        UnitError: It is of another kind, out of range, or not one of the words allowed.
    """
    value = (shape.quantity or Quantity(shape.value_kind)).read(given, name, byte_prefix)
    for word in value if isinstance(value, tuple) else (value,):
        if shape.words and word not in shape.words:
            raise UnitError(name, given, "is unknown", ", ".join(shape.words))
    return value


def _leaves_out(shape: Shape) -> bool:
    """Whether ``none`` leaves the field out; it may also mean no limit, or no names."""
    return shape.optional and shape.kind != "names" and not (shape.quantity and shape.quantity.unlimited)


def _read_composed(place: Place, given: object, name: str, byte_prefix: BytePrefix) -> Setting:
    """Return what a name, a path, a table or a list makes of a field that holds a table or a list."""
    value = os.fspath(given) if isinstance(given, PathLike) else given
    value = value.strip() if isinstance(value, str) else value
    if isinstance(value, PathModel):
        value = value.content()
    if isinstance(value, str) and value[:1] in ("{", "["):
        value = read_inline(value, name)
    if place.shape.kind == "list":
        return _read_list(place.shape, value, name, byte_prefix)
    if place.folder is not None:
        content = split_sources(reference(value, place.folder, Path(), name), name)[0]
    elif isinstance(value, dict):
        content = value
        for path, folder in place.below:
            content = resolved(content, path.split("."), folder, Path(), name)
        content = split_sources(content, name)[0]
    else:
        raise ScenarioError(name, given, "is not a table", _allowed(place))
    text = value if isinstance(value, str) else inline(value)
    return Setting(content, text, text)


def _read_list(shape: Shape, value: object, name: str, byte_prefix: BytePrefix) -> Setting:
    """Return what a list, or texts with commas between them, makes of a field that holds a list."""
    assert shape.entry is not None
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    tables = shape.entry.kind == "table"
    if not isinstance(value, list | tuple) or (tables and not all(isinstance(one, dict) for one in value)):
        allowed = "tables such as [{ name = value }]" if tables else "values with commas between them"
        raise ScenarioError(name, value, "is not a list", allowed)
    if tables:
        text = inline(value)
        return Setting(list(value), text, text)
    values = [read_value(shape.entry, one, name, byte_prefix) for one in value]
    texts = [format_quantity(one, shape.entry.value_kind, byte_prefix=byte_prefix) for one in values]
    text = ",".join(texts) or "[]"
    return Setting(texts, text, text)


def _allowed(place: Place) -> str:
    """Return what a field takes, in words."""
    if place.folder is not None:
        return ", ".join(names(place.folder)) + ", the path of a .toml file, or a table"
    if place.shape.words:
        return ", ".join(place.shape.words)
    return "a table such as { name = value }" if place.shape.kind in ("table", "keyed") else "a value"
