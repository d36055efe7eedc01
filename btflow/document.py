"""From the content of a model file to a scenario: apply the parameters and settings, then validate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Generic

from pydantic import ValidationError

from btflow.assignment import Assigner, Assignment
from btflow.errors import ScenarioError
from btflow.kinds import Model, ModelKind
from btflow.parameters import Parameter
from btflow.parts import Parts
from btflow.superseded import superseded
from btflow.translate import translated
from btflow.tree import NOTHING, Tree, put
from btflow.units import BytePrefix


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
        folder: What the paths in the file are relative to.
    """

    kind: ModelKind[Model]
    tree: Tree
    parameters: Mapping[str, Parameter]
    sources: Mapping[str, str]
    referred: Mapping[str, Mapping[str, Tree]]
    sweep: Any = field(default_factory=dict)
    folder: Path = Path()

    @property
    def byte_prefix(self) -> BytePrefix:
        """What kB means in this file."""
        return "binary" if self.tree.get("byte_prefix") == "binary" else "decimal"

    def has_values(self, name: str) -> bool:
        """Return whether a name is a parameter with values of its own, not one that stands for a field of files."""
        return name in self.parameters and self.parameters[name].kind != "file"

    @cached_property
    def assigner(self) -> Assigner:
        """What finds the fields that parameters and paths set."""
        return Assigner(self.kind, self.tree, self.parameters, self.referred, self.byte_prefix)

    @cached_property
    def parts(self) -> Parts[Model]:
        """What makes the model of the tables it kept."""
        return Parts(self.kind, self.tree, self.byte_prefix)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy in another process needs: not what was kept for speed."""
        return {name: value for name, value in self.__dict__.items() if name in self.__dataclass_fields__}

    def build(self, given: Mapping[str, object]) -> Model:
        """Return the scenario with some parameters and fields set; the others are as in the file.

        Args:
            given: Values by parameter name, or by the dotted path of a field.

        Raises:
            InputError: A parameter or a field is wrong; all problems at once.
        """
        assignment = self.assigner.assign(given)
        try:
            model = self.parts.make(assignment.settings)
        except ValueError:  # the whole says all that is wrong
            model = self.build_whole(assignment, given)
        without_effect = list(self.kind.unused(model, assignment.own.keys()))
        if without_effect:
            raise ScenarioError.all_of(without_effect)
        return model.attach(assignment.shown, given, self)

    def content(self, assignment: Assignment) -> Tree:
        """Return what the file would hold with these settings."""
        tree = self.tree
        for keys, setting in assignment.settings.items():
            tree = put(tree, keys, setting.content, setting.parameter)
        return tree

    def standing_alone(self, given: Mapping[str, object]) -> Tree:
        """Return what a file without parameters would hold that gives the same model; arguments as in ``build``.

        What another field takes the place of is left out: beside that one, a file may not have it.
        """
        assignment = self.assigner.assign(given)
        tree = self.content(assignment)
        for keys in superseded(self.kind, self.tree, assignment.settings):
            tree = put(tree, keys, NOTHING)
        return tree

    def build_whole(self, assignment: Assignment, given: Mapping[str, object]) -> Model:
        """Return the model with all of its tables validated anew; arguments as made and given in ``build``."""
        tree = self.content(assignment)
        fields, entries = dict(tree), {}
        for table, (noun, example) in self.kind.named.items():
            found = tree.get(table)
            if not isinstance(found, dict) or not all(isinstance(entry, dict) for entry in found.values()):
                raise ScenarioError(table, None, f"has no table for each {noun}, such as [{table}.{example}]")
            fields[table] = [{**entry, "name": name} for name, entry in found.items()]
            entries[table] = list(found)
        try:
            model = self.kind.model.model_validate(fields, context={"byte_prefix": self.byte_prefix})
        except ValidationError as error:
            raise translated(error, self.kind.model, entries, assignment.knobs(self.parameters, given)) from None
        return self.kind.finish(model)
