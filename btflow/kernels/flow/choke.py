"""Whom a peer serves: the chokers of a leecher and of a seed, and what makes them run between their ticks.

Interest is not announced: it is looked up when a choker asks. A leecher's client also unchokes those before its
optimistic unchoke in its list who are not interested; they get no lane until they are, but need not be told then
(`peer.reach`).
"""

import numpy as np

from btflow.kernels import bits
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow import fast, fetch, losses, quota, ranked, stream, superseed, transport, upload, windows
from btflow.kernels.flow.interest import offer, serves_as_seed, super_seeding, wants
from btflow.kernels.flow.state import CLOSING, FAST, FREE_LANE, GONE, LEAVES, NO_LANE, SERVING
from btflow.kernels.swarm import rates, rules
from btflow.kernels.swarm.ends import client_of
from btflow.kernels.swarm.state import BY_LIST, FOREVER, NIL


@kernel
def piece_known(s, p, t):
    """Peer `p` tells its neighbours of its next piece at `t`; who is served and has room asks for it."""
    peer = s.peer[p]
    piece = np.int64(s.have_log[p, peer.n_known])
    peer.n_known += 1
    peer.known_at = FOREVER
    if peer.n_known < peer.n_log:
        peer.known_at = max(t, quota.message_written(s, p, s.have_time[p, peer.n_known] + transport.news(s, p)))
    peer.last_have = t
    bits.put_piece(s.has, p, piece)
    for i in range(peer.n_order):
        s.copies[piece, other_end(s, s.order[p, i]) >> s.rules.slot_bits] += 1
    if peer.shown_at == FOREVER:
        peer.shown_at = t + transport.reply(s, p)
    first = p << s.lane_bits
    for u in range(first, first + peer.top):
        if s.lane[u].state == SERVING:
            way = 0.0 if s.rules.linked == 1 else transport.half(s, np.int64(s.lane[u].h))
            fetch.got_have(s, u, piece, t + way)


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
        entry = s.order[p, place_of(s, p, i)]
        if entry < 0 or not bits.has_piece(s.lacks, entry >> (2 * s.rules.slot_bits), piece):
            continue
        if is_unchoked(s, p, i, peer.reach, entry):
            fetch.asked_for(s, entry >> (2 * s.rules.slot_bits), piece)
            asked = True
    if asked:
        rechoke(s, p, t)
    if s.rules.tallied == 1:
        ranked.all_interested(s, p, piece, t)


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
        choke(s, p, u, t)
        soon = rules.next_second(s.peer[p].start, t)
        s.peer[p].due_at = min(s.peer[p].due_at, soon)
        fetch.wake(s, p, soon)
        return
    if s.rules.tallied == 1:
        ranked.not_interested(s, h)
    rechoke(s, p, t)
    if asked < FOREVER and keeps_unchoked(s, h):
        s.peer[p].due_at = min(s.peer[p].due_at, asked)
        fetch.wake(s, p, asked)


@kernel
def place_of(s, p, i):
    """Place in `order` of position `i` of the choker's list."""
    peer = s.peer[p]
    return np.int64(rules.position(peer.head, i, peer.n_order))


@kernel
def position_of(s, p, place):
    """Position in the choker's list of a place in `order`."""
    peer = s.peer[p]
    return place - peer.head if place >= peer.head else place - peer.head + peer.n_order


@kernel
def is_unchoked(s, p, i, reach, entry):
    """True if the choker, when it last ran, unchoked who is at position `i` of its list: up to `reach`, none since."""
    return i < reach and s.listed[own_end(s, p, entry)] < s.peer[p].rechokes


@kernel
def keeps_unchoked(s, h):
    """True if the other side of end `h` is unchoked, though it may have no lane as it wanted nothing."""
    p, at = h >> s.rules.slot_bits, np.int64(s.end[h].at)
    return is_unchoked(s, p, position_of(s, p, at), s.peer[p].reach, s.order[p, at])


@kernel
def other_end(s, entry):
    """The other side's end of an entry of the list."""
    return (entry if entry >= 0 else -1 - entry) >> s.rules.slot_bits


@kernel
def own_end(s, p, entry):
    """The end of peer `p` of an entry of its list."""
    slot = (entry if entry >= 0 else -1 - entry) & (s.rules.slots - 1)
    return (p << s.rules.slot_bits) + slot


@kernel
def lane_of(s, p, entry):
    """The lane of an entry of the list that has one."""
    return (p << s.lane_bits) + s.end[own_end(s, p, entry)].lane


@kernel
def may_serve(s, p, entry, offered):
    """True if who is at an entry of the list is interested in `p`, as far as `p` knows, and not marked to be kept."""
    if entry < 0:
        lane = s.lane[lane_of(s, p, entry)]
        if lane.kept == 1 or lane.leaving == GONE:
            return False
        if lane.outstanding > 0 or lane.leaving == LEAVES:
            return True
    if super_seeding(s, p):
        return superseed.interested(s, own_end(s, p, entry))
    return wants(s, other_end(s, entry) >> s.rules.slot_bits, p, offered)


@kernel
def next_candidate(s, p, i, offered):
    """The first position of the list, from `i` on, of one that is served or interested; behind it if there is none."""
    n, head, shift = np.int64(s.peer[p].n_order), np.int64(s.peer[p].head), 2 * s.rules.slot_bits
    while i < n:
        entry = s.order[p, rules.position(head, i, n)]
        if entry < 0 or wants(s, entry >> shift, p, offered):
            break
        i += 1
    return i


@kernel
def blocked(s, h, t):
    """True if the socket of end `h` is full."""
    return s.end[h].free > t


# -- lanes ------------------------------------------------------------------------------------------------------------


@kernel
def unchoke(s, p, place, told, t):
    """Serve who is at a place of `order` and may know already; the lane, or -1 if all are in use."""
    peer = s.peer[p]
    entry = s.order[p, place]
    if entry < 0:
        u = lane_of(s, p, entry)
        lane = s.lane[u]
        if lane.state == CLOSING:
            lane.state = SERVING
            lane.unchoked_at = peer.ticks
            ranked.note_unchoked(s, np.int64(lane.h), t)
        elif lane.state == FAST:
            rates.settle(s, np.int64(lane.g), t, False)
            lane.state = SERVING
            lane.unchoked_at = peer.ticks
            peer.unchokes += 1
            ranked.note_unchoked(s, np.int64(lane.h), t)
            fetch.request_more(s, u, NIL, transport.message_arrival(s, p, np.int64(lane.h), t))
        return u
    u = take_lane(s, p, place)
    if u < 0:
        return u
    lane = s.lane[u]
    h, g = np.int64(lane.h), np.int64(lane.g)
    y = g >> s.rules.slot_bits
    if s.rules.tallied == 1:
        rates.settle(s, g, t, False)
    lane.state = SERVING
    peer.unchokes += 1
    ranked.note_unchoked(s, h, t)
    if told:
        heard = t - transport.half(s, h)
        transport.message_arrival(s, y, g, heard)  # that it is interested: its requests are right behind
    else:
        heard = transport.message_arrival(s, p, h, t)
    fetch.request_more(s, u, NIL, heard)
    return u


@kernel
def take_lane(s, p, place):
    """A lane for who is at a place of `order`, its state to be said; -1 if all are in use."""
    peer = s.peer[p]
    entry, first = s.order[p, place], p << s.lane_bits
    i = 0
    while i < s.lanes and s.lane[first + i].state != FREE_LANE:
        i += 1
    if i == s.lanes:
        return np.int64(-1)
    peer.top = max(peer.top, i + 1)
    u = first + i
    lane = s.lane[u]
    h = own_end(s, p, entry)
    g = np.int64(s.end[h].mate)
    y = g >> s.rules.slot_bits
    s.end[h].lane = i
    s.order[p, place] = -1 - entry
    lane.h, lane.g = h, g
    lane.runs = 0
    lane.outstanding = 0
    lane.leaving = 0
    lane.kept = 0
    lane.use += 1
    lane.awaited = 0
    lane.behind = 0.0
    lane.unchoked_at = peer.ticks
    if s.rules.linked == 1:
        stream.renew(s, u)
    s.served[y, s.peer[y].n_served] = u
    s.peer[y].n_served += 1
    return u


@kernel
def keep(s, u):
    """Mark lane `u`, if there is one: `choke_others` spares it."""
    if u >= 0:
        s.lane[u].kept = 1


@kernel
def choke(s, p, u, t):
    """Serve lane `u` no more; a part-sent block is finished first, and what it may be asked for choked or not."""
    lane = s.lane[u]
    if s.rules.tallied == 1:
        ranked.note_choked(s, np.int64(lane.h))
        rates.settle(s, np.int64(lane.g), t, True)
        s.tally[lane.g].idle = 0
        if fast.goes_on(s, p, u, t):
            return
    if s.rules.linked == 1:
        left = stream.committed(s, u, t)
        if left > 0:
            s.net.pull[u].left = left
            lane.state = CLOSING
        else:
            close_lane(s, u, t, transport.message_arrival(s, p, np.int64(lane.h), t))
    elif upload.part_sent(s, u, t):
        lane.state = CLOSING
    else:
        close_lane(s, u, t, transport.message_arrival(s, p, np.int64(lane.h), t))


@kernel
def close_lane(s, u, t, heard):
    """Lane `u` ends at `t`; its downloader hears of it at `heard`."""
    p = u >> s.lane_bits
    lane = s.lane[u]
    if s.finish[u] < FOREVER:
        upload.settle(s, p, t)
        s.peer[p].active -= 1
        if s.rules.linked == 1:
            upload.stop(s, p, u, t)
    if s.rules.linked == 1:
        losses.answer_now(s, np.int64(lane.h), s.net.flow[lane.h], s.net.pull[u], t)
    s.finish[u] = FOREVER
    s.ready[u] = FOREVER
    fetch.wake(s, p, 0.0)
    lane.state = FREE_LANE
    e = s.end[lane.h]
    e.lane = NO_LANE
    s.order[p, e.at] = -1 - s.order[p, e.at]
    fetch.let_go(s, u, heard)
    top = s.peer[p].top
    while top > 0 and s.lane[(p << s.lane_bits) + top - 1].state == FREE_LANE:
        top -= 1
    s.peer[p].top = top


@kernel
def end_fast(s, u, t):
    """A lane that serves an allowed-fast set ends when all that was asked for has come."""
    lane = s.lane[u]
    if lane.state == FAST and lane.outstanding == 0 and not s.finish[u] < FOREVER:
        close_lane(s, u, t, t)


@kernel
def choke_others(s, p, t):
    """Serve only the lanes that are marked; the marks are wiped."""
    first = p << s.lane_bits
    for u in range(first, first + s.peer[p].top):
        lane = s.lane[u]
        if lane.state == SERVING and lane.kept == 0:
            choke(s, p, u, t)
        lane.kept = 0


# -- a leecher --------------------------------------------------------------------------------------------------------


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
        if may_serve(s, p, entry, offered):
            rate = fetch.download_rate(s, client_of(s, p), e, t, 0.0)
            n_order, head = np.int64(peer.n_order), np.int64(peer.head)
            rules.insert_source(s.number, s.scratch[3], s.order, p, n_order, head, entry, -rate, n)
            n += 1
    peer.n_recent = kept
    n = rules.reciprocal_slots(n, np.int64(peer.upload_slots))
    for i in range(n):
        entry = s.scratch[3, i]
        place = np.int64(s.end[own_end(s, p, entry)].at)
        keep(s, unchoke(s, p, place, is_unchoked(s, p, position_of(s, p, place), reach, entry), t))
    return n


@kernel
def rechoke_leecher(s, p, t):
    """Reciprocal slots by download rate, then optimistic ones by the order of the list; everyone else is choked."""
    peer = s.peer[p]
    reach, peer.reach = np.int64(peer.reach), peer.n_order
    offered = offer(s, p)
    kept = reciprocators(s, p, t, offered, reach)
    free = rules.optimistic_slots(client_of(s, p), kept, np.int64(peer.upload_slots))
    i = next_candidate(s, p, NIL, offered)
    while i < peer.n_order:
        place = place_of(s, p, i)
        entry = s.order[p, place]
        if may_serve(s, p, entry, offered):
            keep(s, unchoke(s, p, place, is_unchoked(s, p, i, reach, entry), t))
            free -= 1
            if free == 0:
                peer.reach = i + 1
                break
        i = next_candidate(s, p, i + 1, offered)
    peer.rechokes += 1
    choke_others(s, p, t)


@kernel
def rotate(s, p):
    """Optimistic rotation: the first choked, interested connection becomes the head of the list."""
    peer, offered = s.peer[p], offer(s, p)
    for i in range(peer.n_order):
        entry = s.order[p, place_of(s, p, i)]
        if is_unchoked(s, p, i, peer.reach, entry):
            continue
        if entry < 0 and s.lane[lane_of(s, p, entry)].state == SERVING:
            continue
        if may_serve(s, p, entry, offered):
            peer.head = rules.position(peer.head, i, peer.n_order)
            peer.reach = 0
            return


# -- a seed -----------------------------------------------------------------------------------------------------------


@kernel
def has_pending(s, u, t):
    """True if requests wait at lane `u` besides the part-sent block, and the socket is flushed."""
    lane = s.lane[u]
    if lane.runs == 0 or blocked(s, lane.h, t):
        return False
    if s.rules.linked == 1:  # without a limit a request that waits is one behind a full socket
        return s.net.link[u >> s.lane_bits].capped == 1 and windows.asked(s, u, t) > 1
    run = s.run[u, 0]
    if not upload.part_sent(s, u, t):
        return run.at <= t
    if run.blocks & (run.blocks - bits.ONE) != bits.EMPTY:
        return run.later <= t
    return lane.runs > 1 and s.run[u, 1].at <= t


@kernel
def keep_unchoked(s, p, t, slots, forced):
    """Mark the best of the served, interested peers of a seed; returns (how many there are, how many marked)."""
    first, offered = p << s.lane_bits, offer(s, p)
    n = NIL
    for u in range(first, first + s.peer[p].top):
        lane = s.lane[u]
        if lane.state == SERVING and may_serve(s, p, s.order[p, s.end[lane.h].at], offered):
            rank = rules.seed_rank(client_of(s, p), lane.unchoked_at, s.peer[p].ticks, has_pending(s, u, t))
            rate = fetch.download_rate(s, client_of(s, p), s.end[lane.g], t, 0.0)
            rules.insert_kept(s.number, s.scratch[3], u, rank, -rate, n)
            n += 1
    kept = rules.seed_keeps(n, slots, forced)
    for i in range(kept):
        keep(s, s.scratch[3, i])
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
    choke_others(s, p, t)
    return slots - kept - told


@kernel
def fill(s, p, t, free):
    """Walk the list from its head: `free` interested peers get a slot; rotate behind the last.

    A leecher that has just become a seed has unchoked the first of them already; returns how many of these.
    """
    peer, offered = s.peer[p], offer(s, p)
    reach, peer.reach = np.int64(peer.reach), 0
    told = NIL
    if free <= 0:
        return told
    for i in range(peer.n_order):
        place = place_of(s, p, i)
        entry = s.order[p, place]
        if not may_serve(s, p, entry, offered):
            continue
        serving = entry < 0 and s.lane[lane_of(s, p, entry)].state == SERVING
        if not rules.may_fill(serving, blocked(s, own_end(s, p, entry), t)):
            continue
        knows = is_unchoked(s, p, i, reach, entry)
        keep(s, unchoke(s, p, place, knows, t))
        told += knows
        free -= 1
        if free == 0:
            peer.head = rules.position(peer.head, i + 1, peer.n_order)
            break
    return told


# -- when -------------------------------------------------------------------------------------------------------------


@kernel
def rechoke(s, p, t):
    """An extra rechoke between ticks: no rotation, no forced unchokes; a seed's counts against its next forced ones."""
    if client_of(s, p).choker != BY_LIST:
        ranked.rechoke(s, p, t, rules.renews(client_of(s, p), s.session[p], t))
        s.peer[p].tick_at = t + client_of(s, p).choke_interval
    elif serves_as_seed(s, p):
        s.peer[p].opened += rechoke_seed(s, p, t, NIL)
    else:
        rechoke_leecher(s, p, t)


@kernel
def tick(s, p, t):
    """The choker's timer, every 10 s from the client's start."""
    peer = s.peer[p]
    peer.tick_at += client_of(s, p).choke_interval
    peer.ticks += 1
    if super_seeding(s, p):
        superseed.tick(s, p, t)
    if client_of(s, p).choker != BY_LIST:
        ranked.rechoke(s, p, t, rules.renews(client_of(s, p), s.session[p], t))
    elif serves_as_seed(s, p):
        slots = np.int64(peer.upload_slots)
        rechoke_seed(s, p, t, np.int64(rules.forced_unchokes(slots, peer.ticks, peer.opened)))
        peer.opened = 0
    else:
        if rules.is_optimistic_round(client_of(s, p), peer.ticks):
            rotate(s, p)
        rechoke_leecher(s, p, t)
