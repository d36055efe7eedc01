"""Checks across the fields of a scenario: what no single field can know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations_with_replacement

from btflow.errors import ScenarioError
from btflow.scenario import MAX_LEECHERS, MAX_SEEDS, PeerClass, Scenario


def problems(scenario: Scenario) -> list[ScenarioError]:
    """Return every reason why the scenario's fields do not go together."""
    return [*_names(scenario), *_counts(scenario), *_horizon(scenario), *_locations(scenario)]


def _names(scenario: Scenario) -> Iterator[ScenarioError]:
    for name, times in Counter(c.name for c in scenario.classes).items():
        if times > 1:
            yield ScenarioError("classes", name, "is the name of two classes", "distinct names")


def _counts(scenario: Scenario) -> Iterator[ScenarioError]:
    if scenario.seeds < 1:
        yield ScenarioError(
            _count_field(scenario, "seed"),
            scenario.seeds,
            "without a seed nobody has the file and the swarm cannot finish",
            "at least 1 peer of role seed",
        )
    if not 1 <= scenario.leechers <= MAX_LEECHERS:
        yield ScenarioError(
            _count_field(scenario, "leecher"),
            scenario.leechers,
            "is out of range",
            f"1 to {MAX_LEECHERS} peers of role leecher in all",
        )
    if scenario.seeds > MAX_SEEDS:
        yield ScenarioError(
            _count_field(scenario, "seed"),
            scenario.seeds,
            "is out of range",
            f"1 to {MAX_SEEDS} peers of role seed in all",
        )


def _count_field(scenario: Scenario, role: str) -> str:
    """Return the field that says how many peers have a role."""
    names = [c.name for c in scenario.classes if c.role == role]
    return f"classes.{names[0]}.count" if names else "classes"


def _horizon(scenario: Scenario) -> Iterator[ScenarioError]:
    if scenario.horizon is not None and scenario.horizon <= scenario.arrivals.spread:
        yield ScenarioError(
            "horizon",
            f"{scenario.horizon} s",
            "ends before the last leecher starts",
            f"more than arrivals.spread = {scenario.arrivals.spread} s",
        )


def _locations(scenario: Scenario) -> Iterator[ScenarioError]:
    placed = [c for c in scenario.classes if c.location]
    matrix = scenario.paths.matrix
    if placed and len(placed) < len(scenario.classes):
        for peer_class in scenario.classes:
            if not peer_class.location:
                yield ScenarioError(
                    f"classes.{peer_class.name}.location",
                    "none",
                    f"is missing while class {placed[0].name} has a location",
                    "a location for every class, or for none",
                )
    elif placed and matrix is None:
        yield ScenarioError("paths.matrix", None, "is missing while the classes have locations", "a path matrix")
    elif placed:
        yield from _unknown_pairs(scenario)


def _unknown_pairs(scenario: Scenario) -> Iterator[ScenarioError]:
    """Yield the locations, and the pairs of them that meet, which the matrix does not have."""
    matrix = scenario.paths.matrix
    assert matrix is not None
    unknown = [(c, place) for c in scenario.classes for place in c.location if place not in matrix.locations]
    for peer_class, place in unknown:
        yield ScenarioError(
            f"classes.{peer_class.name}.location",
            place,
            f"is not in the path matrix {matrix.name}",
            ", ".join(matrix.locations),
        )
    if not unknown:
        for one, other in _meeting(scenario.classes):
            try:
                matrix.between(one, other)
            except KeyError:
                yield ScenarioError("paths.matrix", matrix.name, f"has no RTT between {one} and {other}")


def _meeting(classes: tuple[PeerClass, ...]) -> list[tuple[str, str]]:
    """Return the pairs of locations whose peers exchange data; two seeds never do."""
    pairs = {
        (one, other)
        for a, b in combinations_with_replacement(classes, 2)
        if "leecher" in (a.role, b.role)
        for one in a.location
        for other in b.location
    }
    return sorted(pairs)
