"""What a connection has asked for and how far it may go: the request pipeline, and endgame."""

import numpy as np

from btflow.kernels import bits
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.random import shuffle
from btflow.kernels.swarm import picking, rules, state
from btflow.kernels.swarm.ends import client_of, linked, lower_flag, mate, raise_flag, served, take_row, wanting
from btflow.kernels.swarm.limiter import cancelled, entry, place
from btflow.kernels.swarm.messages import send
from btflow.kernels.swarm.rates import download_rate


@kernel
def backlog(s, h, t):
    """Floor of the pipeline of end `h` at its measured rate."""
    c = s.conn[h]
    r = client_of(s, h >> s.rules.slot_bits)
    if r.requests == state.SLOW_START:
        return np.int64(1 if s.tally[h].idle == 1 or s.tally[h].snubbed == 1 else s.tally[h].queue)
    if r.requests == state.BY_SECONDS:
        most = np.int64(rules.most_requests(r, client_of(s, mate(s, h) >> s.rules.slot_bits)))
        return np.int64(rules.queue_of_rate(r, s.rules.block_size, download_rate(r, c, t, 0.0), most))
    rate = c.dn_rate if c.dn_last == t else download_rate(r, c, t, 0.0)
    return np.int64(rules.pipeline(r, s.rules.block_size, rate, s.requests.shape[1] - min(s.rules.blocks, 64)))


@kernel
def free_entries(s, h):
    """Room in the request list of end `h`: cancelled requests stay in it until their turn comes."""
    return s.requests.shape[1] - (s.conn[h].dn_tail - s.conn[mate(s, h)].up_head)


@kernel
def say_interested(s, h, t):
    """Tell the other side that we want something it has."""
    raise_flag(s.dn, h, state.WANTING)
    send(s, h, state.INTERESTED, state.NIL, t)


@kernel
def say_not_interested(s, h, t):
    """Tell the other side that it has nothing for us."""
    lower_flag(s.dn, h, state.WANTING)
    if s.rules.tallied == 1:
        s.tally[h].slow = 0  # libtorrent peer_connection.cpp, send_not_interested
    send(s, h, state.NOT_INTERESTED, state.NIL, t)


@kernel
def enter(s, h, block):
    """Write down one more request of end `h` in the list both sides share; the caller sends it."""
    c = s.conn[h]
    g = mate(s, h)
    take_row(s, g)
    s.requests[s.conn[g].row, place(s, c.dn_tail)] = block
    if s.rules.linked == 1:
        s.asked[s.conn[g].row, place(s, c.dn_tail)] = s.clock[0].now
    c.dn_tail += 1
    c.outstanding += 1


@kernel
def new_request(s, h, piece):
    """Enter a request for the first unrequested block of `piece`; the caller sends it."""
    p = h >> s.rules.slot_bits
    b = bits.first_block(s.blocks, p, piece, state.UNREQUESTED)
    bits.drop_block(s.blocks, p, piece, state.UNREQUESTED, b)
    s.peer[p].unrequested -= 1
    if not bits.any_block(s.blocks, p, piece, state.UNREQUESTED):
        bits.drop_piece(s.want, p, piece)
    if rules.endgame_begins(client_of(s, p), s.peer[p].unrequested):
        raise_flag(s.mode, p, state.ENDGAME)
    enter(s, h, piece * s.rules.blocks + b)


@kernel
def send_requests(s, h, n, t):
    """Send the last `n` requests entered: the first leaves at once, Nagle may hold back the others."""
    if s.rules.linked == 1:
        for _ in range(n):
            send(s, h, state.REQUEST, state.SINGLE, t)
        return
    if n > 1 and s.rules.ideal == 0:
        send(s, h, state.REQUEST, state.SINGLE, t)
        n -= 1
    if n > 0:
        send(s, h, state.REQUEST, n, t)


@kernel
def asked(s, h, block):
    """Sequence number under which `block` is outstanding on end `h`, or -1."""
    c = s.conn[h]
    for seq in range(c.dn_next, c.dn_tail):
        if entry(s, mate(s, h), seq) == block:
            return seq
    return -1


@kernel
def any_missing(s, h):
    """Endgame: True if the other side has a piece we still miss a block of."""
    p = h >> s.rules.slot_bits
    for i in range(s.peer[p].n_begun):
        if picking.knows(s, h, np.int64(s.begun[p, i])):
            return True
    return False


@kernel
def endgame_requests(s, h, t):
    """Every missing block may be requested from everyone who has it, in random order, up to the floor."""
    c = s.conn[h]
    if not served(s, h) or c.outstanding == 0:
        wanted = any_missing(s, h)
        if wanting(s, h) and c.outstanding == 0 and not wanted:
            say_not_interested(s, h, t)
            return
        if not wanting(s, h) and wanted:
            say_interested(s, h, t)
    if not served(s, h):
        return
    room = min(backlog(s, h, t) - c.outstanding, free_entries(s, h))
    if room > 0:
        request_missing(s, h, room, t)


@kernel
def request_missing(s, h, room, t):
    """Request up to `room` missing blocks not yet asked of this connection, drawn at random (reservoir sampling)."""
    p = h >> s.rules.slot_bits
    chosen = s.scratch[2]
    seen = state.NIL
    for i in range(s.peer[p].n_begun):
        piece = np.int64(s.begun[p, i])
        if not picking.knows(s, h, piece):
            continue
        for b in range(s.rules.blocks):
            block = piece * s.rules.blocks + b
            if not bits.has_block(s.blocks, p, piece, state.MISSING, b) or asked(s, h, block) >= 0:
                continue
            seen = rules.draw_missing(s.rng, chosen, room, seen, block)
    n = np.int64(min(seen, room))
    shuffle(s.rng, chosen, n)
    if n > 0 and not wanting(s, h):
        say_interested(s, h, t)
    for i in range(n):
        enter(s, h, chosen[i])
    send_requests(s, h, n, t)


@kernel
def endgame_everywhere(s, p, t):
    """Endgame has begun or moved on: let every connection ask for what is missing."""
    base = p << s.rules.slot_bits
    for slot in range(s.peer[p].top):
        if linked(s, base + slot):
            endgame_requests(s, base + slot, t)


@kernel
def cancel_elsewhere(s, h, block, t):
    """Endgame: a block arrived, so its other requests are cancelled and those connections look for more."""
    p = h >> s.rules.slot_bits
    base = p << s.rules.slot_bits
    for slot in range(s.peer[p].top):
        g = base + slot
        if g == h or not linked(s, g) or not wanting(s, g):
            continue
        if served(s, g):
            seq = asked(s, g, block)
            if seq < 0:
                continue
            s.conn[g].outstanding -= 1
            s.requests[s.conn[mate(s, g)].row, place(s, seq)] = cancelled(block)
            s.peer[p].cancelled += 1
            send(s, g, state.CANCEL, seq, t)
        endgame_requests(s, g, t)
