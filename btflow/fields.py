"""Finds the field of a scenario that a dotted path such as ``classes.seed.upload_limit`` names."""

from __future__ import annotations

from typing import Any, get_args

from btflow.quantity import FrozenModel, Quantity, quantity_of
from btflow.scenario import Scenario


def quantity_at(path: str) -> Quantity | None:
    """Return what the field at a dotted path accepts; None if there is no such field or it is not a quantity."""
    *tables, field = path.split(".")
    if tables[:1] == ["classes"]:
        del tables[1:2]  # the name of a class
    model: type[FrozenModel] | None = Scenario
    for table in tables:
        model = model and _model_of(model, table)
    return quantity_of(model, field) if model and field in model.model_fields else None


def _model_of(model: type[FrozenModel], field: str) -> type[FrozenModel] | None:
    """Return the model that a field holds: alone, in a tuple or optionally."""
    annotation: Any = model.model_fields[field].annotation if field in model.model_fields else None
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, FrozenModel):
            return kind
    return None
