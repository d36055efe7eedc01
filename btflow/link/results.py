"""A finished link experiment: figures from its kernels' histograms and records, and one labelled Dataset."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import btflow.accessor  # noqa: F401  # for ds.btflow
from btflow import __version__
from btflow.kernels.link import sampling
from btflow.kernels.link.sampling import BINS_PER_OCTAVE, LOWEST_EXPONENT
from btflow.kernels.link.state import CBR, FOREVER, MESSAGES, STEPS, TRACE, State
from btflow.link import voip
from btflow.link.flow import Codec
from btflow.link.scenario import LinkScenario
from btflow.link.state import LinkProgram

if TYPE_CHECKING:
    import xarray as xr


Floats = NDArray[np.float64]

PHASES = ("none", "slow_start", "congestion_avoidance", "recovery", "after_timeout")
"""What a sender is doing, by number: congestion avoidance is all that its law does after slow start."""

MOST_SCORES = 100
"""Points of a call's score over time."""

QUANTILES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


def whole_quantiles(weight: Floats, shares: tuple[float, ...] = QUANTILES) -> Floats:
    """Least whole number up to which at least each share of the weight lies (shares,); 0 if there is no weight.

    Args:
        weight: Weight of 0, 1, 2... (numbers,).
        shares: Between 0 and 1.
    """
    total = np.cumsum(weight)
    places = np.searchsorted(total, np.asarray(shares) * total[-1] * (1.0 - 1e-12))
    return np.asarray(np.minimum(places, len(weight) - 1), np.float64)


def rtt_quantiles(counts: NDArray[np.int64], shares: tuple[float, ...] = QUANTILES) -> Floats:
    """Quantiles of round-trip times counted in bins [s] (shares,), linear within a bin; NaN if there are none."""
    total = np.cumsum(counts)
    if total[-1] == 0:
        return np.full(len(shares), np.nan)
    wanted = np.asarray(shares) * total[-1]
    place = np.searchsorted(total, wanted)
    within = (wanted - (total[place] - counts[place])) / np.maximum(counts[place], 1)
    low = bin_edges(place)
    return np.asarray(low + within * (bin_edges(place + 1) - low), np.float64)


def bin_edges(place: NDArray[np.int64]) -> Floats:
    """Lower edge of a bin of round-trip times [s]: equal steps within each octave."""
    octave, step = np.divmod(place, BINS_PER_OCTAVE)
    return np.asarray(np.ldexp(0.5 + step / (2 * BINS_PER_OCTAVE), octave + LOWEST_EXPONENT), np.float64)


def delay_quantiles(delays: Floats, shares: tuple[float, ...] = QUANTILES) -> Floats:
    """Quantiles of delays [s] (shares,); NaN if there are none."""
    return np.quantile(delays, shares) if len(delays) else np.full(len(shares), np.nan)


def mean_of(values: Floats) -> float:
    """Mean, NaN of nothing."""
    return float(np.mean(values)) if len(values) else float("nan")


_QUANTILE = ("quantile",)


def to_dataset(scenario: LinkScenario, program: LinkProgram, state: State, seed: int, cpu: float) -> xr.Dataset:
    """Return a finished experiment as a Dataset whose variables say their unit in `attrs["units"]`.

    Dimensions: flow; queue; voip and probe, those flows that are voice calls and message probes; quantile; time and
    voip_time, regular grids; packets, lengths of a queue. Everything but the time series counts from the warm-up on.

    Args:
        scenario: What was simulated.
        program: What `scenario` compiled to.
        state: The state at the end.
        seed: The seed it was run with.
        cpu: CPU time it took [s].
    """
    import xarray as xr  # takes half a second, and the processes of a sweep do without

    coords = {
        "flow": _array(("flow",), np.array(program.flow_names, object), "1", "name of the flow"),
        "cc": _array(("flow",), np.array(program.flow_cc, object), "1", "congestion control"),
        "kind": _array(("flow",), np.array(program.flow_kinds, object), "1", "what its application does"),
        "queue": _array(("queue",), np.array(program.queue_names, object), "1", "access link and direction"),
        "capacity": _array(("queue",), capacity(state), "B/s", "rate of the link, the mean of one that changes"),
        "quantile": _array(_QUANTILE, np.array(QUANTILES), "1", "share of the time or of the samples"),
        "time": _array(("time",), sample_times(program, state), "s", "time since the start"),
    }
    series = _series(program, state) | _calls_over_time(program, state, coords["time"].values)
    coords["voip_time"] = series.pop("voip_time")
    data = measured(scenario, program, state) | series
    return xr.Dataset(data, coords=coords, attrs=_provenance(scenario, program, seed, cpu))


class Measured(NamedTuple):
    """A variable of the Dataset, as xarray takes it."""

    dims: tuple[str, ...]
    values: NDArray[Any]
    attrs: dict[str, Any]


def measured(scenario: LinkScenario, program: LinkProgram, state: State) -> dict[str, Measured]:
    """Return all figures of a finished experiment that count from the warm-up on, by name; arguments as above.

    To make a Dataset of them takes several times as long as a short experiment.
    """
    span = scenario.duration - scenario.warmup_time
    found = _flows(state, span) | _queues(state, span)
    return found | _voip(scenario, program, state) | _probes(scenario, program, state)


def sample_times(program: LinkProgram, state: State) -> Floats:
    """Return the times of the samples of an experiment's time series [s] (times,)."""
    return np.asarray(program.rules.sample_every * np.arange(int(state.clock[0].sample)), np.float64)


def _array(dims: tuple[str, ...], values: NDArray[Any], unit: str, meaning: str) -> Measured:
    return Measured(dims, values, {"long_name": meaning, "units": unit})


def _flows(s: State, span: float) -> dict[str, Measured]:
    flow = s.flow
    with np.errstate(invalid="ignore", divide="ignore"):
        rtt = np.where(flow.rtt_count > 0, flow.rtt_sum / flow.rtt_count, np.nan)
    took = np.where(flow.finish >= 0.0, flow.finish - flow.start, np.nan)
    quantiles = np.array([rtt_quantiles(counts) for counts in s.rtt_bins])
    return {
        "goodput": _array(("flow",), flow.goodput / span, "B/s", "payload that arrived, each byte once, per second"),
        "sent": _array(("flow",), flow.sent.copy(), "segments", "segments sent, those sent again included"),
        "resent": _array(("flow",), flow.resent.copy(), "segments", "segments sent again"),
        "window_falls": _array(("flow",), flow.losses.copy(), "1", "falls of the window after duplicate ACKs"),
        "timeouts": _array(("flow",), flow.timeouts.copy(), "1", "retransmission timeouts"),
        "completion_time": _array(
            ("flow",), took, "s", "time from the start to the last byte, of a flow of a given size"
        ),
        "start_time": _array(("flow",), flow.start.copy(), "s", "time the flow starts"),
        "rtt_mean": _array(("flow",), rtt, "s", "mean round-trip time as the sender measures it"),
        "rtt_quantile": _array(("flow", "quantile"), quantiles, "s", "round-trip time as the sender measures it"),
    }


def capacity(s: State) -> Floats:
    """Mean rate of each link from the warm-up to the end [B/s] (queues,)."""
    found, (begin, end) = s.queue.rate.copy(), (s.rules.warmup, s.rules.duration)
    for i, q in enumerate(s.queue):
        own = s.course[int(q.course_first) : int(q.course_end)]
        if q.course == STEPS:
            found[i] = float(np.diff(np.clip([*own["at"], end], begin, end)) @ own["value"]) / (end - begin)
        elif q.course == TRACE:
            laps, rests = np.divmod(np.round(1e6 * np.array([begin, end])) / 1e3, own["at"][-1])
            passed = laps * len(own) + np.searchsorted(own["at"], rests, "right")
            found[i] = q.opportunity * float(passed[1] - passed[0]) / (end - begin) or q.rate
    return np.asarray(found, np.float64)


def _queues(s: State, span: float) -> dict[str, Measured]:
    queue, time, rate = s.queue, s.queue_time, capacity(s)
    mean = time @ np.arange(time.shape[1]) / span
    quantiles = np.array([whole_quantiles(row) for row in time]).reshape(len(time), len(QUANTILES))
    longest = int(np.flatnonzero(time.any(axis=0)).max(initial=0)) + 1
    dims, waiting, share = ("queue",), "packets waiting", time[:, :longest] / span
    return {
        "queue_mean_packets": _array(
            dims, mean, "packets", f"mean number of {waiting}, the one in service not counted"
        ),
        "queue_mean_delay": _array(dims, queue.byte_seconds / span / rate, "s", "mean of bytes waiting over capacity"),
        "queue_quantile": _array((*dims, "quantile"), quantiles, "packets", waiting),
        "queue_share": _array((*dims, "packets"), share, "1", "share of the time with so many waiting"),
        "utilisation": _array(dims, queue.served / (rate * span), "1", "bytes sent, headers included, over capacity"),
        "drops": _array(dims, queue.drops.copy(), "packets", "packets dropped"),
        "arrivals": _array(dims, queue.arrivals.copy(), "packets", "packets that came"),
    }


def _series(program: LinkProgram, s: State) -> dict[str, Measured]:
    count = int(s.clock[0].sample)
    series = s.flow_series[:count]
    payload = series[:, :, sampling.PAYLOAD]
    rate = np.diff(payload, axis=0, prepend=payload[:1]) / program.rules.sample_every
    srtt = np.where(series[:, :, sampling.SRTT] > 0.0, series[:, :, sampling.SRTT], np.nan)
    window = np.where(s.flow.law == CBR, np.nan, series[:, :, sampling.WINDOW])
    known = (series[:, :, sampling.THRESHOLD] < FOREVER) & (series[:, :, sampling.PHASE] != sampling.NO_PHASE)
    threshold = np.where(known, series[:, :, sampling.THRESHOLD], np.nan)
    queues = s.queue_series[:count]

    waiting, lost = (queues[:, :, column].copy() for column in (sampling.WAITING, sampling.LOST))
    delay = s.queue_delay_series[:count].copy()
    flows, dims = ("time", "flow"), ("time", "queue")

    def counted(column: int, unit: str, meaning: str) -> Measured:
        return _array(flows, series[:, :, column].astype(np.int64), unit, f"{meaning} since the start")

    return {
        "window": _array(flows, window, "segments", "congestion window"),
        "rate": _array(flows, rate, "B/s", "payload that arrived since the sample before, per second"),
        "srtt": _array(flows, srtt, "s", "smoothed round-trip time"),
        "ssthresh": _array(flows, threshold, "segments", "slow-start threshold"),
        "phase": _phases(series[:, :, sampling.PHASE]),
        "falls_so_far": counted(sampling.FALLS, "1", "falls of the window after duplicate ACKs"),
        "timeouts_so_far": counted(sampling.TIMEOUTS, "1", "retransmission timeouts"),
        "flow_drops_so_far": counted(sampling.DROPPED, "packets", "data packets that queues dropped"),
        "queue_length": _array(dims, waiting, "packets", "packets waiting"),
        "drops_so_far": _array(dims, lost, "packets", "packets dropped since the start"),
        "queue_delay": _array(dims, delay, "s", "bytes waiting over capacity"),
    }


def _phases(numbers: Floats) -> Measured:
    """Return what senders do, as the numbers that CF conventions explain in `flag_values` and `flag_meanings`."""
    found = _array(("time", "flow"), numbers.astype(np.int8), "1", "what the sender is doing")
    attrs = found.attrs | {"flag_values": np.arange(len(PHASES), dtype=np.int8), "flag_meanings": " ".join(PHASES)}
    return found._replace(attrs=attrs)


def _calls_over_time(program: LinkProgram, s: State, times: Floats) -> dict[str, Measured]:
    """Return the delay of the voice packet that came last at each sample, and how each call sounded lately."""
    calls = np.flatnonzero(s.flow.law == CBR)
    judged = np.linspace(0.0, program.rules.duration, MOST_SCORES + 1)[1:]
    delays, scores = np.full((len(times), len(calls)), np.nan), np.full((len(judged), len(calls)), np.nan)
    for place, i in enumerate(calls):
        written, delay = _written(s, int(i))
        heard = np.flatnonzero(~np.isnan(delay))
        if not len(heard):  # flow fidelity knows nothing of packets
            continue
        last = np.searchsorted((written + delay)[heard], times, side="right") - 1  # paths keep the order
        delays[:, place] = np.where(last >= 0, delay[heard][last], np.nan)
        decided = heard[-1] + 1  # what was sent later may still be under way at the end
        codec = program.codecs[i]
        assert codec is not None
        scores[:, place] = voip.recent_scores(codec.speech, written[:decided], delay[:decided], judged)
    said = f"mean opinion score of the {voip.RECENT:g} s before (E-model)"
    return {
        "voip_time": _array(("voip_time",), judged, "s", "end of the seconds of speech that are judged"),
        "voip_delay": _array(("time", "voip"), delays, "s", "one-way network delay of the voice packet that came last"),
        "voip_mos_recent": _array(("voip_time", "voip"), scores, "1", said),
    }


def records(scenario: LinkScenario, s: State, i: int) -> Floats:
    """Delays of the messages or voice packets of flow `i` written from the warm-up on [s]; NaN: lost.

    Paths keep the order, so the fate of all that was written before the last one that arrived is known. What was
    written after it may still be under way at the end: it does not count. If nothing came at all, all of it was lost.
    """
    written, delays = _written(s, i)
    came = np.flatnonzero(~np.isnan(delays))
    decided = np.arange(len(written)) <= (came[-1] if len(came) else len(written))
    return np.asarray(delays[(written >= scenario.warmup_time) & decided], np.float64)


def _written(s: State, i: int) -> tuple[Floats, Floats]:
    """Return when each message or voice packet of flow `i` was written, and its delay [s]; NaN: it did not arrive."""
    f = s.flow[i]
    period = f.period if f.app == MESSAGES else 1.0 / f.app_rate
    written = f.start + np.arange(min(int(f.message), s.record_delay.shape[1])) * period
    return np.asarray(written, np.float64), s.record_delay[i, : len(written)]


def _outcome(scenario: LinkScenario, s: State, i: int) -> tuple[int, int]:
    """Return how many messages of flow `i` were written from the warm-up on, and how many of them arrived."""
    written, delays = _written(s, i)
    counted = written >= scenario.warmup_time
    return int(counted.sum()), int((~np.isnan(delays[counted])).sum())


def _judge(codec: Codec | None, delays: Floats) -> voip.Call:
    """Return how a call went."""
    assert codec is not None
    return voip.call(codec.speech, delays)


def _voip(scenario: LinkScenario, program: LinkProgram, s: State) -> dict[str, Measured]:
    calls = np.flatnonzero(s.flow.law == CBR)
    delays = [records(scenario, s, int(i)) for i in calls]
    heard = [d[~np.isnan(d)] for d in delays]
    figures = [_judge(program.codecs[i], d) if len(d) else None for i, d in zip(calls, delays, strict=True)]
    quality = np.array([(np.nan,) * 3 if c is None else (c.loss, c.jitter, c.playout.mos) for c in figures])
    loss, jitter, mos = quality.reshape(-1, 3).T
    dims = ("voip",)
    return {
        "voip_name": _array(dims, np.array([program.flow_names[i] for i in calls], object), "1", "name of the call"),
        "voip_delay_mean": _array(dims, np.array([mean_of(h) for h in heard]), "s", "mean one-way network delay"),
        "voip_delay_quantile": _quantiles("voip", heard, "one-way network delay of voice packets"),
        "voip_jitter": _array(dims, jitter, "s", "mean interarrival jitter (RFC 3550)"),
        "voip_loss": _array(dims, loss, "1", "share of the voice packets lost"),
        "voip_mos": _array(dims, mos, "1", "mean opinion score (E-model, ITU-T G.107)"),
    }


def _probes(scenario: LinkScenario, program: LinkProgram, s: State) -> dict[str, Measured]:
    probes = np.flatnonzero(s.flow.app == MESSAGES)
    heard = [d[~np.isnan(d)] for d in (records(scenario, s, int(i)) for i in probes)]
    names = np.array([program.flow_names[i] for i in probes], object)
    mean = np.array([mean_of(h) for h in heard])
    sent, delivered = np.array([_outcome(scenario, s, int(i)) for i in probes], np.int64).reshape(-1, 2).T
    return {
        "probe_sent": _array(("probe",), sent, "1", "messages written"),
        "probe_delivered": _array(("probe",), delivered, "1", "messages delivered by the end"),
        "probe_name": _array(("probe",), names, "1", "name of the probe"),
        "probe_delay_mean": _array(("probe",), mean, "s", "mean time from writing a message to its delivery"),
        "probe_delay_quantile": _quantiles("probe", heard, "time from writing a message to its delivery"),
    }


def _quantiles(dim: str, samples: Sequence[Floats], meaning: str) -> Measured:
    rows = [delay_quantiles(h) for h in samples]
    values = np.array(rows) if rows else np.empty((0, len(QUANTILES)))
    return _array((dim, "quantile"), values, "s", meaning)


def _provenance(scenario: LinkScenario, program: LinkProgram, seed: int, cpu: float) -> dict[str, Any]:
    return {
        "model": scenario.name,
        "title": scenario.title,
        "source": scenario.source,
        "parameters": json.dumps(dict(scenario.parameters)),
        "scenario_hash": scenario.digest(),
        "bottleneck": program.bottleneck,
        f"rate_{program.bottleneck}": float(scenario.queues[program.bottleneck].rate) if program.bottleneck else 0.0,
        "duration": scenario.duration,
        "warmup": scenario.warmup_time,
        "seed": seed,
        "cpu_s": cpu,
        "fidelity": program.fidelity,
        "version": __version__,
        "byte_prefix": scenario.byte_prefix,
    }
