"""The experiments of the packet-level grids, as link scenarios: the same link, the same flows, the same times."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from btflow.config.catalog import parse_as
from btflow.link.scenario import LINKS, LinkScenario

CONTROLS = {
    "newreno": "ns3-newreno",
    "linuxreno": "ns3-linuxreno",
    "cubic": "ns3-cubic",
    "vegas": "ns3-vegas",
    "lp": "ns3-lp",
    "ledbat": "ns3-ledbat",
    "ledbat25": "ns3-ledbat-25",
}
"""Our file of each congestion control of the packet-level programs."""

DISCIPLINES = {"droptail": "drop-tail", "codel": "codel", "fq_codel": "fq-codel", "pie": "pie"}
FRAMING = 2  # PPP [B]
MTU = 1500
RETURN_FACTOR, RETURN_BUFFER = 8, 100_000
SAMPLES_PER_RTT = 2  # of the time series of a single flow
SOURCE = "validation/packet_level/grids.py"
NOISE_PAYLOAD, NOISE_HEADER = 100, 28
NOISE_SOURCES = 10
"""Regular sources of short packets that together stand for the Poisson process of the packet-level noise."""


@dataclass(frozen=True)
class Experiment:
    """What a row of a frozen table was run with, the seed left out."""

    rate: float
    """Of the link [bit/s]."""
    rtt: float
    """Base round-trip time [ms]."""
    buffer: int
    """Room of the link's queue [packets]."""
    duration: float
    """With the warm-up [s]."""
    warmup: float
    """What does not count [s]."""

    @property
    def label(self) -> str:
        """Short description, different for each experiment."""
        raise NotImplementedError

    def tree(self) -> dict[str, Any]:
        """Return the content of its model file."""
        raise NotImplementedError

    @cached_property
    def scenario(self) -> LinkScenario:
        """The link experiment to simulate."""
        return parse_as(LINKS, self.tree()).build({})

    def seed(self, number: int) -> int:
        """Return the seed of its `number`-th run: 48 bits of SHA-256, none of the packet-level programs' small ones."""
        text = f"{self.label} {self.rate:g} {self.duration:g} {self.warmup:g} {number}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")

    def _base(self, back: tuple[float, int], **paths: str) -> dict[str, Any]:
        ways = {"uplink": (self.rate, self.buffer), "downlink": back}
        return {
            "name": "packet-level",
            "title": self.label,
            "source": SOURCE,
            "duration": f"{self.duration:g} s",
            "warmup": f"{self.warmup:g} s",
            "bottleneck": "home.uplink",
            "access": {
                "home": {
                    way: {"rate": f"{rate:g} bit/s", "buffer": f"{buffer} packets", "framing": f"{FRAMING} B"}
                    for way, (rate, buffer) in ways.items()
                }
            },
            "paths": {"rtt": f"{self.rtt:g} ms", **paths},
        }


@dataclass(frozen=True)
class Single(Experiment):
    """One bulk flow with random loss (single.cc)."""

    cc: str
    """Congestion control, as the packet-level programs call it."""
    loss: float
    """Chance that a packet to the receiver is lost."""

    @property
    def label(self) -> str:
        """Short description, different for each experiment."""
        return f"{self.cc}, {self.rtt:g} ms, loss {100 * self.loss:g}%, {self.rate / 1e6:g} Mbit/s"

    def tree(self) -> dict[str, Any]:
        """Return the content of its model file: the flow starts at once and nothing is drawn but the losses."""
        base = self._base((self.rate, self.buffer), rtt_spread="0 ms")
        base["paths"]["loss"] = self.loss
        base["sample"] = f"{max(self.rtt / 1e3 / SAMPLES_PER_RTT, self.duration / 1e5):g} s"
        return base | {"flows": {"bulk": {"cc": CONTROLS[self.cc], "from": "home", "to": "internet"}}}


@dataclass(frozen=True)
class Bottleneck(Experiment):
    """Several flows over one link (bottleneck.cc)."""

    flows: str
    """Congestion controls and how many of each, as in ``cubic:1,ledbat:2``."""
    queue: str
    """Discipline of the queue, as the packet-level programs call it."""
    probe: str = ""
    """Bytes of a message and seconds between two, as in ``100@1``; empty: no probe."""
    voip: bool = False
    """Whether there is a G.729 call."""
    noise: float = 0.0
    """Share of the rate that short packets take, at irregular times."""

    @property
    def label(self) -> str:
        """Short description, different for each experiment."""
        parts = [self.flows.replace(",", " + "), f"{self.buffer} packets", f"{self.rtt:g} ms"]
        parts += [self.queue] * (self.queue != "droptail")
        parts += ["messages"] * bool(self.probe) + ["call"] * self.voip + ["noise"] * (self.noise > 0)
        return ", ".join(parts)

    @property
    def listed(self) -> tuple[tuple[str, int], ...]:
        """The bulk flows: congestion control and how many."""
        return tuple((name, int(count)) for name, _, count in (item.partition(":") for item in self.flows.split(",")))

    def tree(self) -> dict[str, Any]:
        """Return the content of its model file: access delays of 0 to 1 ms each way, starts within a second."""
        base = self._base((RETURN_FACTOR * self.rate, RETURN_BUFFER), rtt_spread="2 ms")
        uplink = base["access"]["home"]["uplink"]
        uplink["discipline"] = DISCIPLINES[self.queue]
        if self.queue in ("codel", "fq_codel"):
            # ns-3 may drop with one full packet behind (GetNBytes() < MinBytes); RFC 8289 wants more than one.
            uplink["largest_packet"] = f"{MTU + FRAMING - 1} B"
        if self.queue == "fq_codel":
            uplink["quantum"] = f"{MTU + FRAMING} B"  # one full packet a turn, as on ns-3's device
        ends = {"from": "home", "to": "internet", "start_spread": "1 s"}
        flows: dict[str, dict[str, Any]] = {
            f"{name}{i}": {"cc": CONTROLS[name], "count": count, **ends} for i, (name, count) in enumerate(self.listed)
        }
        if self.probe:
            size, period = self.probe.split("@")
            flows["probe"] = {"cc": CONTROLS["cubic"], "message": f"{size} B", "period": f"{period} s", **ends}
        if self.voip:
            flows["call"] = {"codec": "g729", **ends}
        for i in range(NOISE_SOURCES if self.noise else 0):
            flows[f"noise{i}"] = {"codec": self._noise_codec(i), **ends}
        return base | {"flows": flows}

    def _noise_codec(self, number: int) -> dict[str, Any]:
        """Return one of the regular sources of the noise: their periods differ, by up to 20% either way."""
        wire = NOISE_PAYLOAD + NOISE_HEADER + FRAMING
        apart = 8 * wire * NOISE_SOURCES / (self.noise * self.rate)
        period = apart / (0.8 + 0.4 * (number + 0.5) / NOISE_SOURCES)
        frames = next(n for n in (1, 2, 4, 5, 10) if period / n <= 0.1)
        return {
            "name": f"noise{number}",
            "title": "short packets",
            "source": SOURCE,
            "frame": f"{period / frames:.9g} s",
            "frame_size": f"{NOISE_PAYLOAD // frames} B",
            "frames_per_packet": frames,
            "header": f"{NOISE_HEADER} B",
            "lookahead": "0 ms",
            "processing": "0 ms",
            "impairment": 0,
            "robustness": 1,
        }


def experiment(row: Mapping[str, str]) -> Experiment:
    """Return the experiment of a row of a frozen table."""
    link: dict[str, Any] = {
        "rate": float(row["rate_bps"]),
        "rtt": float(row["rtt_ms"]),
        "buffer": int(row["buffer_packets"]),
        "duration": float(row["duration_s"]),
        "warmup": float(row["warmup_s"]),
    }
    if "cc" in row:
        return Single(**link, cc=row["cc"], loss=float(row["loss"]))
    return Bottleneck(
        **link,
        flows=row["flows"],
        queue=row["queue"],
        probe=row["probe"],
        voip=row["voip"] not in ("", "0"),
        noise=float(row.get("noise") or 0.0),
    )
