"""Distributions of a parameter, by their inverse: from a share of the unit interval to a value in SI units."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from btflow.config.schema import Variable
from btflow.errors import InputError
from btflow.sweeps import iplane
from btflow.sweeps.spec import FORMS, Drawn
from btflow.sweeps.variables import is_counted, is_number, is_whole, si_of, text_of_si

Floats = NDArray[np.float64]
Inverse = Callable[[Floats], Floats]

NEAREST = 2.0**-40
"""Shares are kept this far from 0 and 1, where a distribution may have no finite value."""


def inverse(spec: Drawn, variable: Variable) -> Inverse:
    """Return the function that turns shares in [0, 1) into values in SI units, whole where the kind is.

    Raises:
        InputError: The parameter is no number, or the arguments do not make a distribution of it.
    """
    shown = written(spec)
    if not is_number(variable):
        raise InputError(variable.name, shown, "is a distribution of numbers, which this is not", "a list of values")
    match spec.name:
        case "uniform":
            low, high = _range(spec, variable)
            if is_counted(variable):
                return lambda u: np.minimum(low + np.floor(u * (high - low + 1)), high)
            return _rounded(lambda u: low + u * (high - low), variable)
        case "loguniform":
            low, high = _range(spec, variable)
            if low <= 0:
                raise InputError(variable.name, shown, "starts at zero", "a first value above zero")
            return _rounded(lambda u: np.clip(low * (high / low) ** u, low, high), variable)
        case "lognormal":
            from scipy.special import ndtri  # takes a while to import

            median, sigma = _lognormal(spec, variable)
            return _rounded(lambda u: median * np.exp(sigma * ndtri(u)), variable)
        case "iplane":
            if variable.kind not in ("time", "fraction"):
                raise InputError(variable.name, shown, "is a distribution of times or losses", FORMS)
            return lambda u: iplane.quantile("rtt" if variable.kind == "time" else "loss", u)
        case _:
            raise InputError(variable.name, shown, "is not a distribution", FORMS)


def draw(inverted: Inverse, spec: Drawn, variable: Variable, shares: Floats) -> Floats:
    """Return the values at some shares; an InputError if one is out of the parameter's range."""
    values = inverted(np.clip(shares, NEAREST, 1.0 - NEAREST))
    assert variable.limits is not None
    low, high = variable.limits
    for wrong in values[(values < low) | (values > high) | ~np.isfinite(values)][:1]:
        least, most, drawn = (text_of_si(variable, value) for value in (low, high, wrong))
        raise InputError(variable.name, written(spec), f"draws {drawn}", f"values from {least} to {most}")
    return values


def written(spec: Drawn) -> str:
    """Return a distribution as it is written."""
    return f"{spec.name}({', '.join(map(str, spec.arguments))})" if spec.arguments else spec.name


def choice_index(number: int, shares: Floats) -> NDArray[np.int64]:
    """Return which of so many equally likely values each share stands for."""
    return np.minimum((shares * number).astype(np.int64), number - 1)


def _range(spec: Drawn, variable: Variable) -> tuple[float, float]:
    low, high = (_number(argument, variable) for argument in spec.arguments)
    if low > high:
        raise InputError(variable.name, written(spec), "ends below its start", "the lower value first")
    return low, high


def _lognormal(spec: Drawn, variable: Variable) -> tuple[float, float]:
    median, text = _number(spec.arguments[0], variable), str(spec.arguments[1])
    try:
        sigma = float(text)
    except ValueError:
        sigma = math.nan
    if not 0 < sigma < 100:
        raise InputError(variable.name, written(spec), f"has the sigma {text}", "a number above 0, of the logarithm")
    if median <= 0:
        raise InputError(variable.name, written(spec), "has no median above zero", "a median above zero")
    return median, sigma


def _number(value: object, variable: Variable) -> float:
    number = si_of(variable, value)
    assert isinstance(number, int | float)
    if not math.isfinite(number):
        raise InputError(variable.name, value, "is not finite", "a finite value")
    return float(number)


def _rounded(values: Inverse, variable: Variable) -> Inverse:
    """Return values of whole numbers and sizes rounded, others as they are."""
    return (lambda u: np.round(values(u))) if is_whole(variable) else values
