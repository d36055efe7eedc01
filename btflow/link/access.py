"""An access link: a queue for each direction."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from btflow.errors import TableError
from btflow.units import UNLIMITED, Buffer
from btflow.units.course import Course
from btflow.units.quantity import FrozenModel, Quantity

LinkLayer = Literal["ethernet", "atm"]
Discipline = Literal["drop-tail", "codel", "fq-codel", "pie", "cake"]
Shaper = Literal["line", "tbf", "htb"]
SHAPERS: tuple[str, ...] = get_args(Shaper)
Isolation = Literal["triple-isolate", "flows"]
MIN_RATE, MAX_RATE = 125.0, 1.25e9

AQM: Mapping[str, Mapping[str, str | float]] = MappingProxyType(
    {
        "drop-tail": {},
        "codel": {"target": "5 ms", "interval": "100 ms"},
        "fq-codel": {"target": "5 ms", "interval": "100 ms", "quantum": "1514 B"},
        "pie": {"target": "15 ms", "update": "15 ms", "burst": "150 ms", "alpha": 0.125, "beta": 1.25},
        "cake": {"target": "5 ms", "interval": "100 ms", "isolation": "triple-isolate"},
    }
)
"""The constants each discipline uses and what they are by default.

CoDel: RFC 8289, sections 4.2 and 4.3. FQ-CoDel: RFC 8290, sections 5.2.1 to 5.2.3. PIE: RFC 8033, sections 4.1, 4.2
and 4.4 (QDELAY_REF, T_UPDATE, MAX_BURST; alpha and beta in 1/s). CAKE: Linux sch_cake.c, cake_init; target and interval
grow and the quantum shrinks on slow links (``btflow.link.state.complete``).
"""


def on_wire(size: Any, framing: Any, cells: Any) -> Any:
    """Return what a packet [B] takes on a link [B], of numbers or arrays: in cells of 53 B for 48 (ITU-T I.361)."""
    return size + framing + cells * (53 * -(-(size + framing) // 48) - size - framing)


class Queue(FrozenModel):
    """One direction of an access link: what waits for it, and its rate."""

    rate: Annotated[float, Quantity("bitrate", MIN_RATE, MAX_RATE, unlimited=True, steps=True)]
    """Rate at which packets leave, framing included [B/s]; ``unlimited``: nothing ever waits. In full fidelity of links
    by steps (``20 Mbit/s, 5 Mbit/s@30s``) or by a file of mahimahi (``trace:FILE``), too."""
    buffer: Annotated[Buffer, Quantity("buffer")] | None = None
    """Room for packets that wait; the packet being sent is not counted. Packets, bytes, time at the rate, or
    bandwidth-delay products (rate times ``paths.rtt``); of what changes the first value, of a trace the mean rate."""
    discipline: Annotated[Discipline, Quantity("choice")] = "drop-tail"
    """Which packet leaves next, and which is dropped."""
    shaper: Annotated[Shaper, Quantity("choice")] = "line"
    """What sets the rate: ``line``, the wire, which sees packets; ``tbf`` or ``htb`` of a Linux host, whose queue takes
    a super-packet of its senders for one packet. With ``htb`` a packet leaves when its service begins."""
    framing: Annotated[int, Quantity("size", 0, 200)] = 0
    """Bytes that the link layer adds to each packet [B]; with ``atm`` the trailer of AAL5 (8 B) is one of them."""
    link_layer: Annotated[LinkLayer, Quantity("choice")] = "ethernet"
    """``atm``: packet and framing leave in cells of 53 B with room for 48 each, and the rate is that of the cells."""
    target: Annotated[float, Quantity("time", 1e-5, 10)] | None = None
    """CoDel, FQ-CoDel, PIE, CAKE: acceptable queueing delay [s]."""
    interval: Annotated[float, Quantity("time", 1e-4, 100)] | None = None
    """CoDel, FQ-CoDel, CAKE: time above the target after which packets are dropped [s]."""
    quantum: Annotated[int, Quantity("size", 64, 65536)] | None = None
    """FQ-CoDel: bytes a flow may send in its turn [B]."""
    update: Annotated[float, Quantity("time", 1e-4, 10)] | None = None
    """PIE: time between two updates of the drop probability [s]."""
    burst: Annotated[float, Quantity("time", 0, 10)] | None = None
    """PIE: burst that is let pass [s]."""
    alpha: Annotated[float, Quantity("fraction", 0, 100)] | None = None
    """PIE: weight of the delay's distance from the target [1/s]."""
    beta: Annotated[float, Quantity("fraction", 0, 100)] | None = None
    """PIE: weight of the delay's change [1/s]."""
    isolation: Annotated[Isolation, Quantity("choice")] | None = None
    """CAKE: who gets equal shares: ``triple-isolate``, the hosts behind the link and then the flows of each, or
    ``flows``, all flows."""

    largest_packet: Annotated[int, Quantity("size", 1, 2**20)] | None = None
    """CoDel, FQ-CoDel, PIE: no packet is dropped if no more than so many bytes (PIE: twice as many) wait behind it;
    CAKE: none that waited no longer than four such packets take; default the largest of any flow, with framing [B]."""

    @model_serializer(mode="wrap")
    def _dump(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what is as it always was; a rate that changes is the digest of its values: for digests."""
        found: dict[str, Any] = handler(self)
        if found["link_layer"] == "ethernet":
            del found["link_layer"]
        return found | ({"rate": self.rate.digest} if isinstance(self.rate, Course) else {})

    @property
    def limited(self) -> bool:
        """Whether packets can wait here."""
        return math.isfinite(self.rate)

    def limit_packets(self) -> int | None:
        """Return how many packets may wait; None if the buffer counts bytes."""
        return int(self.buffer.amount) if self.buffer and self.buffer.kind == "packets" else None

    def limit_bytes(self, rtt: float) -> float | None:
        """Return how many bytes may wait, for a base round-trip time [s]; None if the buffer counts packets."""
        if self.buffer is None or self.buffer.kind == "packets":
            return None
        scale = {"size": 1.0, "time": self.rate, "bdp": self.rate * rtt}[self.buffer.kind]
        return self.buffer.amount * scale

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, given: Any) -> Any:
        """Fill in the discipline's constants."""
        if not isinstance(given, dict):
            return given
        discipline = given.get("discipline", "drop-tail")
        return {**AQM.get(discipline if isinstance(discipline, str) else "", {}), **given}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.limited and self.buffer is None:
            raise TableError("buffer", None, "is missing: the rate is limited", 'a buffer such as "100 packets"')
        if not self.limited and (self.buffer is not None or self.discipline != "drop-tail"):
            field = "buffer" if self.buffer is not None else "discipline"
            raise TableError(field, None, "is never used: the rate is unlimited", "a rate that is not unlimited")
        if self.shaper != "line" and (not self.limited or self.discipline == "cake"):
            why = "cake splits super-packets" if self.limited else "the rate is unlimited"
            raise TableError("shaper", self.shaper, f"is never used: {why}", "line")
        if self.largest_packet is not None and self.discipline == "drop-tail":
            shown = f"{self.largest_packet} B"
            raise TableError("largest_packet", shown, "is never used by drop-tail", "codel, fq-codel, pie or cake")
        constants = {name for names in AQM.values() for name in names}
        for name in sorted(constants - AQM[self.discipline].keys()):
            if getattr(self, name) is not None:
                allowed = ", ".join(AQM[self.discipline]) or "none of the constants of active queue management"
                raise TableError(name, getattr(self, name), f"is never used by {self.discipline}", allowed)
        return self


def unlimited() -> Queue:
    """Return a direction in which nothing ever waits."""
    return Queue.model_validate({"rate": UNLIMITED})


class AccessLink(FrozenModel):
    """What lies between a user's hosts and the internet, in both directions."""

    name: str = ""
    """Name of the link, unique in the scenario; ``internet`` is the other side."""
    title: str = ""
    """One line for people."""
    source: str = ""
    """Where the numbers are from."""
    uplink: Queue = Field(default_factory=unlimited)
    """Towards the internet; unlimited if not given."""
    downlink: Queue = Field(default_factory=unlimited)
    """From the internet; unlimited if not given."""
    rtt: Annotated[float, Quantity("time", 0, 10)] | None = None
    """Base round-trip time that was measured over it [s]: what `btflow link --access` takes for `--rtt` unless that is
    given. Nothing else reads it."""
