"""Makes a model table by table, and keeps the tables: in a sweep most of them are those of the point before."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Generic

from btflow.fields import Shape, fields_of
from btflow.kinds import Model, ModelKind, matches
from btflow.quantity import FrozenModel
from btflow.settings import Setting
from btflow.tree import NOTHING, Keys, Tree, matching, put
from btflow.units import BytePrefix

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
