"""The main loop: one event at a time, each handled by the rule that owns it.

Within one event the order is: the limiter performs the turns that are due; the handler reads and changes the state of
one peer; messages it writes are posted, to be handled after it, in order, even when they take no time.
"""

from btflow.kernels import choker, clock, download, limiter, messages, peerset, tcp
from btflow.kernels.byref import by_ref
from btflow.kernels.clock import NONE, post
from btflow.kernels.jit import entry, kernel
from btflow.kernels.state import (
    BITFIELD,
    BY_LOSS,
    BY_PIPELINE,
    BY_WINDOW,
    CANCEL,
    CAUSES,
    CHOKE,
    CONNECTING,
    FLUSHED,
    HAVE,
    HAVE_ALL,
    IDLE,
    INTERESTED,
    NOT_INTERESTED,
    PIECE,
    REFUSED,
    REQUEST,
    START,
    SYN,
    TRACKER_CHECK,
    TRACKER_REPLY,
    UNCHOKE,
)
from btflow.kernels.stats import set_cause

FINISHED, MORE, STUCK, FULL = 0, 1, 2, 3  # why `run` returned


@entry
def run(state, max_events):
    """Handle up to `max_events` events. FINISHED: every leecher is done; FULL: too few free nodes to go on safely."""
    s = by_ref(state)
    c = s.clock[0]
    reserve = 4 * s.rules.peers + 8 * s.rules.slots + 64
    for _ in range(max_events):
        if c.unfinished == 0:
            return FINISHED
        if c.n_free < reserve:
            return FULL
        n = clock.pop(s)
        if n == NONE or c.now > s.rules.horizon:
            return STUCK
        c.events += 1
        handle(s, n, c.now)
    return MORE


@kernel
def handle(s, n, t):
    """One event: a timer (nodes 0..2N-1) or a message."""
    peers = s.rules.peers
    if n < peers:
        block_written(s, n, t)
        return
    if n < 2 * peers:
        choker.tick(s, n - peers, t)
        return
    node = s.node[n]
    kind, target, arg, generation = node.kind, node.target, node.arg, node.generation
    clock.give_node(s, n)
    if kind == HAVE_ALL:
        have_all(s, target, arg, t)
    elif kind == START:
        peerset.start_client(s, target, t)
    elif kind == TRACKER_REPLY:
        peerset.tracker_reply(s, target, t)
    elif kind == TRACKER_CHECK:
        peerset.check_tracker(s, target, t)
    elif s.conn[target].generation == generation:
        if s.conn[target].state == CONNECTING:
            set_up_step(s, kind, target, t)
        receive(s, kind, target, arg, t)


@kernel
def receive(s, kind, h, arg, t):
    """A message reaches end `h`."""
    if kind == PIECE:
        piece_arrived(s, h, arg, t)
    elif kind == REQUEST:
        got_request(s, h, arg, t)
    elif kind == HAVE:
        have_alone(s, h, arg, t)
    elif kind == INTERESTED:
        choker.got_interested(s, h, t)
    elif kind == NOT_INTERESTED:
        choker.got_not_interested(s, h, t)
    elif kind == CHOKE:
        download.got_choke(s, h, t)
    elif kind == UNCHOKE:
        download.got_unchoke(s, h, t)
    elif kind == FLUSHED:
        flushed(s, h, t)
    elif kind == CANCEL:
        got_cancel(s, h, arg, t)
    elif kind == BITFIELD:
        peerset.got_bitfield(s, h, arg, t)


@kernel
def set_up_step(s, kind, h, t):
    """A message reaches an end whose handshake is under way: anything but a refusal or a SYN completes it."""
    if kind == SYN:
        peerset.got_syn(s, h, t)
    elif kind == REFUSED:
        peerset.release(s, h, t)
    else:
        peerset.ready(s, h, t)


@kernel
def got_request(s, h, count, t):
    """`count` more requests arrived; ignored once CHOKE was sent."""
    c = s.conn[h]
    c.up_seen += count
    if c.up_choke_sent == 1 or c.up_interested == 0:
        c.up_head = c.up_seen
    elif c.flushed == 1 and (c.turns == 0 or c.in_ring == 0):
        limiter.join(s, h, t)


@kernel
def got_cancel(s, h, seq, t):
    """CANCEL arrived: the block is taken out of the buffer unless its sending has begun."""
    c = s.conn[h]
    p = h // s.rules.slots
    limiter.sync(s, p, t)
    first = c.up_head + (1 if limiter.part_sent(c) else 0)
    if seq < first or seq >= c.up_seen:
        return
    i = seq % s.requests.shape[1]
    s.requests[h, i] = limiter.withdrawn(limiter.block_number(s.requests[h, i]))
    if seq == c.up_head and c.turns > 0:
        limiter.load(s, h)
        limiter.plan(s, p, t)


@kernel
def block_written(s, p, t):
    """The limiter's timer: a block is fully written to its socket; what waited behind it follows."""
    gap = limiter.busy(s, p) * s.rules.unit / s.peer[p].cap
    h = limiter.finish(s, p, t)
    c = s.conn[h]
    seq, units = c.up_head, c.full
    size = limiter.block_bytes(s, limiter.block_number(limiter.entry(s, h, seq)))
    s.peer[p].bytes_up += size
    c.up_head += 1
    c.turns = 0
    deliver(s, h, seq, gap, units, t)
    if c.up_choke_sent != c.up_choked:
        if c.up_choked == 1:
            choker.tell_choke(s, h, t)
        else:
            choker.tell_unchoke(s, h, t)
    extra = messages.flush(s, h, t)
    limiter.charge(s, p, size + s.rules.header - (units - 1) * s.rules.unit + extra)
    limiter.load(s, h)
    if c.turns == 0 and c.flushed == 1 and c.up_choke_sent == 0:
        set_cause(s, h, BY_PIPELINE if c.up_interested == 1 else IDLE, t)
    limiter.plan(s, p, t)


@kernel
def deliver(s, h, seq, gap, units, t):
    """Hand a block written by `t` to TCP; a full socket leaves the limiter's ring until it takes data again."""
    g = s.mate[h]
    c = s.conn[h]
    if s.rules.ideal == 1:
        s.bursts[1] += units
        post(s, t, PIECE, g, seq, s.conn[g].generation)
        return
    tcp.count_burst(s, c, gap, units)
    arrival, free, stall = tcp.block_arrival(s, c, t, gap, units, c.up_head < c.up_seen)
    post(s, arrival, PIECE, g, seq, s.conn[g].generation)
    if free > t:
        c.flushed = 0
        peerset.leave_ring(s, h)
        if c.cause < CAUSES:
            set_cause(s, h, BY_LOSS if stall > 0.0 else BY_WINDOW, t)
        post(s, free, FLUSHED, h, 0, c.generation)


@kernel
def flushed(s, h, t):
    """The socket of end `h` takes data again."""
    c = s.conn[h]
    c.flushed = 1
    if c.cause < CAUSES:
        set_cause(s, h, BY_PIPELINE if c.up_interested == 1 else IDLE, t)
    limiter.join(s, h, t)


@kernel
def piece_arrived(s, h, seq, t):
    """A block arrived; a completed piece is announced to everyone, the last one ends the download."""
    p = h // s.rules.slots
    if download.got_block(s, h, seq, t):
        if s.peer[p].n_log == s.rules.pieces:
            finished(s, p, t)
        messages.announce_have(s, p, t)


@kernel
def finished(s, p, t):
    """Peer `p` holds every piece: it turns seed and closes its connections to seeds."""
    peer = s.peer[p]
    peer.is_seed = 1
    peer.done = t
    s.clock[0].unfinished -= 1
    peerset.close_to_seeds(s, p, t)


@kernel
def tell(s, h, count, t):
    """The owner of end `h` has told the other side of its first `count` pieces: copies, interest, requests follow."""
    p = h // s.rules.slots
    g = s.mate[h]
    q = g // s.rules.slots
    if s.other[g] < 0:
        peerset.ready(s, g, t)
    while s.told[h] < count:
        piece = s.have_log[p, s.told[h]]
        s.told[h] += 1
        s.copies[piece, q] += 1
        if s.peer[q].is_seed == 1:
            if peerset.close_if_both_seeds(s, g, t):
                return
        elif s.wantable[q, piece] == 1:
            if s.dn[g] != 1:
                download.got_have(s, g, piece, t)
        elif s.peer[q].endgame == 1 and s.have_at[q, piece] >= s.rules.pieces:
            download.got_have(s, g, piece, t)


@kernel
def have_alone(s, g, count, t):
    """A HAVE that travelled on its own reaches end `g`."""
    h = s.mate[g]
    messages.arrived_alone(s, h)
    tell(s, h, count, t)


@kernel
def have_all(s, p, count, t):
    """The HAVE of peer p's piece number `count - 1` reaches all its undelayed neighbours."""
    base = p * s.rules.slots
    for slot in range(s.peer[p].top):
        h = base + slot
        if s.other[h] >= 0:
            tell(s, h, messages.told_by_batch(s, h, count), t)
