"""The main loop: one event at a time, each handled by the rule that owns it.

Within one event the order is: the limiter performs the turns that are due; the handler reads and changes the state of
one peer; messages it writes are posted, to be handled after it, in order, even when they take no time.
"""

import numpy as np

from btflow.kernels import bits, calendar
from btflow.kernels.compiler.intrinsics import by_ref
from btflow.kernels.compiler.jit import entry, kernel
from btflow.kernels.swarm import (
    choking,
    downloading,
    ends,
    extended,
    limiter,
    limiter_shares,
    messages,
    peer_set,
    picking_whole,
    rates,
    rules,
    state,
    superseeding,
    tcp,
    tracker,
)

FINISHED, MORE, STUCK, FULL, CROWDED = 0, 1, 2, 3, 5  # why `run` returned (access/engine.py has 4)


@entry
def run(swarm, max_events):
    """Handle up to `max_events` events and say why that is all.

    FINISHED: every leecher is done; STUCK: nothing happens any more; FULL, CROWDED: too few free nodes, or rows of
    requests, to go on safely.
    """
    s = by_ref(swarm)
    c = s.clock[0]
    if c.events == 0 and c.pending == 0 and c.lane_first == calendar.NONE:
        start_all(s)
    reserve = 4 * s.rules.peers + 8 * s.rules.slots + 64
    rows_wanted = s.rules.peers << s.rules.slot_bits  # a row for each end
    # An event makes at most both its peers ask all their neighbours, and no end takes a second row.
    rows_reserve = 4 * s.rules.slots if s.row_owner.size < rows_wanted else 0
    for _ in range(max_events):
        if c.unfinished == 0:
            return FINISHED
        if c.n_free < reserve:
            return FULL
        if c.n_free_rows < rows_reserve:
            ends.collect_rows(s, c.now)
            if c.n_free_rows < 2 * rows_reserve:
                return CROWDED
        n = calendar.pop(s)
        if n == calendar.NONE or c.now > s.rules.horizon:
            return STUCK
        c.events += 1
        calendar.look_ahead(s)
        handle(s, n, c.now)
    return MORE


@kernel
def start_all(s):
    """Schedule the start of every client."""
    for p in range(s.rules.peers):
        if s.peer[p].start < state.FOREVER:
            calendar.post(s, s.peer[p].start, state.START, p, state.NIL, state.ANY)


@kernel
def handle(s, n, t):
    """One event: a timer (nodes 0..2N-1) or a message."""
    peers = s.rules.peers
    if n < peers:
        if limiter_shares.by_shares(s, n):
            write_paid(s, n, t)
        else:
            block_written(s, n, t)
        return
    if n < 2 * peers:
        choking.tick(s, n - peers, t)
        return
    take(s, n, t)


@kernel
def take(s, n, t):
    """A posted event: a message arrives, a client starts or leaves, the tracker answers."""
    node = s.node[n]
    kind, target, arg, generation = np.int64(node.kind), np.int64(node.target), np.int64(node.arg), node.generation
    calendar.give_node(s, n)
    if kind == state.HAVE_ALL:
        # the HAVE of peer p's piece number `count - 1` reaches its neighbours at `place`, but not past one on its own
        base = target << s.rules.slot_bits
        for slot in range(s.peer[target].top):
            h = base + slot
            if ends.linked(s, h) and (
                generation == state.EVERYWHERE or s.peer[ends.neighbour(s, h)].place == generation
            ):
                have_timely(s, h, arg, t)
    elif kind == state.START:
        peer_set.start_client(s, target, t)
    elif kind == state.TRACKER_REPLY:
        tracker.reply(s, target, t, ends.left, ends.seeding, peer_set.connected_to, peer_set.connect_boosted)
    elif kind == state.TRACKER_CHECK:
        tracker.check(s, target, t, ends.left, calendar.post, peer_set.ask_tracker)
    elif kind == state.PULSE:
        pulse(s, target, t)
    elif kind == state.RECONNECT:
        peer_set.reconnect(s, target, arg, np.int64(generation), t)
    elif kind == state.LEAVE:
        peer_set.leave(s, target, t)
    elif s.conn[target].generation == generation:
        hear(s, kind, target, arg, t)


@kernel
def pulse(s, p, t):
    """The clock of clients that have one."""
    if ends.left(s, p):
        return
    calendar.post(s, t + ends.client_of(s, p).pulse, state.PULSE, p, state.NIL, state.ANY)
    if ends.client_of(s, p).connection_speed > 0:
        peer_set.connect_more(s, p, t)
    if s.rules.linked == 1:
        peer_set.give_up_late(s, p, t)
    base = p << s.rules.slot_bits
    extended.exchange(s, p, (base, base + s.peer[p].top), ends.linked, ends.neighbour, messages.send_extended, t)
    if ends.client_of(s, p).batch_interval > 0.0:
        messages.send_due_haves(s, p, t)
    if ends.seeding(s, p):
        peer_set.drop_idle(s, p, t)
    else:
        picking_whole.pulse(s, p, t)


@kernel
def hear(s, kind, h, arg, t):
    """A message reaches end `h`, whose handshake may be under way."""
    if s.conn[h].state == state.CONNECTING:
        # a message reaches an end whose handshake is under way: anything but a refusal or a SYN completes it
        if kind == state.SYN:
            peer_set.got_syn(s, h, t)
        elif kind == state.REFUSED:
            peer_set.release(s, h, t)
        else:
            peer_set.ready(s, h, t)
    receive(s, kind, h, arg, t)


@kernel
def receive(s, kind, h, arg, t):
    """A message reaches end `h`."""
    if s.rules.tallied == 1 and kind != state.PIECE and kind != state.FLUSHED and kind != state.WRITABLE:
        messages.note_read(s, h, kind, arg, t)
    if s.rules.linked == 0 and (
        (kind > state.PIECE and kind < state.HAVE_ALL)
        or kind == state.BITFIELD
        or kind == state.OFFER
        or kind == state.ALLOWED_FAST
        or kind == state.EXTENDED
    ):
        s.coming[h] -= 1
    if kind == state.PIECE:
        piece_arrived(s, h, arg, t)
    elif kind == state.REQUEST:
        if limiter.too_late(s, h, arg, t):
            peer_set.part(s, h, 1, t)
        else:
            limiter.got_request(s, h, arg, t)
    elif kind == state.HAVE:
        have_alone(s, h, arg, t)
    elif kind == state.INTERESTED:
        choking.got_interested(s, h, t)
    elif kind == state.NOT_INTERESTED:
        choking.got_not_interested(s, h, t)
    elif kind == state.CHOKE:
        downloading.got_choke(s, h, t)
    elif kind == state.UNCHOKE:
        downloading.got_unchoke(s, h, t)
    elif kind == state.FLUSHED:
        flushed(s, h, t)
    elif kind == state.CANCEL:
        limiter.got_cancel(s, h, arg, t)
    elif kind == state.BITFIELD:
        peer_set.got_bitfield(s, h, arg, t)
    elif kind == state.OFFER:
        superseeding.got_offer(s, h, arg, t)
    elif kind == state.WRITABLE:
        ends.note(s, h, ends.WRITTEN)
    elif kind == state.ALLOWED_FAST:
        picking_whole.got_allowed(s, h, arg, t)
    elif kind == state.HAVE_ONE:
        have_timely(s, ends.mate(s, h), arg, t)


@kernel
def block_written(s, p, t):
    """The limiter's timer: a block is fully written to its socket; what waited behind it follows."""
    gap = 0.0 if limiter.by_quota(s, p) else s.peer[p].active * s.peer[p].unit / s.peer[p].upload_limit
    hand_to_socket(s, limiter.finish(s, p, t), gap, t)


@kernel
def write_paid(s, p, t):
    """The limiter's timer where a limit is kept in shares: what is paid for is written."""
    limiter_shares.hand_out(s, p, t)
    messages.send_all_paid(s, p, t)
    i = limiter_shares.next_paid(s, p, state.NIL)
    while i < s.peer[p].n_ring:
        h = (p << s.rules.slot_bits) + s.ring[p, i]
        size = limiter.pay(s, h, t)
        if s.turns[h] > 0 and s.rules.linked == 0:
            g = ends.mate(s, h)
            rates.note_part(s, g, float(size), t + 0.5 * ends.wire(s, h).rtt, ends.served(s, g))
        if s.turns[h] == 0:
            hand_to_socket(s, h, 0.0, t)
            if s.turns[h] == 0:
                peer_set.leave_ring(s, h)
        i = limiter_shares.next_paid(s, p, i)
    limiter.arm(s, p, t)


@kernel
def hand_to_socket(s, h, gap, t):
    """The block at the head of end `h` is in its socket; its turns were `gap` apart [s]."""
    p = h >> s.rules.slot_bits
    c = s.conn[h]
    seq, units = c.up_head, c.full
    size = rules.block_bytes(s.rules, limiter.block_number(limiter.entry(s, h, seq)))
    s.peer[p].bytes_up += size
    limiter.note_written(s, h, size, t)
    c.up_head += 1
    if s.rules.ideal == 1:
        s.bursts[1] += units
    else:
        deliver(s, h, seq, gap, units, t)
    messages.tell_behind_block(s, h, t)
    behind = messages.flush(s, h, t)
    if behind > 0:
        limiter.charge(s, p, behind)
    limiter.load(s, h, t)
    if s.turns[h] == 0 and s.up[h] & state.BLOCKED == 0:
        ends.set_cause(s, h, limiter.waits_for(s, h), t)
    limiter.charge_packets(s, p, size)
    limiter.plan(s, p, t)
    if s.rules.ideal == 1:
        piece_arrived(s, ends.mate(s, h), np.int64(seq), t)


@kernel
def deliver(s, h, seq, gap, units, t):
    """Hand a block written by `t` to TCP; a full socket leaves the limiter's ring until it takes data again."""
    g = ends.mate(s, h)
    c = s.conn[h]
    w = s.wire[h]
    tcp.count_burst(s, w, gap, units)
    arrival, free, stall = tcp.block_arrival(s, w, t, gap, units, c.up_head < c.up_seen)
    calendar.post(s, arrival, state.PIECE, g, np.int64(seq), s.conn[g].generation)
    if free > t:
        ends.raise_flag(s.up, h, state.BLOCKED)
        peer_set.leave_ring(s, h)
        if c.cause < state.CAUSES:
            ends.set_cause(s, h, state.BY_LOSS if stall > 0.0 else state.BY_WINDOW, t)
        calendar.post(s, free, state.FLUSHED, h, state.NIL, c.generation)


@kernel
def flushed(s, h, t):
    """The socket of end `h` takes data again."""
    ends.lower_flag(s.up, h, state.BLOCKED)
    if s.conn[h].cause < state.CAUSES:
        ends.set_cause(s, h, state.BY_PIPELINE if s.up[h] & state.INTERESTED_IN_US != 0 else state.IDLE, t)
    limiter.join(s, h, t)


@kernel
def piece_arrived(s, h, seq, t):
    """A block arrived; a completed piece is announced to everyone, the last one ends the download."""
    p = h >> s.rules.slot_bits
    if downloading.got_block(s, h, seq, t):
        if s.n_log[p] == s.rules.pieces:
            finished(s, p, t)
        messages.announce_have(s, p, t)


@kernel
def finished(s, p, t):
    """Peer `p` holds every piece: it turns seed and closes its connections to seeds."""
    peer = s.peer[p]
    ends.raise_flag(s.mode, p, state.SEEDING)
    peer.done = t
    s.clock[0].unfinished -= 1
    if s.rules.stay >= 0.0:
        calendar.post(s, t + rules.stay(s.rules, t - peer.start, s.rng), state.LEAVE, p, state.NIL, state.ANY)
    peer_set.close_to_seeds(s, p, t)


@kernel
def tell(s, h, count, t):
    """The owner of end `h` has told the other side of its first `count` pieces: copies, interest, requests follow."""
    p = h >> s.rules.slot_bits
    g = ends.mate(s, h)
    q = g >> s.rules.slot_bits
    if not ends.linked(s, g):
        peer_set.ready(s, g, t)
    while s.told[h] < count:
        if s.told[h] == s.rules.pieces - 1 and rules.drops(ends.client_of(s, q), ends.wanting(s, g)):
            peer_set.part(s, g, 0, t)
            return
        piece = np.int64(s.have_log[p, s.told[h]])
        s.told[h] += 1
        s.copies[piece, q] += 1
        superseeding.watch(s, h, g, piece, t)
        if s.rules.tallied == 1 and ends.client_of(s, q).interest == state.MISSING_PIECES:
            picking_whole.heard_of(s, g, piece, t)
        elif bits.has_piece(s.want, q, piece):
            if s.dn[g] != state.WANTING | state.LINKED:
                downloading.got_have(s, g, piece, t)
        elif ends.in_endgame(s, q) and not ends.seeding(s, q):
            downloading.got_have(s, g, piece, t)
    if s.told[h] == s.rules.pieces:
        peer_set.close_if_both_seeds(s, g, t)


@kernel
def have_alone(s, g, count, t):
    """A HAVE that travelled on its own reaches end `g`."""
    h = ends.mate(s, g)
    messages.arrived_alone(s, h)
    tell(s, h, count, t)


@kernel
def have_timely(s, h, count, t):
    """A HAVE of end `h` that was not behind others reaches the other side, but not past one on its own."""
    messages.note_read(s, ends.mate(s, h), state.HAVE, count, t)
    tell(s, h, count if s.alone[h] == 0 else min(count, np.int64(s.conn[h].have_limit)), t)
