"""Reads the parameters that a model file declares; their defaults are the file's own values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from btflow.config.parameters import Parameter
from btflow.config.problems import translated
from btflow.config.references import names_path
from btflow.config.toml import inline
from btflow.errors import ScenarioError
from btflow.units.quantity import FrozenModel

_MISSING = object()


def declare(
    declared: Any, tree: Mapping[str, Any], written: Mapping[str, Any], model: type[FrozenModel]
) -> Mapping[str, Parameter]:
    """Return the parameters by name, in the file's order.

    Args:
        declared: The file's table of parameters.
        tree: The rest of the file, references resolved.
        written: The same as written, with the names of the files it refers to.
        model: What the file's content is.

    Raises:
        ScenarioError: A declaration is wrong, or does not go with the fields it sets.
    """
    if not isinstance(declared, dict):
        raise ScenarioError("parameters", declared, "is not a table")
    parameters = {name: _parameter(name, body, tree, written, model) for name, body in declared.items()}
    for name, parameter in parameters.items():
        other = parameter.default_from
        if other is not None and (other not in parameters or parameters[other].default_from):
            field = f"parameters.{name}.default_from"
            raise ScenarioError(field, other, "cannot be followed", "a parameter with a default")
    return parameters


def _parameter(
    name: str, body: Any, tree: Mapping[str, Any], written: Mapping[str, Any], model: type[FrozenModel]
) -> Parameter:
    field = f"parameters.{name}"
    if not isinstance(body, dict):
        raise ScenarioError(field, body, "is not a table")
    if "default" in body:
        raise ScenarioError(f"{field}.default", body["default"], "is not given here", "the field's value")
    try:
        parameter = Parameter.model_validate({"name": name} | body)
    except ValidationError as error:
        raise translated(error, Parameter, {}, {}, f"{field}.") from None
    if parameter.values and parameter.kind != "choice":
        raise ScenarioError(f"{field}.values", parameter.kind, "is the kind of no choice", 'kind = "choice"')
    for word, text in parameter.values.items():
        if len(parameter.texts(word)) != len(parameter.sets):
            raise ScenarioError(f"{field}.values.{word}", text, "is not one text for each of sets", "a text, or a list")
    if parameter.kind == "file":
        default = _file(parameter, tree, written)
        return parameter.model_copy(update={"default": default}).of(model)
    content = written if parameter.kind == "choice" else tree
    return parameter.model_copy(update={"default": _default(parameter, content)}).of(model)


def _default(parameter: Parameter, tree: Mapping[str, Any]) -> Any:
    """Return the value that the file gives the parameter; it must be the only one."""
    given = [(path, _lookup(tree, path)) for path in parameter.sets]
    followed = parameter.default_from is not None
    if parameter.values and not followed:
        return _word(parameter, given)
    alike = parameter.kind == "choice"
    for path, value in given if followed else given[1:]:
        if value is not _MISSING and not ((alike or not followed) and value == given[0][1]):
            raise ScenarioError(path, value, f"is never used: parameter {parameter.name} sets it")
    if followed:
        return None
    path, value = given[0]
    if value is _MISSING:
        raise ScenarioError(path, None, f"is missing: it is the default of parameter {parameter.name}")
    if parameter.prefix and isinstance(value, list):
        return [str(name).removeprefix(parameter.prefix) for name in value]
    return value


def _file(parameter: Parameter, tree: Mapping[str, Any], written: Mapping[str, Any]) -> str:
    """Return the text that stands for what the file has: a name, a table in place of a file of the user's, or none."""
    if len(parameter.sets) != 1 or parameter.default_from is not None:
        raise ScenarioError(f"parameters.{parameter.name}.sets", parameter.sets, "is not one field that names a file")
    text, content = (_lookup(of, parameter.sets[0]) for of in (written, tree))
    if content is _MISSING:
        return "none"
    return text if isinstance(text, str) and not names_path(text) else inline(content)


def _word(parameter: Parameter, given: list[tuple[str, Any]]) -> str:
    """Return the word that stands for the values that the file gives."""
    for path, value in given:
        if value is _MISSING:
            raise ScenarioError(path, None, f"is missing: it is the default of parameter {parameter.name}")
    texts = tuple(str(value) for _, value in given)
    for word in parameter.values:
        if parameter.texts(word) == texts:
            return word
    known = "; ".join(", ".join(parameter.texts(word)) for word in parameter.values)
    raise ScenarioError(given[0][0], ", ".join(texts), f"is not a value of parameter {parameter.name}", known)


def _lookup(tree: Any, path: str) -> Any:
    """Return the value at a dotted path, or ``_MISSING``."""
    for part in path.split("."):
        if not isinstance(tree, dict) or part not in tree:
            return _MISSING
        tree = tree[part]
    return tree
