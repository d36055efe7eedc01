"""The swarms behind access links that are run at both fidelities."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from validation.fidelity.search import Axis, Choice, Space
from validation.fidelity.swarms import Setup
from validation.swarms import packets
from validation.swarms.experiments import HALVES, HOMOGENEOUS

FLASH, ADSL, CLUSTER = "flashcrowd", "testa2011", "testa2012"
"""The models."""

CLIENTS = ("mainline-4.0", "libtorrent-2")
SHARES = (0, 25, 50, 75, 100)
"""Shares of uTP peers [%]."""
BUFFERS = ("50 ms", "200 ms", "500 ms", "2 s")
UPLINKS = {2: 20, 5: 50, 20: 100}
"""Rates of the uplinks [Mbit/s], with the size of the file [MB] that lets a swarm last about a minute or more."""
DOWNLINK = "100 Mbit/s"
CLUSTER_FILE = "20 MB"
"""Size of the file in the swarms of 2012: the paper's 100 MB takes five times as long."""

SEEDS = 4
"""Seeds of a flash crowd of the grid."""
MORE = 8
"""Seeds of the papers' swarms, of which fewer are run and which scatter more, and of ns-3's."""

SEARCHED: Space = (
    Choice("client", (*CLIENTS, "utorrent-3.0")),
    Axis("leechers", 10, 50, log=True, whole=True),
    Axis("file_size", 2, 40, "MB", log=True),
    Choice("piece_size", [f"{size} KiB" for size in (64, 128, 256, 512, 1024)]),
    Axis("uplink", 0.5, 20, "Mbit/s", log=True),
    Axis("downlink", 1, 20, "Mbit/s", log=True, of="uplink"),
    Axis("seed_uplink", 0.5, 8, "Mbit/s", log=True, of="uplink"),
    Axis("buffer", 20, 2000, "ms", log=True),
    Axis("rtt", 10, 300, "ms", log=True),
    Choice("loss", ("0%", "0.1%", "0.5%", "2%")),
    Choice("utp_share", [f"{share}%" for share in SHARES]),
    Choice("stay", ("forever", "random", "leave")),
)
"""The flash crowds of the search: at most 2 GB are delivered, so that none takes more than 2 s of CPU time in full."""
VARIED = (
    "client (mainline-4.0, libtorrent-2, utorrent-3.0), 10 to 50 leechers, files of 2 to 40 MB in pieces of 64 KiB to "
    "1 MiB, uplinks of 0.5 to 20 Mbit/s, downlinks of 1 to 20 times that, a seed of 0.5 to 8 times that, buffers of 20 "
    "to 2000 ms, round trips of 10 to 300 ms between two links, losses on the way of 0 to 2%, 0 to 100% uTP, and how "
    "long leechers stay"
)
"""SEARCHED in words."""
LEFT = "congestion controls, upload limits, links that differ from peer to peer"
"""What it does not have."""
FIRST, OTHERS = 3, 12
"""Seeds of each of its points, and others for the worst of them."""

PAIRS = (("utp", "tcp"), ("x", "cubic"), ("cubic", "ledbat"))
"""Classes that are compared: one over the other."""


def flash(client: str, uplink: int, buffer: str, share: int) -> Setup:
    """Return a flash crowd: uplink [Mbit/s], share of uTP peers [%]."""
    settings = {
        "client": client,
        "uplink": f"{uplink} Mbit/s",
        "seed_uplink": f"{2 * uplink} Mbit/s",
        "downlink": DOWNLINK,
        "file_size": f"{UPLINKS[uplink]} MB",
        "buffer": buffer,
        "utp_share": f"{share}%",
    }
    return Setup(f"{client}, {uplink} Mbit/s, {buffer}, {share}% uTP", settings, SEEDS, FLASH)


def flashes() -> list[Setup]:
    """Return the grid of flash crowds."""
    return [flash(*point) for point in product(CLIENTS, UPLINKS, BUFFERS, SHARES)]


def adsl(share: int, **more: Any) -> Setup:
    """Return a swarm of 2011: share of uTP peers [%], and what else is set."""
    settings = {"utp_share": f"{share}%", **more}
    label = ", ".join(["2011", f"{share}% uTP", *(_named(name, value) for name, value in more.items())])
    return Setup(label, settings, MORE, ADSL)


def _named(name: str, value: Any) -> str:
    return name if value is True else f"{name.removeprefix('utp_')} {value}"


def adsls() -> list[Setup]:
    """Return the swarms of 2011: by share and stay, then one thing changed at a time."""
    found = [adsl(share) for share in SHARES]
    found += [adsl(share, stay=stay) for stay, share in product(("forever", "leave"), (0, 50, 100))]
    found += [adsl(share, utp_target="100 ms") for share in (50, 100)]
    found += [adsl(share, buffer=buffer) for buffer, share in product(("10 packets", "50 packets"), (0, 50, 100))]
    ideals: Sequence[dict[str, bool]] = ({"ideal_acks": True}, {"ideal_control": True})
    found += [adsl(share, **ideal) for ideal, share in product(ideals, (0, 50, 100))]
    return [*found, adsl(50, ideal_acks=True, ideal_control=True)]


def clusters() -> list[Setup]:
    """Return the swarms of 2012: each congestion control alone, and half of the peers with CUBIC."""
    found = []
    for settings, beside in ((HOMOGENEOUS, ""), (HALVES, " beside CUBIC")):
        for name, setting in settings.items():
            values = {**dict(setting.values), "file_size": CLUSTER_FILE}
            found.append(Setup(f"2012, {name}{beside}", values, MORE, CLUSTER))
    return found


def of_packets(setting: packets.Setting) -> Setup:
    """Return the swarm that ns-3 ran packet by packet."""
    label = f"{setting.piece // 1024} KiB, {setting.buffer} packets, {setting.mix}"
    return Setup(label, setting.values, MORE, str(packets.MODEL))
