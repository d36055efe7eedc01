"""A look at some points before a sweep begins: which kernels they need, and how much memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from typing import Any

import numpy as np

from btflow.errors import InputError
from btflow.fidelity import Fidelity
from btflow.sweeps.design import Coordinate, Design
from btflow.sweeps.plan import Plan

SPREAD = 32
"""Points, evenly spread, that are looked at."""

CORNERS = 64
"""Most points that are looked at because their values are the least or greatest."""


@dataclass(frozen=True)
class Scouted:
    """What some points need.

    Attributes:
        programs: A program for each set of kernels.
        bytes: Most memory of a swarm [B].
    """

    programs: tuple[Any, ...]
    bytes: int


def scout(plan: Plan) -> Scouted:
    """Return what the points of a sweep need, as far as some of them tell: those spread evenly and the extreme ones."""
    kinds: dict[object, Any] = {}
    most = 0
    for program in _programs(plan):
        kinds.setdefault(_kind(program), program)
        most = max(most, plan.job.kind.bytes(program))
    return Scouted(tuple(kinds.values()), most)


def _programs(plan: Plan) -> Iterator[Any]:
    yield from _compiled(plan, scouted_points(plan.design), plan.job.fidelity)
    evenly = -(-len(plan.checked) // SPREAD) or 1
    yield from _compiled(plan, plan.checked[::evenly], "full")


def _compiled(plan: Plan, points: Iterable[int], fidelity: Fidelity) -> Iterator[Any]:
    for point in points:
        try:
            yield plan.job.kind.compile(plan.job.scenario.set(**plan.settings(point)), fidelity)
        except InputError:  # recorded when it is run
            continue


def _kind(program: Any) -> object:
    """Return what decides the kernels, which Numba compiles for the types of what they are given."""
    fidelity = getattr(program, "fidelity", "full")
    return fidelity, getattr(program, "links", None) is None, tuple(type(value) for value in program.rules)


def scouted_points(design: Design) -> list[int]:
    """Return the numbers of points that are spread evenly, and of those whose values are the least or greatest."""
    total = prod(design.shape)
    spread = (i * (total - 1) // max(1, SPREAD - 1) for i in range(SPREAD))
    places = [_extremes([c for c in design.coordinates() if c.dimension == dim]) for dim in design.dims]
    corners = (int(np.ravel_multi_index(corner, design.shape)) if corner else 0 for corner in product(*places))
    return list(dict.fromkeys([*spread, *islice(corners, CORNERS)]))


def _extremes(coordinates: Sequence[Coordinate]) -> list[int]:
    """Return the places along a dimension where a number is greatest or least; of words, where each is first."""
    found: list[int] = []
    for coordinate in coordinates:
        values = coordinate.values
        if values.dtype == object:
            found += np.unique(values.astype(str), return_index=True)[1].tolist()
        else:
            found += [int(values.argmax()), int(values.argmin())]
    return list(dict.fromkeys(found))
