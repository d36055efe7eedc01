"""The lines that are made, and what is run on each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

RECORDED = Path(__file__).parents[2] / "tests" / "lines" / "recorded"
"""Where the files are."""

PACKET = 1500
"""Largest packet, its IP header included [B]."""


@dataclass(frozen=True)
class Made:
    """A line of the test bed. Rates are those of IP packets."""

    name: str
    uplink: float
    """[B/s]."""
    room: int
    """Room in the uplink's queue, in packets or bytes; of the managed line, the limit of FQ-CoDel."""
    unit: str
    """``packets`` or ``B``."""
    rtt: float
    """Base round-trip time [s]."""
    downlink: float
    """[B/s]."""
    downlink_room: int
    """[B]."""
    managed: bool = False
    """Whether FQ-CoDel manages the uplink's queue, with RFC 8290's constants."""

    @property
    def delay(self) -> float:
        """The longest that a packet waits on the uplink [s]."""
        return self.room * (PACKET if self.unit == "packets" else 1) / self.uplink


@dataclass(frozen=True)
class Session:
    """What is run at one time, and written to files of that name."""

    line: str
    name: str
    duration: int
    """Of the load [s]."""
    flows: int = 1
    reverse: bool = False
    """Whether the load goes down."""
    paced: str = ""
    """Rate that the load is held to, as iperf3 takes it; as fast as it can if empty."""
    server: bool = False
    """Whether iperf3 brings the server's figures home."""
    capture: bool = False
    flent: str = ""
    """Name of a test of flent's, which is run in place of iperf3 and ping."""


LINES = {
    made.name: made
    for made in (
        Made("packets", 125_000, 100, "packets", 0.030, 1_000_000, 150_000),
        Made("adsl", 96_000, 256_000, "B", 0.025, 750_000, 120_000),
        Made("managed", 1_250_000, 10_240, "packets", 0.020, 6_250_000, 500_000, managed=True),
    )
}

SESSIONS = (
    Session("packets", "up", 20, capture=True),
    Session("packets", "up4", 20, flows=4, server=True),
    Session("packets", "paced", 15, paced="500K"),
    Session("packets", "down", 10, reverse=True, server=True),
    Session("packets", "flent", 25, flent="tcp_upload"),
    Session("adsl", "up", 60),
    Session("adsl", "rrul", 20, flent="rrul_be"),
    Session("managed", "up4", 15, flows=4),
    Session("managed", "up", 10),
)


def path(session: Session, program: str) -> Path:
    """Return where what a program said in a session is kept."""
    ending = {"iperf3": "json", "ping": "log", "tcpdump": "pcap", "flent": "flent"}[program]
    return RECORDED / f"{session.line}-{session.name}.{ending}.gz"


READ = (
    "packets-up.json packets-up.log",
    "packets-up.pcap packets-up.log",
    "packets-up.pcap",
    "packets-up.json",
    "packets-up4.json packets-up4.log",
    "packets-flent.flent",
    "packets-down.json packets-down.log",
    "packets-paced.json packets-paced.log",
    "adsl-up.json adsl-up.log",
    "adsl-up.json",
    "adsl-rrul.flent",
    "managed-up.json managed-up.log",
    "managed-up4.json managed-up4.log",
    "managed-up4.json",
)
"""Files that are fitted together, as somebody may have them, separated by spaces."""


def files(names: str) -> list[Path]:
    """Return the files of some names."""
    return [RECORDED / f"{name}.gz" for name in names.split()]
