"""The cells as models of the simulator: ``models/NAME.toml``, which ``btflow run`` and ``btflow link`` take."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from validation.clients.cells import FOLDER, MODEL_OF, Cell, Peers

if TYPE_CHECKING:
    from btflow.link.scenario import LinkScenario
    from btflow.swarm.scenario import Scenario

MODELS = FOLDER / "models"
HEAD = "# Made from cells.toml by `python -m validation.clients models`; not to be edited.\n\n"
SOURCE = "validation/clients/cells.toml"

TCP = "cubic-6"
"""Congestion control of the kernel's TCP."""

SLOTS = 8
"""Uploads of a seeding libtorrent at a time, for the link model of a bulk upload: settings_pack.cpp."""

IPERF_SETUP, PEER_SETUP = 5, 2
"""Round trips until data flow. Of iperf3: a connection, its cookie, the parameters, the connection of the stream, its
cookie, each answered with the next state (iperf_client_api.c, iperf_server_api.c); of a peer the answer of the tracker
and the connection."""


def _size(value: float) -> str:
    return f"{value:.0f} B"


def _rate(value: float) -> str:
    return f"{value:.0f} B/s"


def _time(value: float) -> str:
    return f"{1000 * value:g} ms"


def _utp(peers: Peers) -> str:
    return "utp" if peers.client == "transmission" else "utp-libtorrent"


def _class(name: str, peers: Peers, number: int, cell: Cell) -> str:
    head = f"""
[classes.{name}]
role = "{"seed" if name == "seed" else "leecher"}"
count = {number}
client = "{MODEL_OF[peers.client]}"
upload_limit = "{"unlimited" if peers.cap is None else _rate(peers.cap)}"
"""
    return head + _links(name, peers, cell) if cell.links else head


def _links(name: str, peers: Peers, cell: Cell) -> str:
    down, down_room = cell.downlink_of(peers)
    return f"""tcp = "{TCP}"
utp = "{_utp(peers)}"
opens = "{", ".join(peers.opens)}"
accepts = "{", ".join(peers.accepts)}"

[classes.{name}.access.uplink]
rate = "{_rate(cell.uplink_of(peers))}"
buffer = "{_size(cell.buffer_of(peers))}"

[classes.{name}.access.downlink]
rate = "{_rate(down)}"
buffer = "{_size(down_room)}"
"""


def _arrivals(cell: Cell) -> str:
    if cell.interval is None:
        return f'kind = "flash"\nspread = "{_time(cell.spread)}"'
    return f'kind = "poisson"\ninterval = "{_time(cell.interval)}"'


def swarm_text(cell: Cell) -> str:
    """Return the model file of a swarm."""
    classes = [_class("seed", cell.seed, cell.seeds, cell)]
    classes += [_class(name, peers, cell.numbers[name], cell) for name, peers in cell.classes.items()]
    return f"""{HEAD}name = "{cell.name}"
title = "{cell.about}"
source = "{SOURCE}: a swarm of real clients on the test bed"
{'sockets = "linux-6"' if cell.links else f'transport = "{cell.transport}"'}

[swarm]
file_size = "{_size(cell.file_size)}"
piece_size = "{_size(cell.piece_size)}"
block_size = "16384 B"
{"".join(classes)}
[paths]
rtt = "{_time(cell.rtt)}"
loss = "{100 * cell.loss:g}%"

[arrivals]
{_arrivals(cell)}

[departures]
stay = "{cell.stay}"
mean_stay = {cell.mean_stay:g}

[tracker]
reply_peers = 50
announce_interval = "1800 s"
"""


def link_text(cell: Cell) -> str:
    """Return the model file of a bulk upload beside a seed: its uploads are flows that always have data."""
    seed = cell.seed
    own = TCP if seed.opens == ("tcp",) else _utp(seed)
    return f"""{HEAD}name = "{cell.name}"
title = "{cell.about}"
source = "{SOURCE}: an upload beside a seeding client on the test bed"
duration = "{_time(cell.horizon)}"

[access.seed.uplink]
rate = "{_rate(cell.uplink_of(seed))}"
buffer = "{_size(cell.buffer_of(seed))}"

[paths]
rtt = "{_time(cell.rtt)}"

[flows.bulk]
cc = "{TCP}"
from = "seed"
to = "internet"
start = "{_time(IPERF_SETUP * cell.rtt)}"

[flows.seeding]
cc = "{own}"
from = "seed"
to = "internet"
count = {min(SLOTS, cell.leechers)}
start = "{_time(PEER_SETUP * cell.rtt)}"
start_spread = "{_time(cell.spread)}"
"""


def text(cell: Cell) -> str:
    """Return a cell's model file."""
    return link_text(cell) if cell.bulk else swarm_text(cell)


def write(cells: Iterable[Cell], folder: Path = MODELS) -> None:
    """Write the model files of some cells."""
    folder.mkdir(parents=True, exist_ok=True)
    for cell in cells:
        (folder / f"{cell.name}.toml").write_text(text(cell), encoding="utf-8")


def scenario(path: Path) -> Scenario:
    """Return the swarm of a model file."""
    import btflow

    return btflow.load(str(path))


def link_scenario(path: Path) -> LinkScenario:
    """Return the link experiment of a model file."""
    import btflow

    return btflow.load_link(str(path))
