"""Chokers that rank all interested peers by one order: those of `kernels/swarm/choking_ranked.py`.

Who becomes interested is known when the interest in a piece is back, or in a new connection: then a free slot is given
at once, and the first time an allowed-fast set.
"""

import numpy as np

from btflow.kernels import bits
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow import downloading, ends, lanes, mail, transport
from btflow.kernels.flow.state import FAST, NO_LANE, SERVING
from btflow.kernels.swarm import rules
from btflow.kernels.swarm.choking_ranked import draw, insert, keep_ranked
from btflow.kernels.swarm.ends import client_of, lower_flag
from btflow.kernels.swarm.state import AT_ONCE, KEPT, NIL, OPTIMISTIC, UNCHOKED


@kernel
def not_interested(s, h):
    """The other side of end `h` wants nothing any more: its slot is no longer kept for it, whatever that is for."""
    lower_flag(s.up, h, OPTIMISTIC)


@kernel
def rank(s, p, t):
    """Ends of the interested peers in the order of their rank, in scratch[3]; returns how many."""
    r, peer, offered = client_of(s, p), s.peer[p], ends.offer(s, p)
    size, n = s.rules.blocks * s.rules.block_size, NIL
    for i in range(peer.n_order):
        entry = s.order[p, ends.place_of(s, p, i)]
        h = ends.own_end(s, p, entry)
        if not ends.may_serve(s, p, entry, offered):
            not_interested(s, h)
        else:
            key, unchoked = s.ranks[s.ranks.size - 1], s.up[h] & UNCHOKED != 0
            rules.rank_by_round(r, key, s.tally[h], ahead(s, p, h, t), size, unchoked, t)
            insert(s, h, n)
            n += 1
    return n


@kernel
def ahead(s, p, h, t):
    """What is written to end `h` and has not come [B]: on access links it is counted when it comes."""
    if s.rules.linked == 0 or s.end[h].lane == NO_LANE:
        return 0.0
    return float(mail.committed(s, (p << s.lane_bits) + s.end[h].lane, t) * s.rules.block_size)


@kernel
def rechoke(s, p, t, renew):
    """Slots by rank, then those for chance; the others are choked first, so that there never are too many."""
    r, peer = client_of(s, p), s.peer[p]
    n = rank(s, p, t)
    wanted = np.int64(rules.slots_by_chance(r, peer.upload_slots))
    keep_ranked(s, r, n, peer.upload_slots - wanted, renew)
    draw(s, r, n, wanted, t)
    first = p << s.lane_bits
    for u in range(first, first + peer.top):
        if s.lane[u].state == SERVING and s.up[s.lane[u].h] & (KEPT | OPTIMISTIC) == 0:
            lanes.choke(s, p, u, t)
    for i in range(n):
        h = s.scratch[3, i]
        if s.up[h] & (KEPT | OPTIMISTIC) != 0:
            if s.up[h] & UNCHOKED == 0:
                lanes.unchoke(s, p, np.int64(s.end[h].at), False, t)
            lower_flag(s.up, h, KEPT)
    peer.rechokes += 1
    new_round(s, p, t)


@kernel
def new_round(s, p, t):
    """The choker of peer `p` has ranked its connections: the bytes of a round are counted anew."""
    base = p << s.rules.slot_bits
    for h in range(base, base + s.peer[p].end_top):
        s.tally[h].got = 0.0
        s.tally[h].sent = 0.0 if s.end[h].lane == NO_LANE else -ahead(s, p, h, t)
    s.session[p].round_at = t


@kernel
def has_free_slot(s, p):
    """True if peer `p` serves fewer than it has slots."""
    n, first = NIL, p << s.lane_bits
    for u in range(first, first + s.peer[p].top):
        n += s.lane[u].state == SERVING
    return n < s.peer[p].upload_slots


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
    if s.end[h].lane == NO_LANE and not ends.seeding(s, q) and asks(s, p, q, size) and ends.has_fast_lane(s, p):
        u = lanes.take_lane(s, p, np.int64(s.end[h].at))
        if u >= 0:
            s.lane[u].state = FAST
            downloading.request_whole(s, u, transport.message_arrival(s, p, h, t))
            lanes.end_fast(s, u, t)  # if it can begin no piece


@kernel
def asks(s, p, q, size):
    """True if peer `q` finds a piece of its set to ask peer `p` for."""
    for i in range(size):
        piece = np.int64(s.fast[q, i])
        if bits.has_piece(s.has, p, piece) and bits.has_piece(s.want, q, piece):
            return True
    return False
