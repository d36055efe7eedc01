"""Whom a peer serves: the chokers of a leecher and of a seed, and what makes them run between their ticks.

A leecher's client also unchokes those before its optimistic unchoke in its list who are not interested; they get no
lane until they are, but need not be told then (`peer.reach`).
"""

import numpy as np

from btflow.kernels import bits
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow import (
    choking_ranked,
    downloading,
    ends,
    lanes,
    limiter,
    requests,
    superseeding,
    transport,
    windows,
)
from btflow.kernels.flow.state import GONE, SERVING
from btflow.kernels.swarm import rules
from btflow.kernels.swarm.choking_ranked import enlist as enter, leave_slot
from btflow.kernels.swarm.ends import client_of
from btflow.kernels.swarm.state import BY_LIST, FOREVER, NIL

# -- when --------------------------------------------------------------------------------------------------------------


@kernel
def tick(s, p, t):
    """The choker's timer, every 10 s from the client's start."""
    peer = s.peer[p]
    peer.tick_at += client_of(s, p).choke_interval
    peer.ticks += 1
    if ends.super_seeding(s, p):
        superseeding.tick(s, p, t)
    if client_of(s, p).choker != BY_LIST:
        choking_ranked.look(s, p, t)
    elif ends.serves_as_seed(s, p):
        slots = np.int64(peer.upload_slots)
        rechoke_seed(s, p, t, np.int64(rules.forced_unchokes(slots, peer.ticks, peer.opened)))
        peer.opened = 0
    else:
        if rules.is_optimistic_round(client_of(s, p), peer.ticks):
            rotate(s, p)
        rechoke_leecher(s, p, t)


@kernel
def rechoke(s, p, t):
    """An extra rechoke between ticks: no rotation, no forced unchokes; a seed's counts against its next forced ones."""
    if client_of(s, p).choker != BY_LIST:
        choking_ranked.look(s, p, t)
    elif ends.serves_as_seed(s, p):
        s.peer[p].opened += rechoke_seed(s, p, t, NIL)
    else:
        rechoke_leecher(s, p, t)


@kernel
def piece_known(s, p, t):
    """Peer `p` tells its neighbours of its next piece at `t`; who is served and has room asks for it."""
    peer = s.peer[p]
    piece = np.int64(s.have_log[p, peer.n_known])
    peer.n_known += 1
    peer.known_at = FOREVER
    if peer.n_known < peer.n_log:
        peer.known_at = max(t, limiter.news_written(s, p, s.have_time[p, peer.n_known] + transport.news(s, p)))
    peer.last_have = t
    bits.put_piece(s.has, p, piece)
    for i in range(peer.n_order):
        s.copies[piece, ends.other_end(s, s.order[p, i]) >> s.rules.slot_bits] += 1
    if s.rules.tallied == 1:
        limiter.news_read(s, p, t)
    if peer.shown_at == FOREVER:
        peer.shown_at = t + transport.reply(s, p)
    first = p << s.lane_bits
    for u in range(first, first + peer.top):
        if s.lane[u].state == SERVING:
            way = 0.0 if s.rules.linked == 1 else transport.half(s, np.int64(s.lane[u].h))
            downloading.got_have(s, u, piece, t + way)


@kernel
def piece_shown(s, p, t):
    """The interest in the next piece of peer `p` has come back: who was unchoked has asked, the choker runs."""
    peer = s.peer[p]
    piece = np.int64(s.have_log[p, peer.n_shown])
    peer.n_shown += 1
    peer.shown_at = FOREVER
    if peer.n_shown < peer.n_known:
        told = s.have_time[p, peer.n_shown] + transport.news(s, p) + transport.reply(s, p)
        peer.shown_at = max(t, told)
    bits.put_piece(s.shown, p, piece)
    asked = False
    for i in range(min(peer.reach, peer.n_order)):
        entry = s.order[p, ends.place_of(s, p, i)]
        if entry < 0 or not bits.has_piece(s.lacks, entry >> (2 * s.rules.slot_bits), piece):
            continue
        if ends.is_unchoked(s, p, i, peer.reach, entry):
            downloading.asked_for(s, entry >> (2 * s.rules.slot_bits), piece)
            asked = True
    if asked:
        rechoke(s, p, t)
    if s.rules.tallied == 1:
        choking_ranked.all_interested(s, p, piece, t)


@kernel
def lost_interest(s, p, u, t):
    """The downloader of lane `u` wants nothing more: the choker looks for another.

    What it has asked for since is on its way: it counts if it is unchoked still, though it has no lane.
    """
    lane = s.lane[u]
    h, asked = np.int64(lane.h), s.run[u, 0].at if lane.runs > 0 else FOREVER
    s.ready[u] = FOREVER
    lane.leaving = GONE
    if client_of(s, p).choker != BY_LIST:
        leave_slot(s, h, t)
        lanes.choke(s, p, u, t)
        choking_ranked.lost_slot(s, p, t)
        return
    rechoke(s, p, t)
    if asked < FOREVER and ends.keeps_unchoked(s, h):
        s.peer[p].due_at = min(s.peer[p].due_at, asked)
        ends.wake(s, p, asked)


# -- a leecher ---------------------------------------------------------------------------------------------------------


@kernel
def reciprocators(s, p, t, offered, reach):
    """Unchoke and mark the interested peers that `p` downloads from fastest; returns how many.

    The first `reach` of its list know already.
    The sources that sent no block for the snub time are dropped from the list of recent ones.
    """
    peer = s.peer[p]
    base = p << s.rules.slot_bits
    n = kept = NIL
    for i in range(peer.n_recent):
        slot = s.recent[p, i]
        e = s.end[base + slot]
        if rules.snubbed(client_of(s, p), e.last_block, t):
            e.recent = 0
            continue
        s.recent[p, kept] = slot
        kept += 1
        entry = s.order[p, e.at]
        if ends.may_serve(s, p, entry, offered):
            rate = requests.download_rate(s, client_of(s, p), e, t, 0.0)
            n_order, head = np.int64(peer.n_order), np.int64(peer.head)
            rules.insert_source(s.number, s.scratch[3], s.order, p, n_order, head, entry, -rate, n)
            n += 1
    peer.n_recent = kept
    n = rules.reciprocal_slots(n, np.int64(peer.upload_slots))
    for i in range(n):
        entry = s.scratch[3, i]
        place = np.int64(s.end[ends.own_end(s, p, entry)].at)
        lanes.keep(
            s, lanes.unchoke(s, p, place, ends.is_unchoked(s, p, ends.position_of(s, p, place), reach, entry), t)
        )
    return n


@kernel
def rechoke_leecher(s, p, t):
    """Reciprocal slots by download rate, then optimistic ones by the order of the list; everyone else is choked."""
    peer = s.peer[p]
    reach, peer.reach = np.int64(peer.reach), peer.n_order
    offered = ends.offer(s, p)
    kept = reciprocators(s, p, t, offered, reach)
    free = rules.optimistic_slots(client_of(s, p), kept, np.int64(peer.upload_slots))
    i = ends.next_candidate(s, p, NIL, offered)
    while i < peer.n_order:
        place = ends.place_of(s, p, i)
        entry = s.order[p, place]
        if ends.may_serve(s, p, entry, offered):
            lanes.keep(s, lanes.unchoke(s, p, place, ends.is_unchoked(s, p, i, reach, entry), t))
            free -= 1
            if free == 0:
                peer.reach = i + 1
                break
        i = ends.next_candidate(s, p, i + 1, offered)
    peer.rechokes += 1
    lanes.choke_others(s, p, t)


@kernel
def rotate(s, p):
    """Optimistic rotation: the first choked, interested connection becomes the head of the list."""
    peer, offered = s.peer[p], ends.offer(s, p)
    for i in range(peer.n_order):
        entry = s.order[p, ends.place_of(s, p, i)]
        if ends.is_unchoked(s, p, i, peer.reach, entry):
            continue
        if entry < 0 and s.lane[ends.lane_of(s, p, entry)].state == SERVING:
            continue
        if ends.may_serve(s, p, entry, offered):
            peer.head = rules.position(peer.head, i, peer.n_order)
            peer.reach = 0
            return


# -- a seed ------------------------------------------------------------------------------------------------------------


@kernel
def has_pending(s, u, t):
    """True if requests wait at lane `u` besides the part-sent block, and the socket is flushed."""
    lane = s.lane[u]
    if lane.runs == 0 or blocked(s, lane.h, t):
        return False
    if s.rules.linked == 1:  # without a limit a request that waits is one behind a full socket
        return s.net.link[u >> s.lane_bits].capped == 1 and windows.asked(s, u, t) > 1
    run = s.run[u, 0]
    if not ends.part_sent(s, u, t):
        return run.at <= t
    if run.blocks & (run.blocks - bits.ONE) != bits.EMPTY:
        return run.later <= t
    return lane.runs > 1 and s.run[u, 1].at <= t


@kernel
def blocked(s, h, t):
    """True if the socket of end `h` is full."""
    return s.end[h].free > t


@kernel
def keep_unchoked(s, p, t, slots, forced):
    """Mark the best of the served, interested peers of a seed; returns (how many there are, how many marked)."""
    first, offered = p << s.lane_bits, ends.offer(s, p)
    n = NIL
    for u in range(first, first + s.peer[p].top):
        lane = s.lane[u]
        if lane.state == SERVING and ends.may_serve(s, p, s.order[p, s.end[lane.h].at], offered):
            rank = rules.seed_rank(client_of(s, p), lane.unchoked_at, s.peer[p].ticks, has_pending(s, u, t))
            rate = requests.download_rate(s, client_of(s, p), s.end[lane.g], t, 0.0)
            rules.insert_kept(s.number, s.scratch[3], u, rank, -rate, n)
            n += 1
    kept = rules.seed_keeps(n, slots, forced)
    for i in range(kept):
        lanes.keep(s, s.scratch[3, i])
    return n, kept


@kernel
def count_idle_ends(s, p, n, kept):
    """Count peers choked because they were idle while one unchoked before them was kept (statistics only)."""
    oldest = 1 << 30
    for i in range(kept):
        oldest = min(oldest, s.lane[s.scratch[3, i]].unchoked_at)
    for i in range(kept, n):
        lane = s.lane[s.scratch[3, i]]
        if rules.is_idle_end(s.number[i], lane.unchoked_at, oldest) and lane.kept == 0:
            s.peer[p].idle_ends += 1


@kernel
def rechoke_seed(s, p, t, forced):
    """Keep the best of those served, then fill the free slots from the list; returns how many were free."""
    slots = np.int64(s.peer[p].upload_slots)
    n, kept = keep_unchoked(s, p, t, slots, forced)
    told = fill(s, p, t, slots - kept)
    if n > kept:
        count_idle_ends(s, p, n, kept)
    lanes.choke_others(s, p, t)
    return slots - kept - told


@kernel
def fill(s, p, t, free):
    """Walk the list from its head: `free` interested peers get a slot; rotate behind the last.

    A leecher that has just become a seed has unchoked the first of them already; returns how many of these.
    """
    peer, offered = s.peer[p], ends.offer(s, p)
    reach, peer.reach = np.int64(peer.reach), 0
    told = NIL
    if free <= 0:
        return told
    for i in range(peer.n_order):
        place = ends.place_of(s, p, i)
        entry = s.order[p, place]
        if not ends.may_serve(s, p, entry, offered):
            continue
        serving = entry < 0 and s.lane[ends.lane_of(s, p, entry)].state == SERVING
        if not rules.may_fill(serving, blocked(s, ends.own_end(s, p, entry), t)):
            continue
        knows = ends.is_unchoked(s, p, i, reach, entry)
        lanes.keep(s, lanes.unchoke(s, p, place, knows, t))
        told += knows
        free -= 1
        if free == 0:
            peer.head = rules.position(peer.head, i + 1, peer.n_order)
            break
    return told


# -- the list ----------------------------------------------------------------------------------------------------------


@kernel
def list_entry(s, h, g):
    """What stands in the choker's list for end `h`, whose other side is end `g`."""
    return (g << s.rules.slot_bits) + (h & (s.rules.slots - 1))


@kernel
def stranger(s, h):
    """What stands there until its interest is known: as if the other side were one more peer, who wants nothing."""
    return list_entry(s, h, s.rules.peers << s.rules.slot_bits)


@kernel
def enlist(s, h):
    """A new connection enters the choker's list."""
    p = h >> s.rules.slot_bits
    peer = s.peer[p]
    enter(s, p, stranger(s, h))
    note_places(s, p)
    s.listed[h] = peer.rechokes
    if ends.position_of(s, p, np.int64(s.end[h].at)) < peer.reach:
        peer.reach += 1  # those behind it that are unchoked stay so; it is not


@kernel
def delist(s, h):
    """A closed connection leaves the choker's list; what its peer has told of is a copy less for the other side."""
    p = h >> s.rules.slot_bits
    peer = s.peer[p]
    q = np.int64(s.end[h].mate) >> s.rules.slot_bits
    entry = s.order[p, s.end[h].at]
    if entry != stranger(s, h) and not ends.seeding(s, q):
        for i in range(peer.n_known):
            s.copies[s.have_log[p, i], q] -= 1
    if ends.position_of(s, p, np.int64(s.end[h].at)) < peer.reach:
        peer.reach -= 1
    peer.head = rules.delist(s.order, p, np.int64(peer.n_order), np.int64(peer.head), entry)
    peer.n_order -= 1
    if s.rules.tallied == 1:
        s.session[p].closed = 1
    note_places(s, p)


@kernel
def note_places(s, p):
    """Each end of peer `p` has its place in the choker's list."""
    for j in range(s.peer[p].n_order):
        s.end[ends.own_end(s, p, s.order[p, j])].at = j
