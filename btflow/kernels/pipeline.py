"""What one connection has asked for and how far it may go: the request pipeline (4.0.2 SingleDownload)."""

import numpy as np

from btflow.kernels import bits, rules
from btflow.kernels.ends import client_of, mate
from btflow.kernels.flags import lower_flag, raise_flag
from btflow.kernels.jit import kernel
from btflow.kernels.limiter import place
from btflow.kernels.messages import send
from btflow.kernels.rate import download_rate
from btflow.kernels.rows import take_row
from btflow.kernels.state import (
    BY_SECONDS,
    ENDGAME,
    INTERESTED,
    NIL,
    NOT_INTERESTED,
    REQUEST,
    SINGLE,
    SLOW_START,
    UNREQUESTED,
    WANTING,
)


@kernel
def backlog(s, h, t):
    """Floor of the pipeline of end `h` at its measured rate."""
    c = s.conn[h]
    r = client_of(s, h >> s.rules.slot_bits)
    if r.requests == SLOW_START:
        return np.int64(1 if s.tally[h].idle == 1 else s.tally[h].queue)
    if r.requests == BY_SECONDS:
        return np.int64(rules.queue_of_rate(r, s.rules.block_size, download_rate(r, c, t, 0.0)))
    rate = c.dn_rate if c.dn_last == t else download_rate(r, c, t, 0.0)
    return np.int64(rules.pipeline(r, s.rules.block_size, rate, s.requests.shape[1] - s.rules.blocks))


@kernel
def free_entries(s, h):
    """Room in the request list of end `h`: cancelled requests stay in it until their turn comes."""
    return s.requests.shape[1] - (s.conn[h].dn_tail - s.conn[mate(s, h)].up_head)


@kernel
def say_interested(s, h, t):
    """Tell the other side that we want something it has."""
    raise_flag(s.dn, h, WANTING)
    send(s, h, INTERESTED, NIL, t)


@kernel
def say_not_interested(s, h, t):
    """Tell the other side that it has nothing for us."""
    lower_flag(s.dn, h, WANTING)
    send(s, h, NOT_INTERESTED, NIL, t)


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
    b = bits.first(s.blocks[p, piece, UNREQUESTED])
    s.blocks[p, piece, UNREQUESTED] = bits.without_bit(s.blocks[p, piece, UNREQUESTED], b)
    s.peer[p].unrequested -= 1
    if s.blocks[p, piece, UNREQUESTED] == bits.EMPTY:
        bits.drop_piece(s.want, p, piece)
    if rules.endgame_begins(client_of(s, p), s.peer[p].unrequested):
        raise_flag(s.mode, p, ENDGAME)
    enter(s, h, piece * s.rules.blocks + b)


@kernel
def send_requests(s, h, n, t):
    """Send the last `n` requests entered: the first leaves at once, Nagle may hold back the others."""
    if s.rules.linked == 1:
        for _ in range(n):
            send(s, h, REQUEST, SINGLE, t)
        return
    if n > 1 and s.rules.ideal == 0:
        send(s, h, REQUEST, SINGLE, t)
        n -= 1
    if n > 0:
        send(s, h, REQUEST, n, t)
