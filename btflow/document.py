"""From the content of a model file to a scenario: apply the parameters, then validate."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic

from pydantic import ValidationError

from btflow.errors import ScenarioError
from btflow.kinds import Model, ModelKind
from btflow.parameters import Parameter, resolve
from btflow.translate import Knob, translated
from btflow.units import BytePrefix, format_quantity

Tree = dict[str, Any]


@dataclass(frozen=True)
class Document(Generic[Model]):
    """A model file with its references resolved, ready to be built with any parameter values.

    Attributes:
        kind: What kind of model it is.
        tree: The scenario's fields as in the file, without parameters and sources.
        parameters: The declared parameters by name.
        sources: Where each number is from, by the dotted path of its field.
        referred: The content of each file that a parameter may name, by the field's path and the name.
        sweep: The file's table of that name, as it is.
    """

    kind: ModelKind[Model]
    tree: Tree
    parameters: Mapping[str, Parameter]
    sources: Mapping[str, str]
    referred: Mapping[str, Mapping[str, Tree]]
    sweep: Any = field(default_factory=dict)

    @property
    def byte_prefix(self) -> BytePrefix:
        """What kB means in this file."""
        return "binary" if self.tree.get("byte_prefix") == "binary" else "decimal"

    def build(self, given: Mapping[str, object]) -> Model:
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
            for path, text in zip(parameter.sets, parameter.field_values(value, self.byte_prefix), strict=True):
                content = copy.deepcopy(self.referred[path][text]) if path in self.referred else text
                _assign(tree, path, content, name)
                knob = name if name in given else parameter.default_from or name
                knobs[path] = Knob(knob, given.get(knob))
            shown[name] = format_quantity(value, parameter.kind, byte_prefix=self.byte_prefix)
        scenario = _validate(self.kind, tree, self.byte_prefix, knobs)
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


def _validate(kind: ModelKind[Model], tree: Tree, byte_prefix: BytePrefix, knobs: Mapping[str, Knob]) -> Model:
    """Return the validated model."""
    fields, names = dict(tree), {}
    for table, (noun, example) in kind.named.items():
        entries = tree.get(table)
        if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
            raise ScenarioError(table, None, f"has no table for each {noun}, such as [{table}.{example}]")
        fields[table] = [{**entry, "name": name} for name, entry in entries.items()]
        names[table] = list(entries)
    try:
        model = kind.model.model_validate(fields, context={"byte_prefix": byte_prefix})
    except ValidationError as error:
        raise translated(error, kind.model, names, knobs) from None
    return kind.finish(model)
