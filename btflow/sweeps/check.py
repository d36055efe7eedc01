"""The points of a flow sweep of which one swarm is run in full, too: which, and what their arrays are called."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from btflow.errors import InputError
from btflow.options import Fidelity, whole_number

if TYPE_CHECKING:
    from btflow.sweeps.design import Design

FULL = "full_"
"""How the names of the arrays begin that hold what the checked points give in full."""

DIM = "check"
"""Dimension along which the checked points lie; of its coordinates the names begin with ``check_``."""

FIRST = 0
"""The replica of a checked point that is run in full."""

MOST = 10**9
"""Most points that can be checked."""

CANDIDATES = 2**16
"""Points, drawn at random, of a larger design that are looked at for each of the checked ones."""


def check_number(check: object, fidelity: Fidelity) -> int:
    """Return how many points are to be checked, 0 for None; an InputError if there can be no such check."""
    if check is None:
        return 0
    number = whole_number("check", check, 1, MOST)
    if fidelity == "full":
        raise InputError(
            "check", check, "is of flow: all points are run in full as it is", '--fidelity flow (fidelity="flow") too'
        )
    return number


def checked_points(design: Design, number: int) -> tuple[int, ...]:
    """Return the numbers of the points of a design that are run in full, too, spread evenly over it, in order.

    The first points of a Sobol sequence, each coordinate replaced by its rank among them, so that every stretch of a
    dimension has its share (a Latin hypercube); of each the nearest point of the design that is not taken yet. So each
    value along a grid's dimension has as many of them as any other, or one more, unless some had to give way. Very many
    (a quarter of ``CANDIDATES``) are drawn at random, without preference.

    Args:
        design: The points of the sweep.
        number: How many of them.

    Raises:
        InputError: There are fewer points.
    """
    total = prod(design.shape)
    if number > total:
        raise InputError("check", number, f"is more than the sweep's {total:,} points", f"at most {total:,}")
    if number in (0, total):
        return tuple(range(number))
    if 4 * number > CANDIDATES:  # so many are spread evenly by chance
        return tuple(_drawn(total, number).tolist())
    candidates = np.arange(total) if total <= CANDIDATES else _drawn(total, CANDIDATES)
    places = design.places(candidates)
    taken = [_take(places, target) for target in _spread(number, places.shape[1])]
    return tuple(sorted(candidates[taken].tolist()))


def _drawn(total: int, number: int) -> NDArray[np.int64]:
    """Return the numbers of some points, always the same ones, in order."""
    return np.sort(np.random.default_rng(0).choice(total, number, replace=False, shuffle=False))


def _spread(number: int, dimensions: int) -> NDArray[np.float64]:
    """Return points (number, dimensions) in the unit cube: in any dimension, one in each of as many equal stretches."""
    from scipy.stats import qmc  # takes a second to import

    first = qmc.Sobol(dimensions, scramble=False).random_base2((number - 1).bit_length())[:number]
    return np.asarray((first.argsort(axis=0).argsort(axis=0) + 0.5) / number, np.float64)


def _take(places: NDArray[np.float64], target: NDArray[np.float64]) -> int:
    """Return the nearest place that is not taken, and take it."""
    found = int(np.square(places - target).sum(axis=1).argmin())
    places[found] = np.inf
    return found
