"""One run of a cell: starts the peers, watches them, and returns what was seen."""

from __future__ import annotations

import json
import random
import selectors
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from btflow.errors import SimulationError
from validation.clients import programs, torrent
from validation.clients.cells import Cell, Peers
from validation.clients.guard import Guard, Load, children, starved
from validation.clients.network import PORT, TRACKER, TRACKER_PORT, TUN, Bed, Link, inside

EVERY = 1.0
"""Time between two looks at queues and machine [s]; the simulator's own is the same."""
FAST = 125_000_000
"""Rate [B/s] and buffers [B] of the host that a bulk upload goes to."""
START = 60.0
"""Time that all clients may take to be ready [s]."""


class StarvedError(SimulationError):
    """The machine did not keep up; the run counts for nothing."""


@dataclass
class Peer:
    """A client in its namespace."""

    klass: str
    kind: Peers
    link: Link
    process: subprocess.Popen[str]
    go_at: float
    """When it is to start, after the run's start [s]."""
    version: str = ""
    started: float = np.nan
    """Monotonic times [s]."""
    done: float = np.nan
    left: float = np.nan
    up: float = 0.0
    """Payload sent [B], as its client counts."""

    @property
    def is_seed(self) -> bool:
        """Whether it has the file from the start."""
        return self.klass == "seed"

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return f"peer {self.link.index} ({self.kind.client})"

    def tell(self, word: str) -> None:
        """Send its driver a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def present(self) -> bool:
        """Whether it is in the swarm now."""
        return not np.isnan(self.started) and np.isnan(self.left)


@dataclass
class Outcome:
    """What was seen in a run; times from its start [s]."""

    peers: list[Peer]
    began: float
    """Monotonic time of the start [s]."""
    took: float = 0.0
    queues: dict[str, list[float]] = field(default_factory=dict)
    """Times until the uplink's queue would be empty, by class [s]."""
    crossed: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    """Bytes of TCP, UDP and all else that left each uplink, by the peer's number."""
    drops: dict[int, int] = field(default_factory=dict)
    """Packets that each uplink's queue dropped."""
    downlink_drops: int = 0
    lost: int = 0
    """Packets lost on the paths."""
    bulk: float = np.nan
    """Goodput of the bulk upload [B/s]."""
    load: Load = field(default_factory=Load)
    versions: dict[str, str] = field(default_factory=dict)


class Progress(Protocol):
    """Takes a line of progress."""

    def __call__(self, line: str) -> None:
        """Show it."""


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
        kinds = [("seed", cell.seed)] * cell.seeds
        kinds += [(name, cell.classes[name]) for name, n in cell.numbers.items() for _ in range(n)]
        self.links = [_link(i + 1, cell, kind) for i, (_, kind) in enumerate(kinds)]
        self.host = Link(len(kinds) + 1, FAST, FAST, FAST, FAST)
        links = [*self.links, self.host] if cell.bulk else self.links
        bed.build(links)
        bed.check_kernel()
        self.log = (bed.folder / "log").open("w+")
        self.forwarder = self._start_forwarder()
        bed.shape(links)
        tracker = [str(programs.python_for("aria2")), str(Path(__file__).with_name("tracker.py"))]
        self.tracker = self._start(bed.core, [*tracker, TRACKER, str(TRACKER_PORT), str(seed)])
        _read(self.tracker)
        announce = f"http://{TRACKER}:{TRACKER_PORT}/announce"
        self.file, self.torrent = torrent.make(bed.folder, cell.file_size, cell.piece_size, announce, seed)
        times = self._times()
        self.peers = [
            Peer(klass, kind, link, self._start_peer(kind, link, klass == "seed"), at)
            for (klass, kind), link, at in zip(kinds, self.links, times, strict=True)
        ]
        self.bulk: subprocess.Popen[str] | None = None

    def run(self, progress: Progress) -> Outcome:
        """Run the swarm to its end."""
        selector = selectors.DefaultSelector()
        for peer in self.peers:
            assert peer.process.stdout is not None
            selector.register(peer.process.stdout, selectors.EVENT_READ, peer)
        self._wait_ready(selector)
        time.sleep(0.5)
        if self.cell.bulk:
            self._start_bulk()
        began = time.monotonic()
        outcome = Outcome(self.peers, began)
        watched = {peer.name: children(peer.process.pid) for peer in self.peers}
        watched |= {"the forwarder": children(self.forwarder.pid), "the tracker": children(self.tracker.pid)}
        guard = Guard(watched, began)
        outcome.load = guard.load
        look = began + EVERY
        waiting = sorted(self.peers, key=lambda peer: peer.go_at)
        leaving: list[tuple[float, Peer]] = []
        while not self._over(began):
            now = time.monotonic()
            while waiting and began + waiting[0].go_at <= now:
                waiting.pop(0).tell("go")
            for at, peer in [pair for pair in leaving if pair[0] <= now]:
                leaving.remove((at, peer))
                peer.tell("quit")
            if now >= look:
                self._look(outcome, guard)
                progress(self._line(now - began))
                look += EVERY
            due = min([look, *(began + peer.go_at for peer in waiting[:1]), *(at for at, _ in leaving)])
            for key, _ in selector.select(max(due - time.monotonic(), 0.0)):
                peer = key.data
                if not self._hear(peer):
                    selector.unregister(key.fileobj)
                elif peer.done == peer.done and np.isnan(peer.left) and not peer.is_seed:
                    leaving += self._leaves(peer, leaving)
        outcome.took = time.monotonic() - began
        self._finish(outcome)
        return outcome

    def _over(self, began: float) -> bool:
        if self.cell.bulk:
            return self.bulk is not None and self.bulk.poll() is not None
        missing = [peer for peer in self.peers if not peer.is_seed and np.isnan(peer.done)]
        if missing and time.monotonic() - began > self.cell.horizon:
            raise SimulationError(
                f"{len(missing)} peers did not complete within {self.cell.horizon:.0f} s, the first {missing[0].name}"
            )
        return not missing

    def _leaves(self, peer: Peer, leaving: list[tuple[float, Peer]]) -> list[tuple[float, Peer]]:
        """When a peer leaves that has completed, if it does."""
        if self.cell.stay == "forever" or any(other is peer for _, other in leaving):
            return []
        stays = self.random.expovariate(1.0) * self.cell.mean_stay * (peer.done - peer.started)
        return [(peer.done + (stays if self.cell.stay == "random" else 0.0), peer)]

    def _hear(self, peer: Peer) -> bool:
        """Take a message of a peer; whether there may be more."""
        message = _message(peer.process)
        if message is None:
            if np.isnan(peer.left):
                raise SimulationError(f"{peer.name} ended before its time: {self._last_words()}")
            return False
        event, t = message["event"], message["t"]
        if event == "ready":
            peer.version = message["version"]
        elif event == "start":
            peer.started = t
        elif event == "done" and not peer.is_seed:
            peer.done = t
        elif event == "totals":
            peer.up, peer.left = message["up"], t
        return True

    def _wait_ready(self, selector: selectors.BaseSelector) -> None:
        until = time.monotonic() + START
        while missing := [peer for peer in self.peers if not peer.version]:
            if time.monotonic() > until:
                raise SimulationError(f"{missing[0].name} was not ready within {START:.0f} s: {self._last_words()}")
            for key, _ in selector.select(1.0):
                self._hear(key.data)

    def _look(self, outcome: Outcome, guard: Guard) -> None:
        """Sample queues and machine."""
        waits = self.bed.backlogs()
        seen = self._ask_forwarder()
        for peer in self.peers:
            if peer.present():
                left = seen["peers"].get(str(peer.link.index), [0, 0, 0, 0.0])[3]
                delay = waits[peer.link.index][0] / peer.link.uplink + left
                outcome.queues.setdefault(peer.klass, []).append(delay)
        guard.load.latest = max(guard.load.latest, seen["latest"])
        guard.load.late = max(guard.load.late, seen["late"])
        guard.look(time.monotonic())

    def _finish(self, outcome: Outcome) -> None:
        """Take the last figures, and let the clients say what they sent."""
        seen = self._ask_forwarder()
        outcome.crossed = {int(i): (row[0], row[1], row[2]) for i, row in seen["peers"].items()}
        outcome.lost = seen["lost"]
        outcome.drops = {i: drops for i, (_, drops) in self.bed.backlogs().items()}
        outcome.downlink_drops = self.bed.downlink_drops()
        outcome.versions = programs.versions(programs.needed([self.cell])[0])
        outcome.versions |= {peer.kind.client: peer.version for peer in self.peers}
        if self.bulk is not None:
            outcome.bulk = json.loads(self.bulk.stdout.read())["end"]["sum_received"]["bits_per_second"] / 8  # type: ignore[union-attr]
        present = [peer for peer in self.peers if np.isnan(peer.left)]
        for peer in present:
            peer.tell("quit")
        for peer in present:
            while np.isnan(peer.left):
                self._hear(peer)

    def _ask_forwarder(self) -> dict[str, Any]:
        assert self.forwarder.stdin is not None
        self.forwarder.stdin.write("?\n")
        self.forwarder.stdin.flush()
        return dict(json.loads(_read(self.forwarder)))

    def _start_forwarder(self) -> subprocess.Popen[str]:
        """Start the forwarder, ahead of all other processes: a packet that is late is a wrong delay."""
        cell = self.cell
        one_way = str(round(0.5e9 * cell.rtt))
        command = [str(programs.forwarder()), TUN, one_way, repr(cell.loss), str(self.seed)]
        process = self._start(self.bed.core, ["chrt", "--rr", "50", *command], stdin=subprocess.PIPE)
        assert process.stdin is not None
        rates = "".join(f"peer {link.index} {link.uplink} {link.downlink}\n" for link in [*self.links, self.host])
        process.stdin.write(rates + "go\n")
        process.stdin.flush()
        _read(process)
        return process

    def _start_peer(self, kind: Peers, link: Link, is_seed: bool) -> subprocess.Popen[str]:
        folder = self.bed.folder / str(link.index)
        folder.mkdir()
        if is_seed:
            (folder / self.file.name).hardlink_to(self.file)
        settings = {
            "address": link.address,
            "port": PORT,
            "folder": str(folder),
            "torrent": str(self.torrent),
            "seed": is_seed,
            "opens": kind.opens,
            "accepts": kind.accepts,
            "cap": kind.cap or 0,
            "more": {},
        }
        command = [str(programs.python_for(kind.client)), str(programs.DRIVERS[kind.client]), json.dumps(settings)]
        return self._start(self.bed.namespace(link), command, stdin=subprocess.PIPE)

    def _start_bulk(self) -> None:
        """Let the first seed's host upload to a host with fast links, until the horizon."""
        server = self._start(self.bed.namespace(self.host), ["iperf3", "--server", "--one-off", "--forceflush"])
        _read(server)
        time.sleep(0.5)
        seconds = str(round(self.cell.horizon))
        client = ["iperf3", "--client", self.host.address, "--time", seconds, "--json"]
        self.bulk = self._start(self.bed.namespace(self.links[0]), client)

    def _start(self, namespace: str, command: list[str], stdin: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
        """Start a process in a namespace, in a session of its own: a Ctrl-C is for the test bed alone."""
        return subprocess.Popen(
            inside(namespace, *command),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            start_new_session=True,
        )

    def _times(self) -> list[float]:
        """When the peers start: the seeds at once, the leechers within the spread or one after the other."""
        cell, n = self.cell, self.cell.leechers
        if cell.interval is None:
            starts = [self.random.uniform(0.0, cell.spread) for _ in range(n)]
        else:
            mean = cell.interval
            starts = list(np.cumsum([self.random.expovariate(1 / mean) for _ in range(n)]))
            self.random.shuffle(starts)
        return [0.0] * cell.seeds + starts

    def _line(self, t: float) -> str:
        leechers = [peer for peer in self.peers if not peer.is_seed]
        complete = sum(not np.isnan(peer.done) for peer in leechers)
        return f"{self.cell.name}: {t:.0f} s, {complete} of {len(leechers)} complete"

    def _last_words(self) -> str:
        self.log.flush()
        self.log.seek(0)
        return (self.log.read().strip().splitlines() or ["it said nothing"])[-1]


def _link(index: int, cell: Cell, kind: Peers) -> Link:
    return Link(index, cell.uplink_of(kind), cell.buffer_of(kind), *cell.downlink_of(kind))


def _read(process: subprocess.Popen[str]) -> str:
    """Return the next line of a process.

    Raises:
        SimulationError: It has ended.
    """
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise SimulationError(f"{process.args[4]} has ended")  # type: ignore[index]
    return line


def _message(process: subprocess.Popen[str]) -> dict[str, Any] | None:
    assert process.stdout is not None
    line = process.stdout.readline()
    return dict(json.loads(line)) if line else None
