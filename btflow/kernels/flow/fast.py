"""Allowed-fast sets (`kernels/fast.py`): who is choked asks for a few pieces, on a lane that takes no slot.

The lane lasts while something is asked for on it. A peer has `fast_lanes` of them: those beyond must wait for a slot.
"""

import numpy as np

from btflow.kernels import bits
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow import choke, fetch, stream, transport, upload, whole
from btflow.kernels.flow.interest import seeding, super_seeding
from btflow.kernels.flow.state import FAST, NO_LANE
from btflow.kernels.swarm import picking
from btflow.kernels.swarm.ends import client_of
from btflow.kernels.swarm.state import FOREVER, NIL


@kernel
def grant(s, p, h, t):
    """Peer `p` allows the other side of end `h`, who is interested for the first time, to ask for its set."""
    g = np.int64(s.end[h].mate)
    q = g >> s.rules.slot_bits
    mine, size = s.tally[h], client_of(s, p).allowed_fast
    if size == 0 or mine.allows > 0 or client_of(s, q).fast_extension == 0 or super_seeding(s, p):
        return
    mine.allows = size
    s.tally[g].allowed = size
    if s.end[h].lane == NO_LANE and not seeding(s, q) and asks(s, p, q, size) and has_fast_lane(s, p):
        u = choke.take_lane(s, p, np.int64(s.end[h].at))
        if u >= 0:
            s.lane[u].state = FAST
            whole.request(s, u, transport.message_arrival(s, p, h, t))
            choke.end_fast(s, u, t)  # if it can begin no piece


@kernel
def asks(s, p, q, size):
    """True if peer `q` finds a piece of its set to ask peer `p` for."""
    for k in range(size):
        piece = np.int64(s.fast[q, k])
        if bits.has_piece(s.has, p, piece) and bits.has_piece(s.want, q, piece):
            return True
    return False


@kernel
def has_fast_lane(s, p):
    """True if peer `p` may serve one more set."""
    n, first = NIL, p << s.lane_bits
    for u in range(first, first + s.peer[p].top):
        n += s.lane[u].state == FAST
    return n < s.fast_lanes


@kernel
def may_ask(s, u, piece):
    """True if the downloader of lane `u` may ask for `piece` though it is choked."""
    g = np.int64(s.lane[u].g)
    return picking.in_set(s, g >> s.rules.slot_bits, piece, np.int64(s.tally[g].allowed))


@kernel
def piece_of(s, u, i):
    """The piece of row `i` of the requests of lane `u`."""
    return np.int64(s.begun[fetch.begun_row(s, u), s.run[u, i].entry].piece)


@kernel
def goes_on(s, p, u, t):
    """A choked lane goes on with what was asked for of its set, behind what is part-sent; False if that is nothing."""
    lane, any_allowed = s.lane[u], False
    if s.tally[lane.g].allowed > 0:
        for i in range(lane.runs):
            wanted = s.run[u, i].blocks & ~s.run[u, i].cancelled != bits.EMPTY
            any_allowed = any_allowed or (wanted and may_ask(s, u, piece_of(s, u, i)))
    if not any_allowed or not has_fast_lane(s, p):
        return False
    transport.message_arrival(s, p, np.int64(lane.h), t)
    started = NIL
    if s.finish[u] < FOREVER:
        started = np.int64(stream.committed(s, u, t)) if s.rules.linked == 1 else np.int64(upload.part_sent(s, u, t))
    lane.state = FAST
    lane.leaving = 0
    for i in range(lane.runs):
        started = keep(s, u, i, started)
    drop_empty(s, u)
    whole.release(s, np.int64(lane.g))
    begin_anew(s, p, u, t)
    return True


@kernel
def keep(s, u, i, started):
    """Of row `i` of lane `u` keep what may be asked for, and `started` blocks in all; returns how many may follow."""
    lane, run = s.lane[u], s.run[u, i]
    n = bits.count(np.uint64(run.blocks))
    if not may_ask(s, u, piece_of(s, u, i)):
        kept, left = bits.EMPTY, np.uint64(run.blocks)
        for _ in range(min(n, started)):
            kept |= left & (~left + bits.ONE)
            left &= left - bits.ONE
        whole.give_back(s, fetch.begun_row(s, u), u, np.int64(run.entry), left & ~np.uint64(run.cancelled))
        lane.outstanding -= bits.count(left & ~np.uint64(run.cancelled))
        run.blocks = kept
    return max(NIL, started - n)


@kernel
def drop_empty(s, u):
    """Take the rows of lane `u` out in which nothing is left."""
    for i in range(s.lane[u].runs - 1, -1, -1):
        if s.run[u, i].blocks == bits.EMPTY:
            upload.drop_run(s, u, i)


@kernel
def begin_anew(s, p, u, t):
    """The block that lane `u` was about to send may have gone: the next one begins when its request is there."""
    started = s.finish[u] < FOREVER
    if started and s.rules.linked == 0 and not upload.part_sent(s, u, t):
        upload.settle(s, p, t)
        s.peer[p].active -= 1
        s.finish[u] = FOREVER
        started = False
    if not started:
        at = max(s.run[u, 0].at, t)
        s.ready[u] = at if s.rules.ideal == 1 else max(at, s.end[s.lane[u].h].free)
        fetch.wake(s, p, s.ready[u])
