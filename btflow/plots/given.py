"""Checks what figures are given that is no result: mappings by label, and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from btflow.errors import InputError


def by_label(field: str, given: object, allowed: str, *, empty: bool = False) -> Mapping[str, Any]:
    """Return a mapping; InputError if it is something else, or holds nothing unless it may be `empty`.

    A result is refused too: a Dataset is a mapping of its variables.
    """
    if not isinstance(given, Mapping) or isinstance(given, xr.Dataset):
        raise InputError(field, given, "is not a mapping", allowed)
    if not given and not empty:
        raise InputError(field, given, "holds nothing", allowed)
    return given


def numbers(field: str, given: object, allowed: str) -> NDArray[np.float64]:
    """Return numbers as an array, of one or more dimensions; InputError if they are something else."""
    if given is None or isinstance(given, str | Mapping):
        raise InputError(field, given, "is no row of numbers", allowed)
    try:
        return np.atleast_1d(np.asarray(given, np.float64))
    except (TypeError, ValueError):
        raise InputError(field, given, "is no row of numbers", allowed) from None


def seconds(field: str, given: object) -> float:
    """Return a time [s]; InputError if it is not a number."""
    if isinstance(given, bool | str) or not isinstance(given, int | float | np.number):
        raise InputError(field, given, "is not a number", "a number of seconds")
    return float(given)
