"""What a sweep is, as it was said: on the command line, in Python, or in the table ``[sweep]`` of a model file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from btflow.errors import InputError, ScenarioError, unknown
from btflow.sweeps.spec import Names, names_of

_TYPES: dict[str, tuple[type, str]] = {
    "vary": (dict, "a table"),
    "set": (dict, "a table"),
    "sample": (str, 'a text such as "sobol:64"'),
    "replicas": (int, "a whole number"),
    "seed": (int, "a whole number"),
    "common": (bool, "true or false"),
}


@dataclass(frozen=True)
class Declaration:
    """What a sweep is; None where nothing was said.

    Attributes:
        vary: What each name, or each group of names, is varied over.
        set: What is set for all points.
        sample: The kind of sample; a grid if there is none.
        replicas: Swarms of each point.
        seed: Seed of the sweep.
        common: Whether all points have the same random numbers.
    """

    vary: Mapping[Names, object] = field(default_factory=dict)
    set: Mapping[str, object] = field(default_factory=dict)
    sample: str | None = None
    replicas: int | None = None
    seed: int | None = None
    common: bool | None = None

    def over(self, file: Declaration) -> Declaration:
        """Return this on top of what a model file declares: what is said here of a name replaces what is said there."""
        mine = {name for names in self.vary for name in names} | set(self.set)
        vary = {names: spec for names, spec in file.vary.items() if not mine.intersection(names)}
        fixed = {name: value for name, value in file.set.items() if name not in mine}
        said = {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None}
        return replace(file, **said | {"vary": vary | dict(self.vary), "set": fixed | dict(self.set)})


def declaration(vary: Mapping[Any, object], fixed: Mapping[str, object], option: str, **said: Any) -> Declaration:
    """Return a declaration.

    Args:
        vary: By name or names, these in a tuple or separated by commas.
        fixed: What is set.
        option: What errors call ``vary``.
        said: The other fields.

    Raises:
        InputError: A name is both varied and set, or is varied twice.
    """
    named: dict[Names, object] = {}
    seen: set[str] = set()
    for key, spec in vary.items():
        names = names_of(key, option)
        for name in names:
            if name in fixed:
                raise InputError(option, name, "is both varied and set", "one of the two")
            if name in seen:
                raise InputError(option, name, "is varied twice", "each name once")
            seen.add(name)
        named[names] = spec
    return Declaration(vary=named, set=fixed, **said)


def from_file(table: object) -> Declaration:
    """Return what a model file's table ``[sweep]`` declares.

    Raises:
        InputError: It is not such a table.
    """
    if not isinstance(table, dict):
        raise ScenarioError("sweep", table, "is not a table", "[sweep]")
    for name, value in table.items():
        if name not in _TYPES:
            raise unknown(name, _TYPES, "field of [sweep]", "sweep")
        kind, allowed = _TYPES[name]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ScenarioError(f"sweep.{name}", value, "is of the wrong kind", allowed)
    said = {name: value for name, value in table.items() if name not in ("vary", "set")}
    return declaration(table.get("vary", {}), table.get("set", {}), "sweep.vary", **said)
