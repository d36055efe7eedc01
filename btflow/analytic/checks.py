"""Checks of arguments: each returns the value as an array or raises InputError naming the argument."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from btflow.errors import InputError

Real = float | NDArray[np.float64]
"""A number, or an array where an argument was one."""


def positive(name: str, value: ArrayLike, *, finite: bool = True) -> NDArray[np.float64]:
    """Return `value` if every element is above 0, and finite unless infinity is allowed."""
    allowed = "a finite number above 0" if finite else "a number above 0, or infinity"
    found = _numbers(name, value, allowed)
    return _require(name, value, (found > 0) & (np.isfinite(found) | (not finite)), allowed, found)


def not_negative(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return `value` if every element is finite and at least 0."""
    allowed = "a finite number of at least 0"
    found = _numbers(name, value, allowed)
    return _require(name, value, (found >= 0) & np.isfinite(found), allowed, found)


def probability(name: str, value: ArrayLike, *, below: float = 1.0, zero: bool = False) -> NDArray[np.float64]:
    """Return `value` if every element is in (0, below), or in [0, below) where `zero` is allowed."""
    allowed = f"from 0 to below {below:g}" if zero else f"above 0 and below {below:g}"
    found = _numbers(name, value, allowed)
    return _require(name, value, ((found > 0) | (zero & (found == 0))) & (found < below), allowed, found)


def whole(name: str, value: int, least: int = 1) -> int:
    """Return `value` if it is a whole number of at least `least`."""
    allowed = f"a whole number of at least {least}"
    found = _numbers(name, value, allowed)
    _require(name, value, (found.ndim == 0) & np.isfinite(found) & (found >= least), allowed, found)
    _require(name, value, found == np.floor(found), allowed, found)
    return int(found)


def unwrap(value: NDArray[np.float64] | float) -> Real:
    """Return a 0-dimensional array as a float, any other as it is."""
    return float(value) if np.ndim(value) == 0 else np.asarray(value, np.float64)


def _numbers(name: str, value: object, allowed: str) -> NDArray[np.float64]:
    try:
        return np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise InputError(name, value, "is not a number", allowed) from None


def _require(
    name: str, value: object, good: NDArray[np.bool_] | np.bool_, allowed: str, found: NDArray[np.float64]
) -> NDArray[np.float64]:
    if not np.all(good):
        raise InputError(name, value, "is out of range", allowed)
    return found
