"""The two fidelities of a swarm: every block and message an event, or uploads in closed form between choker ticks."""

from __future__ import annotations

from typing import Literal

from btflow.errors import InputError, ScenarioError
from btflow.scenario import Scenario

Fidelity = Literal["full", "flow"]

FIDELITIES: tuple[Fidelity, ...] = ("full", "flow")
"""``full``: each block and message is an event; ``flow``: docs/fidelity.md."""

INSTEAD = "fidelity full (--fidelity full)"


def checked(field: str, value: object) -> Fidelity:
    """Return a fidelity; an InputError if there is none of this name."""
    if value not in FIDELITIES:
        raise InputError(field, value, "is no fidelity", " or ".join(FIDELITIES))
    return value


def check_flow(scenario: Scenario) -> None:
    """Raise a ScenarioError if flow cannot run a scenario: it never runs in full what was asked for in flow."""
    if scenario.linked:
        name = next(c.name for c in scenario.classes if c.access is not None)
        raise ScenarioError(
            f"classes.{name}.access", "an access link", "is not in flow fidelity: it has no access links yet", INSTEAD
        )
    showing = next((c for c in scenario.classes if c.client.super_seeding), None)
    if showing is not None:
        raise ScenarioError(
            f"classes.{showing.name}.client.super_seeding",
            "true",
            "is not in flow fidelity: its seed shows all it has",
            INSTEAD,
        )
