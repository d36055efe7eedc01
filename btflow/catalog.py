"""Finds model files, by name among those that come with btflow or by path, and loads them."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from btflow.declare import declare
from btflow.document import Document, Tree
from btflow.errors import ScenarioError
from btflow.kinds import SWARMS, Model, ModelKind
from btflow.parameters import unknown
from btflow.scenario import Scenario
from btflow.tomlfile import read_toml, split_sources

if TYPE_CHECKING:
    from btflow.link.scenario import LinkScenario

File = Path | Traversable

ALIASES = {"ledbat++": "ledbatpp"}
"""Names that no file can have."""

BASES = {"congestion": "stacks"}
"""Folders of tables that are not whole by themselves but that those of another folder may start from."""

_LONGEST_CHAIN = 10


def names(folder: str = "swarms") -> tuple[str, ...]:
    """Return the names of the models that come with btflow.

    Args:
        folder: ``swarms``, ``clients``, ``transports``, ``sockets``, ``paths``, ``links``, ``access``, ``congestion``,
            ``stacks`` or ``codecs``.
    """
    entries = (files("btflow.models") / folder).iterdir()
    return tuple(sorted(e.name.removesuffix(".toml") for e in entries if e.name.endswith(".toml")))


def load(name_or_path: str | Path, /, **values: object) -> Scenario:
    """Return the scenario of a swarm, with the values given of its parameters and the defaults of the others.

    Args:
        name_or_path: Name of a model that comes with btflow, or path of a ``.toml`` file.
        values: By parameter name, as in ``Scenario.set``. Here the defaults need not go together by themselves.

    Raises:
        InputError: There is no such model, its file is not a valid one, or a value is wrong.
    """
    return document(name_or_path).build(values)


def load_link(name_or_path: str | Path, /, **values: object) -> LinkScenario:
    """Return the scenario of a link experiment; arguments and errors as in ``load``."""
    return link_document(name_or_path).build(values)


def document(name_or_path: str | Path) -> Document[Scenario]:
    """Return a swarm model's content with its references resolved, and its parameters.

    Raises:
        InputError: There is no such model, or its file cannot be read.
    """
    return read(name_or_path, SWARMS)


def link_document(name_or_path: str | Path) -> Document[LinkScenario]:
    """Return a link model's content; as ``document``."""
    from btflow.link.kind import LINKS

    return read(name_or_path, LINKS)


def read(name_or_path: str | Path, kind: ModelKind[Model]) -> Document[Model]:
    """Return the content of a model of one kind; as ``document``."""
    file, folder = _find(str(name_or_path), kind.folder, Path(), "model")
    return parse_as(kind, read_toml(file), folder)


def title_of(name: str, kind: str) -> str:
    """Return the line for people that a file of one of ``models/``'s folders has."""
    return str(_read(name, kind, Path(), "model").get("title", ""))


def tables(path: str) -> tuple[str, ...]:
    """Return the names of what a model file has at its top.

    Raises:
        InputError: There is no such file, or it cannot be read.
    """
    file, _ = _find(path, SWARMS.folder, Path(), "model")
    return tuple(read_toml(file))


def parse(tree: Tree, folder: Path = Path()) -> Document[Scenario]:
    """Return the document of a swarm model's content; as ``parse_as``."""
    return parse_as(SWARMS, tree, folder)


def parse_as(kind: ModelKind[Model], tree: Tree, folder: Path = Path()) -> Document[Model]:
    """Return the document of a model file's content.

    Args:
        kind: What kind of model it is.
        tree: The content.
        folder: What the paths in it are relative to.

    Raises:
        InputError: The content is not that of a model file.
    """
    tree = dict(tree)
    declared = tree.pop("parameters", {})
    sweep = tree.pop("sweep", {}) if kind.sweeps else {}
    if tree.get("byte_prefix", "decimal") not in ("decimal", "binary"):
        raise ScenarioError("byte_prefix", tree["byte_prefix"], "is unknown", "decimal or binary")
    resolved = tree
    for pattern, files_in in kind.references.items():
        resolved = _resolved(resolved, pattern.split("."), files_in, folder, "")
    bare, sources = split_sources(resolved)
    parameters = declare(declared, bare, split_sources(tree)[0], kind.model)
    referred = {
        path: {text: split_sources(_read(text, where, folder, f"parameters.{name}"))[0] for text in set(texts)}
        for name, parameter in parameters.items()
        for path, *texts in zip(parameter.sets, *(parameter.texts(word) for word in parameter.words), strict=True)
        if (where := kind.folder_of(path)) is not None
    }
    return Document(kind, bare, parameters, sources, referred, sweep)


def _find(name: str, kind: str, folder: Path, field: str) -> tuple[File, Path]:
    """Return the file that a field names and the folder that its own references are relative to."""
    if name.endswith(".toml") or "/" in name or "\\" in name:
        path = folder / name
        return path, path.parent
    name = ALIASES.get(name, name)
    if name not in names(kind):
        what = f"name in models/{kind} nor the path of a .toml file"
        raise unknown(name, names(kind), what, field)
    return files("btflow.models") / kind / f"{name}.toml", Path()


def _resolved(tree: Any, parts: list[str], kind: str, folder: Path, field: str) -> Any:
    """Return a tree with a file's content in place of its name, at a path whose parts may be ``*``."""
    if not parts:
        return _reference(tree, kind, folder, field)
    if not isinstance(tree, dict):
        return tree
    keys = tree if parts[0] == "*" else tree.keys() & {parts[0]}
    inner = {key: _resolved(tree[key], parts[1:], kind, folder, f"{field}.{key}".lstrip(".")) for key in keys}
    return tree | inner


def _reference(value: Any, kind: str, folder: Path, field: str) -> Any:
    """Return the table that a name or path stands for; a table may start from a ``base``."""
    if isinstance(value, str):
        return _read(value, kind, folder, field)
    if not isinstance(value, dict):
        raise ScenarioError(field, value, "is neither a name nor a table", ", ".join(names(kind)))
    if "base" not in value:
        return value
    if not isinstance(value["base"], str):
        raise ScenarioError(f"{field}.base", value["base"], "is not a name", ", ".join(names(kind)))
    return _based(value, kind, folder, f"{field}.base", 0)


def _read(name: str, kind: str, folder: Path, field: str, depth: int = 0) -> Tree:
    """Return the content of the file that a field names; what is wrong with the file is said of the field."""
    file, inner = _find(name, kind, folder, field)
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
    base = _read(tree["base"], bases if tree["base"] in names(bases) else kind, folder, field, depth + 1)
    return _merged(base, {name: changed for name, changed in tree.items() if name != "base"})


def _merged(base: Tree, changes: Tree) -> Tree:
    """Return a table with some of its fields changed, those of the tables in it one by one."""
    merged = base | changes
    for name in base.keys() & changes.keys():
        tables = (base[name], changes[name])
        if all(isinstance(table, dict) and "value" not in table for table in tables):
            merged[name] = _merged(*tables)
    return merged
