"""Scenario to Program: the flat numbers a kernel runs on. Pure and inspectable; no randomness, no state."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from btflow.errors import ScenarioError
from btflow.kernels.swarm.state import Rules
from btflow.link.access import MAX_RATE
from btflow.options import Fidelity
from btflow.paths.model import MOST_PEERS, PathModel
from btflow.swarm.access import Links, compile_links
from btflow.swarm.checks import LENGTHS
from btflow.swarm.client import RULES, Client
from btflow.swarm.flow_limits import check_flow
from btflow.swarm.network import Transport
from btflow.swarm.scenario import Arrivals, PeerClass, Scenario
from btflow.units.quantity import FrozenModel

SKB_TRUESIZE = 1960
"""Socket memory charged for one queued segment [B], Linux 2.6.32 __alloc_skb on a 64-bit machine.

Room for 1448 B and the longest header (MAX_TCP_HEADER, 272 B), rounded up to cache lines of 64 B, and 232 B of struct
sk_buff.
"""

UNLIMITED_UNIT = 17000
"""Bytes that a turn of the limiter writes without an upload limit [B]: a block (BitTorrent 4.0.2 RateLimiter.py)."""

PENDING_SLOTS = 16
"""Least number of slots per peer beyond max_allow_in, for connections whose handshake is under way.

An engine limit, not a client rule; all slots together are rounded up to a power of two.
"""


MOST_ENDS = 2**31 - 1
"""Ends of connections that 32 bits can number."""

MOST_APART = MOST_PEERS
"""Most peers of a swarm in which each pair has a path of its own."""

IN_KERNELS = {
    "recent_unchoke_rounds": "recent_rounds",
    "pipeline_cap_slope": "pipeline_slope",
    "rarest_first_cutoff": "random_first",
    "rerequest_interval": "reannounce",
    "allowed_fast_set_size": "allowed_fast",
}
"""Fields of a client that have a shorter name in the kernels."""

_ELSEWHERE = ("max_uploads", "unlimited_slots", "slot_factor", "upload_unit", "super_seeding", *LENGTHS)
"""Fields of a client that no kernel looks at: what they come to is in the program for each peer, or in its rules."""

_CONSTANTS = {
    name: "f8" if field.annotation is float else "i8"
    for name, field in Client.model_fields.items()
    if name in RULES or (field.annotation in (int, float, bool) and name not in _ELSEWHERE)
}
"""The other numbers and flags of a client, and its rules; the type that each has in the kernels."""

CLIENT = np.dtype([*((IN_KERNELS.get(n, n), kind) for n, kind in _CONSTANTS.items()), ("pulse", "f8")], align=True)
"""What the kernels know of a client (docs/client.md): times [s], sizes [B], rules by their numbers."""


@dataclass(frozen=True)
class Program:
    """What one swarm is, in arrays. Peers are in the order of the scenario's classes, seeds first."""

    fidelity: Fidelity
    """How it is run."""
    rules: Rules
    """Sizes of the swarm, lengths of messages, and TCP's constants."""
    client: NDArray[np.void]
    """The constants and rules of the client of each class (classes,), dtype ``CLIENT``."""
    class_names: tuple[str, ...]
    """Names of the classes, indexed by `klass`."""
    klass: NDArray[np.int32]
    """Class of each peer (peers,)."""
    is_seed: NDArray[np.uint8]
    """1 for the initial seeds (peers,)."""
    upload_limit: NDArray[np.float64]
    """Upload limit [B/s] (peers,)."""
    upload_slots: NDArray[np.int32]
    """max_uploads of each peer (peers,)."""
    place: NDArray[np.int32]
    """Row of each peer in `rtt` (peers,)."""
    rtt: NDArray[np.float64]
    """Round-trip time between places [s] (places, places)."""
    loss: float
    """Probability that a packet is lost, in either direction."""
    internet: PathModel | None
    """What the paths of each replica are drawn from, a place for each peer; None if they are ``rtt`` and ``loss``."""
    arrivals: Arrivals
    """When the leechers start."""
    waits: NDArray[np.uint8]
    """1 for the peers that start only when another one leaves (peers,)."""
    births: NDArray[np.int64]
    """First and end of these peers, by class (classes, 2)."""
    unit: NDArray[np.int32]
    """Bytes that a turn of the limiter writes [B] (peers,)."""
    super_seeding: NDArray[np.bool_]
    """Whether each peer is a seed that shows its pieces one by one (peers,)."""
    discard: int
    """Downloads that are completed first and do not count."""
    target: int
    """Downloads after which the run ends."""
    request_room: int
    """Entries of the request list of one connection, a power of two."""
    tso: bool
    """Segments may be larger than the MSS."""
    links: Links | None
    """The peers' access links; None if there are none."""


def compile_scenario(scenario: Scenario, fidelity: Fidelity = "full") -> Program:
    """Flatten `scenario`; a ScenarioError if it uses what the engine of this fidelity cannot run."""
    if fidelity == "flow":
        check_flow(scenario)
    classes = sorted(scenario.classes, key=lambda c: c.role != "seed")
    extra = [_replacements(scenario, c) for c in classes]
    counts = [c.number + more for c, more in zip(classes, extra, strict=True)]
    ends = np.cumsum(counts)
    locations = [where for c, more in zip(classes, extra, strict=True) for where in _located(c, more)]
    place, rtt = _places(scenario, locations, sum(counts))
    limits = np.repeat([float(c.upload_limit) for c in classes], counts)
    internet = scenario.paths.internet
    ideal = bool(internet is None and rtt.max() == 0.0 and scenario.paths.loss == 0.0 and not scenario.linked)
    rules = _rules(scenario, sum(counts), ideal)
    most = max(c.client.reqq for c in classes)
    fastest = max(min(c.upload_limit, c.access.uplink.rate if c.access else math.inf, MAX_RATE) for c in classes)
    units = np.repeat([np.int32(c.client.upload_unit) for c in classes], counts)
    return Program(
        fidelity=fidelity,
        rules=rules,
        client=_clients(classes, scenario.swarm.pieces),
        class_names=tuple(c.name for c in classes),
        klass=np.repeat(np.arange(len(classes), dtype=np.int32), counts),
        is_seed=np.repeat([np.uint8(c.role == "seed") for c in classes], counts),
        upload_limit=limits,
        upload_slots=np.repeat([np.int32(scenario.slots_of(c)) for c in classes], counts),
        place=place,
        rtt=rtt,
        loss=scenario.paths.loss,
        internet=internet,
        arrivals=scenario.arrivals,
        waits=np.concatenate([np.arange(n) >= n - more for n, more in zip(counts, extra, strict=True)]).astype(
            np.uint8
        ),
        births=np.column_stack([ends - extra, ends]).astype(np.int64),
        unit=np.where(np.isfinite(limits), units, UNLIMITED_UNIT).astype(np.int32),
        super_seeding=np.repeat([c.role == "seed" and c.client.super_seeding for c in classes], counts),
        discard=scenario.departures.discard,
        target=scenario.target,
        request_room=max(_request_room(c.client, fastest, rules, most) for c in classes),
        tso=scenario.transport is not None and scenario.transport.tso,
        links=compile_links(scenario, classes, counts) if scenario.linked else None,
    )


def _request_room(client: Client, fastest: float, rules: Rules, told: int) -> int:
    """Entries of the request list of a connection that brings at most `fastest` [B/s], a power of two.

    No client of the swarm tells others that they may have more than `told` requests outstanding.
    """
    pipeline = client.pipeline_floor + client.pipeline_seconds * 2.0 * fastest / rules.block_size
    spare = min(rules.blocks, 64)
    most = max(client.pipeline_cap, told if client.reqq else 0)
    refill = min(pipeline, most) + spare
    entries = int(max(refill, client.pipeline_cap_slope * pipeline)) + int(spare) + 3
    return 1 << entries.bit_length()


def _clients(classes: Sequence[PeerClass], pieces: int) -> NDArray[np.void]:
    """Constants and rules of the client of each class (classes,), dtype ``CLIENT``."""
    clients = np.zeros(len(classes), CLIENT)
    for record, client in zip(clients, (c.client for c in classes), strict=True):
        for name in _CONSTANTS:
            value = getattr(client, name)
            record[IN_KERNELS.get(name, name)] = RULES[name].index(value) if name in RULES else value
        record["allowed_fast"] = min(client.allowed_fast_set_size, pieces)
        record["pulse"] = client.pulse
    return clients


def _tallied(client: Client) -> bool:
    """Whether a client has rules that mainline has not: without one of them nothing is counted, or asked, for them."""
    counted = (client.allowed_fast_set_size, client.pulse, client.write_ahead)  # a pulse: with `connection_speed`, too
    numbers = (*counted, client.choke_grace, client.reconnect_interval)
    return any(numbers) or any(getattr(client, name) not in plain for name, plain in _WITHOUT_TALLY.items())


_WITHOUT_TALLY = {
    "choker": ("list",),
    "picker": ("begun-first",),
    "requests": ("rate", "seconds"),
    "mixed_mode": ("prefer-tcp",),
    "limiter": ("turns",),
    "limit_counts": ("messages",),
}


def _replacements(scenario: Scenario, peer_class: PeerClass) -> int:
    """Peers that may have to take the place of others of their class: no more leave than complete their download."""
    departures = scenario.departures
    replaced = departures.replace and departures.stay != "forever" and peer_class.role == "leecher"
    return scenario.target if replaced and peer_class.number else 0


def _located(peer_class: PeerClass, more: int) -> list[str]:
    """Location of each peer of a class, and of those that may take the place of others: one of the class's in turn."""
    of_class = peer_class.location
    return [*peer_class.placement(), *(of_class[i % len(of_class)] for i in range(more if of_class else 0))]


def _places(scenario: Scenario, locations: list[str], peers: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Place of each peer and RTT between places [s]; one place if all paths are alike, none known if they are drawn."""
    if scenario.paths.internet is not None:
        return np.arange(peers, dtype=np.int32), np.zeros((1, 1))
    matrix = scenario.paths.matrix
    if matrix is None:
        return np.zeros(peers, np.int32), np.full((1, 1), scenario.paths.rtt)
    names = sorted(set(locations))
    rtt = np.zeros((len(names), len(names)))
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            try:
                rtt[i, j] = matrix.between(a, b)
            except KeyError:  # two seeds: they never connect
                rtt[i, j] = 0.0
    return np.array([names.index(name) for name in locations], np.int32), rtt


def _constants(model: FrozenModel | None, of: type[FrozenModel], **called: str) -> dict[str, int | float]:
    """Return the constants of a model that are among the kernels' rules, by their names there.

    Args:
        model: Where they are; None for zeros of the same types, so that one compilation serves swarms that use the
            model and those that do not.
        of: The kind of model.
        called: The field's name of those rules that have another one.
    """
    names = {rule: called.get(rule, rule) for rule in Rules._fields}
    kinds = {rule: of.model_fields[name].annotation for rule, name in names.items() if name in of.model_fields}
    return {rule: (float if kind is float else int)(getattr(model, names[rule], 0)) for rule, kind in kinds.items()}


def _rules(scenario: Scenario, peers: int, ideal: bool) -> Rules:
    """Sizes of the swarm, lengths of messages, and TCP's constants for the kernels."""
    clients = [c.client for c in scenario.classes]
    client, swarm, departures, transport = clients[0], scenario.swarm, scenario.departures, scenario.transport
    unit = min(c.upload_unit for c in clients)
    slot_bits = (max(c.max_allow_in for c in clients) + PENDING_SLOTS - 1).bit_length()
    if peers << slot_bits > MOST_ENDS:
        reason = f"are too many for {1 << slot_bits} connections each (classes.*.client.max_allow_in and its margin)"
        raise ScenarioError("leechers", scenario.leechers, reason, f"at most {MOST_ENDS >> slot_bits} peers")
    if scenario.paths.internet is not None and peers > MOST_APART:
        reason = "are too many, seeds and replacements included, for a path from each to each (paths.internet)"
        raise ScenarioError("leechers", scenario.leechers, reason, f"at most {MOST_APART} peers")
    last_piece = swarm.file_size - (swarm.pieces - 1) * swarm.piece_size
    last_piece_blocks = -(-last_piece // swarm.block_size)
    constants = _constants(transport, Transport, initial_rto="rto_initial", dupacks="dupack_threshold")
    constants |= _constants(client, Client, header="piece_header")
    sizes = {
        "peers": peers,
        "slots": 1 << slot_bits,
        "slot_bits": slot_bits,
        "pieces": swarm.pieces,
        "blocks": swarm.piece_size // swarm.block_size,
        "block_size": swarm.block_size,
        "last_block_size": last_piece - (last_piece_blocks - 1) * swarm.block_size,
        "last_piece_blocks": last_piece_blocks,
        "bitfield_size": client.state_size + -(-swarm.pieces // 8),
        "segment_units": max(1, transport.tso_segment // unit) if transport is not None and transport.tso else 1,
        "mss": float(transport.mss if transport is not None else UNLIMITED_UNIT),
        "announce_interval": scenario.tracker.announce_interval,
        "tracker_reply": scenario.tracker.reply_peers,
        "initial_window": float(constants["initial_window"]),
        "send_buffer": constants["send_buffer"] / SKB_TRUESIZE,
        "horizon": scenario.give_up_time,
        "stay": {"forever": -1.0, "leave": 0.0, "random": departures.mean_stay}[departures.stay],
    }
    flags = {
        "ideal": ideal,
        "linked": scenario.linked,
        "split": scenario.control_connections == "separate",
        "direct": scenario.idealised.control,
        "super_seeding": any(c.client.super_seeding for c in scenario.classes if c.role == "seed" and c.number),
        "replace": departures.replace,
        "apart": scenario.paths.internet is not None,
        "tallied": any(_tallied(c) for c in clients),
    }
    return Rules(**{**constants, **sizes, **{name: int(flag) for name, flag in flags.items()}})
