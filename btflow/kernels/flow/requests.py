"""Requests on a lane, in rows of blocks of one part of a piece: put behind the others, sent, taken back; endgame.

A request's own time is the one at which it reaches the uploader, who sees no request before. `u` is the lane that
serves, `g` the end of the peer that fetches.
"""

import numpy as np

from btflow.kernels import bits
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow import mail, picking, transport
from btflow.kernels.flow.ends import drop_wanted, keeps_unchoked, offer, put_wanted, row_of, wake, wants
from btflow.kernels.flow.state import LEAVES, NO_LANE, SERVING
from btflow.kernels.random import shuffle
from btflow.kernels.swarm import limiter_shares, rates, rules
from btflow.kernels.swarm.ends import client_of
from btflow.kernels.swarm.state import BEGUN_FIRST, FOREVER, NIL, OPEN, SINGLE

JOINS = 4  # rows of requests of a lane from which on more blocks join the last one


@kernel
def download_rate(s, r, e, t, n):
    """Count `n` bytes that come to end `e` at `t` and return the rate as the client measures it [B/s]."""
    if t <= e.last:
        if n == 0.0:
            return e.rate
        t = e.last
    e.rate, e.since, e.last = rates.updated(e.rate, e.since, e.last, t, n, r.rate_window)
    return e.rate


@kernel
def room(s, u):
    """True if lane `u` has a row left for requests."""
    return s.lane[u].runs + s.lane[u].awaited < s.runs


@kernel
def take_blocks(s, u, y, g, entry, most, t):
    """Ask on lane `u` at `t` for up to `most` unrequested blocks of the begun piece whose first part is `entry`."""
    for part in picking.parts(s, entry):
        if most > 0 and s.begun[y, part].unrequested != bits.EMPTY and room(s, u):
            most -= take_of_part(s, u, y, g, part, most, t)


@kernel
def take_of_part(s, u, y, g, entry, most, t):
    """The same of one part of it; returns how many."""
    piece, peer = s.begun[y, entry], s.peer[y]
    blocks = bits.EMPTY
    n = 0
    left = np.uint64(piece.unrequested)
    while n < most and left != bits.EMPTY:
        lowest = left & (~left + bits.ONE)
        blocks |= lowest
        left ^= lowest
        n += 1
    piece.unrequested = left
    peer.unrequested -= n
    if left == bits.EMPTY and not picking.any_free(s, y, entry):
        bits.drop_piece(s.open, y, np.int64(piece.piece))
        drop_wanted(s, y, np.int64(piece.piece))
    if rules.endgame_begins(client_of(s, y), peer.unrequested):
        enter_endgame(s, y)
    at, later = transport.request_arrivals(s, y, g, t, n)
    if client_of(s, y).picker == BEGUN_FIRST or not joins(s, u, entry, blocks, n, at, later):
        ask(s, u, entry, blocks, n, at, later)
    return n


@kernel
def ask(s, u, entry, blocks, n, at, later):
    """Put a row with `n` blocks of a begun piece behind the requests of lane `u`: the first arrives at `at`."""
    lane = s.lane[u]
    run = s.run[u, lane.runs]
    run.blocks = blocks
    run.at = at
    run.later = later
    run.entry = entry
    run.behind = NIL
    run.cancelled = bits.EMPTY
    if at == FOREVER:
        mail.ride(s, np.int64(lane.g), run, later)
    lane.runs += 1
    lane.outstanding += n
    if lane.runs == 1 and lane.leaving == 0 and not s.finish[u] < FOREVER:
        s.ready[u] = at if s.rules.ideal == 1 else max(at, s.end[lane.h].free)
        wake(s, u >> s.lane_bits, s.ready[u])


@kernel
def joins(s, u, entry, blocks, n, at, later):
    """Put `n` blocks into the last row of the requests of lane `u` if there are enough before it; True if so.

    A client that asks for each block by itself would need a row for each.
    """
    lane = s.lane[u]
    if lane.runs < JOINS:
        return False
    run, y = s.run[u, lane.runs - 1], np.int64(lane.g) >> s.rules.slot_bits
    if run.entry != entry or run.cancelled != bits.EMPTY:
        return False
    if at == FOREVER:  # they come with a block of the lane the other way, as those of the row must
        v = (y << s.lane_bits) + s.end[lane.g].lane
        if run.behind == 0 or run.behind != s.net.pull[v].came + mail.committed(s, v, later):
            return False
    elif run.behind != 0:
        return False
    elif limiter_shares.by_shares(s, y) and at > run.later + 0.5 * client_of(s, y).limiter_interval:
        return False  # they leave with another quota
    else:
        run.later = max(run.later, later)
    run.blocks |= blocks
    lane.outstanding += n
    return True


@kernel
def lose_interest(s, u, y, g, t):
    """The downloader of lane `u` has nothing to ask for: the uploader hears of it."""
    lane = s.lane[u]
    if not s.finish[u] < FOREVER:
        lane.runs = 0  # what is left is cancelled
        lane.outstanding = NIL
    if s.rules.tallied == 1:
        s.tally[g].slow = 0  # libtorrent peer_connection.cpp, send_not_interested
    if lane.runs == 0 and lane.leaving == 0 and lane.state == SERVING:
        lane.leaving = LEAVES
        s.ready[u] = transport.message_arrival(s, y, g, t)
        wake(s, u >> s.lane_bits, s.ready[u])


@kernel
def next_block(s, u):
    """Number, in its part of a piece, of the block at the head of lane `u`."""
    return bits.first(s.run[u, 0].blocks)


@kernel
def head_bytes(s, u):
    """Payload of the block at the head of lane `u` [B]; where all are alike, without a look at which it is."""
    if s.alike == 1:
        return np.int64(rules.block_bytes(s.rules, NIL))
    piece = np.int64(s.begun[picking.begun_row(s, u), s.run[u, 0].entry].piece)
    before = (s.run[u, 0].entry & (1 << s.part_bits) - 1) << 6
    return np.int64(rules.block_bytes(s.rules, piece * s.rules.blocks + before + next_block(s, u)))


@kernel
def pop(s, u):
    """Take the block at the head of lane `u` out of its requests."""
    run = s.run[u, 0]
    run.blocks = run.blocks & (run.blocks - bits.ONE)
    if run.behind == 0:
        run.at = run.later
    if run.blocks == bits.EMPTY:
        drop_run(s, u, 0)


@kernel
def skip_cancelled(s, u, t):
    """Take the blocks at the head of lane `u` whose CANCEL has come by `t` out of its requests."""
    lane, run = s.lane[u], s.run[u, 0]
    while lane.runs > 0 and run.cancel_at <= t and bits.has(run.cancelled, next_block(s, u)):
        pop(s, u)


@kernel
def drop_run(s, u, i):
    """Take row `i` out of the requests of lane `u`."""
    lane = s.lane[u]
    for j in range(i + 1, lane.runs):
        s.run[u, j - 1] = s.run[u, j]
    lane.runs -= 1


@kernel
def cancel(s, y, v, entry, block, t):
    """CANCEL for a block, asked for on lane `v` or under way: it is sent all the same if its turn comes first."""
    for i in range(s.lane[v].runs):
        run = s.run[v, i]
        if run.entry == entry and run.blocks & ~run.cancelled & block != bits.EMPTY:
            at = transport.message_arrival(s, y, np.int64(s.lane[v].g), t)
            run.cancel_at = max(run.cancel_at, at) if run.cancelled != bits.EMPTY else at
            run.cancelled |= block
            return True
    if no_longer_awaited(s, v, entry, block):
        transport.message_arrival(s, y, np.int64(s.lane[v].g), t)
        return True
    return False


@kernel
def let_come(s, v, entry, block):
    """A block asked for on lane `v` comes there though nobody wants it; True if it was under way: it counts no more."""
    for i in range(s.lane[v].runs):
        run = s.run[v, i]
        if run.entry == entry and run.blocks & ~run.cancelled & block != bits.EMPTY:
            run.cancelled |= block
            run.cancel_at = FOREVER
            return False
    return no_longer_awaited(s, v, entry, block)


@kernel
def no_longer_awaited(s, u, entry, block):
    """A block of a begun piece is no longer awaited on lane `u`; False if it was not."""
    lane = s.lane[u]
    last = s.runs - lane.awaited
    for i in range(last, s.runs):
        if s.run[u, i].entry == entry and s.run[u, i].blocks == block:
            s.run[u, i] = s.run[u, last]
            lane.awaited -= 1
            return True
    return False


# -- endgame -----------------------------------------------------------------------------------------------------------


@kernel
def enter_endgame(s, y):
    """Every block is requested: from now on peer `y` wants what it misses."""
    peer = s.peer[y]
    peer.endgame = 1
    left = np.uint64(peer.taken)
    while left != bits.EMPTY:
        put_wanted(s, y, np.int64(s.begun[y, bits.first(left) << s.part_bits].piece))
        left &= left - bits.ONE


@kernel
def endgame_everywhere(s, y, t):
    """Endgame has begun: let every lane that serves peer `y` ask for what is missing."""
    for i in range(s.peer[y].n_served):
        endgame_requests(s, np.int64(s.served[y, i]), t)
    ask_idle(s, y, t)


@kernel
def ask_idle(s, y, t):
    """Peer `y` wants more: who had unchoked it while it wanted nothing gets its requests, and the choker runs."""
    base = y << s.rules.slot_bits
    for h in range(base, base + s.peer[y].end_top):
        e = s.end[h]
        if e.state != OPEN:
            continue
        g = np.int64(e.mate)
        p = g >> s.rules.slot_bits
        if s.peer[p].reach == 0 or s.end[g].lane != NO_LANE:
            continue
        if keeps_unchoked(s, g) and wants(s, y, p, offer(s, p)):
            s.peer[p].due_at = min(s.peer[p].due_at, t + transport.half(s, h))
            wake(s, p, s.peer[p].due_at)


@kernel
def endgame_requests(s, u, t):
    """Missing blocks not yet asked of lane `u`, drawn at random, up to the pipeline's floor."""
    lane = s.lane[u]
    if lane.state != SERVING:
        return
    g = np.int64(lane.g)
    y = g >> s.rules.slot_bits
    row = row_of(s, u >> s.lane_bits, np.int64(lane.h))
    r = client_of(s, y)
    rate = download_rate(s, r, s.end[g], t, 0.0)
    floor = rules.pipeline(r, s.rules.block_size, rate, s.rules.blocks * s.runs)
    most = min(floor - lane.outstanding, s.runs - lane.runs - lane.awaited)
    chosen, seen = s.scratch[2], NIL
    left = np.uint64(s.peer[y].taken)
    while left != bits.EMPTY and most > 0:
        first = bits.first(left) << s.part_bits
        left &= left - bits.ONE
        if not bits.has_piece(s.has, row, np.int64(s.begun[y, first].piece)):
            continue
        for entry in picking.parts(s, first):
            blocks = np.uint64(s.begun[y, entry].missing)
            for i in range(lane.runs):
                if s.run[u, i].entry == entry:
                    blocks &= ~(s.run[u, i].blocks & ~s.run[u, i].cancelled)
            for i in range(s.runs - lane.awaited, s.runs):
                if s.run[u, i].entry == entry:
                    blocks &= ~s.run[u, i].blocks
            while blocks != bits.EMPTY:
                block = (entry << 6) + bits.first(blocks)
                blocks &= blocks - bits.ONE
                seen = rules.draw_missing(s.rng, chosen, most, seen, block)
    n = np.int64(min(seen, most))
    if n > 0:
        shuffle(s.rng, chosen, n)
        at, later = transport.request_arrivals(s, y, g, t, n)
        for i in range(n):
            arrival = at if i == 0 or at == FOREVER else later
            ask(s, u, chosen[i] >> 6, bits.ONE << np.uint64(chosen[i] & 63), SINGLE, arrival, later)
    elif lane.outstanding == 0:
        lose_interest(s, u, y, g, t)


@kernel
def cancel_elsewhere(s, y, u, entry, b, t):
    """Endgame: a block arrived, so its other requests are cancelled and those lanes look for more."""
    peer = s.peer[y]
    block = bits.ONE << np.uint64(b)
    for i in range(peer.n_served):
        v = np.int64(s.served[y, i])
        if v == u:
            continue
        lane = s.lane[v]
        if cancel(s, y, v, entry, block, t):
            peer.cancelled += 1
            lane.outstanding -= 1
            if lane.state == SERVING:
                endgame_requests(s, v, t)
