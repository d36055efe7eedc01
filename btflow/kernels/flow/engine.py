"""The main loop at flow fidelity: each peer is looked at in turn, a step apart, and at each tick of its choker.

Peers of equal steps follow each other in a round, so that the next one is known without a search. Between two looks at
a peer, others can change what it will do, never what it has done: `upload.advance` takes its time up to the look alone.
"""

import numpy as np

from btflow.kernels import calendar
from btflow.kernels.compiler import intrinsics
from btflow.kernels.compiler.jit import entry, kernel
from btflow.kernels.flow import (
    choking,
    downloading,
    lanes,
    links,
    peer_set,
    picking_whole,
    superseeding,
    transport,
    uploads,
)
from btflow.kernels.flow.ends import NONE, left, line_up, post, serves_as_seed
from btflow.kernels.swarm import state, tracker

FINISHED, MORE, STUCK, FULL = 0, 1, 2, 3  # why `run` returned, as the full engine says it


@entry
def run(flow, looks):
    """Look at peers up to `looks` times and say why that is all: see engine.py. FULL: more nodes are needed."""
    s = intrinsics.by_ref(flow)
    c = s.clock[0]
    if c.events == 0 and looks > 0:
        if s.rules.linked == 0:
            transport.find_repeats(s)
        start_all(s)
        c.events = 1
    reserve = 8 * s.rules.slots + 2 * s.rules.tracker_reply + 64
    for _ in range(looks):
        if c.unfinished <= 0:  # a look may end several downloads
            transport.count_bursts(s)
            return FINISHED
        if c.n_free < reserve:
            return FULL
        row = earliest(s)
        t = s.peer[first_of(s, row)].visit_at if row != NONE else s.rules.horizon
        if s.soonest[0] <= t:
            n = calendar.filed(s)
            calendar.remove(s, n)
            c.now = s.node[n].time
            take(s, n, c.now)
            n = calendar.filed(s)
            s.soonest[0] = s.node[n].time if n != NONE else state.FOREVER
        elif row == NONE or t > s.rules.horizon:
            return STUCK
        else:
            look(s, row, t)
        c.events += 1
    return MORE


@kernel
def start_all(s):
    """Schedule the start of every client."""
    for p in range(s.rules.peers):
        if s.peer[p].start < state.FOREVER:
            post(s, s.peer[p].start, state.START, p, state.NIL, state.ANY)


@kernel
def first_of(s, row):
    """The peer of a round that is looked at next."""
    return np.int64(s.queue[row, s.round[row].first])


@kernel
def earliest(s):
    """The round whose next peer comes first; NONE if all are empty."""
    best, time = NONE, state.FOREVER
    for row in range(s.round.size):
        if s.round[row].count > 0:
            t = s.peer[first_of(s, row)].visit_at
            if t < time:
                best, time = row, t
    return best


@kernel
def look(s, row, t):
    """Bring the next peer of a round up to `t`; it gets in line again unless it has left."""
    p = first_of(s, row)
    rounds = s.round[row]
    rounds.first = rounds.first + 1 if rounds.first + 1 < s.queue.shape[1] else 0
    rounds.count -= 1
    if rounds.count > 1:
        look_ahead(s, row)
    peer = s.peer[p]
    if peer.present == 0:
        return
    if peer.next_at <= t:
        uploads.advance(s, p, t)
    if peer.tick_at <= t:
        lanes.settle(s, p, t)
        peer.now = t
        peer.ending = -1
        choking.tick(s, p, t)
        uploads.advance(s, p, t)
    line_up(s, p)


@kernel
def look_at_link(s, p, t):
    """Bring the uploads and the access link of peer `p` up to `t`; it is looked at again when something may be new."""
    link = s.net.link[p]
    if link.look_at > t:  # a later look was called off by an earlier one
        return
    link.look_at = state.FOREVER
    if s.peer[p].present == 0:
        return
    bring_up(s, p, t)
    links.move(s, p, t)
    s.peer[p].next_at = 0.0
    s.peer[p].ending = -1
    uploads.advance(s, p, t)
    links.look_again(s, p, t)


@kernel
def look_ahead(s, row):
    """Have the processor fetch what the next looks will touch: the peer after the next, the next one's lanes."""
    at = s.round[row].first
    p = np.int64(s.queue[row, at + 1 if at + 1 < s.queue.shape[1] else 0])
    intrinsics.line(s.peer, p, 0)
    intrinsics.line(s.peer, p, 64)
    intrinsics.line(s.peer, p, 128)
    u = np.int64(s.queue[row, at]) << s.lane_bits
    if s.peer[u >> s.lane_bits].next_at <= s.peer[u >> s.lane_bits].visit_at:
        intrinsics.line(s.finish, u, 0)
        intrinsics.line(s.ready, u, 0)
        v = u + max(0, s.peer[u >> s.lane_bits].ending)
        intrinsics.line(s.lane, v, 0)
        intrinsics.line(s.run, v, 0)
        if s.rules.ideal == 0 and s.rules.linked == 0:
            h = np.int64(s.lane[v].h)
            intrinsics.line(s.wire, h, 0)
            intrinsics.line(s.wire, h, 64)


@kernel
def bring_up(s, p, t):
    """What peer `p` does until `t`, it does with the neighbours that it has until then."""
    peer = s.peer[p]
    if peer.present == 0:
        return
    if peer.next_at <= t:
        uploads.advance(s, p, t)
    lanes.settle(s, p, t)
    peer.now = max(peer.now, t)


@kernel
def bring_up_sources(s, y, t):
    """What serves peer `y` is where it is at `t`: in endgame it is cancelled at what comes first."""
    i = 0
    while i < s.peer[y].n_served:
        bring_up(s, np.int64(s.served[y, i]) >> s.lane_bits, t)
        i += 1


@kernel
def take(s, n, t):
    """An event: a client starts or leaves, the tracker answers, a connection gets further."""
    node = s.node[n]
    kind, target, generation = np.int64(node.kind), np.int64(node.target), node.generation
    piece = np.int64(node.arg)
    calendar.give_node(s, n)
    if kind == state.LOOK:
        look_at_link(s, target, t)
    elif kind == state.START:
        peer_set.start(s, target, t)
    elif kind == state.TRACKER_REPLY:
        tracker.reply(s, target, t, left, serves_as_seed, peer_set.connected_to, peer_set.connect)
    elif kind == state.TRACKER_CHECK:
        tracker.check(s, target, t, left, post, peer_set.ask_tracker)
    elif kind == state.RECONNECT:
        peer_set.reconnect(s, target, piece, t)
    elif kind == state.LEAVE:
        bring_up(s, target, t)
        base = target << s.rules.slot_bits
        for slot in range(s.peer[target].end_top):
            if s.end[base + slot].state == state.OPEN:
                bring_up(s, np.int64(s.end[base + slot].mate) >> s.rules.slot_bits, t)
        peer_set.leave(s, target, t)
    elif s.end[target].generation == generation:
        if (
            kind == state.READY
            or kind == state.BITFIELD
            or kind == state.OFFER
            or kind == state.INTERESTED
            or kind == state.HAVE_ONE
            or kind == state.PULSE
        ):
            bring_up(s, target >> s.rules.slot_bits, t)
            bring_up(s, np.int64(s.end[target].mate) >> s.rules.slot_bits, t)
            if s.end[target].generation != generation:
                return
        if kind == state.SYN:
            peer_set.got_syn(s, target, t)
        elif kind == state.READY:
            peer_set.ready(s, target, t)
        elif kind == state.OFFER:
            superseeding.got_offer(s, target, piece, t)
        elif kind == state.INTERESTED:
            superseeding.got_interest(s, target, piece, t)
        elif kind == state.HAVE_ONE:
            peer_set.reported(s, target, piece, t)
        elif kind == state.BITFIELD:
            peer_set.introduce(s, target, t)
        elif kind == state.PIECE:
            bring_up_sources(s, target >> s.rules.slot_bits, t)
            if s.end[target].generation == generation:
                uploads.awaited_block(s, target, piece, t)
        elif kind == state.PULSE:
            if piece == state.SINGLE:
                downloading.watch(s, target, t)
            else:
                downloading.look_again(s, target, t)
        elif kind == state.REFUSED:
            peer_set.release(s, target, t)
    elif kind == state.PIECE:
        picking_whole.lost_block(s, target, piece)
