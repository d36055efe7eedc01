"""Finds model files, by name among those that come with btflow or by path, and loads them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from btflow.config import keywords
from btflow.config.document import Document
from btflow.config.files import ALIASES, Tree, find, names, read_table, read_toml, resolved, split_sources
from btflow.config.kinds import Model, ModelKind
from btflow.config.parameters import declare
from btflow.errors import InputError, ScenarioError, unknown
from btflow.signatures import AS_IT_IS, offered
from btflow.swarm.scenario import SWARMS, Scenario

_KINDS = {
    "swarms": ("classes", "a swarm, which btflow run and load take"),
    "links": ("flows", "a link experiment, which btflow link and load_link take"),
    "congestion": ("law", "a congestion control, which btflow link --flow takes"),
    "access": ("uplink", "an access link, which btflow link --access takes"),
    "codecs": ("frames_per_packet", "a speech codec, which btflow link --voip takes"),
    "clients": ("choker", "a client, which classes.*.client of a swarm takes"),
}
"""By folder of model files: a field that only these have, and what they are."""

if TYPE_CHECKING:
    from btflow.link.scenario import LinkScenario

__all__ = [
    "ALIASES",
    "any_document",
    "document",
    "link_document",
    "load",
    "load_link",
    "names",
    "parse",
    "parse_as",
    "tables",
]


@overload
def load(name_or_path: Literal["flashcrowd"], /, **values: Unpack[keywords.Flashcrowd]) -> Scenario: ...
@overload
def load(name_or_path: Literal["rao2010"], /, **values: Unpack[keywords.Rao2010]) -> Scenario: ...
@overload
def load(name_or_path: Literal["testa2011"], /, **values: Unpack[keywords.Testa2011]) -> Scenario: ...
@overload
def load(name_or_path: Literal["testa2012"], /, **values: Unpack[keywords.Testa2012]) -> Scenario: ...
@overload
def load(name_or_path: str | Path, /, **values: object) -> Scenario: ...
def load(name_or_path: str | Path, /, **values: object) -> Scenario:
    """Return the scenario of a swarm, with the values given of its parameters and the defaults of the others.

    ``btflow list NAME`` lists the parameters of a model with unit, default and meaning; `btflow.describe` tells of one.
    Shells complete those of all models.

    Args:
        name_or_path: Name of a model that comes with btflow, or path of a ``.toml`` file.
        values: By parameter name, as in ``Scenario.set``. Here the defaults need not go together by themselves.

    Raises:
        InputError: There is no such model, its file is not a valid one, or a value is wrong.
    """
    return document(name_or_path).build(values)


@overload
def load_link(name_or_path: Literal["bufferbloat"], /, **values: Unpack[keywords.Bufferbloat]) -> LinkScenario: ...
@overload
def load_link(name_or_path: Literal["coexistence"], /, **values: Unpack[keywords.Coexistence]) -> LinkScenario: ...
@overload
def load_link(name_or_path: Literal["geni"], /, **values: Unpack[keywords.Geni]) -> LinkScenario: ...
@overload
def load_link(name_or_path: Literal["latecomer"], /, **values: Unpack[keywords.Latecomer]) -> LinkScenario: ...
@overload
def load_link(name_or_path: Literal["opnet2009"], /, **values: Unpack[keywords.Opnet2009]) -> LinkScenario: ...
@overload
def load_link(name_or_path: str | Path, /, **values: object) -> LinkScenario: ...
def load_link(name_or_path: str | Path, /, **values: object) -> LinkScenario:
    """Return the scenario of a link experiment; arguments and errors as in ``load``."""
    return link_document(name_or_path).build(values)


def _offer(function: Callable[..., Any], *models: type) -> None:
    """Have shells complete the parameters of some models where a function is called."""
    names = (name for model in models for name in model.__annotations__)
    function.__signature__ = offered(function, dict.fromkeys(names, AS_IT_IS))  # type: ignore[attr-defined]  # what inspect reads


_offer(load, keywords.Flashcrowd, keywords.Rao2010, keywords.Testa2011, keywords.Testa2012)
_offer(load_link, keywords.Bufferbloat, keywords.Coexistence, keywords.Geni, keywords.Latecomer, keywords.Opnet2009)


def document(name_or_path: str | Path) -> Document[Scenario]:
    """Return a swarm model's content with its references resolved, and its parameters.

    Raises:
        InputError: There is no such model, or its file cannot be read.
    """
    return read(name_or_path, SWARMS)


def any_document(name_or_path: str | Path) -> Document[Any]:
    """Return the content of a swarm or link model, whichever it is; for a path, of the kind that its tables are of."""
    name = str(name_or_path)
    if name in names():
        return document(name)
    if name in names("links"):
        return link_document(name)
    _check_not_of_paths(name)
    try:
        found = tables(name)
    except InputError as error:
        if error.field == "model":
            known = (*names(), *names("links"))
            raise unknown(name, known, "name of a model nor the path of a .toml file", "model") from None
        raise
    return link_document(name) if "flows" in found else document(name)


def link_document(name_or_path: str | Path) -> Document[LinkScenario]:
    """Return a link model's content; as ``document``."""
    from btflow.link.scenario import LINKS

    return read(name_or_path, LINKS)


def read(name_or_path: str | Path, kind: ModelKind[Model]) -> Document[Model]:
    """Return the content of a model of one kind; as ``document``."""
    name = str(name_or_path)
    _check_kind(name, kind.folder)
    file, folder = find(name, kind.folder, Path(), "model")
    tree = read_toml(file)
    _check_kind(name, kind.folder, tree)
    return parse_as(kind, tree, folder)


def _check_kind(name: str, folder: str, tree: Mapping[str, Any] | None = None) -> None:
    """Refuse a file of another kind than the models of a folder, by its name or by its content."""
    _check_not_of_paths(name, tree)
    if tree is not None and _KINDS[folder][0] in tree:
        return
    for other, (field, said) in _KINDS.items():
        known = names(other)
        if other != folder and (name in known if tree is None else field in tree or tree.get("base") in known):
            raise InputError("model", name, f"is {said}", ", ".join(names(folder)))


def _check_not_of_paths(name: str, tree: Mapping[str, Any] | None = None) -> None:
    """Refuse a path model, by its name or by what is in its file, in place of a swarm or a link experiment."""
    known = names("internet")
    there = tree is not None and ({"structure", "rtt"} <= tree.keys() or tree.get("base") in known)
    if there or name in known:
        use = f'btflow run rao2010 --set internet={shlex.quote(name)}, or btflow.load("rao2010", internet={name!r})'
        raise InputError("model", name, "is a path model, from which a swarm's paths are drawn", f"in a swarm: {use}")


def title_of(name: str, kind: str) -> str:
    """Return the line for people that a file of one of ``models/``'s folders has."""
    return str(read_table(name, kind, Path(), "model").get("title", ""))


def tables(path: str) -> tuple[str, ...]:
    """Return the names of what a model file has at its top.

    Raises:
        InputError: There is no such file, or it cannot be read.
    """
    file, _ = find(path, SWARMS.folder, Path(), "model")
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
    sweep = tree.pop("sweep", {})
    if tree.get("byte_prefix", "decimal") not in ("decimal", "binary"):
        raise ScenarioError("byte_prefix", tree["byte_prefix"], "is unknown", "decimal or binary")
    read_in = tree
    for pattern, files_in in kind.references.items():
        read_in = resolved(read_in, pattern.split("."), files_in, folder, "")
    bare, sources = split_sources(read_in)
    parameters = declare(declared, bare, split_sources(tree)[0], kind.model)
    for name, parameter in parameters.items():
        if parameter.kind == "file" and kind.folder_of(parameter.sets[0].split(".")) is None:
            raise ScenarioError(f"parameters.{name}.sets", parameter.sets, "is not one field that names a file")
        for named in filter(None, (kind.folder_of(path.split(".")) for path in parameter.sets)):
            if parameter.kind != "file" and not parameter.words:
                reason = "is missing: the field that it sets names a file"
                raise ScenarioError(f"parameters.{name}.choices", None, reason, f"some of {', '.join(names(named))}")
    referred = {
        path: {text: split_sources(read_table(text, where, folder, f"parameters.{name}"))[0] for text in set(texts)}
        for name, parameter in parameters.items()
        for path, *texts in zip(parameter.sets, *(parameter.texts(word) for word in parameter.words), strict=True)
        if (where := kind.folder_of(path.split("."))) is not None
    }
    return Document(kind, bare, parameters, sources, referred, sweep, folder)
