"""Program to state arrays: everything one link experiment needs, allocated once."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from btflow.kernels.link import sampling, state as k
from btflow.link.access import on_wire
from btflow.link.flow import Codec
from btflow.memory import arrays
from btflow.options import Fidelity


@dataclass(frozen=True)
class LinkProgram:
    """A link experiment as flat arrays, before anything random is drawn.

    Attributes:
        rules: Sizes and times.
        flow: Constants of each flow (flows,), dtype ``FLOW``.
        queue: Constants of each queue (queues,), dtype ``QUEUE``; `limit_packets` and `limit_bytes` bound it.
        course: Steps of the delay, then rates that change, dtype ``COURSE``.
        rtt_spread: Greatest extra round-trip time of each flow [s] (flows,).
        start_spread: Greatest delay of each flow's start [s] (flows,).
        records: Most messages or voice packets of one flow.
        samples: Points of the time series.
        flow_names: Name of each flow.
        flow_cc: Name of its congestion control, ``udp`` for a voice call.
        flow_kinds: What its application does.
        flow_hosts: The host behind an access link that it belongs to; all of none belong to one.
        codecs: Its codec, None unless it is a voice call.
        queue_names: Access link and direction of each queue.
        bottleneck: Name of the queue that the summary is about.
        fidelity: Which engine is to run it.
    """

    rules: k.Rules
    flow: NDArray[np.void]
    queue: NDArray[np.void]
    course: NDArray[np.void]
    rtt_spread: NDArray[np.float64]
    start_spread: NDArray[np.float64]
    records: int
    samples: int
    flow_names: tuple[str, ...] = ()
    flow_cc: tuple[str, ...] = ()
    flow_kinds: tuple[str, ...] = ()
    flow_hosts: tuple[str, ...] = ()
    codecs: tuple[Codec | None, ...] = ()
    queue_names: tuple[str, ...] = ()
    bottleneck: str = ""
    fidelity: Fidelity = "full"


def power_of_two(least: float) -> int:
    """Least power of two that is at least ``least``."""
    return 1 << max(0, math.ceil(math.log2(max(least, 1.0))))


def build(program: LinkProgram, seed: int) -> k.State:
    """State before the first event. All randomness comes from the seed."""
    source = np.random.SeedSequence(seed)
    random = np.random.Generator(np.random.PCG64(source.spawn(1)[0]))
    rings = _rings(program)
    s = k.State(
        rules=program.rules._replace(sources=_sources(program)),
        rng=source.generate_state(2, np.uint64),
        **arrays(_layout(program, rings)),
    )
    s.flow[:] = program.flow
    flows, ring = program.rules.flows, rings.flow
    s.flow.ring_at, s.flow.ring_mask = ring * np.arange(flows), ring - 1
    s.queue[:] = program.queue
    s.course[: len(program.course)] = program.course
    largest = (program.flow["train"] * (program.flow["mss"] + program.flow["header"])).max()
    complete(s.queue, largest)
    _begin(s, rings.pipes, rings.services)
    if (s.queue.kind == k.CAKE).any():
        _count_hosts(s, program.flow_hosts)
    extra = program.rtt_spread * random.random(flows)
    s.flow.start += program.start_spread * random.random(flows)
    for i in range(flows):
        _lay_pipes(s, i, extra[i])
    return s


SHORTEST_TURN, LONGEST_TURN = 300.0, 1514.0
"""Least and most that a flow may send in its turn with CAKE [B] (Linux sch_cake.c, cake_set_rate)."""

TURNS = 4096.0
"""CAKE: within these the turn is the rate [B/s] over this (Linux sch_cake.c, cake_set_rate)."""

LEAST_TARGET = 1.5
"""CAKE: the target is at least the time that so many full packets take (Linux sch_cake.c, cake_set_rate)."""


def complete(queue: NDArray[np.void], largest: float) -> None:
    """Write what follows from the largest packet of the flows [B], without framing, and what CAKE makes of the rate."""
    queue["mtu"] = np.where(queue["mtu"] > 0.0, queue["mtu"], on_wire(largest, queue["framing"], queue["cells"]))
    cake = queue["kind"] == k.CAKE
    q = queue[cake]
    target = np.maximum(q["target"], LEAST_TARGET * q["mtu"] / q["rate"])
    q["interval"] = np.maximum(q["interval"] + target - q["target"], 2.0 * target)
    q["target"] = target
    q["quantum"] = np.clip(np.floor(q["rate"] / TURNS), SHORTEST_TURN, LONGEST_TURN)
    queue[cake] = q


class _Rings(NamedTuple):
    """Places of the rings, and of what is under way in the pipes."""

    flow: int
    """Of each flow's segments."""
    pipes: NDArray[np.int64]
    """(flows * PIPES,)"""
    services: NDArray[np.int64]
    """(queues,)"""


def _rings(program: LinkProgram) -> _Rings:
    window = most_under_way(program)
    return _Rings(
        power_of_two(2 * window.max(initial=1.0) + 64),
        rooms_of_pipes(program, 2 * window + 64),
        rings_of_queues(program, float((2 * window + 64).sum())),
    )


def _sources(program: LinkProgram) -> int:
    return int(program.rules.flows * k.SOURCES + program.rules.queues + 1)


def _layout(program: LinkProgram, rings: _Rings) -> dict[str, tuple[tuple[int, ...], Any]]:
    """Shape and dtype of the arrays of an experiment."""
    rules, flows, queues, ring = program.rules, program.rules.flows, program.rules.queues, rings.flow
    event_served = np.isin(program.queue["kind"], k.BY_EVENT)
    waiting = int(rings.services[event_served].sum()) + 1
    sources = _sources(program)
    return {
        "clock": ((1,), k.CLOCK),
        "flow": ((flows,), k.FLOW),
        "queue": ((queues,), k.QUEUE),
        "pipe": ((flows * int(k.PIPES),), k.PIPE),
        "subqueue": ((flows * int(k.PIPES) if event_served.any() else 1,), k.SUBQUEUE),
        "hand": ((1,), k.PARCEL),
        "parcel": ((int(rings.pipes.sum()),), k.PARCEL),
        "waiting": ((waiting,), k.PARCEL),
        "service": ((int(rings.services.sum()),), k.SERVICE),
        "segment": ((flows * ring,), k.SEGMENT),
        "again": ((flows * ring,), np.int64),
        "log": ((flows * ring,), np.int64),
        "got": ((flows * ring,), np.int64),
        "key": ((sources,), np.float64),
        "heap": ((sources,), k.HEAP),
        "pos": ((sources,), np.int64),
        "history": ((flows, rules.history_slots), np.float64),
        "recent": ((flows, rules.filter_slots), np.float64),
        "queue_time": ((queues, bins(program)), np.float64),
        "rtt_bins": ((flows, sampling.RTT_BINS), np.int64),
        "record_delay": ((flows, program.records), np.float64),
        "flow_series": ((program.samples, flows, sampling.COLUMNS), np.float64),
        "queue_series": ((program.samples, queues, sampling.QUEUE_COLUMNS), np.int64),
        "queue_delay_series": ((program.samples, queues), np.float64),
        "course": ((max(1, len(program.course)),), k.COURSE),
    }


def state_bytes(program: LinkProgram) -> int:
    """Memory that an experiment takes [B]."""
    layout = _layout(program, _rings(program))
    return int(sum(math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in layout.values()))


def most_under_way(program: LinkProgram) -> NDArray[np.float64]:
    """Most trains of each flow on the way: a window, or what speech sends until a full queue has drained."""
    flow, queue = program.flow, program.queue
    largest = (flow["train"] * (flow["mss"] + flow["header"])).max()
    largest = on_wire(largest, queue["framing"], queue["cells"])
    full = np.minimum((queue["limit_packets"] + 1.0) * largest, queue["limit_bytes"] + largest) / queue["rate"]
    full = np.where(len(program.course) == 0, full, np.inf)
    longest = np.append(full, 0.0)  # the last stands for no queue
    way = flow["data_delay"] + 0.5 * program.rtt_spread + longest[flow["data_queue0"]] + longest[flow["data_queue1"]]
    speech = flow["app_rate"] * np.minimum(way, program.rules.duration) + 1.0
    return np.asarray(np.ceil(np.where(flow["law"] == k.CBR, speech, flow["max_window"] / flow["train"])), np.float64)


def rings_of_queues(program: LinkProgram, under_way: float) -> NDArray[np.int64]:
    """Places for what waits in each queue: its limit, and no more than can be under way (queues,)."""
    smallest = min(program.flow["ack_size"].min(), (program.flow["mss"] + program.flow["header"]).min())
    fits = np.minimum(program.queue["limit_packets"], program.queue["limit_bytes"] / smallest)
    return np.array([power_of_two(min(n, under_way) + 2) for n in fits], np.int64)


def rooms_of_pipes(program: LinkProgram, under_way: NDArray[np.float64]) -> NDArray[np.int64]:
    """Places for what is on its way in each pipe (flows * PIPES,).

    Behind a queue: the packets in it and those on the way; at most as many as the flow may have under way.
    """
    rings = np.ones((len(program.flow), int(k.PIPES)), np.int64)
    for i, f in enumerate(program.flow):
        for way, name, delay, size in (
            (k.DATA, "data", f["data_delay"], f["mss"] + f["header"]),
            (k.ACKS, "ack", f["ack_delay_path"], f["ack_size"]),
        ):
            passed = [int(q) for q in (f[f"{name}_queue0"], f[f"{name}_queue1"]) if q != k.NONE]
            if not passed:
                rings[i, int(way)] = power_of_two(under_way[i])
            for hop, number in enumerate(passed, start=1):
                q = program.queue[number]
                sent = q["rate"] * (delay + 0.5 * program.rtt_spread[i] if hop == 1 else 0.0) / size
                held = min(q["limit_packets"], q["limit_bytes"] / size) if len(program.course) == 0 else np.inf
                rings[i, int(way) + hop] = power_of_two(min(held + sent + 8.0, under_way[i]))
    return rings.ravel()


def bins(program: LinkProgram) -> int:
    """Bins of the queue length: up to the limit, in packets."""
    smallest = min(program.flow["ack_size"].min(), (program.flow["mss"] + program.flow["header"]).min())
    fits = np.minimum(program.queue["limit_packets"], program.queue["limit_bytes"] / smallest)
    return int(min(fits.max(initial=1.0), 100_000)) + 2


def _begin(s: k.State, rooms: NDArray[np.int64], service_rings: NDArray[np.int64]) -> None:
    """Nothing is scheduled, known or waiting yet."""
    s.key[:] = k.FOREVER
    s.pos[:] = k.NONE
    s.pipe.room = rooms
    s.clock.free_parcel = k.NONE
    s.queue.offset = np.cumsum(service_rings) - service_rings
    s.queue.mask = service_rings - 1
    s.queue.head = s.queue.tail = k.NONE
    s.queue.new_first = s.queue.new_last = s.queue.old_first = s.queue.old_last = k.NONE
    s.subqueue.head = s.subqueue.tail = s.subqueue.next = k.NONE
    s.waiting.next = np.append(np.arange(1, s.waiting.size), -1)  # the free list
    s.queue.update_at = s.queue.update
    s.record_delay[:] = np.nan
    s.flow.srtt = s.flow.finish = -1.0
    s.flow.rto = s.flow.rto_initial
    s.flow.backoff = 1.0
    s.flow.min_rtt = s.flow.rto_at = s.flow.ack_at = k.FOREVER


def _count_hosts(s: k.State, hosts: tuple[str, ...]) -> None:
    """The first subqueue of each host in each queue counts the host's bulk flows."""
    counter: dict[tuple[int, str], int] = {}
    for i, host in enumerate(hosts or ("",) * len(s.flow)):
        f = s.flow[i]
        for way, queues in ((k.DATA, (f.data_queue0, f.data_queue1)), (k.ACKS, (f.ack_queue0, f.ack_queue1))):
            for hop, number in enumerate(queues, start=1):
                line = i * int(k.PIPES) + int(way) + hop
                s.subqueue.host[line] = counter.setdefault((int(number), host), line)


def _lay_pipes(s: k.State, i: int, extra: float) -> None:
    """Propagation, and half the flow's own extra each way, lies behind the first queue, else behind the sender."""
    f = s.flow[i]
    for way, first, delay in ((k.DATA, f.data_queue0, f.data_delay), (k.ACKS, f.ack_queue0, f.ack_delay_path)):
        hop = 0 if first == k.NONE else 1
        pipe = s.pipe[i * int(k.PIPES) + int(way) + hop]
        pipe.delay, pipe.steps = delay + 0.5 * extra, f.delay_steps
    first = i * int(k.PIPES)
    f.data_pipe1, f.data_pipe2 = first + int(k.DATA) + 1, first + int(k.DATA) + 2
    f.ack_pipe1, f.ack_pipe2 = first + int(k.ACKS) + 1, first + int(k.ACKS) + 2
    s.pipe.source[first : first + int(k.PIPES)] = i * int(k.SOURCES) + np.arange(int(k.PIPES))
    f.reverse = k.NONE
