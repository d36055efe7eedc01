"""What flow fidelity does not run: rules, links and round trips at which its swarms were not shown to be near full."""

import math
from collections.abc import Iterator
from typing import Any

from btflow.errors import ScenarioError
from btflow.link.access import AccessLink
from btflow.swarm.checks import meeting
from btflow.swarm.client import Client
from btflow.swarm.scenario import PeerClass, Scenario
from btflow.units import format_quantity
from btflow.units.quantity import quantity_of

MOST_SLOTS = 120
"""Upload slots of a peer that flow serves: a connection's lane is a number of seven bits, and eight outlast a choke."""

MOST_RTT, MOST_ACCESS_RTT = 1.5, 1.0
"""Round-trip time between two peers [s] beyond which swarms get more than 5% too fast, and those on access links with
uTP 27%: docs/fidelity.md, "when"."""

UNLIKE_FULL = ("nice",)
"""Laws of the window whose swarms differ from full by up to two fifths: Nice's range of delays is made by its own
bursts, which lanes of flow do not have."""

SHORTEST_BUFFER, FEWEST_PACKETS = {"uplink": 3000.0, "downlink": 6000.0}, 10
"""Room of a link, in bytes or packets (ACKs among them), below which swarms get 10 to 40% too fast: what finds no room
there is decided packet by packet (docs/fidelity.md, "when")."""

SHORTEST_TIME, SHALLOW = 0.04, 0.4
"""Least time that a full buffer of an uplink takes to empty [s], and that time over the base round trip, below which
swarms got 24% to four times too slow: windows overflow it in a fraction of a step, and too many losses wait for
timers (found by the search of validation/fidelity_links.md)."""

FEW_SLOTS, LONGEST_TIME = 4, 0.7
"""Upload slots of a swarm below which an uplink may not hold more than that [s]: with one or two slots and two seconds
swarms got 15 to 50% too slow, for blocks that come after a pause wait for packets that came behind them."""

SLOW_SEEDS = 120e3
"""Rate of all seeds [B/s], eight full packets in uTP's target of 100 ms, below which swarms with faster leechers and
uTP get 19% too fast, or 18% too slow where only some use it: how many copies a seed sends before one is complete is
decided by windows of a packet or two."""

USUAL_TARGET, FEW_IN_TARGET = 0.1, 4
"""Queueing delay that libutp aims at [s], and full packets that an uplink must send within a shorter target: with three
swarms that use uTP got 14% too fast, with two 15 to 22%, with one 38% (``flashcrowd``, 12 and 30 leechers)."""

MOST_LOSS = 0.05
"""Loss on the way beyond which swarms on access links get more than 10% too fast: windows of a segment or two then wait
for timers, which back off."""

FULL_PACKET = 1500.0
"""What a packet of a buffer in packets counts [B]."""

RULES_OF_FLOW = {
    "choker": ("list", "last-round"),
    "optimistic": ("list-head", "longest-waiting"),
    "requests": ("rate", "slow-start"),
    "picker": ("begun-first", "whole-pieces"),
}
"""Rules of a client that flow has, by field; of a field that is not here it has all."""

ALIKE_IN_FLOW = (
    ("choker", "last-round", "free_slots", "at-once"),
    ("picker", "whole-pieces", "interest", "missing"),
    ("picker", "whole-pieces", "requests", "slow-start"),
    ("picker", "begun-first", "requests", "rate"),
)
"""A rule, its value, and what another must be with it."""

WITHOUT_IN_FLOW = {"request_interval": 0.0, "batch_interval": 0.0, "write_ahead": 0.0, "refill_below": 1.0}
"""Constants of a client for which flow has no rule, and the value with which there is none."""

Refusal = tuple[str, Any, str, str]
"""A field, its value, the problem, and what is allowed at flow fidelity."""


def check_flow(scenario: Scenario) -> None:
    """Raise a ScenarioError if flow cannot run a scenario: it never runs in full what was asked for in flow."""
    for field, value, problem, allowed in _refusals(scenario):
        raise ScenarioError(field, value, problem, f"{allowed}, or fidelity full (--fidelity full)")


def _refusals(scenario: Scenario) -> Iterator[Refusal]:
    """Yield all that flow does not run of a scenario."""
    for c in scenario.classes:
        for field, *rest in _of_rules(c.client):
            yield f"classes.{c.name}.client.{field}", *rest
        if c.access is not None:
            for field, *rest in (*_of_link(c, c.access), *_of_room(c.access, scenario), *_of_target(c, scenario)):
                yield f"classes.{c.name}.{field}", *rest
        slots = scenario.slots_of(c)
        if slots > MOST_SLOTS:
            problem = f"are more than the {MOST_SLOTS} of flow fidelity"
            yield _decides_slots(scenario, c, slots), f"{slots} upload slots", problem, "fewer slots"
    yield from _of_seeds(scenario)
    linked = any(c.access is not None for c in scenario.classes)
    loss, longest, most = scenario.paths.loss, _longest(scenario), MOST_ACCESS_RTT if linked else MOST_RTT
    near = "up to which flow fidelity is near full"
    if linked and loss > MOST_LOSS:
        yield "paths.loss", f"{loss:g}", f"is more than the {MOST_LOSS:.0%} {near} on access links", "less"
    if longest > most:
        field = "paths.rtt" if scenario.paths.matrix is None else "paths.matrix"
        yield field, f"{longest:g} s", f"is more than the {most:g} s {near}", "shorter round trips"


def _of_rules(client: Client) -> Iterator[Refusal]:
    """Yield the rules of a client that flow does not have; it never runs another in their place."""
    for field, allowed in RULES_OF_FLOW.items():
        if (value := getattr(client, field)) not in allowed:
            yield field, value, "is not in flow fidelity", " or ".join(allowed)
    for rule, value, field, needed in ALIKE_IN_FLOW:
        if getattr(client, rule) == value and getattr(client, field) != needed:
            yield field, getattr(client, field), f"is not in flow fidelity with {rule} = {value}", needed
    for field, without in WITHOUT_IN_FLOW.items():
        if (given := getattr(client, field)) != without:
            quantity = quantity_of(Client, field)
            assert quantity is not None
            shown, usual = (format_quantity(one, quantity.kind) for one in (given, without))
            yield field, shown, "is not in flow fidelity, where a client asks and tells as soon as it can", usual


def _of_link(c: PeerClass, access: AccessLink) -> Iterator[Refusal]:
    """Yield what was not proven at flow fidelity of an access link, or of what is sent over it."""
    is_not = "is not in flow fidelity:"
    for way, queue in (("uplink", access.uplink), ("downlink", access.downlink)):
        if queue.discipline != "drop-tail":
            problem = f"{is_not} its queues drop packets when they are full and not before"
            yield f"access.{way}.discipline", queue.discipline, problem, "drop-tail"
        if queue.link_layer != "ethernet":
            problem = f"{is_not} its packets have one length on the link, their own and framing"
            yield f"access.{way}.link_layer", queue.link_layer, problem, "ethernet"
    if not math.isfinite(access.uplink.rate):
        problem = f"{is_not} windows on a link without a queue grow packet by packet"
        yield "access.uplink.rate", "unlimited", problem, "a rate"
    if c.uplink_queue == "host":
        yield "uplink_queue", "host", f"{is_not} its queues drop in silence", "modem"
    for way, control in (("tcp", c.tcp), ("utp", c.utp), ("control", c.control)):
        if control is not None and control.law in UNLIKE_FULL:
            problem = f"{is_not} its swarms would be unlike those of full"
            yield way, control.name, problem, "another law, such as newreno, cubic or utp"


def _of_room(access: AccessLink, scenario: Scenario) -> Iterator[Refusal]:
    """Yield the buffers of an access link that have too little room for flow, or too much for a few slots."""
    base, near = scenario.base_rtt, "from which flow fidelity is near full"
    for way, queue in (("uplink", access.uplink), ("downlink", access.downlink)):
        if not math.isfinite(queue.rate):
            continue
        for room, least, unit in (
            (queue.limit_bytes(base), SHORTEST_BUFFER[way], "B"),
            (queue.limit_packets(), FEWEST_PACKETS, "packets"),
        ):
            if room is not None and room < least:
                problem = f"is less than the {least:g} {unit} {near}"
                yield f"access.{way}.buffer", f"{room:g} {unit}", problem, f"{least:g} {unit} or more"
    room, packets = access.uplink.limit_bytes(base), access.uplink.limit_packets()
    if room is None and packets is None:  # a link without a rate, see _of_link
        return
    empties = (room if room is not None else FULL_PACKET * (packets or 0)) / access.uplink.rate
    field, shown = "access.uplink.buffer", f"{room:g} B" if packets is None else f"{packets} packets"
    least = max(SHORTEST_TIME, SHALLOW * base)
    if empties < least * (1.0 - 1e-9):
        problem = f"empties in {1e3 * empties:.3g} ms, less than the {1e3 * least:.0f} ms {near}"
        yield field, shown, problem, f"{1e3 * least:.0f} ms or more"
    if 0 < scenario.slots < FEW_SLOTS and empties > LONGEST_TIME:
        problem = f"empties in {empties:.3g} s, and {scenario.slots} upload slots were not shown to be near full there"
        yield field, shown, problem, f"{LONGEST_TIME:g} s at most, {FEW_SLOTS} slots or more"


def _of_target(c: PeerClass, scenario: Scenario) -> Iterator[Refusal]:
    """Yield uTP's target if that is a queue of a packet or a few, and some class uses it."""
    if c.access is None or c.utp is None or c.utp.law != "utp" or c.utp.target is None:
        return
    least = min(FEW_IN_TARGET * FULL_PACKET / c.access.uplink.rate, USUAL_TARGET)
    if c.utp.target < least * (1.0 - 1e-9) and any("utp" in other.opens and other.count for other in scenario.classes):
        problem = f"is less than the {1e3 * least:.3g} ms from which flow fidelity is near full on this uplink"
        yield "utp.target", format_quantity(c.utp.target, "time"), problem, f"{1e3 * least:.3g} ms or more"


def _of_seeds(scenario: Scenario) -> Iterator[Refusal]:
    """Yield the rate of the seeds if leechers that use uTP wait for them, and they are slower than one of those."""
    limits = [(c, min(c.upload_limit, c.access.uplink.rate)) for c in scenario.classes if c.access and c.count]
    seeds = [(c, (c.count or 0) * limit) for c, limit in limits if c.role == "seed"]
    leechers = [(c, limit) for c, limit in limits if c.role == "leecher"]
    if not seeds or not any("utp" in c.opens for c, _ in leechers):
        return
    rate, fastest = sum(rate for _, rate in seeds), max(limit for _, limit in leechers)
    if rate < min(fastest, SLOW_SEEDS) * (1.0 - 1e-9):
        problem = (
            f"is all that seeds upload, less than a leecher's {fastest:g} B/s and than the {SLOW_SEEDS:g} B/s from "
            "which flow fidelity of uTP is near full"
        )
        yield f"classes.{seeds[0][0].name}.access.uplink.rate", f"{rate:g} B/s", problem, "faster or more seeds, no uTP"


def _longest(scenario: Scenario) -> float:
    """Return the longest round trip between two peers that may meet [s]; 0 where it is drawn."""
    matrix = scenario.paths.matrix
    if matrix is not None:
        return max((matrix.between(one, other) for one, other in meeting(scenario.classes)), default=0.0)
    return 0.0 if scenario.paths.internet is not None else scenario.longest_rtt


def _decides_slots(scenario: Scenario, c: PeerClass, slots: int) -> str:
    """Return the field from which a class has so many slots."""
    if scenario.slots == slots:
        return "slots"
    field = "client.max_uploads" if c.client.max_uploads == slots else "upload_limit"
    return f"classes.{c.name}.{field}"
