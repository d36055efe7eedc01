"""How long packets waited in the queue of a line while there was a load, and what else passed it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from btflow.lines.line import Estimate
from btflow.lines.traces import HEADER, PING, SMOOTHED, Delays, Floats, Load

EMPTY = 3e-3
"""Waits below this [s], or below a packet, may be none: jitter of the hosts."""
FEWEST = 5
"""Round-trip times that say something together."""
APART = 0.5
"""Pings that wait less than so much of what the load's packets wait pass them by."""
AT_PEAK = 0.8
"""A wait of this share of the longest is at its peak."""
HOSTS = 1e-3
"""What the hosts may add to a round trip [s]: 0.2 to 0.5 ms in the test bed, what packets take on the links left out
(`idle` in tests/lines/recorded/sessions.json), twice as much to be sure."""
STRAY = 0.01
"""Share of the waits that may be longer than the queue: a host or the air paused. A trimmed maximum (Huber and
Ronchetti, Robust Statistics, section 3.3); the share is chosen: six of 600 pings."""
FEW = 3
"""At least so many, of 60 waits or more; of n fewer, n // 20."""


@dataclass(frozen=True)
class Waits:
    """How long packets of one kind waited in the queue, while there was a load."""

    of: str
    time: Floats
    """(samples,) [s]."""
    wait: Floats
    """(samples,) [s]."""
    rtt: float
    """Longest round-trip time [s]."""
    base: float
    """Base round-trip time [s]."""
    lost: Floats
    """When packets of this kind were sent that did not come back [s]."""
    late: float
    """By how much an ACK may have been held back [s]."""

    @property
    def longest(self) -> float:
        """The longest wait but for strays [s]; 0 if there is no sample."""
        return trimmed(self.wait)

    def during(self, load: Load) -> Waits:
        """Return the waits while there was one of the loads."""
        there = within(self.time, [load])
        return replace(self, time=self.time[there], wait=self.wait[there], lost=self.lost[within(self.lost, [load])])


@dataclass(frozen=True)
class Seen:
    """All that was seen while there was a load in one direction."""

    base: Estimate
    waits: tuple[Waits, ...]
    delays: tuple[Delays, ...]
    loads: tuple[Load, ...]
    """Those of the other direction, too."""
    alone: bool
    """Whether the other direction had no load at the same time, so that waits are those of this one."""


def waits_of(delay: Delays, base: float, rate: float, loads: Sequence[Load]) -> Waits:
    """Return the waits in a series of round-trip times, those while one of the loads was there."""
    wait = np.clip(delay.rtt - base - delay.size / rate, 0.0, None)
    during, lost = within(delay.time, loads) & in_order(delay), delay.lost[within(delay.lost, loads)]
    return Waits(
        delay.of, delay.time[during], wait[during], float(delay.rtt[during].max(initial=base)), base, lost, delay.late
    )


def trimmed(waits: Floats) -> float:
    """Return the longest of some waits (samples,) but for strays [s]; 0 if there is none."""
    strays = max(int(STRAY * len(waits)), min(FEW, len(waits) // 20))
    return float(np.sort(waits)[-1 - strays]) if len(waits) else 0.0


def in_order(delay: Delays) -> NDArray[np.bool_]:
    """Return which packets came back before all that were sent later: a queue lets none pass (samples,)."""
    if delay.of == SMOOTHED:
        return np.ones(len(delay.rtt), bool)
    back = delay.time + delay.rtt
    later = np.minimum.accumulate(back[::-1])[::-1]
    return np.asarray(back <= later + EMPTY + delay.resolution)


def within(time: Floats, loads: Sequence[Load]) -> NDArray[np.bool_]:
    """Return which times are while one of the loads was there."""
    return np.asarray(np.any([(time >= load.start) & (time <= load.end) for load in loads], axis=0))


def of_the_load(waits: Iterable[Waits]) -> Waits | None:
    """Return the waits that the load's own packets show best; those of pings if there are no others."""
    order = ("the flow's packets", SMOOTHED, "pings")
    seen = [waits_ for waits_ in waits if len(waits_.wait)]
    return min(seen, key=lambda one: (order.index(one.of), -len(one.wait)), default=None)


def roughly(load: Load) -> float:
    """Return a rate that packets take their time at, until the rate is known [B/s]."""
    goodput = load.arrived[0] / load.arrived[1] if load.arrived else float(np.median(load.goodput))
    return max(goodput * load.packet / load.segment, 1.0)


def beside(load: Load, delays: Sequence[Delays], loads: Sequence[Load]) -> tuple[float, float]:
    """Return what else leaves in a load's direction: pings, and ACKs of loads in the other one [B/s, packets/s]."""
    if load.beside is not None:
        return load.beside
    many = [d for d in delays if d.of == "pings" and len(d.time) > FEWEST][:1]
    pings = sum(1 / max(float(np.median(np.diff(d.time))), 1e-3) for d in many)
    acked = [other for other in loads if other.way != load.way and other.start < load.end and load.start < other.end]
    acks = sum(float(np.mean(other.goodput)) / other.segment / 2 for other in acked)  # one for two segments
    return pings * PING + acks * HEADER, pings + acks


def pings_pass(waits: Sequence[Waits]) -> bool:
    """Return whether pings do not wait behind the load's packets."""
    best = of_the_load(waits)
    if best is None or best.of == "pings":
        return False
    pings = [
        float(np.quantile(one.wait, 0.9))
        for one in waits
        if one.of == "pings" and len(one.wait) >= FEWEST and np.ptp(one.time) > 0.5 * np.ptp(best.time)
    ]
    if not pings:  # those at the begin of flows are of no queue
        return False
    return best.longest > EMPTY and max(pings) < APART * float(np.median(best.wait))
