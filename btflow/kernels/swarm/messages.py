"""Control messages between the two ends of a connection: they wait behind a part-sent block, then travel.

A message names the end that receives it. `generation` lets a message outlive its connection harmlessly.
"""

import math

import numpy as np

from btflow.kernels.calendar import NONE, give_node, post, take_node
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.swarm import ends, limiter_shares, nagle, state, tcp
from btflow.kernels.swarm.limiter import forget, got_request, message_written, news_written, part_sent, sync
from btflow.kernels.swarm.tcp_window import idle_restart


@kernel
def blocked(s, h, t):
    """True if end `h` is in the middle of writing a block, so that nothing else can be written (4.0.2 Connecter)."""
    if s.turns[h] > 0 and s.up[h] & state.RINGED != 0:
        sync(s, h >> s.rules.slot_bits, t)
    return part_sent(s, h) and s.rules.split == 0 and s.rules.direct == 0


@kernel
def send(s, h, kind, arg, t):
    """Write a control message on end `h`, behind the HAVEs that waited for one to go with."""
    if s.rules.tallied == 1 and s.tally[h].haves_due < state.FOREVER:
        send_haves(s, h, t)
    write(s, h, kind, arg, t)


@kernel
def send_extended(s, h, size, t):
    """Write an extended message of `size` bytes on end `h`."""
    send(s, h, state.EXTENDED, np.int64(size), t)


@kernel
def send_haves(s, h, t):
    """The HAVEs that waited on end `h` leave, as one: it says how many pieces its peer has."""
    s.tally[h].haves_due = state.FOREVER
    write(s, h, state.HAVE, np.int64(s.n_log[h >> s.rules.slot_bits]), t)


@kernel
def send_due_haves(s, p, t):
    """The HAVEs of peer `p` that have waited long enough leave."""
    base = p << s.rules.slot_bits
    for h in range(base, base + s.peer[p].top):
        if ends.linked(s, h) and s.tally[h].haves_due <= t:
            send_haves(s, h, t)


@kernel
def write(s, h, kind, arg, t):
    """Write a control message on end `h`; behind a part-sent block it waits in the end's queue."""
    if kind == state.HAVE:
        hold_haves(s, h, arg)
    if not blocked(s, h, t):
        transmit(s, h, kind, arg, t)
    elif limiter_shares.by_shares(s, h >> s.rules.slot_bits):
        transmit_paid(s, h, kind, arg, t)
    else:
        enqueue(s, h, kind, arg)


@kernel
def enqueue(s, h, kind, arg):
    """Put a message into the queue of end `h` that `flush` sends behind the block."""
    c = s.conn[h]
    if limiter_shares.by_shares(s, h >> s.rules.slot_bits):
        s.tally[h].mail += message_bytes(s, kind, arg) * count_of(kind, arg)
    n = take_node(s)
    node = s.node[n]
    node.kind = kind
    node.arg = arg
    node.next = NONE
    node.time = s.clock[0].now
    if c.out_first == NONE:
        c.out_first = n
    else:
        s.node[c.out_last].next = n
    c.out_last = n


@kernel
def note_send(s, h, t):
    """A message leaves end `h` by a send of its own: count the time since the last one there (statistics only)."""
    gap = t - s.conn[h].last_send
    half_octave = 1 + int(2.0 * math.log2(1000.0 * gap)) if gap > 0.001 else 0
    s.control_gaps[s.peer[h >> s.rules.slot_bits].klass, min(half_octave, state.CONTROL_BINS - 1)] += 1
    s.conn[h].last_send = t


@kernel
def transmit(s, h, kind, arg, t):
    """Put a message of end `h` on the wire."""
    note_send(s, h, t)
    if limiter_shares.by_shares(s, h >> s.rules.slot_bits):
        transmit_paid(s, h, kind, arg, t)
        return
    g = ends.mate(s, h)
    at = message_written(s, h, t)
    if s.rules.tallied == 1:
        at = s.tally[h].written_at = max(at, s.tally[h].written_at)  # not before one that waits still
    if s.rules.linked == 1:
        enqueue(s, h, kind, arg)
        if at > t:
            post(s, at, state.WRITABLE, h, state.NIL, s.conn[h].generation)
        else:
            ends.note(s, h, ends.WRITTEN)
    elif s.rules.ideal == 0:
        dispatch(s, tcp.control_arrival(s, s.wire[h], at), kind, g, arg)
    elif at > t:
        dispatch(s, at, kind, g, arg)
    else:
        deliver_now(s, g, kind, arg, t)


@kernel
def transmit_paid(s, h, kind, arg, t):
    """As `transmit`, where an upload limit is kept in shares: once it has its share."""
    enqueue(s, h, kind, arg)
    limiter_shares.ask_for_mail(s, h, t)
    if s.rules.linked == 1:
        ends.note(s, h, ends.WRITTEN)
    else:
        send_paid(s, h, s.rules.ideal == 0, t)


@kernel
def send_paid(s, h, alone, t):
    """The messages of end `h` that are paid for are written: `alone`, or in the packets of a block."""
    c = s.conn[h]
    while c.out_first != NONE:
        n = c.out_first
        kind, arg, following = np.int64(s.node[n].kind), np.int64(s.node[n].arg), np.int64(s.node[n].next)
        wanted = count_of(kind, arg)
        written = limiter_shares.pay_mail(s, h, message_bytes(s, kind, arg), wanted, t)
        if written == 0:
            break
        if kind == state.REQUEST:
            arg = written
        if written < wanted:
            s.node[n].arg -= written
        else:
            give_node(s, n)
            c.out_first = following
        if s.rules.ideal == 1:
            deliver_now(s, ends.mate(s, h), kind, arg, t)
        else:
            arrival = tcp.control_arrival(s, s.wire[h], t) if alone else s.wire[h].last_arrival
            dispatch(s, arrival, kind, ends.mate(s, h), arg)
    if c.out_first != NONE:
        limiter_shares.ask_for_mail(s, h, t)


@kernel
def send_all_paid(s, p, t):
    """A quota was handed out: the messages of peer `p` that are paid for, and not behind a block, are written."""
    base = p << s.rules.slot_bits
    for h in range(base, base + s.peer[p].top):
        if s.tally[h].mail_ahead > 0.0 and s.tally[h].paid > 0.0:
            send_paid(s, h, s.rules.ideal == 0, t)


@kernel
def count_of(kind, arg):
    """How many messages one entry of a queue stands for."""
    return arg if kind == state.REQUEST else state.SINGLE


@kernel
def dispatch(s, arrival, kind, g, arg):
    """Post a message to end `g`."""
    s.coming[g] += 1
    post(s, arrival, kind, g, arg, s.conn[g].generation)


@kernel
def deliver_now(s, g, kind, arg, t):
    """A message that takes no time: in effect at once where it only changes what end `g` knows, else an event."""
    if s.coming[g] > 0 or not applied(s, g, kind, arg, t):
        dispatch(s, t, kind, g, arg)


@kernel
def applied(s, g, kind, arg, t):
    """Apply a message that has no consequences beyond end `g` itself; False if it needs its handler."""
    if kind == state.REQUEST:
        note_read(s, g, kind, arg, t)
        got_request(s, g, arg, t)
    elif (
        kind == state.INTERESTED and s.up[g] & state.UNCHOKED == 0 and s.rules.tallied == 0
    ):  # else it may get a slot or a set
        ends.raise_flag(s.up, g, state.INTERESTED_IN_US)
    elif kind == state.NOT_INTERESTED and s.up[g] & (state.UNCHOKED | state.TOLD) == 0:
        ends.lower_flag(s.up, g, state.INTERESTED_IN_US)
    elif kind == state.CHOKE and s.dn[g] & state.WANTING == 0:
        ends.lower_flag(s.dn, g, state.SERVED)
    elif kind == state.UNCHOKE and s.dn[g] & state.WANTING == 0:
        ends.raise_flag(s.dn, g, state.SERVED)
    else:
        return False
    return True


@kernel
def note_read(s, h, kind, arg, t):
    """End `h` reads a message: the ACK counts, if it has an upload limit that is kept in shares."""
    if limiter_shares.by_shares(s, h >> s.rules.slot_bits):
        limiter_shares.note_read(s, h, float(message_bytes(s, kind, arg)), t)


@kernel
def flush(s, h, t):
    """The block is written: the control messages that waited go out with its end, in order. Returns their bytes."""
    c = s.conn[h]
    c.last_send = t
    if limiter_shares.by_shares(s, h >> s.rules.slot_bits):
        send_paid(s, h, False, t)
        return 0
    n = c.out_first
    if n == NONE:
        return 0
    total = 0
    arrival = t if s.rules.ideal == 1 else s.wire[h].last_arrival
    while n != NONE:
        node = s.node[n]
        following = np.int64(node.next)
        if s.rules.ideal == 1:
            deliver_now(s, ends.mate(s, h), np.int64(node.kind), np.int64(node.arg), t)
        else:
            dispatch(s, arrival, np.int64(node.kind), ends.mate(s, h), np.int64(node.arg))
        total += message_bytes(s, np.int64(node.kind), np.int64(node.arg))
        give_node(s, n)
        n = following
    c.out_first = NONE
    return total


@kernel
def message_bytes(s, kind, arg):
    """Size of a control message [B]."""
    if kind == state.EXTENDED:
        return arg
    if kind == state.REQUEST or kind == state.CANCEL:
        return s.rules.request_size
    if kind == state.HAVE or kind == state.OFFER or kind == state.ALLOWED_FAST:
        return s.rules.have_size
    if kind == state.SYN or kind == state.READY:  # handshakes
        return s.rules.handshake_size
    return s.rules.bitfield_size if kind == state.BITFIELD else s.rules.state_size


@kernel
def hold_haves(s, h, count):
    """HAVEs number `count - 1` and later of end `h` travel on their own until all of them have arrived."""
    if s.alone[h] == 0:
        s.conn[h].have_limit = count - 1
    s.alone[h] += 1


@kernel
def announce_have(s, p, t):
    """Peer `p` verified a piece: tell every connection (no suppression for those who have it).

    Undelayed connections to peers of one place hear of it at the same instant: one event serves them all.
    """
    base = p << s.rules.slot_bits
    count = s.n_log[p]
    if s.rules.tallied == 1 and ends.client_of(s, p).batch_interval > 0.0:
        for h in range(base, base + s.peer[p].top):
            if ends.linked(s, h):
                s.tally[h].haves_due = min(s.tally[h].haves_due, t + ends.client_of(s, p).batch_interval)
    elif s.rules.ideal == 1 and limiter_shares.by_shares(s, p):
        for h in range(base, base + s.peer[p].top):
            if ends.linked(s, h):
                if s.alone[h] > 0 or blocked(s, h, t) or not limiter_shares.pays(s, h, s.rules.have_size, t):
                    send(s, h, state.HAVE, count, t)
                else:
                    note_send(s, h, t)
        post(s, t, state.HAVE_ALL, p, count, state.EVERYWHERE)
    elif s.rules.ideal == 1:
        for i in range(s.peer[p].n_ring):
            h = base + s.ring[p, i]
            if s.alone[h] > 0 or blocked(s, h, t):
                send(s, h, state.HAVE, count, t)
        for h in range(base, base + s.peer[p].top):
            if ends.linked(s, h) and s.turns[h] == 0:
                note_send(s, h, t)
        post(s, news_written(s, p, t), state.HAVE_ALL, p, count, state.EVERYWHERE)
    elif s.rules.linked == 1:
        for slot in range(s.peer[p].top):
            if ends.linked(s, base + slot):
                send(s, base + slot, state.HAVE, count, t)
    else:
        announce_delayed(s, p, t)


@kernel
def announce_delayed(s, p, t):
    """`announce_have` where messages take time: an event for each place, and one for each connection that is behind.

    Where each peer is a place of its own the event names the connection, so that nobody looks for it.
    """
    base = p << s.rules.slot_bits
    count = s.n_log[p]
    told = s.scratch[0]
    shares = limiter_shares.by_shares(s, p)
    t = news_written(s, p, t)
    if s.rules.apart == 0:
        for place in range(s.rtt.shape[0]):
            told[place] = 0
    for slot in range(s.peer[p].top):
        h = base + slot
        if not ends.linked(s, h):
            continue
        w = s.wire[h]
        nagle.release(s, w, t)
        behind = s.alone[h] > 0 or t < w.small_acked or t + 0.5 * w.rtt < w.last_arrival
        alone = behind or blocked(s, h, t) or (w.loss > 0.0 and w.until_loss == 1)
        if alone or (shares and not limiter_shares.pays(s, h, s.rules.have_size, t)):
            send(s, h, state.HAVE, count, t)
        else:
            note_send(s, h, t)
            w.until_loss -= 1
            idle_restart(s, w, t)
            w.last_sent = t
            if s.rules.nagle == 1:
                nagle.message_leaves(s, w, t)
            w.last_arrival = t + 0.5 * w.rtt
            if s.rules.apart == 1:
                g = ends.mate(s, h)
                post(s, w.last_arrival, state.HAVE_ONE, g, count, s.conn[g].generation)
                continue
            place = s.peer[ends.neighbour(s, h)].place
            if told[place] == 0:
                told[place] = 1
                post(s, w.last_arrival, state.HAVE_ALL, p, count, place)


@kernel
def arrived_alone(s, h):
    """A HAVE (or bitfield) of end `h` that travelled on its own has arrived."""
    s.alone[h] -= 1


@kernel
def choke(s, h, t):
    """Choke end `h`; a part-sent block is finished first, and CHOKE follows it."""
    if s.up[h] & state.UNCHOKED == 0:
        return
    ends.lower_flag(s.up, h, state.UNCHOKED)
    ends.lower_flag(s.up, h, state.OPTIMISTIC)
    s.peer[h >> s.rules.slot_bits].n_unchoked -= 1
    if s.turns[h] > 0 and s.up[h] & state.RINGED != 0:
        sync(s, h >> s.rules.slot_bits, t)
    if not part_sent(s, h):
        note_choke(s, h, t)
        send(s, h, state.CHOKE, state.NIL, t)


@kernel
def note_choke(s, h, t):
    """CHOKE is being written: what is queued is dropped, and requests are ignored from now on."""
    ends.lower_flag(s.up, h, state.TOLD)
    if s.rules.tallied == 1:
        s.tally[h].choked_at = t
    forget(s, h, t)
    ends.set_cause(s, h, state.CAUSES, t)


@kernel
def unchoke(s, h, t):
    """Unchoke end `h`; behind a part-sent block the message waits, or takes back a CHOKE not sent yet."""
    c = s.conn[h]
    if s.up[h] & state.UNCHOKED != 0:
        return
    ends.raise_flag(s.up, h, state.UNCHOKED)
    s.peer[h >> s.rules.slot_bits].n_unchoked += 1
    c.up_round = s.peer[h >> s.rules.slot_bits].ticks
    if s.rules.tallied == 1:
        s.tally[h].unchoked_at = t
        s.tally[h].sent_since = 0.0
    if s.turns[h] > 0 and s.up[h] & state.RINGED != 0:
        sync(s, h >> s.rules.slot_bits, t)
    if not part_sent(s, h) and s.up[h] & state.TOLD == 0:  # else the CHOKE it takes back was never sent
        note_unchoke(s, h, t)
        send(s, h, state.UNCHOKE, state.NIL, t)


@kernel
def note_unchoke(s, h, t):
    """UNCHOKE is being written: requests are welcome."""
    ends.raise_flag(s.up, h, state.TOLD)
    s.peer[h >> s.rules.slot_bits].unchokes += 1
    ends.set_cause(s, h, state.BY_PIPELINE if s.up[h] & state.INTERESTED_IN_US != 0 else state.IDLE, t)


@kernel
def tell_behind_block(s, h, t):
    """A block is written: a choke or unchoke decided meanwhile joins the messages that go out behind it."""
    told = s.up[h] & state.TOLD != 0
    if told and s.up[h] & state.UNCHOKED == 0:
        note_choke(s, h, t)
        enqueue(s, h, state.CHOKE, state.NIL)
    elif not told and s.up[h] & state.UNCHOKED != 0:
        note_unchoke(s, h, t)
        enqueue(s, h, state.UNCHOKE, state.NIL)
