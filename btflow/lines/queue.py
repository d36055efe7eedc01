"""How long a full queue of a line is, and what drops in it.

A drop-tail queue is full when it drops. Near each loss the wait was at least the longest that was seen there, and at
most as much more as it had last risen from one sample to the next. The full queue is where most losses agree, as clocks
do in Marzullo's algorithm (RFC 5905, section 11.2.1): neither a loss on the path nor a pause of a host moves it. One
packet more on either side: whether the one that is being sent counts cannot be seen. And as many more as there were
small packets in it: the queue may count packets, and each takes the place of a large one.

If losses come at half of the longest wait or less, or if pings do not wait behind the load's packets, it is managed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from btflow.lines.line import Estimate, Kind, Queued
from btflow.lines.traces import DELAYED, SMOOTHED, Floats, Load
from btflow.lines.waits import AT_PEAK, EMPTY, HOSTS, Seen, Waits, beside, of_the_load, pings_pass

MANAGED = 0.5
"""Median wait at losses over the longest wait: up to this the queue is managed, unless most losses agree."""

MIN_WINDOW = 3
"""Packets of a flow under way at most, on its way and in the queue, if it is its least window that fills the queue: two
(RFC 5681), and one that is sent anew."""

TARGET = 5e-3
"""Wait that a managed queue allows [s] (RFC 8289, section 4.3), and some packets more: no other wait is seen of it."""

FLAT = 0.1
"""Range of the waits, of nine in ten, over the longest: a window that does not fall after a loss makes it less. CUBIC's
falls by 0.3 of itself, Reno's by half. Chosen."""

MOST_LOSSES = 2000
"""Losses that are looked at, evenly out of more: the median of these is as sure, and each takes a look at all waits."""


def queue_of(loads: Sequence[Load], seen: Seen, rate: Estimate, buffer: str | None) -> tuple[Queued, list[str]]:
    """Return the queue of a direction, whose buffer may be given, and notes on what the files do not show."""
    packet = max(load.packet for load in loads)
    wait, discipline, said = _wait(loads, seen, packet / rate.value)
    notes = ["nothing shows that the line was kept busy: the rate is at least this"] if math.isinf(rate.high) else []
    return Queued(rate, packet, wait, discipline, buffer), [*notes, *said]


def _wait(loads: Sequence[Load], seen: Seen, service: float) -> tuple[Estimate | None, Kind, list[str]]:
    """Return how long a packet waits in the full queue [s], the discipline, and notes; a packet's service is known."""
    if not seen.alone:
        note = "the other direction was loaded too, so the wait is of both queues: the buffer is not known"
        return None, "unknown", [note]
    if (best := of_the_load(seen.waits)) is None:
        return None, "unknown", []
    peaks = _peaks(best, np.concatenate([*(load.lost for load in loads), *(one.lost for one in seen.waits)]))
    longest = best.longest
    if longest <= max(EMPTY, service):
        said = "losses come while it is empty" if len(peaks) else "load the line for half a minute while you measure"
        return None, "unknown", [f"the queue was never full, packets waited for up to {1e3 * longest:.2g} ms: {said}"]
    if pings_pass(seen.waits):
        return Estimate(longest, longest, math.inf), "fq-codel", []
    full = _full(peaks, longest)
    late = _held_back(best, loads, service)
    low = max(longest - service - HOSTS - late, 0.0)
    least = MIN_WINDOW * sum(load.flows for load in loads) * service - seen.base.value
    held = float(np.diff(np.quantile(best.wait, (0.1, 0.9)))[0]) < FLAT * longest and not any(
        len(load.lost) for load in loads
    )  # by a window, and the pings were lost elsewhere
    if full is not None and not held and longest > max(least, 2 * TARGET + MIN_WINDOW * service):
        small = longest * max(beside(load, seen.delays, seen.loads)[1] for load in loads)
        most = max(float(full[:, 0].max()), float(full.sum(1).min()), longest)
        unsure = (1 + small) * service + late + seen.base.value - max(seen.base.low, 0.0)
        return Estimate(longest, low, most + unsure), "drop-tail", []
    if len(peaks) and float(np.median(peaks[:, 0])) <= MANAGED * longest:
        return Estimate(longest, longest, math.inf), "codel", []
    note = f"no loss shows that the queue was full: it holds at least {1000 * low:.0f} ms"
    return Estimate(longest, low, math.inf), "unknown", [note]


def _held_back(waits: Waits, loads: Sequence[Load], service: float) -> float:
    """Return by how much round-trip times may be too long; smoothed ones, while the queue grows, too short, too [s].

    TCP measures the first of two segments, and the receiver answers the second, which comes behind a packet or two of
    each other flow.
    """
    return min(2 * service * max(load.flows for load in loads), DELAYED) if waits.of == SMOOTHED else waits.late


def _full(peaks: Floats, longest: float) -> Floats | None:
    """Return the losses that most agree with (agreeing, 2); None if they are too few, or waits were much longer."""
    if not len(peaks):
        return None
    waits = np.sort(peaks[:, 0])
    near = np.arange(1, len(waits) + 1) - np.searchsorted(waits, AT_PEAK * waits)
    most = waits[::-1][np.argmax(near[::-1])]
    agree = (peaks[:, 0] <= most) & (peaks[:, 0] >= AT_PEAK * most)
    return peaks[agree] if 2 * agree.sum() > len(peaks) and AT_PEAK * longest <= most + EMPTY else None


def _peaks(waits: Waits, lost: Floats) -> Floats:
    """Return for each episode of losses the longest wait near it, and how much it had last risen (episodes, 2) [s].

    A loss is found a round trip after the queue dropped, or a few.
    """
    step = float(np.median(np.diff(waits.time))) if len(waits.time) > 1 else 0.0
    found = {}
    for time in lost[:: 1 + len(lost) // MOST_LOSSES]:
        before = max(int(np.searchsorted(waits.time, time, "right")) - 1, 0)
        reach = 2 * (waits.wait[before] + waits.base) + 2 * step
        first, end = np.searchsorted(waits.time, (time - reach, time + 2 * step + 1e-9))
        if first < end:
            top = int(first + np.argmax(waits.wait[first:end]))
            found[top] = (waits.wait[top], max(waits.wait[top] - waits.wait[max(top - 1, 0)], 0.0))
    return np.array(list(found.values())).reshape(-1, 2)
