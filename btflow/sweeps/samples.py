"""Samples: designs in the unit cube (scipy.stats.qmc), and distributions by their inverse."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from btflow.config.schema import Variable
from btflow.errors import InputError, unknown
from btflow.paths.model import Table, load
from btflow.sweeps.axes import is_counted, is_number, is_whole, si_of, text_of_si
from btflow.sweeps.spec import FORMS, Drawn

KINDS = ("sobol", "lhs", "random", "saltelli")
GRID = "grid"
"""No sample, where one was declared before."""

FORM = "grid, or KIND:N with KIND sobol, lhs, random or saltelli, such as sobol:4096"
LARGEST = 2**24
_STREAM = (2**32 - 1, 0)
"""Key of the design's random numbers; the swarms' keys have one number."""


@dataclass(frozen=True)
class Sample:
    """A kind of design and its size."""

    kind: str
    number: int

    @property
    def text(self) -> str:
        """As it is written: ``sobol:4096``."""
        return f"{self.kind}:{self.number}"

    def size(self, dimensions: int) -> int:
        """Return the number of points: of a Saltelli design n (d + 2)."""
        return self.number * (dimensions + 2) if self.kind == "saltelli" else self.number

    def cube(self, dimensions: int, seed: int) -> NDArray[np.float64]:
        """Return the points (points, dimensions) in [0, 1); the same for the same seed.

        A Saltelli design has, one after the other, the samples A and B and for each dimension i the sample A with
        column i of B, as in ``scipy.stats.sobol_indices``.
        """
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=_STREAM))
        match self.kind:
            case "sobol":
                return _sobol(self.number, dimensions, rng)
            case "lhs":
                from scipy.stats import qmc  # takes a second to import

                return np.asarray(qmc.LatinHypercube(dimensions, rng=rng).random(self.number), np.float64)
            case "random":
                return rng.random((self.number, dimensions))
            case _:
                return _saltelli(self.number, dimensions, rng)


def parse(text: object, field: str = "sample") -> Sample | None:
    """Return the sample that a text such as ``sobol:4096`` means; None for ``grid``, and if there is no text.

    Raises:
        InputError: It is not one, or the size of a Sobol or Saltelli design is not a power of two.
    """
    if text is None or (isinstance(text, str) and text.strip() == GRID):
        return None
    matched = re.fullmatch(r"\s*([a-z]+)\s*:\s*([0-9]{1,12})\s*", text) if isinstance(text, str) else None
    if matched is None:
        raise InputError(field, text, "is not a sample", FORM)
    kind, number = matched[1], int(matched[2])
    if kind not in KINDS:
        raise unknown(kind, KINDS, "kind of sample", field)
    if not 1 <= number <= LARGEST:
        raise InputError(field, text, f"has {number:,} points", f"1 to {LARGEST:,}")
    if kind in ("sobol", "saltelli") and number & (number - 1):
        below = 1 << (number.bit_length() - 1)
        reason = "is not a power of two, without which a Sobol sequence is not balanced"
        raise InputError(field, text, reason, f"{kind}:{below} or {kind}:{2 * below}")
    return Sample(kind, number)


def _sobol(number: int, dimensions: int, rng: np.random.Generator) -> NDArray[np.float64]:
    from scipy.stats import qmc

    sampler = qmc.Sobol(dimensions, scramble=True, rng=rng)
    return np.asarray(sampler.random_base2(number.bit_length() - 1), np.float64)


def _saltelli(number: int, dimensions: int, rng: np.random.Generator) -> NDArray[np.float64]:
    a, b = np.split(_sobol(number, 2 * dimensions, rng), 2, axis=1)
    mixed = [np.where(np.arange(dimensions) == i, b, a) for i in range(dimensions)]
    return np.concatenate([a, b, *mixed])


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
            return lambda u: iplane_quantile("rtt" if variable.kind == "time" else "loss", u)
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


def iplane_quantile(quantity: Literal["rtt", "loss"], share: Floats) -> Floats:
    """Return the round-trip time [s] or the loss (a fraction) at or below which each share of the paths lies.

    Args:
        quantity: ``rtt`` or ``loss``.
        share: Cumulative shares, 0 to 1, of any shape.
    """
    return iplane_table(quantity).quantile(share)


@cache
def iplane_table(quantity: Literal["rtt", "loss"]) -> Table:
    """Return the table that shares are looked up in, SI units."""
    return load("iplane").table(quantity)
