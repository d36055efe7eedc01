"""Model files: TOML as trees of tables, and the files of ``models/`` that a field names."""

import json
import re
import shlex
import tomllib
from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from btflow.errors import ScenarioError, shorten, unknown, visible
from btflow.files import read_file

_LARGEST_FILE = 2**20
"""Bytes of a model file: the largest that come with btflow, or that it writes, have 10 kB."""
_DEEPEST = 20
_CHAIN = re.compile(r"""(?:\.[ \t]*(?:[\w-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')[ \t]*){20}""")
"""A dotted key of too many parts, for which tomllib takes time and memory as their square."""
_TOO_LARGE = "a whole number has more than 64 bits"
"""As TOML has none (https://toml.io/en/v1.0.0#integer), and tomllib takes."""


def read_toml(file: Path | Traversable) -> dict[str, Any]:
    """Return the content of a TOML file.

    Raises:
        ScenarioError: The file is missing, unreadable, too large, empty or not TOML; a syntax
            error is reported with its line and column.
    """
    name = str(file)
    try:
        content = read_file(file, _LARGEST_FILE) if isinstance(file, Path) else file.read_bytes()
        tree = parsed(content.decode("utf-8-sig"))
    except FileNotFoundError:
        raise ScenarioError(name, None, "no such file") from None
    except OSError as error:
        raise ScenarioError(name, None, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ScenarioError(name, None, f"is not a TOML file: byte {error.start} is not UTF-8") from None
    except ValueError as error:
        raise ScenarioError(name, None, f"is not valid TOML: {error}") from None
    if not tree:
        raise ScenarioError(name, None, "is empty")
    return tree


def parsed(text: str) -> dict[str, Any]:
    """Return the content of TOML.

    Raises:
        ValueError: It is none, or has something that no model has; the error's text says it.
    """
    try:
        if _CHAIN.search(text):
            raise RecursionError
        tree = tomllib.loads(text)
        check(tree)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError as error:
        of_int = type(error) is ValueError and "digits" in str(error)  # of more than 4300
        raise ValueError(_TOO_LARGE if of_int else str(error)) from None
    return tree


def check(content: Any) -> None:
    """Raise a ValueError for a number or a text of a content that no model has; a RecursionError if it has no end."""
    if isinstance(content, dict | list):
        for inner in (*content, *content.values()) if isinstance(content, dict) else content:
            check(inner)
    elif isinstance(content, int) and not -(2**63) <= content < 2**63:
        raise ValueError(_TOO_LARGE)
    elif isinstance(content, str) and visible(content) != content:
        raise ValueError(f"a text has control characters, or bytes that are no UTF-8: {shorten(content)}")


def split_sources(tree: Any, path: str = "", depth: int = 0) -> tuple[Any, dict[str, str]]:
    """Return ``tree`` with each ``{value, source}`` replaced by its value, and the sources by path.

    Raises:
        ScenarioError: The tree is nested deeper than any model, or a source is missing.
    """
    if depth > _DEEPEST:
        raise ScenarioError(path, None, "is nested too deeply")
    if isinstance(tree, dict) and tree.keys() == {"value", "source"}:
        return tree["value"], {path: str(tree["source"])}
    if isinstance(tree, dict) and tree.keys() == {"value"} and not isinstance(tree["value"], dict):
        raise ScenarioError(path, tree["value"], "is a value without its source", '{ value = ..., source = "..." }')
    if not isinstance(tree, dict | list):
        return tree, {}
    sources: dict[str, str] = {}
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    bare = {}
    for key, value in items:
        bare[key], found = split_sources(value, f"{path}.{key}" if path else str(key), depth + 1)
        sources |= found
    return (bare if isinstance(tree, dict) else list(bare.values())), sources


def inline(value: Any) -> str:
    """Return a value as TOML on one line, tables and lists in it too."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(str(key))} = {inline(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(inline(inner) for inner in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, int | float) else _text(str(value))


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _text(key)


def _text(value: str) -> str:
    """Return a text in quotes: JSON's are TOML's but for a character that is not shown, for which its escape stands."""
    return json.dumps(visible(value), ensure_ascii=False)


def read_inline(text: str, field: str) -> Any:
    """Return the value that TOML on one line is, such as ``{ base = "cubic", hystart = false }``.

    Raises:
        ScenarioError: It is not TOML.
    """
    try:
        return parsed(f"value = {text}")["value"]
    except ValueError as error:
        raise ScenarioError(field, text, f"is not valid TOML: {error}", "a table such as { name = value }") from None


Tree = dict[str, Any]
Keys = tuple[str, ...]
"""Where a field is: the keys of the tables it is in, and its own."""


class _Nothing:
    """Stands for a field that is left out."""


NOTHING = _Nothing()


def present(tree: Any, keys: Iterable[str]) -> Any:
    """Return what a tree has at a place, None if nothing."""
    for key in keys:
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree


def put(tree: Any, keys: Keys, content: Any, parameter: str = "") -> Any:
    """Return a tree with one field set, or taken out if the content is ``NOTHING``.

    Args:
        tree: What is there; it is shared, not changed.
        keys: Where the field is.
        content: What it holds.
        parameter: The parameter that sets it, for which the tables it is in must be there; without one they are made.

    Raises:
        ScenarioError: The field is in something that is no table.
    """
    if not keys:
        return content
    if tree is None and not parameter:
        tree = {}
    if not isinstance(tree, dict):
        field = f"parameters.{parameter}.sets" if parameter else ".".join(keys)
        raise ScenarioError(field, None, "is in a table that is not there")
    key, *inner = keys
    if content is NOTHING and not inner:
        return {name: value for name, value in tree.items() if name != key}
    return {**tree, key: put(tree.get(key), tuple(inner), content, parameter)}


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
    return name.lower().endswith(".toml") or "/" in name or "\\" in name


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
