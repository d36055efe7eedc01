"""Finds the files of ``models/`` that a model's fields name, and reads them as tables."""

from __future__ import annotations

import shlex
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from btflow.config.parameters import unknown
from btflow.config.toml import Tree, read_toml
from btflow.errors import ScenarioError

File = Path | Traversable
ALIASES = {"ledbat++": "ledbatpp"}
"""Names that no file can have."""

BASES = {"congestion": "stacks"}
"""Folders of tables that are not whole by themselves but that those of another folder may start from."""

_LONGEST_CHAIN = 10


def names(folder: str = "swarms") -> tuple[str, ...]:
    """Return the names of the models that come with btflow.

    Args:
        folder: ``swarms``, ``clients``, ``transports``, ``sockets``, ``paths``, ``internet``, ``links``, ``access``,
            ``congestion``, ``stacks`` or ``codecs``.
    """
    entries = (files("btflow.models") / folder).iterdir()
    return tuple(sorted(e.name.removesuffix(".toml") for e in entries if e.name.endswith(".toml")))


def names_path(name: str) -> bool:
    """Return whether a text is the path of a file, not a name in ``models/``."""
    return name.endswith(".toml") or "/" in name or "\\" in name


def find(name: str, kind: str, folder: Path, field: str) -> tuple[File, Path]:
    """Return the file that a field names and the folder that its own references are relative to."""
    if kind == "internet" and name.lower().endswith((".csv", ".csv.gz")):
        allowed = f"what `btflow calibrate {shlex.quote(str(folder / name))} --out my.toml` makes of measured paths"
        raise ScenarioError(field, name, "is not a path model", allowed)
    if names_path(name):
        path = folder / name
        return path, path.parent
    name = ALIASES.get(name, name)
    if name not in names(kind):
        what = f"name in models/{kind} nor the path of a .toml file"
        raise unknown(name, names(kind), what, field)
    return files("btflow.models") / kind / f"{name}.toml", Path()


def resolved(tree: Any, parts: list[str], kind: str, folder: Path, field: str) -> Any:
    """Return a tree with a file's content in place of its name, at a path whose parts may be ``*``."""
    if not parts:
        return reference(tree, kind, folder, field)
    if not isinstance(tree, dict):
        return tree
    keys = tree if parts[0] == "*" else tree.keys() & {parts[0]}
    inner = {key: resolved(tree[key], parts[1:], kind, folder, f"{field}.{key}".lstrip(".")) for key in keys}
    return tree | inner


def reference(value: Any, kind: str, folder: Path, field: str) -> Any:
    """Return the table that a name or path stands for; a table may start from a ``base``."""
    if isinstance(value, str):
        return read_table(value, kind, folder, field)
    if not isinstance(value, dict):
        allowed = f"{', '.join(names(kind))}, the path of a .toml file, or a table"
        raise ScenarioError(field, value, "is neither a name nor a table", allowed)
    if "base" not in value:
        return value
    if not isinstance(value["base"], str):
        raise ScenarioError(f"{field}.base", value["base"], "is not a name", ", ".join(names(kind)))
    return _based(value, kind, folder, f"{field}.base", 0)


def read_table(name: str, kind: str, folder: Path, field: str, depth: int = 0) -> Tree:
    """Return the content of the file that a field names; what is wrong with the file is said of the field."""
    file, inner = find(name, kind, folder, field)
    try:
        tree = read_toml(file)
    except ScenarioError as error:
        raise ScenarioError(field, name, f"{error.field} {error.reason}") from None
    return _based(tree, kind, inner, field, depth) if isinstance(tree.get("base"), str) else tree


def _based(tree: Tree, kind: str, folder: Path, field: str, depth: int) -> Tree:
    """Return a table on top of the one it starts from."""
    if depth > _LONGEST_CHAIN:
        raise ScenarioError(field, tree["base"], "is the base of too many others, perhaps of itself")
    bases = BASES.get(kind, kind)
    base = read_table(tree["base"], bases if tree["base"] in names(bases) else kind, folder, field, depth + 1)
    return _merged(base, {name: changed for name, changed in tree.items() if name != "base"})


def _merged(base: Tree, changes: Tree) -> Tree:
    """Return a table with some of its fields changed, those of the tables in it one by one."""
    merged = base | changes
    for name in base.keys() & changes.keys():
        tables = (base[name], changes[name])
        if all(isinstance(table, dict) and "value" not in table for table in tables):
            merged[name] = _merged(*tables)
    return merged
