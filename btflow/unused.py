"""Finds settings of a swarm that have no effect: a file may have them beside what would use them, a user meant them."""

from __future__ import annotations

from collections.abc import Iterator, Set

from btflow.errors import ScenarioError
from btflow.scenario import Scenario
from btflow.tree import Keys
from btflow.units import format_quantity


def unused(scenario: Scenario, keys: Set[Keys]) -> Iterator[ScenarioError]:
    """Yield the fields that were set and change nothing in a scenario.

    Args:
        scenario: What was made.
        keys: The fields that were set by their paths.
    """
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
