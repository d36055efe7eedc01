"""Turns pydantic's validation errors into ours, with the names a user knows."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from btflow.config.fields import fields_below
from btflow.config.files import names_path
from btflow.errors import InputError, ScenarioError, TableError
from btflow.swarm.client import RULES
from btflow.units.quantity import FrozenModel


class Knob(NamedTuple):
    """A parameter that sets a field."""

    name: str
    given: object
    """Its value as given, None if it has its default."""


_REASONS = {
    "string_type": ("is not a text", ""),
    "model_type": ("is not a table", ""),
    "model_attributes_type": ("is not a table", ""),
    "dict_type": ("is not a table", ""),
    "tuple_type": ("is not a list", ""),
    "list_type": ("is not a list", ""),
}
"""What is wrong and what is allowed, by pydantic's type of error."""


Names = Mapping[str, Sequence[str]]
"""The names of a table's entries, in order, by the table's name."""


def translated(
    error: ValidationError, model: type[FrozenModel], names: Names, knobs: Mapping[str, Knob], prefix: str = ""
) -> ScenarioError:
    """Return one error that reports every problem pydantic found.

    Args:
        error: What pydantic raised.
        model: What was being read.
        names: The names of entries, for the paths of their fields.
        knobs: The parameter that sets a field, by the field's dotted path.
        prefix: Put before every path.
    """
    found = error.errors()
    wrong = [d for d in found if d["type"] != "too_short" or not any(_is_inside(d, other) for other in found)]
    problems = [p for details in wrong for p in _problems(details, model, names, prefix)]
    named = [_turned(p, knobs[p.field]) if p.field in knobs else _of_file(p, knobs) for p in problems]
    return ScenarioError.all_of({str(p): p for p in named}.values())


def dotted(location: tuple[int | str, ...], names: Names) -> str:
    """Return the dotted path of a field, with an entry's name in place of its number."""
    parts = [str(part) for part in location]
    if len(location) > 1 and location[0] in names and isinstance(location[1], int):
        parts[1] = names[str(location[0])][location[1]]
    return ".".join(parts)


def _turned(problem: InputError, knob: Knob) -> InputError:
    """Return a field's problem as that of the parameter that sets it, with the value as it was given."""
    value = problem.value if knob.given is None else knob.given
    return type(problem)(knob.name, value, problem.reason, problem.allowed)


def _of_file(problem: InputError, knobs: Mapping[str, Knob]) -> InputError:
    """Return a problem with a field that was read from a file as one that says which file it is."""
    parts = problem.field.split(".")
    above = (knobs.get(".".join(parts[:n])) for n in range(len(parts) - 1, 0, -1))
    given = next((knob.given for knob in above if knob is not None), None)
    if not isinstance(given, str) or given.strip().startswith("{") or not names_path(given):
        return problem
    return type(problem)(problem.field, problem.value, f"{problem.reason}, in {given.strip()}", problem.allowed)


def _is_inside(one: ErrorDetails, other: ErrorDetails) -> bool:
    """Return whether what is wrong with a list is what is wrong with one of its entries: pydantic leaves those out."""
    place = one["loc"]
    return len(other["loc"]) > len(place) and other["loc"][: len(place)] == place


def _problems(details: ErrorDetails, model: type[FrozenModel], names: Names, prefix: str) -> Iterator[InputError]:
    field = prefix + dotted(details["loc"], names)
    cause = details.get("ctx", {}).get("error")
    if isinstance(cause, TableError):
        for problem in cause.problems:
            yield ScenarioError(f"{field}.{problem.field}", problem.value, problem.reason, problem.allowed)
    elif isinstance(cause, ScenarioError):
        yield from cause.problems
    elif isinstance(cause, InputError):
        yield type(cause)(field, cause.value, cause.reason, cause.allowed)
    elif details["type"] == "extra_forbidden":
        yield _unknown_field(field, model)
    elif details["type"] == "missing":
        yield ScenarioError(field, None, "is missing", " or ".join(RULES.get(str(details["loc"][-1]), ())))
    else:
        yield ScenarioError(field, details["input"], *_reason(details))


def _reason(details: ErrorDetails) -> tuple[str, str]:
    """Return what is wrong and what is allowed, in our words."""
    limits = details.get("ctx", {})
    if details["type"] == "literal_error":
        return "is unknown", str(limits["expected"])
    if details["type"] == "too_short":
        return "has too few entries", f"at least {limits['min_length']}"
    return _REASONS.get(details["type"], (details["msg"].replace("Input should", "should"), ""))


def _unknown_field(field: str, model: type[FrozenModel]) -> ScenarioError:
    """Return the error for a field that is nowhere in a model, with fields of a similar name."""
    known = sorted(fields_below(model))
    close = get_close_matches(field.rsplit(".", 1)[-1], known, n=3)
    hint = f" (did you mean {' or '.join(close)}?)" if close else ""
    return ScenarioError(field, None, f"is not a known field{hint}")
