"""The peer set: connections that open and close, peers that leave. The rules are those of `kernels/swarm`."""

import numpy as np

from btflow.kernels import bits
from btflow.kernels.access import connections
from btflow.kernels.access.state import IN_PARALLEL
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow import choking, choking_ranked, ends, lanes, requests, superseeding, windows
from btflow.kernels.flow.state import NO_LANE, SERVING, UNUSED
from btflow.kernels.swarm import extended, limiter_shares, rates, rules, state, tcp, tracker
from btflow.kernels.swarm.choking_ranked import leave_slot, start_choker
from btflow.kernels.swarm.ends import client_of


@kernel
def start(s, p, t):
    """The client starts: it is looked at from now on, and asks the tracker."""
    peer = s.peer[p]
    peer.start = t
    peer.now = t
    peer.present = 1
    if s.rules.linked == 1:
        s.net.link[p].at = t
    peer.tick_at = start_choker(s, p, t)
    peer.visit_at = t
    ends.line_up(s, p)
    ends.post(s, t + client_of(s, p).check_interval, state.TRACKER_CHECK, p, state.NIL, state.ANY)
    ask_tracker(s, p, t)


@kernel
def path(s, p, q):
    """Round-trip time [s] and loss between two peers."""
    if s.rules.linked == 1:
        return windows.one_way(s, p, q) + windows.one_way(s, q, p), 0.0
    a, b = s.peer[p].place, s.peer[q].place
    return s.rtt[a, b], s.loss[a, b]


# -- tracker -----------------------------------------------------------------------------------------------------------


@kernel
def ask_tracker(s, p, t):
    """Announce over HTTP: two round trips to the tracker, which is beside peer 0."""
    s.peer[p].last_announce = t
    rtt, _ = path(s, p, state.NIL)
    ends.post(s, t + rules.reply_time(p, rtt), state.TRACKER_REPLY, p, state.NIL, state.ANY)


# -- connections -------------------------------------------------------------------------------------------------------


@kernel
def connected_to(s, p, q):
    """True if peer `p` has a connection to `q`, complete or not."""
    base = p << s.rules.slot_bits
    for slot in range(s.peer[p].end_top):
        e = s.end[base + slot]
        if e.state != state.FREE and e.mate >> s.rules.slot_bits == q:
            return True
    return False


@kernel
def take_end(s, p):
    """A free end of peer `p`; NONE if all are in use."""
    base = p << s.rules.slot_bits
    for slot in range(s.rules.slots):
        if s.end[base + slot].state == state.FREE:
            s.peer[p].end_top = max(s.peer[p].end_top, slot + 1)
            return base + slot
    return ends.NONE


@kernel
def connect(s, p, q, t):
    """Open a connection to `q`, who decides 1.5 round trips from now; False if a peer has no end left."""
    way, waits = np.int64(0), 0.0
    if s.rules.linked == 1:
        way, waits = attempt(s, p, q)
        if way == ends.NONE:
            return False
    rtt, loss = path(s, p, q)
    if s.rules.linked == 1 and rules.gives_up(client_of(s, p), True, 0, rtt):
        return True
    h = take_end(s, p)
    g = take_end(s, q) if h != ends.NONE else ends.NONE
    if g == ends.NONE:
        return False
    set_up(s, h, g, rtt, loss, t)
    set_up(s, g, h, rtt, loss, t)
    if s.rules.linked == 1:
        s.net.protocol[h] = way
        s.net.protocol[g] = way if s.rules.split == 0 else attempt(s, q, p)[0]
    s.end[h].outgoing = state.OUTGOING
    s.peer[p].degree += 1
    delay = tcp.handshake_delay(s, s.wire[h]) if loss > 0.0 else waits
    ends.post(s, t + delay + 1.5 * rtt, state.SYN, g, state.NIL, s.end[g].generation)
    return True


@kernel
def attempt(s, p, q):
    """The transport over which peer `p` reaches `q`, and how long it tries another before [s]; NONE if over none."""
    if s.peer[p].transports & (state.OPENS_TCP | state.OPENS_UTP) == 0:
        return ends.NONE, 0.0
    first, second = connections.first_choice(s, p), connections.second_choice(s, p)
    if connections.accepts(s, q, first):
        return first, 0.0
    if second == ends.NONE or not connections.accepts(s, q, second):
        return ends.NONE, 0.0
    tries = 1 if s.peer[p].transports & IN_PARALLEL != 0 else connections.SYN_TRIES
    return second, s.net.template[s.peer[p].klass, first].rto_initial * (2.0**tries - 1.0)


@kernel
def set_up(s, h, g, rtt, loss, t):
    """A fresh end `h` whose other side is end `g`."""
    e = s.end[h]
    e.state = state.CONNECTING
    e.outgoing = state.INCOMING
    e.generation += 1
    e.mate = g
    e.rate = 0.0
    e.last_block = -1e9
    e.free = -1.0
    e.message_at = -1.0
    e.recent = 0
    e.lane = NO_LANE
    e.sample = UNUSED
    if s.rules.tallied == 1:
        rates.reset(s, h, g, t)
        s.up[h] = 0
    if s.rules.linked == 1:
        line = s.net.line[h]
        line.leaves = line.acked = line.arrival = 0.0
        line.known = t
    elif s.rules.ideal == 0:
        w = s.wire[h]
        w.rtt = rtt
        w.loss = loss
        w.unit = s.peer[h >> s.rules.slot_bits].unit
        tcp.reset(s, w, t)


@kernel
def got_syn(s, g, t):
    """The handshake of an incoming connection: accepted or refused."""
    e = s.end[g]
    peer = s.peer[g >> s.rules.slot_bits]
    h = np.int64(e.mate)
    rtt, _ = path(s, g >> s.rules.slot_bits, h >> s.rules.slot_bits)
    if not rules.may_accept(client_of(s, g >> s.rules.slot_bits), peer.degree):
        ends.post(s, t + 0.5 * rtt, state.REFUSED, h, state.NIL, s.end[h].generation)
        forget_attempt(s, g)
        return
    peer.degree += 1
    peer.ever_incoming = 1
    e.outgoing = state.ACCEPTED
    ends.post(s, t + rtt, state.READY, g, state.NIL, e.generation)


@kernel
def forget_attempt(s, h):
    """Give up the end of an incoming connection that was not accepted."""
    s.end[h].state = state.FREE
    s.end[h].generation += 1


@kernel
def ready(s, g, t):
    """Both sides know each other's pieces: the connection of end `g` counts, and closes if both are seeds."""
    h = np.int64(s.end[g].mate)
    join(s, g, t, 1.0)
    join(s, h, t, 0.5)
    if ends.serves_as_seed(s, g >> s.rules.slot_bits) and ends.serves_as_seed(s, h >> s.rules.slot_bits):
        close(s, g, t)
    elif ends.super_seeding(s, g >> s.rules.slot_bits):
        superseeding.begin(s, g, t)
    elif ends.super_seeding(s, h >> s.rules.slot_bits):
        superseeding.begin(s, h, t)


@kernel
def reported(s, h, piece, t):
    """End `h` of a super-seed hears that the other side has a piece; it closes when that has all of them."""
    superseeding.watch(s, h, piece, t)
    if superseeding.heard_all(s, h):
        close(s, h, t)


@kernel
def join(s, h, t, trips):
    """The connection is complete at end `h`; the other side's bitfield or interest in ours is here `trips` RTT later.

    A bitfield is sent when the handshake is done, by the one that opened the connection half a round trip before the
    other; the answer to it, interest, takes a round trip from there. Until then the choker's list has a stranger.
    """
    e, p = s.end[h], h >> s.rules.slot_bits
    e.state = state.OPEN
    e.since = rates.measured_from(client_of(s, p), t)
    e.last = e.since
    s.peer[p].complete += 1
    choking.enlist(s, h)
    greeting = extended.greeting(s, p, ends.neighbour(s, h))
    if greeting > 0:
        choking_ranked.send_extended(s, h, greeting, t)
    rtt, _ = path(s, p, np.int64(e.mate) >> s.rules.slot_bits)
    if s.peer[p].n_known > 0 and rules.serves_first(
        client_of(s, p), choking_ranked.served(s, p), s.peer[p].upload_slots
    ):
        trips = 0.0  # UNCHOKE goes with the bitfield
    if rtt > 0.0 and not ends.super_seeding(s, p):  # what that one shows, and who wants it, is known by connection
        ends.post(s, t + trips * rtt, state.BITFIELD, h, state.NIL, e.generation)
    else:
        introduce(s, h, t)


@kernel
def introduce(s, h, t):
    """What peer `p` of end `h` has told of is known to the other side, whose interest is here."""
    p, g = h >> s.rules.slot_bits, np.int64(s.end[h].mate)
    q = g >> s.rules.slot_bits
    for i in range(s.peer[p].n_known):
        s.copies[s.have_log[p, i], q] += 1
    s.order[p, s.end[h].at] = choking.list_entry(s, h, g)
    if ends.keeps_unchoked(s, h) and ends.wants(s, q, p, ends.offer(s, p)):
        s.peer[p].due_at = min(s.peer[p].due_at, t)
        ends.wake(s, p, t)
    if s.rules.tallied == 1 and ends.wants(s, q, p, ends.offer(s, p)):
        choking_ranked.got_interested(s, p, h, t)


# -- the end of connections --------------------------------------------------------------------------------------------


@kernel
def close(s, h, t):
    """Close the connection of end `h` at both sides."""
    g = np.int64(s.end[h].mate)
    release(s, h, t)
    release(s, g, t)
    ask_others(s, h >> s.rules.slot_bits, t)
    ask_others(s, g >> s.rules.slot_bits, t)


@kernel
def ask_others(s, p, t):
    """A connection of peer `p` has closed: in endgame it asks the others for what it had asked there."""
    if s.peer[p].present == 1 and s.peer[p].endgame == 1 and not ends.seeding(s, p):
        requests.endgame_everywhere(s, p, t)


@kernel
def close_to_seeds(s, p, t):
    """Peer `p` has everything: it closes its connections to those that have, too, and others drop it (rules.drops)."""
    base, last = p << s.rules.slot_bits, np.int64(s.have_log[p, s.rules.pieces - 1])
    for h in range(base, base + s.peer[p].end_top):
        if s.end[h].state != state.OPEN:
            continue
        q = ends.neighbour(s, h)
        others = s.rules.pieces - s.peer[q].n_log > bits.has_piece(s.lacks, q, last)
        if ends.told_all(s, q):
            close(s, h, t)
        elif rules.drops(client_of(s, q), others):
            close(s, h, t)
            try_later(s, p, q, t)
            try_later(s, q, p, t)


@kernel
def try_later(s, p, q, t):
    """Peer `p` tries to reach `q` once more (as `kernels/swarm/peer_set.py`)."""
    r = client_of(s, p)
    if r.reconnect_interval > 0.0 and r.max_failures > 0:
        ends.post(s, t + r.reconnect_interval, state.RECONNECT, p, q, state.ANY)


@kernel
def reconnect(s, p, q, t):
    """Peer `p` tries again to reach `q`."""
    if not ends.left(s, p) and not (ends.seeding(s, p) and ends.seeding(s, q)):
        tracker.learn(s, p, q, t, ends.left, connected_to, connect)


@kernel
def release(s, h, t):
    """Give up end `h`: its lane ends, a spare takes its place; an open, used slot makes the choker run."""
    e = s.end[h]
    p = h >> s.rules.slot_bits
    peer = s.peer[p]
    if e.state == state.FREE:
        return
    used = False
    if e.state == state.OPEN:
        if ends.super_seeding(s, p):
            superseeding.forget_copies(s, h)
        rates.forget_source(s, e, h)
        peer.complete -= 1
        if e.lane != NO_LANE:
            u = (p << s.lane_bits) + e.lane
            used = s.lane[u].state == SERVING
            if s.rules.tallied == 1:
                leave_slot(s, h, t)
            lanes.close_lane(s, u, t, t)
        choking.delist(s, h)
    if s.rules.tallied == 1:
        limiter_shares.leave(s, h)
    e.state = state.FREE
    e.generation += 1
    peer.degree -= 1
    if peer.present == 0:
        return
    for _ in range(peer.n_spare):
        if not rules.may_initiate(client_of(s, p), peer.degree):
            break
        peer.n_spare -= 1
        q = np.int64(s.spare[p, peer.n_spare])
        tracker.learn(s, p, q, t, ends.left, connected_to, connect)
    if used and client_of(s, p).choker != state.BY_LIST:
        choking_ranked.lost_slot(s, p, t)
    elif used:
        peer.due_at = min(peer.due_at, t)
        peer.next_at = min(peer.next_at, t)
        peer.ending = -1


@kernel
def leave(s, p, t):
    """Peer `p` leaves: the tracker forgets it, its connections close, and a new leecher may take its place."""
    s.peer[p].present = 0
    s.peer[p].left_at = t
    tracker.forget(s, p)
    base = p << s.rules.slot_bits
    for slot in range(s.peer[p].end_top):
        h = base + slot
        e = s.end[h]
        if e.state == state.FREE:
            continue
        g = np.int64(e.mate)
        counts = e.state == state.OPEN or e.outgoing != state.INCOMING
        if s.end[g].state != state.FREE and s.end[g].mate == h:
            if s.end[g].state == state.CONNECTING and s.end[g].outgoing == state.INCOMING:
                forget_attempt(s, g)
            else:
                release(s, g, t)
        if counts:
            release(s, h, t)
        else:
            forget_attempt(s, h)
        ask_others(s, g >> s.rules.slot_bits, t)
    if s.rules.replace == 1:
        give_birth(s, np.int64(s.peer[p].klass), t)


@kernel
def give_birth(s, klass, t):
    """A new leecher of class `klass` starts, if there is one left."""
    p = rules.next_born(s.births, klass)
    if p >= 0:
        ends.post(s, t, state.START, p, state.NIL, state.ANY)
