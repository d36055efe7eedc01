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


def load(name_or_path: str | Path) -> Scenario:
    """Return the scenario of a model, with the defaults of its parameters.

    Args:
        name_or_path: Name of a model that comes with btflow, or path of a ``.toml`` file.

    Raises:
        InputError: There is no such model, or its file is not a valid one.
    """
    return document(name_or_path).build({})


def document(name_or_path: str | Path) -> Document:
    """Return a model's content with its references resolved, and its parameters.

    Raises:
        InputError: There is no such model, or its file cannot be read.
    """
    file, folder = _find(str(name_or_path), "swarms", Path())
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


def _find(name: str, kind: str, folder: Path) -> tuple[File, Path]:
    """Return a model file and the folder that its own references are relative to."""
    if name.endswith(".toml") or "/" in name or "\\" in name:
        path = folder / name
        return path, path.parent
    if name not in names(kind):
        raise unknown(name, names(kind), f"known name in models/{kind} nor the path of a .toml file")
    return files("btflow.models") / kind / f"{name}.toml", Path()


def _resolved(tree: Tree, folder: Path) -> Tree:
    """Return a swarm's tree with the files it names in place of their names."""
    tree = dict(tree)
    if "transport" in tree:
        tree["transport"] = _reference(tree["transport"], "transports", folder)
    paths = tree.get("paths")
    if isinstance(paths, dict) and "matrix" in paths:
        tree["paths"] = paths | {"matrix": _reference(paths["matrix"], "paths", folder)}
    classes = tree.get("classes")
    if isinstance(classes, dict):
        tree["classes"] = {name: _with_client(body, folder) for name, body in classes.items()}
    return tree


def _with_client(body: Any, folder: Path) -> Any:
    if not isinstance(body, dict) or "client" not in body:
        return body
    return body | {"client": _reference(body["client"], "clients", folder)}


def _reference(value: Any, kind: str, folder: Path) -> Any:
    """Return the table that a name or path stands for; a table may start from a ``base``."""
    if isinstance(value, str):
        return read_toml(_find(value, kind, folder)[0])
    if isinstance(value, dict) and isinstance(value.get("base"), str):
        base = read_toml(_find(value["base"], kind, folder)[0])
        return base | {name: field for name, field in value.items() if name != "base"}
    return value
