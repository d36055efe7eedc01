"""Endgame: once every block is requested, the missing ones are asked of everyone (4.0.2 MultiDownload)."""

import numpy as np

from btflow.kernels import bits, picker, rules
from btflow.kernels.ends import mate
from btflow.kernels.flags import linked, served, wanting
from btflow.kernels.jit import kernel
from btflow.kernels.limiter import cancelled, entry, place
from btflow.kernels.messages import send
from btflow.kernels.pipeline import (
    backlog,
    enter,
    free_entries,
    say_interested,
    say_not_interested,
    send_requests,
)
from btflow.kernels.rng import shuffle
from btflow.kernels.state import CANCEL, MISSING, NIL


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
        if picker.knows(s, h, np.int64(s.begun[p, i])):
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
    seen = NIL
    for i in range(s.peer[p].n_begun):
        piece = np.int64(s.begun[p, i])
        if not picker.knows(s, h, piece):
            continue
        for b in range(s.rules.blocks):
            block = piece * s.rules.blocks + b
            if not bits.has(s.blocks[p, piece, MISSING], b) or asked(s, h, block) >= 0:
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
            send(s, g, CANCEL, seq, t)
        endgame_requests(s, g, t)
