"""A peer's uploads between two looks at it, exactly: processor sharing of the cap, block by block.

The limiter gives each connection with data one turn of 1380 B after the other. Between two blocks' ends nothing happens
but that all advance alike, so the next block's end is known in closed form (`advance`). With n active lanes a block
that joins has its first turn when the n - 1 others have had theirs, the next block of a lane one round after the last
turn of the one before; its last turn, when it is in the socket, comes `units - 1` rounds after its first.

What a neighbour does about it, it does at once: `fetch` works out when that has an effect here.
"""

import numpy as np

from btflow.kernels import bits, rules
from btflow.kernels.flow import choke, fetch, peers, transport
from btflow.kernels.flow.interest import block_bytes, told_all
from btflow.kernels.flow.state import CLOSING, FREE_LANE, NO_LANE, SERVING
from btflow.kernels.jit import kernel
from btflow.kernels.state import FOREVER, GAP_BINS


@kernel
def advance(s, p, t):
    """Bring the uploads of peer `p` up to time `t` [s]."""
    peer = s.peer[p]
    first = p * s.lanes
    while True:
        active, least, soon, ending, coming = 0, FOREVER, FOREVER, first, first
        for u in range(first, first + peer.top):
            finish = s.finish[u]
            if finish < FOREVER:
                active += 1
                if finish < least:
                    least, ending = finish, u
            elif s.ready[u] < soon:
                soon, coming = s.ready[u], u
        peer.active = active
        now = peer.now
        end = now + (least - peer.work) * active / peer.cap if active > 0 else FOREVER
        event = min(min(end, soon), min(peer.known_at, min(peer.shown_at, peer.due_at)))
        if event > t:
            if active > 0:
                peer.work += (t - now) * peer.cap / active
                peer.now = t
            return
        event = max(event, now)
        if end <= event:
            peer.work = least
        elif active > 0:
            peer.work += (event - now) * peer.cap / active
        peer.now = event
        if end <= event:
            written(s, p, ending, event, active)
        elif peer.known_at <= event:
            choke.piece_known(s, p, event)
            if told_all(s, p):
                peers.close_to_seeds(s, p, event)
        elif peer.shown_at <= event:
            choke.piece_shown(s, p, event)
        elif peer.due_at <= event:
            peer.due_at = FOREVER
            choke.rechoke(s, p, event)
        elif s.lane[coming].leaving == 1:
            choke.lost_interest(s, p, coming, event)
        else:
            begin(s, p, coming, event, active)


@kernel
def next_block(s, u):
    """Number, in its piece, of the block at the head of lane `u`."""
    return bits.first(s.run[u, 0].blocks)


@kernel
def take_turns(s, p, u):
    """Find how many turns the block at the head of lane `u` takes; returns (turns, bytes of the last one)."""
    run = s.run[u, 0]
    unit = np.int64(s.peer[p].unit)
    piece = np.int64(s.begun[fetch.begun_row(s, u), run.entry].piece)
    size = block_bytes(s, piece, next_block(s, u))
    turns = rules.turns(s.rules, size, unit)
    s.lane[u].units = turns
    return turns, rules.last_turn(s.rules, size, turns, unit)


@kernel
def begin(s, p, u, t, active):
    """The block at the head of lane `u` joins the `active` others at `t`."""
    peer = s.peer[p]
    if active == 0 and peer.free_at > t:
        s.ready[u] = peer.free_at
        return
    turns, _ = take_turns(s, p, u)
    s.ready[u] = FOREVER
    s.lane[u].began = peer.work + peer.unit * (active / (active + 1.0))
    s.finish[u] = s.lane[u].began + (turns - 1) * peer.unit


@kernel
def part_sent(s, u):
    """True if a block of lane `u` has had its first turn."""
    return s.finish[u] < FOREVER and s.peer[u // s.lanes].work >= s.lane[u].began


@kernel
def written(s, p, u, t, active):
    """The block at the head of lane `u` is in its socket at `t`; what is next begins, and the downloader gets it."""
    peer, lane, run = s.peer[p], s.lane[u], s.run[u, 0]
    entry, b = np.int64(run.entry), next_block(s, u)
    piece = np.int64(s.begun[fetch.begun_row(s, u), entry].piece)
    units = np.int64(lane.units)
    size = block_bytes(s, piece, b)
    last_turn = rules.last_turn(s.rules, size, units, np.int64(peer.unit))
    peer.bytes_up += size
    s.gaps[peer.klass, min(active, GAP_BINS - 1)] += units
    stale = lane.stale == 1
    lane.stale = 0
    pop(s, u)
    more = lane.runs > 0
    arrival = transport.block_arrival(s, p, u, t, active, units, more)
    free = s.end[lane.h].free
    work = peer.work
    if active == 1:
        peer.free_at = t + last_turn / peer.cap
    s.finish[u] = FOREVER
    s.ready[u] = FOREVER
    if lane.state == CLOSING:
        fetch.got_block(s, u, entry, b, size, stale, arrival)
        choke.close_lane(s, u, arrival)
        return
    if more:
        continue_lane(s, p, u, t, free, work + last_turn)
    if fetch.got_block(s, u, entry, b, size, stale, arrival):
        fetch.announce(s, lane.g >> s.rules.slot_bits)


@kernel
def continue_lane(s, p, u, t, free, work):
    """The next block asked for on lane `u` follows without a pause if its request is there and the socket not full."""
    at = max(s.run[u, 0].at, free)
    if at > t:
        s.ready[u] = at
        return
    turns, _ = take_turns(s, p, u)
    s.lane[u].began = work
    s.finish[u] = work + (turns - 1) * s.peer[p].unit


@kernel
def pop(s, u):
    """Take the block at the head of lane `u` out of its requests."""
    lane, run = s.lane[u], s.run[u, 0]
    run.blocks = run.blocks & (run.blocks - bits.ONE)
    run.at = run.later
    if run.blocks == bits.EMPTY:
        drop_run(s, u, 0)


@kernel
def drop_run(s, u, i):
    """Take row `i` out of the requests of lane `u`."""
    lane = s.lane[u]
    for j in range(i + 1, lane.runs):
        s.run[u, j - 1] = s.run[u, j]
    lane.runs -= 1
