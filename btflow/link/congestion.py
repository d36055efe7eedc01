"""A congestion control: a law of the window and the constants of the stack it runs in."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Literal, Self

from pydantic import model_validator

from btflow.errors import TableError
from btflow.units.quantity import FrozenModel, Quantity, text_of

Law = Literal["newreno", "cubic", "vegas", "lp", "nice", "ledbat", "utp", "ledbatpp", "bbr"]
Recovery = Literal["classic", "prr", "prr-safe", "tahoe", "per-loss"]

Flag = Annotated[bool, Quantity("flag")]
Time = Annotated[float, Quantity("time", 0, 3600)]
Bytes = Annotated[int, Quantity("size", 0, 65535)]
Segments = Annotated[float, Quantity("fraction", 0, 10000)]
Share = Annotated[float, Quantity("fraction", 0, 1)]

CONSTANTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "newreno": ("beta",),
        "cubic": ("beta", "c"),
        "vegas": ("beta", "alpha", "beta_delay", "gamma"),
        "lp": ("beta", "threshold", "clock_difference"),
        "nice": ("beta", "alpha", "beta_delay", "gamma", "threshold", "fraction"),
        "ledbat": ("beta", "gain", "target", "history", "history_step", "filter", "slow_start"),
        "utp": ("beta", "target", "max_gain", "history", "history_step", "filter", "loss_gap", "gate", "decay_idle"),
        "ledbatpp": ("beta", "target", "history", "history_step", "filter"),
        "bbr": (),
    }
)
"""The constants that each law uses: these must be given, and no others."""

HYSTART = ("hs_share", "hs_least", "hs_most", "hs_train")
"""The constants of HyStart: as ``CONSTANTS``, if it is on."""

VARIANTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "newreno": ("rfc5681",),
        "cubic": ("rfc9438", "linux"),
        "vegas": ("linux", "ns-3"),
        "lp": ("linux", "ns-3", "paper"),
        "nice": ("paper", "linux"),
        "ledbat": ("rfc6817", "ns-2", "linux", "ns-3"),
        "utp": ("2010", "2013", "libtorrent"),
        "ledbatpp": ("draft-01",),
        "bbr": ("v1",),
    }
)
"""The variants of each law; the kernels know them by their place here, from 0."""


class CongestionControl(FrozenModel):
    """How a sender finds its rate, with every constant of sender and receiver that bears on it."""

    name: str
    """Name of the congestion control, as in the report."""
    title: str
    """One line for people."""
    source: str
    """Where the law and its constants were read."""
    law: Annotated[Law, Quantity("choice")]
    """Law of the congestion window."""
    variant: Annotated[str, Quantity("choice")]
    """Which form of the law; see ``VARIANTS``."""
    recovery: Annotated[Recovery, Quantity("choice")]
    """How losses are repaired: ``classic`` the window falls at once (RFC 6675), ``prr`` in proportion to what arrives
    (RFC 6937), ``prr-safe`` the same but growing only while no more losses are found (RFC 6937bis), ``tahoe`` window 1
    and slow start, ``per-loss`` no phase of recovery (uTP)."""

    mss: Annotated[int, Quantity("size", 50, 65535)]
    """Payload of a full segment [B]."""
    header: Bytes
    """Bytes of headers per packet, network layer and above [B]."""
    ack_size: Bytes
    """Size of an ACK, network layer and above [B]."""
    ack_every: Annotated[int, Quantity("count", 1, 100)]
    """Segments per ACK."""
    ack_counts: Annotated[Literal["segments", "bytes"], Quantity("choice")] = "segments"
    """What ``ack_every`` counts on the connections of swarms, where segments may be small: ``segments`` of any size, or
    ``bytes``: an ACK is due after ``ack_every`` full segments of payload if that is one, else after more than
    ``ack_every`` - 1."""
    ack_delay: Time
    """Longest wait of a delayed ACK [s]."""
    times_newest: Flag
    """Whether the round-trip time is that of the newest segment an ACK covers; else that of the first, whose time stamp
    the receiver echoes (RFC 7323), so that the wait of a delayed ACK for the second is in it."""
    smoothed_rtt: Flag
    """Whether the law is told the smoothed round-trip time, not the last sample."""
    quick_acks: Annotated[int, Quantity("count", 0, 1000)]
    """ACKs that are not delayed, at the start."""
    initial_window: Annotated[float, Quantity("fraction", 1, 1000)]
    """Congestion window at the start [segments]."""
    min_window: Annotated[float, Quantity("fraction", 0.001, 100)]
    """Least congestion window of the law [segments]."""
    max_window: Annotated[int, Quantity("size", 1000, 2**30)]
    """Least of the send and receive buffers: bytes on the way are never more [B]."""
    rto_min: Time
    """Least retransmission timeout [s]: RTO = max(rto_min, SRTT + max(rto_slack, 4 RTTVAR))."""
    rto_slack: Time
    """Least time by which the retransmission timeout exceeds the smoothed RTT [s]."""
    rto_initial: Annotated[float, Quantity("time", 0.01, 60)]
    """Retransmission timeout before the first RTT sample [s]."""
    rto_max: Annotated[float, Quantity("time", 0.1, 3600)]
    """Longest retransmission timeout [s]."""
    idle_reset: Flag
    """Whether the window restarts from the initial one after an RTO without sending."""
    window_validation: Flag
    """Whether the window grows only while it is the limit (RFC 7661, Linux tcp_is_cwnd_limited)."""
    recalls_use: Annotated[bool, Quantity("flag")] = False
    """Whether a window that was the limit once is one until a window of data is acknowledged, and in slow start one
    that was used by half; with ``window_validation`` only."""
    halves: Annotated[Literal["outstanding", "window", "pipe"], Quantity("choice")]
    """What a loss leaves ``beta`` of, with Reno's growth: what was sent and is not acknowledged in order (RFC 5681),
    the congestion window (Linux), or what is not known to have arrived (ns-3)."""
    counts_segments: Flag
    """Whether Reno's growth counts the segments acknowledged (RFC 3465), else the ACKs (RFC 5681)."""
    hystart: Flag
    """Whether slow start is left by HyStart."""
    counts_repaired: Flag
    """Whether the ACK that ends a fast recovery grows the window by all it acknowledges; else by nothing."""
    sack: Flag
    """Whether the receiver says what it has (RFC 2018); without, one hole is known at a time."""
    lost_retransmit: Flag
    """Whether the loss of a retransmission is found without a timeout."""
    super_packet: Annotated[int, Quantity("count", 1, 44)] = 1
    """Segments, at least, that a host hands down as one where a queue sees them so: ``shaper`` of a queue. BBR has one
    below 1.2 Mbit/s."""
    detection: Annotated[Literal["dupacks", "rack"], Quantity("choice")] = "dupacks"
    """What shows a loss: ``dupacks`` three segments sent later have arrived (RFC 6675), ``rack`` one has, and a quarter
    of the least round-trip time has passed (RFC 8985); it takes no time in a recovery or where three have arrived."""
    tail_probe: Annotated[bool, Quantity("flag")] = False
    """Whether a probe goes when nothing comes back for two round trips (RFC 8985, section 7): with ``rack`` only."""

    beta: Share | None = None
    """What a loss leaves of the window."""
    c: Annotated[float, Quantity("fraction", 0.001, 100)] | None = None
    """CUBIC: C [segments/s**3]."""
    gain: Annotated[float, Quantity("fraction", 0.001, 100)] | None = None
    """LEDBAT: GAIN, growth per round trip at delay 0 [segments]."""
    target: Annotated[float, Quantity("time", 0.001, 10)] | None = None
    """LEDBAT, uTP, LEDBAT++: queueing delay aimed at [s]."""
    alpha: Segments | None = None
    """Vegas, Nice: packets queued below which the window grows."""
    beta_delay: Segments | None = None
    """Vegas, Nice: packets queued above which it shrinks."""
    gamma: Segments | None = None
    """Vegas, Nice: packets queued above which slow start ends."""
    threshold: Share | None = None
    """LP, Nice: share of the range between least and greatest delay above which a packet counts as late."""
    clock_difference: Time | None = None
    """LP: how far the receiver's clock is ahead of the sender's [s]."""
    fraction: Share | None = None
    """Nice: share of late packets in a round trip above which the window is halved."""
    history: Annotated[int, Quantity("count", 1, 60)] | None = None
    """LEDBAT, uTP, LEDBAT++: periods of base-delay history."""
    history_step: Annotated[float, Quantity("time", 1, 3600)] | None = None
    """LEDBAT, uTP, LEDBAT++: length of such a period [s]."""
    slow_start: Annotated[int, Quantity("count", 0, 2)] | None = None
    """LEDBAT: slow start: 0 none, 1 until the delay reaches its target, 2 until a loss."""
    filter: Annotated[int, Quantity("count", 1, 64)] | None = None
    """LEDBAT, uTP, LEDBAT++: latest delay samples of which the least counts."""
    max_gain: Annotated[int, Quantity("size", 1, 10**6)] | None = None
    """uTP: growth per round trip at delay 0 [B]."""
    loss_gap: Time | None = None
    """uTP: least time between two answers to a loss [s]."""
    gate: Time | None = None
    """uTP: the window grows only if it was the limit within this time [s]."""
    decay_idle: Share | None = None
    """uTP: what a timeout without data on the way leaves of the window."""
    hs_share: Share | None = None
    """HyStart: rise of the delay that ends slow start, as a share of the least round-trip time."""
    hs_least: Time | None = None
    """HyStart: least such rise [s]."""
    hs_most: Time | None = None
    """HyStart: greatest such rise [s]."""
    hs_train: Share | None = None
    """HyStart: length of a train of ACKs that ends slow start, as a share of the least round-trip time."""

    @property
    def used(self) -> tuple[str, ...]:
        """The constants of the law that it uses."""
        return CONSTANTS[self.law] + (HYSTART if self.hystart else ())

    @property
    def variant_number(self) -> int:
        """Number of the variant, as the kernels know it."""
        return VARIANTS[self.law].index(self.variant)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.variant not in VARIANTS[self.law]:
            reason = f"is no variant of {self.law}"
            raise TableError("variant", self.variant, reason, ", ".join(VARIANTS[self.law]))
        if self.hystart and self.law != "cubic":
            raise TableError("hystart", "true", f"is never used by {self.law}", "false, or the law cubic")
        optional = {*HYSTART, *(name for names in CONSTANTS.values() for name in names)}
        given = {name for name in optional if getattr(self, name) is not None}
        problems = [TableError(n, None, f"is missing: {self.law} uses it") for n in self.used if n not in given]
        may = {*self.used, *(HYSTART if self.law == "cubic" else ())}  # HyStart may be switched off by one field
        for name in sorted(given - may):
            what = f"is never used by {self.law}"
            problems.append(
                TableError(name, text_of(self, name), what, ", ".join(self.used) or "none of the constants")
            )
        problems += self._of_detection()
        for low, high in (("rto_min", "rto_max"), ("rto_initial", "rto_max"), ("mss", "max_window")):
            if getattr(self, low) > getattr(self, high):
                limit = f"at most {high} = {text_of(self, high)}"
                problems.append(TableError(low, text_of(self, low), f"exceeds {high}", limit))
        if problems:
            raise TableError.all_of(problems)
        return self

    def _of_detection(self) -> Iterator[TableError]:
        """What does not go with the way losses are found."""
        if self.detection == "rack":
            for name in ("sack", "lost_retransmit"):
                if not getattr(self, name):
                    yield TableError(name, "false", "does not go with detection = rack", "true, or detection = dupacks")
        elif self.tail_probe:
            yield TableError("tail_probe", "true", "needs detection = rack", "false, or detection = rack")
