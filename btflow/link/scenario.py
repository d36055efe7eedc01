"""An experiment on access links: frozen, validated, in SI units (bytes, seconds, bytes per second); and its files."""

import hashlib
import json
from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import model_validator

from btflow.config.kinds import ModelKind, ParametrisedModel
from btflow.errors import ScenarioError
from btflow.link.access import AccessLink, Queue
from btflow.link.checks import problems
from btflow.link.flow import INTERNET, Flow
from btflow.units import BytePrefix, format_quantity
from btflow.units.course import Course
from btflow.units.formatting import counted
from btflow.units.quantity import FrozenModel, Quantity

_DESCRIPTIVE = {"title", "source"}


class LinkPaths(FrozenModel):
    """What lies beyond the access links: the core, which is never congested."""

    rtt: Annotated[float, Quantity("time", 0, 10, steps=True)]
    """Base round-trip time, end to end and without queues [s]; in full fidelity by steps, too: ``30 ms, 80 ms@20s``."""
    loss: Annotated[float, Quantity("fraction", 0, 0.4)] = 0.0
    """Chance that a data packet is lost in the core."""
    ack_loss: Annotated[float, Quantity("fraction", 0, 0.4)] = 0.0
    """Chance that an ACK is lost in the core."""
    rtt_spread: Annotated[float, Quantity("time", 0, 1)] = 0.002
    """Each flow's round-trip time is longer by up to this, uniformly at random: no flow is locked to another [s]."""


class LinkScenario(ParametrisedModel):
    """Flows over access links, complete: ``btflow.load_link`` makes one from a model file."""

    name: str
    """Name of the model."""
    title: str
    """One line for people."""
    source: str
    """The publication that the numbers are from."""
    byte_prefix: BytePrefix = "decimal"
    """What kB, MB and GB mean in this model: ``decimal`` 1000-based, ``binary`` 1024-based."""
    duration: Annotated[float, Quantity("time", 0.001, 86400)]
    """Simulated time [s]."""
    warmup: Annotated[float, Quantity("time", 0, 86400)] | None = None
    """When the statistics begin [s]; default a fifth of the duration, at most 60 s, or 0 if every flow has a size."""
    sample: Annotated[float, Quantity("time", 1e-5, 86400)] | None = None
    """Period of the time series [s]; default a 2000th of the duration."""
    bottleneck: str | None = None
    """Queue that the report is about, such as ``home.uplink``; default the first one."""
    access: tuple[AccessLink, ...]
    """The access links."""
    paths: LinkPaths
    """What lies beyond them."""
    flows: tuple[Flow, ...]
    """The flows, in groups."""

    @property
    def warmup_time(self) -> float:
        """When the statistics begin [s]: from the start if all there is to send has a given size."""
        if self.warmup is not None:
            return self.warmup
        sizes = {flow.kind == "sized" for flow in self.flows if flow.kind not in ("messages", "voip")}
        return 0.0 if sizes == {True} else min(self.duration / 5, 60.0)

    @property
    def sample_period(self) -> float:
        """Period of the time series [s]."""
        return self.duration / 2000 if self.sample is None else self.sample

    @property
    def queues(self) -> dict[str, Queue]:
        """Every queue that has a limited rate, by name such as ``home.uplink``."""
        named = {f"{link.name}.{way}": getattr(link, way) for link in self.access for way in ("uplink", "downlink")}
        return {name: queue for name, queue in named.items() if queue.limited}

    @property
    def courses(self) -> dict[str, Course]:
        """Every rate and delay that changes while the experiment runs, by the field's dotted path."""
        found = {f"access.{name}.rate": queue.rate for name, queue in self.queues.items()}
        found |= {"paths.rtt": self.paths.rtt}
        return {field: value for field, value in found.items() if isinstance(value, Course)}

    def refuse_courses(self, why: str, instead: str) -> Iterator[ScenarioError]:
        """Yield an error for each of these, where they are not to be had."""
        for field, value in self.courses.items():
            yield ScenarioError(field, value.text, f"changes while it runs, which {why}", instead)

    @property
    def bottleneck_queue(self) -> str:
        """Name of the queue that the report is about; empty if no queue has a limited rate."""
        return self.bottleneck or next(iter(self.queues), "")

    def size(self) -> str:
        """Return what it sends, over how many queues and for how long, in words."""
        groups = {"flow": 0, "call": 0, "probe": 0}
        for flow in self.flows:
            groups[{"voip": "call", "messages": "probe"}.get(flow.kind, "flow")] += flow.count
        sent = ", ".join(counted(number, noun) for noun, number in groups.items() if number)
        return f"{sent} over {counted(len(self.queues), 'queue')}, {format_quantity(self.duration, 'time')}"

    def data_queues(self, flow: Flow) -> tuple[str, ...]:
        """Return the queues that a flow's data passes, in order."""
        return self._passed(flow.sender, flow.receiver)

    def ack_queues(self, flow: Flow) -> tuple[str, ...]:
        """Return the queues that a flow's ACKs pass, in order."""
        return self._passed(flow.receiver, flow.sender)

    def base_rtt(self, flow: Flow) -> float:
        """Return a flow's base round-trip time [s], its share of ``rtt_spread`` not included."""
        return self.paths.rtt if flow.rtt is None else flow.rtt

    def _passed(self, sender: str, receiver: str) -> tuple[str, ...]:
        queues = self.queues
        return tuple(name for name in (f"{sender}.uplink", f"{receiver}.downlink") if name in queues)

    def digest(self) -> str:
        """Return a SHA-256 hex digest of all that can change a result, and of nothing else."""
        content = self.model_dump(exclude={"byte_prefix", "name", "title", "source"})
        content |= {"warmup": self.warmup_time, "sample": self.sample_period, "bottleneck": self.bottleneck_queue}
        if isinstance(self.paths.rtt, Course):
            content["paths"]["rtt"] = self.paths.rtt.digest
        for link in content["access"]:
            del link["rtt"]
        for entry in (*content["access"], *(t for f in content["flows"] for t in (f["cc"], f["codec"]) if t)):
            for name in _DESCRIPTIVE & entry.keys():
                del entry[name]
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        """Return whether every field is equal, however the values were set."""
        return isinstance(other, LinkScenario) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(self.digest())

    @model_validator(mode="after")
    def _check(self) -> Self:
        found = problems(self)
        if found:
            raise ScenarioError.all_of(found)
        return self


__all__ = ["INTERNET", "LinkPaths", "LinkScenario"]

LINKS = ModelKind(
    folder="links",
    noun="experiments",
    model=LinkScenario,
    references={"access.*": "access", "flows.*.cc": "congestion", "flows.*.codec": "codecs"},
    named={"access": ("access link", "home"), "flows": ("group of flows", "upload")},
)
