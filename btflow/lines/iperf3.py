"""Reads what ``iperf3 --json`` or ``--json-stream`` prints: a test of TCP, up, down or both, of some flows."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, FailFast, Field, FiniteFloat, TypeAdapter

from btflow.errors import brief
from btflow.lines.traces import SEGMENT, SMOOTHED, Delays, Load, Trace, Way, header_of, unusable, whole

Number = Annotated[FiniteFloat, Field(ge=0, le=1e15)]


class _Stream(BaseModel):
    start: Number
    end: Number
    bytes: Number
    rtt: Number | None = None
    """[us]."""
    retransmits: Number = 0
    omitted: bool = False
    sender: bool = True


class _Interval(BaseModel):
    streams: Annotated[list[_Stream], FailFast()]


_Intervals = Annotated[list[_Interval], FailFast()]


class _Sum(BaseModel):
    seconds: Number
    bytes: Number


class _End(BaseModel):
    sum_received: _Sum | None = None
    sum_received_bidir_reverse: _Sum | None = None
    sender_tcp_congestion: str = ""


class _TestStart(BaseModel):
    protocol: str = "TCP"
    num_streams: Annotated[int, Field(ge=1, le=128)] = 1  # as many as iperf3 has
    reverse: bool = False
    bidir: bool = False
    target_bitrate: Number = 0


class _Timestamp(BaseModel):
    timesecs: Number


class _Ends(BaseModel):
    local_host: str = ""


class _Start(BaseModel):
    timestamp: _Timestamp | None = None
    test_start: _TestStart | None = None
    tcp_mss_default: Annotated[int, Field(ge=0, le=65535)] = 0
    accepted_connection: Any = None
    connected: list[_Ends] = []

    @property
    def host(self) -> str:
        """Address of the client."""
        return self.connected[0].local_host if self.connected else ""


class _Server(BaseModel):
    intervals: _Intervals = []


class _File(BaseModel):
    error: str | None = None
    start: _Start = _Start()
    intervals: _Intervals = []
    end: _End = _End()
    server_output_json: _Server | None = None


_EVENT = '{"event":'
"""How a line of ``--json-stream`` begins."""


def read(name: str, text: str) -> Trace:
    """Return rates, round-trip times and losses of an iperf3 test.

    Raises:
        InputError: It is not one of TCP that a client has finished.
    """
    text = text[text.find("{") :]  # behind warnings
    many = len(re.findall(r"^\}\s*^\{", text, re.MULTILINE))
    if many and not text.startswith(_EVENT):
        raise unusable(name, f"has {many + 1} results", "that of one test in a file")
    parse = _streamed if text.startswith(_EVENT) else _File.model_validate_json
    found = whole(name, "iperf3 result", "the output of iperf3 --json", lambda: parse(text))
    test = found.start.test_start
    if found.error:
        raise unusable(name, f"has an error of iperf3's: {brief(found.error)}", "a test that finished")
    if test is None or not found.intervals:
        raise unusable(name, "has no intervals", "a test that finished")
    if test.protocol.upper() != "TCP":
        raise unusable(name, f"is a test of {brief(test.protocol)}, which no queue slows down", "a test of TCP")
    if found.start.accepted_connection is not None:
        raise unusable(name, "was written by iperf3's server", "what the client printed, on the line to be fitted")
    sides = {stream.sender for interval in found.intervals for stream in interval.streams}
    both = test.bidir or len(sides) == 2  # iperf3 3.12 does not say --bidir
    ways: list[Way] = ["up", "down"] if both else ["down" if test.reverse else "up"]
    parts = [_part(name, found, test, way) for way in ways]
    begun = found.start.timestamp.timesecs if found.start.timestamp else None
    delays = tuple(delay for _, delay in parts if delay is not None)
    return Trace(name, "iperf3 result", begun, delays, tuple(load for load, _ in parts))


def _streamed(text: str) -> _File:
    """Return the events of ``--json-stream``, one in each line, as one result; what may follow them is the same."""
    one = TypeAdapter(dict[str, Any])
    events = [one.validate_json(line) for line in text.splitlines() if line.startswith(_EVENT)]
    parts = {event["event"]: event.get("data") for event in events}
    return _File.model_validate(parts | {"intervals": [e.get("data") for e in events if e["event"] == "interval"]})


def _part(name: str, found: _File, test: _TestStart, way: Way) -> tuple[Load, Delays | None]:
    """Return what was sent in one direction, and its packets' round-trip times if the sender's side is there."""
    sent_here = way == "up"
    own = _rows(found.intervals, sent_here)
    far = _rows(found.server_output_json.intervals, not sent_here) if found.server_output_json else []
    arriving, sending = (far, own) if sent_here else (own, far)
    rows = arriving or own
    if not any(stream.bytes for row in rows for stream in row):
        raise unusable(name, f"has no byte that was sent {way}", "a test that finished")
    edges = np.array([row[0].start for row in rows] + [rows[-1][0].end])
    if not (np.diff(edges) > 0.0).all():
        raise unusable(name, "has intervals that do not follow each other", "the output of iperf3 --json")
    goodput = np.array([sum(stream.bytes for stream in row) for row in rows]) / np.diff(edges)
    total = found.end.sum_received if sent_here or test.reverse else found.end.sum_received_bidir_reverse
    segment = float(found.start.tcp_mss_default or SEGMENT)
    lost = np.array([row[0].end for row in sending if sum(stream.retransmits for stream in row) > 0])
    arrived = (total.bytes, total.seconds) if total is not None and total.seconds > 0 and total.bytes > 0 else None
    counted: Literal["arrived", "written"] = "arrived" if arriving else "written"
    load = Load(
        way, test.num_streams, edges, goodput, counted, segment, header_of(segment, ":" in found.start.host), lost
    )
    load = replace(load, arrived=arrived, cc=found.end.sender_tcp_congestion, paced=test.target_bitrate / 8)
    timed = [(row[0].end, np.median(rtts) / 1e6) for row in sending if (rtts := [one.rtt for one in row if one.rtt])]
    if not timed:
        return load, None
    time, rtt = np.array(timed).T
    return load, Delays(SMOOTHED, time, rtt, load.packet, np.zeros(0), 1e-6)


def _rows(intervals: list[_Interval], sender: bool) -> list[list[_Stream]]:
    """Return the streams of each interval that were sent, or that were received."""
    rows = [[s for s in interval.streams if s.sender == sender and not s.omitted] for interval in intervals]
    return [row for row in rows if row]
