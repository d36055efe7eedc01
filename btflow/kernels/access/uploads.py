"""The upload limiter on a real socket: each turn writes a unit, and a socket that is full leaves the ring.

With a limit a turn writes 1380 B and the next comes when that has paid for it; without one a turn writes a whole block
and the ring goes on until every socket is full (BitTorrent 4.0.2 RateLimiter.try_send).
"""

import numpy as np

from btflow.kernels.access import connections, stream
from btflow.kernels.access.state import TCP
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.swarm import limiter, limiter_shares, messages, rates, rules
from btflow.kernels.swarm.ends import client_of, raise_flag, set_cause
from btflow.kernels.swarm.state import BLOCKED, BY_WINDOW, CAUSES, GAP_BINS, NIL, PEER_PROPORTIONAL, PIECE


@kernel
def turn(x, p, t):
    """The limiter's timer: the turns that are due."""
    s = x.swarm
    peer = s.peer[p]
    if limiter_shares.by_shares(s, p):
        write_paid(x, p, t)
        return
    while peer.n_ring > 0 and limiter.released(s, p, peer.turn) <= t:
        limiter.drop_empty(s, p)
        if peer.n_ring > 0:
            write_unit(x, p, t)
    limiter.arm(s, p, t)


@kernel
def write_unit(x, p, t):
    """The connection at the ring's position writes one unit of its block."""
    s = x.swarm
    peer = s.peer[p]
    h = (p << s.rules.slot_bits) + s.ring[p, peer.at]
    c = s.conn[h]
    block = limiter.block_number(limiter.entry(s, h, np.int64(c.up_head)))
    size = rules.block_bytes(s.rules, block)
    amount = np.int64(peer.unit)
    if s.turns[h] == 1:
        amount = rules.last_turn(s.rules, size, np.int64(c.full), np.int64(peer.unit))
    s.gaps[peer.klass, min(peer.n_ring, GAP_BINS - 1)] += 1
    at = np.int64(peer.at)
    limiter.send_unit(s, p, t)
    connections.start_data(x, h, t)
    quota = limiter.by_quota(s, p)
    if s.turns[h] == 0:
        amount += finish_block(x, h, size, size + s.rules.header if quota else amount, t)
        limiter.charge_packets(s, p, size)
        note_tcp(x, h, size, t)
    elif not quota:  # else the block is written when it is paid for
        x.net.flow[h].wrote += amount
        stream.push(x, h, t)
    peer.turn += amount / peer.upload_limit
    settle(x, h, at, t)


@kernel
def write_paid(x, p, t):
    """What the shares of peer `p` have paid for is written."""
    s = x.swarm
    limiter_shares.hand_out(s, p, t)
    base = p << s.rules.slot_bits
    for h in range(base, base + s.peer[p].top):
        if s.tally[h].mail_ahead > 0.0 and s.tally[h].paid > 0.0:
            stream.flush(x, h, t)
    i = limiter_shares.next_paid(s, p, NIL)
    while i < s.peer[p].n_ring:
        h = (p << s.rules.slot_bits) + s.ring[p, i]
        size = rules.block_bytes(s.rules, limiter.block_number(limiter.entry(s, h, np.int64(s.conn[h].up_head))))
        connections.start_data(x, h, t)
        amount = limiter.pay(s, h, t)
        if s.turns[h] > 0:
            x.net.flow[h].wrote += amount
            stream.push(x, h, t)
        else:
            finish_block(x, h, size, amount, t)
            note_tcp(x, h, size, t)
        settle(x, h, i, t)
        i = limiter_shares.next_paid(s, p, i)
    limiter.arm(s, p, t)


@kernel
def finish_block(x, h, size, amount, t):
    """A block is fully written; the messages that waited behind it follow. Returns their bytes."""
    s = x.swarm
    c = s.conn[h]
    seq = np.int64(c.up_head)
    s.peer[h >> s.rules.slot_bits].bytes_up += size
    limiter.note_written(s, h, size, t)
    c.up_head += 1
    stream.write(x, h, PIECE, seq, amount, t, t)
    messages.tell_behind_block(s, h, t)
    behind = stream.flush(x, h, t)
    if behind == 0 or s.rules.split == 1:
        stream.push(x, h, t)
    limiter.load(s, h, t)
    return behind


@kernel
def note_tcp(x, h, size, t):
    """A block was written over TCP whose connections have a limit together: when the next may be."""
    s = x.swarm
    p = h >> s.rules.slot_bits
    if client_of(s, p).mixed_mode == PEER_PROPORTIONAL and x.protocol[h] == TCP and s.session[p].tcp_limit > 0.0:
        s.session[p].tcp_at = max(s.session[p].tcp_at, t) + size / s.session[p].tcp_limit


@kernel
def proportion(x, p):
    """The upload limit of the TCP connections together, where uTP is in use, anew (session_impl.cpp, on_tick).

    Four times their part, by number, of what is uploaded; none below five connections or without uTP among them.
    """
    s = x.swarm
    peer, session = s.peer[p], s.session[p]
    second = (peer.bytes_up - session.uploaded) / client_of(s, p).pulse
    session.rate = rates.FORGETS * session.rate + (1.0 - rates.FORGETS) * second
    session.uploaded = peer.bytes_up
    busy_tcp, busy = 0, 0
    for slot in range(peer.top):
        h = (p << s.rules.slot_bits) + slot
        if s.turns[h] > 0 or s.up[h] & BLOCKED != 0:
            busy += 1
            busy_tcp += x.protocol[h] == TCP
    session.tcp_limit = rules.limit_of_tcp(session.rate, busy_tcp, busy)


@kernel
def settle(x, h, at, t):
    """After its turn an end stays in the ring unless its socket is full or it has nothing to send."""
    s = x.swarm
    p = h >> s.rules.slot_bits
    full = stream.refuses(s, h, x.net.flow[h], t)
    if stream.held(x, h, t):
        stream.wait(s, h)
        full = True
    if full:
        raise_flag(s.up, h, BLOCKED)
        if s.conn[h].cause < CAUSES:
            set_cause(s, h, BY_WINDOW, t)
    elif s.turns[h] == 0:
        set_cause(s, h, limiter.waits_for(s, h), t)
    if full or s.turns[h] == 0:
        limiter.drop(s, p, at)
