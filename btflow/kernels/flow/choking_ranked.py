"""Chokers that rank all interested peers by one order: those of `kernels/swarm/choking_ranked.py`.

Who becomes interested is known when the interest in a piece is back, or in a new connection: then a free slot is given
at once, and the first time an allowed-fast set.
"""

import numpy as np

from btflow.kernels import bits
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow import downloading, ends, lanes, mail, transport
from btflow.kernels.flow.state import FAST, NO_LANE, SERVING
from btflow.kernels.swarm import extended, rules
from btflow.kernels.swarm.choking_ranked import favour, keep_first, leave_slot
from btflow.kernels.swarm.ends import client_of, lower_flag
from btflow.kernels.swarm.state import AT_ONCE, KEPT, NIL, OPTIMISTIC, UNCHOKED


@kernel
def rank(s, p, t):
    """Ends of the interested peers as the client's choker leaves them, in scratch[3]; returns how many."""
    r, peer, offered = client_of(s, p), s.peer[p], ends.offer(s, p)
    size, n = s.rules.blocks * s.rules.block_size, NIL
    for i in range(peer.n_order):
        entry = s.order[p, ends.place_of(s, p, i)]
        h = ends.own_end(s, p, entry)
        if not ends.may_serve(s, p, entry, offered):
            leave_slot(s, h, t)
        else:
            unchoked = s.up[h] & UNCHOKED != 0
            rules.rank_by_round(r, s.ranks[n], s.tally[h], ahead(s, p, h, t), size, unchoked, t)
            s.scratch[3, n] = h
            n += 1
    rules.split(s.ranks, s.scratch[3], n, np.int64(peer.upload_slots))
    return n


@kernel
def ahead(s, p, h, t):
    """What is written to end `h` and not counted yet [B]: blocks are, once they are whole, on access links here."""
    u = (p << s.lane_bits) + s.end[h].lane
    if s.end[h].lane == NO_LANE:
        return 0.0
    if s.rules.linked == 1:
        return float(mail.committed(s, u, t) * s.rules.block_size)
    left = s.finish[u] - s.peer[p].work if transport.part_sent(s, u, t) else float(s.rules.block_size)
    return max(s.rules.block_size - left, 0.0)


@kernel
def look(s, p, t):
    """A second of the client is over that it has waited for: it looks at its two timers."""
    r, peer, session, base = client_of(s, p), s.peer[p], s.session[p], p << s.rules.slot_bits
    extended.exchange(s, p, (base, base + peer.end_top), ends.is_open, ends.neighbour, send_extended, t)
    if rules.begins_round(r, session, np.int64(peer.degree), t):
        n = rank(s, p, t)
        keep_first(s, r, session, n, np.int64(peer.upload_slots), t)
        first = p << s.lane_bits
        for u in range(first, first + peer.top):
            if s.lane[u].state == SERVING and s.up[s.lane[u].h] & (KEPT | OPTIMISTIC) == 0:
                lanes.choke(s, p, u, t)
        serve(s, p, n, KEPT, t)
        peer.rechokes += 1
        new_round(s, p, t)
    if rules.renews(r, session, t):
        n = choked_or_optimistic(s, p)
        favour(s, r, n, np.int64(peer.upload_slots), t)
        for i in range(n):
            h = s.scratch[3, i]
            if s.up[h] & (UNCHOKED | OPTIMISTIC) == UNCHOKED:
                lanes.choke(s, p, (p << s.lane_bits) + s.end[h].lane, t)
        serve(s, p, n, OPTIMISTIC, t)
        if served(s, p) > peer.upload_slots:
            session.choke_due = t
    peer.tick_at = rules.next_look(session, peer.start, t)
    wake_for(s, p, peer.tick_at)


@kernel
def send_extended(s, h, size, t):
    """Write an extended message of `size` bytes on end `h`: what it says is of no use to flow."""
    transport.arrival(s, h >> s.rules.slot_bits, h, size, t)


@kernel
def serve(s, p, n, flag, t):
    """Unchoke those of the `n` ends in scratch[3] that have a flag; a mark of who is kept is wiped."""
    for i in range(n):
        h = s.scratch[3, i]
        if s.up[h] & flag != 0:
            if s.up[h] & UNCHOKED == 0:
                lanes.unchoke(s, p, np.int64(s.end[h].at), False, t)
            lower_flag(s.up, h, KEPT)


@kernel
def choked_or_optimistic(s, p):
    """Ends of the interested peers with no slot but an optimistic one, in the client's order, in scratch[3]; how many.

    They are those for whom an optimistic slot is.
    """
    peer, offered, n = s.peer[p], ends.offer(s, p), NIL
    for i in range(peer.n_order):
        entry = s.order[p, ends.place_of(s, p, i)]
        h = ends.own_end(s, p, entry)
        if s.up[h] & (UNCHOKED | OPTIMISTIC) != UNCHOKED and ends.may_serve(s, p, entry, offered):
            s.scratch[3, n] = h
            n += 1
    return n


@kernel
def lost_slot(s, p, t):
    """An unchoked peer wants nothing any more, or is gone: the choker runs within a second."""
    s.session[p].choke_due = t
    wake_for(s, p, rules.next_second(s.peer[p].start, t))


@kernel
def wake_for(s, p, at):
    """The choker of peer `p` looks at its timers at `at` [s]."""
    s.peer[p].due_at = min(s.peer[p].due_at, at)
    ends.wake(s, p, at)


@kernel
def new_round(s, p, t):
    """The choker of peer `p` has ranked its connections: the bytes of a round are counted anew."""
    base = p << s.rules.slot_bits
    for h in range(base, base + s.peer[p].end_top):
        s.tally[h].got = 0.0
        s.tally[h].sent = 0.0 if s.end[h].lane == NO_LANE else -ahead(s, p, h, t)
    s.session[p].round_at = t


@kernel
def served(s, p):
    """How many peer `p` serves."""
    n, first = NIL, p << s.lane_bits
    for u in range(first, first + s.peer[p].top):
        n += s.lane[u].state == SERVING
    return n


@kernel
def has_free_slot(s, p):
    """True if peer `p` serves fewer than it has slots."""
    return served(s, p) < s.peer[p].upload_slots


@kernel
def got_interested(s, p, h, t):
    """The interest of the other side of end `h` of peer `p` is known: it gets its set, and a slot if one is free."""
    grant(s, p, h, t)
    if client_of(s, p).free_slots == AT_ONCE and s.up[h] & UNCHOKED == 0 and has_free_slot(s, p):
        lanes.unchoke(s, p, np.int64(s.end[h].at), False, t)


@kernel
def all_interested(s, p, piece, t):
    """The interest in a new piece of peer `p` is back: those who lack it may have become interested with it."""
    r, peer = client_of(s, p), s.peer[p]
    free = r.free_slots == AT_ONCE and has_free_slot(s, p)
    if not free and r.allowed_fast == 0:
        return
    for i in range(peer.n_order):
        entry = s.order[p, ends.place_of(s, p, i)]
        y = ends.other_end(s, entry) >> s.rules.slot_bits
        if not bits.has_piece(s.lacks, y, piece):
            continue
        h = ends.own_end(s, p, entry)
        if s.tally[h].allows == 0:
            grant(s, p, h, t)
        if free and s.up[h] & UNCHOKED == 0:
            lanes.unchoke(s, p, np.int64(s.end[h].at), False, t)
            free = has_free_slot(s, p)


@kernel
def grant(s, p, h, t):
    """Peer `p` allows the other side of end `h`, who is interested for the first time, to ask for its set."""
    g = np.int64(s.end[h].mate)
    q = g >> s.rules.slot_bits
    mine, size = s.tally[h], client_of(s, p).allowed_fast
    if size == 0 or mine.allows > 0 or client_of(s, q).fast_extension == 0 or ends.super_seeding(s, p):
        return
    mine.allows = size
    s.tally[g].allowed = size
    if s.end[h].lane == NO_LANE and not ends.seeding(s, q) and lanes.asks(s, p, q, size) and ends.has_fast_lane(s, p):
        u = lanes.take_lane(s, p, np.int64(s.end[h].at))
        if u >= 0:
            s.lane[u].state = FAST
            downloading.request_whole(s, u, transport.message_arrival(s, p, h, t))
            lanes.end_fast(s, u, t)  # if it can begin no piece
