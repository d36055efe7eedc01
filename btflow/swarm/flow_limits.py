"""What flow fidelity does not run: rules, links and round trips at which its swarms were not shown to be near full."""

import math

from btflow.errors import ScenarioError
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

INSTEAD = "fidelity full (--fidelity full)"
FEWER_SLOTS = f"fewer slots, or {INSTEAD}"


def check_flow(scenario: Scenario) -> None:
    """Raise a ScenarioError if flow cannot run a scenario: it never runs in full what was asked for in flow."""
    for c in scenario.classes:
        _check_rules(c)
        _check_access(c)
        _check_room(c, scenario)
        _check_target(c, scenario)
        slots = scenario.slots_of(c)
        if slots > MOST_SLOTS:
            problem = f"are more than the {MOST_SLOTS} of flow fidelity"
            raise ScenarioError(_decides_slots(scenario, c, slots), f"{slots} upload slots", problem, FEWER_SLOTS)
    _check_seeds(scenario)
    most = MOST_RTT if all(c.access is None for c in scenario.classes) else MOST_ACCESS_RTT
    matrix = scenario.paths.matrix
    if matrix is not None:
        longest = max((matrix.between(one, other) for one, other in meeting(scenario.classes)), default=0.0)
    else:
        longest = 0.0 if scenario.paths.internet is not None else scenario.longest_rtt
    if longest > most:
        field = "paths.rtt" if matrix is None else "paths.matrix"
        problem = f"is more than the {most:g} s up to which flow fidelity is near full"
        raise ScenarioError(field, f"{longest:g} s", problem, f"shorter round trips, or {INSTEAD}")


def _check_rules(c: PeerClass) -> None:
    """Raise a ScenarioError if flow does not have a rule of a client; it never runs another in its place."""
    for field, allowed in RULES_OF_FLOW.items():
        value = getattr(c.client, field)
        if value not in allowed:
            instead = f"{' or '.join(allowed)}, or {INSTEAD}"
            raise ScenarioError(f"classes.{c.name}.client.{field}", value, "is not in flow fidelity", instead)
    for rule, value, field, needed in ALIKE_IN_FLOW:
        given = getattr(c.client, field)
        if getattr(c.client, rule) == value and given != needed:
            problem = f"is not in flow fidelity with {rule} = {value}"
            raise ScenarioError(f"classes.{c.name}.client.{field}", given, problem, f"{needed}, or {INSTEAD}")
    for field, without in WITHOUT_IN_FLOW.items():
        given = getattr(c.client, field)
        if given != without:
            problem = "is not in flow fidelity, where a client asks and tells as soon as it can"
            quantity = quantity_of(Client, field)
            assert quantity is not None
            usual = f"{format_quantity(without, quantity.kind)}, or {INSTEAD}"
            raise ScenarioError(
                f"classes.{c.name}.client.{field}", format_quantity(given, quantity.kind), problem, usual
            )


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
    if c.uplink_queue == "host":
        problem = "is not in flow fidelity: its queues drop in silence"
        raise ScenarioError(f"classes.{c.name}.uplink_queue", "host", problem, f"modem, or {INSTEAD}")
    for way, control in (("tcp", c.tcp), ("utp", c.utp), ("control", c.control)):
        if control is not None and control.law in UNLIKE_FULL:
            problem = "is not in flow fidelity: its swarms would be unlike those of full"
            raise ScenarioError(
                f"classes.{c.name}.{way}",
                control.name,
                problem,
                f"another law, such as newreno, cubic or utp, or {INSTEAD}",
            )


def _check_room(c: PeerClass, scenario: Scenario) -> None:
    """Raise a ScenarioError if the uplink of a class has too little room for flow, or its paths lose too much."""
    if c.access is None:
        return
    base = scenario.base_rtt
    for way, queue in (("uplink", c.access.uplink), ("downlink", c.access.downlink)):
        if not math.isfinite(queue.rate):
            continue
        room, packets = queue.limit_bytes(base), queue.limit_packets()
        field, least, fewest = f"classes.{c.name}.access.{way}.buffer", SHORTEST_BUFFER[way], FEWEST_PACKETS
        if room is not None and room < least:
            problem = f"is less than the {least:g} B from which flow fidelity is near full"
            raise ScenarioError(field, f"{room:g} B", problem, f"{least:g} B or more, or {INSTEAD}")
        if packets is not None and packets < fewest:
            problem = f"is less than the {fewest} packets from which flow fidelity is near full"
            raise ScenarioError(field, f"{packets} packets", problem, f"{fewest} packets or more, or {INSTEAD}")
    field = f"classes.{c.name}.access.uplink.buffer"
    room, packets = c.access.uplink.limit_bytes(base), c.access.uplink.limit_packets()
    empties = (room if room is not None else FULL_PACKET * (packets or 0)) / c.access.uplink.rate
    shown = f"{room:g} B" if packets is None else f"{packets} packets"
    least = max(SHORTEST_TIME, SHALLOW * base)
    if empties < least * (1.0 - 1e-9):
        near = f"less than the {1e3 * least:.0f} ms from which flow fidelity is near full"
        allowed = f"{1e3 * least:.0f} ms or more, or {INSTEAD}"
        raise ScenarioError(field, shown, f"empties in {1e3 * empties:.3g} ms, {near}", allowed)
    if 0 < scenario.slots < FEW_SLOTS and empties > LONGEST_TIME:
        problem = f"empties in {empties:.3g} s, and {scenario.slots} upload slots were not shown to be near full there"
        allowed = f"{LONGEST_TIME:g} s at most, {FEW_SLOTS} slots or more, or {INSTEAD}"
        raise ScenarioError(field, shown, problem, allowed)
    if scenario.paths.loss > MOST_LOSS:
        problem = f"is more than the {MOST_LOSS:.0%} up to which flow fidelity is near full on access links"
        raise ScenarioError("paths.loss", f"{scenario.paths.loss:g}", problem, f"less, or {INSTEAD}")


def _check_target(c: PeerClass, scenario: Scenario) -> None:
    """Raise a ScenarioError if uTP of a class aims at a queue of a packet or a few, and some class uses it."""
    if c.access is None or c.utp is None or c.utp.law != "utp" or c.utp.target is None:
        return
    least = min(FEW_IN_TARGET * FULL_PACKET / c.access.uplink.rate, USUAL_TARGET)
    if c.utp.target < least * (1.0 - 1e-9) and any("utp" in other.opens and other.count for other in scenario.classes):
        near = f"is less than the {1e3 * least:.3g} ms from which flow fidelity is near full on this uplink"
        shown = format_quantity(c.utp.target, "time")
        raise ScenarioError(f"classes.{c.name}.utp.target", shown, near, f"{1e3 * least:.3g} ms or more, or {INSTEAD}")


def _check_seeds(scenario: Scenario) -> None:
    """Raise a ScenarioError if leechers that use uTP wait for seeds that are slow, and slower than one of them."""
    leechers = [c for c in scenario.classes if c.role == "leecher" and c.access is not None and c.count]
    seeds = [c for c in scenario.classes if c.role == "seed" and c.access is not None and c.count]
    if not seeds or not any("utp" in c.opens for c in leechers):
        return
    rate = sum((c.count or 0) * min(c.upload_limit, c.access.uplink.rate) for c in seeds if c.access is not None)
    fastest = max(min(c.upload_limit, c.access.uplink.rate) for c in leechers if c.access is not None)
    if rate < min(fastest, SLOW_SEEDS) * (1.0 - 1e-9):
        problem = (
            f"is all that seeds upload, less than a leecher's {fastest:g} B/s and than the {SLOW_SEEDS:g} B/s from "
            "which flow fidelity of uTP is near full"
        )
        field = f"classes.{seeds[0].name}.access.uplink.rate"
        raise ScenarioError(field, f"{rate:g} B/s", problem, f"faster or more seeds, no uTP, or {INSTEAD}")


def _decides_slots(scenario: Scenario, c: PeerClass, slots: int) -> str:
    """Return the field from which a class has so many slots."""
    if scenario.slots == slots:
        return "slots"
    field = "client.max_uploads" if c.client.max_uploads == slots else "upload_limit"
    return f"classes.{c.name}.{field}"
