"""Who may download: mainline's choker of a leecher and a seed (4.0.2 Choker), every 10 s and on three kinds of event.

A client whose choker ranks all peers by one order has that of choking_ranked.py.

The list of connections is circular and starts at `peer.head`; rotating it moves the head.
"""

import numpy as np

from btflow.kernels import calendar
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.swarm import choking_ranked, ends, picking, picking_whole, rules, state, superseeding
from btflow.kernels.swarm.limiter import forget, queued, sync
from btflow.kernels.swarm.messages import choke, send, unchoke
from btflow.kernels.swarm.rates import download_rate, upload_rate


@kernel
def listed(s, p, i):
    """End at position `i` of the choker's list."""
    peer = s.peer[p]
    return (p << s.rules.slot_bits) + s.order[p, rules.position(peer.head, i, peer.n_order)]


@kernel
def enlist(s, h):
    """A new connection enters the list."""
    p = h >> s.rules.slot_bits
    choking_ranked.enlist(s, p, h - (p << s.rules.slot_bits))


@kernel
def delist(s, h):
    """A closed connection leaves the list."""
    p = h >> s.rules.slot_bits
    peer = s.peer[p]
    slot = h - (p << s.rules.slot_bits)
    peer.head = rules.delist(s.order, p, np.int64(peer.n_order), np.int64(peer.head), slot)
    peer.n_order -= 1
    if s.rules.tallied == 1:
        s.session[p].closed = 1


@kernel
def forget_snubbed(s, p, t):
    """Drop the sources that sent no block for the snub time from the peer's list of recent ones."""
    peer = s.peer[p]
    base = p << s.rules.slot_bits
    kept = 0
    for i in range(peer.n_recent):
        slot = s.recent[p, i]
        c = s.conn[base + slot]
        if not ends.linked(s, base + slot) or rules.snubbed(ends.client_of(s, p), c.last_block, t):
            c.recent = 0
        else:
            s.recent[p, kept] = slot
            kept += 1
    peer.n_recent = kept


@kernel
def reciprocators(s, p, t):
    """Mark the interested, unsnubbed peers we download from fastest, by slot in scratch[3]; returns how many."""
    peer = s.peer[p]
    base = p << s.rules.slot_bits
    forget_snubbed(s, p, t)
    n_order, head = np.int64(peer.n_order), np.int64(peer.head)
    n = state.NIL
    for i in range(peer.n_recent):
        slot = np.int64(s.recent[p, i])
        c = s.conn[base + slot]
        if s.up[base + slot] & state.INTERESTED_IN_US != 0:
            rate = download_rate(ends.client_of(s, p), c, t, 0.0)
            rules.insert_source(s.number, s.scratch[3], s.order, p, n_order, head, slot, -rate, n)
            n += 1
    n = rules.reciprocal_slots(n, np.int64(peer.upload_slots))
    for i in range(n):
        ends.raise_flag(s.up, base + s.scratch[3, i], state.KEPT)
    return n


@kernel
def rechoke_leecher(s, p, t):
    """Reciprocal slots by download rate, then optimistic ones by the order of the list; everyone else is choked.

    The walk ends where nobody is left to unchoke or to choke.
    """
    n = reciprocators(s, p, t)
    base = p << s.rules.slot_bits
    for i in range(n):
        unchoke(s, base + s.scratch[3, i], t)
    peer = s.peer[p]
    optimistic = rules.optimistic_slots(ends.client_of(s, p), n, np.int64(peer.upload_slots))
    others = peer.n_unchoked - n
    for i in range(peer.n_order):
        if optimistic == 0 and others == 0:
            break
        h = listed(s, p, i)
        flags = s.up[h]
        if flags & state.KEPT != 0:
            continue
        unchoked = flags & state.UNCHOKED != 0
        if unchoked:
            others -= 1
        if optimistic > 0:
            if flags & state.INTERESTED_IN_US != 0:
                optimistic -= 1
            if not unchoked:
                unchoke(s, h, t)
        elif unchoked:
            choke(s, h, t)
    for i in range(n):
        ends.lower_flag(s.up, base + s.scratch[3, i], state.KEPT)


@kernel
def has_pending(s, h):
    """True if requests wait and the socket is flushed; a peer without them is idle in the eyes of the seed."""
    return queued(s, h) and s.up[h] & state.BLOCKED == 0


@kernel
def keep_unchoked(s, p, t, slots, forced):
    """Mark the best of the unchoked, interested peers of a seed; returns (how many there are, how many marked)."""
    sync(s, p, t)
    n = state.NIL
    for i in range(s.peer[p].n_order):
        h = listed(s, p, i)
        if s.up[h] & state.UNCHOKED != 0 and s.up[h] & state.INTERESTED_IN_US != 0:
            rank = rules.seed_rank(ends.client_of(s, p), s.conn[h].up_round, s.peer[p].ticks, has_pending(s, h))
            rules.insert_kept(s.number, s.scratch[3], h, rank, -upload_rate(s, h, t, 0.0), n)
            n += 1
    kept = rules.seed_keeps(n, slots, forced)
    for i in range(kept):
        ends.raise_flag(s.up, s.scratch[3, i], state.KEPT)
    return n, kept


@kernel
def count_idle_ends(s, p, n, kept):
    """Count peers choked because they were idle while one unchoked before them was kept (statistics only)."""
    oldest = 1 << 30
    for i in range(kept):
        oldest = min(oldest, s.conn[s.scratch[3, i]].up_round)
    for i in range(kept, n):
        h = s.scratch[3, i]
        if rules.is_idle_end(s.number[i], s.conn[h].up_round, oldest) and s.up[h] & state.UNCHOKED == 0:
            s.peer[p].idle_ends += 1


@kernel
def rechoke_seed(s, p, t, forced):
    """Keep the best of the unchoked, then fill the free slots from the list; returns how many were free."""
    slots = np.int64(s.peer[p].upload_slots)
    n, kept = keep_unchoked(s, p, t, slots, forced)
    fill(s, p, t, slots - kept)
    count_idle_ends(s, p, n, kept)
    return slots - kept


@kernel
def fill(s, p, t, free):
    """Walk the list from its head: `free` interested peers get a slot, others are choked; rotate behind the last."""
    peer = s.peer[p]
    last = -1
    for i in range(peer.n_order):
        h = listed(s, p, i)
        flags = s.up[h]
        if flags & state.KEPT != 0:
            ends.lower_flag(s.up, h, state.KEPT)
        elif (
            free > 0
            and flags & state.INTERESTED_IN_US != 0
            and rules.may_fill(flags & state.UNCHOKED != 0, flags & state.BLOCKED != 0)
        ):
            unchoke(s, h, t)
            free -= 1
            if free == 0:
                last = i
        elif flags & state.UNCHOKED != 0:
            choke(s, h, t)
    if last >= 0:
        peer.head = rules.position(peer.head, last + 1, peer.n_order)


@kernel
def rechoke(s, p, t):
    """An extra rechoke between ticks: no rotation, no forced unchokes; a seed's counts against its next forced ones."""
    if ends.client_of(s, p).choker != state.BY_LIST:
        choking_ranked.lost_slot(s, p, t)
    elif ends.seeding(s, p):
        s.peer[p].opened += rechoke_seed(s, p, t, state.NIL)
    else:
        rechoke_leecher(s, p, t)


@kernel
def rotate(s, p):
    """Optimistic rotation: the first choked, interested connection becomes the head of the list."""
    peer = s.peer[p]
    for i in range(peer.n_order):
        h = listed(s, p, i)
        if s.up[h] & state.UNCHOKED == 0 and s.up[h] & state.INTERESTED_IN_US != 0:
            peer.head = rules.position(peer.head, i, peer.n_order)
            return


@kernel
def tick(s, p, t):
    """The choker's timer (node N + p), every 10 s from the client's start."""
    peer = s.peer[p]
    calendar.insert(s, s.rules.peers + p, t + ends.client_of(s, p).choke_interval)
    peer.ticks += 1
    if ends.super_seeding(s, p):
        superseeding.tick(s, p, t)
    if ends.client_of(s, p).choker != state.BY_LIST:
        choking_ranked.tick(s, p, t)
    elif ends.seeding(s, p):
        slots = np.int64(peer.upload_slots)
        # count the slots of a seed and those where no request waits, as its timer finds them (statistics only)
        sync(s, p, t)
        for i in range(s.peer[p].n_order):
            h = listed(s, p, i)
            if s.up[h] & state.UNCHOKED != 0 and s.up[h] & state.INTERESTED_IN_US != 0:
                s.peer[p].slots_seen += 1
                if not queued(s, h):
                    s.peer[p].slots_dry += 1
        rechoke_seed(s, p, t, np.int64(rules.forced_unchokes(slots, peer.ticks, peer.opened)))
        peer.opened = 0
    else:
        if rules.is_optimistic_round(ends.client_of(s, p), peer.ticks):
            rotate(s, p)
        rechoke_leecher(s, p, t)
    if ends.client_of(s, p).request_interval > 0.0:
        picking_whole.review_interest(s, p, t)


@kernel
def grant(s, h, t):
    """The peer of end `h` wants something, for the first time: it is told of its set, but for what it has."""
    p, q = h >> s.rules.slot_bits, ends.neighbour(s, h)
    y, size = s.tally[h], ends.client_of(s, p).allowed_fast
    if size == 0 or y.allows > 0 or ends.client_of(s, q).fast_extension == 0 or ends.super_seeding(s, p):
        return
    y.allows = size
    for i in range(size):
        if not picking.told_of(s, h, np.int64(s.fast[q, i])):
            send(s, h, state.ALLOWED_FAST, np.int64(i), t)


@kernel
def got_interested(s, h, t):
    """INTERESTED arrived."""
    c = s.conn[h]
    if s.up[h] & state.INTERESTED_IN_US == 0:
        ends.raise_flag(s.up, h, state.INTERESTED_IN_US)
        if s.up[h] & state.TOLD != 0 and c.cause == state.IDLE:
            ends.set_cause(s, h, state.BY_PIPELINE, t)
        if s.rules.tallied == 1:
            grant(s, h, t)
        if ends.client_of(s, h >> s.rules.slot_bits).choker != state.BY_LIST:
            choking_ranked.got_interested(s, h, t)
        elif s.up[h] & state.UNCHOKED != 0:
            rechoke(s, h >> s.rules.slot_bits, t)


@kernel
def got_not_interested(s, h, t):
    """NOT INTERESTED arrived: queued requests are dropped."""
    if s.up[h] & state.INTERESTED_IN_US != 0:
        ends.lower_flag(s.up, h, state.INTERESTED_IN_US)
        forget(s, h, t)
        if s.up[h] & state.TOLD != 0 and s.turns[h] == 0:
            ends.set_cause(s, h, state.IDLE, t)
        if s.up[h] & state.UNCHOKED != 0:
            choking_ranked.leave_slot(s, h, t)
            if ends.client_of(s, h >> s.rules.slot_bits).free_slots == state.AT_ONCE:
                choke(s, h, t)
            rechoke(s, h >> s.rules.slot_bits, t)
