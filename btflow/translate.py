"""Turns pydantic's validation errors into ours, with the names a user knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from btflow.client import Client, SlotStep
from btflow.errors import InputError, ScenarioError
from btflow.network import Paths, Transport
from btflow.parameters import Parameter
from btflow.scenario import Arrivals, PeerClass, Scenario, Swarm, Tracker

_MODELS = (
    Arrivals,
    Client,
    Parameter,
    Paths,
    PeerClass,
    Scenario,
    SlotStep,
    Swarm,
    Tracker,
    Transport,
)


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


def translated(
    error: ValidationError, class_names: list[str], knobs: Mapping[str, Knob], prefix: str = ""
) -> ScenarioError:
    """Return one error that reports every problem pydantic found.

    Args:
        error: What pydantic raised.
        class_names: The names of the scenario's classes, for the paths of their fields.
        knobs: The parameter that sets a field, by the field's dotted path.
        prefix: Put before every path.
    """
    problems = [p for details in error.errors() for p in _problems(details, class_names, prefix)]
    named = [_turned(p, knobs[p.field]) if p.field in knobs else p for p in problems]
    return ScenarioError.all_of({str(p): p for p in named}.values())


def dotted(location: tuple[int | str, ...], class_names: list[str]) -> str:
    """Return the dotted path of a field, with a class's name in place of its number."""
    parts = [str(part) for part in location]
    if len(location) > 1 and location[0] == "classes" and isinstance(location[1], int):
        parts[1] = class_names[location[1]]
    return ".".join(parts)


def _turned(problem: InputError, knob: Knob) -> InputError:
    """Return a field's problem as that of the parameter that sets it, with the value as it was given."""
    value = problem.value if knob.given is None else knob.given
    return type(problem)(knob.name, value, problem.reason, problem.allowed)


def _rename(problem: InputError, field: str) -> InputError:
    return type(problem)(field, problem.value, problem.reason, problem.allowed)


def _problems(details: ErrorDetails, class_names: list[str], prefix: str) -> Iterator[InputError]:
    field = prefix + dotted(details["loc"], class_names)
    cause = details.get("ctx", {}).get("error")
    if isinstance(cause, ScenarioError):
        yield from cause.problems
    elif isinstance(cause, InputError):
        yield _rename(cause, field)
    elif details["type"] == "extra_forbidden":
        yield _unknown_field(field)
    elif details["type"] == "missing":
        yield ScenarioError(field, None, "is missing")
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


def _unknown_field(field: str) -> ScenarioError:
    """Return the error for a field that no model has, with fields of a similar name."""
    known = sorted({name for model in _MODELS for name in model.model_fields})
    close = get_close_matches(field.rsplit(".", 1)[-1], known, n=3)
    hint = f" (did you mean {' or '.join(close)}?)" if close else ""
    return ScenarioError(field, None, f"is not a known field{hint}")
