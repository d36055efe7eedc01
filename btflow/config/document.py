"""From a model file's tables to a scenario: parameters and settings applied, each table validated, and kept."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Generic

from pydantic import ValidationError

from btflow.config.fields import Shape, fields_of
from btflow.config.kinds import Model, ModelKind, matches
from btflow.config.overrides import Assigner, Assignment, superseded
from btflow.config.parameters import Parameter
from btflow.config.problems import translated
from btflow.config.toml import NOTHING, Keys, Tree, matching, put
from btflow.config.values import Setting
from btflow.errors import ScenarioError
from btflow.units import BytePrefix
from btflow.units.quantity import FrozenModel

_MOST_KEPT = 2048

Changes = Mapping[Keys, list[tuple[Keys, Setting]]]
"""What is set in each part, by keys within the part."""


class Parts(Generic[Model]):
    """A model file cut into the tables that can be validated by themselves.

    A frozen table is taken as it is by the model that holds it, which still makes all of its own checks. So a model
    made here is that which the whole file gives; whatever is wrong ends in a ValueError, of which only the whole file
    tells all there is to say.
    """

    def __init__(self, kind: ModelKind[Model], tree: Tree, byte_prefix: BytePrefix) -> None:
        self._kind, self._tree = kind, tree
        self._context = {"byte_prefix": byte_prefix}
        self._base = {keys: table for pattern in kind.parts for keys, table in matching(tree, pattern.split("."))}
        self._inner: dict[Keys, tuple[Keys, ...]] = {}
        self._part_of: dict[Keys, Keys | None] = {}
        self._kept: dict[Hashable, FrozenModel] = {}

    def make(self, settings: Mapping[Keys, Setting]) -> Model:
        """Return the model with some of its fields set.

        Raises:
            ValueError: It is not valid, or has to be made as a whole.
        """
        changes: dict[Keys, list[tuple[Keys, Setting]]] = {}
        for keys, setting in settings.items():
            part = self._find_part(keys)
            changes.setdefault(part, []).append((keys[len(part) :], setting))
        fields = self._content((), changes, self._inner_parts((), changes))
        for table in self._kind.named:
            entries = fields.get(table)
            if not isinstance(entries, dict):
                raise ValueError(f"{table} is not a table")
            fields[table] = list(entries.values())
        return self._kind.finish(self._kind.model.model_validate(fields, context=self._context))

    def _find_part(self, keys: Keys) -> Keys:
        """Return the innermost part that a field is in, or is; a ValueError if there are parts in the field."""
        if keys not in self._part_of:
            self._part_of[keys] = self._search_part(keys)
        part = self._part_of[keys]
        if part is None:
            raise ValueError(f"{'.'.join(keys)} has parts")
        return part

    def _search_part(self, keys: Keys) -> Keys | None:
        parts = [pattern.split(".") for pattern in self._kind.parts]
        if any(len(part) > len(keys) and matches(".".join(part[: len(keys)]), keys) for part in parts):
            return None
        around = [keys[: len(part)] for part in parts if matches(".".join(part), keys[: len(part)])]
        return max(around, key=len, default=())

    def _inner_parts(self, part: Keys, changes: Changes) -> dict[Keys, FrozenModel | None]:
        """Return the parts next inside one, made; None for those that are taken out."""
        if part not in self._inner:
            self._inner[part] = tuple(keys for keys in self._base if self._around(keys) == part)
        added = [keys for keys in changes if keys and keys not in self._base and self._around(keys) == part]
        return {keys: self._make_part(keys, changes) for keys in (*self._inner[part], *added)}

    def _around(self, part: Keys) -> Keys:
        """Return the part that another is next inside."""
        shorter = (part[:n] for n in range(len(part) - 1, 0, -1))
        return next((keys for keys in shorter if any(matches(pattern, keys) for pattern in self._kind.parts)), ())

    def _make_part(self, part: Keys, changes: Changes) -> FrozenModel | None:
        """Return a part, that of last time if the same is set in it and in the parts inside."""
        mine = changes.get(part, ())
        if mine and mine[0][0] == () and mine[0][1].content is NOTHING:
            return None
        inner = self._inner_parts(part, changes)
        key = (part, tuple((at, s.key, s.parameter) for at, s in mine), tuple(map(id, inner.values())))
        made = self._kept.get(key)
        if made is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            content = self._content(part, changes, inner)
            made = self._kept[key] = self._model(part).model_validate(content, context=self._context)
        return made

    def _content(self, part: Keys, changes: Changes, inner: Mapping[Keys, FrozenModel | None]) -> Tree:
        """Return the content of a part as in a file, with the parts inside made."""
        content: Any = self._base.get(part) if part else self._tree
        for at, setting in changes.get(part, ()):
            content = put(content, at, setting.content, setting.parameter)
        for keys, model in inner.items():
            content = put(content, keys[len(part) :], NOTHING if model is None else model)
        if not isinstance(content, dict):
            raise ValueError(f"{'.'.join(part)} is not a table")
        return {**content, "name": part[-1]} if len(part) == 2 and part[0] in self._kind.named else dict(content)

    def _model(self, part: Keys) -> type[FrozenModel]:
        """Return what a part holds."""
        shape: Shape | None = Shape("table", model=self._kind.model)
        for key in part:
            assert shape is not None
            shape = fields_of(shape.model)[key] if shape.model else shape.entry
        assert shape is not None
        assert shape.model is not None
        return shape.model


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
