"""The JSON Schema of a model file, for editors and other tools."""

from __future__ import annotations

from typing import Any

from btflow.config.kinds import SWARMS, ModelKind
from btflow.config.parameters import Parameter
from btflow.errors import InputError

_REFERENCES = {
    "Client": "clients",
    "Transport": "transports",
    "Sockets": "sockets",
    "PathMatrix": "paths",
    "PathModel": "internet",
    "AccessLink": "access",
    "CongestionControl": "congestion",
    "Codec": "codecs",
}
_NAMED = {"classes": "PeerClass", "access": "AccessLink", "flows": "Flow"}
_LEAST = {"classes": 2, "access": 0, "flows": 1}


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
    return _schema(_kind(kind))


def _kind(kind: str) -> ModelKind[Any]:
    from btflow.link.kind import LINKS

    return SWARMS if kind == "swarm" else LINKS


def _schema(kind: ModelKind[Any]) -> dict[str, Any]:
    result = kind.model.model_json_schema()
    definitions = result["$defs"]
    definitions["Parameter"] = Parameter.model_json_schema()
    del definitions["Parameter"]["properties"]["default"]
    _key_is_name(definitions["Parameter"])
    for table in kind.named:
        entry = definitions[_NAMED[table]]
        _key_is_name(entry)
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
    for name, folder in _REFERENCES.items():
        if name in definitions:
            definitions[name] = _or_name(definitions[name], folder)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **result,
        "title": "btflow model file",
    }


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
