"""A peer's uploads between two looks at it, exactly: processor sharing of the upload limit, block by block.

The limiter gives each connection with data one turn of 1380 B after the other. Between two blocks' ends nothing happens
but that all advance alike, so the next block's end is known in closed form (`advance`). With n active lanes a block
that joins has its first turn when the n - 1 others have had theirs, the next block of a lane one round after the last
turn of the one before; its last turn, when it is in the socket, comes `units - 1` rounds after its first.

What a neighbour does about it, it does at once: `downloading` works out when that has an effect here.
"""

import numpy as np

from btflow.kernels import bits
from btflow.kernels.access.state import TCP_ACKS, TCP_DATA
from btflow.kernels.compiler import intrinsics
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow import (
    choking,
    downloading,
    lanes,
    limiter,
    links,
    mail,
    peer_set,
    picking,
    requests,
    transport,
    windows,
)
from btflow.kernels.flow.ends import drop_wanted, lacks_some, post, row_of, told_all
from btflow.kernels.flow.state import BUSY, CLOSING, FAST, LEAVES, NO_LANE, SERVING
from btflow.kernels.swarm import limiter_shares, rates, rules
from btflow.kernels.swarm.ends import client_of
from btflow.kernels.swarm.state import ASK_AND_KEEP, BEGUN_FIRST, FOREVER, GAP_BINS, NIL, PIECE

AT_ONCE = 8  # lanes whose times are compared together; each peer has as many, or a multiple


@kernel
def advance(s, p, t):
    """Bring the uploads of peer `p` up to time `t` [s]."""
    peer = s.peer[p]
    first = p << s.lane_bits
    ending = np.int64(peer.ending)  # if nothing has changed since the last look, it found what comes now
    while True:
        if ending >= 0:
            peer.now = max(peer.next_at, peer.now)
            if s.rules.linked == 1:
                received(s, p, first + ending, peer.now)
            else:
                peer.work = s.finish[first + ending]
                written(s, p, first + ending, peer.now)
        least, soon = FOREVER, FOREVER
        for u in range(first, first + peer.top, AT_ONCE):
            least = min(least, soonest(s.finish, u))
            soon = min(soon, soonest(s.ready, u))
        end = least
        if s.rules.linked == 0:
            end = peer.now + (least - peer.work) * peer.active * peer.per_byte if peer.active > 0 else FOREVER
        event = min(min(end, soon), min(peer.known_at, min(peer.shown_at, peer.due_at)))
        peer.next_at = event
        if event > t:
            peer.ending = lane_at(s.finish, first, least) - first if end <= event and peer.active > 0 else -1
            return
        event = max(event, peer.now)
        ending = lane_at(s.finish, first, least) - first if end <= event else np.int64(-1)
        if ending >= 0:
            continue
        lanes.settle(s, p, event)
        peer.now = event
        if peer.known_at <= event:
            choking.piece_known(s, p, event)
            if told_all(s, p):
                peer_set.close_to_seeds(s, p, event)
        elif peer.shown_at <= event:
            choking.piece_shown(s, p, event)
        elif peer.due_at <= event:
            peer.due_at = FOREVER
            choking.rechoke(s, p, event)
        else:
            called(s, p, lane_at(s.ready, first, soon), event)


@kernel
def soonest(times, u):
    """The least of the times of `AT_ONCE` lanes, from `u` on: pairs as a processor compares them side by side."""
    a, b = min(times[u], times[u + 4]), min(times[u + 1], times[u + 5])
    c, d = min(times[u + 2], times[u + 6]), min(times[u + 3], times[u + 7])
    return min(min(a, c), min(b, d))


@kernel
def lane_at(times, u, value):
    """The first lane from `u` on that has this value, where one does: compared side by side, without a guess."""
    while True:
        at = NIL
        for i in range(AT_ONCE):
            at |= np.int64(times[u + i] == value) << i
        if at != 0:
            return u + bits.first(np.uint64(at))
        u += AT_ONCE


@kernel
def called(s, p, u, t):
    """Lane `u` is ready: its block begins, or its downloader has lost interest."""
    if s.lane[u].leaving == LEAVES:
        choking.lost_interest(s, p, u, t)
    else:
        begin(s, p, u, t)


@kernel
def set_turns(s, p, u):
    """Write down how many turns the block at the head of lane `u` takes."""
    peer = s.peer[p]
    turns = np.int64(peer.turns)
    if s.alike == 0:
        turns = rules.turns(s.rules, requests.head_bytes(s, u), np.int64(peer.unit))
    s.lane[u].units = turns
    return turns


@kernel
def begin(s, p, u, t):
    """The block at the head of lane `u` joins the active ones at `t`."""
    if s.rules.linked == 1:
        begin_stream(s, p, u, t)
        return
    peer = s.peer[p]
    active = np.int64(peer.active)
    early = 0.0
    if active == 0:
        at = limiter.begun_at(s, p, t)
        if at > t:
            s.ready[u] = at
            return
        if limiter.in_quotas(s, p):
            early = (t - at) * peer.upload_limit
    s.ready[u] = FOREVER
    requests.skip_cancelled(s, u, t)
    if s.lane[u].runs == 0:
        return
    turns = set_turns(s, p, u)
    if active == 0 and limiter_shares.by_shares(s, p):
        s.session[p].left = early
        early = limiter.spend(s, p, float((turns - 1) * peer.unit))
    s.lane[u].since = t
    s.lane[u].began = peer.work + peer.unit * (active / (active + 1.0)) - early
    s.finish[u] = s.lane[u].began + (turns - 1) * peer.unit
    peer.active += 1


@kernel
def written(s, p, u, t):
    """The block at the head of lane `u` is in its socket at `t`; what is next begins, and the downloader gets it."""
    peer, lane, run = s.peer[p], s.lane[u], s.run[u, 0]
    active = np.int64(peer.active)
    fetch_ahead(s, np.int64(lane.g))
    entry, b = np.int64(run.entry), requests.next_block(s, u)
    units = np.int64(lane.units)
    size = requests.head_bytes(s, u)
    rates.note_sent(s, np.int64(lane.h), float(size), t)
    last_turn = rules.last_turn(s.rules, size, units, np.int64(peer.unit))
    peer.bytes_up += size
    s.gaps[peer.klass, min(active, GAP_BINS - 1)] += units
    stale = bits.has(run.cancelled, b)
    requests.pop(s, u)
    requests.skip_cancelled(s, u, t)
    more = lane.runs > 0
    arrival = transport.block_arrival(
        s, p, u, limiter.block_released(s, p, t), active, units, more and s.run[u, 0].at <= t
    )
    free = t if s.rules.ideal == 1 else s.end[lane.h].free
    work = peer.work
    if active == 1:
        peer.free_at = t + last_turn * peer.per_byte
    s.finish[u] = FOREVER
    peer.active -= 1
    s.ready[u] = FOREVER
    closing = lane.state == CLOSING
    if more and not closing:
        continue_lane(s, p, u, t, free, work + last_turn)
    if s.rules.tallied == 1:
        if peer.active == 0 and limiter_shares.by_shares(s, p):
            limiter.keep(s, p, last_turn, t)
        limiter.charge_packets(s, np.int64(lane.h), size, False, t)
    if arrival > t and not stale and s.peer[lane.g >> s.rules.slot_bits].endgame != 0 and requests.room(s, u):
        await_block(s, u, entry, b, arrival)
    elif got_block(s, u, np.int64(lane.g), entry, b, size, stale, 0.0, arrival):
        downloading.announce(s, lane.g >> s.rules.slot_bits)
    if closing:
        lanes.close_lane(s, u, t, arrival)
    elif stale and lane.outstanding == 0 and not keeps(s, np.int64(lane.g)):
        requests.lose_interest(s, u, picking.begun_row(s, u), np.int64(lane.g), arrival)
    if s.rules.tallied == 1:
        lanes.end_fast(s, u, arrival)


@kernel
def begin_stream(s, p, u, t):
    """The block at the head of lane `u` of a peer with an access link is sent from `t` on."""
    s.ready[u] = FOREVER
    requests.skip_cancelled(s, u, t)
    if s.lane[u].runs == 0:
        return
    if s.run[u, 0].at > t:  # the request behind a cancelled block is still on its way
        s.ready[u] = s.run[u, 0].at
        return
    if s.peer[p].active == 0:  # it was idle up to now: what this lane sends comes from now on
        links.move(s, p, t)
        s.net.link[p].step = links.SHORTEST_STEP
    s.peer[p].active += 1
    links.begin(s, p, u, float(requests.head_bytes(s, u) + s.rules.header), s.run[u, 0].at, t)


@kernel
def received(s, p, u, t):
    """The block at the head of lane `u` of a peer with an access link is at its downloader at `t`."""
    peer, lane, run, pull = s.peer[p], s.lane[u], s.run[u, 0], s.net.pull[u]
    there = windows.handed_over(pull, t)
    if there > t:
        s.finish[u] = there
        return
    fetch_ahead(s, np.int64(lane.g))
    entry, b = np.int64(run.entry), requests.next_block(s, u)
    size = requests.head_bytes(s, u)
    peer.bytes_up += size
    rates.note_sent(s, np.int64(lane.h), float(size), t)
    if s.rules.tallied == 1:
        limiter.charge_packets(s, np.int64(lane.h), size, False, t)
    s.gaps[peer.klass, min(peer.active, GAP_BINS - 1)] += 1
    s.net.crossed[p, TCP_DATA + s.net.protocol[lane.h]] += size * pull.bytes * pull.per_mss
    s.net.crossed[pull.to, TCP_ACKS + s.net.protocol[lane.h]] += size * pull.per_ack
    stale, first = bits.has(run.cancelled, b), pull.hold
    requests.pop(s, u)
    requests.skip_cancelled(s, u, t - mail.lag(s, u, t))
    pull.came += 1
    if pull.riders == 1:
        mail.land(s, u, np.int64(pull.came), t)
    closing = lane.state == CLOSING
    if closing:
        pull.left -= 1
    follows = lane.runs > 0 and (not closing or pull.left > 0)
    at = s.run[u, 0].at if follows else FOREVER
    if at <= t:
        hold = at + windows.one_way(s, p, np.int64(lane.g) >> s.rules.slot_bits) - links.own_wait(s, p, u)
        links.follow(s, u, float(requests.head_bytes(s, u) + s.rules.header), hold, t)
    else:
        peer.active -= 1
        lanes.stop(s, p, u, t)
        s.ready[u] = at
    if got_block(s, u, np.int64(lane.g), entry, b, size, stale, first, t):
        downloading.announce(s, lane.g >> s.rules.slot_bits)
    if closing:
        if not follows:
            lanes.close_lane(s, u, t, t)
    elif stale and lane.outstanding == 0 and not keeps(s, np.int64(lane.g)):
        requests.lose_interest(s, u, picking.begun_row(s, u), np.int64(lane.g), t)
    if s.rules.tallied == 1:
        lanes.end_fast(s, u, t)


@kernel
def continue_lane(s, p, u, t, free, work):
    """The next block asked for on lane `u` follows without a pause if its request is there and the socket not full."""
    at = max(s.run[u, 0].at, free)
    if at > t:
        s.ready[u] = at
        return
    turns = set_turns(s, p, u)
    if s.rules.tallied == 1 and s.peer[p].active == 0:
        work -= limiter.spend(s, p, float((turns - 1) * s.peer[p].unit))
    s.lane[u].since = t
    s.lane[u].began = work
    s.finish[u] = work + (turns - 1) * s.peer[p].unit
    s.peer[p].active += 1


# -- at the other side -------------------------------------------------------------------------------------------------


@kernel
def fetch_ahead(s, g):
    """Have the processor fetch what the owner of end `g` will look at when the block arrives."""
    y = g >> s.rules.slot_bits
    intrinsics.line(s.end, g, 0)
    intrinsics.line(s.peer, y, 64)
    intrinsics.line(s.begun, y, 0)
    if s.rules.ideal == 0 and s.rules.linked == 0:
        intrinsics.line(s.wire, g, 0)


@kernel
def await_block(s, u, entry, b, t):
    """In endgame a block is there when it arrives, and no sooner: another may come before it from elsewhere."""
    lane = s.lane[u]
    lane.awaited += 1
    run = s.run[u, s.runs - lane.awaited]
    run.entry = entry
    run.blocks = bits.ONE << np.uint64(b)
    piece, part = np.int64(s.begun[picking.begun_row(s, u), entry].piece), entry & (1 << s.part_bits) - 1
    number = (((piece << s.part_bits) + part) << 6) + b
    post(s, t, PIECE, np.int64(lane.g), (number << 8) + lane.use, s.end[lane.g].generation)


@kernel
def awaited_block(s, g, arg, t):
    """A block arrives at end `g` that was awaited."""
    y, h = g >> s.rules.slot_bits, np.int64(s.end[g].mate)
    use, b, piece = arg & 255, arg >> 8 & 63, arg >> 14 + s.part_bits
    u = ((h >> s.rules.slot_bits) << s.lane_bits) + s.end[h].lane if s.end[h].lane != NO_LANE else picking.NOTHING
    part, came = arg >> 14 & (1 << s.part_bits) - 1, not bits.has_piece(s.lacks, y, piece)
    entry = picking.first_part(s, y, piece) + part
    if came or (u != picking.NOTHING and s.lane[u].use != use):
        u = picking.NOTHING  # cancelled, and its row may be another piece's by now; or choked since
    elif u != picking.NOTHING and not requests.no_longer_awaited(s, u, entry, bits.ONE << np.uint64(b)):
        u = picking.NOTHING  # cancelled
    stale = came or not bits.has(s.begun[y, entry].missing, b)
    size = np.int64(rules.block_bytes(s.rules, piece * s.rules.blocks + (part << 6) + b))
    if got_block(s, u, g, entry, b, size, stale, 0.0, t):
        downloading.announce(s, y)
    if u != picking.NOTHING:
        lanes.end_fast(s, u, t)


@kernel
def got_block(s, u, g, entry, b, size, stale, first, t):
    """Block `b` of the part `entry` of a begun piece arrives at end `g` at `t`; True if that completes it.

    It comes on lane `u`, which may be NOTHING if it has ended since. A stale block was not wanted any more. On an
    access link its first byte came at `first`.
    """
    y = g >> s.rules.slot_bits
    peer, e = s.peer[y], s.end[g]
    peer.bytes_down += size
    if stale:
        peer.duplicates += 1
        if u == picking.NOTHING or not keeps(s, g):
            return False
    if u != picking.NOTHING:
        s.lane[u].outstanding -= 1
    r = client_of(s, y)
    if s.rules.tallied == 1:
        rtt = 0.0 if s.rules.linked == 1 else 2.0 * transport.half(s, g)
        begun = rates.first_byte(s.tally[g], max(e.last_block, first), rtt, t)
        rates.note_bytes(s, g, float(size), begun, t, u != picking.NOTHING and s.lane[u].state == SERVING)
        rates.note_block(s, g, e.last_block, t, not stale)
        limiter.charge_packets(s, g, size, True, t)
    if stale:
        e.last_block = t
        if s.lane[u].state == SERVING or s.lane[u].state == FAST:
            downloading.request_more(s, u, NIL, t)
        return False
    rates.note_source(s, e, g, t)
    requests.download_rate(s, r, e, t, float(size))
    piece = s.begun[y, entry]
    piece.missing = bits.without_bit(piece.missing, b)
    piece.last = max(piece.last, t)
    last, done = piece.last, piece.missing == bits.EMPTY
    if done and s.part_bits > 0:
        for part in picking.parts(s, entry):
            done = done and s.begun[y, part].missing == bits.EMPTY
            last = max(last, s.begun[y, part].last)
    full = done and picking.rows_taken(s, y)
    if done:
        downloading.complete(s, y, entry, last)
    if r.picker != BEGUN_FIRST:
        block_came(s, y, u, entry, b, done, t)
    if full:
        downloading.ask_again(s, y, t)
    if peer.endgame == 1:
        requests.cancel_elsewhere(s, y, u, entry, b, t)
    if u != picking.NOTHING and (s.lane[u].state == SERVING or s.lane[u].state == FAST):
        downloading.request_more(s, u, NIL, t)
    return done


@kernel
def block_came(s, y, u, entry, b, done, t):
    """A block of peer `y` is here: nobody else need bring it; with a whole piece some have nothing for us any more."""
    begun = s.begun[y, entry]
    if bits.has(np.uint64(begun.unrequested), b):  # it was taken for a lane that had not been asked for it yet
        begun.unrequested = bits.without_bit(np.uint64(begun.unrequested), b)
        s.peer[y].unrequested -= 1
        if not picking.any_free(s, y, entry):
            bits.drop_piece(s.open, y, np.int64(begun.piece))
            drop_wanted(s, y, np.int64(begun.piece))
    if s.peer[y].endgame == BUSY:
        cancel_elsewhere(s, y, u, entry, bits.ONE << np.uint64(b), client_of(s, y).endgame == ASK_AND_KEEP, t)
    if done:
        lose_interest(s, y, t)


@kernel
def cancel_elsewhere(s, y, u, entry, block, kept, t):
    """Take back the other requests of a block that has come, or have them come if `kept`; those lanes look for more."""
    for i in range(s.peer[y].n_served - 1, -1, -1):  # from the last: a lane that ends takes its place
        v = np.int64(s.served[y, i])
        if v != u and (requests.let_come(s, v, entry, block) if kept else requests.cancel(s, y, v, entry, block, t)):
            s.peer[y].cancelled += not kept
            s.lane[v].outstanding -= 1
            downloading.request_whole(s, v, t)
            lanes.end_fast(s, v, t)


@kernel
def keeps(s, g):
    """True if the owner of end `g` never cancels the other requests of a block that has come."""
    return client_of(s, g >> s.rules.slot_bits).endgame == ASK_AND_KEEP


@kernel
def lose_interest(s, y, t):
    """A piece is complete: those that have nothing for peer `y` any more are told."""
    for i in range(s.peer[y].n_served):
        v = np.int64(s.served[y, i])
        if s.lane[v].state == SERVING and not lacks_some(s, y, row_of(s, v >> s.lane_bits, np.int64(s.lane[v].h))):
            requests.lose_interest(s, v, y, np.int64(s.lane[v].g), t)
