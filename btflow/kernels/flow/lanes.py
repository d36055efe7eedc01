"""Lanes: a peer serves another on one of its lanes, from the unchoke to the choke and what is still sent after it.

Of an allowed-fast set (`kernels/swarm/picking.py`) who is choked asks for a few pieces, on a lane that takes no slot.
It lasts while something is asked for on it. A peer has `fast_lanes` of them: those beyond must wait for a slot.
"""

import numpy as np

from btflow.kernels import bits
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow import downloading, links, mail, picking, picking_whole, requests, transport, windows
from btflow.kernels.flow.ends import has_fast_lane, lane_of, own_end, part_sent, wake
from btflow.kernels.flow.state import CLOSING, FAST, FREE_LANE, NO_LANE, SERVING
from btflow.kernels.swarm import rates, rules
from btflow.kernels.swarm.ends import client_of, lower_flag, raise_flag
from btflow.kernels.swarm.state import ASK_AND_KEEP, FOREVER, NIL, OPTIMISTIC, UNCHOKED


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
            note_unchoked(s, np.int64(lane.h), t)
        elif lane.state == FAST:
            rates.settle(s, np.int64(lane.g), t, False)
            lane.state = SERVING
            lane.unchoked_at = peer.ticks
            peer.unchokes += 1
            note_unchoked(s, np.int64(lane.h), t)
            downloading.request_more(s, u, NIL, transport.message_arrival(s, p, np.int64(lane.h), t))
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
    note_unchoked(s, h, t)
    if told:
        heard = t - transport.half(s, h)
        transport.message_arrival(s, y, g, heard)  # that it is interested: its requests are right behind
    else:
        heard = transport.message_arrival(s, p, h, t)
    downloading.request_more(s, u, NIL, heard)
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
        links.renew(s, u)
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
        note_choked(s, np.int64(lane.h))
        rates.settle(s, np.int64(lane.g), t, True)
        s.tally[lane.g].idle = 0
        if goes_on(s, p, u, t):
            return
    if s.rules.linked == 1:
        left = mail.committed(s, u, t)
        if left > 0:
            s.net.pull[u].left = left
            lane.state = CLOSING
        else:
            close_lane(s, u, t, transport.message_arrival(s, p, np.int64(lane.h), t))
    elif part_sent(s, u, t):
        lane.state = CLOSING
    else:
        close_lane(s, u, t, transport.message_arrival(s, p, np.int64(lane.h), t))


@kernel
def choke_others(s, p, t):
    """Serve only the lanes that are marked; the marks are wiped."""
    first = p << s.lane_bits
    for u in range(first, first + s.peer[p].top):
        lane = s.lane[u]
        if lane.state == SERVING and lane.kept == 0:
            choke(s, p, u, t)
        lane.kept = 0


@kernel
def close_lane(s, u, t, heard):
    """Lane `u` ends at `t`; its downloader hears of it at `heard`."""
    p = u >> s.lane_bits
    lane = s.lane[u]
    if s.finish[u] < FOREVER:
        settle(s, p, t)
        s.peer[p].active -= 1
        if s.rules.linked == 1:
            stop(s, p, u, t)
    if s.rules.linked == 1:
        windows.answer_now(s, np.int64(lane.h), s.net.flow[lane.h], s.net.pull[u], t)
    s.finish[u] = FOREVER
    s.ready[u] = FOREVER
    wake(s, p, 0.0)
    lane.state = FREE_LANE
    e = s.end[lane.h]
    e.lane = NO_LANE
    s.order[p, e.at] = -1 - s.order[p, e.at]
    downloading.let_go(s, u, heard)
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


ALL = np.int64(1 << 30)  # blocks, however many


@kernel
def settle(s, p, t):
    """Give the active lanes of peer `p` what they get until `t`, or until its next event if that is sooner."""
    peer = s.peer[p]
    until = min(t, peer.next_at)
    if s.rules.linked == 1:
        peer.now = max(peer.now, until)
    elif until > peer.now and peer.active > 0:
        peer.work += (until - peer.now) * peer.upload_limit / peer.active
        peer.now = until


@kernel
def stop(s, p, u, t):
    """Lane `u` of a peer with an access link has nothing more to send; what is behind its blocks comes now."""
    links.stop(s, p, u, t)
    if s.net.pull[u].riders == 1:
        mail.land(s, u, ALL, t)


@kernel
def note_unchoked(s, h, t):
    """The other side of end `h` has a slot from `t` on."""
    if s.rules.tallied == 1:
        raise_flag(s.up, h, UNCHOKED)
        s.tally[h].unchoked_at = t
        s.tally[h].sent_since = 0.0


@kernel
def note_choked(s, h):
    """The other side of end `h` has no slot any more."""
    lower_flag(s.up, h, UNCHOKED)
    lower_flag(s.up, h, OPTIMISTIC)


# -- a choke after which allowed pieces are sent -----------------------------------------------------------------------


@kernel
def goes_on(s, p, u, t):
    """A choked lane goes on with what is asked for of its set, behind what is part-sent; False if that is nothing."""
    lane, before = s.lane[u], np.int64(s.lane[u].outstanding)
    any_allowed = before > 0 and asks(s, p, np.int64(lane.g) >> s.rules.slot_bits, np.int64(s.tally[lane.g].allowed))
    if s.tally[lane.g].allowed > 0:
        for i in range(lane.runs):
            wanted = s.run[u, i].blocks & ~s.run[u, i].cancelled != bits.EMPTY
            any_allowed = any_allowed or (wanted and picking_whole.may_ask(s, u, piece_of(s, u, i)))
    if not any_allowed or not has_fast_lane(s, p):
        return False
    heard = transport.message_arrival(s, p, np.int64(lane.h), t)
    started = NIL
    if s.finish[u] < FOREVER:
        started = np.int64(mail.committed(s, u, t)) if s.rules.linked == 1 else np.int64(part_sent(s, u, t))
    lane.state = FAST
    lane.leaving = 0
    for i in range(lane.runs):
        started = keep_allowed(s, u, i, started)
    drop_empty(s, u)
    picking_whole.release(s, np.int64(lane.g))
    begin_anew(s, p, u, t)
    if rules.asks_for_its_set(before - lane.outstanding, np.int64(lane.outstanding)):
        downloading.request_whole(s, u, heard)
    end_fast(s, u, t)  # if it finds nothing
    return True


@kernel
def asks(s, p, q, size):
    """True if peer `q` finds a piece of its set to ask peer `p` for."""
    for i in range(size):
        piece = np.int64(s.fast[q, i])
        if bits.has_piece(s.has, p, piece) and bits.has_piece(s.want, q, piece):
            return True
    return False


@kernel
def piece_of(s, u, i):
    """The piece of row `i` of the requests of lane `u`."""
    return np.int64(s.begun[picking.begun_row(s, u), s.run[u, i].entry].piece)


@kernel
def keep_allowed(s, u, i, started):
    """Of row `i` of lane `u` keep what may be asked for, and `started` blocks in all; returns how many may follow."""
    lane, run = s.lane[u], s.run[u, i]
    n = bits.count(np.uint64(run.blocks))
    if not picking_whole.may_ask(s, u, piece_of(s, u, i)):
        kept, left = bits.EMPTY, np.uint64(run.blocks)
        for _ in range(min(n, started)):
            kept |= left & (~left + bits.ONE)
            left &= left - bits.ONE
        picking_whole.give_back(s, picking.begun_row(s, u), u, np.int64(run.entry), left & ~np.uint64(run.cancelled))
        gone = left if client_of(s, np.int64(lane.g) >> s.rules.slot_bits).endgame == ASK_AND_KEEP else bits.EMPTY
        lane.outstanding -= bits.count(gone | left & ~np.uint64(run.cancelled))
        run.blocks = kept
    return max(NIL, started - n)


@kernel
def drop_empty(s, u):
    """Take the rows of lane `u` out in which nothing is left."""
    for i in range(s.lane[u].runs - 1, -1, -1):
        if s.run[u, i].blocks == bits.EMPTY:
            requests.drop_run(s, u, i)


@kernel
def begin_anew(s, p, u, t):
    """The block that lane `u` was about to send may have gone: the next one begins when its request is there."""
    started = s.finish[u] < FOREVER
    if started and s.rules.linked == 0 and not part_sent(s, u, t):
        settle(s, p, t)
        s.peer[p].active -= 1
        s.finish[u] = FOREVER
        started = False
    if not started and s.lane[u].runs > 0:
        at = max(s.run[u, 0].at, t)
        s.ready[u] = at if s.rules.ideal == 1 else max(at, s.end[s.lane[u].h].free)
        wake(s, p, s.ready[u])
