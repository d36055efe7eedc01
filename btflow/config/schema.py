"""What may be given: the JSON Schema of a model file, and what a parameter or a field's path takes."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from btflow.config.document import Document
from btflow.config.fields import Shape, shape_at
from btflow.config.files import names
from btflow.config.kinds import ModelKind, ParametrisedModel
from btflow.config.parameters import Parameter
from btflow.config.values import Setting
from btflow.errors import InputError, UnitError
from btflow.swarm.scenario import SWARMS
from btflow.units import KINDS, Buffer, BytePrefix, Kind, format_quantity
from btflow.units.course import Course
from btflow.units.quantity import Quantity

_LEAST = {"classes": 2, "access": 0, "flows": 1}
"""Entries that a table has at least."""


_SWEEP: dict[str, Any] = {
    "description": "What `btflow sweep` varies if nothing else is said.",
    "type": "object",
    "properties": {
        "vary": {
            "description": "By name, or names separated by commas: a text, a value, a list of values or of groups.",
            "type": "object",
        },
        "set": {"description": "By name: what is set for all points.", "type": "object"},
        "sample": {"type": "string", "pattern": r"^\s*(sobol|lhs|random|saltelli)\s*:\s*[0-9]+\s*$"},
        "replicas": {"type": "integer", "minimum": 1},
        "seed": {"type": "integer", "minimum": 0},
        "common": {"type": "boolean"},
    },
    "additionalProperties": False,
}


def schema(kind: str = "swarm") -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a model file.

    Quantities are texts with a unit; ``x-kind``, ``x-si-unit``, ``x-minimum`` and ``x-maximum`` say
    what they accept. Any quantity may also be a table ``{value = ..., source = ...}``.

    Args:
        kind: ``swarm`` or ``link``.

    Raises:
        InputError: There is no such kind.
    """
    if kind not in ("swarm", "link"):
        raise InputError("kind", kind, "is unknown", "swarm or link")
    from btflow.link.scenario import LINKS

    return _schema(SWARMS if kind == "swarm" else LINKS)


def _schema(kind: ModelKind[Any]) -> dict[str, Any]:
    result = kind.model.model_json_schema()
    definitions = result["$defs"]
    definitions["Parameter"] = Parameter.model_json_schema()
    del definitions["Parameter"]["properties"]["default"]
    _key_is_name(definitions["Parameter"])
    for table in kind.named:
        _key_is_name(definitions[_name_at(kind, f"{table}.*")])
        result["properties"][table] |= {"type": "object", "minProperties": _LEAST[table]}
        result["properties"][table]["additionalProperties"] = result["properties"][table].pop("items")
    for name in ("PeerClass", "Queue"):  # a parameter may set these
        if name in definitions:
            optional = {"upload_limit", "rate"}
            definitions[name]["required"] = [f for f in definitions[name]["required"] if f not in optional]
    result["properties"]["parameters"] = {
        "description": "The model's independent variables, by name.",
        "type": "object",
        "additionalProperties": {"$ref": "#/$defs/Parameter"},
    }
    result["properties"]["sweep"] = _SWEEP
    for name, folder in {_name_at(kind, path): folder for path, folder in kind.references.items()}.items():
        definitions[name] = _or_name(definitions[name], folder)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **result, "title": "btflow model file"}


def _name_at(kind: ModelKind[Any], path: str) -> str:
    """Return the name of the model that the table at a dotted path holds."""
    shape = shape_at(kind.model, path)
    assert shape is not None
    assert shape.model is not None
    return shape.model.__name__


def _key_is_name(definition: dict[str, Any]) -> None:
    """Take the name out of a table's fields: in a file it is the table's key."""
    del definition["properties"]["name"]
    if "name" in definition.get("required", ()):
        definition["required"].remove("name")


def _or_name(definition: dict[str, Any], folder: str) -> dict[str, Any]:
    """Return a schema that takes a table, a name in ``models/``, or a table based on a name."""
    name = {"type": "string", "description": f"name of a file in {folder}, or a path to one"}
    based = definition | {"properties": definition["properties"] | {"base": name}}
    based["required"] = ["base"]
    return {"description": definition.get("description", ""), "anyOf": [name, definition, based]}


NUMBERS: tuple[Kind, ...] = ("size", "rate", "time", "fraction", "count", "packets")
"""Kinds whose values lie on a scale."""


@dataclass(frozen=True)
class Variable:
    """A parameter of a model, or a field by its path.

    Attributes:
        name: Name of the parameter, or the path as it was given.
        kind: What it takes; ``choice`` also for the names of files, ``text`` also for lists and tables.
        meaning: One line for people.
        words: Values that it takes; empty if those are not words, or any. File names may be paths and tables, too.
        limits: Least and greatest value, SI units; None if it is no number.
        optional: Whether ``none`` leaves the field out.
        byte_prefix: What ``kB`` means in the model.
        bits: Whether a rate is written in bit/s, as that of a link.
    """

    name: str
    kind: Kind
    meaning: str
    words: tuple[str, ...]
    limits: tuple[float, float] | None
    optional: bool
    byte_prefix: BytePrefix
    _read: Callable[[object], Setting] = field(repr=False)
    bits: bool = False

    @property
    def unit(self) -> str:
        """SI unit of its values, empty where there is none."""
        return KINDS[self.kind].unit

    def text(self, given: object) -> str:
        """Return the text that ``Scenario.parameters`` has for a value; an InputError if it is none."""
        return self._read(given).text

    def value(self, given: object) -> float | int | bool | str:
        """Return a value, given as to ``Scenario.set``, in SI units; those without one as their text.

        No limit is infinite. A number that is left out is NaN.

        Raises:
            InputError: It is not a value of this variable; the error has its name.
        """
        setting = self._read(given)
        if isinstance(setting.value, Course):
            raise UnitError(self.name, setting.text, "changes while it runs: it is no number", "one value, or --set")
        if self.kind in NUMBERS and isinstance(setting.value, str):
            return math.nan
        return setting.text if isinstance(setting.value, tuple | Buffer) else setting.value

    def from_si(self, value: float | int | bool | str) -> str:
        """Return the text that is read back as exactly this value in SI units: ``400 ms`` for 0.4 s."""
        if isinstance(value, str):
            return value
        kind: Kind = "bitrate" if self.bits else self.kind
        return "none" if math.isnan(value) else format_quantity(value, kind, byte_prefix=self.byte_prefix)


def describe(model: ParametrisedModel | Document[Any], name: str) -> Variable:
    """Return what a parameter or a dotted path, which may have a ``*`` in it, takes.

    Args:
        model: A scenario that was loaded, or the document of a model file.
        name: As for ``Scenario.set``.

    Raises:
        InputError: There is no such parameter or field, or the first is no model.
    """
    if not isinstance(model, ParametrisedModel | Document):
        raise InputError("model", model, "is not a scenario", 'such as btflow.load("rao2010")')
    document: Document[Any] = model.document if isinstance(model, ParametrisedModel) else model
    parameter = document.parameters.get(name)

    def read(given: object) -> Setting:
        return document.assigner.read(name, given).setting

    if parameter is not None and parameter.kind != "file":
        kind: Kind = _plain(parameter.kind)
        bits = parameter.kind == "bitrate"
        meaning, words, optional = parameter.meaning, parameter.words, False
        limits = _limits(kind, parameter.quantity)
    else:
        place = document.assigner.places(name)[0]
        kind, optional = _kind(place.shape, place.folder), place.shape.optional
        bits = place.shape.kind not in ("table", "keyed", "list") and place.shape.value_kind == "bitrate"
        meaning = place.shape.meaning if parameter is None else parameter.meaning
        words = place.shape.words if place.folder is None else names(place.folder)
        limits = _limits(kind, place.shape.quantity)
    return Variable(name, kind, meaning, words, limits, optional, document.byte_prefix, read, bits)


def _kind(shape: Shape, folder: str | None) -> Kind:
    """Return the kind of a field's values; what has none is a word or a text."""
    if shape.kind in ("table", "keyed", "list"):
        return "choice" if folder is not None else "text"
    return _plain(shape.value_kind)


def _plain(kind: Kind) -> Kind:
    """Return a kind; a link's rate is a rate, however it is written."""
    return "rate" if kind == "bitrate" else kind


def _limits(kind: Kind, quantity: Quantity | None) -> tuple[float, float] | None:
    if kind not in NUMBERS or quantity is None:
        return None
    low, high = quantity.minimum, quantity.maximum
    return KINDS[kind].minimum if low is None else low, KINDS[kind].maximum if high is None else high
