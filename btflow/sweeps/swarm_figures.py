"""Swarms as a sweep runs them, and the figures of each."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from btflow.errors import InputError
from btflow.kernels.access.state import Access
from btflow.kernels.flow.state import Flow
from btflow.kernels.swarm.state import Swarm as SwarmState
from btflow.options import Fidelity
from btflow.swarm import run as swarm_run
from btflow.swarm.flow_limits import check_flow
from btflow.swarm.program import Program, compile_scenario
from btflow.swarm.replica import (
    CAUSE_NAMES,
    MESSAGES,
    TRAFFIC,
    Replica,
    Uplinks,
    collect,
    mean_of_known,
    quantile,
    sending_rate,
    utilisation,
)
from btflow.swarm.scenario import Scenario
from btflow.sweeps.results import Statistic, Table, prefixed

Floats = NDArray[np.float64]


class Swarm(NamedTuple):
    """One finished swarm, with what several figures need."""

    row: Replica
    counting: NDArray[np.bool_]
    """Whether each peer's download counts (peers,)."""
    utilisation: Floats
    """Payload sent over what could be sent while the peer was there (peers,); NaN for who never started."""


class Group(NamedTuple):
    """Some peers of a swarm: all of some classes."""

    classes: tuple[int, ...]
    members: NDArray[np.bool_]
    """Whether each peer belongs to it (peers,)."""


class Peers(NamedTuple):
    """What the swarms of one program have in common."""

    leechers: Group
    classes: tuple[Group, ...]
    seeds: NDArray[np.bool_]
    """Whether each peer is an initial seed (peers,)."""
    rate: Floats
    """What each may send [B/s] (peers,)."""
    block_size: int
    """[B]"""
    file_size: int
    """[B]"""


def peers(program: Program, file_size: int) -> Peers:
    """Return what the swarms of a program, whose file has some size [B], have in common."""
    seeds, klass = program.is_seed == 1, program.klass
    leeching = tuple(sorted(set(klass[~seeds].tolist())))
    return Peers(
        leechers=Group(leeching, np.isin(klass, leeching)),
        classes=tuple(Group((number,), klass == number) for number in range(len(program.class_names))),
        seeds=seeds,
        rate=sending_rate(program),
        block_size=program.rules.block_size,
        file_size=file_size,
    )


COMPLETION = (
    Statistic("completion_mean", "s", "mean completion time of the downloads that count"),
    Statistic("completion_min", "s", "least completion time of the downloads that count"),
    Statistic("completion_p10", "s", "10th percentile of the completion times of the downloads that count"),
    Statistic("completion_median", "s", "median completion time of the downloads that count"),
    Statistic("completion_p90", "s", "90th percentile of the completion times of the downloads that count"),
    Statistic("completion_max", "s", "greatest completion time of the downloads that count"),
)

UPLOADS = (
    Statistic("downloads", "1", "downloads that count"),
    Statistic("upload_utilisation_mean", "1", "mean over peers of the payload sent over what could be sent"),
    Statistic("unchokes", "1", "unchokes given"),
    Statistic("idle_terminations", "1", "unchokes ended because the connection was idle"),
    Statistic("duplicate_blocks", "1", "blocks received that were already held or no longer wanted"),
    Statistic("cancelled_blocks", "1", "block requests cancelled"),
)

LIMITED = tuple(
    Statistic(f"limited_{cause}", "1", f"share of the time of unchoked connections held back by: {cause}")
    for cause in CAUSE_NAMES
)

ONLY_FULL = ("unchokes", *(s.name for s in LIMITED))
"""What flow does not know."""

SWARM = (
    Statistic("completion_last", "s", "time of the last completion since the swarm's start"),
    Statistic("seed_copies", "1", "payload sent by the initial seeds over the file size"),
    Statistic("duplicate_share", "1", "payload received that was already held or no longer wanted, of all received"),
)

_QUANTILES = {"median": 0.5, "p90": 0.9, "p99": 0.99}

UPLINKS = (
    *(Statistic(f"queue_delay_{q}", "s", f"{q} of the time until an uplink's queue is empty") for q in _QUANTILES),
    *(Statistic(f"queue_packets_{q}", "1", f"{q} of the packets waiting at an uplink") for q in _QUANTILES),
    *(
        Statistic(f"{message}_delay", "s", f"mean time from writing the message to its delivery: {message}")
        for message in ("request", "have", "unchoke")
    ),
    Statistic("block_latency", "s", "mean time from a request to its block"),
    Statistic("uplink_drops", "1", "packets dropped at the uplinks' queues"),
    Statistic("downlink_drops", "1", "packets dropped at the downlinks' queues"),
    Statistic("utp_byte_share", "1", "uTP data, of all bytes that left the uplinks"),
)

_CONTROL = [list(MESSAGES).index(kind) for kind in ("request", "have", "unchoke")]
_UTP = TRAFFIC.index("uTP data")


@dataclass(frozen=True)
class Statistics:
    """The figures of every swarm of a sweep: those of the whole swarm, then those of each class."""

    classes: tuple[str, ...]
    """Names of the classes, in the program's order: initial seeds first."""
    linked: bool
    """Whether the peers have access links."""
    fidelity: Fidelity = "full"
    """How the swarms are run: flow does not know what nobody uses, nor so what holds it back."""

    @property
    def only_full(self) -> tuple[str, ...]:
        """Names of what flow does not know of a swarm."""
        return ONLY_FULL

    @property
    def tables(self) -> tuple[Table, ...]:
        """The figures in tables: of the whole swarm, and of each class."""
        known = (*COMPLETION, *UPLOADS, *LIMITED, *(UPLINKS if self.linked else ()))
        group = tuple(s for s in known if self.fidelity == "full" or s.name not in ONLY_FULL)
        of_class = Table(prefixed("class", group), "peer_class", self.classes, "class of the peers")
        return Table((*group, *SWARM)), of_class

    @property
    def width(self) -> int:
        """Number of figures of a swarm."""
        return sum(table.width for table in self.tables)

    def of(self, common: Peers, row: Replica) -> Floats:
        """Return the figures of a swarm (width,): the whole's, then all of the first class, of the second..."""
        if self.fidelity == "flow":  # what flow does not know is not told of the swarms that check it either
            row = replace(row, unchokes=None, held_for=None)
        counting = row.counted & np.isfinite(row.completion)
        swarm = Swarm(row, counting, utilisation(row, common.rate))
        leechers = self._of_group(swarm, common.leechers)
        values = [*leechers, *_of_swarm(row, common)]
        for group in common.classes:  # one class of leechers is all leechers
            values += leechers if group.classes == common.leechers.classes else self._of_group(swarm, group)
        return np.array(values, np.float64)

    def _of_group(self, swarm: Swarm, group: Group) -> tuple[float, ...]:
        finders: list[Callable[[Swarm, Group], tuple[float, ...]]] = [_completion, _uploads]
        if self.fidelity == "full":
            finders.append(_limited)
        values = tuple(value for find in finders for value in find(swarm, group))
        if not self.linked:
            return values
        seen = swarm.row.uplinks
        return values + (_uplinks(seen, group) if seen is not None else (np.nan,) * len(UPLINKS))


def _completion(swarm: Swarm, group: Group) -> tuple[float, ...]:
    times = swarm.row.completion[swarm.counting & group.members]
    if times.size == 0:
        return (np.nan,) * len(COMPLETION)
    p10, median, p90 = np.quantile(times, (0.1, 0.5, 0.9)).tolist()
    return float(times.mean()), float(times.min()), p10, median, p90, float(times.max())


def _uploads(swarm: Swarm, group: Group) -> tuple[float, ...]:
    row, members = swarm.row, group.members
    unchokes = () if row.unchokes is None else (row.unchokes,)
    counts = (*unchokes, row.idle_ends, row.duplicates, row.cancelled)
    return (
        float((swarm.counting & members).sum()),
        mean_of_known(swarm.utilisation[members]),
        *(float(count[members].sum()) for count in counts),
    )


def _limited(swarm: Swarm, group: Group) -> tuple[float, ...]:
    """Mean over peers of the share of their unchoked time by cause; who unchoked nobody does not count."""
    assert swarm.row.held_for is not None
    spent = swarm.row.held_for[group.members]
    total = spent.sum(axis=1)
    spent, total = spent[total > 0.0], total[total > 0.0]
    if total.size == 0:
        return (np.nan,) * len(LIMITED)
    return tuple((spent / total[:, None]).mean(axis=0).tolist())


def _of_swarm(row: Replica, common: Peers) -> tuple[float, ...]:
    received = float(row.received.sum())
    done = np.isfinite(row.completion)  # these have the file, whose last block may be short, and what came besides
    again = float(row.received[done].sum()) - common.file_size * float(done.sum())
    again += float(row.duplicates[~done].sum()) * min(common.block_size, common.file_size)
    sent = float(row.sent[common.seeds].sum())
    return row.last, sent / common.file_size, again / received if received else np.nan


def _uplinks(seen: Uplinks, group: Group) -> tuple[float, ...]:
    classes = list(group.classes)
    delay, packets = seen.delay[classes].sum(axis=0), seen.packets[classes].sum(axis=0)
    waiting = seen.delay_width * np.arange(delay.size)
    lengths = np.arange(packets.size, dtype=float)
    number = seen.messages[classes].sum(axis=(0, 2))[_CONTROL]
    spent = seen.message_delay[classes].sum(axis=0)[_CONTROL]
    blocks = float(seen.latency[classes].sum())
    moved = seen.bytes[group.members].sum(axis=0)
    return (
        *(quantile(waiting, delay, q) for q in _QUANTILES.values()),
        *(quantile(lengths, packets, q) for q in _QUANTILES.values()),
        *(float(s) / float(n) if n else np.nan for s, n in zip(spent, number, strict=True)),
        float(seen.block_latency[classes].sum()) / blocks if blocks else np.nan,
        *(float(drops) for drops in seen.drops[group.members].sum(axis=0)),
        float(moved[_UTP]) / float(moved.sum()) if moved.sum() else np.nan,
    )


State = tuple[SwarmState | Flow, Access | None]
"""Of a swarm, and of its links."""


class Swarms:
    """The kind of swarms (``runs.Kind``)."""

    keeps: tuple[str, ...] = ("peers", "series", "swarms")
    seed = "seed of the point's replicas"
    compile = staticmethod(compile_scenario)
    check_flow = staticmethod(check_flow)
    bytes = staticmethod(swarm_run.swarm_bytes)
    check_memory = staticmethod(swarm_run.check_memory)
    load_kernels = staticmethod(swarm_run.load_kernels)

    def figures(self, scenario: Scenario, program: Program) -> Statistics:
        """Return what is found of each swarm."""
        return Statistics(program.class_names, scenario.linked, program.fidelity)

    def common(self, scenario: Scenario, program: Program, figures: Statistics) -> Peers:
        """Return what all swarms of a program have in common; an InputError if they have other classes of peers."""
        if program.class_names != figures.classes:
            raise InputError("classes", program.class_names, "differ from the other points'", "the same classes")
        return peers(program, scenario.swarm.file_size)

    def run(self, program: Program, seed: int, replica: int, watch: Callable[[], None]) -> State:
        """Return the state of a swarm at its end: that of ``simulate`` with the point's seed."""
        return swarm_run.run_with_links(program, seed, replica, lambda *_: watch())

    def collect(self, program: Program, state: State, *, series: bool) -> Replica:
        """Return what is kept of a swarm, the times of its pieces if there are to be time series."""
        swarm, links = state
        return collect(program, swarm, 0.0, links, series=series)
