"""Super-seeding (BEP 16; the ns-2 module of Eger et al.): a seed shows each peer one piece, the one it showed least.

A peer is shown the next piece when somebody else reports the last one, so that it was passed on, or, while no more
peers than the seed has upload slots have something to pass on, as soon as the peer itself has it. A seed with a free
slot shows peers that have nothing to do with it another piece at each tick of its choker (the module does all three).
"""

import numpy as np

from btflow.kernels import bits
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.swarm import downloading, picking_whole, rules
from btflow.kernels.swarm.ends import client_of, linked, mate, super_seeding
from btflow.kernels.swarm.messages import send
from btflow.kernels.swarm.state import INTERESTED_IN_US, MISSING_PIECES, OFFER


@kernel
def begin(s, h, t):
    """A new connection of a super-seed: nothing was shown on it yet; the first piece is."""
    for word in range(s.offered.shape[1]):
        s.offered[h, word] = bits.EMPTY
    s.conn[h].offer = rules.NO_OFFER
    offer(s, h, t)


@kernel
def offer(s, h, t):
    """Show the other side of `h` the piece that was shown least, the first of equals; none that it has."""
    q = mate(s, h) >> s.rules.slot_bits
    best = rules.piece_to_show(s.rules, s.offers, s.offered, h, s.has, q)
    s.conn[h].offer = best
    if best != rules.NO_OFFER:
        s.offers[best] += 1
        send(s, h, OFFER, np.int64(best), t)


@kernel
def got_offer(s, h, piece, t):
    """The super-seed shows a piece on end `h`."""
    p = h >> s.rules.slot_bits
    bits.put_piece(s.offered, mate(s, h), piece)
    s.copies[piece, p] += 1
    if client_of(s, p).interest == MISSING_PIECES:
        picking_whole.heard_of(s, h, piece, t)
    else:
        downloading.got_have(s, h, piece, t)


@kernel
def watch(s, h, g, piece, t):
    """End `h` has told end `g` that its peer has `piece`: a super-seed at `g` looks what that means for its offers."""
    q = g >> s.rules.slot_bits
    if s.rules.super_seeding == 0 or not super_seeding(s, q):
        return
    if s.conn[g].offer == piece:
        if rules.shows_next_at_once(pending(s, q), s.peer[q].upload_slots):
            offer(s, g, t)
        return
    base = q << s.rules.slot_bits
    for slot in range(s.peer[q].top):
        e = base + slot
        if linked(s, e) and rules.passed_on(s.conn[e].offer, piece, owns(s, e, piece)):
            offer(s, e, t)


@kernel
def owns(s, h, piece):
    """True if the other side of `h` has reported `piece`."""
    g = mate(s, h)
    q = g >> s.rules.slot_bits
    return bits.has_piece(s.has, q, piece) and s.have_at[q, piece] < s.told[g]


@kernel
def pending(s, p):
    """How many peers have been shown a piece that nobody else has reported."""
    base = p << s.rules.slot_bits
    n = 0
    for slot in range(s.peer[p].top):
        if linked(s, base + slot) and s.conn[base + slot].offer != rules.NO_OFFER:
            n += 1
    return n


@kernel
def tick(s, p, t):
    """With free slots, show those another piece who have the last and nothing to ask for."""
    base = p << s.rules.slot_bits
    free = s.peer[p].upload_slots - s.peer[p].n_unchoked
    for slot in range(s.peer[p].top):
        h = base + slot
        if free <= 0:
            return
        if not linked(s, h) or s.up[h] & INTERESTED_IN_US != 0:
            continue
        piece = np.int64(s.conn[h].offer)
        if rules.idles(piece, piece != rules.NO_OFFER and owns(s, h, piece)):
            offer(s, h, t)
            free -= 1
