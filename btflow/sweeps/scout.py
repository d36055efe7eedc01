"""A look at some points before a sweep begins: which kernels they need, and how much memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from btflow.errors import InputError
from btflow.options import Fidelity
from btflow.sweeps.beforehand import SPREAD, scouted_points
from btflow.sweeps.plan import Plan


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
    return program.fidelity, getattr(program, "links", None) is None, tuple(type(value) for value in program.rules)
