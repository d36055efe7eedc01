"""Pydantic types for quantities: texts with units outside, SI numbers inside."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from btflow.units import KINDS, BytePrefix, Kind, Value, format_quantity, parse_quantity, pattern
from btflow.units.course import Course, is_course, read_course


class FrozenModel(BaseModel):
    """Base of every scenario model: immutable, no unknown fields, docstrings as descriptions."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


@dataclass(frozen=True, slots=True)
class Quantity:
    """Marks an annotated int, float or bool as a quantity of one kind, read by ``btflow.units``.

    Attributes:
        kind: What the field holds.
        minimum: Smallest allowed value, SI units; None for the kind's own limit.
        maximum: Largest allowed value, SI units; None for the kind's own limit.
        unlimited: Whether ``unlimited`` or ``none`` is taken too, as infinity.
        steps: Whether it may change while an experiment runs; then it is a ``btflow.units.course.Course``.
    """

    kind: Kind
    minimum: float | None = None
    maximum: float | None = None
    unlimited: bool = False
    steps: bool = False

    def read(self, value: object, field: str, byte_prefix: BytePrefix) -> Value:
        """Return ``value`` in SI units; a UnitError of the field if it is out of range or of another kind."""
        if self.steps and isinstance(value, Course):
            return value
        if self.steps and is_course(value):
            one = replace(self, unlimited=False, steps=False)
            return read_course(value, self.kind, field, lambda text: one.read(text, field, byte_prefix))
        return parse_quantity(
            value,
            self.kind,
            field=field,
            byte_prefix=byte_prefix,
            minimum=self.minimum,
            maximum=self.maximum,
            unlimited=self.unlimited,
        )

    def parse(self, value: object, info: core_schema.ValidationInfo) -> Value:
        """Return ``value`` in SI units; the validation context says what ``kB`` means."""
        return self.read(value, info.field_name or "value", (info.context or {}).get("byte_prefix", "decimal"))

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        if self.steps:  # pydantic would make a plain float of it
            return core_schema.with_info_plain_validator_function(self.parse)
        return core_schema.with_info_before_validator_function(self.parse, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe the text form, alone or as ``{value = ..., source = ...}``."""
        if self.kind in ("choice", "text"):
            return sourced(handler(schema))
        if self.kind == "names":
            return sourced({"anyOf": [handler(schema), {"type": "string", "x-kind": "names"}]})
        bare: JsonSchemaValue = {"type": _JSON_TYPES[self.kind], "x-kind": self.kind}
        info = KINDS[self.kind]
        low = info.minimum if self.minimum is None else self.minimum
        high = info.maximum if self.maximum is None else self.maximum
        if self.kind == "flag":
            return sourced(bare)
        if self.kind == "count":
            return sourced(bare | {"minimum": low, "maximum": high})
        bare["pattern"] = pattern(self.kind)
        if self.kind == "buffer":
            return sourced(bare)
        if self.unlimited:
            bare["pattern"] = rf"^(unlimited|none)$|{bare['pattern']}"
        if self.steps:
            bare["pattern"] += "|[,@]|^trace:"
        limits = [format_quantity(float(bound), self.kind) for bound in (low, high)]
        return sourced(bare | {"x-si-unit": info.unit, "x-minimum": limits[0], "x-maximum": limits[1]})


def quantity_of(model: type[BaseModel], field: str) -> Quantity | None:
    """Return what a field of a model accepts, None if it is not a quantity."""
    found = model.model_fields[field]
    optional = [mark for kind in get_args(found.annotation) for mark in getattr(kind, "__metadata__", ())]
    return next((mark for mark in (*found.metadata, *optional) if isinstance(mark, Quantity)), None)


def text_of(model: BaseModel, field: str) -> str:
    """Return the value of a model's quantity as a text with its unit."""
    quantity = quantity_of(type(model), field)
    assert quantity is not None
    return format_quantity(getattr(model, field), quantity.kind)


_JSON_TYPES: dict[Kind, str | list[str]] = {
    "size": "string",
    "rate": "string",
    "bitrate": "string",
    "time": "string",
    "packets": "string",
    "buffer": "string",
    "fraction": ["string", "number"],
    "count": "integer",
    "flag": "boolean",
}


def sourced(schema: JsonSchemaValue) -> JsonSchemaValue:
    """Return a schema that also takes the value in a table that names its source."""
    table = {
        "type": "object",
        "properties": {"value": schema, "source": {"type": "string"}},
        "required": ["value", "source"],
        "additionalProperties": False,
    }
    return {"anyOf": [schema, table]}
