"""Model files of swarms, and which of their fields have no effect beside others."""

from __future__ import annotations

from collections.abc import Iterator, Set

from btflow.config.files import Keys
from btflow.config.kinds import ModelKind
from btflow.errors import ScenarioError
from btflow.swarm.scenario import Scenario
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


def _without_unused_matrix(scenario: Scenario) -> Scenario:
    if any(c.location for c in scenario.classes):
        return scenario
    return scenario.model_copy(update={"paths": scenario.paths.model_copy(update={"matrix": None})})


SWARMS = ModelKind(
    folder="swarms",
    noun="swarms",
    model=Scenario,
    references={
        "transport": "transports",
        "sockets": "sockets",
        "paths.matrix": "paths",
        "paths.internet": "internet",
        "classes.*.client": "clients",
        "classes.*.access": "access",
        "classes.*.tcp": "congestion",
        "classes.*.utp": "congestion",
        "classes.*.control": "congestion",
    },
    named={"classes": ("class", "seed")},
    finish=_without_unused_matrix,
    rivals=(
        ("classes.*.count", "classes.*.share", "classes.*.rest"),
        ("arrivals.spread", "arrivals.interval", "arrivals.times"),
        ("classes.*.disposition", "classes.*.opens"),
        ("classes.*.disposition", "classes.*.accepts"),
    ),
    supersedes={"paths.internet": ("paths.rtt", "paths.loss")},
    aliases={"internet": "paths.internet"},
    unused=unused,
)
