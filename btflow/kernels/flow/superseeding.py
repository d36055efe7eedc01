"""Super-seeding: what differs by connection, when a piece that is shown is known, and when interest in it is back.

The rules are those of full fidelity (`kernels/swarm/superseeding.py`, rules.py). A piece that end `h` of a super-seed
shows is known to the other side half a round trip later (`got_offer`), the interest in it to the super-seed a round
trip later (`got_interest`); what a neighbour reports is heard half a round trip later (`watch`). Each is an event.
"""

import numpy as np

from btflow.kernels import bits
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow import choking_ranked, downloading, transport
from btflow.kernels.flow.ends import interested, post
from btflow.kernels.flow.state import NO_LANE, SERVING
from btflow.kernels.swarm import rules
from btflow.kernels.swarm.state import INTERESTED, OFFER, OPEN


@kernel
def begin(s, h, t):
    """A new connection of a super-seed: it knows what the other side has told; the first piece is shown."""
    q = np.int64(s.end[h].mate) >> s.rules.slot_bits
    row = s.rules.peers + h
    for word in range(s.heard.shape[1]):
        s.has[row, word] = bits.EMPTY
        s.shown[row, word] = bits.EMPTY
        s.heard[h, word] = s.has[q, word]
    for i in range(s.peer[q].n_known, s.peer[q].n_log):
        downloading.report_on(s, np.int64(s.end[h].mate), np.int64(s.have_log[q, i]), max(t, s.have_time[q, i]))
    s.latest[h] = rules.NO_OFFER
    offer(s, h, t)


@kernel
def offer(s, h, t):
    """Show the other side of `h` the next piece, if there is one that it was not shown and does not have."""
    q = np.int64(s.end[h].mate) >> s.rules.slot_bits
    piece = np.int64(rules.piece_to_show(s.rules, s.offers, s.has, s.rules.peers + h, s.has, q))
    s.latest[h] = piece
    if piece != rules.NO_OFFER:
        s.offers[piece] += 1
        post(s, t + transport.half(s, h), OFFER, h, piece, s.end[h].generation)


@kernel
def got_offer(s, h, piece, t):
    """The other side of end `h` of a super-seed learns of a piece: it asks for it if it is served."""
    e, p = s.end[h], h >> s.rules.slot_bits
    row = s.rules.peers + h
    if bits.has_piece(s.has, row, piece):
        return
    bits.put_piece(s.has, row, piece)
    s.copies[piece, np.int64(e.mate) >> s.rules.slot_bits] += 1
    post(s, t + transport.half(s, h), INTERESTED, h, piece, e.generation)
    if e.lane != NO_LANE:
        downloading.got_have(s, (p << s.lane_bits) + e.lane, piece, t)


@kernel
def got_interest(s, h, piece, t):
    """Interest in a piece that end `h` of a super-seed shows has come back: its choker may see it."""
    bits.put_piece(s.shown, s.rules.peers + h, piece)
    if s.rules.tallied == 1 and interested(s, h):
        choking_ranked.got_interested(s, h >> s.rules.slot_bits, h, t)


@kernel
def forget_copies(s, h):
    """End `h` of a super-seed closes: what it showed no longer counts among the copies that the other side knows."""
    q = np.int64(s.end[h].mate) >> s.rules.slot_bits
    for piece in range(s.rules.pieces):
        if bits.has_piece(s.has, s.rules.peers + h, np.int64(piece)):
            s.copies[piece, q] -= 1


@kernel
def watch(s, h, piece, t):
    """End `h` of a super-seed hears that the other side has a piece: it may show another, here or elsewhere."""
    q = h >> s.rules.slot_bits
    bits.put_piece(s.heard, h, piece)
    if s.latest[h] == piece:
        if rules.shows_next_at_once(pending(s, q), s.peer[q].upload_slots):
            offer(s, h, t)
        return
    base = q << s.rules.slot_bits
    for e in range(base, base + s.peer[q].end_top):
        if s.end[e].state == OPEN and rules.passed_on(s.latest[e], piece, bits.has_piece(s.heard, e, piece)):
            offer(s, e, t)


@kernel
def heard_all(s, h):
    """True if the other side of end `h` of a super-seed has reported every piece."""
    n = 0
    for word in range(s.heard.shape[1]):
        n += bits.count(s.heard[h, word])
    return n == s.rules.pieces


@kernel
def pending(s, p):
    """How many peers have been shown a piece that nobody else has reported."""
    n, base = 0, p << s.rules.slot_bits
    for h in range(base, base + s.peer[p].end_top):
        if s.end[h].state == OPEN and s.latest[h] != rules.NO_OFFER:
            n += 1
    return n


@kernel
def free_slots(s, p):
    """Upload slots that peer `p` does not use."""
    free, first = np.int64(s.peer[p].upload_slots), p << s.lane_bits
    for u in range(first, first + s.peer[p].top):
        if s.lane[u].state == SERVING:
            free -= 1
    return free


@kernel
def tick(s, p, t):
    """With free slots, show those another piece who have the last and nothing to ask for."""
    free, base = free_slots(s, p), p << s.rules.slot_bits
    for h in range(base, base + s.peer[p].end_top):
        if free <= 0:
            return
        if s.end[h].state != OPEN or interested(s, h):
            continue
        piece = np.int64(s.latest[h])
        if rules.idles(piece, piece != rules.NO_OFFER and bits.has_piece(s.heard, h, piece)):
            offer(s, h, t)
            free -= 1
