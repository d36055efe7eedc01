"""Finds the field of a model that a dotted path such as ``classes.seed.upload_limit`` names."""

from __future__ import annotations

from typing import Any, get_args, get_origin

from btflow.quantity import FrozenModel, Quantity, quantity_of


def quantity_at(model: type[FrozenModel], path: str) -> Quantity | None:
    """Return what the field at a dotted path accepts; None if there is no such field or it is not a quantity."""
    *tables, field = path.split(".")
    here: type[FrozenModel] | None = model
    while tables and here:
        table = tables.pop(0)
        found = here.model_fields.get(table)
        if found is not None and get_origin(found.annotation) is tuple:
            del tables[:1]  # the name of an entry
        here = _model_of(here, table)
    return quantity_of(here, field) if here and field in here.model_fields else None


def fields_below(model: type[FrozenModel]) -> set[str]:
    """Return the names, as in a file, of all fields of a model and of the models in it."""
    found = {info.alias or name for name, info in model.model_fields.items()}
    for name in model.model_fields:
        inner = _model_of(model, name)
        found |= fields_below(inner) if inner else set()
    return found


def _model_of(model: type[FrozenModel], field: str) -> type[FrozenModel] | None:
    """Return the model that a field holds: alone, in a tuple or optionally."""
    annotation: Any = model.model_fields[field].annotation if field in model.model_fields else None
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, FrozenModel):
            return kind
    return None
