"""What `btflow link` was given, as an experiment; its errors name the options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from btflow.catalog import load_link, names
from btflow.errors import InputError
from btflow.link.options import OPTIONS, scenario_from
from btflow.link.scenario import LinkScenario
from btflow.options import parse_settings

_SPELLED = {"flows": "flow", "probes": "probe"}


def scenario(model: str | None, settings: Sequence[str], given: Mapping[str, Any]) -> LinkScenario:
    """Return the experiment of a model and its settings, or of options alone.

    Args:
        model: Name or path of the model, None for options alone.
        settings: Its parameters as ``NAME=VALUE``.
        given: The options by their names in ``scenario_from``, None for those not given.

    Raises:
        InputError: Neither or both are given, or a value is wrong.
    """
    options = {name: value for name, value in given.items() if value is not None}
    if model is not None:
        for name, value in options.items():
            shown = value[0] if isinstance(value, list) else value
            raise InputError(option(name), shown, "does not go with a model", "--set NAME=VALUE for its parameters")
        return load_link(model, **parse_settings(settings))
    if settings:
        raise InputError("--set", settings[0], "does not go without a model", "an option such as --rate")
    if not any(name in options for name in ("flows", "voip", "probes")):
        allowed = f"{', '.join(names('links'))}, or --flow, --voip or --probe"
        raise InputError("model", None, "is missing, and there is no flow", allowed)
    try:
        return scenario_from(**options)
    except InputError as error:
        raise type(error).all_of([_spelled(problem) for problem in error.problems]) from None


def option(name: str) -> str:
    """Return how an option is spelled on the command line."""
    return "--" + _SPELLED.get(name, name).replace("_", "-")


def _spelled(problem: InputError) -> InputError:
    field = option(problem.field) if problem.field in OPTIONS else problem.field
    return type(problem)(field, problem.value, problem.reason, problem.allowed)
