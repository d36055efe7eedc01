"""Designs in the unit cube: Sobol, Latin hypercube, random, and Saltelli's for Sobol indices (scipy.stats.qmc)."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from btflow.errors import InputError, unknown

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
