"""A swarm to simulate: frozen, validated, in SI units (bytes, seconds, bytes per second); and its model files."""

import hashlib
import json
import math
from collections.abc import Iterator, Set
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from btflow.config.files import Keys
from btflow.config.kinds import ModelKind, ParametrisedModel
from btflow.errors import ScenarioError, TableError
from btflow.link.access import MAX_RATE, AccessLink
from btflow.link.congestion import CongestionControl
from btflow.swarm.checks import MAX_LEECHERS, problems
from btflow.swarm.client import Client
from btflow.swarm.network import Paths, Sockets, Transport
from btflow.units import UNLIMITED, BytePrefix, format_quantity, is_unlimited
from btflow.units.formatting import counted
from btflow.units.quantity import FrozenModel, Quantity

MAX_PIECES = 65_535
MAX_BLOCKS_PER_PIECE = 1024

Protocol = Literal["tcp", "utp"]


class Swarm(FrozenModel):
    """The file that is distributed and how it is cut."""

    file_size: Annotated[int, Quantity("size", 1, 2**40)]
    """Size of the file [B]."""
    piece_size: Annotated[int, Quantity("size", 1024, 2**26)]
    """Size of a piece, which is verified and announced as a whole [B]."""
    block_size: Annotated[int, Quantity("size", 1024, 2**20)]
    """Size of a block, which is requested as a whole [B]."""

    @property
    def pieces(self) -> int:
        """Number of pieces, the last one perhaps short."""
        return -(-self.file_size // self.piece_size)

    @model_validator(mode="after")
    def _check(self) -> Self:
        blocks, rest = divmod(self.piece_size, self.block_size)
        if rest or not 1 <= blocks <= MAX_BLOCKS_PER_PIECE:
            raise ScenarioError(
                "swarm.piece_size",
                f"{self.piece_size} B",
                "is not a usable number of blocks",
                f"1 to {MAX_BLOCKS_PER_PIECE} blocks of block_size = {self.block_size} B",
            )
        if self.pieces > MAX_PIECES:
            raise ScenarioError(
                "swarm.file_size",
                f"{self.file_size} B",
                f"is {self.pieces} pieces of {self.piece_size} B",
                f"at most {MAX_PIECES} pieces; use larger pieces",
            )
        return self


class PeerClass(FrozenModel):
    """Peers that are alike."""

    name: str
    """Name of the class, unique in the swarm."""
    role: Literal["seed", "leecher"]
    """Whether the peers start with the whole file or with nothing."""
    count: Annotated[int, Quantity("count", 0, MAX_LEECHERS)] | None = None
    """Number of peers; one of ``count``, ``share`` and ``rest`` says how many there are."""
    share: Annotated[float, Quantity("fraction", 0, 1)] | None = None
    """Share of the scenario's ``population``."""
    rest: Annotated[bool, Quantity("flag")] = False
    """Whether this class has what the others' shares leave of the ``population``."""
    client: Client
    """The BitTorrent client they run."""
    upload_limit: Annotated[float, Quantity("rate", 1, 10 * 2**30, unlimited=True)]
    """Upload limit set in the client [B/s]; ``unlimited``, for peers with an access link only: none."""
    location: tuple[str, ...] = ()
    """Locations over which the peers are split evenly, in order; empty for none."""
    access: AccessLink | None = None
    """Their access link, each peer has its own; all classes have one or none has."""
    tcp: CongestionControl | None = None
    """Congestion control of what they send over TCP; with separate control connections, of the data."""
    utp: CongestionControl | None = None
    """Congestion control of what they send over uTP."""
    control: CongestionControl | None = None
    """Congestion control of their control connections, if these are separate."""
    opens: Annotated[tuple[Protocol, ...], Quantity("names")] = ("tcp",)
    """Transports of the connections they open, in order of preference."""
    accepts: Annotated[tuple[Protocol, ...], Quantity("names")] = ("tcp",)
    """Transports of the connections they accept."""
    disposition: Annotated[int, Quantity("count", 1, 31)] | None = None
    """Both as uTorrent's ``bt.transp_disposition``: 1 opens TCP, 2 opens uTP and prefers it, 4 accepts TCP, 8 accepts
    uTP, 16 has no effect; in place of ``opens`` and ``accepts``."""
    attempts: Annotated[Literal["sequential", "parallel"], Quantity("choice")] = "sequential"
    """Whether the second transport is tried when the first has failed, or both at once and the preferred one kept."""

    uplink_queue: Annotated[Literal["modem", "host"], Quantity("choice")] = "modem"
    """Where the queue of their uplink is. A ``modem`` drops in silence what finds no room. The kernel of the ``host``
    tells its TCP: nothing is lost, the segment waits and the window falls (Linux tcp_output.c, tcp_transmit_skb;
    tcp_input.c, tcp_enter_cwr); uTP is not told."""

    @model_validator(mode="before")
    @classmethod
    def _without_unused_buffers(cls, given: Any) -> Any:
        """Leave out the buffer of a direction without a limit, so that one parameter can take the limit away.

        A disposition stands for what the class opens and accepts.
        """
        if isinstance(given, dict) and isinstance(given.get("disposition"), int):
            given = _disposed(given)
        access = given.get("access") if isinstance(given, dict) else None
        if not isinstance(access, dict):
            return given
        kept = {
            name: {key: value for key, value in queue.items() if key != "buffer"} if _is_unlimited(queue) else queue
            for name, queue in access.items()
        }
        return {**given, "access": kept}

    @property
    def number(self) -> int:
        """Number of peers, 0 while it is not known."""
        return self.count or 0

    def placement(self) -> tuple[str, ...]:
        """Return the location of each peer, in equal runs; empty if the class has none."""
        places = len(self.location)
        return tuple(self.location[i * places // self.number] for i in range(self.number * (places > 0)))


def _disposed(given: dict[str, Any]) -> dict[str, Any]:
    """Return a class, not validated yet, with what its disposition says; a TableError if it says so itself too."""
    bits = given["disposition"]
    for name in ("opens", "accepts"):
        if name in given:
            raise TableError(name, given[name], "is what disposition says already", "one of the two")
    ways = {
        "opens": [way for way, bit in (("utp", 2), ("tcp", 1)) if bits & bit],
        "accepts": [way for way, bit in (("tcp", 4), ("utp", 8)) if bits & bit],
    }
    return {**given, **ways}


def _is_unlimited(queue: Any) -> bool:
    """Return whether a table of a queue, not validated yet, says that its rate has no limit."""
    return isinstance(queue, dict) and is_unlimited(queue.get("rate", UNLIMITED))


class Arrivals(FrozenModel):
    """When the leechers start; the seeds are there from the beginning."""

    kind: Annotated[Literal["flash", "poisson", "trace"], Quantity("choice")]
    """``flash``: all within ``spread``; ``poisson``: one after the other, ``interval`` apart in the mean; ``trace``: at
    ``times``."""
    spread: Annotated[float, Quantity("time", 0, 1e6)] = 0.0
    """``flash``: time over which the leechers start, uniformly at random [s]."""
    interval: Annotated[float, Quantity("time", 0.001, 1e6)] | None = None
    """``poisson``: mean time between two starts [s]."""
    times: tuple[Annotated[float, Quantity("time", 0, 1e7)], ...] = ()
    """``trace``: when each leecher starts [s]; which of them is of which class is random."""

    def last(self, leechers: int) -> float:
        """Return about when the last of so many leechers starts [s]."""
        if self.kind == "trace":
            return max(self.times, default=0.0)
        return self.spread if self.interval is None else self.interval * leechers


class Departures(FrozenModel):
    """What a leecher does once it has the file, and which downloads count."""

    stay: Annotated[Literal["forever", "leave", "random"], Quantity("choice")] = "forever"
    """Whether it seeds for ever, leaves at once, or stays for a random time, exponentially distributed."""
    mean_stay: Annotated[float, Quantity("fraction", 0.001, 1000)] = 0.5
    """``random``: mean of the time it stays, as a part of its own download time."""
    replace: Annotated[bool, Quantity("flag")] = False
    """Whether a new leecher of the same class starts when one leaves."""
    discard: Annotated[int, Quantity("count", 0, MAX_LEECHERS)] = 0
    """Downloads that are completed first and do not count: the warm-up."""
    completions: Annotated[int, Quantity("count", 1, MAX_LEECHERS)] | None = None
    """Downloads that count; the run ends with the last of them. Default all leechers less ``discard``."""


class Idealised(FrozenModel):
    """What is taken out of a swarm on access links to see what it does: nothing, in a swarm that is to be true."""

    control: Annotated[bool, Quantity("flag")] = False
    """Whether control messages, once connections are open, travel past all queues and data, after the propagation
    delay."""
    acks: Annotated[bool, Quantity("flag")] = False
    """Whether ACKs that travel alone take no room in any queue and no time on any link."""


class Tracker(FrozenModel):
    """The server that tells peers of each other."""

    reply_peers: Annotated[int, Quantity("count", 1, 1000)]
    """Most peers in one reply."""
    announce_interval: Annotated[float, Quantity("time", 1, 86400)]
    """Time between two regular announces of a peer [s]."""


class Scenario(ParametrisedModel):
    """A swarm, complete: ``btflow.load`` makes one from a model file."""

    name: str
    """Name of the model."""
    title: str
    """One line for people."""
    source: str
    """The publication that the numbers are from."""
    byte_prefix: BytePrefix = "decimal"
    """What kB, MB and GB mean in this model: ``decimal`` 1000-based, ``binary`` 1024-based."""
    horizon: Annotated[float, Quantity("time", 1, 1e9)] | None = None
    """Simulated time after which the run is given up [s]; default see ``give_up_time``."""
    population: Annotated[int, Quantity("count", 1, MAX_LEECHERS)] | None = None
    """Leechers of the classes that have a ``share`` or the ``rest`` of them."""
    slots: Annotated[int, Quantity("count", 0, 1000)] = 0
    """Upload slots of every peer, whatever its client's rule says; 0 for the rule."""
    control_connections: Annotated[Literal["shared", "separate"], Quantity("choice")] = "shared"
    """Whether control messages travel on the data's connection or on a TCP connection of their own."""
    swarm: Swarm
    """The file."""
    classes: tuple[PeerClass, ...]
    """The peers."""
    paths: Paths
    """What lies between them."""
    transport: Transport | None = None
    """The transport protocol they use, if they have no access links."""
    sockets: Sockets | None = None
    """The sockets they use, if they have access links."""
    arrivals: Arrivals
    """When they start."""
    departures: Departures = Field(default_factory=Departures)
    """What they do when they have the file."""
    tracker: Tracker
    """How they learn of each other."""
    idealised: Idealised = Field(default_factory=Idealised)
    """What is left out, to see what it does."""

    @property
    def seeds(self) -> int:
        """Number of initial seeds."""
        return sum(c.number for c in self.classes if c.role == "seed")

    @property
    def leechers(self) -> int:
        """Number of leechers."""
        return sum(c.number for c in self.classes if c.role == "leecher")

    @property
    def linked(self) -> bool:
        """Whether the peers have access links."""
        return any(c.access is not None for c in self.classes)

    @property
    def counted(self) -> int:
        """Number of downloads that count."""
        return self.departures.completions or self.leechers - self.departures.discard

    @property
    def target(self) -> int:
        """Number of downloads after which a run ends."""
        return self.departures.discard + self.counted

    def size(self) -> str:
        """Return its peers and its file in words."""
        file = format_quantity(self.swarm.file_size, "size", byte_prefix=self.byte_prefix)
        peers = f"{counted(self.seeds, 'seed')} and {counted(self.leechers, 'leecher')}"
        return f"{peers}, {file} in {counted(self.swarm.pieces, 'piece')}" + ", on access links" * self.linked

    def slots_of(self, peer_class: PeerClass) -> int:
        """Return the upload slots of the peers of a class."""
        return self.slots or peer_class.client.upload_slots(peer_class.upload_limit)

    @property
    def give_up_time(self) -> float:
        """Simulated time after which the run is given up [s].

        If ``horizon`` is not given: an hour, a thousand round trips, for the peers to find each other
        and ask for pieces, the arrivals, and twenty times the fluid lower bound
        max(F/u_s, N F/(u_s + U)) of Kumar and Ross (2006), with F the file size, u_s the rate of
        the seeds and U that of the N leechers. With loss a peer's rate is at most that of its upload
        slots if TCP sends one segment at a time and waits for a timeout after each loss.
        """
        if self.horizon is not None:
            return self.horizon
        rates = dict.fromkeys(("seed", "leecher"), 0.0)
        for c in self.classes:
            slots = max(1, self.slots_of(c))
            link = c.access.uplink.rate if c.access else math.inf
            rates[c.role] += c.number * min(c.upload_limit, link, MAX_RATE, slots * self.slowest_rate)
        bound = self.swarm.file_size * max(1 / rates["seed"], self.target / sum(rates.values()))
        return 3600 + 1000 * self.longest_rtt + self.arrivals.last(self.leechers) + 20 * bound

    @property
    def base_rtt(self) -> float:
        """Mean round-trip time between two peers without queues [s], of which buffers may be multiples."""
        return self.paths.rtt + 2 * (self.paths.delay_min + self.paths.delay_max)

    @property
    def longest_rtt(self) -> float:
        """Longest round-trip time between two peers [s]: that of the matrix or of the Internet's model, if used."""
        if self.paths.internet is not None:
            return self.paths.internet.rtt[-1].value
        matrix = self.paths.matrix
        direct = self.paths.rtt + 4 * self.paths.delay_max
        times = [time for row in matrix.rtt.values() for time in row.values()] if matrix else [direct]
        return max(times, default=0.0)

    @property
    def slowest_rate(self) -> float:
        """Rate of a connection whose window is one segment, each loss of which is a timeout [B/s].

        With loss p a segment takes an RTT and, as the timeout doubles, the sum over k of
        p**k min(2**(k-1) RTO, rto_max). Without loss nothing keeps the window small.
        """
        transport, internet = self.transport, self.paths.internet
        loss = self.paths.loss if internet is None else internet.loss[-1].value
        if transport is None:
            return math.inf if loss == 0.0 else 1448 / (self.longest_rtt + 2.0 / (1.0 - 2.0 * loss))
        rto = self.longest_rtt + transport.rto_min
        waiting = sum(loss**k * min(2.0 ** (k - 1) * rto, transport.rto_max) for k in range(1, 64))
        return transport.mss / (self.longest_rtt + waiting) if waiting > 0.0 else math.inf

    def digest(self) -> str:
        """Return a SHA-256 hex digest of all that can change a result, and of nothing else."""
        content = self.model_dump(exclude={"byte_prefix"})
        content["horizon"] = self.give_up_time
        content["labels"] = [c.name for c in self.classes]
        for access in (c["access"] for c in content["classes"] if c["access"] is not None):
            del access["rtt"]
        if self.paths.internet is None:
            del content["paths"]["internet"]
        else:
            content["paths"]["rtt"] = content["paths"]["loss"] = None
        if self.paths.matrix is not None:
            content["paths"]["rtt"] = None
        return content_digest(content)

    def __eq__(self, other: object) -> bool:
        """Return whether every field is equal, however the values were set."""
        return isinstance(other, Scenario) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(self.digest())

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.__dict__["classes"] = _counted(self.classes, self.population)
        found = problems(self)
        if found:
            raise ScenarioError.all_of(found)
        return self


def content_digest(content: Any) -> str:
    """Return a SHA-256 hex digest of a model's content; what describes it to people is dropped from it."""
    _drop(content, {"name", "title", "source", "device_latency"})
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _drop(tree: Any, names: set[str]) -> None:
    """Remove descriptive keys from a nested dict, in place."""
    for value in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(value, dict | list | tuple):
            _drop(value, names)
    if isinstance(tree, dict):
        for name in names & tree.keys():
            del tree[name]


def _counted(classes: tuple[PeerClass, ...], population: int | None) -> tuple[PeerClass, ...]:
    """Return the classes with the number of peers that each share of the population makes."""
    whole = population or 0
    rest = max(0.0, 1.0 - math.fsum(c.share or 0.0 for c in classes))
    exact = {c.name: (rest if c.rest else c.share or 0.0) * whole for c in classes if c.rest or c.share is not None}
    shared = {name: math.floor(peers + 1e-9) for name, peers in exact.items()}
    left = round(math.fsum(exact.values())) - sum(shared.values())  # go to the largest remainders, first come first
    for name in sorted(exact, key=lambda name: shared[name] - exact[name])[:left]:
        shared[name] += 1
    made = tuple(c.model_copy() for c in classes)
    for c in made:  # not as an update, so that `model_fields_set` still says what was given
        c.__dict__["count"] = shared.get(c.name, c.count)
    return made


def unused(scenario: Scenario, keys: Set[Keys]) -> Iterator[ScenarioError]:
    """Yield the fields that were set and change nothing in a scenario.

    Args:
        scenario: What was made.
        keys: The fields that were set by their paths.
    """
    departures = scenario.departures
    if ("departures", "mean_stay") in keys and departures.stay != "random":
        shown = format_quantity(departures.mean_stay, "fraction")
        reason = f"is never used: departures.stay is {departures.stay}"
        yield ScenarioError("departures.mean_stay", shown, reason, 'departures.stay = "random"')
    if ("departures", "replace") in keys and departures.replace and departures.stay == "forever":
        reason = "is never used: departures.stay is forever, nobody leaves"
        yield ScenarioError("departures.replace", "true", reason, 'departures.stay = "leave" or "random"')
    trying = [c for c in scenario.classes if ("classes", c.name, "attempts") in keys]
    if trying and not any(len(c.opens) > 1 for c in trying):
        c = trying[0]
        reason = f"is never used: the class opens {', '.join(c.opens) or 'no'} connections alone"
        allowed = f"two transports in classes.{c.name}.opens"
        yield ScenarioError(f"classes.{c.name}.attempts", c.attempts, reason, allowed)


def _without_unused_matrix(scenario: Scenario) -> Scenario:
    if any(c.location for c in scenario.classes):
        return scenario
    return scenario.model_copy(update={"paths": scenario.paths.model_copy(update={"matrix": None})})


SWARMS = ModelKind(
    folder="swarms",
    noun="swarms",
    model=Scenario,
    references={
        "transport": "transports",
        "sockets": "sockets",
        "paths.matrix": "paths",
        "paths.internet": "internet",
        "classes.*.client": "clients",
        "classes.*.access": "access",
        "classes.*.tcp": "congestion",
        "classes.*.utp": "congestion",
        "classes.*.control": "congestion",
    },
    named={"classes": ("class", "seed")},
    finish=_without_unused_matrix,
    rivals=(
        ("classes.*.count", "classes.*.share", "classes.*.rest"),
        ("arrivals.spread", "arrivals.interval", "arrivals.times"),
        ("classes.*.disposition", "classes.*.opens"),
        ("classes.*.disposition", "classes.*.accepts"),
    ),
    supersedes={"paths.internet": ("paths.rtt", "paths.loss"), "classes.*.location": ("paths.rtt",)},
    aliases={"internet": "paths.internet"},
    unused=unused,
)
