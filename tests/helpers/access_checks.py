"""What must hold of a swarm on access links between any two events, counted anew from what the arrays say."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import access_made as made
import numpy as np
from numpy.typing import NDArray

from btflow.kernels.access.state import SMALLEST_RING, TOP, Access
from btflow.kernels.calendar import NONE
from btflow.kernels.link import state as k
from btflow.kernels.swarm.limiter import WITHDRAWN
from btflow.kernels.swarm.state import (
    CONNECTING,
    ENDGAME,
    FREE,
    INCOMING,
    LEFT,
    LINKED,
    MISSING,
    OPEN,
    OUTGOING,
    PIECE,
    RINGED,
    SEEDING,
    SUPER,
    UNCHOKED,
    UNREQUESTED,
    Swarm,
)
from btflow.swarm.program import Program

Bits = NDArray[np.bool_]


def check(s: Swarm, x: Access) -> None:
    """Check everything."""
    check_flows(x)
    check_rings(x)
    check_queues(x)
    check_connections(s, x)
    check_blocks(s)
    check_requests(s)
    check_copies(s)
    check_nodes(s, x)


def check_flows(x: Access) -> None:
    """Bytes are acknowledged after they are delivered, delivered after they are cut, cut after they are written."""
    n = x.net
    f = n.flow[made.live(x)]
    assert (f["acked"] <= f["in_order"]).all()
    assert (f["in_order"] <= f["cut"]).all()
    assert (f["cut"] <= f["wrote"]).all()
    assert (f["una"] <= f["expected"]).all()
    assert (f["expected"] <= f["nxt"]).all()
    assert (2 * (f["nxt"] - f["una"]) <= f["ring_mask"] + 1).all()
    for one in f[f["nxt"] > f["una"]]:
        check_window(n, one)
    for one in f[f["first_message"] != NONE]:
        ends = [int(x.swarm.node.lap[m]) for m in chain(x.swarm.node.next, one["first_message"])]
        assert one["in_order"] < ends[0]
        assert ends == sorted(set(ends))
        assert ends[-1] <= one["wrote"]


def check_window(n: k.State, f: Any) -> None:
    """The segments under way are the bytes cut and not acknowledged, and each is on its way, lost or arrived."""
    window = n.segment[f["ring_at"] + (np.arange(f["una"], f["nxt"]) & f["ring_mask"])]
    assert f["acked"] + window["bytes"].sum() == f["cut"]
    assert (window["end"] == f["acked"] + np.cumsum(window["bytes"])).all()
    arrived, lost = window["bits"] & k.SACKED != 0, window["bits"] == k.LOST
    assert f["waiting_retransmit"] == np.count_nonzero(lost)
    assert f["flight"] == np.count_nonzero(~arrived & ~lost)


def check_rings(x: Access) -> None:
    """Every place of the pool that was ever used belongs to the ring of one flow, or to one free ring."""
    f = x.net.flow[made.live(x)]
    taken = [(int(at), int(mask) + 1) for at, mask in zip(f["ring_at"], f["ring_mask"], strict=True)]
    free = [
        (at, 1 << power)
        for power in range(SMALLEST_RING, int(TOP))
        for at in chain(x.net.log, x.rings[power])
        if x.rings[power] != NONE
    ]
    next_place = 0
    for at, length in sorted(taken + free):
        assert at == next_place
        next_place += length
    assert next_place == x.rings[TOP]


def check_queues(x: Access) -> None:
    """No queue holds more than its limit, and it holds what it says."""
    n, used = x.net, 0
    q = n.queue
    assert (q["packets"] >= 0).all()
    assert (q["packets"] <= q["limit_packets"]).all()
    assert (q["bytes"] <= q["limit_bytes"] + 1e-6).all()
    for one in q:
        if one["kind"] in (k.DROP_TAIL, k.PIE):
            held = n.service[one["offset"] + (np.arange(one["first"], one["last"]) & one["mask"])]
            assert one["last"] - one["first"] <= one["mask"] + 1
        else:
            held = n.waiting[waiting(n, one)]
            used += len(held)
        assert held["packets"].sum() == one["packets"]
        assert abs(held["bytes"].sum() - one["bytes"]) < 1e-6
    assert used + len(list(chain(n.waiting.next, n.clock[0].free))) == n.waiting.size
    check_pipes(n)
    check_hosts(x)


def check_hosts(x: Access) -> None:
    """CAKE: each direction of an access link is of one host, which counts its bulk flows."""
    n = x.net
    for number, queue in enumerate(n.queue):
        if queue["kind"] == k.CAKE:
            lines = turns(n, queue)
            host = (number >> 1 << x.swarm.rules.slot_bits + 2) + (number & 1)
            assert (n.subqueue.host[lines] == host).all()
            assert n.subqueue.bulk[lines].sum() == n.subqueue.bulk_flows[host]


def check_pipes(n: k.State) -> None:
    """What is under way arrives in order, in no more places than there is room for; each place is used once or free."""
    ways = [list(islice(chain(n.parcel.next, pipe["first"]), int(pipe["count"]))) for pipe in n.pipe]
    assert [len(way) for way in ways] == n.pipe["count"].tolist()
    assert all(way[-1] == last for way, last in zip(ways, n.pipe["last"], strict=True) if way)
    assert (n.pipe["count"] <= n.pipe["room"]).all()
    assert all((np.diff(n.parcel["at"][way]) >= 0.0).all() for way in ways)
    free = list(chain(n.parcel.next, n.clock[0].free_parcel))
    assert sorted(sum(ways, free)) == list(range(n.clock[0].used_parcels))


def waiting(n: k.State, q: Any) -> list[int]:
    """Return the nodes of what waits in a queue that is served by event."""
    if q["kind"] == k.CODEL:
        return list(chain(n.waiting.next, q["head"]))
    return [node for line in turns(n, q) for node in chain(n.waiting.next, n.subqueue.head[line])]


def turns(n: k.State, q: Any) -> list[int]:
    """Return the subqueues of a queue that have something to send, or had."""
    return [*chain(n.subqueue.next, q["new_first"]), *chain(n.subqueue.next, q["old_first"])]


def check_connections(s: Swarm, x: Access) -> None:
    """A connection has two ends; lists and counts of each peer are those of its ends; who left has none."""
    peers, bits = s.rules.peers, s.rules.slot_bits
    state = s.conn.state.reshape(peers, -1)
    is_open = state == OPEN
    trying = (state == CONNECTING) & (s.conn.outgoing.reshape(peers, -1) == OUTGOING)
    assert ((s.dn.reshape(peers, -1) & LINKED != 0) == is_open).all()
    assert (s.peer.complete == is_open.sum(axis=1)).all()
    assert (s.peer.degree == (is_open | trying).sum(axis=1)).all()
    assert (s.peer.n_unchoked == (s.up.reshape(peers, -1) & UNCHOKED != 0).sum(axis=1)).all()
    opened = np.flatnonzero(s.conn.state == OPEN)
    mates = s.mate[opened]
    assert (s.mate[mates] == opened).all()
    assert np.isin(s.conn.state[mates], (OPEN, CONNECTING)).all()
    assert not ((s.conn.state[mates] == CONNECTING) & (s.conn.outgoing[mates] == INCOMING)).any()
    for p in range(peers):
        slots = set(np.flatnonzero(is_open[p]).tolist())
        assert sorted(s.order[p, : s.peer.n_order[p]].tolist()) == sorted(slots)
        ring = s.ring[p, : s.peer.n_ring[p]].tolist()
        assert sorted(ring) == np.flatnonzero(s.up.reshape(peers, -1)[p] & RINGED).tolist()
    left = s.mode & LEFT != 0
    assert (state[left] == FREE).all()
    registered = s.registered[1 : 1 + s.registered[0]]
    assert not left[registered].any()
    assert (np.sort(registered) == np.flatnonzero(s.peer.registered)).all()
    flows = made.live(x)
    used = s.conn.state[flows % (peers << bits)] != FREE
    assert used.all()
    idle = np.setdiff1d(np.arange(x.net.flow.size), flows)
    assert (x.net.pos[: 3 * x.net.flow.size].reshape(-1, 3)[idle] == NONE).all()


def check_blocks(s: Swarm) -> None:
    """Who lacks a block has it unrequested or outstanding, once, unless in endgame; sums and sets say the same."""
    blocks = s.rules.blocks
    for p in np.flatnonzero(s.mode & (SEEDING | LEFT) == 0):
        words = s.blocks.shape[2]
        missing, unrequested = (
            np.hstack([unpacked(s.blocks[p, :, w], 64) for w in range(i, words, 2)])[:, :blocks]
            for i in (MISSING, UNREQUESTED)
        )
        assert not (unrequested & ~missing).any()
        assert s.peer.unrequested[p] == np.count_nonzero(unrequested)
        assert (unpacked(s.want[p], 64).ravel()[: s.rules.pieces] == unrequested.any(axis=1)).all()
        assert (unpacked(s.has[p], 64).ravel()[: s.rules.pieces] == ~missing.any(axis=1)).all()
        asked = [b for h in made.ends_of(s, int(p)) if s.conn.state[h] == OPEN for b in outstanding(s, h)]
        if s.mode[p] & ENDGAME:
            assert set(asked) <= set(np.flatnonzero(missing.ravel()))
        else:
            assert sorted(asked) == np.flatnonzero((missing & ~unrequested).ravel()).tolist()


def unpacked(words: NDArray[np.uint64], width: int) -> Bits:
    """Return the bits of some words (words, width)."""
    shifts = np.arange(width, dtype=np.uint64)
    return np.asarray((words[:, None] >> shifts) & np.uint64(1), bool)


def outstanding(s: Swarm, h: int) -> list[int]:
    """Return the blocks that end `h` has asked for and waits for."""
    c = s.conn[h]
    room = s.requests.shape[1]
    assert c.dn_tail - c.dn_next <= room
    entries = s.requests[s.conn.row[s.mate[h]], np.arange(c.dn_next, c.dn_tail) % room]
    return [int(entry) for entry in entries if entry >= 0]


def check_requests(s: Swarm) -> None:
    """Requests are made, heard of and answered in this order, and as many are outstanding as the count says."""
    for h in np.flatnonzero(s.conn.state == OPEN):
        c, other = s.conn[h], s.conn[s.mate[h]]
        assert c.dn_base <= c.dn_next <= c.dn_tail
        assert other.up_head <= other.up_seen <= c.dn_tail
        assert c.outstanding == len(outstanding(s, int(h)))
        if s.turns[h] > 0:
            assert s.requests[c.row, c.up_head % s.requests.shape[1]] > -WITHDRAWN
            assert s.turns[h] <= c.full


def check_copies(s: Swarm) -> None:
    """A leecher counts the copies that its open connections have told it of."""
    for p in np.flatnonzero(s.mode & (SEEDING | LEFT) == 0):
        copies = np.zeros(s.rules.pieces, int)
        for h in made.ends_of(s, int(p)):
            if s.conn.state[h] == OPEN:
                g = s.mate[h]
                q = g >> s.rules.slot_bits
                if s.mode[q] & SUPER:
                    copies += unpacked(s.offered[g], 64).ravel()[: s.rules.pieces]
                else:
                    copies[s.have_log[q, : s.told[g]]] += 1
        assert (copies == s.copies[:, p]).all()


def check_nodes(s: Swarm, x: Access) -> None:
    """Every node is free, in the calendar, or a message that waits or is on its way."""
    timers = 2 * s.rules.peers
    posted = int(np.count_nonzero(s.node.bucket[timers:] != NONE))
    at = np.concatenate([x.net.flow["first_message"][made.live(x)], s.conn.out_first[s.conn.state != FREE]])
    messages = 0
    while (at := at[at != NONE]).size:  # one message further in all chains at once
        messages += at.size
        at = s.node.next[at]
    assert s.clock[0].n_free + posted + messages == s.node.size - timers
    assert s.todo[0] == 0
    assert not s.marked.any()


def chain(following: Any, first: int) -> Iterator[int]:
    """Go through a list of places that each say which comes next."""
    at = int(first)
    while at != NONE:
        yield at
        at = following[at]


class Served:
    """Whether a link serves more than its rate in any time between two moments at which it is looked at."""

    def __init__(self, program: Program) -> None:
        assert program.links is not None
        self.rate = np.where(np.isfinite(program.links.queue["rate"]), program.links.queue["rate"], 0.0)
        self.limited = np.flatnonzero(self.rate > 0.0)
        self.most = float(
            (program.links.template["mss"] + program.links.template["header"]).max()
        ) + program.links.queue["framing"].astype(float)
        self.level = np.zeros(self.rate.size)

    def look(self, s: Swarm, x: Access) -> None:
        """Look at all links now: S(t) - rate t may rise by a packet, which is counted when its service begins."""
        now = float(s.clock[0].now)
        level = np.array([made.served(x, queue) for queue in range(self.rate.size)]) - self.rate * now
        over = (level - self.level)[self.limited]
        assert (over <= self.most[self.limited] + 1e-3).all()
        self.level = np.minimum(self.level, level)


def check_completion(program: Program, s: Swarm) -> None:
    """The downloads that count are complete; who is done holds each piece once, and has got each byte once."""
    rules = program.rules
    assert s.clock[0].unfinished == 0
    assert s.clock[0].now < rules.horizon
    done = (s.peer.done >= 0.0) & (program.is_seed == 0)
    assert np.count_nonzero(done) == program.target
    assert (np.sort(s.have_log[done], axis=1) == np.arange(rules.pieces)).all()
    assert (s.n_log[done] == rules.pieces).all()
    assert (np.diff(s.have_time[done], axis=1) >= 0.0).all()
    assert (s.have_time[done][:, -1] == s.peer.done[done]).all()
    assert (s.peer.done[done] > s.peer.start[done]).all()
    blocks = (rules.pieces - 1) * rules.blocks + rules.last_piece_blocks
    file_size = (blocks - 1) * rules.block_size + rules.last_block_size
    more = s.peer.bytes_down[done] - file_size
    short = rules.block_size - rules.last_block_size
    missing = s.peer.duplicates[done] * rules.block_size - more
    assert (missing >= 0).all()
    assert (missing == 0).all() if short == 0 else (missing % short == 0).all()


def check_bytes(s: Swarm, x: Access) -> None:
    """What was written and has not arrived is on the way, or its connection was closed."""
    way = 0
    for h in made.live(x):
        for m in chain(s.node.next, x.net.flow["first_message"][h]):
            if s.node.kind[m] == PIECE:
                entry = int(s.requests[s.conn.row[h], s.node.arg[m] % s.requests.shape[1]])
                block = entry if entry >= 0 else -1 - entry - (WITHDRAWN if entry <= -WITHDRAWN else 0)
                rules = s.rules
                last = (rules.pieces - 1) * rules.blocks + rules.last_piece_blocks - 1
                way += int(rules.last_block_size if block == last else rules.block_size)
    assert s.peer.bytes_up.sum() >= s.peer.bytes_down.sum() + way
