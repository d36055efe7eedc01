"""A model file read in, and the scenarios that are made of it: all tables validated at once, those kept that stay."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Generic

from pydantic import ValidationError

from btflow.config.files import NOTHING, Keys, Tree, put
from btflow.config.kinds import Model, ModelKind
from btflow.config.overrides import Assigner, Assignment
from btflow.config.parameters import Parameter
from btflow.config.problems import Knob, translated
from btflow.config.values import Setting
from btflow.errors import ScenarioError
from btflow.units import BytePrefix, Value
from btflow.units.quantity import FrozenModel

_MOST_KEPT = 2048

_Table = tuple[Keys, tuple[tuple[Keys, str, Value, str], ...]]
"""Where a table is, and what is set in it or around it: fields, texts, values, and the parameters that set them."""


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
    def _made(self) -> dict[_Table, FrozenModel]:
        """What tables made before: a frozen model is taken as it is by the one that holds it.

        So a sweep's point validates what it changes, and that once.
        """
        return {}

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
        new: dict[Keys, _Table] = {}
        fields, names = self._entries(self._with_made(assignment.tree, (), [*assignment.settings.items()], new))
        try:
            validated = self.kind.model.model_validate(fields, context={"byte_prefix": self.byte_prefix})
        except ValidationError as error:
            raise translated(error, self.kind.model, names, self._knobs(assignment, given)) from None
        self._keep(new, validated)
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

    def _with_made(self, content: Any, at: Keys, settings: list[tuple[Keys, Setting]], new: dict[Keys, _Table]) -> Any:
        """Return a content with models in place of the tables in it that made one before.

        Args:
            content: What is there.
            at: Where that is.
            settings: What is set in it or around it.
            new: The other tables are added here.
        """
        if not isinstance(content, dict):
            return content
        table = (at, tuple((keys, s.text, s.value, s.parameter) for keys, s in settings))
        made = self._made.get(table)
        if made is not None:
            return made
        new[at], depth = table, len(at)
        fields = {}
        for key, inner in content.items():
            inside = [one for one in settings if len(one[0]) <= depth or one[0][depth] == key]
            fields[key] = self._with_made(inner, (*at, key), inside, new)
        return fields

    def _entries(self, fields: Tree) -> tuple[Tree, dict[str, list[str]]]:
        """Return the fields as the model takes them, tables of entries as lists, and the names of the entries."""
        lists, names = {}, {}
        for table, (noun, example) in self.kind.named.items():
            entries = fields.get(table)
            if not isinstance(entries, dict) or not all(isinstance(e, dict | FrozenModel) for e in entries.values()):
                raise ScenarioError(table, None, f"has no table for each {noun}, such as [{table}.{example}]")
            lists[table] = [{**e, "name": n} if isinstance(e, dict) else e for n, e in entries.items()]
            names[table] = list(entries)
        return fields | lists, names

    def _keep(self, new: Mapping[Keys, _Table], model: FrozenModel) -> None:
        """Remember what tables made, but for the whole."""
        if len(self._made) >= _MOST_KEPT:
            self._made.clear()
        for keys, table in new.items():
            made = _at(model, keys)
            if keys and isinstance(made, FrozenModel):
                self._made[table] = made

    def _knobs(self, assignment: Assignment, given: Mapping[str, object]) -> dict[str, Knob]:
        """Return what set each field, by its dotted path, and to what as it was given."""
        found = {}
        for keys, name in assignment.setters.items():
            leader = None if name in given else self.parameters[name].default_from
            found[".".join(keys)] = Knob(leader or name, given.get(leader or name))
        return found


def _at(model: Any, keys: Keys) -> Any:
    """Return what the table with these keys became in a model."""
    for key in keys:
        if isinstance(model, tuple):
            model = next(entry for entry in model if entry.name == key)
        else:
            model = model[key] if isinstance(model, dict) else getattr(model, key)
    return model
