"""How long a full queue of a line is, and what drops in it.

A drop-tail queue is full when it drops. Near each loss the wait was at least the longest that was seen, and at most as
much more as it had last risen from one sample to the next; the queue is in all of these. One packet more on either
side: whether the one that is being sent counts cannot be seen. And as many more as there were small packets in it: the
queue may count packets, and each takes the place of a large one.

If losses come at half of the longest wait or less, or if pings do not wait behind the load's packets, it is managed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from btflow.lines.line import Estimate, Kind, Queued
from btflow.lines.traces import Floats, Load
from btflow.lines.waits import AT_PEAK, Seen, Waits, beside, of_the_load, pings_pass

MANAGED = 0.5
"""Median wait at losses over the longest wait: up to this the queue is managed, from `AT_PEAK` on drop-tail."""


MOST_LOSSES = 2000
"""Losses that are looked at, evenly out of more: the median of these is as sure, and each takes a look at all waits."""


def queue_of(loads: Sequence[Load], seen: Seen, rate: Estimate, buffer: str | None) -> tuple[Queued, list[str]]:
    """Return what is known of a direction's queue, and what is not, in words; the buffer may be given."""
    packet = max(load.packet for load in loads)
    notes = ["the line was not surely kept busy: the rate is at least this"] if math.isinf(rate.high) else []
    if not seen.alone:
        notes.append("the other direction was loaded too, so the wait is of both queues: the buffer is not known")
    best = of_the_load(seen.waits)
    if best is None or not seen.alone:
        return Queued(rate, packet, None, "unknown", buffer), notes
    peaks = _peaks(best, np.concatenate([*(load.lost for load in loads), *(one.lost for one in seen.waits)]))
    longest = max(one.longest for one in seen.waits)
    at_losses = float(np.median(peaks[:, 0])) / max(longest, 1e-9) if len(peaks) else math.nan
    if pings_pass(seen.waits) or at_losses <= MANAGED:
        kind: Kind = "fq-codel" if pings_pass(seen.waits) else "codel"
        return Queued(rate, packet, Estimate(longest, longest, math.inf), kind, buffer), notes
    most = _most(peaks, longest, packet / rate.value, loads, seen) if at_losses >= AT_PEAK else math.inf
    if math.isinf(most):
        notes.append(f"the queue was never surely full: it holds at least {1000 * longest:.0f} ms")
    wait = Estimate(longest, max(longest - packet / rate.value, 0.0), most)
    return Queued(rate, packet, wait, "drop-tail", buffer), notes


def _most(peaks: Floats, longest: float, service: float, loads: Sequence[Load], seen: Seen) -> float:
    """Return how long a packet waits in the full queue at most [s]; service is the time it takes on the link [s]."""
    full = peaks[peaks[:, 0] >= AT_PEAK * longest]
    most = max(float((full[:, 0] + full[:, 1]).min()), longest)
    small = longest * max(beside(load, seen.delays, seen.loads)[1] for load in loads)
    return most + (1 + small) * service + seen.base.value - max(seen.base.low, 0.0)


def _peaks(waits: Waits, lost: Floats) -> Floats:
    """Return for each loss the longest wait near it, and how much it had last risen (losses, 2) [s].

    A loss is found a round trip after the queue dropped, or a few.
    """
    step = float(np.median(np.diff(waits.time))) if len(waits.time) > 1 else 0.0
    found = []
    for time in lost[:: 1 + len(lost) // MOST_LOSSES]:
        nearest = int(np.argmin(np.abs(waits.time - time)))
        reach = 2 * (waits.wait[nearest] + waits.base) + 2 * step
        near = np.flatnonzero((waits.time >= time - reach) & (waits.time <= time + 2 * step))
        if len(near):
            top = int(near[np.argmax(waits.wait[near])])
            found.append((waits.wait[top], max(waits.wait[top] - waits.wait[max(top - 1, 0)], 0.0)))
    return np.array(found).reshape(-1, 2)
