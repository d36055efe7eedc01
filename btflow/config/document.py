"""A model file read in, and the scenarios that are made of it: all tables validated at once, those kept that stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Generic

from pydantic import ValidationError

from btflow.config.files import NOTHING, Keys, Tree, matching, present, put
from btflow.config.kinds import Model, ModelKind
from btflow.config.overrides import Assigner, Assignment
from btflow.config.parameters import Parameter
from btflow.config.problems import Knob, translated
from btflow.errors import ScenarioError
from btflow.units import BytePrefix
from btflow.units.quantity import FrozenModel


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
    def _made(self) -> dict[int, FrozenModel]:
        """What tables of the file make, by the table's id: a frozen model is taken as it is by the one that holds it.

        A table in which something is set is another one. So a sweep's point validates what it changes.
        """
        return {}

    @cached_property
    def _unmade(self) -> dict[Keys, Tree]:
        """The tables that make a model which may be kept, and are not made yet."""
        base = self.assigner.base
        return {keys: table for pattern in self.kind.parts for keys, table in matching(base, pattern.split("."))}

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
        fields, names = self._fields(assignment.tree)
        try:
            validated = self.kind.model.model_validate(fields, context={"byte_prefix": self.byte_prefix})
        except ValidationError as error:
            raise translated(error, self.kind.model, names, self._knobs(assignment, given)) from None
        self._keep(assignment.tree, validated)
        model = self.kind.finish(validated)
        without_effect = list(self.kind.unused(model, assignment.own.keys()))
        if without_effect:
            raise ScenarioError.all_of(without_effect)
        return model.attach(assignment.shown, given, self)

    def standing_alone(self, given: Mapping[str, object]) -> Tree:
        """Return what a file without parameters would hold that gives the same model; arguments as in ``build``.

        What another field takes the place of is left out: beside that one, a file may not have it.
        """
        tree = self.assigner.assign(given).tree
        for keys in self.assigner.superseded(tree):
            tree = put(tree, keys, NOTHING)
        return tree

    def _fields(self, tree: Tree) -> tuple[Tree, dict[str, list[str]]]:
        """Return a content as the model takes it, and the names of the entries of the tables that become lists."""
        fields, names = self._with_made(tree), {}
        for table, (noun, example) in self.kind.named.items():
            found = fields.get(table)
            if not isinstance(found, dict) or not all(
                isinstance(entry, dict | FrozenModel) for entry in found.values()
            ):
                raise ScenarioError(table, None, f"has no table for each {noun}, such as [{table}.{example}]")
            fields[table] = [
                entry if isinstance(entry, FrozenModel) else {**entry, "name": name} for name, entry in found.items()
            ]
            names[table] = list(found)
        return fields, names

    def _with_made(self, table: Tree) -> Tree:
        """Return a table with the models in place of the tables in it that made one before."""
        fields: Tree = {}
        for key, value in table.items():
            made = self._made.get(id(value))
            fields[key] = (
                self._with_made(value) if made is None and isinstance(value, dict) else value if made is None else made
            )
        return fields

    def _keep(self, tree: Tree, model: FrozenModel) -> None:
        """Remember what the tables of the file made, those in which nothing was set."""
        for keys, table in list(self._unmade.items()):
            if present(tree, keys) is table:
                self._made[id(table)] = _at(model, keys)
                self._unmade.pop(keys, None)

    def _knobs(self, assignment: Assignment, given: Mapping[str, object]) -> dict[str, Knob]:
        """Return what set each field, by its dotted path, and to what as it was given."""
        found = {}
        for keys, name in assignment.setters.items():
            leader = None if name in given else self.parameters[name].default_from
            found[".".join(keys)] = Knob(leader or name, given.get(leader or name))
        return found


def _at(model: Any, keys: Keys) -> FrozenModel:
    """Return the model within another one that the table with these keys made."""
    for key in keys:
        model = next(one for one in model if one.name == key) if isinstance(model, tuple) else getattr(model, key)
    assert isinstance(model, FrozenModel)
    return model
