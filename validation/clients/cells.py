"""The cells of the test bed: swarms of real clients, as data in ``cells.toml``."""

from __future__ import annotations

import tomllib
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from btflow.errors import InputError
from btflow.units.quantity import FrozenModel, Quantity
from validation import command

FOLDER = Path(__file__).parent
FILE = FOLDER / "cells.toml"

Rate = Annotated[float, Quantity("rate", 1, 10**9)]
Time = Annotated[float, Quantity("time", 0, 86400)]
Size = Annotated[int, Quantity("size", 1, 2**31)]
Count = Annotated[int, Quantity("count", 0, 200)]
Share = Annotated[float, Quantity("fraction", 0, 1)]
Program = Literal["libtorrent-2.0", "libtorrent-2.1", "transmission", "aria2", "mainline-4.0.2"]

MODEL_OF: dict[Program, str] = {
    "libtorrent-2.0": "libtorrent-2",
    "libtorrent-2.1": "libtorrent-2.1",
    "transmission": "transmission-3",
    "aria2": "mainline-4.0",
    "mainline-4.0.2": "mainline-4.0",
}
"""The simulator's model of each program; aria2 has none of its own, and its choker is like mainline's."""


class Peers(FrozenModel):
    """A class of peers that are alike."""

    share: Share = 1.0
    """Share of the leechers, not of the seeds."""
    client: Program = "libtorrent-2.0"
    """The program they run."""
    transports: Literal["tcp", "utp", "both"] = "both"
    """``tcp`` opens TCP, ``utp`` and ``both`` try uTP and then TCP; what a class accepts is up to its client."""
    cap: Rate | None = None
    """Upload limit set in the client [B/s], None for none."""
    uplink: Rate | None = None
    """Rate of their uplinks [B/s], None for the cell's."""
    bulk: bool = False
    """Whether iperf3 uploads over the same uplink from the start, by one TCP connection."""

    @property
    def opens(self) -> tuple[str, ...]:
        """Transports of the connections they open, in order of preference."""
        return ("tcp",) if self.transports == "tcp" or self.client == "aria2" else ("utp", "tcp")

    @property
    def accepts(self) -> tuple[str, ...]:
        """Transports of the connections they accept: only libtorrent has a switch for each direction."""
        return ("tcp", "utp") if self.client.startswith("libtorrent") else tuple(reversed(self.opens))


class Cell(FrozenModel):
    """A swarm and the links that it runs on."""

    name: str
    """Its name in tables and files."""
    about: str
    """What it is to show."""
    leechers: Count = 24
    """Number of leechers."""
    seeds: Count = 1
    """Number of seeds."""
    file_size: Size
    """Size of the file [B]."""
    piece_size: Size = 2**18
    """Size of a piece [B]."""
    uplink: Rate
    """Rate of the uplinks [B/s]; a link counts whole IP packets."""
    transport: str | None = None
    """TCP of the model where links are too fast to matter, which it then has none of; None where they matter. What does
    not matter was measured with the mainline client alone, and is measured no more."""
    kernel: Literal["2.6.32"] | None = None
    """A kernel in user mode that the swarm ran in; None for the machine's own."""
    one_host: Literal[True] | None = None
    """With ``kernel``: all clients shared an address and the loopback device, None for a namespace of each."""
    downlink_times: Count = 4
    """Rate of a downlink over that of its uplink."""
    buffer: Time
    """Room in the uplink's queue, as time at its rate [s]."""
    downlink_buffer: Time = 0.2
    """Room in the downlink's queue, as time at its rate [s]."""
    rtt: Time = 0.04
    """Round-trip time between any two peers, without what packets take on links and in queues [s]."""
    loss: Share = 0.0
    """Chance that a packet is lost on its way, in either direction."""
    spread: Time = 5.0
    """The leechers start within this time, uniformly [s]."""
    interval: Time | None = None
    """Mean time between the leechers' starts [s], exponential, in place of the spread."""
    stay: Literal["forever", "leave", "random"] = "forever"
    """What a leecher does once it has the file."""
    mean_stay: Annotated[float, Quantity("fraction", 0.001, 100)] = 0.5
    """``random``: mean of the time it stays, as a part of its own download time, exponential."""
    horizon: Time = 400.0
    """A run is refused that takes longer [s]; with a bulk upload the run ends then."""
    seed: Peers = Peers()
    """The seeds."""
    classes: dict[str, Peers] = Field(min_length=1)
    """The leechers by class."""

    @model_validator(mode="after")
    def _shares(self) -> Self:
        if abs(sum(peers.share for peers in self.classes.values()) - 1) > 1e-9:
            raise ValueError("the shares of the classes do not add up to 1")
        if "seed" in self.classes:
            raise ValueError("a class of leechers is not called seed")
        return self

    @property
    def links(self) -> bool:
        """Whether the links matter."""
        return self.transport is None

    @property
    def old_tcp(self) -> bool:
        """Whether the machine's TCP was set to that of 2009, as far as its kernel allowed."""
        return self.transport == "linux-2.6.32" and self.kernel is None

    @property
    def bulk(self) -> bool:
        """Whether there is a bulk upload: then its goodput is the figure, and nobody need complete."""
        return self.seed.bulk

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Number of leechers by class: rounded shares, the last class has the rest."""
        *first, last = self.classes
        counts = {name: round(self.classes[name].share * self.leechers) for name in first}
        return counts | {last: self.leechers - sum(counts.values())}

    def uplink_of(self, peers: Peers) -> float:
        """Rate of the uplinks of a class [B/s]."""
        return peers.uplink or self.uplink

    def buffer_of(self, peers: Peers) -> int:
        """Room in the uplinks' queues of a class [B]."""
        return round(self.buffer * self.uplink_of(peers))

    def downlink_of(self, peers: Peers) -> tuple[float, int]:
        """Rate [B/s] of the downlinks of a class, and room in their queues [B]."""
        rate = self.downlink_times * self.uplink_of(peers)
        return rate, round(self.downlink_buffer * rate)


def read(content: dict[str, Any]) -> dict[str, Cell]:
    """Return the cells of a file's content: ``defaults`` and ``cells``, by name.

    Raises:
        InputError: A value is missing or wrong; the message names cell and field.
    """
    cells, defaults = {}, content.get("defaults", {})
    for name, given in content["cells"].items():
        try:
            cells[name] = Cell(name=name, **(defaults | given))
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(["cells", name, *map(str, first["loc"])])
            raise InputError(field, first["input"], first["msg"]) from None
    return cells


def load(path: Path = FILE) -> dict[str, Cell]:
    """Return the cells of a file by name."""
    return read(tomllib.loads(path.read_text(encoding="utf-8")))


def chosen(names: str, cells: dict[str, Cell]) -> list[Cell]:
    """Return the cells of a comma-separated list, all for an empty one.

    Raises:
        InputError: There is no such cell.
    """
    return [cells[name] for name in command.chosen("--cells", names, cells, "a cell")]
