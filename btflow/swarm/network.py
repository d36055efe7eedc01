"""What lies between the peers: round-trip times, loss and the transport's constants."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from btflow.errors import TableError
from btflow.paths.model import PathModel
from btflow.units.quantity import FrozenModel, Quantity

Rtt = Annotated[float, Quantity("time", 0, 60)]
Loss = Annotated[float, Quantity("fraction", 0, 0.4)]
Flag = Annotated[bool, Quantity("flag")]


class DeviceLatency(FrozenModel):
    """One-way latency of the two network devices of an emulated AS's machine."""

    loopback: Rtt
    """Latency between peers of this AS, each way in or out [s]."""
    ethernet: Rtt
    """Latency towards peers of another AS, each way in or out [s]."""


class PathMatrix(FrozenModel):
    """Round-trip times between named locations; each pair is given once or twice, alike."""

    name: str
    """Name of the matrix."""
    title: str
    """One line for people."""
    source: str
    """Where the figures were read."""
    device_latency: dict[str, DeviceLatency] = Field(default_factory=dict)
    """Latencies from which the round-trip times were made; for the reader only."""
    rtt: dict[str, dict[str, Rtt]]
    """Round-trip time [s] from one location to another."""

    @property
    def locations(self) -> tuple[str, ...]:
        """Every location named, in the file's order."""
        names = [name for row, cells in self.rtt.items() for name in (row, *cells)]
        return tuple(dict.fromkeys(names))

    def between(self, one: str, other: str) -> float:
        """Return the round-trip time [s] between two locations, given in either direction.

        Raises:
            KeyError: The matrix does not say.
        """
        for first, second in ((one, other), (other, one)):
            if second in self.rtt.get(first, {}):
                return self.rtt[first][second]
        raise KeyError((one, other))


class Paths(FrozenModel):
    """Round-trip time and loss between any two peers."""

    rtt: Rtt = 0.0
    """Round-trip time between any two peers [s], where no matrix is used; needed there if there is no ``internet``."""
    loss: Loss = 0.0
    """Chance that a packet is lost on its way to a peer, data and ACKs alike; needed where there is no ``internet``."""
    matrix: PathMatrix | None = None
    """Round-trip times between locations; used if the classes have locations, else None."""
    internet: PathModel | None = None
    """Paths as on the Internet, drawn anew for each swarm, in place of ``rtt`` and ``loss``."""
    delay_min: Rtt = 0.0
    """Least one-way propagation delay of a peer's access link, in both directions [s]."""
    delay_max: Rtt = 0.0
    """Greatest one-way propagation delay of a peer's access link; each peer's is drawn uniformly between [s]."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        needed = ("rtt", "loss") if self.matrix is None else ("loss",)
        missing = [name for name in needed if name not in self.model_fields_set]
        if missing and self.internet is None:
            raise TableError.all_of(TableError(name, None, "is missing") for name in missing)
        return self


class Socket(FrozenModel):
    """How much a socket takes before it refuses more, and when it takes data again."""

    nagle: Annotated[Literal["off", "small", "any"], Quantity("choice")]
    """What a small segment waits for: nothing, the ACK of the last small one (Linux), or of all data (RFC 9293)."""
    buffer: Annotated[int, Quantity("size", 0, 2**30)]
    """Bytes it takes [B]."""
    windows: Annotated[float, Quantity("fraction", 0, 100)]
    """Congestion windows that it takes, and a segment that is being filled, if that is more than ``buffer``: 2 for a
    buffer that Linux grows; 0: it does not follow the window."""
    free: Annotated[float, Quantity("fraction", 0, 1)]
    """Share of the buffer that must be free again before a full socket takes data."""
    counts: Annotated[Literal["unacknowledged", "unsent"], Quantity("choice")]
    """Which bytes count: those not acknowledged, or those not sent yet."""


class Sockets(FrozenModel):
    """The sockets of the peers' hosts, where the peers have access links."""

    name: str
    """Name of the system they are from."""
    title: str
    """One line for people."""
    source: str
    """Where the figures were read."""
    tcp: Socket
    """Of TCP connections."""
    utp: Socket
    """Of uTP connections."""


class Transport(FrozenModel):
    """Constants of the transport protocol, the same for every connection, where the peers have no access links."""

    name: str
    """Name of the system they are from."""
    title: str
    """One line for people."""
    source: str
    """Where the constants were read."""
    congestion_control: Annotated[Literal["cubic"], Quantity("choice")]
    """Law of the congestion window."""
    mss: Annotated[int, Quantity("size", 100, 65535)]
    """Payload of a full segment [B]."""
    tso: Flag
    """Whether segmentation offload sends segments larger than the MSS."""
    tso_segment: Annotated[int, Quantity("size", 100, 2**20)]
    """Largest payload that segmentation offload sends at once [B]."""
    initial_window: Annotated[int, Quantity("count", 1, 100)]
    """Congestion window at the start [segments]."""
    send_buffer: Annotated[int, Quantity("size", 1024, 2**30)]
    """Bytes a socket holds unsent or unacknowledged before it refuses more [B]."""
    nagle: Flag
    """Whether a small segment waits while an earlier small one is unacknowledged."""
    delayed_ack: Annotated[float, Quantity("time", 0, 1)]
    """Shortest delay of a delayed ACK [s]."""
    quick_acks: Annotated[int, Quantity("count", 0, 1000)]
    """ACKs sent without delay at the start of a connection."""
    push_acks: Flag
    """Whether the ACK of a lone segment as long as the last is not delayed (Linux since 6.6)."""
    idle_reset: Flag
    """Whether the congestion window is halved for each RTO of idleness."""
    window_validation: Flag
    """Whether the congestion window grows only while it is the limit, give or take a burst (RFC 2861)."""
    dupack_threshold: Annotated[int, Quantity("count", 1, 100)]
    """Duplicate ACKs that start a fast retransmit."""
    rto_min: Annotated[float, Quantity("time", 0.001, 10)]
    """Least time by which the retransmission timeout exceeds the smoothed RTT [s]."""
    rto_max: Annotated[float, Quantity("time", 1, 3600)]
    """Longest retransmission timeout [s]."""
    rto_initial: Annotated[float, Quantity("time", 0.01, 60)]
    """Retransmission timeout before the first RTT sample [s]."""
    cubic_c: Annotated[float, Quantity("fraction", 0, 1)]
    """CUBIC's C [segments/s**3]."""
    cubic_beta: Annotated[float, Quantity("fraction", 0.01, 1)]
    """CUBIC's beta: what a loss leaves of the window."""
    counts_segments: Flag = False
    """Whether CUBIC counts segments and keeps fractions of one (RFC 9438), or counts ACKs in whole ones (Linux 2.6)."""
