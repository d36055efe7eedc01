"""Records a link experiment: every packet and ACK of a stretch of it, and what each sender and each queue is at.

Columns of the trace, times in seconds from its start:

    flow, ack, queue, fate, bytes, came, begins, leaves, arrives   (parcels,): see `parcels.PARCEL`
    time                                                           (looks,): when senders and queues were looked at
    window, threshold, rtt, phase                                  (looks, flows): in segments and seconds; PHASES
    waiting, arrived, dropped                                      (looks, queues): packets; from the start on
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from btflow.kernels.link import engine, state as k
from btflow.kernels.link.laws import bbr, ledbatpp, utp
from btflow.link.program import compile_link
from btflow.link.run import load_kernels
from btflow.link.state import LinkProgram, build
from btflow.motion.parcels import Parcels
from btflow.motion.trace import Trace, pace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from btflow.kernels.link.state import State
    from btflow.link.scenario import LinkScenario

MOST_PARCELS = 50_000
"""Packets and ACKs of a trace at most, 25 B each: it ends when it has so many."""

MOST_STATES, MOST_LOOKS = 40_000, 800
"""Senders times looks at them, 13 B each, and looks at most."""

PACKETS, ROUNDS = 3000, 20
"""How long a trace is if nobody says: so many full packets at the bottleneck, or so many round trips, the longer."""

PHASES = (
    "not started", "connecting", "slow start", "congestion avoidance", "fast recovery", "after a timeout",
    "steered by delay", "constant rate", "finished", "startup", "drain", "probes bandwidth", "probes round-trip time",
)  # fmt: skip
_WAITS, _CONNECTS, _SLOW_START, _AVOIDANCE, _RECOVERY, _TIMEOUT, _BY_DELAY, _CONSTANT, _FINISHED, _STARTUP = range(10)

_LAWS_OF_DELAY = (k.VEGAS, k.LP, k.NICE, k.LEDBAT, k.UTP, k.LEDBATPP)
_AT_ONCE = 1 << 20
"""Events between two looks at Ctrl-C."""

Progress = Callable[[float], None]


def record(
    scenario: LinkScenario, seed: int, start: float, length: float | None, progress: Progress | None = None
) -> Trace:
    """Run an experiment up to `start + length` [s] and return what moved from `start` on; see the module.

    Nothing that the engine decides depends on being watched: windows and counts are those of `simulate_link`, to the
    bit (that of times in a state is rounded otherwise, as they are added up in shorter parts; it is not used).
    """
    program = compile_link(scenario)
    load_kernels(program)
    program = replace(program, rules=program.rules._replace(warmup=0.0))  # what is counted here is counted from 0 on
    s = build(program, seed)
    end = scenario.duration if length is None else min(scenario.duration, start + length)
    if length is None:
        end = min(end, start + _length(program))
    run_to(s, start)
    watch = _Watch(program, s, start, end)
    while watch.now < end and len(watch.parcels.rows) < MOST_PARCELS:
        watch.go_on()
        if progress is not None:
            progress((watch.now - start) / (end - start))
    return watch.trace(_about(scenario, program, s, seed))


def run_to(s: State, now: float) -> None:
    """Handle all events of an experiment up to a time [s]."""
    until = s._replace(rules=s.rules._replace(duration=now))
    while engine.run(until, _AT_ONCE) != engine.DONE:
        pass


class _Watch:
    """Goes through an experiment and looks at it."""

    def __init__(self, program: LinkProgram, s: State, start: float, end: float) -> None:
        self._s, self._start, self._end = s, start, end
        self._looks = max(2, min(MOST_LOOKS, MOST_STATES // max(1, program.rules.flows)))
        self._taken: list[tuple[Any, ...]] = []
        self.now = start
        self.parcels = Parcels(s, start)
        self._take()

    def go_on(self) -> None:
        """Go on as far as nothing can be missed, or to when a look at senders is due."""
        far = max(0.5 * self.parcels.shortest, 1e-9)
        due = self._start + len(self._taken) * (self._end - self._start) / (self._looks - 1)
        following = float(self._s.heap[0].time) + far
        self.now = min(max(self.now + far, following), max(due, self.now), self._end)
        run_to(self._s, self.now)
        self.parcels.look(self.now)
        if self.now >= due:
            self._take()

    def trace(self, about: dict[str, Any]) -> Trace:
        """Return what was seen."""
        if self._taken[-1][0] < self.now:
            self._take()
        table = self.parcels.table()
        times = {
            name: (table[name] - self._start).astype(np.float32) for name in ("came", "begins", "leaves", "arrives")
        }
        names = ("time", "window", "threshold", "rtt", "phase", "waiting", "arrived", "dropped")
        looks = {name: np.array(values) for name, values in zip(names, zip(*self._taken, strict=True), strict=True)}
        looks["time"] = (looks["time"] - self._start).astype(np.float32)
        whole = len(self.parcels.rows) < MOST_PARCELS
        length = self.now - self._start
        found = {"start": self._start, "length": length, "pace": pace(length), "whole": whole}
        plain = {name: np.ascontiguousarray(table[name]) for name in ("flow", "ack", "queue", "fate", "bytes")}
        return Trace(about | found, plain | times | looks)

    def _take(self) -> None:
        """Look at senders and queues."""
        s = self._s
        window = np.where(s.flow.law == k.CBR, np.nan, s.flow.cwnd)
        threshold = np.where(s.flow.ssthresh < k.FOREVER, s.flow.ssthresh, np.nan)
        rtt = np.where(s.flow.srtt > 0.0, s.flow.rtt, np.nan)
        states = (values.astype(np.float32) for values in (window, threshold, rtt))
        counts = (values.astype(np.uint32) for values in (s.queue.packets, s.queue.arrivals, s.queue.drops))
        self._taken.append((self.now, *states, _phases(s, self.now), *counts))


def _phases(s: State, now: float) -> NDArray[np.uint8]:
    """Return what each sender is at, as the place in PHASES (flows,)."""
    f = s.flow
    own = np.isin(f.law, (k.LEDBAT, k.UTP, k.LEDBATPP))  # laws with a slow start of their own
    opens = (f.opening == 1) & np.where(f.law == k.LEDBAT, f.slow_start > 0, f.variant != utp.FIRST)
    starts = np.where(own, np.where(f.law == k.LEDBATPP, f.slowing == ledbatpp.OPENING, opens), f.cwnd < f.ssthresh)
    found = np.full(f.size, _BY_DELAY)
    for where, phase in (  # the later ones count
        (~np.isin(f.law, _LAWS_OF_DELAY), _AVOIDANCE),
        (starts, _SLOW_START),
        (f.phase == k.RECOVERY, _RECOVERY),
        (f.law == k.BBR, _STARTUP + f.mode - bbr.STARTUP),
        (f.phase == k.LOSS, _TIMEOUT),
        (f.law == k.CBR, _CONSTANT),
        (f.running == k.CONNECTING, _CONNECTS),
        ((f.finish >= 0.0) | (f.stop <= now), _FINISHED),
        (f.running == k.IDLE, _WAITS),
    ):
        found = np.where(where, phase, found)
    return np.asarray(found, np.uint8)


def _length(program: LinkProgram) -> float:
    """Return how long a trace is if nobody says [s]."""
    rate = program.queue["rate"][program.queue_names.index(program.bottleneck)]
    size = (program.flow["mss"] + program.flow["header"]).max()
    rtt = (program.flow["data_delay"] + program.flow["ack_delay_path"]).max()
    return float(max(PACKETS * size / rate, ROUNDS * rtt))


def _about(scenario: LinkScenario, program: LinkProgram, s: State, seed: int) -> dict[str, Any]:
    """Return what the trace is of."""
    q = program.queue_names.index(program.bottleneck)
    record = s.queue[q]
    buffer = scenario.queues[program.bottleneck].buffer
    room = min(float(record.limit_packets), float(record.limit_bytes) / float((s.flow.mss + s.flow.header).max()))
    return {
        "kind": "link",
        "title": scenario.title,
        "model": scenario.name,
        "seed": seed,
        "duration": scenario.duration,
        "queues": list(program.queue_names),
        "queue": q,
        "rate": float(record.rate),
        "discipline": scenario.queues[program.bottleneck].discipline,
        "room": room if math.isfinite(room) else None,
        "packets": buffer is not None and buffer.kind == "packets",
        "phases": list(PHASES),
        "flows": [_flow(program, i, q) for i in range(program.rules.flows)],
    }


def _flow(program: LinkProgram, i: int, q: int) -> dict[str, Any]:
    """Return what a flow is; `backward`: its ACKs are what passes queue `q`."""
    f = program.flow[i]
    backward = q in (f["ack_queue0"], f["ack_queue1"]) and q not in (f["data_queue0"], f["data_queue1"])
    cc = program.flow_cc[i]
    return {
        "name": program.flow_names[i],
        "cc": cc,
        "kind": program.flow_kinds[i],
        "backward": bool(backward),
        "start": float(f["start"]),
    }
