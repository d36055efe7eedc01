"""From the content of a model file to a scenario: apply the parameters, then validate."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from btflow.errors import ScenarioError
from btflow.parameters import Parameter, resolve
from btflow.scenario import Scenario
from btflow.translate import Knob, translated
from btflow.units import BytePrefix, format_quantity

Tree = dict[str, Any]


@dataclass(frozen=True)
class Document:
    """A model file with its references resolved, ready to be built with any parameter values.

    Attributes:
        tree: The scenario's fields as in the file, without parameters and sources.
        parameters: The declared parameters by name.
        sources: Where each number is from, by the dotted path of its field.
    """

    tree: Tree
    parameters: Mapping[str, Parameter]
    sources: Mapping[str, str]

    @property
    def byte_prefix(self) -> BytePrefix:
        """What kB means in this file."""
        return "binary" if self.tree.get("byte_prefix") == "binary" else "decimal"

    def build(self, given: Mapping[str, object]) -> Scenario:
        """Return the scenario with the parameter values given; the others keep their defaults.

        Raises:
            InputError: A parameter or a field is wrong; all problems at once.
        """
        values = resolve(self.parameters, given, self.byte_prefix)
        tree = copy.deepcopy(self.tree)
        shown: dict[str, str] = {}
        knobs: dict[str, Knob] = {}
        for name, value in values.items():
            parameter = self.parameters[name]
            for path in parameter.sets:
                _assign(tree, path, parameter.field_value(value, self.byte_prefix), name)
                knob = name if name in given else parameter.default_from or name
                knobs[path] = Knob(knob, given.get(knob))
            shown[name] = format_quantity(value, parameter.kind, byte_prefix=self.byte_prefix)
        scenario = _validate(tree, self.byte_prefix, knobs)
        return scenario.attach(shown, given, self.build)


def _assign(tree: Tree, path: str, value: object, parameter: str) -> None:
    """Set the field at a dotted path whose tables exist."""
    *tables, field = path.split(".")
    here: Any = tree
    for table in tables:
        here = here.get(table) if isinstance(here, dict) else None
    if not isinstance(here, dict):
        raise ScenarioError(f"parameters.{parameter}.sets", path, "is in a table that is not there")
    here[field] = value


def _validate(tree: Tree, byte_prefix: BytePrefix, knobs: Mapping[str, Knob]) -> Scenario:
    """Return the validated scenario; its matrix is dropped if no class has a location."""
    classes = tree.get("classes")
    if not isinstance(classes, dict) or not all(isinstance(c, dict) for c in classes.values()):
        raise ScenarioError("classes", None, "has no table for each class, such as [classes.seed]")
    fields = tree | {"classes": [{"name": name} | body for name, body in classes.items()]}
    try:
        scenario = Scenario.model_validate(fields, context={"byte_prefix": byte_prefix})
    except ValidationError as error:
        raise translated(error, list(classes), knobs) from None
    if any(c.location for c in scenario.classes):
        return scenario
    return scenario.model_copy(update={"paths": scenario.paths.model_copy(update={"matrix": None})})
