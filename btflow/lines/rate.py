"""The rate of a line, from loads that kept it busy.

Payload times packet over payload, in the intervals through which the queue never ran empty: then the link was never
idle, and what left it is its rate. What pings and the ACKs of a load in the other direction take is added. The mean
over blocks of these intervals, with a bootstrap of the blocks (`btflow.analysis.bootstrap`). Where only the sender's
side was counted, from one write to the next, once the window has been at its largest; or by what came in all: over the
whole time at least, over the time in which the queue surely held something at most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from btflow.analysis.bootstrap import Settings, draws, interval, spread
from btflow.errors import InputError
from btflow.lines.line import Estimate
from btflow.lines.traces import FIELD, SMOOTHED, Floats, Load
from btflow.lines.waits import AT_PEAK, EMPTY, Seen, Waits, beside, of_the_load, roughly

BLOCK = 1.0
"""Least length of a block of the bootstrap [s]; three round trips if that is more."""
FEWEST_BLOCKS = 4
HALF = 0.5
"""Share of the long waits below which a smoothed one may hide that the queue was empty: TCP's keeps 7/8
at each sample, so after five of an empty queue it is still half (0.875**5 = 0.51)."""
FULLEST = 0.9
"""Quantile that stands for long waits, and for the blocks in which the queue surely never ran empty unseen."""
UNSEEN = 5e-3
"""Share of the rate that the files do not show, either way: clocks, packets of other programs, bursts of a shaper.
Chosen: in two seconds up to 0.9% more than was set left the test bed's unmanaged queues, 1.6% its managed ones (`bed`
in tests/lines/recorded/sessions.json)."""
FASTEST = 1e12 / 8
"""No line is faster [B/s]: a file that says so is damaged."""
WIDE = 0.5
"""An interval wider than this share of its value says less than that the rate is at least the mean. Chosen."""
CONFLICT = 0.1
"""Two files of whose rates even the near ends of the 95% intervals differ by more than this are not of one line.
Chosen, not measured: lines whose rate varies more have no one rate to fit."""


def rate_of(loads: Sequence[Load], seen: Seen, names: str) -> Estimate:
    """Return the rate of one direction [B/s]: the surest of what its loads, in files of some names, say."""
    found = [one for load in loads for one in _rates_of(load, seen)]
    if max(one.low for one in found) > (1 + CONFLICT) * min(one.high for one in found):
        ends = (min(one.high for one in found), max(one.low for one in found))
        shown = " and ".join(f"{8e-6 * value:.3g} Mbit/s" for value in ends)
        raise InputError(FIELD, names, f"say {shown} {loads[0].way}, which is not one line", "files of one line")
    sure = [one for one in found if math.isinf(one.high) or one.high - one.low < WIDE * one.value]
    best = min(sure, key=lambda one: (math.isinf(one.high), (one.high - one.low) / one.value, -one.value))
    if best.value > FASTEST:
        raise InputError(FIELD, names, f"say {8e-6 * best.value:.3g} Mbit/s {loads[0].way}", "at most 1 Tbit/s")
    return Estimate(best.value, max((1 - UNSEEN) * best.low, 0.0), (1 + UNSEEN) * best.high)


def _rates_of(load: Load, seen: Seen) -> list[Estimate]:
    """Return the rates [B/s] that one load gives: at least what came, and more where the line was kept busy."""
    per, other = load.packet / load.segment, beside(load, seen.delays, seen.loads)[0]
    span = load.arrived or (float((load.goodput * np.diff(load.edges)).sum()), load.end - load.start)
    mean = span[0] / span[1]
    found = [Estimate(mean, mean, math.inf)]
    held = 0.0 < load.paced * load.flows < 1.1 * mean
    if seen.alone and not held:
        waits = [one.during(load) for one in seen.waits]
        found += _by_pieces(load, waits)
        found += _by_total(load, waits) if load.counted == "written" else []
    return [Estimate(*(per * value + other for value in one)) for one in found]


def _by_pieces(load: Load, waits: Sequence[Waits]) -> list[Estimate]:
    """Return the goodput [B/s] of a busy line, from pieces of the load; none if they are too few."""
    size, length = _arrivals(load, waits)
    few = load.counted == "written" and 2 * length.sum() < load.end - load.start  # of large writes: chosen by chance
    if len(size) < FEWEST_BLOCKS or few:
        return []
    blocks = _blocks(size, length, max((one.rtt for one in waits), default=0.0))
    value, points, settings = float(blocks.mean()), blocks[:, None], Settings()
    low, high = interval(value, draws(points, "points", settings), spread(points, "points"), settings)
    return [Estimate(value, low, max(high, float(np.quantile(blocks, FULLEST))))]


def _by_total(load: Load, waits: Sequence[Waits]) -> list[Estimate]:
    """Return the goodput [B/s] of a busy line, from what came in all; none if it was not busy for most of the time.

    Until the queue first fills the line counts as idle; it may have been busy for the whole time, or only while that is
    sure. What is behind a segment that is missing at the end has come, too, but does not count: up to a full queue.
    """
    busy, length = _busy(load, waits), np.diff(load.edges)
    if load.arrived is None or not busy.any():
        return []
    size, took = load.arrived
    after = max(took - float(length.sum()), 0.0) if busy[-1] else 0.0  # what waited at the end
    sure, ramp = min(float(length[busy].sum()) + after, took), float(length[: int(np.argmax(busy))].sum())
    if 2 * sure < took or ramp >= took:
        return []
    seen = of_the_load(waits)
    assert seen is not None
    last = seen.wait[seen.time >= load.end - 2 * seen.rtt].max(initial=0.0)
    missing = size / took * seen.longest if last > AT_PEAK * seen.longest else 0.0
    return [Estimate((size + missing / 2) / (took - ramp), size / took, (size + missing) / sure)]


def _arrivals(load: Load, waits: Sequence[Waits]) -> tuple[Floats, Floats]:
    """Return payload [B] and the time it took [s], for pieces of a load in which the queue never ran empty.

    What a sender writes goes into its socket, which fills while the window grows to its largest; from then on as much
    is written as has left. It is written in large pieces, so that is from one to the next.
    """
    busy, length = _busy(load, waits), np.diff(load.edges)
    size = load.goodput * length
    if load.counted == "arrived":
        return size[busy], length[busy]
    best = of_the_load(waits)
    peak = load.end if best is None else float(best.time[np.argmax(best.wait >= AT_PEAK * best.longest)])
    written = np.flatnonzero(size > 0.0)
    written = written[load.edges[written] >= peak]
    emptied = np.cumsum(np.append(0, ~busy))
    pieces = [(a, b) for a, b in pairwise(written) if emptied[b + 1] == emptied[a + 1]]
    ends = np.array(pieces, int).reshape(-1, 2)
    return size[ends[:, 1]], load.edges[ends[:, 1] + 1] - load.edges[ends[:, 0] + 1]


def _busy(load: Load, waits: Sequence[Waits]) -> NDArray[np.bool_]:
    """Return in which intervals of a load the queue never ran empty, by the packets that show it best (intervals,)."""
    seen = of_the_load(waits)
    if seen is None:
        return np.zeros(len(load.goodput), bool)
    hides = (seen.of == SMOOTHED) & (seen.time >= load.lost.min(initial=np.inf))  # a window falls after a loss
    some = np.maximum(max(EMPTY, load.packet / roughly(load) / 2), HALF * np.quantile(seen.wait, FULLEST) * hides)
    goes_on = np.diff(seen.time, append=seen.time[-1]) <= seen.wait + 2 * load.packet / roughly(load) + EMPTY
    filled = np.cumsum(np.append(0, (seen.wait > some) & (goes_on | (seen.of != "the flow's packets"))))
    first = np.maximum(np.searchsorted(seen.time, load.edges[:-1], "right") - 1, 0)
    end = np.minimum(np.searchsorted(seen.time, load.edges[1:]) + 1, len(seen.wait))
    before = seen.time[first] <= load.edges[:-1] + EMPTY
    busy = before & (filled[end] - filled[first] == end - first)
    if seen.of == SMOOTHED and seen.longest < seen.base:  # half a window does not fill the line
        lost = np.searchsorted(load.lost, load.edges[1:]) > np.searchsorted(load.lost, load.edges[:-1] - 3 * seen.rtt)
        busy &= ~lost
    return np.asarray(busy)


def _blocks(size: Floats, length: Floats, rtt: float) -> Floats:
    """Return the mean rates in blocks of pieces that follow each other [B/s]."""
    count = int(np.clip(length.sum() / max(BLOCK, 3 * rtt), FEWEST_BLOCKS, len(length)))
    place = np.minimum((np.cumsum(length) - length / 2) / length.sum() * count, count - 1).astype(int)
    total, took = (np.bincount(place, weights, minlength=count) for weights in (size, length))
    return np.asarray(total[took > 0] / took[took > 0])
