"""What is looked at before a sweep begins: what would fail point by point, and which points tell of the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from btflow.config.document import Document
from btflow.config.files import Keys
from btflow.errors import InputError, ScenarioError
from btflow.options import Fidelity
from btflow.swarm.program import compile_scenario
from btflow.swarm.scenario import Scenario
from btflow.sweeps.design import SEED, Coordinate, Design, Floats, Indices, variable_of
from btflow.sweeps.runs import Kind

if TYPE_CHECKING:
    from btflow.sweeps.plan import Plan

SPREAD = 32
"""Points, evenly spread, that are looked at."""

CORNERS = 64
"""Most points that are looked at because their values are the least or greatest."""


def check_superseded(document: Document[Any], fixed: Mapping[str, object], design: Design) -> None:
    """Raise an InputError for a name that is varied beside one that takes its place, or set and used at no point."""
    together = list(_superseding(document, design))
    with_them = {name for settings in together for name in settings}
    others = {name: text for name, text in design.settings(0).items() if name not in with_them}
    used = [settings for settings in together if not document.assigner.outdated(fixed, settings)]
    for settings in together:
        at = document.assigner.over(fixed, settings) if used else {**fixed, **settings}
        document.assigner.assign({**at, **others})


def effective_parameters(document: Document[Any], given: Mapping[str, object], design: Design) -> dict[str, str]:
    """Return the parameters that have an effect at one point at least, as texts; ``given`` makes one of them."""
    found: dict[str, str] = {}
    for settings in _superseding(document, design):
        found |= document.assigner.assign(document.assigner.over(given, settings)).shown
    return found


def check_files(document: Document[Any], given: Mapping[str, object], design: Design) -> None:
    """Raise an InputError for a varied file that is damaged, or that the model refuses for what it is.

    Args:
        document: The model.
        given: What makes a scenario.
        design: The points.
    """
    for coordinate in design.coordinates():
        name = coordinate.name
        if coordinate.values.dtype != object or document.has_values(name):
            continue
        places = document.assigner.places(name)
        if places[0].folder is None:
            continue
        fields = {".".join(place.keys) for place in places}
        replaces = bool(fields & document.kind.supersedes.keys())  # it takes the place of others, or is it itself
        for text in dict.fromkeys(coordinate.values.tolist()):
            try:
                document.build(document.assigner.over(given, {name: text}))
            except InputError as error:
                inside = tuple(f"{field}." for field in fields)
                problems = [p for p in error.problems if p.field.startswith(inside) or (replaces and p.field == name)]
                if problems:
                    raise ScenarioError.all_of(problems) from None


def check_region(document: Document[Any], kind: Kind, given: Mapping[str, object], design: Design) -> None:
    """Raise a ScenarioError for a sweep in flow if a point, as far as some tell, is one that flow does not run."""
    for point in scouted_points(design):
        try:
            scenario = document.build(document.assigner.over(given, design.settings(point)))
        except InputError:  # recorded when it is run
            continue
        kind.check_flow(scenario)


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


def _superseding(document: Document[Any], design: Design) -> Iterator[dict[str, str]]:
    """Give the values that the varied fields which take the place of others have together, each once."""
    fields = {tuple(path.split(".")) for path in document.kind.supersedes}
    return design.settings_of([c.name for c in design.coordinates() if fields & set(_keys(document, c.name))])


def _keys(document: Document[Any], name: str) -> Iterator[tuple[str, ...]]:
    """Give the keys of the fields that a name sets, if it is not a parameter with values of its own."""
    if not document.has_values(name) and variable_of(document, name) is not SEED:
        yield from (place.keys for place in document.assigner.places(name))


CANDIDATES = 2**16
"""Points, drawn at random, of a larger design that are looked at for each of the checked ones."""


def checked_points(design: Design, number: int) -> tuple[int, ...]:
    """Return the numbers of the points of a design that are run in full, too, spread evenly over it, in order.

    The first points of a Sobol sequence, each coordinate replaced by its rank among them, so that every stretch of a
    dimension has its share (a Latin hypercube); of each the nearest point of the design that is not taken yet, since
    SciPy's samples lie anywhere. So each value along a grid's dimension has as many of them as any other, or one more,
    unless some had to give way. Very many (a quarter of ``CANDIDATES``) are drawn at random, without preference.

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


def _drawn(total: int, number: int) -> Indices:
    """Return the numbers of some points, always the same ones, in order."""
    return np.sort(np.random.default_rng(0).choice(total, number, replace=False, shuffle=False))


def _spread(number: int, dimensions: int) -> Floats:
    """Return points (number, dimensions) in the unit cube: in any dimension, one in each of as many equal stretches."""
    from scipy.stats import qmc  # takes a second to import

    first = qmc.Sobol(dimensions, scramble=False).random_base2((number - 1).bit_length())[:number]
    return np.asarray((first.argsort(axis=0).argsort(axis=0) + 0.5) / number, np.float64)


def _take(places: Floats, target: Floats) -> int:
    """Return the nearest place that is not taken, and take it."""
    found = int(np.square(places - target).sum(axis=1).argmin())
    places[found] = np.inf
    return found


class Scouted(NamedTuple):
    """What some points need."""

    programs: tuple[Any, ...]
    """A program for each set of kernels."""
    bytes: int
    """Most memory of a swarm [B]."""


def scout(plan: Plan) -> Scouted:
    """Return what the points of a sweep need, as far as some of them tell: those spread evenly and the extreme ones."""
    kinds: dict[object, Any] = {}
    most, evenly = 0, -(-len(plan.checked) // SPREAD) or 1
    designed = _compiled(plan, scouted_points(plan.design), plan.job.fidelity)
    for program in chain(designed, _compiled(plan, plan.checked[::evenly], "full")):
        kinds.setdefault(_kind(program), program)
        most = max(most, plan.job.kind.bytes(program))
    return Scouted(tuple(kinds.values()), most)


def _compiled(plan: Plan, points: Iterable[int], fidelity: Fidelity) -> Iterator[Any]:
    for point in points:
        try:
            yield plan.job.kind.compile(plan.job.scenario.set(**plan.settings(point)), fidelity)
        except InputError:  # recorded when it is run
            continue


def _kind(program: Any) -> object:
    """Return what decides the kernels, which Numba compiles for the types of what they are given."""
    return program.fidelity, getattr(program, "links", None) is None, tuple(type(value) for value in program.rules)


_OTHER_TABLES = {"swarm", "paths", "transport", "sockets", "tracker", "idealised"}
_OTHER_FIELDS = {"horizon", "slots", "control_connections"}
_NUMBERS = {"role", "count", "share", "rest"}


def most_peers(base: Scenario, design: Design) -> int:
    """Return the number of peers of the swarm that has most, replacements included.

    Every combination of the values that change it is looked at, in a millisecond each; the others stay the base's.
    """
    document: Document[Scenario] = base.document
    names = {c.name for c in design.coordinates() if any(map(_changes_peers, _fields(document, c.name)))}
    return max(_peers(base, settings) for settings in chain([{}], design.settings_of(names)))


def _peers(base: Scenario, settings: Mapping[str, str]) -> int:
    try:
        return len(compile_scenario(base.set(**settings)).klass)
    except InputError:  # recorded when it is run
        return 0


def _fields(document: Document[Any], name: str) -> Iterator[Keys]:
    """Give the keys of the fields that a name sets, those of parameters that follow it too."""
    if name not in document.parameters:
        yield from _keys(document, name)
    for parameter in document.parameters.values():
        if name in (parameter.name, parameter.default_from):
            yield from (tuple(path.split(".")) for path in parameter.sets)


def _changes_peers(keys: Keys) -> bool:
    """Return whether a field says how many peers there are; one that is not known may."""
    if keys[0] == "classes" and len(keys) > 2:
        return len(keys) == 3 and keys[2] in _NUMBERS
    if keys[0] == "arrivals" and len(keys) > 1:
        return keys[1] == "times"  # as many as leechers
    return keys[0] not in _OTHER_TABLES | _OTHER_FIELDS
