"""Allowed-fast sets: a few pieces that a peer may ask of anybody who has them, choked or not (BEP 6).

Which they are depends on who may ask (its address), not on whom: the sets that a peer is allowed by all its neighbours
are one sequence, of which each client grants so many (libtorrent peer_connection.cpp, send_allowed_set).
"""

from btflow.kernels import bits
from btflow.kernels.ends import mate, neighbour
from btflow.kernels.jit import kernel


@kernel
def in_set(s, p, piece, size):
    """True if `piece` is among the first `size` of the set of peer `p`."""
    for k in range(size):
        if s.fast[p, k] == piece:
            return True
    return False


@kernel
def told_of(s, h, piece):
    """True if the other side of end `h` has told us that it has `piece`."""
    g = mate(s, h)
    q = g >> s.rules.slot_bits
    if not bits.has_piece(s.has, q, piece):
        return False
    return s.told[g] == s.n_log[q] or s.have_at[q, piece] < s.told[g]


@kernel
def may_ask(s, h, piece):
    """True if end `h` may ask for `piece` though it is choked."""
    return in_set(s, h >> s.rules.slot_bits, piece, s.tally[h].allowed)


@kernel
def serves(s, h, piece):
    """True if end `h` sends `piece` though it has choked the other side."""
    return in_set(s, neighbour(s, h), piece, s.tally[h].allows)
