"""One run of a cell: starts the peers, watches them, and returns what was seen."""

from __future__ import annotations

import json
import math
import random
import selectors
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from btflow.errors import SimulationError
from validation.clients import programs, torrent
from validation.clients.cells import Cell, Peers
from validation.clients.guard import Guard, Load, children, starved
from validation.clients.network import PORT, TRACKER, TRACKER_PORT, TUN, Bed, Link
from validation.clients.processes import Child

EVERY = 1.0
"""Time between two looks at the machine [s]."""
SAMPLE = 0.25
"""Mean time between two looks at the queues [s]. They come at random: limits have clocks of half a second, and those
of programs that are started together go together."""
FAST = 125_000_000
"""Rate [B/s] and buffers [B] of the host that a bulk upload goes to."""
START = 60.0
"""Time that all clients may take to be ready [s]."""
SETTLE = 0.5
"""Time between the last client's being ready and the start [s]."""

Progress = Callable[[str], None]


class StarvedError(SimulationError):
    """The machine did not keep up; the run counts for nothing."""


@dataclass
class Peer:
    """A client in its namespace."""

    klass: str
    kind: Peers
    link: Link
    go_at: float
    """When it is to start, after the run's start [s]."""
    child: Child
    version: str = ""
    started: float = math.nan
    """Monotonic times [s]; NaN while it is not so."""
    done: float = math.nan
    left: float = math.nan
    leaves_at: float = math.inf
    """When it is to leave."""
    up: float = 0.0
    """Payload sent [B], as its client counts."""

    @property
    def is_seed(self) -> bool:
        """Whether it has the file from the start."""
        return self.klass == "seed"

    @property
    def present(self) -> bool:
        """Whether it is in the swarm."""
        return self.started == self.started and self.left != self.left

    @property
    def complete(self) -> bool:
        """Whether it has the file."""
        return self.is_seed or self.done == self.done

    def hear(self) -> None:
        """Take the next message of its driver."""
        message = self.child.message()
        match message["event"]:
            case "ready":
                self.version = message["version"]
            case "start":
                self.started = message["t"]
            case "done" if not self.is_seed:
                self.done = message["t"]
            case "totals":
                self.up, self.left = message["up"], message["t"]


@dataclass
class Outcome:
    """What was seen in a run."""

    peers: Sequence[Peer]
    began: float
    """Monotonic time of the start [s]."""
    took: float = 0.0
    """Time to the last leecher's completion [s]."""
    queues: dict[str, list[float]] = field(default_factory=dict)
    """Times until the uplink's queue would be empty, by class [s]."""
    crossed: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    """Bytes of TCP, UDP and all else that left each uplink, by the peer's number."""
    drops: dict[int, int] = field(default_factory=dict)
    """Packets that each uplink's queue dropped."""
    downlink_drops: int = 0
    lost: int = 0
    """Packets lost on the paths."""
    bulk: float = math.nan
    """Goodput of the bulk upload [B/s]."""
    load: Load = field(default_factory=Load)
    versions: dict[str, str] = field(default_factory=dict)


def measure(cell: Cell, seed: int, bed: Bed, progress: Progress, *, starved_ok: bool = False) -> Outcome:
    """Run a cell once, in a bed that the caller has locked; everything that it makes is gone afterwards.

    Args:
        cell: The swarm.
        seed: Seed of arrivals, losses, departures, the tracker's replies and the file's content.
        bed: Where it runs.
        progress: Takes a line every second.
        starved_ok: Whether a run counts although the machine did not keep up, for looking into faults only.

    Raises:
        SimulationError: A program fails, or a peer does not complete within the horizon.
        StarvedError: The machine did not keep up.
    """
    try:
        outcome = _Swarm(cell, seed, bed).run(progress)
        why = starved(outcome.load)
        if why and not starved_ok:
            raise StarvedError(why)
        return outcome
    finally:
        bed.remove()


class _Swarm:
    """The processes of a run."""

    def __init__(self, cell: Cell, seed: int, bed: Bed) -> None:
        self.cell, self.seed, self.bed, self.random = cell, seed, bed, random.Random(seed)
        self.instants = random.Random(seed)
        kinds = kinds_of(cell)
        links = [
            Link(i, cell.uplink_of(kind), cell.buffer_of(kind), *cell.downlink_of(kind))
            for i, (_, kind) in enumerate(kinds, 1)
        ]
        self.host = Link(len(kinds) + 1, FAST, FAST, FAST, FAST)
        all_links = [*links, self.host] if cell.bulk else links
        bed.build(all_links)
        bed.check_kernel()
        self.log = (bed.folder / "log").open("w", encoding="utf-8")
        self.forwarder = self._start_forwarder(all_links)
        bed.shape(all_links)
        asked = [sys.executable, "-m", "validation.clients.tracker", TRACKER, str(TRACKER_PORT), str(seed)]
        self.tracker = Child("the tracker", bed.core, asked, self.log)
        self.tracker.line()
        announce = f"http://{TRACKER}:{TRACKER_PORT}/announce"
        self.file, self.torrent = torrent.make(bed.folder, cell.file_size, cell.piece_size, announce, seed)
        self.peers = [
            Peer(klass, kind, link, at, self._start_peer(klass, kind, link))
            for (klass, kind), link, at in zip(kinds, links, start_times(cell, self.random), strict=True)
        ]
        self.bulk: Child | None = None

    def run(self, progress: Progress) -> Outcome:
        """Run the swarm to its end."""
        selector = selectors.DefaultSelector()
        for peer in self.peers:
            selector.register(peer.child.output, selectors.EVENT_READ, peer)
        self._wait_ready(selector)
        time.sleep(SETTLE)
        if self.cell.bulk:
            self._start_bulk()
        began = time.monotonic()
        outcome = Outcome(self.peers, began)
        guard = Guard(self._watched(), began)
        outcome.load = guard.load
        waiting, look, sample = sorted(self.peers, key=lambda peer: peer.go_at), began + EVERY, began
        while not self._over(began):
            now = time.monotonic()
            while waiting and began + waiting[0].go_at <= now:
                waiting.pop(0).child.tell("go")
            for peer in self.peers:
                if peer.leaves_at <= now:
                    peer.leaves_at = math.inf
                    peer.child.tell("quit")
            if now >= sample:
                self._look(outcome, guard)
                sample = now + self.instants.expovariate(1 / SAMPLE)
            if now >= look:
                guard.look(time.monotonic())
                progress(self._line(now - began))
                look += EVERY
            coming = [*(began + peer.go_at for peer in waiting[:1]), *(peer.leaves_at for peer in self.peers)]
            due = min([look, sample, *coming])
            for key, _ in selector.select(max(due - time.monotonic(), 0.0)):
                self._hear(selector, key.data)
        outcome.took = time.monotonic() - began
        self._finish(outcome)
        return outcome

    def _watched(self) -> dict[str, list[int]]:
        """Return all processes by name."""
        watched = {child.name: children(child.pid) for child in (self.forwarder, self.tracker)}
        return watched | {peer.child.name: children(peer.child.pid) for peer in self.peers}

    def _hear(self, selector: selectors.BaseSelector, peer: Peer) -> None:
        """Take a message, and decide when a peer leaves that has completed by it."""
        had = peer.complete
        peer.hear()
        if peer.complete and not had and self.cell.stay != "forever":
            stays = self.random.expovariate(1.0) * self.cell.mean_stay * (peer.done - peer.started)
            peer.leaves_at = peer.done + (stays if self.cell.stay == "random" else 0.0)
        if peer.left == peer.left:
            selector.unregister(peer.child.output)

    def _over(self, began: float) -> bool:
        if self.bulk is not None:
            return self.bulk.ended
        missing = [peer for peer in self.peers if not peer.complete]
        if missing and time.monotonic() - began > self.cell.horizon:
            raise SimulationError(
                f"{self.cell.name}: {len(missing)} peers did not complete within {self.cell.horizon:.0f} s, the first "
                f"is {missing[0].child.name}"
            )
        return not missing

    def _wait_ready(self, selector: selectors.BaseSelector) -> None:
        until = time.monotonic() + START
        while missing := [peer for peer in self.peers if not peer.version]:
            if time.monotonic() > until:
                raise SimulationError(f"{missing[0].child.name} was not ready within {START:.0f} s")
            for key, _ in selector.select(1.0):
                key.data.hear()

    def _look(self, outcome: Outcome, guard: Guard) -> None:
        """Note what waits on the uplinks, and how late the forwarder was since the last look."""
        waits = self.bed.backlogs()
        self.forwarder.tell("?")
        seen = self.forwarder.message()
        for peer in self.peers:
            if peer.present:
                left = seen["peers"].get(str(peer.link.index), [0, 0, 0, 0.0])[3]
                delay = waits[peer.link.index][0] / peer.link.uplink + left
                outcome.queues.setdefault(peer.klass, []).append(delay)
        guard.load.latest = max(guard.load.latest, seen["latest"])
        guard.load.late = max(guard.load.late, seen["late"])

    def _finish(self, outcome: Outcome) -> None:
        """Take the last figures, and let the clients say what they sent."""
        self.forwarder.tell("?")
        seen = self.forwarder.message()
        outcome.crossed = {int(i): (row[0], row[1], row[2]) for i, row in seen["peers"].items()}
        outcome.lost = seen["lost"]
        outcome.drops = {i: drops for i, (_, drops) in self.bed.backlogs().items()}
        outcome.downlink_drops = self.bed.downlink_drops()
        outcome.versions = programs.versions(programs.needed([self.cell])[0])
        outcome.versions |= {peer.kind.client: peer.version for peer in self.peers}
        if self.bulk is not None:
            outcome.bulk = json.loads(self.bulk.rest())["end"]["sum_received"]["bits_per_second"] / 8
        remaining = [peer for peer in self.peers if peer.left != peer.left]
        for peer in remaining:
            peer.child.tell("quit")
        for peer in remaining:
            while peer.left != peer.left:
                peer.hear()

    def _start_forwarder(self, links: list[Link]) -> Child:
        """Start the forwarder, ahead of all other processes: a packet that is late is a wrong delay."""
        one_way = str(round(0.5e9 * self.cell.rtt))
        command = [str(programs.forwarder()), TUN, one_way, repr(self.cell.loss), str(self.seed)]
        child = Child("the forwarder", self.bed.core, ["chrt", "--rr", "50", *command], self.log)
        lines = [f"peer {link.index} {link.uplink} {link.downlink}" for link in links]
        child.tell("\n".join([*lines, "go"]))
        child.line()
        return child

    def _start_peer(self, klass: str, kind: Peers, link: Link) -> Child:
        folder = self.bed.folder / str(link.index)
        folder.mkdir()
        if klass == "seed":
            (folder / self.file.name).hardlink_to(self.file)
        command = driver(klass, kind, link, folder, self.torrent)
        return Child(f"peer {link.index} ({kind.client})", self.bed.namespace(link), command, self.log)

    def _start_bulk(self) -> None:
        """Let the first seed's host upload to a host with fast links, until the horizon."""
        command = ["iperf3", "--server", "--one-off", "--forceflush"]
        Child("the server of iperf3", self.bed.namespace(self.host), command, self.log).line()
        time.sleep(SETTLE)
        command = ["iperf3", "--client", self.host.address, "--time", str(round(self.cell.horizon)), "--json"]
        self.bulk = Child("iperf3", self.bed.namespace(self.peers[0].link), command, self.log)

    def _line(self, t: float) -> str:
        leechers = [peer for peer in self.peers if not peer.is_seed]
        complete = sum(peer.complete for peer in leechers)
        return f"{self.cell.name}: {t:.0f} s, {complete} of {len(leechers)} complete"


def kinds_of(cell: Cell) -> list[tuple[str, Peers]]:
    """Return the class of each peer and its name, the seeds first."""
    kinds = [("seed", cell.seed)] * cell.seeds
    return kinds + [(name, cell.classes[name]) for name, n in cell.numbers.items() for _ in range(n)]


def start_times(cell: Cell, rng: random.Random) -> list[float]:
    """Return when the peers start: the seeds at once, the leechers within the spread or one after the other."""
    if cell.interval is None:
        starts = [rng.uniform(0.0, cell.spread) for _ in range(cell.leechers)]
    else:
        starts = list(accumulate(rng.expovariate(1 / cell.interval) for _ in range(cell.leechers)))
        rng.shuffle(starts)
    return [0.0] * cell.seeds + starts


def driver(klass: str, kind: Peers, link: Link, folder: Path, torrent: Path) -> list[str]:
    """Return the command of a peer's driver.

    Args:
        klass: Name of the peer's class.
        kind: The class.
        link: The peer's link.
        folder: Where it keeps its files.
        torrent: The torrent.
    """
    settings = {
        "address": link.address,
        "port": PORT,
        "folder": str(folder),
        "torrent": str(torrent),
        "seed": klass == "seed",
        "opens": kind.opens,
        "accepts": kind.accepts,
        "cap": kind.cap or 0,
    }
    return [str(programs.python_for(kind.client)), "-m", programs.DRIVERS[kind.client], json.dumps(settings)]
