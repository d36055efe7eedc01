"""A model's parameters: named independent variables that its file declares and that stand for fields of it."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Self

from pydantic import Field, PrivateAttr, ValidationError

from btflow.config.fields import shape_at
from btflow.config.files import inline, names_path
from btflow.config.problems import translated
from btflow.errors import ScenarioError, UnitError
from btflow.units import KINDS, BytePrefix, Kind, Value, as_in_file
from btflow.units.quantity import FrozenModel, Quantity


class Parameter(FrozenModel):
    """One parameter of a model, as declared in its file."""

    name: str = Field(exclude=True)
    """Name used with ``--set``."""
    kind: Kind
    """What the value is, hence which units it takes."""
    default: Any = None
    """Value if none is given: that of the first field it sets, as in the file."""
    default_from: str | None = None
    """Parameter whose value is taken if none is given."""
    meaning: str
    """One line for people."""
    sets: Annotated[tuple[str, ...], Field(min_length=1)]
    """Dotted paths of the fields that get the value; the file gives the first one its default."""
    choices: tuple[str, ...] = ()
    """Allowed values, or allowed names of a list; empty for no limit."""
    prefix: str = ""
    """Text put before each name of a list to make the field's value."""
    values: dict[str, str | tuple[str, ...]] = Field(default_factory=dict)
    """For a choice: the text that the fields get, by the word that is given; a list has one for each field."""

    _quantity: Quantity = PrivateAttr()

    def of(self, model: type[FrozenModel]) -> Self:
        """Remember, once and by the loader only, what those fields of a model take that it sets."""
        shapes = [shape for path in self.sets if (shape := shape_at(model, path))]
        kinds = {"rate", "bitrate"} if self.kind in ("rate", "bitrate") else {self.kind}
        found = [shape.quantity for shape in shapes if shape.quantity and {shape.quantity.kind, self.kind} <= kinds]
        low = max((q.minimum for q in found if q.minimum is not None), default=None)
        high = min((q.maximum for q in found if q.maximum is not None), default=None)
        unlimited, steps = (
            bool(found) and all(marks) for marks in ([q.unlimited for q in found], [q.steps for q in found])
        )
        self._quantity = Quantity(self.kind, low, high, unlimited, steps)
        return self

    @property
    def quantity(self) -> Quantity:
        """What every field takes that it sets."""
        return self._quantity

    @property
    def words(self) -> tuple[str, ...]:
        """Allowed values of a choice, or allowed names of a list; empty for no limit."""
        return self.choices or tuple(self.values)

    @property
    def unit(self) -> str:
        """SI unit of the value, empty where there is none."""
        return KINDS[self.kind].unit

    def parse(self, value: object, byte_prefix: BytePrefix) -> Value:
        """Return ``value`` in SI units.

        Raises:
            UnitError: The value is not of the parameter's kind, or not one of its choices.
        """
        if self.kind == "choice" and isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        parsed = self.quantity.read(value, self.name, byte_prefix)
        if self.words and self.kind in ("choice", "names"):
            given = parsed if isinstance(parsed, tuple) else (str(parsed),)
            wrong = [name for name in given if name not in self.words]
            if wrong or len(set(given)) < len(given):
                allowed = ", ".join(self.words) + (", or none" if self.kind == "names" else "")
                close = get_close_matches(wrong[0], self.words, n=3, cutoff=0.6) if wrong else []
                hint = f" (did you mean {' or '.join(close)}?)" if close else ""
                reason = f"has the unknown {wrong[0]!r}{hint}" if wrong else "names one twice"
                raise UnitError(self.name, value, reason, allowed)
        return parsed

    def texts(self, word: str) -> tuple[str, ...]:
        """Return what a choice makes of each field it sets."""
        text = self.values.get(word, word)
        return (text,) * len(self.sets) if isinstance(text, str) else text

    def field_values(self, value: Value, byte_prefix: BytePrefix) -> tuple[Any, ...]:
        """Return what each field it sets gets, in the form that the model's file has it."""
        if self.kind == "choice":
            return self.texts(str(value))
        if isinstance(value, tuple):
            value = tuple(self.prefix + name for name in value)
        return (as_in_file(value, self.kind, byte_prefix),) * len(self.sets)


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
    paths = body.get("sets")
    if body.get("kind") == "rate" and isinstance(paths, list):
        shapes = [shape_at(model, path) for path in paths if isinstance(path, str)]
        if all(shape is not None and shape.kind == "bitrate" for shape in shapes):
            body = body | {"kind": "bitrate"}  # that of links, which is written in bits
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
