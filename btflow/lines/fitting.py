"""Fits an access link to what was measured on it: rate, base round-trip time, and how long a full queue is.

`btflow.lines.rate` and `btflow.lines.queue` say what theirs rest on. The base round-trip time is the lowest tenth of
those before the load, without the time that a packet takes on the link; its interval has the order statistics of that
quantile (Conover, Practical Nonparametric Statistics, section 3.2). Without such times it is at most the least of all.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from btflow.errors import InputError
from btflow.lines import files
from btflow.lines.line import Estimate, Line, Queued
from btflow.lines.queue import queue_of
from btflow.lines.rate import CONFLICT, rate_of
from btflow.lines.traces import FIELD, WAYS, Delays, Load, Trace, Way
from btflow.lines.waits import EMPTY, FEWEST, HOSTS, Seen, in_order, roughly, trimmed, waits_of
from btflow.units import format_quantity, parse_quantity
from btflow.units.formatting import counted

BASE_SHARE = 0.1
"""Quantile of the round-trip times before the load that is the base: jitter of the hosts is above it."""
SLOWER = 10.0
"""How many times as slow as the downlink the uplink may be that was not measured: as of cable and ADSL."""
APART = 120.0
"""Time [s] between a log and the load beside which it is laid from which on it is taken for another measurement.
Chosen: a ping that begins a minute before the load is of use."""
TOGETHER = 0.8
"""Share of the longer of two loads for which both last if they are one. Chosen: a capture is started by hand."""


def fit(
    *paths: str | os.PathLike[str],
    format: str | None = None,
    way: Way = "up",
    rate: object = None,
    rtt: object = None,
    buffer: object = None,
    progress: Callable[[float], None] | None = None,
) -> Line:
    """Return the access link that files of one line speak of.

    Args:
        *paths: flent files, ping logs, results of ``iperf3 --json``, captures of uploads; plain or packed.
        format: What all of them are: ``flent``, ``ping``, ``iperf3`` or ``capture``; None to look into each.
        way: Which way a load went that is in no file: ``up`` or ``down``. It goes with ``rate``.
        rate: Rate of the line that way, such as ``"1 Mbit/s"``, where the files do not give it.
        rtt: Base round-trip time, such as ``"30 ms"``, where they do not give it.
        buffer: Buffer, such as ``"100 packets"``, where they do not give it.
        progress: Called now and then with the share of the files that is read.

    Raises:
        InputError: A file cannot be read or is of no use, two do not go together, or the rate is missing.
    """
    if not paths:
        raise InputError(FIELD, None, "is not given", files.READABLE)
    if way not in WAYS:
        raise InputError("way", way, "is unknown", " or ".join(WAYS))
    given = _Given.of(rate, rtt, buffer)
    same = [os.path.realpath(path) if isinstance(path, str | os.PathLike) else path for path in paths]
    for number, path in enumerate(paths):
        if same[number] in same[:number]:
            raise InputError(FIELD, str(path), "is given twice", "each file once")
    traces = [files.read(path, format, _part(progress, number, len(paths))) for number, path in enumerate(paths)]
    return _fitted(_once(_together(traces)), way, given)


def _part(progress: Callable[[float], None] | None, number: int, count: int) -> Callable[[float], None] | None:
    """Return a function that tells the progress of one file as a share of all files."""
    return None if progress is None else lambda done: progress((number + done) / count)


@dataclass(frozen=True)
class _Given:
    """Figures that the user gave in place of those in the files."""

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


def _together(traces: Sequence[Trace]) -> list[Trace]:
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
    for trace in moved:
        _check_beside(trace, [load for other in moved for load in other.loads])
    starts = [load.start for trace in moved for load in trace.loads]
    return [trace.shifted(-min(starts, default=0.0)) for trace in moved]


def _check_beside(trace: Trace, loads: Sequence[Load]) -> None:
    """Raise an InputError if a trace without a load is of another time than all loads: it says nothing of them."""
    times = [one.time for one in trace.delays if len(one.time)]
    if trace.loads or not loads or not times:
        return
    first, last = min(float(time.min()) for time in times), max(float(time.max()) for time in times)
    apart = min(max(load.start - last, first - load.end) for load in loads)
    if apart > APART:
        when = "before" if last < min(load.start for load in loads) else "after"
        reason = f"was measured {counted(round(apart / 60), 'minute')} {when} the load"
        raise InputError(FIELD, trace.file, reason, "a log that was written beside the load")


def _once(traces: Sequence[Trace]) -> list[Trace]:
    """Return traces without the loads of programs that a capture shows, too, packet by packet: each counts once."""
    captures = [trace for trace in traces if trace.kind == "capture"]
    found = []
    for trace in traces:
        if trace.kind != "capture":
            same = [one.file for one in captures if any(_same(a, b) for a in one.loads for b in trace.loads)]
            if same:
                left = tuple(b for b in trace.loads if not any(_same(a, b) for one in captures for a in one.loads))
                said = f"the load of {trace.file} is in {' and '.join(same)}, too: it is taken from there"
                trace = replace(trace, loads=left, notes=(*trace.notes, said))
        found.append(trace)
    controls = [b.cc for trace in traces if trace.kind != "capture" for b in trace.loads if b.cc]
    if len(set(controls)) == 1:  # a capture does not show it
        for number, trace in enumerate(found):
            if trace.kind == "capture":
                found[number] = replace(trace, loads=tuple(replace(a, cc=controls[0]) for a in trace.loads))
    elif captures:
        said = "a capture does not show the congestion control: CUBIC is taken, Linux's default"
        found[-1] = replace(found[-1], notes=(*found[-1].notes, said))
    return found


def _same(a: Load, b: Load) -> bool:
    """Return whether two loads are one: they went the same way, for most of the time of each at the same time."""
    shared = min(a.end, b.end) - max(a.start, b.start)
    return a.way == b.way and shared > TOGETHER * max(a.end - a.start, b.end - b.start)


def _fitted(traces: Sequence[Trace], way: Way, given: _Given) -> Line:
    """Return the line that traces on one clock speak of; as ``fit``."""
    loads = [load for trace in traces for load in trace.loads]
    delays = [delay for trace in traces for delay in trace.delays]
    notes = [note for trace in traces for note in trace.notes]
    if not loads and given.rate is None:
        names = ", ".join(trace.file for trace in traces)
        hint = 'the rate beside it, such as "1 Mbit/s", or the file of iperf3 --json that was measured at the same time'
        raise InputError("rate", None, f"is needed: {names} has pings alone", hint)
    if not loads:
        loads = [_assumed(delays, way, given.rate or 0.0)]
        notes.append("the log does not show the load: one flow is assumed, while round trips are long")
    ways = [w for w in WAYS if any(load.way == w for load in loads)]
    if len(ways) > 1:
        given = replace(given, rate=None)
    if given.rate is not None and max(map(roughly, loads)) > (1 + CONFLICT) * given.rate:
        said, carried = (f"{8e-6 * rate:.3g} Mbit/s" for rate in (given.rate, max(map(roughly, loads))))
        raise InputError("rate", said, f"is less than the load, {carried}", "the rate of the line")
    rates = {w: given.rate or max(roughly(load) for load in loads if load.way == w) for w in ways}
    _check_base(given.rtt, delays)
    base = _base(delays, loads, min(rates.values())) if given.rtt is None else Estimate(*[given.rtt] * 3)
    found = {w: _direction(w, traces, loads, base, rates[w], given) for w in ways}
    if any(math.isinf(queue.rate.high) for queue, _ in found.values()):  # packets may have taken no time on the link
        base = _base(delays, loads, math.inf)._replace(low=base.low) if given.rtt is None else base
        found = {w: _direction(w, traces, loads, base, math.inf, given) for w in ways}
    queues = {w: queue for w, (queue, _) in found.items()}
    notes += [f"{w}: {text}" for w, (_, said) in found.items() for text in said]
    if math.isinf(base.low):
        notes.append("no round-trip time from before the load: the base is at most the least of all")
    return Line(base, queues.get("up"), queues.get("down"), tuple(notes), tuple(traces), tuple(loads))


def _direction(
    way: Way, traces: Sequence[Trace], loads: Sequence[Load], base: Estimate, taken: float, given: _Given
) -> tuple[Queued, list[str]]:
    """Return a direction, whose packets are taken to leave at a rate [B/s], and notes on its figures."""
    mine = [load for load in loads if load.way == way]
    delays = tuple(delay for trace in traces for delay in trace.delays)
    waits = tuple(waits_of(delay, base.value, taken, mine) for delay in delays)
    seen = Seen(base, waits, delays, tuple(loads), not _overlap(loads))
    names = ", ".join(trace.file for trace in traces if any(load.way == way for load in trace.loads))
    rate = rate_of(mine, seen, names) if given.rate is None else Estimate(*[given.rate] * 3)
    return queue_of(mine, seen, rate, given.buffer)


def _check_base(given: float | None, delays: Sequence[Delays]) -> None:
    """Raise an InputError if packets were quicker than a base round-trip time that was given."""
    least = min((float(one.rtt.min()) for one in delays if len(one.rtt)), default=math.inf)
    if given is not None and given > least + max((one.resolution for one in delays), default=0.0):
        value, shown = format_quantity(given, "time"), f"{1e3 * least:.3g} ms"
        raise InputError("rtt", value, f"is more than packets took, {shown}", f"at most {shown}")


def _overlap(loads: Sequence[Load]) -> bool:
    """Return whether loads of the two directions were there at the same time."""
    spans = {w: [(load.start, load.end) for load in loads if load.way == w] for w in WAYS}
    return any(a < d and c < b for a, b in spans["up"] for c, d in spans["down"])


def _assumed(delays: Sequence[Delays], way: Way, rate: float) -> Load:
    """Return the load that a ping log alone shows: from the first long round trip to the last."""
    kept = in_order(delays[0])
    time, rtt = delays[0].time[kept], delays[0].rtt[kept]
    wait = rtt - rtt.min()
    most = trimmed(wait)
    long = np.flatnonzero((wait > 0.2 * most) & (wait <= most)) if most > EMPTY else np.array([len(wait) - 1])
    edges = np.array([time[long[0]], max(time[long[-1]], time[long[0]] + 1e-3)])
    return Load(way, 1, edges, np.array([rate]), "arrived")


def _base(delays: Sequence[Delays], loads: Sequence[Load], rate: float) -> Estimate:
    """Return the base round-trip time [s]: the surest that a series gives; packets leave at a rate [B/s]."""
    start = min(load.start for load in loads)
    slower = 1.0 if any(load.way == "up" for load in loads) else SLOWER
    found = [_base_of(delay, start, rate, slower) for delay in delays]
    if not found:
        raise InputError("rtt", None, "is needed: no file has a round-trip time", "such as 30 ms, or a ping log")
    value, low, high = max(found, key=lambda one: (one.low, -one.value))
    return Estimate(max(value, 0.0), low if math.isinf(low) else max(low, 0.0), high)


def _base_of(delay: Delays, start: float, rate: float, other: float) -> Estimate:
    """Return the base round-trip time that one series gives [s], by what came back before the load's start.

    A packet takes its time on the link, or none, if the link lets a few pass at once. And so much as in the other
    direction, which may be slower: that many times as much.
    """
    service = delay.size / rate
    idle = np.sort(delay.rtt[delay.time + delay.rtt < start])
    if len(idle) < FEWEST:
        least = float(delay.rtt.min())
        return Estimate(max(least - service, 0.0), -math.inf, least + delay.resolution)
    low, high = (float(idle[rank]) for rank in _ranks(len(idle)))
    value = max(float(np.quantile(idle, BASE_SHARE)) - service, 0.0)
    return Estimate(value, low - (1 + other) * service - delay.resolution - HOSTS, high + delay.resolution)


def _ranks(count: int) -> tuple[int, int]:
    """Return the places of the order statistics that hold the base's quantile in 95 of 100 cases."""
    law = scipy.stats.binom(count, BASE_SHARE)
    return max(int(law.ppf(0.025)) - 1, 0), min(int(law.ppf(0.975)), count - 1)
