"""Checks across the fields of a scenario: what no single field can know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations, combinations_with_replacement, pairwise

from btflow.errors import ScenarioError
from btflow.quantity import FrozenModel, quantity_of
from btflow.scenario import MAX_LEECHERS, MAX_SEEDS, PeerClass, Scenario
from btflow.units import format_quantity

CLIENT_ORDER = (("pipeline_floor", "pipeline_cap"), ("min_peers_incoming", "min_peers"))
TRANSPORT_ORDER = (
    ("rto_min", "rto_max"),
    ("rto_initial", "rto_max"),
    ("mss", "tso_segment"),
)
"""Pairs of fields of which the first may not exceed the second."""


def problems(scenario: Scenario) -> list[ScenarioError]:
    """Return every reason why the scenario's fields do not go together."""
    checks: tuple[Callable[[Scenario], Iterator[ScenarioError]], ...] = (
        _names,
        _counts,
        _horizon,
        _clients,
        _transport,
        _matrix,
        _locations,
    )
    return [problem for check in checks for problem in check(scenario)]


def _names(scenario: Scenario) -> Iterator[ScenarioError]:
    matrix = scenario.paths.matrix
    named = [("name", scenario.name), ("transport.name", scenario.transport.name)]
    for c in scenario.classes:
        named += [("classes", c.name), (f"classes.{c.name}.client.name", c.client.name)]
    if matrix is not None:
        named += [("paths.matrix.name", matrix.name), *(("paths.matrix.rtt", name) for name in matrix.locations)]
    for field, name in named:
        if not name.strip():
            yield ScenarioError(field, name, "is an empty name", "a name of at least one character")
    for name, times in Counter(c.name for c in scenario.classes).items():
        if times > 1:
            yield ScenarioError("classes", name, "is the name of two classes", "distinct names")


def _counts(scenario: Scenario) -> Iterator[ScenarioError]:
    missing = {"seed", "leecher"} - {c.role for c in scenario.classes}
    for role in sorted(missing):
        text = "nobody has the file and the swarm cannot finish" if role == "seed" else "nobody wants the file"
        yield ScenarioError("classes", None, f"has no class of role {role}: {text}", f"at least 1 peer of role {role}")
    if "seed" not in missing and scenario.seeds < 1:
        yield ScenarioError(
            _count_field(scenario, "seed"),
            scenario.seeds,
            "without a seed nobody has the file and the swarm cannot finish",
            "at least 1 peer of role seed",
        )
    if "leecher" not in missing and not 1 <= scenario.leechers <= MAX_LEECHERS:
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
    return next(f"classes.{c.name}.count" for c in scenario.classes if c.role == role)


def _horizon(scenario: Scenario) -> Iterator[ScenarioError]:
    if scenario.horizon is not None and scenario.horizon <= scenario.arrivals.spread:
        yield ScenarioError(
            "horizon",
            f"{scenario.horizon} s",
            "ends before the last leecher starts",
            f"more than arrivals.spread = {scenario.arrivals.spread} s",
        )


def _clients(scenario: Scenario) -> Iterator[ScenarioError]:
    """Yield what does not go together in each client, once for the classes that share it."""
    checked = []
    for c in scenario.classes:
        if c.client in checked:
            continue
        checked.append(c.client)
        field = f"classes.{c.name}.client"
        yield from _in_order(c.client, field, CLIENT_ORDER)
        steps = [step.below for step in c.client.slot_table]
        if any(second <= first for first, second in pairwise(steps)):
            below = ", ".join(format_quantity(step, "rate") for step in steps)
            yield ScenarioError(f"{field}.slot_table", below, "is not in rising order of below", "rising rates")


def _transport(scenario: Scenario) -> Iterator[ScenarioError]:
    yield from _in_order(scenario.transport, "transport", TRANSPORT_ORDER)


def _in_order(model: FrozenModel, field: str, pairs: tuple[tuple[str, str], ...]) -> Iterator[ScenarioError]:
    """Yield each pair of fields of a table of which the first exceeds the second."""
    for small, large in pairs:
        if getattr(model, small) > getattr(model, large):
            first, second = (_shown(model, name) for name in (small, large))
            yield ScenarioError(f"{field}.{small}", first, f"exceeds {large} = {second}", f"at most {large}")


def _shown(model: FrozenModel, name: str) -> str:
    """Return the value of a quantity with its unit."""
    quantity = quantity_of(type(model), name)
    assert quantity is not None
    return format_quantity(getattr(model, name), quantity.kind)


def _matrix(scenario: Scenario) -> Iterator[ScenarioError]:
    """Yield the pairs of locations whose round-trip time depends on the direction: it cannot."""
    rtt = scenario.paths.matrix.rtt if scenario.paths.matrix is not None else {}
    for one, other in combinations(rtt, 2):
        there, back = rtt[one].get(other), rtt[other].get(one)
        if there is not None and back is not None and there != back:
            yield ScenarioError(
                f"paths.matrix.rtt.{other}.{one}",
                format_quantity(back, "time"),
                f"differs from paths.matrix.rtt.{one}.{other} = {format_quantity(there, 'time')}",
                "the same time in both directions, or one of the two alone",
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
