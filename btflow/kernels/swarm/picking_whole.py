"""What to ask for where fast connections take whole pieces (libtorrent request_blocks.cpp, piece_picker.cpp).

A connection that brings a piece or more in `whole_piece_time` takes as many pieces beside each other as it brings in
that time, the rarest first: their blocks are its own until it is choked. A slower one asks for free blocks of what is
begun or new, rarest first, begun before new. Nothing is asked twice until every missing piece is begun; then a
connection with nothing else asks for one block more that is under way elsewhere.

A piece is *open* if none of its blocks was asked for. `want` has the pieces with free blocks: those of which some block
is neither asked for nor taken.
"""

import numpy as np

from btflow.kernels import bits
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.random import below
from btflow.kernels.swarm import picking, rates, requests, rules, whole_pieces
from btflow.kernels.swarm.ends import client_of, linked, mate, neighbour, raise_flag, seeding, served, wanting
from btflow.kernels.swarm.limiter import block_number, cancelled, entry, place, was_refused, withdrawn
from btflow.kernels.swarm.messages import send
from btflow.kernels.swarm.state import ASK_AND_KEEP, BUSY, CANCEL, FEWEST_LEFT, MISSING, NIL, SINGLE, UNREQUESTED

# -- when -------------------------------------------------------------------------------------------------------------


@kernel
def request(s, h, t):
    """Ask on end `h` for as many blocks as are to be outstanding, if there are any."""
    p = h >> s.rules.slot_bits
    c, y = s.conn[h], s.tally[h]
    if seeding(s, p) or not (served(s, h) or y.allowed > 0):
        return
    rates.settle(s, h, t, served(s, h))
    most = min(requests.backlog(s, h, t), c.outstanding + requests.free_entries(s, h))
    if c.outstanding >= most or c.outstanding > client_of(s, p).refill_below * most:
        return
    if c.outstanding == 0:
        y.asks_since = t
    whole_pieces.look_anew(s, y, p, s.n_log[p])
    while c.outstanding < most:
        piece = next_piece(s, h)
        if piece == picking.NOTHING:
            break
        take(s, h, piece, most, t)
    if served(s, h):
        y.idle = 1 if c.outstanding < most else 0
        if c.outstanding == 0:
            ask_again(s, h, t)
    if c.outstanding > 0:
        y.asked_at = t


@kernel
def take(s, h, piece, most, t):
    """Ask for free blocks of a piece until `most` requests are outstanding."""
    p = h >> s.rules.slot_bits
    picking.begin(s, h, piece)
    entered = NIL
    while s.conn[h].outstanding < most and bits.any_block(s.blocks, p, piece, UNREQUESTED):
        requests.new_request(s, h, piece)
        entered += 1
    requests.send_requests(s, h, entered, t)


@kernel
def pulse(s, p, t):
    """The client's clock: connections that found nothing to ask for look again; some clients ask at no other time."""
    r = client_of(s, p)
    base = p << s.rules.slot_bits
    for slot in range(s.peer[p].top):
        h = base + slot
        if not linked(s, h) or not wanting(s, h):
            continue
        if rules.times_out(r) and s.conn[h].outstanding > 0:
            look_for_stall(s, r, h, t)
        if r.request_interval > 0.0:
            request(s, h, t)
        elif s.conn[h].outstanding == 0 and s.tally[h].idle == 1 and t - s.tally[h].asked_at >= r.retry_interval:
            s.tally[h].asked_at = t
            request(s, h, t)


@kernel
def look_for_stall(s, r, h, t):
    """A connection that was asked for blocks, and brings none for too long, is snubbed (second_tick)."""
    y = s.tally[h]
    if t > rules.overdue_at(r, y, s.conn[h].last_block):
        snub(s, h)
    rates.settle(s, h, t, served(s, h))
    if t > rules.silent_at(r, y):
        snub(s, h)


@kernel
def snub(s, h):
    """End `h` asks for no more than it has; if the piece of its last block lacks nothing else, others may bring it."""
    p, c = h >> s.rules.slot_bits, s.conn[h]
    rates.snub(s.tally[h])
    whole_pieces.release(s, s.tally[h], p, any_free)
    for back in range(c.dn_tail - c.dn_next):
        block = entry(s, mate(s, h), np.int64(c.dn_tail - 1 - back))
        piece = block // s.rules.blocks
        if block < 0 or not is_under_way(s, p, piece, block - piece * s.rules.blocks):
            continue
        if s.mode[p] & BUSY != 0 and asked_elsewhere(s, p, h, block):
            continue
        if not any_free(s, p, piece):
            give_back(s, p, h, block)
            raise_flag(s.mode, p, BUSY)
        return


# -- interest: in whoever has a piece that is missing, asked for or not ------------------------------------------------


@kernel
def lacks_some(s, h):
    """True if the other side of end `h` is known to have a piece that we do not."""
    p, q = h >> s.rules.slot_bits, neighbour(s, h)
    for word in range(s.has.shape[1]):
        candidates = s.has[q, word] & ~s.has[p, word]
        while candidates != bits.EMPTY:
            piece = (word << 6) + bits.first(candidates)
            candidates &= candidates - bits.ONE
            if picking.knows(s, h, piece):
                return True
    return False


@kernel
def heard_of(s, h, piece, t):
    """The other side of end `h` has told us of a piece that we may lack."""
    p = h >> s.rules.slot_bits
    if not bits.has_piece(s.has, p, piece) and not wanting(s, h) and not seeding(s, p):
        find_interesting(s, h, t)


@kernel
def find_interesting(s, h, t):
    """The other side of end `h` has something for us: it is told so, and asked if it serves us."""
    if client_of(s, h >> s.rules.slot_bits).request_interval > 0.0:  # such a client looks at the choker's tick
        return
    requests.say_interested(s, h, t)
    request(s, h, t)


@kernel
def got_allowed(s, h, at, t):
    """ALLOWED FAST arrived: one more piece of our set may be asked for."""
    y, p = s.tally[h], h >> s.rules.slot_bits
    y.allowed = at + 1
    piece = np.int64(s.fast[p, at])
    if not bits.has_piece(s.has, p, piece) and picking.knows(s, h, piece):
        if not wanting(s, h):
            requests.say_interested(s, h, t)
        request(s, h, t)


@kernel
def lose_interest(s, p, t):
    """A piece is complete: those that have nothing for us any more are told."""
    base = p << s.rules.slot_bits
    for slot in range(s.peer[p].top):
        h = base + slot
        if linked(s, h) and wanting(s, h) and not lacks_some(s, h):
            requests.say_not_interested(s, h, t)


@kernel
def review_interest(s, p, t):
    """At the choker's tick: who has something for us is told so, who has nothing too (Transmission peer-mgr.cc)."""
    base = p << s.rules.slot_bits
    for slot in range(s.peer[p].top):
        h = base + slot
        if linked(s, h) and not seeding(s, p) and not wanting(s, h) and lacks_some(s, h):
            requests.say_interested(s, h, t)
    lose_interest(s, p, t)


# -- which piece ------------------------------------------------------------------------------------------------------


@kernel
def is_open(s, p, piece):
    """True if no block of a piece was asked for."""
    for w in range(s.blocks.shape[2] >> 1):
        if s.blocks[p, piece, 2 * w + UNREQUESTED] != whole_pieces.all_blocks(s, piece, w):
            return False
    return True


@kernel
def shared(s, h, p, piece):
    """True if blocks of a piece were asked for elsewhere than on end `h` and have not come."""
    n = 0
    for w in range(0, s.blocks.shape[2], 2):
        n += bits.count(s.blocks[p, piece, w + MISSING] & ~s.blocks[p, piece, w + UNREQUESTED])
    if n == 0:
        return False
    for seq in range(s.conn[h].dn_next, s.conn[h].dn_tail):
        asked = entry(s, mate(s, h), np.int64(seq))
        block = block_number(asked)
        if block // s.rules.blocks == piece and (asked >= 0 or was_refused(asked)):
            n -= is_under_way(s, p, piece, block - piece * s.rules.blocks)
    return n > 0


@kernel
def is_under_way(s, p, piece, b):
    """True if block `b` of a piece was asked for and has not come."""
    return bits.has_block(s.blocks, p, piece, MISSING, b) and not bits.has_block(s.blocks, p, piece, UNREQUESTED, b)


@kernel
def begun_and_free(s, p):
    """How many begun pieces have free blocks."""
    n = 0
    for i in range(s.peer[p].n_begun):
        n += bits.has_piece(s.want, p, np.int64(s.begun[p, i]))
    return n


@kernel
def next_piece(s, h):
    """The piece from which end `h` asks for blocks, or NOTHING."""
    p, q = h >> s.rules.slot_bits, neighbour(s, h)
    if client_of(s, p).picker == FEWEST_LEFT:
        return fewest_left(s, h)
    held, begun = s.n_log[p], begun_and_free(s, p)
    return whole_pieces.next_piece(
        s, h, s.tally[h], p, q, held, begun, any_free, free, is_open, shared, picking.there, eligible
    )


@kernel
def any_free(s, p, piece):
    """True if some block of a piece is not asked for."""
    return bits.any_block(s.blocks, p, piece, UNREQUESTED)


@kernel
def free(s, p, piece):
    """How many blocks of a piece are not asked for."""
    n = 0
    for w in range(UNREQUESTED, s.blocks.shape[2], 2):
        n += bits.count(s.blocks[p, piece, w])
    return n


@kernel
def eligible(s, h, piece):
    """True if end `h` may ask the other side for blocks of `piece` now."""
    return picking.knows(s, h, piece) and (served(s, h) or picking.may_ask(s, h, piece))


@kernel
def fewest_left(s, h):
    """The piece with the fewest free blocks, then the rarest, then by the client's own order (peer-mgr-wishlist.cc)."""
    p, q = h >> s.rules.slot_bits, neighbour(s, h)
    best, fewest, rank = picking.NOTHING, 1 << 60, np.uint64(0)
    for word in range(s.has.shape[1]):
        candidates = s.has[q, word] & s.want[p, word]
        while candidates != bits.EMPTY:
            piece = (word << 6) + bits.first(candidates)
            candidates &= candidates - bits.ONE
            if not eligible(s, h, piece):
                continue
            n = (bits.count_blocks(s.blocks, p, piece, UNREQUESTED) << 32) + np.int64(s.copies[piece, p])
            challenger = rules.tie_rank(s.rng[1], p, piece, NIL)
            if rules.rarer(n, challenger, fewest, rank):
                best, fewest, rank = piece, n, challenger
    return best


# -- what a choke gives back ------------------------------------------------------------------------------------------


@kernel
def let_go(s, h, keeps_set):
    """End `h` is choked or closed: what it asked for is free again, but for its allowed-fast set if that is kept."""
    p, g, c = h >> s.rules.slot_bits, mate(s, h), s.conn[h]
    if c.outstanding > 0:
        for seq in range(c.dn_next, c.dn_tail):
            block = entry(s, g, seq)
            if was_refused(block):
                block = block_number(block)
            elif block < 0 or (keeps_set and picking.may_ask(s, h, block // s.rules.blocks)):
                continue
            give_back(s, p, h, block)
            s.requests[s.conn[g].row, place(s, seq)] = withdrawn(block)
            c.outstanding -= 1
    whole_pieces.release(s, s.tally[h], p, any_free)
    s.tally[h].idle = 0
    while c.dn_next < c.dn_tail and entry(s, g, np.int64(c.dn_next)) < 0:
        c.dn_next += 1
    if not keeps_set:
        c.dn_base = c.dn_tail
        c.dn_next = c.dn_tail
        c.outstanding = 0


@kernel
def give_back(s, p, h, block):
    """A block that end `h` had asked for is free again, unless it has come or is under way on another connection."""
    piece = block // s.rules.blocks
    b = block - piece * s.rules.blocks
    if not bits.has_block(s.blocks, p, piece, MISSING, b) or bits.has_block(s.blocks, p, piece, UNREQUESTED, b):
        return
    if s.mode[p] & BUSY != 0 and asked_elsewhere(s, p, h, block):
        return
    bits.put_block(s.blocks, p, piece, UNREQUESTED, b)
    s.peer[p].unrequested += 1
    bits.put_piece(s.want, p, piece)


@kernel
def asked_elsewhere(s, p, h, block):
    """True if a block is outstanding on another connection of peer `p`."""
    base = p << s.rules.slot_bits
    for slot in range(s.peer[p].top):
        g = base + slot
        if g != h and linked(s, g) and s.conn[g].outstanding > 0 and requests.asked(s, g, block) >= 0:
            return True
    return False


# -- the end ----------------------------------------------------------------------------------------------------------


@kernel
def ask_again(s, h, t):
    """A connection with nothing to ask for asks for one block that is under way elsewhere, a random one."""
    p, q = h >> s.rules.slot_bits, neighbour(s, h)
    if client_of(s, p).endgame == NIL or not whole_pieces.all_begun(s, p, is_open):
        return
    chosen, seen = picking.NOTHING, 0
    for word in range(s.has.shape[1]):
        candidates = s.has[q, word] & ~s.has[p, word]
        while candidates != bits.EMPTY:
            piece = (word << 6) + bits.first(candidates)
            candidates &= candidates - bits.ONE
            if picking.knows(s, h, piece):
                seen += 1
                if below(s.rng, seen) == 0:
                    chosen = piece
    if chosen == picking.NOTHING:
        return
    block, seen = picking.NOTHING, 0
    for b in range(s.rules.blocks):
        if bits.has_block(s.blocks, p, chosen, MISSING, b):
            seen += 1
            if below(s.rng, seen) == 0:
                block = chosen * s.rules.blocks + b
    raise_flag(s.mode, p, BUSY)
    requests.enter(s, h, block)
    requests.send_requests(s, h, SINGLE, t)


@kernel
def block_came(s, h, piece, b, t):
    """A block of peer `p` is here: nobody else need bring it."""
    p = h >> s.rules.slot_bits
    if bits.has_block(s.blocks, p, piece, UNREQUESTED, b):  # it was taken by a connection that had not asked for it yet
        bits.drop_block(s.blocks, p, piece, UNREQUESTED, b)
        s.peer[p].unrequested -= 1
        if not bits.any_block(s.blocks, p, piece, UNREQUESTED):
            bits.drop_piece(s.want, p, piece)
    if s.mode[p] & BUSY == 0 or client_of(s, p).endgame == ASK_AND_KEEP:
        return
    block = piece * s.rules.blocks + b
    base = p << s.rules.slot_bits
    for slot in range(s.peer[p].top):
        g = base + slot
        if g == h or not linked(s, g) or s.conn[g].outstanding == 0:
            continue
        seq = requests.asked(s, g, block)
        if seq < 0:
            continue
        s.conn[g].outstanding -= 1
        s.requests[s.conn[mate(s, g)].row, place(s, seq)] = cancelled(block)
        s.peer[p].cancelled += 1
        send(s, g, CANCEL, seq, t)
        request(s, g, t)
