"""Fits an access link to what was measured on it: rate, base round-trip time, and how long a full queue is.

What each figure rests on, and its interval:

- **Rate.** Payload times packet over payload, in the intervals through which the queue never ran empty: then the link
  was never idle, and what left it is its rate. What pings and the ACKs of a load in the other direction take is added.
  The mean over blocks of these intervals, with a bootstrap of the blocks (`btflow.analysis.bootstrap`). Where only the
  sender's side was counted, from one write to the next, once the window has been at its largest.
- **Base round-trip time.** The lowest tenth of the round-trip times before the load, without the time that a packet
  takes on the link; order statistics of that quantile (Conover, Practical Nonparametric Statistics, section 3.2).
  Without such pings it is at most the least of all.
- **Full queue.** A drop-tail queue is full when it drops. At each loss the wait was at least the longest that was seen
  just before, and at most as much more as it had last risen from one sample to the next; the queue is in all of these.
  One packet more on either side: whether the one that is being sent counts cannot be seen. And as many more as there
  were small packets in it: the queue may count packets, and each takes the place of a large one.
- **Discipline.** Behind a drop-tail queue losses come at the longest wait. If they come at half of it or less, or if
  pings do not wait behind the load's packets, the queue is managed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from os import PathLike

import numpy as np
import scipy
from numpy.typing import NDArray

from btflow.analysis.bootstrap import Settings, draws, interval, spread
from btflow.errors import InputError
from btflow.lines import files
from btflow.lines.line import Estimate, Line, Queued, Source
from btflow.lines.traces import FIELD, HEADER, PING, WAYS, Delays, Floats, Load, Trace, Way
from btflow.units import parse_quantity

BASE_SHARE = 0.1
"""Quantile of the round-trip times before the load that is the base: jitter of the hosts is above it."""
FEWEST_IDLE = 5
"""Round-trip times before the load that are needed for it."""
HOSTS = 1e-3
"""What the hosts and the link in the other direction may add to a round trip [s]: 0.1 to 0.9 ms in the test bed
(validation/lines.md). The base may be as much lower."""

EMPTY = 3e-3
"""Waits below this [s], or below a packet, may be none: jitter of the hosts."""
BLOCK = 1.0
"""Least length of a block of the bootstrap [s]; several round trips if that is more."""
FEWEST_BLOCKS = 4

UNSEEN = 2e-3
"""Share of the rate that the files do not show, either way: clocks, and packets of other programs."""
AT_PEAK, MANAGED = 0.8, 0.5
"""Median wait at losses over the longest wait: from the first on drop-tail, up to the second managed."""
APART = 0.5
"""Pings that wait less than so much of what the load's packets wait pass them by."""

CONFLICT = 0.25
"""Two files whose rates differ by more than this are not of one line."""


def fit(
    *paths: str | PathLike[str],
    format: str | None = None,
    way: Way = "up",
    rate: object = None,
    rtt: object = None,
    buffer: object = None,
) -> Line:
    """Return the access link that files of one line speak of.

    Args:
        *paths: flent files, ping logs, results of ``iperf3 --json``, captures of uploads; plain or packed by gzip.
        format: What all of them are: ``flent``, ``ping``, ``iperf3`` or ``capture``; None to look into each.
        way: Which way a load went that is in no file: ``up`` or ``down``. It goes with ``rate``.
        rate: Rate of the line that way, such as ``"1 Mbit/s"``, where the files do not give it.
        rtt: Base round-trip time, such as ``"30 ms"``, where they do not give it.
        buffer: Buffer, such as ``"100 packets"``, where they do not give it.

    Raises:
        InputError: A file cannot be read or is of no use, two do not go together, or the rate is missing.
    """
    if not paths:
        raise InputError(FIELD, None, "is not given", files.READABLE)
    if way not in WAYS:
        raise InputError("way", way, "is unknown", " or ".join(WAYS))
    given = _Given.of(rate, rtt, buffer)
    traces = together([files.read(path, format) for path in paths])
    return fit_traces(traces, way, given)


@dataclass(frozen=True)
class _Given:
    """What was given in place of what the files say."""

    rate: float | None
    rtt: float | None
    buffer: str | None

    @staticmethod
    def of(rate: object, rtt: object, buffer: object) -> _Given:
        numbers = [
            None if value is None else float(parse_quantity(value, kind, field=kind_name))  # type: ignore[arg-type]
            for kind_name, kind, value in (("rate", "rate", rate), ("rtt", "time", rtt))
        ]
        if buffer is not None:
            parse_quantity(buffer, "buffer", field="buffer")
        return _Given(numbers[0], numbers[1], None if buffer is None else str(buffer))


def together(traces: Sequence[Trace]) -> list[Trace]:
    """Return traces on one clock, which begins with the first load, or the first trace.

    Raises:
        InputError: One has no times of day, or they are not of the same time.
    """
    if len(traces) > 1:
        for trace in traces:
            if trace.begun is None:
                hint = "a log of ping -D, or one file alone"
                raise InputError(FIELD, trace.file, "has no times of day, so it cannot be laid beside the others", hint)
    begun = [trace.begun or 0.0 for trace in traces]
    moved = [trace.shifted(at - begun[0]) for trace, at in zip(traces, begun, strict=True)]
    starts = [load.start for trace in moved for load in trace.loads]
    return [trace.shifted(-min(starts, default=0.0)) for trace in moved]


def fit_traces(traces: Sequence[Trace], way: Way = "up", given: _Given | None = None) -> Line:
    """Return the line that traces on one clock speak of; as ``fit``."""
    given = given or _Given(None, None, None)
    loads = [load for trace in traces for load in trace.loads]
    delays = [delay for trace in traces for delay in trace.delays]
    if not loads and given.rate is None:
        names = ", ".join(trace.file for trace in traces)
        raise InputError("rate", None, f"is needed: {names} does not say it", 'such as "1 Mbit/s", or a file of iperf3')
    notes = [note for trace in traces for note in trace.notes]
    if not loads:
        loads = [_assumed(delays, way, given.rate or 0.0)]
        notes.append("the log says nothing of the load: one flow, while round trips are long")
    ways = [w for w in WAYS if any(load.way == w for load in loads)]
    rates = {w: given.rate if given.rate and len(ways) == 1 else None for w in ways}
    roughly = {w: rates[w] or max(_roughly(load) for load in loads if load.way == w) for w in ways}
    base = Estimate(given.rtt, given.rtt, given.rtt) if given.rtt is not None else _base(delays, loads, roughly)
    queues = {}
    for w in ways:
        mine = [load for load in loads if load.way == w]
        waits = tuple(_waits(delay, base.value, roughly[w], mine) for delay in delays)
        seen = _Seen(base, waits, tuple(delays), tuple(loads), len(ways) == 1 or not _overlap(loads))
        known = rates[w]
        names = ", ".join(trace.file for trace in traces if any(load.way == w for load in trace.loads))
        found = _rate(mine, seen, names) if known is None else Estimate(known, known, known)
        queues[w], said = _queue(mine, seen, found, given.buffer)
        notes += [f"{w}: {text}" for text in said]
    if any(math.isinf(queue.rate.high) for queue in queues.values()):  # a ping may have taken less time on the link
        base = base._replace(high=base.high + PING / min(queue.rate.value for queue in queues.values()))
    if math.isinf(base.low):
        notes.append("no round-trip time from before the load: the base is at most the least of all")
    sources = tuple(Source(t.file, t.kind, t.begun, *_counts(t)) for t in traces)
    return Line(base, queues.get("up"), queues.get("down"), sources, tuple(notes), tuple(traces), tuple(loads))


def _counts(trace: Trace) -> tuple[int, int]:
    """Return how many round-trip times a trace has, and how many intervals of a load."""
    return sum(len(delay.rtt) for delay in trace.delays), sum(len(load.goodput) for load in trace.loads)


def _roughly(load: Load) -> float:
    """Return a rate that packets take their time at, until the rate is known [B/s]."""
    goodput = load.arrived[0] / load.arrived[1] if load.arrived else float(np.median(load.goodput))
    return max(goodput * load.packet / load.segment, 1.0)


def _overlap(loads: Sequence[Load]) -> bool:
    """Return whether loads of the two directions were there at the same time."""
    spans = {w: [(load.start, load.end) for load in loads if load.way == w] for w in WAYS}
    return any(a < d and c < b for a, b in spans["up"] for c, d in spans["down"])


def _assumed(delays: Sequence[Delays], way: Way, rate: float) -> Load:
    """Return the load that a ping log alone shows: from the first long round trip to the last."""
    time, rtt = delays[0].time, delays[0].rtt
    wait = rtt - rtt.min()
    long = np.flatnonzero(wait > 0.2 * wait.max()) if wait.max() > EMPTY else np.array([0, len(wait) - 1])
    edges = np.array([time[long[0]], max(time[long[-1]], time[long[0]] + 1e-3)])
    lost = delays[0].lost
    return Load(way, 1, edges, np.array([rate]), "arrived", lost=lost[(lost >= edges[0]) & (lost <= edges[1])])


def _base(delays: Sequence[Delays], loads: Sequence[Load], rates: dict[Way, float]) -> Estimate:
    """Return the base round-trip time [s]."""
    start = min(load.start for load in loads)
    slowest = min(rates.values())
    best: Estimate | None = None
    for delay in delays:
        own = delay.rtt - delay.size / slowest
        idle = own[delay.time + delay.rtt < start]
        if len(idle) >= FEWEST_IDLE:
            low, high = _ranks(len(idle))
            ordered = np.sort(idle)
            value = float(np.quantile(idle, BASE_SHARE))
            found = Estimate(
                value, float(ordered[low]) - delay.resolution - HOSTS, float(ordered[high]) + delay.resolution
            )
        else:
            value = float(own.min())
            found = Estimate(value, -math.inf, value + delay.resolution)
        if best is None or (found.low, -found.value) > (best.low, -best.value):
            best = found
    if best is None:
        raise InputError("rtt", None, "is needed: no file has a round-trip time", "such as 30 ms, or a ping log")
    return best._replace(value=max(best.value, 0.0), low=best.low if math.isinf(best.low) else max(best.low, 0.0))


def _ranks(count: int) -> tuple[int, int]:
    """Return the places of the order statistics that hold the base's quantile in 95 of 100 cases."""
    law = scipy.stats.binom(count, BASE_SHARE)
    return max(int(law.ppf(0.025)) - 1, 0), min(int(law.ppf(0.975)), count - 1)


@dataclass(frozen=True)
class _Waits:
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

    @property
    def longest(self) -> float:
        """The longest wait [s]; 0 if there is no sample."""
        return float(self.wait.max(initial=0.0))

    def during(self, load: Load) -> _Waits:
        """Return the waits while there was one of the loads."""
        there = _within(self.time, [load])
        return replace(self, time=self.time[there], wait=self.wait[there], lost=self.lost[_within(self.lost, [load])])


@dataclass(frozen=True)
class _Seen:
    """All that was seen while there was a load in one direction."""

    base: Estimate
    waits: tuple[_Waits, ...]
    delays: tuple[Delays, ...]
    loads: tuple[Load, ...]
    """Those of the other direction, too."""
    alone: bool
    """Whether the other direction had no load at the same time, so that waits are those of this one."""


def _waits(delay: Delays, base: float, rate: float, loads: Sequence[Load]) -> _Waits:
    """Return the waits in a series of round-trip times, those while one of the loads was there."""
    wait = np.clip(delay.rtt - base - delay.size / rate, 0.0, None)
    during, lost = _within(delay.time, loads), delay.lost[_within(delay.lost, loads)]
    return _Waits(delay.of, delay.time[during], wait[during], float(delay.rtt[during].max(initial=base)), base, lost)


def _within(time: Floats, loads: Sequence[Load]) -> NDArray[np.bool_]:
    """Return which times are while one of the loads was there."""
    return np.asarray(np.any([(time >= load.start) & (time <= load.end) for load in loads], axis=0))


def _of_the_load(waits: Iterable[_Waits]) -> _Waits | None:
    """Return the waits that the load's own packets show best; those of pings if there are no others."""
    order = ("the flow's packets", "the flow's packets, smoothed", "pings")
    seen = [waits_ for waits_ in waits if len(waits_.wait)]
    return min(seen, key=lambda one: (order.index(one.of), -len(one.wait)), default=None)


def _rate(loads: Sequence[Load], seen: _Seen, names: str) -> Estimate:
    """Return the rate of one direction [B/s]: the surest of what its loads, in files of some names, say."""
    found = [one for load in loads for one in _rates_of(load, seen)]
    if max(one.low for one in found) > (1 + CONFLICT) * min(one.high for one in found):
        ends = (min(one.high for one in found), max(one.low for one in found))
        shown = " and ".join(f"{8e-6 * value:.3g} Mbit/s" for value in ends)
        raise InputError(FIELD, names, f"say {shown} {loads[0].way}, which is not one line", "files of one line")
    best = min(found, key=lambda one: (math.isinf(one.high), (one.high - one.low) / one.value, -one.value))
    return Estimate(best.value, (1 - UNSEEN) * best.low, (1 + UNSEEN) * best.high)


def _beside(load: Load, delays: Sequence[Delays], loads: Sequence[Load]) -> tuple[float, float]:
    """Return what else leaves in a load's direction: pings, and ACKs of loads in the other one [B/s, packets/s]."""
    if load.beside is not None:
        return load.beside
    many = [d for d in delays if d.of == "pings" and len(d.time) > FEWEST_IDLE][:1]
    pings = sum(1 / max(float(np.median(np.diff(d.time))), 1e-3) for d in many)
    acked = [other for other in loads if other.way != load.way and other.start < load.end and load.start < other.end]
    acks = sum(float(np.mean(other.goodput)) / other.segment / 2 for other in acked)  # one for two segments
    return pings * PING + acks * HEADER, pings + acks


def _rates_of(load: Load, seen: _Seen) -> list[Estimate]:
    """Return the rates [B/s] that one load gives: at least what came, and more where the line was kept busy."""
    per, beside = load.packet / load.segment, _beside(load, seen.delays, seen.loads)[0]
    span = load.arrived or (float((load.goodput * np.diff(load.edges)).sum()), load.end - load.start)
    mean = span[0] / span[1]
    found = [Estimate(mean, mean, math.inf)]
    held = 0.0 < load.paced * load.flows < 1.1 * mean
    if seen.alone and not held:
        waits = [one.during(load) for one in seen.waits]
        found += _by_pieces(load, waits)
        found += _by_total(load, waits) if load.counted == "written" else []
    return [Estimate(*(per * value + beside for value in one)) for one in found]


def _by_pieces(load: Load, waits: Sequence[_Waits]) -> list[Estimate]:
    """Return the goodput [B/s] of a busy line, from pieces of the load; none if they are too few."""
    size, length = _arrivals(load, waits)
    if len(size) < FEWEST_BLOCKS:
        return []
    blocks = _blocks(size, length, max((one.rtt for one in waits), default=0.0))
    value, points, settings = float(blocks.mean()), blocks[:, None], Settings()
    low, high = interval(value, draws(points, "points", settings), spread(points, "points"), settings)
    return [Estimate(value, low, high)]


def _by_total(load: Load, waits: Sequence[_Waits]) -> list[Estimate]:
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
    seen = _of_the_load(waits)
    assert seen is not None
    last = seen.wait[seen.time >= load.end - 2 * seen.rtt].max(initial=0.0)
    missing = size / took * seen.longest if last > AT_PEAK * seen.longest else 0.0
    return [Estimate((size + missing / 2) / (took - ramp), size / took, (size + missing) / sure)]


def _arrivals(load: Load, waits: Sequence[_Waits]) -> tuple[Floats, Floats]:
    """Return payload [B] and the time it took [s], for pieces of a load in which the queue never ran empty.

    What a sender writes goes into its socket, which fills while the window grows to its largest; from then on as much
    is written as has left. It is written in large pieces, so that is from one to the next.
    """
    busy, length = _busy(load, waits), np.diff(load.edges)
    size = load.goodput * length
    if load.counted == "arrived":
        return size[busy], length[busy]
    best = _of_the_load(waits)
    peak = load.end if best is None else float(best.time[np.argmax(best.wait >= AT_PEAK * best.longest)])
    written = np.flatnonzero(size > 0.0)
    written = written[load.edges[written] >= peak]
    emptied = np.cumsum(np.append(0, ~busy))
    pieces = [(a, b) for a, b in pairwise(written) if emptied[b + 1] == emptied[a + 1]]
    ends = np.array(pieces, int).reshape(-1, 2)
    return size[ends[:, 1]], load.edges[ends[:, 1] + 1] - load.edges[ends[:, 0] + 1]


def _busy(load: Load, waits: Sequence[_Waits]) -> NDArray[np.bool_]:
    """Return in which intervals of a load the queue never ran empty, by the packets that show it best (intervals,)."""
    seen = _of_the_load(waits)
    if seen is None:
        return np.zeros(len(load.goodput), bool)
    filled = np.cumsum(np.append(0, seen.wait > max(EMPTY, load.packet / _roughly(load) / 2)))
    first = np.maximum(np.searchsorted(seen.time, load.edges[:-1], "right") - 1, 0)
    end = np.minimum(np.searchsorted(seen.time, load.edges[1:]) + 1, len(seen.wait))
    before = seen.time[first] <= load.edges[:-1] + EMPTY
    return np.asarray(before & (filled[end] - filled[first] == end - first))


def _pass(waits: Sequence[_Waits]) -> bool:
    """Return whether pings do not wait behind the load's packets."""
    best = _of_the_load(waits)
    pings = [one.longest for one in waits if one.of == "pings" and len(one.wait) >= FEWEST_IDLE]
    if best is None or best.of == "pings" or not pings:
        return False
    return best.longest > EMPTY and max(pings) < APART * float(np.median(best.wait))


def _blocks(size: Floats, length: Floats, rtt: float) -> Floats:
    """Return the mean rates in blocks of pieces that follow each other [B/s]."""
    count = int(np.clip(length.sum() / max(BLOCK, 3 * rtt), FEWEST_BLOCKS, len(length)))
    place = np.minimum((np.cumsum(length) - length / 2) / length.sum() * count, count - 1).astype(int)
    total, took = (np.bincount(place, weights, minlength=count) for weights in (size, length))
    return np.asarray(total[took > 0] / took[took > 0])


def _queue(loads: Sequence[Load], seen: _Seen, rate: Estimate, buffer: str | None) -> tuple[Queued, list[str]]:
    """Return what is known of a direction's queue, and what is not, in words."""
    packet, best = max(load.packet for load in loads), _of_the_load(seen.waits)
    notes = ["the line was not surely kept busy: the rate is at least this"] if math.isinf(rate.high) else []
    if not seen.alone:
        notes.append("the other direction was loaded too, so the wait is of both queues: the buffer is not known")
    if best is None or not seen.alone:
        return Queued(rate, packet, None, "unknown", buffer), notes
    lost = np.concatenate([*(load.lost for load in loads), *(one.lost for one in seen.waits)])
    peaks = _peaks(best, lost)
    longest = max(one.longest for one in seen.waits)
    at_losses = float(np.median(peaks[:, 0])) / max(longest, 1e-9) if len(peaks) else math.nan
    one = packet / rate.value
    least = max(longest - one, 0.0)
    if _pass(seen.waits):
        return Queued(rate, packet, Estimate(longest, longest, math.inf), "fq-codel", buffer), notes
    if at_losses <= MANAGED:
        return Queued(rate, packet, Estimate(longest, longest, math.inf), "codel", buffer), notes
    if not at_losses >= AT_PEAK:
        notes.append(f"the queue was never surely full: it holds at least {1000 * longest:.0f} ms")
        return Queued(rate, packet, Estimate(longest, least, math.inf), "drop-tail", buffer), notes
    full = peaks[peaks[:, 0] >= AT_PEAK * longest]
    most = max(float((full[:, 0] + full[:, 1]).min()), longest)
    places = one * longest * max(_beside(load, seen.delays, seen.loads)[1] for load in loads)
    surer = most + one + places + seen.base.value - max(seen.base.low, 0.0)
    return Queued(rate, packet, Estimate(longest, least, surer), "drop-tail", buffer), notes


def _peaks(waits: _Waits, lost: Floats) -> Floats:
    """Return for each loss the longest wait near it, and how much it had last risen (losses, 2) [s].

    A loss is found a round trip after the queue dropped, or a few.
    """
    step = float(np.median(np.diff(waits.time))) if len(waits.time) > 1 else 0.0
    found = []
    for time in lost:
        nearest = int(np.argmin(np.abs(waits.time - time)))
        reach = 2 * (waits.wait[nearest] + waits.base) + 2 * step
        near = np.flatnonzero((waits.time >= time - reach) & (waits.time <= time + 2 * step))
        if len(near):
            top = int(near[np.argmax(waits.wait[near])])
            found.append((waits.wait[top], max(waits.wait[top] - waits.wait[max(top - 1, 0)], 0.0)))
    return np.array(found).reshape(-1, 2)
