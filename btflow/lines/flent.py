"""Reads flent's data files: tests that load a line by TCP, up or down or both, beside pings."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, BaseModel, FailFast, Field, FiniteFloat, ValidationError

from btflow.errors import brief
from btflow.lines.traces import PING, SEGMENT, WAYS, Delays, Floats, Load, Trace, Way, header_of, unusable, whole

Value = Annotated[FiniteFloat, Field(ge=-1e15, le=1e15)] | None

_LOAD = re.compile(r"TCP (?:(upload|download)|(?!totals))(?!.* (?:sum|avg|fairness|\(delivery rate\))$|.*::tcp_).*")
_OTHER = re.compile(r"(?:UDP|SCTP) (?:up|down)load.*")
_SMALL = re.compile(r"HTTP get.*|VoIP|Dash|Burst.*")
_PING = re.compile(r"Ping \(ms\)(?: |::)(ICMP|UDP).*")
_RATES = {"Mbits/s": 1e6 / 8, "Kbits/s": 1e3 / 8, "bits/s": 1 / 8}
_ICMP = "Ping (ms) ICMP"
"""Of the test's one host; without priority."""
LEAST, MOST = 0.2, 500
"""Length of the intervals in which the rate is counted [s], at least, and how many, at most."""
LONGEST = 600e3
"""A ping of more is none [ms]."""
_UDP_PING = 60
"""IP packet of a ping by UDP, of irtt's least with its headers [B]."""


class _Series(BaseModel):
    UNITS: str = "Mbits/s"
    BYTES_RECVD: Annotated[FiniteFloat, Field(ge=0, le=1e15)] | None = None
    ELAPSED_TIME: Annotated[FiniteFloat, Field(ge=0, le=1e6)] | None = None
    TCP_MSS: Annotated[int, Field(ge=1, le=65535)] | None = None
    CONG_CONTROL: Annotated[str, Field(max_length=40)] | None = None


def _checked(time: datetime) -> datetime:
    """Return a time; a ValueError if it is at an end of the calendar, where it may have no time of day elsewhere."""
    if not 1970 <= time.year < 2242:
        raise ValueError("should be from 1970 to 2241")
    return time


class _Metadata(BaseModel):
    NAME: str = ""
    T0: Annotated[datetime, AfterValidator(_checked)] | None = None
    SERIES_META: dict[str, _Series] = {}


class _Raw(BaseModel):
    t: Annotated[FiniteFloat, Field(ge=0, le=1e11)]
    val: Value = None
    dur: Annotated[FiniteFloat, Field(gt=0, le=1e6)] | None = None
    seq: FiniteFloat | None = None


class _File(BaseModel):
    metadata: _Metadata = _Metadata()
    x_values: Annotated[list[FiniteFloat], FailFast()]
    results: dict[str, Annotated[list[Value], FailFast()]]
    raw_values: dict[str, Annotated[list[dict[str, Any]], FailFast()]] = {}


def read(name: str, text: str) -> Trace:
    """Return the rates and the pings of a flent test; times count from the test's start.

    Raises:
        InputError: It is no flent file, or of a test without a flow of TCP and without pings.
    """
    allowed = "a .flent or .flent.gz file"
    found = whole(name, "flent file", allowed, lambda: _File.model_validate_json(text))
    time = np.array(found.x_values, float)
    lengths = {len(values) for values in found.results.values()}
    if len(time) < 2 or lengths != {len(time)} or not (np.diff(time) > 0.0).all():
        raise unusable(name, "has series that do not go with its times", "a .flent or .flent.gz file of a whole test")
    for series in filter(_OTHER.fullmatch, found.results):
        reason = f"loads the line by {brief(series)}, too: what TCP sent is only a part"
        raise unusable(name, reason, "a test of TCP, such as tcp_upload")
    flows = {series: match[1] for series in found.results if (match := _LOAD.fullmatch(series))}
    ways = {way: [one for one, said in flows.items() if (said == "download") is (way == "down")] for way in WAYS}
    loads = [_load(name, found, time, way, series) for way, series in ways.items() if series]
    pings = sorted(filter(_PING.fullmatch, found.results), key=lambda one: (one != _ICMP, "UDP" in one, "PRIO" in one))
    delays = next(((one, seen) for one in pings if (seen := _pings(found, time, one))), None)
    present = tuple(load for load in loads if load is not None)
    test = brief(found.metadata.NAME or "without a name")
    if not present and delays is None:
        reason = f"is of the test {test}, without a value of TCP upload, download or ping"
        raise unusable(name, reason, "such as tcp_upload, tcp_download or rrul")
    begun = found.metadata.T0.timestamp() if found.metadata.T0 else None
    unsaid, small = [one for one in flows if not flows[one]], list(filter(_SMALL.fullmatch, found.results))
    notes = [f"{brief(', '.join(unsaid))}: taken for uploads, as in flent's own tests"] if unsaid else []
    notes += [f"{brief(', '.join(small))} went beside TCP and is not counted"] if small else []
    if silent := len(flows) - sum(load.flows for load in present):
        notes.append(f"{silent} of {len(flows)} flows have no rates: left out")
    if delays and delays[0] != _ICMP:
        notes.append(f"the pings are those of {brief(delays[0])}")
    if len(present) > 1:
        both = "loads both ways at once, which tells neither buffer: tcp_upload and tcp_download, one by one, tell them"
        notes.append(f"the test {test} {both}")
    kind = f"flent {found.metadata.NAME or 'test'}"[:60]
    return Trace(name, kind, begun, delays[1:] if delays else (), present, tuple(notes))


def _load(name: str, found: _File, time: Floats, way: Way, series: list[str]) -> Load | None:
    """Return the flows of one direction together."""
    metas = [found.metadata.SERIES_META.get(one, _Series()) for one in series]
    for one, meta in zip(series, metas, strict=True):
        if meta.UNITS not in _RATES:
            raise unusable(name, f"has {brief(one)} in {brief(meta.UNITS)!r}", ", ".join(_RATES))
    totals = [_total(found, time, one, _RATES[meta.UNITS]) for one, meta in zip(series, metas, strict=True)]
    present = [total for total in totals if total is not None]
    if not present:
        return None
    start, end = min(at[0] for at, _ in present), max(at[-1] for at, _ in present)
    edges = np.linspace(start, end, 1 + int(np.clip((end - start) / LEAST, 1, MOST)))
    written = sum(np.interp(edges, at, sent) for at, sent in present)
    came = [(meta.BYTES_RECVD, meta.ELAPSED_TIME) for meta in metas]
    whole = all(size and took for size, took in came)
    arrived = (sum(size or 0.0 for size, _ in came), max(took or 0.0 for _, took in came)) if whole else None
    segment = float(metas[0].TCP_MSS or SEGMENT)
    goodput = np.diff(written) / np.diff(edges)
    header = header_of(segment)
    return Load(
        way, len(present), edges, goodput, "written", segment, header, arrived=arrived, cc=metas[0].CONG_CONTROL or ""
    )


def _total(found: _File, time: Floats, series: str, unit: float) -> tuple[Floats, Floats] | None:
    """Return times and the payload written up to them [B]: as netperf reported it where the file has that."""
    at, value, took, _ = _raw(found, series)
    if len(at) and np.isfinite(took).all():
        rate = unit * np.nan_to_num(value)
    else:
        rate = unit * np.nan_to_num(np.array(found.results[series], float))
        known = np.flatnonzero(rate > 0.0)
        part = slice(known[0], known[-1] + 1) if len(known) else slice(0)
        at, rate = time[part], rate[part]
        took = np.diff(at, prepend=2 * at[0] - at[1]) if len(at) > 1 else np.zeros(0)
    if len(took) < 2 or not (np.diff(at) > 0.0).all():
        return None
    return np.append(at[0] - took[0], at), np.append(0.0, np.cumsum(np.maximum(rate, 0.0) * took))


def _pings(found: _File, time: Floats, series: str) -> Delays | None:
    """Return the pings of a series, one by one where the file has them, else at its times; None if none came back."""
    at, rtt, _, numbers = _raw(found, series)
    lost = _lost(numbers, at)
    if not len(at):
        at, rtt = time, np.array(found.results[series], float)
    known = np.isfinite(rtt) & (rtt > 0.0) & (rtt < LONGEST)
    sent, took = at[known] - rtt[known] / 1e3, rtt[known] / 1e3  # the file has when they came back
    order = np.argsort(sent, kind="stable")
    size = PING if "ICMP" in series else _UDP_PING
    return Delays("pings", sent[order], took[order], size, lost, 1e-4) if known.any() else None


def _lost(numbers: Floats, at: Floats) -> Floats:
    """Return when pings were sent whose numbers are missing."""
    if not len(numbers) or not np.isfinite(numbers).all() or np.ptp(numbers) > 1e6:
        return np.zeros(0)
    missing = np.setdiff1d(np.arange(numbers.min(), numbers.max()), numbers)
    order = np.argsort(numbers, kind="stable")
    return np.asarray(np.interp(missing, numbers[order], at[order]))


def _raw(found: _File, series: str) -> Floats:
    """Return times [s], values, durations and numbers that a program reported one by one (4, reports), NaN: not said.

    There are no reports if the file does not have all of them, or the time at which the test began.
    """
    begun = found.metadata.T0
    try:
        rows = [_Raw.model_validate(row) for row in found.raw_values.get(series, []) if begun]
    except ValidationError:
        rows = []
    start = begun.timestamp() if begun else 0.0
    return np.array([(row.t - start, row.val, row.dur, row.seq) for row in rows], float).reshape(-1, 4).T
