"""What a file says of a line: delays of packets and rates of loads over time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from btflow.errors import InputError, brief
from btflow.units.formatting import counted

Parsed = TypeVar("Parsed")
Floats = NDArray[np.float64]

Way = Literal["up", "down"]
WAYS: tuple[Way, ...] = ("up", "down")

Of = Literal["pings", "the flow's packets", "the flow's packets, smoothed"]
"""Whose round-trip times they are; smoothed as TCP does (RFC 6298)."""
SMOOTHED: Of = "the flow's packets, smoothed"

FIELD = "file"
"""What a measured file is called in errors."""

PING = 84
"""IP packet of a ping of 56 bytes, which is the default [B]."""

HEADER = 52
"""Headers of a TCP segment over IPv4 with time stamps [B]."""

DELAYED = 0.04
"""Longest time for which Linux holds back an ACK while data come [s] (TCP_DELACK_MIN)."""

SEGMENT = 1448
"""Payload of a full one, where a file does not say [B]."""


def header_of(segment: float, version6: bool = False) -> float:
    """Return the headers of a full segment [B], where a file shows its payload alone [B]."""
    stamps = 0 if segment > SEGMENT - 20 * version6 else 12
    return 40 + 20 * version6 + stamps


@dataclass(frozen=True, eq=False)
class Delays:
    """Round-trip times of one kind of packets."""

    of: Of
    time: Floats
    """When each came back, or was sent where that is known (samples,) [s]."""
    rtt: Floats
    """(samples,) [s]."""
    size: float
    """IP packet that is answered [B]."""
    lost: Floats
    """When packets were sent that did not come back (losses,) [s]."""
    resolution: float = 0.0
    """Step in which the file gives times [s]."""
    late: float = 0.0
    """By how much an ACK may have been held back [s]."""

    def shifted(self, by: float) -> Delays:
        """Return it on another clock."""
        return replace(self, time=self.time + by, lost=self.lost + by)


@dataclass(frozen=True, eq=False)
class Load:
    """Flows of TCP that one program sent in one direction."""

    way: Way
    flows: int
    edges: Floats
    """Begin and end of each interval (intervals + 1,) [s]."""
    goodput: Floats
    """Payload in each interval (intervals,) [B/s]."""
    counted: Literal["arrived", "written"]
    """Whether at the receiver (or by its ACKs), or at the sender, whose socket still holds some of it."""
    segment: float = SEGMENT
    """Payload of a packet [B]."""
    header: float = HEADER
    """Headers of IP and TCP of a packet [B]."""
    lost: Floats = field(default_factory=lambda: np.zeros(0))
    """When losses were seen (losses,) [s]: the time the lost packet was sent, or that of its retransmission."""
    arrived: tuple[float, float] | None = None
    """Payload that came to the receiver in all [B], and the time it took [s]."""
    cc: str = ""
    """Congestion control, as the program names it; empty if it does not say."""
    beside: tuple[float, float] | None = None
    """What else left in its direction, such as pings [B/s, packets/s]; None if the file does not show it."""
    paced: float = 0.0
    """Rate that each flow is held to by its program [B/s]; 0: none."""

    @property
    def start(self) -> float:
        """When it begins [s]."""
        return float(self.edges[0])

    @property
    def end(self) -> float:
        """When it ends [s]."""
        return float(self.edges[-1])

    @property
    def packet(self) -> float:
        """IP packet of a full segment [B]."""
        return self.segment + self.header

    def shifted(self, by: float) -> Load:
        """Return it on another clock."""
        return replace(self, edges=self.edges + by, lost=self.lost + by)


@dataclass(frozen=True, eq=False)
class Trace:
    """What one file says."""

    file: str
    """Its name, without the folder."""
    kind: str
    """What it is, such as ``ping log``."""
    begun: float | None
    """Time of day of its time 0 [s since 1970]; None if it does not say."""
    delays: tuple[Delays, ...] = ()
    loads: tuple[Load, ...] = ()
    notes: tuple[str, ...] = ()
    """What was left out, in words."""

    def __post_init__(self) -> None:
        if self.begun is not None and not 0.0 <= self.begun < 2.0**33:
            raise unusable(self.file, f"begins {self.begun:g} s after 1970", "a time of day before the year 2242")

    def shifted(self, by: float) -> Trace:
        """Return it on another clock."""
        delays = tuple(one.shifted(by) for one in self.delays)
        return replace(self, delays=delays, loads=tuple(one.shifted(by) for one in self.loads))

    def text(self) -> str:
        """Return the file's name and kind, and how much it has, for people."""
        when = "" if self.begun is None else f" of {datetime.fromtimestamp(self.begun, UTC):%Y-%m-%d %H:%M} UTC"
        rtts, intervals = sum(len(one.rtt) for one in self.delays), sum(len(one.goodput) for one in self.loads)
        parts = [counted(rtts, "round-trip time", "round-trip times")] * (rtts > 0)
        parts += [f"{counted(intervals, 'interval')} of a load"] * (intervals > 0)
        return f"{self.file} ({self.kind}{when}: {', '.join(parts)})"


def whole(name: str, kind: str, allowed: str, read: Callable[[], Parsed]) -> Parsed:
    """Return what a file's JSON has; an InputError that says where it is not of its kind."""
    try:
        return read()
    except ValidationError as error:
        first = error.errors()[0]
        where = brief(".".join(map(str, first["loc"]))) or "its JSON"
        raise unusable(name, f"is no whole {kind}: {where}: {first['msg']}", allowed) from None


def unusable(name: str, reason: str, allowed: str = "") -> InputError:
    """Return the error for a measured file."""
    return InputError(FIELD, name, reason, allowed)
