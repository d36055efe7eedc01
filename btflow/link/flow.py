"""A flow: who sends to whom, under which congestion control, and what the application gives it to send."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from btflow.errors import TableError
from btflow.link.congestion import CongestionControl
from btflow.units import format_quantity
from btflow.units.quantity import FrozenModel, Quantity

if TYPE_CHECKING:
    from btflow.link import voip

MAX_FLOWS = 1000
INTERNET = "internet"
Kind = Literal["long", "sized", "rate", "on-off", "messages", "voip"]

Time = Annotated[float, Quantity("time", 0, 86400)]
Period = Annotated[float, Quantity("time", 0.0001, 86400)]


class Codec(FrozenModel):
    """How speech becomes packets, and what the E-model (ITU-T G.107) needs to judge what arrives."""

    name: str
    """Name of the codec."""
    title: str
    """One line for people."""
    source: str
    """Where the numbers are from."""
    frame: Annotated[float, Quantity("time", 0.0001, 0.1)]
    """Speech in one frame [s]."""
    frame_size: Annotated[int, Quantity("size", 1, 1000)]
    """Size of a frame [B]."""
    frames_per_packet: Annotated[int, Quantity("count", 1, 16)]
    """Frames in one packet."""
    header: Annotated[int, Quantity("size", 0, 200)]
    """Bytes of headers per packet: IP, UDP and RTP [B]."""
    lookahead: Annotated[float, Quantity("time", 0, 0.1)]
    """Speech the encoder must have heard beyond the frame [s]."""
    processing: Annotated[float, Quantity("time", 0, 0.1)]
    """Time to encode a frame [s]."""
    impairment: Annotated[float, Quantity("fraction", 0, 100)]
    """Equipment impairment factor Ie of the E-model."""
    robustness: Annotated[float, Quantity("fraction", 1, 100)]
    """Packet-loss robustness factor Bpl of the E-model."""

    @property
    def period(self) -> float:
        """Time between two packets [s]."""
        return self.frame * self.frames_per_packet

    @property
    def payload(self) -> int:
        """Payload of a packet [B]."""
        return self.frame_size * self.frames_per_packet

    @property
    def speech(self) -> voip.Codec:
        """The codec as the E-model knows it."""
        from btflow.link import voip  # NumPy is only needed to simulate

        return voip.Codec(
            name=self.name,
            bit_rate=8 * self.frame_size / self.frame,
            frame=self.frame,
            frames=self.frames_per_packet,
            lookahead=self.lookahead,
            processing=self.processing,
            ie=self.impairment,
            bpl=self.robustness,
        )


class Flow(FrozenModel):
    """Flows that are alike: a group of ``count``.

    What the application gives to send: nothing said, data without end; ``size``, so many bytes; ``rate``, data at a
    constant rate; ``on`` and ``off``, data without end in periods; ``message`` and ``period``, small messages;
    ``codec``, speech.
    """

    name: str
    """Name of the group, unique in the scenario."""
    cc: CongestionControl | None = None
    """Congestion control; none for speech, which has none."""
    count: Annotated[int, Quantity("count", 0, MAX_FLOWS)] = 1
    """Number of flows."""
    sender: str = Field(alias="from")
    """Access link behind which the sender is, or ``internet``: nothing limits it there."""
    receiver: str = Field(alias="to")
    """Access link behind which the receiver is, or ``internet``."""
    host: str = ""
    """Host behind the access link that the flows belong to, of which a queue with ``cake`` takes account; flows of the
    same name, and those without one, share theirs. The other end of each flow is a host of its own."""
    start: Time = 0.0
    """When the flows start [s]."""
    start_spread: Time = 0.0
    """Time over which they start, uniformly at random [s]."""
    stop: Time | None = None
    """When they stop sending [s]; default at the end."""
    rtt: Annotated[float, Quantity("time", 0, 10)] | None = None
    """Base round-trip time of these flows [s]; default that of the paths."""
    window: Annotated[int, Quantity("size", 100, 2**30)] | None = None
    """Bytes on the way are never more [B]; default that of the congestion control."""
    size: Annotated[int, Quantity("size", 1, 2**50)] | None = None
    """Bytes to send [B]."""
    rate: Annotated[float, Quantity("bitrate", 1, 1.25e9)] | None = None
    """Rate at which the application writes [B/s]."""
    on: Period | None = None
    """Mean length of the periods with data [s]."""
    off: Period | None = None
    """Mean length of the periods without [s]."""
    exponential: Annotated[bool, Quantity("flag")] = True
    """Whether these lengths are exponentially distributed, else constant."""
    message: Annotated[int, Quantity("size", 1, 2**20)] | None = None
    """Size of a message [B]."""
    period: Period | None = None
    """Time between two messages [s]."""
    codec: Codec | None = None
    """Speech codec."""

    @property
    def kind(self) -> Kind:
        """What the application gives to send."""
        given: dict[Kind, object] = {
            "sized": self.size,
            "rate": self.rate,
            "on-off": self.on,
            "messages": self.message,
            "voip": self.codec,
        }
        return next((kind for kind, value in given.items() if value is not None), "long")

    @property
    def members(self) -> tuple[str, ...]:
        """Name of each flow: the group's own if there is one, else numbered from 1."""
        return (self.name,) if self.count == 1 else tuple(f"{self.name}-{i + 1}" for i in range(self.count))

    @property
    def max_window(self) -> int:
        """Most bytes on the way [B]."""
        assert self.cc is not None
        return self.cc.max_window if self.window is None else self.window

    @property
    def packet(self) -> int:
        """Size of its full packets, headers included [B]."""
        if self.codec is not None:
            return self.codec.payload + self.codec.header
        assert self.cc is not None
        return self.cc.mss + self.cc.header

    @model_validator(mode="after")
    def _check(self) -> Self:
        for one, other in (("on", "off"), ("message", "period")):
            given, missing = (one, other) if getattr(self, one) is not None else (other, one)
            if getattr(self, given) is not None and getattr(self, missing) is None:
                raise TableError(missing, None, f"is missing beside {given}", "a text with a unit")
        kinds = [n for n in ("size", "rate", "on", "message", "codec") if getattr(self, n) is not None]
        if len(kinds) > 1:
            raise TableError(kinds[1], None, f"does not go with {kinds[0]}", "one kind of application")
        if self.codec is not None and self.cc is not None:
            raise TableError("cc", self.cc.name, "does not go with codec: speech has no congestion control", "none")
        if self.codec is None and self.cc is None:
            raise TableError("cc", None, "is missing", "the name of a congestion control")
        if self.codec is not None and self.window is not None:
            raise TableError("window", f"{self.window} B", "does not go with codec: speech has no window", "none")
        if self.cc is not None and self.max_window < self.cc.mss:
            raise TableError("window", f"{self.max_window} B", "holds no segment", f"at least {self.cc.mss} B")
        if self.stop is not None and self.stop <= self.start + self.start_spread:
            stop = format_quantity(self.stop, "time")
            raise TableError("stop", stop, "is not after the start", "a time after start and start_spread")
        return self
