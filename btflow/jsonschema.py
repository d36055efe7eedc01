"""The JSON Schema of a model file, for editors and other tools."""

from __future__ import annotations

from typing import Any

from btflow.parameters import Parameter
from btflow.scenario import Scenario

_REFERENCES = {"Client": "clients", "Transport": "transports", "PathMatrix": "paths"}


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a model file.

    Quantities are texts with a unit; ``x-kind``, ``x-si-unit``, ``x-minimum`` and ``x-maximum`` say
    what they accept. Any quantity may also be a table ``{value = ..., source = ...}``.
    """
    result = Scenario.model_json_schema()
    definitions = result["$defs"]
    definitions["Parameter"] = Parameter.model_json_schema()
    del definitions["Parameter"]["properties"]["default"]
    definitions["PeerClass"]["required"].remove("upload_limit")  # a parameter may set it
    for definition in (definitions["PeerClass"], definitions["Parameter"]):
        _key_is_name(definition)
    result["properties"]["classes"] |= {"type": "object", "minProperties": 2}
    peer_class = result["properties"]["classes"].pop("items")
    result["properties"]["classes"]["additionalProperties"] = peer_class
    result["properties"]["parameters"] = {
        "description": "The model's independent variables, by name.",
        "type": "object",
        "additionalProperties": {"$ref": "#/$defs/Parameter"},
    }
    for name, folder in _REFERENCES.items():
        definitions[name] = _or_name(definitions[name], folder)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **result,
        "title": "btflow model file",
    }


def _key_is_name(definition: dict[str, Any]) -> None:
    """Take the name out of a table's fields: in a file it is the table's key."""
    del definition["properties"]["name"]
    definition["required"].remove("name")


def _or_name(definition: dict[str, Any], folder: str) -> dict[str, Any]:
    """Return a schema that takes a table, a name in ``models/``, or a table based on a name."""
    name = {"type": "string", "description": f"name of a file in {folder}, or a path to one"}
    based = definition | {"properties": definition["properties"] | {"base": name}}
    based["required"] = ["base"]
    return {"description": definition.get("description", ""), "anyOf": [name, definition, based]}
