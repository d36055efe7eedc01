"""What is kept of one replica: small arrays, and what was seen on its access links: queues, delays, slots, bytes."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from btflow.kernels.access import state as a
from btflow.kernels.access.state import Access
from btflow.kernels.flow.state import Flow, Net
from btflow.kernels.swarm import state as k
from btflow.kernels.swarm.state import CAUSES, FOREVER, LINKED, TOLD, Swarm
from btflow.swarm.program import Program

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MESSAGES = {
    "piece": k.PIECE,
    "request": k.REQUEST,
    "cancel": k.CANCEL,
    "have": k.HAVE,
    "interested": k.INTERESTED,
    "not interested": k.NOT_INTERESTED,
    "choke": k.CHOKE,
    "unchoke": k.UNCHOKE,
    "bitfield": k.BITFIELD,
    "handshake": k.SYN,
    "offer": k.OFFER,
}
"""Kinds of messages; an offer is a super-seed's HAVE."""

TRAFFIC = ("TCP data", "uTP data", "TCP ACKs", "uTP ACKs", "control")
"""What the bytes on an uplink are, in the order of the kernels' columns; control: of connections of its own."""


@dataclass(frozen=True)
class Uplinks:
    """The links of one replica, from the warm-up on unless it says otherwise.

    Attributes:
        packets: Samples of the uplinks' queues by class and packets waiting (classes, lengths).
        delay: The same by the time until all that waits has left (classes, bins).
        delay_width: Width of a bin of ``delay`` [s].
        messages: Messages by class of the sender, kind and bin of the delay (classes, kinds, bins).
        message_delay: Sum of the delays from writing to delivery [s] (classes, kinds).
        latency: Blocks by class of the receiver and bin of the time since they were asked for (classes, bins).
        block_latency: Sum of these times [s] (classes,).
        slots: Mean number of connections that a leecher is served on (classes,).
        wins: Unchokes that came to each peer, warm-up included (peers,).
        bytes: Bytes that left each uplink, headers included, by what they were, warm-up included (peers, traffic).
        drops: Packets dropped at the uplink and the downlink of each peer, warm-up included (peers, 2).
    """

    packets: Ints
    delay: Ints
    delay_width: float
    messages: Ints
    message_delay: Floats
    latency: Ints
    block_latency: Floats
    slots: Floats
    wins: Ints
    bytes: Floats
    drops: Ints


def _uplinks(x: Access | Net, drops: NDArray[Any]) -> Uplinks:
    """Copy what is kept out of the final state of the links of a replica, and of their drops (peers, 2)."""
    kinds = [int(kind) for kind in MESSAGES.values()]
    samples, served = x.slots.T
    return Uplinks(
        packets=x.queue_packets.copy(),
        delay=x.queue_delay.copy(),
        delay_width=float(x.watch[0].width),
        messages=x.control[:, kinds].copy(),
        message_delay=x.control_sum[:, kinds].copy(),
        latency=x.latency.copy(),
        block_latency=x.latency_sum.copy(),
        slots=np.divide(served, samples, out=np.full(len(samples), np.nan), where=samples > 0),
        wins=x.wins.copy(),
        bytes=x.crossed.copy(),
        drops=drops.astype(np.int64),
    )


def delay_edges() -> Floats:
    """Lower edges of the bins of messages' delays [s] (bins,); the first bin has all below the second edge."""
    return np.asarray(a.SHORTEST * 10.0 ** (np.arange(a.DELAY_BINS) / a.BINS_PER_DECADE), np.float64)


def mean_of_known(values: Floats) -> float:
    """Return the mean of the values that are finite; NaN if none is."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")


def quantile(values: Floats, counts: NDArray[np.generic], q: float) -> float:
    """Return the least of ascending `values` at or below which a share `q` of the counts lies; NaN for no counts."""
    total = np.cumsum(counts, dtype=float)
    if total.size == 0 or total[-1] == 0.0:
        return float("nan")
    return float(values[int(np.searchsorted(total, q * total[-1]))])


GRID_POINTS = 256
"""Most steps of the time grid; being a power of two it leaves 128 to 256 of them."""


@dataclass(frozen=True)
class Replica:
    """The figures of one replica. Arrays (peers,) are in the program's order of peers."""

    cpu: float
    """CPU time it took [s]."""
    last: float
    """Time of the last completion [s]."""
    start: Floats
    """Time each client was started [s] (peers,)."""
    completion: Floats
    """Time from its start to its last piece [s] (peers,); NaN for the initial seeds and for who has not completed."""
    rank: Ints
    """Place of each download in the order of completion, from 0 on; -1 for none (peers,)."""
    counted: NDArray[np.bool_]
    """Whether the download counts: it was completed after the warm-up (peers,)."""
    present: Floats
    """Time each peer was there until the last completion [s] (peers,); 0 for who never started."""
    sent: Floats
    """Payload written [B] (peers,)."""
    received: Floats
    """Payload that arrived, duplicates included [B] (peers,)."""
    duplicates: Ints
    """Blocks that arrived though the peer had them (peers,)."""
    cancelled: Ints
    """Requests withdrawn (peers,)."""
    unchokes: Ints | None
    """Unchokes (peers,); None at flow fidelity, which has none of those that nobody uses."""
    idle_ends: Ints
    """Unchokes ended because the connection was idle (peers,)."""
    slots: Ints | None
    """Peers that the timers of seeds' chokers found unchoked, and those of whom no request waited (2, peers); as
    `unchokes`."""
    held_for: Floats | None
    """Time that unchoked connections were held back by each cause [s] (peers, causes); None at flow fidelity."""
    gaps: Ints
    """Units sent, by class and by the number of connections sharing the limit (classes, connections)."""
    control_gaps: Ints | None
    """Control messages that had a send of their own, by class and by the time since the last send on their connection
    (classes, times); as `unchokes`."""
    bursts: Floats
    """Bursts by the number of writes they carry (writes,)."""
    time_step: float
    """Step of the time grid of `held` [s], a power of two."""
    held: Floats
    """Mean number of pieces a leecher holds at 0, time_step, 2 time_step... until all are complete (times,); empty if
    nobody asked for it."""
    uplinks: Uplinks | None = None
    """What was seen on the peers' access links; None if they have none."""
    path_rtt: Floats | None = None
    """Mean round-trip time of each peer's paths to all others [s] (peers,); None if each pair does not have its own."""
    path_loss: Floats | None = None
    """Mean loss of these paths (peers,)."""
    passed: Floats | None = None
    """Of `sent` what the limit has paid for and, on access links, what came to others [B] (peers,); None: all of it."""

    def packed(self) -> bytes:
        """Return all of it as the bytes of an .npz file, which ``unpacked`` takes."""
        found: dict[str, Any] = {name: value for name, value in vars(self).items() if name != "uplinks"}
        if self.uplinks is not None:
            found |= {f"{_UPLINKS}{name}": value for name, value in vars(self.uplinks).items()}
        content = io.BytesIO()
        np.savez_compressed(
            content, allow_pickle=False, **{name: value for name, value in found.items() if value is not None}
        )
        return content.getvalue()

    @classmethod
    def unpacked(cls, content: bytes) -> Replica:
        """Return the replica that was packed."""
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            found = {name: array[()] if array.ndim == 0 else array for name, array in file.items()}
        uplinks = {name.removeprefix(_UPLINKS): found.pop(name) for name in list(found) if name.startswith(_UPLINKS)}
        missing = {field.name: None for field in fields(cls) if field.name not in found}
        return cls(**missing | found | {"uplinks": Uplinks(**uplinks) if uplinks else None})


_UPLINKS = "uplinks."
"""How the names of what was seen on access links begin in a packed replica."""


SORTED_AT_ONCE = 2**20
"""Times of pieces that are copied and sorted at once: all those of a large swarm would take as much memory again."""

CAUSE_NAMES = ("limiter", "window", "loss", "pipeline", "idle")
"""What held an unchoked connection back, in the order of the kernels' causes: the upload limiter, the congestion
window, the repair of a loss, an empty request pipeline, or a peer that is not interested."""

PER_PEER: dict[str, tuple[Callable[[Replica], NDArray[Any] | None], str, str]] = {
    "completion_time": (lambda r: r.completion, "s", "time from a client's start to its last piece"),
    "start_time": (lambda r: r.start, "s", "time a client is started"),
    "completion_rank": (lambda r: r.rank, "1", "place in the order of completion, from 0 on; -1 for none"),
    "counted": (lambda r: r.counted, "1", "whether the download counts: it was completed after the warm-up"),
    "bytes_sent": (lambda r: r.sent, "B", "payload sent"),
    "bytes_received": (lambda r: r.received, "B", "payload received, duplicates included"),
    "duplicate_blocks": (lambda r: r.duplicates, "1", "blocks received that were already held or no longer wanted"),
    "cancelled_blocks": (lambda r: r.cancelled, "1", "block requests cancelled"),
    "unchokes": (lambda r: r.unchokes, "1", "unchokes given"),
    "idle_terminations": (lambda r: r.idle_ends, "1", "unchokes ended because the connection was idle"),
}
"""Arrays (peers,) of a replica by name: value, unit, meaning. A value that its fidelity does not know is None."""


def collect(
    program: Program, state: Swarm | Flow, cpu: float, links: Access | None = None, *, series: bool = True
) -> Replica:
    """Copy what is kept out of the final state of a replica.

    Args:
        program: What was run.
        state: Its final state.
        cpu: CPU time it took [s].
        links: The final state of its access links.
        series: Whether to find `held`, for which all times of pieces are sorted; empty if not.
    """
    peer, leecher = state.peer, program.is_seed == 0
    done = np.where(leecher & (peer.done >= 0.0), peer.done, np.nan)
    last = float(np.nanmax(done))
    step = time_step(last)
    rank = completion_rank(done)
    started = peer.start < FOREVER
    gone = np.where(peer.left_at >= 0.0, peer.left_at, last)
    return Replica(
        cpu=cpu,
        last=last,
        start=np.where(started, peer.start, np.nan),
        completion=done - peer.start,
        rank=rank,
        counted=(rank >= program.discard) & (rank < program.target),
        present=np.where(started, np.maximum(gone - peer.start, 0.0), 0.0),
        sent=peer.bytes_up.copy(),
        passed=_passed(program, state, gone),
        received=peer.bytes_down.copy(),
        duplicates=peer.duplicates.astype(np.int64),
        cancelled=peer.cancelled.astype(np.int64),
        unchokes=None if isinstance(state, Flow) else peer.unchokes.astype(np.int64),
        idle_ends=peer.idle_ends.astype(np.int64),
        slots=None if isinstance(state, Flow) else np.array([peer.slots_seen, peer.slots_dry]),
        held_for=None if isinstance(state, Flow) else time_by_cause(state, last),
        gaps=state.gaps.copy(),
        control_gaps=None if isinstance(state, Flow) else state.control_gaps.copy(),
        bursts=state.bursts.copy(),
        time_step=step,
        held=pieces_held(state.have_time, step, last, np.flatnonzero(leecher & started)) if series else np.empty(0),
        uplinks=_seen(program, state, links),
        path_rtt=_of_paths(program, state.rtt),
        path_loss=_of_paths(program, state.loss),
    )


def _passed(program: Program, state: Swarm | Flow, gone: Floats) -> Floats:
    """Payload that was sent by the time each peer was `gone`: a limiter writes a unit or a quota before it is paid."""
    peer, begun = state.peer, np.zeros(len(state.peer))  # begun: of blocks that do not count yet [B]
    if isinstance(state, Flow):
        if program.links is not None:  # it counts what came
            return np.asarray(peer.bytes_up.copy(), np.float64)
        partly = np.flatnonzero(state.finish < FOREVER)
        owner = partly >> state.lane_bits
        np.add.at(begun, owner, np.maximum(peer.work[owner] - state.lane.began[partly], 0.0))
        owed = state.session.quota_at - np.minimum(state.session.left, 0.0) / program.upload_limit
        paid_at = np.where(peer.active > 0, peer.now, np.maximum(peer.free_at, owed))  # it looks ahead of the end
    else:
        paid_at, partly = peer.turn, np.flatnonzero(state.turns > 0)
        owner = partly >> state.rules.slot_bits
        np.add.at(begun, owner, (state.conn.full[partly] - state.turns[partly]) * peer.unit[owner])
    capped = np.isfinite(program.upload_limit)
    ahead = np.multiply(paid_at - gone, program.upload_limit, out=np.zeros(len(peer)), where=capped)
    passed = np.maximum(peer.bytes_up - np.maximum(ahead - begun, 0.0), 0.0)
    return np.asarray(passed if program.links is None else np.minimum(passed, peer.bytes_across), np.float64)


def _seen(program: Program, state: Swarm | Flow, links: Access | None) -> Uplinks | None:
    """What was seen on the access links of a replica; None if there are none."""
    if links is not None:
        return _uplinks(links, links.net.queue.drops.reshape(-1, 2))
    if program.links is None or not isinstance(state, Flow):
        return None
    link = state.net.link
    return _uplinks(state.net, np.column_stack([link.dropped, link.dropped_down]))


def _of_paths(program: Program, between: Floats) -> Floats | None:
    """Mean of a peer's paths to the others (peers,) if each pair has its own."""
    if program.internet is None:
        return None
    return np.asarray(between.sum(axis=1) / max(1, len(between) - 1), np.float64)


def sending_rate(program: Program) -> Floats:
    """What each peer may send: its upload limit, or what its uplink lets through if that is less [B/s] (peers,)."""
    limit = program.upload_limit if program.links is None else program.links.upload_rate(program.upload_limit)
    return np.asarray(limit, np.float64)


def utilisation(row: Replica, rate: Floats) -> Floats:
    """Payload that passed over what could while the peer was there (peers,); NaN for who never started.

    Args:
        row: A replica.
        rate: What each peer may send [B/s] (peers,).
    """
    room, passed = rate * row.present, row.sent if row.passed is None else row.passed
    return np.asarray(np.divide(passed, room, out=np.full_like(room, np.nan), where=room > 0.0), np.float64)


def completion_rank(done: Floats) -> Ints:
    """Return the place of each download in the order of completion; -1 where `done` is NaN (peers,)."""
    rank = np.full(done.size, -1)
    order = np.argsort(done, kind="stable")[: int(np.isfinite(done).sum())]
    rank[order] = np.arange(order.size)
    return rank


def time_by_cause(state: Swarm, end: float) -> Floats:
    """Seconds unchoked connections were held back by each cause until `end` (peers, causes), the open ones included.

    A connection's time is charged to its cause when the cause changes; what has run since then is added here.
    """
    held_for: Floats = state.share.copy()
    conn = state.conn
    running = np.flatnonzero((state.dn & LINKED != 0) & (state.up & TOLD != 0) & (conn.cause < CAUSES))
    owner, since = running >> state.rules.slot_bits, conn.cause_since[running]
    np.add.at(held_for, (owner, conn.cause[running]), np.maximum(end - since, 0.0))
    return held_for


def time_step(last: float) -> float:
    """Least power of two [s] that covers 0 to `last` in GRID_POINTS steps.

    Powers of two, so that the grid of a longer replica is part of that of a shorter one, to the bit.
    """
    return 2.0 ** math.ceil(math.log2(last / GRID_POINTS)) if last > 0.0 else 1.0


def pieces_held(have_time: Floats, step: float, last: float, who: Ints) -> Floats:
    """Mean number of pieces held at 0, step... up to the first time at or after `last` (times,).

    Args:
        have_time: Time of each piece of each peer [s] (peers, pieces).
        step: Step of the grid [s].
        last: Time of the last completion [s].
        who: Which peers count.
    """
    grid = step * np.arange(math.ceil(last / step) + 1)
    count = np.zeros(grid.size, np.int64)
    for some in np.array_split(who, 1 + who.size * have_time.shape[1] // SORTED_AT_ONCE):
        count += np.searchsorted(np.sort(have_time[some], axis=None), grid, side="right")
    return np.asarray(count / who.size, np.float64)
