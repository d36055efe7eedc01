"""The peer set: connections made and ended, peers that leave (4.0.2 Encoder, Connecter)."""

import numpy as np

from btflow.kernels import bits, calendar
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.swarm import (
    choking,
    choking_ranked,
    downloading,
    ends,
    extended,
    limiter_shares,
    messages,
    rates,
    requests,
    rules,
    state,
    superseeding,
    tcp,
    tracker,
)
from btflow.kernels.swarm.limiter import drop, plan, sync
from btflow.kernels.swarm.picking import other_is_seed

KNOWN = 32  # bits of a spare address; those above say what is known of it


@kernel
def start_client(s, p, t):
    """The client starts: choker timer, first announce, tracker check every minute."""
    s.peer[p].start = t
    calendar.insert(s, s.rules.peers + p, choking_ranked.start_choker(s, p, t))
    calendar.post(s, t + ends.client_of(s, p).check_interval, state.TRACKER_CHECK, p, state.NIL, state.ANY)
    if s.rules.tallied == 1:
        s.session[p].boosts = ends.client_of(s, p).connection_speed
    if ends.client_of(s, p).pulse > 0.0:
        calendar.post(s, t + ends.client_of(s, p).pulse, state.PULSE, p, state.NIL, state.ANY)
    ask_tracker(s, p, t)


@kernel
def ask_tracker(s, p, t):
    """Announce to the tracker."""
    s.peer[p].last_announce = t
    calendar.post(
        s,
        t + rules.reply_time(p, s.rtt[s.peer[p].place, s.peer[0].place]),
        state.TRACKER_REPLY,
        p,
        state.NIL,
        state.ANY,
    )


@kernel
def connected_to(s, p, q):
    """True if peer `p` has a connection to `q`, complete or not."""
    return end_to(s, p, q) != calendar.NONE


@kernel
def end_to(s, p, q):
    """The end of peer `p` whose other side is peer `q`; NONE if there is none."""
    base = p << s.rules.slot_bits
    for h in range(base, base + s.peer[p].top):
        if s.conn[h].state != state.FREE and ends.neighbour(s, h) == q:
            return h
    return calendar.NONE


@kernel
def take_slot(s, p):
    """A free slot of peer `p`; NONE if all are in use."""
    base = p << s.rules.slot_bits
    for slot in range(s.rules.slots):
        if s.conn[base + slot].state == state.FREE:
            s.peer[p].top = max(s.peer[p].top, slot + 1)
            return base + slot
    return calendar.NONE


@kernel
def connect(s, p, q, t):
    """Open a TCP connection to `q` and send our handshake with its set-up: `q` decides 1.5 round trips from now.

    Both ends are taken at once, so that the two slots point at each other; q's counts for q only when it accepts. False
    if a peer has no slot left, which is a limit of the engine (`PENDING_SLOTS`), not of the client, or if `p` opens no
    connections.
    """
    if s.rules.linked == 1 and s.peer[p].transports & (state.OPENS_TCP | state.OPENS_UTP) == 0:
        return False
    h = take_slot(s, p)
    g = take_slot(s, q) if h != calendar.NONE else calendar.NONE
    if g == calendar.NONE:
        return False
    set_up(s, h, g, t)
    set_up(s, g, h, t)
    s.conn[h].outgoing = state.OUTGOING
    s.peer[p].degree += 1
    if s.rules.linked == 1:
        ends.note(s, h, ends.OPENED)
        return True
    w = ends.wire(s, h)
    delay = tcp.handshake_delay(s, w) if w.loss > 0.0 else 0.0
    calendar.post(s, t + delay + 1.5 * w.rtt, state.SYN, g, state.NIL, s.conn[g].generation)
    return True


@kernel
def set_up(s, h, g, t):
    """A fresh end `h` whose other side is end `g`."""
    c = s.conn[h]
    p, q = h >> s.rules.slot_bits, g >> s.rules.slot_bits
    c.state = state.CONNECTING
    c.outgoing = state.INCOMING
    c.generation += 1
    s.mate[h] = g
    s.told[h] = 0
    s.alone[h] = 0
    s.dn[h] = 0
    s.watched[h] = s.rules.pieces
    s.up[h] = 0
    s.coming[h] = 0
    c.cause = state.CAUSES
    s.turns[h] = 0
    c.up_head = 0
    c.up_seen = 0
    c.up_rate = 0.0
    c.out_first = calendar.NONE
    c.recent = 0
    c.dn_tail = 0
    c.dn_base = 0
    c.dn_next = 0
    c.outstanding = 0
    c.dn_rate = 0.0
    c.last_block = -1e9
    c.last_send = t
    if s.rules.tallied == 1:
        rates.reset(s, h, g, t)
    w = ends.wire(s, h)
    w.rtt = s.rtt[s.peer[p].place, s.peer[q].place]
    w.loss = s.loss[s.peer[p].place, s.peer[q].place]
    w.unit = s.peer[p].unit
    tcp.reset(s, w, t)


@kernel
def got_syn(s, h, t):
    """The handshake of an incoming connection: accept below max_allow_in, else close at once."""
    p = h >> s.rules.slot_bits
    c = s.conn[h]
    g = ends.mate(s, h)
    if not rules.may_accept(ends.client_of(s, p), s.peer[p].degree):
        calendar.post(s, t + 0.5 * ends.wire(s, h).rtt, state.REFUSED, g, state.NIL, s.conn[g].generation)
        forget_attempt(s, h)
        return
    s.peer[p].degree += 1
    s.peer[p].ever_incoming = 1
    c.outgoing = state.ACCEPTED
    if s.rules.linked == 1:
        messages.transmit(s, h, state.READY, state.NIL, t)
        ready(s, h, t)
        return
    calendar.post(s, t + 0.5 * ends.wire(s, h).rtt, state.READY, g, state.NIL, s.conn[g].generation)
    calendar.post(s, t + ends.wire(s, h).rtt, state.READY, h, state.NIL, c.generation)


@kernel
def forget_attempt(s, h):
    """Give up the end of an incoming connection that was not accepted."""
    s.conn[h].state = state.FREE
    s.conn[h].generation += 1
    if s.rules.linked == 1:
        ends.note(s, h, ends.CLOSED)


@kernel
def ready(s, h, t):
    """The handshake is done at end `h`: the connection counts, and the bitfield goes out if there is anything in it."""
    p = h >> s.rules.slot_bits
    c = s.conn[h]
    if c.state == state.OPEN:
        return
    c.state = state.OPEN
    ends.raise_flag(s.dn, h, state.LINKED)
    s.peer[p].complete += 1
    c.up_since = rates.measured_from(ends.client_of(s, p), t)
    c.up_last = c.up_since
    c.dn_since = c.up_since
    c.dn_last = c.up_since
    choking.enlist(s, h)
    greeting = np.int64(extended.greeting(s, p, ends.neighbour(s, h)))
    if greeting > 0:
        messages.transmit(s, h, state.EXTENDED, greeting, t)
    if ends.super_seeding(s, p):
        superseeding.begin(s, h, t)
    elif s.n_log[p] > 0:
        messages.hold_haves(s, h, state.SINGLE)
        messages.transmit(s, h, state.BITFIELD, s.n_log[p], t)
        if rules.serves_first(ends.client_of(s, p), s.peer[p].n_unchoked, s.peer[p].upload_slots):
            messages.unchoke(s, h, t)


@kernel
def got_bitfield(s, h, count, t):
    """The first message of the other side tells all it has, in one go."""
    g = ends.mate(s, h)
    q, p = g >> s.rules.slot_bits, h >> s.rules.slot_bits
    messages.arrived_alone(s, g)
    for i in range(count):
        s.copies[s.have_log[q, i], p] += 1
    s.told[g] = count
    if not close_if_both_seeds(s, h, t):
        downloading.got_bitfield(s, h, t)


@kernel
def close(s, h, t):
    """Close the connection of end `h` at both sides (the other side notices at once: both are seeds by then)."""
    g = ends.mate(s, h)
    release(s, h, t)
    release(s, g, t)


@kernel
def release(s, h, t):
    """Give up end `h`: leave ring, lists and slot; a spare takes its place; an open, used slot triggers a rechoke."""
    c = s.conn[h]
    p = h >> s.rules.slot_bits
    if c.state == state.FREE:
        return
    was_open = c.state == state.OPEN
    if was_open:
        s.dn[h] = 0
        forget_copies(s, h)
        rates.forget_source(s, c, h)
        downloading.let_go(s, h, t)
        leave_limiter(s, h, t)
        ends.set_cause(s, h, state.CAUSES, t)
        choking.delist(s, h)
        s.peer[p].complete -= 1
    wanted_slot = was_open and s.up[h] & state.INTERESTED_IN_US != 0 and s.up[h] & state.UNCHOKED != 0
    if s.up[h] & state.UNCHOKED != 0:
        choking_ranked.leave_slot(s, h, t)
        s.peer[p].n_unchoked -= 1
    s.dn[h] = 0
    s.up[h] = 0
    c.state = state.FREE
    c.generation += 1
    s.peer[p].degree -= 1
    if s.rules.linked == 1:
        ends.note(s, h, ends.CLOSED)
    if ends.left(s, p):
        return
    if was_open and ends.in_endgame(s, p) and not ends.seeding(s, p):
        requests.endgame_everywhere(s, p, t)
    for _ in range(s.peer[p].n_spare if ends.client_of(s, p).connection_speed == 0 else 0):
        if not rules.may_initiate(ends.client_of(s, p), s.peer[p].degree):
            break
        s.peer[p].n_spare -= 1
        q = s.spare[p, s.peer[p].n_spare] & ((1 << KNOWN) - 1)
        tracker.learn(s, p, q, t, ends.left, connected_to, connect)
    if wanted_slot:
        choking.rechoke(s, p, t)


@kernel
def leave_limiter(s, h, t):
    """Take end `h` out of the limiter, a part-sent block included, and drop the messages that waited behind it."""
    p = h >> s.rules.slot_bits
    c = s.conn[h]
    sync(s, p, t)
    s.turns[h] = 0
    if s.rules.tallied == 1:
        limiter_shares.leave(s, h)
    n = c.out_first
    while n != calendar.NONE:
        following = np.int64(s.node[n].next)
        calendar.give_node(s, n)
        n = following
    c.out_first = calendar.NONE
    if s.up[h] & state.RINGED != 0:
        leave_ring(s, h)
        plan(s, p, t)


@kernel
def forget_copies(s, h):
    """The other side of `h` is gone: its pieces no longer count among the known copies."""
    p, g = h >> s.rules.slot_bits, ends.mate(s, h)
    q = g >> s.rules.slot_bits
    if ends.seeding(s, p):
        return
    if ends.super_seeding(s, q):
        for piece in range(s.rules.pieces):
            if bits.has_piece(s.offered, g, np.int64(piece)):
                s.copies[piece, p] -= 1
        return
    for i in range(s.told[g]):
        s.copies[s.have_log[q, i], p] -= 1


@kernel
def leave(s, p, t):
    """Peer `p` leaves: the tracker forgets it, its connections close, and a new leecher may take its place."""
    ends.raise_flag(s.mode, p, state.LEFT)
    s.peer[p].left_at = t
    tracker.forget(s, p)
    calendar.remove(s, p)
    calendar.remove(s, s.rules.peers + p)
    base = p << s.rules.slot_bits
    for slot in range(s.peer[p].top):
        h = base + slot
        c = s.conn[h]
        if c.state == state.FREE:
            continue
        g = ends.mate(s, h)
        counts = c.state == state.OPEN or c.outgoing != state.INCOMING
        if s.conn[g].state != state.FREE and ends.mate(s, g) == h:
            if s.conn[g].state == state.CONNECTING and s.conn[g].outgoing == state.INCOMING:
                forget_attempt(s, g)
            else:
                release(s, g, t)
        if counts:
            release(s, h, t)
        else:
            forget_attempt(s, h)
    if s.rules.replace == 1:
        give_birth(s, s.peer[p].klass, t)


@kernel
def give_up(s, h, t):
    """Nobody answers: the attempt to connect ends on both sides."""
    g = ends.mate(s, h)
    p, q = h >> s.rules.slot_bits, g >> s.rules.slot_bits
    over_utp = takes_utp(s, h)
    failures = s.tally[h].failures + (s.tally[h].reached == 0) if s.rules.tallied == 1 else 0
    if s.conn[g].state != state.FREE and ends.mate(s, g) == h:
        if s.conn[g].state == state.OPEN:
            release(s, g, t)
        else:
            forget_attempt(s, g)
    release(s, h, t)
    try_later(s, p, q, failures, over_utp, t)


@kernel
def call_back(s, h, t):
    """Nobody answers end `h`, and the other side, which knows of it from others, tries in its place."""
    p, q = h >> s.rules.slot_bits, ends.neighbour(s, h)
    failures = s.tally[h].failures
    give_up(s, h, t)
    if not connected_to(s, q, p) and connect(s, q, p, t):
        y = s.tally[end_to(s, q, p)]
        y.answers, y.failures = 1, failures


@kernel
def may_call(s, p):
    """True if peer `p` may open one more connection."""
    return rules.may_initiate(ends.client_of(s, p), s.peer[p].degree)


@kernel
def give_up_late(s, p, t):
    """The clock of peer `p`: attempts to connect that have lasted too long end."""
    base = p << s.rules.slot_bits
    for h in range(base, base + s.peer[p].top):
        c = s.conn[h]
        opening = c.state == state.CONNECTING and c.outgoing == state.OUTGOING
        y = s.tally[h]
        if opening and rules.gives_up(ends.client_of(s, p), y.reached == 1, y.failures, t - y.heard_at):
            give_up(s, h, t)


# -- connections that end, and are tried again -------------------------------------------------------------------------


@kernel
def is_idle(r, y, t):
    """True if a seed closes a connection that it serves: for so long nobody asked there or was sent anything.

    (libtorrent peer_connection.cpp, second_tick: timed_out_no_request)
    """
    return r.idle_timeout > 0.0 and t - max(y.busy_at, y.unchoked_at) > r.idle_timeout


@kernel
def drop_idle(s, p, t):
    """The clock of seed `p`: it closes connections that it serves and where nothing happens; both sides try again."""
    base = p << s.rules.slot_bits
    served = state.UNCHOKED | state.INTERESTED_IN_US
    for h in range(base, base + s.peer[p].top):
        c = s.conn[h]
        waits = c.state == state.OPEN and s.up[h] & served == served and c.up_head == c.up_seen
        if waits and is_idle(ends.client_of(s, p), s.tally[h], t):
            part(s, h, 0, t)


@kernel
def part(s, h, failures, t):
    """The peer of end `h` closes the connection, which has failed or not; both sides try again later."""
    p, q = h >> s.rules.slot_bits, ends.neighbour(s, h)
    ours, theirs = takes_utp(s, h), takes_utp(s, ends.mate(s, h))
    close(s, h, t)
    try_later(s, p, q, failures, ours, t)
    try_later(s, q, p, 0, theirs, t)


@kernel
def try_later(s, p, q, failures, over_utp, t):
    """Peer `p` tries to reach `q` once more, if it has not failed too often (libtorrent peer_list.cpp)."""
    r = ends.client_of(s, p)
    if r.reconnect_interval > 0.0 and failures < r.max_failures:
        at = t + (failures + 1) * r.reconnect_interval
        calendar.post(s, at, state.RECONNECT, p, q, np.int32(2 * failures + over_utp))


@kernel
def takes_utp(s, h):
    """1 if the peer of end `h` knows that the other side takes uTP, else 0: it has reached it so before."""
    return s.tally[h].over_utp if s.rules.tallied == 1 else 0


@kernel
def reconnect(s, p, q, how, t):
    """Peer `p` tries again to reach `q`, which it knows by `how` (2 x failures + over_utp)."""
    if ends.left(s, p):
        return
    peer = s.peer[p]
    if peer.n_spare < s.spare.shape[1]:
        s.spare[p, peer.n_spare] = q + (how << KNOWN)
        peer.n_spare += 1
        if ends.client_of(s, p).connection_speed == 0:
            connect_spares(s, p, 1, t)


@kernel
def connect_boosted(s, p, q, t):
    """As `connect`, where there is a limit for a second only as many as may be opened ahead of it."""
    if ends.client_of(s, p).connection_speed == 0:
        return connect(s, p, q, t)
    session = s.session[p]
    if session.boosts == 0 or not connect(s, p, q, t):
        return False
    session.boosts -= 1
    session.opened += 1
    return True


@kernel
def connect_more(s, p, t):
    """Each second: some more connections, fewer as they near the limit (libtorrent try_connect_more_peers)."""
    r, session = ends.client_of(s, p), s.session[p]
    quota = max(r.connection_speed - session.opened, 0)
    session.opened -= r.connection_speed - quota
    connect_spares(s, p, min(quota, (r.max_initiate - s.peer[p].degree + 1) // 2), t)


@kernel
def connect_spares(s, p, most, t):
    """Peer `p` connects to up to `most` of those it knows of."""
    peer = s.peer[p]
    for _ in range(peer.n_spare):
        if most == 0 or not may_call(s, p):
            return
        peer.n_spare -= 1
        known = s.spare[p, peer.n_spare]
        q, how = known & ((1 << KNOWN) - 1), known >> KNOWN
        if ends.left(s, q) or connected_to(s, p, q) or (ends.seeding(s, p) and ends.seeding(s, q)):
            continue
        if connect(s, p, q, t):
            most -= 1
            y = s.tally[end_to(s, p, q)]
            y.failures, y.over_utp = how >> 1, how & 1
        else:  # its slots are taken: it comes last
            s.spare[p, peer.n_spare] = s.spare[p, 0]
            s.spare[p, 0] = known
            peer.n_spare += 1


@kernel
def give_birth(s, klass, t):
    """A new leecher of class `klass` starts, if there is one left."""
    p = rules.next_born(s.births, klass)
    if p >= 0:
        calendar.post(s, t, state.START, p, state.NIL, state.ANY)


@kernel
def close_if_both_seeds(s, h, t):
    """Seeds have nothing for each other: the connection is closed. True if it was."""
    if ends.seeding(s, h >> s.rules.slot_bits) and other_is_seed(s, h):
        close(s, h, t)
        return True
    return False


@kernel
def close_to_seeds(s, p, t):
    """Peer `p` has just finished: it closes its connections to seeds."""
    base = p << s.rules.slot_bits
    for slot in range(s.peer[p].top):
        if ends.linked(s, base + slot):
            close_if_both_seeds(s, base + slot, t)


@kernel
def leave_ring(s, h):
    """Take end `h` out of the limiter's ring, wherever it stands."""
    p = h >> s.rules.slot_bits
    for i in range(s.peer[p].n_ring):
        if s.ring[p, i] == h - (p << s.rules.slot_bits):
            drop(s, p, i)
            break
