"""Every constant of a model does something: it reaches what the kernels run on, or it is known why not."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from pydantic.fields import FieldInfo

from btflow import load
from btflow.swarm.client import RULES, Client, SlotStep
from btflow.swarm.network import Socket, Transport
from btflow.swarm.program import Program, compile_scenario
from btflow.swarm.scenario import Scenario, Tracker
from btflow.units.quantity import FrozenModel, Quantity

NOT_IN_THE_PROGRAM = {
    ("Client", "name"): "for the reader",
    ("Client", "title"): "for the reader",
    ("Client", "source"): "for the reader",
    ("Client", "unlimited_slots"): "without access links every peer has an upload limit; see below",
    ("Transport", "name"): "for the reader",
    ("Transport", "title"): "for the reader",
    ("Transport", "source"): "for the reader",
    ("Transport", "congestion_control"): "there is one law only",
}
"""Fields that no kernel knows, with the reason."""

MODELS: dict[str, type[FrozenModel]] = {"Client": Client, "Transport": Transport, "Tracker": Tracker}
FIELDS = [(model, field) for model, type_ in MODELS.items() for field in type_.model_fields]


@functools.cache
def base() -> Scenario:
    """Return a swarm in which every constant can matter: small and large caps, a delay, loss."""
    values = {"upload_limit": "100 kB/s", "seed_upload_limit": "10 kB/s", "rtt": "80 ms", "loss": 0.01, "tso": True}
    return load("rao2010").set(leechers=3, **values)


def others(value: Any, field: FieldInfo) -> list[Any]:
    """Return other values of a field that it allows."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, str):
        return [name for names in RULES.values() if value in names for name in names if name != value]
    if isinstance(value, tuple) and value and isinstance(value[0], SlotStep):
        return [(*value[:i], *value[i + 1 :]) for i in range(len(value))]
    (quantity,) = (entry for entry in field.metadata if isinstance(entry, Quantity))
    low, high = (quantity.minimum or 0, quantity.maximum or 1)
    return [type(value)(x) for x in (2 * value, value / 2, value + 1, low) if low <= x <= high and x != value]


def changed(model: str, name: str, value: Any) -> Scenario:
    """Return the scenario with one constant changed; what does not go together with others is let through."""
    scenario = base()
    if model == "Client":
        classes = [c.model_copy(update={"client": c.client.model_copy(update={name: value})}) for c in scenario.classes]
        return scenario.model_copy(update={"classes": tuple(classes)})
    part = {"Transport": "transport", "Tracker": "tracker"}[model]
    return scenario.model_copy(update={part: getattr(scenario, part).model_copy(update={name: value})})


def content(program: Program) -> dict[str, Any]:
    """Return all of a program, to compare, but for the time after which a run is given up."""
    values = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in vars(program).items()}
    return values | {"rules": program.rules._replace(horizon=0.0)}


@pytest.mark.parametrize(("model", "name"), FIELDS)
def test_every_constant_reaches_the_kernels(model: str, name: str) -> None:
    scenario, field = base(), MODELS[model].model_fields[name]
    part: Any = scenario.classes[0].client if model == "Client" else getattr(scenario, model.lower())
    listed = (model, name) in NOT_IN_THE_PROGRAM
    if listed and isinstance(getattr(part, name), str):
        return
    tried = others(getattr(part, name), field)
    assert tried
    before = content(compile_scenario(scenario))
    reached = [content(compile_scenario(changed(model, name, value))) != before for value in tried]
    assert any(reached) != listed


@functools.cache
def linked() -> Scenario:
    """Return a swarm on access links."""
    return load("flashcrowd").set(leechers=4, client="mainline-4.0")


def test_the_slots_of_peers_without_a_cap_reach_the_kernels() -> None:
    classes = [
        c.model_copy(update={"client": c.client.model_copy(update={"unlimited_slots": 9})}) for c in linked().classes
    ]
    changed = linked().model_copy(update={"classes": tuple(classes)})
    assert compile_scenario(linked()).upload_slots.tolist() == [7] * 5
    assert compile_scenario(changed).upload_slots.tolist() == [9] * 5


@pytest.mark.parametrize("kind", ["tcp", "utp"])
@pytest.mark.parametrize("name", Socket.model_fields)
def test_every_constant_of_a_socket_reaches_the_flows(kind: str, name: str) -> None:
    sockets, other = linked().sockets, load("testa2011").sockets
    assert sockets is not None
    assert other is not None
    old, new = (getattr(getattr(s, kind), name) for s in (sockets, other))
    if old == new:
        new = {"nagle": "off", "counts": "unsent"}.get(name, 1)
    socket = getattr(sockets, kind).model_copy(update={name: new})
    changed = linked().model_copy(update={"sockets": sockets.model_copy(update={kind: socket})})
    before, after = (compile_scenario(s).links for s in (linked(), changed))
    assert before is not None
    assert after is not None
    column = 0 if kind == "tcp" else 1
    assert before.template[:, column].tobytes() != after.template[:, column].tobytes()
    assert before.template[:, 1 - column].tobytes() == after.template[:, 1 - column].tobytes()


def test_the_list_of_exceptions_names_fields_that_exist() -> None:
    assert set(NOT_IN_THE_PROGRAM) <= set(FIELDS)
