"""Which piece next, by mainline's picker, and the allowed-fast sets of who is choked.

An allowed-fast set has a few pieces that a peer may ask of anybody who has them, choked or not (BEP 6). It depends on
the address of the peer that may ask, not on the other one: all sets of a peer are one sequence, of which each client
grants so many (libtorrent peer_connection.cpp, send_allowed_set).
"""

import numpy as np

from btflow.kernels import bits
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.swarm import rules
from btflow.kernels.swarm.ends import client_of, mate, neighbour, super_seeding

NOTHING = np.int64(-1)


@kernel
def knows(s, h, piece):
    """True if end `h` was told that the other side has `piece`."""
    g = mate(s, h)
    q = g >> s.rules.slot_bits
    if super_seeding(s, q):
        return bits.has_piece(s.has, q, piece) and bits.has_piece(s.offered, g, piece)
    return told_of(s, h, piece)


@kernel
def there(s, h, row, piece):  # flow needs `row`
    """True if the other side of end `h` is known to have `piece`."""
    return knows(s, h, piece)


@kernel
def wants(s, h, piece):
    """True if the other side of `h` is known to have `piece` and some block of it was not requested."""
    return bits.has_piece(s.want, h >> s.rules.slot_bits, piece) and knows(s, h, piece)


@kernel
def other_is_seed(s, h):
    """True if the other side is known to have everything."""
    return s.told[mate(s, h)] == s.rules.pieces


@kernel
def begun_piece(s, h):
    """Strict priority: the begun piece with fewest known copies, ties at random; on seeds only those begun on seeds."""
    p = h >> s.rules.slot_bits
    seed = other_is_seed(s, h)
    best, fewest, ties = NOTHING, 1 << 30, 0
    for i in range(s.peer[p].n_begun):
        piece = np.int64(s.begun[p, i])
        if not rules.may_continue(seed, s.seed_begun[p, piece] == 1) or not wants(s, h, piece):
            continue
        better, fewest, ties = rules.fewer(s.rng, np.int64(s.copies[piece, p]), fewest, ties)
        if better:
            best = piece
    return best


@kernel
def first_wanted(s, h, order, n):
    """The first piece of `order[:n]` that end `h` may ask for, or NOTHING."""
    for i in range(n):
        piece = np.int64(order[i])
        if wants(s, h, piece):
            return piece
    return NOTHING


@kernel
def rarest_piece(s, link, p, row, is_there):
    """Rarest first over the copies known among the connected peers; ties by the client's own random order.

    Both engines use it. `is_there` says whether a piece in `row` of `has` is known on `link`, an end or a lane.
    """
    best, fewest = NOTHING, 1 << 30
    rank = np.uint64(0)
    for word in range(s.has.shape[1]):
        candidates = s.has[row, word] & s.want[p, word]
        while candidates != bits.EMPTY:
            piece = (word << 6) + bits.first(candidates)
            candidates &= candidates - bits.ONE
            n = np.int64(s.copies[piece, p])
            if n > fewest or not is_there(s, link, row, piece):
                continue
            challenger = rules.tie_rank(s.rng[1], p, piece, n)
            if rules.rarer(n, challenger, fewest, rank):
                best, fewest, rank = piece, n, challenger
    return best


@kernel
def next_piece(s, h):
    """Piece to request from the other side of `h`, or NOTHING."""
    piece = begun_piece(s, h)
    if piece != NOTHING:
        return piece
    p = h >> s.rules.slot_bits
    if rules.picks_at_random(client_of(s, p), s.n_log[p]):
        return first_wanted(s, h, s.random_order[p], s.rules.pieces)
    return rarest_piece(s, h, p, neighbour(s, h), there)


@kernel
def begin(s, h, piece):
    """Note that `piece` is being fetched, and whether it was begun on a seed."""
    p = h >> s.rules.slot_bits
    for i in range(s.peer[p].n_begun):
        if s.begun[p, i] == piece:
            break
    else:
        s.begun[p, s.peer[p].n_begun] = piece
        s.peer[p].n_begun += 1
    if other_is_seed(s, h):
        s.seed_begun[p, piece] = 1


@kernel
def complete(s, p, piece, t):
    """Peer `p` has verified `piece`: enter it in its log and take it off the begun list."""
    peer = s.peer[p]
    s.have_at[p, piece] = s.n_log[p]
    s.have_log[p, s.n_log[p]] = piece
    bits.put_piece(s.has, p, piece)
    s.have_time[p, s.n_log[p]] = t
    s.n_log[p] += 1
    for i in range(peer.n_begun):
        if s.begun[p, i] == piece:
            peer.n_begun -= 1
            s.begun[p, i] = s.begun[p, peer.n_begun]
            break


@kernel
def some_wanted(s, h):
    """A piece with unrequested blocks that the other side is known to have, or NOTHING."""
    p, q = h >> s.rules.slot_bits, neighbour(s, h)
    for word in range(s.has.shape[1]):
        candidates = s.has[q, word] & s.want[p, word]
        while candidates != bits.EMPTY:
            piece = (word << 6) + bits.first(candidates)
            if knows(s, h, piece):
                return piece
            candidates &= candidates - bits.ONE
    return NOTHING


@kernel
def in_set(s, p, piece, size):
    """True if `piece` is among the first `size` of the set of peer `p`."""
    for i in range(size):
        if s.fast[p, i] == piece:
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
