"""Errors of a model's fields as errors of the inputs that set them."""

from __future__ import annotations

from collections.abc import Mapping

from btflow.errors import InputError


def renamed(error: InputError, names: Mapping[str, str]) -> InputError:
    """Return an error with other names of fields, in each of its problems; a field that has none keeps its own."""
    return InputError.all_of(
        InputError(names.get(p.field, p.field), p.value, p.reason, p.allowed) for p in error.problems
    )
