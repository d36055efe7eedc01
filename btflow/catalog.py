"""Finds model files, by name among those that come with btflow or by path, and loads them."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from btflow.declare import declare
from btflow.document import Document, Tree
from btflow.errors import ScenarioError
from btflow.parameters import unknown
from btflow.scenario import Scenario
from btflow.tomlfile import read_toml, split_sources

File = Path | Traversable


def names(folder: str = "swarms") -> tuple[str, ...]:
    """Return the names of the models that come with btflow.

    Args:
        folder: ``swarms``, ``clients``, ``transports`` or ``paths``.
    """
    entries = (files("btflow.models") / folder).iterdir()
    return tuple(sorted(e.name.removesuffix(".toml") for e in entries if e.name.endswith(".toml")))


def load(name_or_path: str | Path, /, **values: object) -> Scenario:
    """Return the scenario of a model, with the values given of its parameters and the defaults of the others.

    Args:
        name_or_path: Name of a model that comes with btflow, or path of a ``.toml`` file.
        values: By parameter name, as in ``Scenario.set``. Here the defaults need not go together by themselves.

    Raises:
        InputError: There is no such model, its file is not a valid one, or a value is wrong.
    """
    return document(name_or_path).build(values)


def document(name_or_path: str | Path) -> Document:
    """Return a model's content with its references resolved, and its parameters.

    Raises:
        InputError: There is no such model, or its file cannot be read.
    """
    file, folder = _find(str(name_or_path), "swarms", Path(), "model")
    return parse(read_toml(file), folder)


def parse(tree: Tree, folder: Path = Path()) -> Document:
    """Return the document of a model file's content.

    Args:
        tree: The content.
        folder: What the paths in it are relative to.

    Raises:
        InputError: The content is not that of a model file.
    """
    tree = _resolved(tree, folder)
    declared = tree.pop("parameters", {})
    if tree.get("byte_prefix", "decimal") not in ("decimal", "binary"):
        raise ScenarioError("byte_prefix", tree["byte_prefix"], "is unknown", "decimal or binary")
    bare, sources = split_sources(tree)
    return Document(bare, declare(declared, bare), sources)


def _find(name: str, kind: str, folder: Path, field: str) -> tuple[File, Path]:
    """Return the file that a field names and the folder that its own references are relative to."""
    if name.endswith(".toml") or "/" in name or "\\" in name:
        path = folder / name
        return path, path.parent
    if name not in names(kind):
        what = f"name in models/{kind} nor the path of a .toml file"
        raise unknown(name, names(kind), what, field)
    return files("btflow.models") / kind / f"{name}.toml", Path()


def _resolved(tree: Tree, folder: Path) -> Tree:
    """Return a swarm's tree with the files it names in place of their names."""
    tree = dict(tree)
    if "transport" in tree:
        tree["transport"] = _reference(tree["transport"], "transports", folder, "transport")
    paths = tree.get("paths")
    if isinstance(paths, dict) and "matrix" in paths:
        tree["paths"] = paths | {"matrix": _reference(paths["matrix"], "paths", folder, "paths.matrix")}
    classes = tree.get("classes")
    if isinstance(classes, dict):
        tree["classes"] = {name: _with_client(body, folder, f"classes.{name}.client") for name, body in classes.items()}
    return tree


def _with_client(body: Any, folder: Path, field: str) -> Any:
    if not isinstance(body, dict) or "client" not in body:
        return body
    return body | {"client": _reference(body["client"], "clients", folder, field)}


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
    base = _read(value["base"], kind, folder, f"{field}.base")
    return base | {name: changed for name, changed in value.items() if name != "base"}


def _read(name: str, kind: str, folder: Path, field: str) -> Tree:
    """Return the content of the file that a field names; what is wrong with the file is said of the field."""
    file, _ = _find(name, kind, folder, field)
    try:
        return read_toml(file)
    except ScenarioError as error:
        raise ScenarioError(field, name, f"{error.field} {error.reason}") from None
