"""Finds settings of a swarm that have no effect: a file may have them beside what would use them, a user meant them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from btflow.errors import ScenarioError
from btflow.scenario import Scenario
from btflow.tree import Keys
from btflow.units import Kind, format_quantity


def unused(scenario: Scenario, keys: Set[Keys], changed: Mapping[Keys, str]) -> Iterator[ScenarioError]:
    """Yield the fields that were set and change nothing in a scenario.

    Args:
        scenario: What was made.
        keys: The fields that were set by their paths.
        changed: These and the fields that a parameter set to something else than the file has; what set each.
    """
    yield from _paths(scenario, changed)
    departures = scenario.departures
    if ("departures", "mean_stay") in keys and departures.stay != "random":
        shown = format_quantity(departures.mean_stay, "fraction")
        reason = f"is never used: departures.stay is {departures.stay}"
        yield ScenarioError("departures.mean_stay", shown, reason, 'departures.stay = "random"')
    if ("departures", "replace") in keys and departures.replace and departures.stay == "forever":
        reason = "is never used: departures.stay is forever, nobody leaves"
        yield ScenarioError("departures.replace", "true", reason, 'departures.stay = "leave" or "random"')
    trying = [c for c in scenario.classes if ("classes", c.name, "attempts") in keys]
    if trying and not any(len(c.opens) > 1 for c in trying):
        c = trying[0]
        reason = f"is never used: the class opens {', '.join(c.opens) or 'no'} connections alone"
        allowed = f"two transports in classes.{c.name}.opens"
        yield ScenarioError(f"classes.{c.name}.attempts", c.attempts, reason, allowed)


def _paths(scenario: Scenario, changed: Mapping[Keys, str]) -> Iterator[ScenarioError]:
    """Yield the round-trip time and loss of all paths where each path has its own: they would be looked for in vain."""
    paths = scenario.paths
    if paths.internet is None:
        return
    fields: tuple[tuple[str, float, Kind], ...] = (("rtt", paths.rtt, "time"), ("loss", paths.loss, "fraction"))
    for field, value, kind in fields:
        name = changed.get(("paths", field))
        if name is not None and value > 0.0:
            reason = f"is never used: paths.internet = {paths.internet.name} has those of each path"
            yield ScenarioError(name, format_quantity(value, kind), reason, "paths.internet = none, or no " + name)
