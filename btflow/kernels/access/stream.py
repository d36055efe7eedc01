"""Messages as bytes in a flow: written by the client, cut into segments below, handed over in order above."""

import numpy as np

from btflow.kernels.access import connections, sampling
from btflow.kernels.access.state import TCP
from btflow.kernels.calendar import give_node, post, take_node
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link import sender
from btflow.kernels.link.state import CONNECTED, NONE
from btflow.kernels.swarm import engine, limiter, limiter_shares, messages, state
from btflow.kernels.swarm.ends import client_of, lower_flag, mate, served, set_cause
from btflow.kernels.swarm.rates import note_bytes, upload_rate


@kernel
def write(x, i, kind, arg, size, since, t):
    """The client writes a message of `size` bytes to flow `i`; it has been waiting `since` then."""
    s = x.swarm
    f = x.net.flow[i]
    f.wrote += size
    n = take_node(s)
    node = s.node[n]
    node.kind = kind
    node.arg = arg
    node.time = since
    append(x, f, n)


@kernel
def append(x, f, n):
    """The message of node `n` ends where the stream ends now."""
    s = x.swarm
    s.node[n].lap = f.wrote
    s.node[n].next = NONE
    if f.first_message == NONE:
        f.first_message = n
    else:
        s.node[f.last_message].next = n
    f.last_message = n


@kernel
def flush(x, h, t):
    """Write the control messages of end `h` that wait, unless a block is being written; returns their bytes."""
    s = x.swarm
    c = s.conn[h]
    if c.out_first == NONE:
        return 0
    if limiter_shares.by_shares(s, h >> s.rules.slot_bits):
        return send_paid(x, h, t)
    if s.rules.direct == 1 and s.conn[h].state == state.OPEN:
        return send_past(x, h, t)
    if s.rules.split == 0 and limiter.part_sent(s, h):
        return 0
    i = connections.control_flow(s, h)
    f = x.net.flow[i]
    total = 0
    n = c.out_first
    while n != NONE:
        following = np.int64(s.node[n].next)
        size = messages.message_bytes(s, np.int64(s.node[n].kind), np.int64(s.node[n].arg))
        f.wrote += size
        total += size
        append(x, f, n)
        n = following
    c.out_first = NONE
    push(x, i, t)
    return total


@kernel
def send_paid(x, h, t):
    """As `flush`, of those that have their share of an upload limit."""
    s = x.swarm
    c = s.conn[h]
    total, i = 0, connections.control_flow(s, h)
    while c.out_first != NONE:
        n = c.out_first
        size = messages.message_bytes(s, np.int64(s.node[n].kind), np.int64(s.node[n].arg))
        if limiter_shares.pay_mail(s, h, size, state.SINGLE, t) == 0:
            break
        c.out_first = s.node[n].next
        if s.rules.direct == 1 and c.state == state.OPEN:
            pass_by(x, h, n, t)
        else:
            total += size
            x.net.flow[i].wrote += size
            append(x, x.net.flow[i], n)
    if c.out_first != NONE:
        limiter_shares.ask_for_mail(s, h, t)
    elif s.turns[h] > 0:  # a block that was paid for meanwhile had to wait behind them
        limiter_shares.arm(s, h >> s.rules.slot_bits, t)
    if total > 0:
        push(x, i, t)
    return total


@kernel
def send_past(x, h, t):
    """Deliver the control messages of end `h` past all queues and data, after the propagation delay; 0 bytes."""
    c = x.swarm.conn[h]
    n = c.out_first
    while n != NONE:
        following = np.int64(x.swarm.node[n].next)
        pass_by(x, h, n, t)
        n = following
    c.out_first = NONE
    return 0


@kernel
def pass_by(x, h, n, t):
    """The message of node `n` comes to the other side of end `h` after the propagation delay."""
    s = x.swarm
    g = mate(s, h)
    p, q = h >> s.rules.slot_bits, g >> s.rules.slot_bits
    arrival = t + x.net.pipe[2 * p].delay + x.net.pipe[2 * q + 1].delay
    node = s.node[n]
    kind, arg = np.int64(node.kind), np.int64(node.arg)
    post(s, arrival, kind, g, arg, s.conn[g].generation)
    sampling.note_message(x, h, kind, arg, arrival - node.time, arrival)
    give_node(s, n)


@kernel
def push(x, i, t):
    """Let flow `i` send what it may, in a longer ring if need be."""
    net = x.net
    f = net.flow[i]
    if f.running != CONNECTED:
        return
    sender.send(net, i, f, t)
    while net.clock[0].cramped != NONE:
        net.clock[0].cramped = NONE
        connections.widen_ring(x, i)
        sender.send(net, i, f, t)


@kernel
def deliver(x, i, t):
    """Hand over the messages of flow `i` that have come in full."""
    s = x.swarm
    f = x.net.flow[i]
    h = connections.end_of(s, i)
    g = mate(s, h)
    if mate(s, g) != h:  # the other side has refused, and its end serves another connection by now
        return
    generation = s.conn[g].generation
    if s.rules.tallied == 1:
        s.tally[g].choke_read = choke_read(s, f)
    while f.first_message != NONE and s.node[f.first_message].lap <= f.in_order:
        n = f.first_message
        node = s.node[n]
        kind, arg, since = np.int64(node.kind), np.int64(node.arg), node.time
        if s.rules.tallied == 1:
            count(s, h, g, np.int64(node.lap), kind == state.PIECE, t)
        f.first_message = node.next
        give_node(s, n)
        sampling.note_message(x, h, kind, arg, t - since, t)
        if kind == state.SYN:
            connections.establish(x, connections.control_flow(s, g), t)
        engine.hear(s, kind, g, arg, t)
        if s.conn[g].generation != generation:
            return
    if s.rules.tallied == 1 and (f.first_message == NONE or s.node[f.first_message].kind == state.PIECE):
        count(s, h, g, f.in_order, True, t)


@kernel
def choke_read(s, f):
    """1 if CHOKE is the last of the messages about slots that have come in full, else 0.

    Requests leave when all that has come is read (libtorrent peer_connection.cpp, on_receive_data_impl).
    """
    found = 0
    n = f.first_message
    while n != NONE and s.node[n].lap <= f.in_order:
        if s.node[n].kind == state.CHOKE or s.node[n].kind == state.UNCHOKE:
            found = 1 if s.node[n].kind == state.CHOKE else 0
        n = s.node[n].next
    return found


@kernel
def count(s, h, g, to, is_block, t):
    """What end `h` has sent is at end `g` up to byte `to` of its stream, part of a block or of anything else."""
    y = s.tally[g]
    if is_block and to > y.counted:
        note_bytes(s, g, float(to - y.counted), t, t, served(s, g))
    y.counted = to


@kernel
def refuses(s, h, f, t):
    """True if the socket is full, and what the client may write ahead of it."""
    return pending(f) > capacity(f) + ahead(s, h, t)


@kernel
def ahead(s, h, t):
    """Bytes that the client keeps ready for the socket of end `h` (Transmission peer-io.c, getDesiredOutputBufferSize).

    They are in one line with its messages, and a choke does not take them back.
    """
    r = client_of(s, h >> s.rules.slot_bits)
    if s.rules.tallied == 0 or r.write_ahead == 0.0:
        return 0.0
    return max(float(r.write_ahead_least), r.write_ahead * upload_rate(s, h, t, 0.0))


@kernel
def capacity(f):
    """Bytes that the socket takes; beyond its windows a segment that is being filled."""
    if f.socket_windows == 0.0:
        return f.socket
    return max(f.socket, f.socket_windows * f.cwnd * f.mss + f.mss)


@kernel
def pending(f):
    """Bytes in the socket, as its limit counts them."""
    return f.wrote - (f.cut if f.socket_unsent == 1 else f.acked)


@kernel
def held(x, h, t):
    """True if end `h` uploads over TCP, whose connections have an upload limit together that is used up until later."""
    s = x.swarm
    p = h >> s.rules.slot_bits
    if client_of(s, p).mixed_mode != state.PEER_PROPORTIONAL or x.protocol[h] != TCP:
        return False
    return s.session[p].tcp_limit > 0.0 and s.session[p].tcp_at > t


@kernel
def wait(s, h):
    """End `h` goes on when the upload limit of its peer's TCP connections lets it."""
    if s.tally[h].waits == 0:
        s.tally[h].waits = 1
        post(s, s.session[h >> s.rules.slot_bits].tcp_at, state.RESUMED, h, state.NIL, s.conn[h].generation)


@kernel
def drained(x, i, t):
    """Something left the socket of flow `i`: if it was full and has room again, its end goes back into the ring."""
    s = x.swarm
    ends = s.rules.peers << s.rules.slot_bits
    if i >= ends or s.up[i] & state.BLOCKED == 0:
        return
    f = x.net.flow[i]
    if pending(f) > (1.0 - f.socket_free) * capacity(f) + ahead(s, i, t):
        return
    if held(x, i, t):
        wait(s, i)
        return
    lower_flag(s.up, i, state.BLOCKED)
    if s.conn[i].cause < state.CAUSES:
        set_cause(s, i, state.BY_PIPELINE if s.up[i] & state.INTERESTED_IN_US != 0 else state.IDLE, t)
    limiter.join(s, i, t)
