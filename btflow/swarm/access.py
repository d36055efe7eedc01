"""The access links of a swarm: what the classes say, as arrays, and the state of the flows on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from btflow.kernels.access import state as a
from btflow.kernels.flow import state as f
from btflow.kernels.link import state as k
from btflow.kernels.swarm.state import FOREVER, KINDS, OPENS_TCP, OPENS_UTP, Swarm
from btflow.link.access import MAX_RATE, on_wire
from btflow.link.congestion import CongestionControl
from btflow.link.program import UNLIMITED, write_congestion_control, write_queue
from btflow.link.state import complete
from btflow.memory import arrays, size_of
from btflow.swarm.network import Socket
from btflow.swarm.scenario import PeerClass, Scenario

if TYPE_CHECKING:
    from btflow.swarm.program import Program

SAMPLE_EVERY = 0.1
"""Period of the samples of the uplinks' queues [s]: 10 Hz (Testa and Rossi, P2P'11, section IV)."""

DELAY_BINS = 4096
"""Bins of the queueing delay: up to the longest queue, or 10 s if the buffer has no bound in time."""

PACKET_BINS = 4096
"""Most packets in a queue that are told apart."""

POOL, LARGE_POOL = 1 << 16, 1 << 19
"""Places in the rings of all flows at the start: least, and most; the pool doubles when it is used up."""


@dataclass(frozen=True)
class Links:
    """The access links of a swarm, before anything random is drawn.

    Attributes:
        queue: Uplink and downlink of each peer (2 peers,), dtype ``QUEUE``.
        template: Flow records by class and by TCP, UTP or CONTROL (classes, 3), dtype ``FLOW``.
        transports: What each peer opens and accepts, as bits (peers,).
        delay: Least and greatest propagation delay of an access link, one way [s].
        core: One-way propagation delay between two access links [s].
        history_slots: Periods of base-delay history that a flow needs.
        filter_slots: Samples that a flow needs.
        free_acks: Whether ACKs take no room.
        names: Names of the congestion controls by class and by TCP, UTP or CONTROL.
    """

    queue: NDArray[np.void]
    template: NDArray[np.void]
    transports: NDArray[np.uint8]
    delay: tuple[float, float]
    core: float
    history_slots: int
    filter_slots: int
    free_acks: bool
    names: tuple[tuple[str, ...], ...]

    def upload_rate(self, limit: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rate at which each peer may send at most [B/s], for their upload limits."""
        return np.asarray(np.minimum(np.minimum(limit, self.queue["rate"][0::2]), MAX_RATE), np.float64)

    @property
    def longest_queue(self) -> float:
        """Longest wait in an uplink's queue [s]."""
        largest = (self.template["mss"] + self.template["header"]).max()
        largest = on_wire(largest, self.queue["framing"], self.queue["cells"])
        room = np.minimum((self.queue["limit_packets"] + 1.0) * largest, self.queue["limit_bytes"] + largest)
        waits = np.where(np.isfinite(self.queue["rate"]), room / self.queue["rate"], 0.0)
        return float(waits.max(initial=0.0))


def compile_links(scenario: Scenario, classes: Sequence[PeerClass], counts: Sequence[int]) -> Links:
    """Return the access links of a scenario whose classes have so many peers."""
    queues = np.zeros((len(classes), 2), k.QUEUE)
    template = np.zeros((len(classes), 3), k.FLOW)
    transports = []
    sockets = scenario.sockets
    assert sockets is not None
    for number, c in enumerate(classes):
        assert c.access is not None
        for way, queue in enumerate((c.access.uplink, c.access.downlink)):
            write_queue(queues[number, way], queue, scenario.base_rtt)
        for kind, (cc, socket) in enumerate(((c.tcp, sockets.tcp), (c.utp, sockets.utp), (c.control, sockets.tcp))):
            _write_start(template[number, kind])
            if cc is not None:
                _write_template(template[number, kind], cc, socket, scenario.paths.loss)
                template[number, kind]["told"] = c.uplink_queue == "host" and cc is not c.utp
        transports.append(_transports(c))
    complete(queues, (template["mss"] + template["header"]).max())
    used = [cc for c in classes for cc in (c.tcp, c.utp, c.control) if cc is not None]
    return Links(
        queue=np.repeat(queues, counts, axis=0).ravel(),
        template=template,
        transports=np.repeat(np.array(transports, np.uint8), counts),
        delay=(scenario.paths.delay_min, scenario.paths.delay_max),
        core=scenario.paths.rtt / 2,
        history_slots=max((cc.history or 1 for cc in used), default=1) + 1,
        filter_slots=max(FILTER_SLOTS, *(cc.filter or 1 for cc in used)),
        free_acks=scenario.idealised.acks,
        names=tuple(tuple(cc.name if cc else "" for cc in (c.tcp, c.utp, c.control)) for c in classes),
    )


FILTER_SLOTS = 10
"""Least number of samples kept: BBR's window of rates."""


def _write_start(record: Any) -> None:
    """Write a flow's state before its first SYN; that is all there is of a transport that a class does not take."""
    record["app"] = k.STREAM
    record["train"] = record["weight"] = 1
    record["stop"] = k.FOREVER
    record["srtt"] = record["finish"] = -1.0
    record["backoff"] = 1.0
    record["min_rtt"] = record["rto_at"] = record["ack_at"] = k.FOREVER
    record["first_message"] = record["last_message"] = record["reverse"] = k.NONE


def _write_template(record: Any, cc: CongestionControl, socket: Socket, loss: float) -> None:
    """Write the constants of a congestion control and a socket."""
    write_congestion_control(record, cc)
    record["max_window"] = max(1, cc.max_window // cc.mss)
    if cc.ack_counts == "bytes":
        record["ack_bytes"] = cc.mss if cc.ack_every == 1 else (cc.ack_every - 1) * cc.mss + 1
    record["data_loss"] = record["ack_loss"] = loss
    record["nagle"] = {"off": k.NO_NAGLE, "small": k.SMALL_DATA, "any": k.ANY_DATA}[socket.nagle]
    record["socket"] = socket.buffer
    record["socket_windows"] = socket.windows
    record["socket_free"] = socket.free
    record["socket_unsent"] = socket.counts == "unsent"
    record["rto"] = cc.rto_initial


def _transports(c: PeerClass) -> int:
    """Return what a class opens and accepts, as the kernels' bits."""
    bits = sum(bit for way, bit in (("tcp", OPENS_TCP), ("utp", OPENS_UTP)) if way in c.opens)
    bits += sum(bit for way, bit in (("tcp", a.ACCEPTS_TCP), ("utp", a.ACCEPTS_UTP)) if way in c.accepts)
    bits += a.PREFERS_UTP if c.opens[:1] == ("utp",) else 0
    return bits + (a.IN_PARALLEL if c.attempts == "parallel" else 0)


def _layout(program: Program, pool: int) -> dict[str, tuple[tuple[int, ...], Any]]:
    """Shape and dtype of the arrays of the links that start at zero, the pool of rings apart."""
    links, rules = program.links, program.rules
    assert links is not None
    peers, ends = rules.peers, rules.peers << rules.slot_bits
    flows = ends * (2 if rules.split else 1)
    sources = flows * int(k.TIMERS) + 6 * peers
    event_served = bool(np.isin(links.queue["kind"], k.BY_EVENT).any())
    by_flow = bool(np.isin(links.queue["kind"], (k.FQ_CODEL, k.CAKE)).any())
    rings = int(_queue_rings(links).sum())
    return {
        "clock": ((1,), k.CLOCK),
        "hand": ((1,), k.PARCEL),
        "heap": ((sources,), k.HEAP),
        "key": ((sources,), np.float64),
        "pos": ((sources,), np.int64),
        "queue": ((2 * peers,), k.QUEUE),
        "pipe": ((4 * peers,), k.PIPE),
        "service": ((rings,), k.SERVICE),
        "parcel": ((int(_pipe_rooms(program).sum()),), k.PARCEL),
        "flow": ((flows,), k.FLOW),
        "waiting": ((rings + 1 if event_served else 1,), k.PARCEL),
        "subqueue": ((4 * flows if by_flow else 1,), k.SUBQUEUE),
        "history": ((flows, links.history_slots), np.float64),
        "recent": ((flows, links.filter_slots), np.float64),
        "queue_time": ((2 * peers, 1), np.float64),
        "rtt_bins": ((1, 1), np.int64),
        "record_delay": ((1, 1), np.float64),
        "flow_series": ((1, 1, 1), np.float64),
        "queue_series": ((1, 1, 1), np.int64),
        "queue_delay_series": ((1, 1), np.float64),
        "course": ((1,), k.COURSE),
        "protocol": ((ends,), np.uint8),
        "rings": ((int(a.TOP) + 1,), np.int64),
        "watch": ((1,), a.WATCH),
    } | (_watched(peers, len(program.class_names), links) | _pool(pool))


def _watched(peers: int, classes: int, links: Links | None) -> dict[str, tuple[tuple[int, ...], Any]]:
    """Layout of what is seen on links, the same at both fidelities; of size 1 without links."""
    delays = a.DELAY_BINS if links else 1
    return {
        "crossed": ((peers, a.COLUMNS), np.float64),
        "queue_packets": ((classes, _packet_bins(links) if links else 1), np.int64),
        "queue_delay": ((classes, DELAY_BINS if links else 1), np.int64),
        "control": ((classes, int(KINDS), delays), np.int64),
        "control_sum": ((classes, int(KINDS)), np.float64),
        "latency": ((classes, delays), np.int64),
        "latency_sum": ((classes,), np.float64),
        "slots": ((classes, 2), np.float64),
        "wins": ((peers,), np.int64),
    }


def _pool(places: int) -> dict[str, tuple[tuple[int, ...], Any]]:
    """Layout of the rings of all flows."""
    return {
        "segment": ((places,), k.SEGMENT),
        "again": ((places,), np.int64),
        "log": ((places,), np.int64),
        "got": ((places,), np.int64),
    }


def links_bytes(program: Program) -> int:
    """Memory that the links of one replica take at the start [B]; the rings of busy flows add to it."""
    return size_of(_layout(program, _first_pool(program)))


def _first_pool(program: Program) -> int:
    """Places in the pool of rings: all that the first connections may open at once, several times.

    A pool that doubles is copied, so that of a small swarm has room for connections between all peers.
    """
    rules = program.rules
    ends = int(rules.peers) * min(int(rules.peers) - 1, int(program.client["max_allow_in"].max()))
    return max(POOL, 8 * int(rules.slots) << (a.SMALLEST_RING + 2), min(3 * ends << a.SMALLEST_RING, LARGE_POOL))


def _queue_rings(links: Links) -> NDArray[np.int64]:
    """Places for what waits in each queue, a power of two (2 peers,)."""
    largest = (links.template["mss"] + links.template["header"]).max()
    most = np.minimum(links.queue["limit_packets"], PACKETS_PER_FULL_ONE * links.queue["limit_bytes"] / largest)
    most = np.where(np.isfinite(links.queue["rate"]), np.minimum(most, MAX_WAITING), 0)
    return np.asarray(2 ** np.ceil(np.log2(most + 2)), np.int64)


PACKETS_PER_FULL_ONE = 4
"""Packets that a buffer limited in bytes takes at most in place of each full-size one; what comes beyond is dropped."""

MAX_WAITING = 1 << 16
"""Most packets that a queue of a swarm holds, whatever its buffer."""


def _pipe_rooms(program: Program) -> NDArray[np.int64]:
    """Places for what is on its way behind each queue, and for what the queue holds: Lindley's queues send ahead."""
    links = program.links
    assert links is not None
    rate, acks = np.minimum(links.queue["rate"], MAX_RATE), links.template["ack_size"]
    smallest = float(acks[acks > 0].min(initial=40.0))
    flying = rate * (links.delay[1] + 0.5 * links.core) / smallest
    flying = np.where(np.isfinite(links.queue["rate"]), flying, MAX_FLYING)
    rings = np.asarray(2 ** np.ceil(np.log2(_queue_rings(links) + np.minimum(flying, MAX_FLYING) + 64)), np.int64)
    past = np.full(rings.size, MAX_FLYING if links.free_acks else 1, np.int64)  # the ways past the queues
    return np.concatenate([rings, past])


MAX_FLYING = 1 << 13
"""Most packets on their way behind a link whose rate is not limited."""


def _packet_bins(links: Links) -> int:
    return min(int(np.max(_queue_rings(links))), PACKET_BINS) + 1


def build_links(program: Program, s: Swarm, seed: int, replica: int) -> a.Access:
    """State of a replica with its links before its first event."""
    links, rules = program.links, program.rules
    assert links is not None
    source = np.random.SeedSequence(seed, spawn_key=(replica, 1))
    random = np.random.Generator(np.random.PCG64(source.spawn(1)[0]))
    made = arrays(_layout(program, _first_pool(program)))
    peers, flows = rules.peers, len(made["flow"])
    net = k.State(
        rules=k.Rules(
            flows=flows,
            queues=2 * peers,
            sources=len(made["key"]),
            duration=rules.horizon,
            warmup=0.0,
            sample_every=0.0,
            history_slots=links.history_slots,
            filter_slots=links.filter_slots,
            per_flow=int(k.TIMERS),
            skipped=int(k.SOURCES - k.TIMERS),
            first_queue=flows * int(k.TIMERS) + 4 * peers,
        ),
        rng=source.generate_state(2, np.uint64),
        **{name: made[name] for name in k.State._fields if name not in ("rules", "rng")},
    )
    _begin(net, program, random)
    x = a.Access(
        swarm=s,
        net=net,
        template=links.template.view(np.recarray),
        **{name: made[name] for name in a.Access._fields if name not in ("swarm", "net", "template")},
    )
    s.peer.transports = links.transports
    x.rings[:] = k.NONE
    x.rings[a.TOP] = 0
    x.watch.every = SAMPLE_EVERY
    _begin_watch(x.watch, program, links)
    return x


def _begin_watch(watch: Any, program: Program, links: Links) -> None:
    """How wide the bins of waits are, from which completion on it is looked at, and whether ACKs take room."""
    longest = links.longest_queue
    watch.width = (longest if math.isfinite(longest) and longest > 0.0 else 10.0) / (DELAY_BINS - 2)
    watch.begin = program.target - program.discard
    watch.free_acks = links.free_acks


def _begin(net: k.State, program: Program, random: np.random.Generator) -> None:
    """Queues, pipes and propagation delays; nothing is scheduled."""
    links = program.links
    assert links is not None
    net.queue[:] = links.queue
    net.key[:] = k.FOREVER
    net.pos[:] = k.NONE
    rings = _queue_rings(links)
    net.queue.offset = np.cumsum(rings) - rings
    net.queue.mask = rings - 1
    net.pipe.room = _pipe_rooms(program)
    net.clock.free_parcel = k.NONE
    for name in ("head", "tail", "new_first", "new_last", "old_first", "old_last"):
        net.queue[name] = k.NONE
    net.queue.update_at = net.queue.update
    for name in ("head", "tail", "next"):
        net.subqueue[name] = k.NONE
    if net.subqueue.size > 1:
        line = np.arange(net.subqueue.size)
        peer = ((line >> 2) % (program.rules.peers << program.rules.slot_bits)) >> program.rules.slot_bits
        net.subqueue.host = (peer << program.rules.slot_bits + 2) + (line & 1)  # a peer's first one, up or down
    net.waiting.next = np.append(np.arange(1, net.waiting.size), k.NONE)
    net.pipe.source = len(net.flow) * int(k.TIMERS) + np.arange(net.pipe.size)
    # Both ways of an access link have the same delay; half of what lies between two of them is put to each.
    delay = random.uniform(*links.delay, size=program.rules.peers) + 0.5 * links.core
    net.pipe.delay = np.tile(np.repeat(delay, 2), 2)
    net.clock.delivered = net.clock.acked = net.clock.cramped = k.NONE


# -- flow fidelity -----------------------------------------------------------------------------------------------------


def _net_layout(program: Program, served: int) -> dict[str, tuple[tuple[int, ...], Any]]:
    """Shape and dtype of the arrays of the links at flow fidelity, for so many lanes; of size 1 without links."""
    links, rules = program.links, program.rules
    there = links is not None
    peers, ends = (rules.peers, rules.peers << rules.slot_bits) if there else (1, 1)
    return {
        "flow": ((ends,), k.FLOW),
        "history": ((ends, links.history_slots if links else 1), np.float64),
        "recent": ((ends, links.filter_slots if links else 1), np.float64),
        "protocol": ((ends,), np.uint8),
        "link": ((peers,), f.LINK),
        "pull": ((served if there else 1,), f.PULL),
        "line": ((ends,), f.LINE),
        "watch": ((1,), f.LINK_WATCH),
    } | _watched(peers, len(program.class_names), links)


def net_bytes(program: Program, served: int) -> int:
    """Memory that the links of one replica take at flow fidelity [B]; most of it is never touched."""
    return size_of(_net_layout(program, served))


def build_net(program: Program, seed: int, replica: int, served: int) -> f.Net:
    """The links of a replica at flow fidelity before its first event; propagation delays are those of full."""
    source = np.random.SeedSequence(seed, spawn_key=(replica, 1))
    random = np.random.Generator(np.random.PCG64(source.spawn(1)[0]))
    links = program.links
    template = np.zeros((1, 3), k.FLOW) if links is None else links.template
    net = f.Net(
        rng=source.generate_state(2, np.uint64),
        template=template.view(np.recarray),
        **arrays(_net_layout(program, served)),
    )
    if links is None:
        return net
    up, down = links.queue[0::2], links.queue[1::2]
    net.link.per_byte = np.where(np.isfinite(up["rate"]), 1.0 / up["rate"], 0.0)
    net.link.per_byte_down = np.where(np.isfinite(down["rate"]), 1.0 / down["rate"], 0.0)
    net.link.delay = random.uniform(*links.delay, size=program.rules.peers) + 0.5 * links.core
    net.link.framing = up["framing"]
    acks = np.where(template["ack_size"] > 0.0, template["ack_size"], np.inf).min(axis=1)
    net.link.bare = np.where(np.isfinite(acks), acks, 40.0)[program.klass] + up["framing"]
    net.link.room_bytes, net.link.room_packets = up["limit_bytes"], up["limit_packets"]
    largest = (template["mss"] + template["header"]).max() + down["framing"].max()
    room = np.minimum(down["limit_bytes"], (down["limit_packets"] + 1.0) * largest)
    net.link.down_room = np.where(np.isfinite(down["rate"]), room * net.link.per_byte_down, 0.0)
    net.link.look_at = FOREVER
    net.watch.delay = net.link.delay.mean()
    _begin_watch(net.watch, program, links)
    return net


def widen(x: a.Access) -> a.Access:
    """The same swarm with a pool of rings twice as large."""
    size = x.net.log.size
    larger = arrays(_pool(2 * size))
    for name, array in larger.items():
        array[:size] = getattr(x.net, name)
    return x._replace(net=x.net._replace(**larger))


__all__ = ["UNLIMITED", "Links", "build_links", "compile_links", "links_bytes", "widen"]
