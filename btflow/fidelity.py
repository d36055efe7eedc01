"""The two fidelities of a swarm: every block, message and segment an event, or uploads in closed form or as a fluid."""

from __future__ import annotations

import math
from typing import Literal

from btflow.consistency import meeting
from btflow.errors import InputError, ScenarioError
from btflow.scenario import PeerClass, Scenario

Fidelity = Literal["full", "flow"]

FIDELITIES: tuple[Fidelity, ...] = ("full", "flow")
"""``full``: each block, message and segment is an event; ``flow``: docs/fidelity.md."""

MOST_SLOTS = 120
"""Upload slots of a peer that flow serves: a connection's lane is a number of seven bits, and eight outlast a choke."""

MOST_RTT = 1.5
"""Round-trip time between two peers [s] beyond which swarms get more than 5% too fast: docs/fidelity.md, "when"."""

UNLIKE_FULL = ("bbr", "nice")
"""Laws of the window whose swarms differ from full by more than half: BBR's model of the path looks at the spacing
of single packets, Nice's range of delays is made by its own bursts; lanes of flow have neither."""

SHORTEST_BUFFER, FEWEST_PACKETS = 3000.0, 10
"""Room of an uplink, in bytes or packets (ACKs among them), below which swarms get more than 10% too fast: what finds
no room there is decided packet by packet (docs/fidelity.md, "when")."""

SHORTEST_TIME, SHALLOW = 0.04, 0.4
"""Least time that a full buffer of an uplink takes to empty [s], and that time over the base round trip, below which
swarms got 24% to four times too slow: windows overflow it in a fraction of a step, and too many losses wait for
timers (found by the search of validation/fidelity_links.md)."""

MOST_LOSS = 0.05
"""Loss on the way beyond which swarms on access links get more than 10% too fast: windows of a segment or two then wait
for timers, which back off."""

FULL_PACKET = 1500.0
"""What a packet of a buffer in packets counts [B]."""

INSTEAD = "fidelity full (--fidelity full)"
FEWER_SLOTS = f"fewer slots, or {INSTEAD}"


def checked(field: str, value: object) -> Fidelity:
    """Return a fidelity; an InputError if there is none of this name."""
    if value not in FIDELITIES:
        raise InputError(field, "None" if value is None else value, "is no fidelity", " or ".join(FIDELITIES))
    return value


def check_flow(scenario: Scenario) -> None:
    """Raise a ScenarioError if flow cannot run a scenario: it never runs in full what was asked for in flow."""
    for c in scenario.classes:
        _check_access(c)
        _check_room(c, scenario)
        slots = max(scenario.slots_of(c), c.client.min_uploads + 1)
        if slots > MOST_SLOTS:
            problem = f"are more than the {MOST_SLOTS} of flow fidelity"
            raise ScenarioError(_decides_slots(scenario, c, slots), f"{slots} upload slots", problem, FEWER_SLOTS)
    matrix = scenario.paths.matrix
    if matrix is not None:
        longest = max((matrix.between(one, other) for one, other in meeting(scenario.classes)), default=0.0)
    else:
        longest = 0.0 if scenario.paths.internet is not None else scenario.longest_rtt
    if longest > MOST_RTT:
        field = "paths.rtt" if matrix is None else "paths.matrix"
        problem = f"is more than the {MOST_RTT:g} s up to which flow fidelity is near full"
        raise ScenarioError(field, f"{longest:g} s", problem, f"shorter round trips, or {INSTEAD}")


def _check_access(c: PeerClass) -> None:
    """Raise a ScenarioError if the access link of a class, or what is sent over it, was not proven at flow fidelity."""
    if c.access is None:
        return
    for way, queue in (("uplink", c.access.uplink), ("downlink", c.access.downlink)):
        if queue.discipline != "drop-tail":
            problem = "is not in flow fidelity: its queues drop packets when they are full and not before"
            field = f"classes.{c.name}.access.{way}.discipline"
            raise ScenarioError(field, queue.discipline, problem, f"drop-tail, or {INSTEAD}")
    if not math.isfinite(c.access.uplink.rate):
        problem = "is not in flow fidelity: windows on a link without a queue grow packet by packet"
        raise ScenarioError(f"classes.{c.name}.access.uplink.rate", "unlimited", problem, f"a rate, or {INSTEAD}")
    for way, control in (("tcp", c.tcp), ("utp", c.utp), ("control", c.control)):
        if control is not None and control.law in UNLIKE_FULL:
            problem = "is not in flow fidelity: its swarms would be unlike those of full"
            raise ScenarioError(f"classes.{c.name}.{way}", control.name, problem, f"another law, or {INSTEAD}")


def _check_room(c: PeerClass, scenario: Scenario) -> None:
    """Raise a ScenarioError if the uplink of a class has too little room for flow, or its paths lose too much."""
    if c.access is None:
        return
    room, packets = c.access.uplink.limit_bytes(scenario.base_rtt), c.access.uplink.limit_packets()
    field, more = f"classes.{c.name}.access.uplink.buffer", f"a longer one, or {INSTEAD}"
    if room is not None and room < SHORTEST_BUFFER:
        problem = f"is less than the {SHORTEST_BUFFER:g} B from which flow fidelity is near full"
        raise ScenarioError(field, f"{room:g} B", problem, more)
    if packets is not None and packets < FEWEST_PACKETS:
        problem = f"is less than the {FEWEST_PACKETS} packets from which flow fidelity is near full"
        raise ScenarioError(field, f"{packets} packets", problem, more)
    empties = (room if room is not None else FULL_PACKET * (packets or 0)) / c.access.uplink.rate
    least = max(SHORTEST_TIME, SHALLOW * scenario.base_rtt)
    if empties < least * (1.0 - 1e-9):
        near = f"less than the {1e3 * least:.3g} ms from which flow fidelity is near full"
        shown = f"{room:g} B" if packets is None else f"{packets} packets"
        raise ScenarioError(field, shown, f"empties in {1e3 * empties:.3g} ms, {near}", more)
    if scenario.paths.loss > MOST_LOSS:
        problem = f"is more than the {MOST_LOSS:.0%} up to which flow fidelity is near full on access links"
        raise ScenarioError("paths.loss", f"{scenario.paths.loss:g}", problem, f"less, or {INSTEAD}")


def _decides_slots(scenario: Scenario, c: PeerClass, slots: int) -> str:
    """Return the field from which a class has so many slots."""
    if scenario.slots == slots:
        return "slots"
    given = {"max_uploads": c.client.max_uploads, "min_uploads": c.client.min_uploads + 1}
    field = next((f"client.{name}" for name, number in given.items() if number == slots), "upload_limit")
    return f"classes.{c.name}.{field}"
