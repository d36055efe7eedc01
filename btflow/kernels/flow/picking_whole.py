"""Which piece next where fast connections take whole ones: the rules of `kernels/swarm/picking_whole.py`.

The blocks of a piece that were never asked for are in its parts in `begun`; a piece without one has all of them. Nobody
is offered what another lane gave back: a lane with nothing to ask for looks again after a while.
"""

import numpy as np

from btflow.kernels import bits
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow import picking
from btflow.kernels.flow.ends import drop_wanted, put_wanted
from btflow.kernels.flow.state import BUSY, SERVING
from btflow.kernels.random import below
from btflow.kernels.swarm import rules
from btflow.kernels.swarm.ends import client_of
from btflow.kernels.swarm.picking import in_set
from btflow.kernels.swarm.picking_whole import all_blocks
from btflow.kernels.swarm.state import BEGUN_FIRST, NIL


@kernel
def next_piece(s, u, y, row):
    """The piece from which lane `u` is asked for blocks, or NOTHING; `row` of `has` says what its uploader has."""
    own, r = s.tally[s.lane[u].g], client_of(s, y)
    piece = own_piece(s, own, y)
    if piece == picking.NOTHING:
        size = s.rules.blocks * s.rules.block_size
        alone = np.int64(rules.pieces_at_once(r, size, own.rate)) if s.lane[u].state == SERVING else NIL
        begun_first = rules.too_many_begun(begun_and_free(s, y), s.peer[y].complete, s.rules.blocks)
        if begun_first:
            alone = NIL
        if rules.picks_at_random(r, s.peer[y].n_log):
            piece = random_piece(s, u, y, row, alone)
        else:
            piece = rarest_piece(s, u, y, row, alone, begun_first)
        if piece != picking.NOTHING and alone > 0 and is_open(s, y, piece):
            hold(s, own, y, row, piece, alone)
            piece = own_piece(s, own, y)
    if piece != picking.NOTHING and picking.rows_taken(s, y) and not is_begun(s, y, piece):
        return picking.NOTHING
    return piece


@kernel
def own_piece(s, own, y):
    """The first of the pieces that a lane has for itself of which blocks are left to ask for, or NOTHING."""
    while own.held_from < own.held_to:
        if any_free(s, y, np.int64(own.held_from)):
            return np.int64(own.held_from)
        own.held_from += 1
    return picking.NOTHING


@kernel
def eligible(s, u, piece):
    """True if lane `u` may be asked for blocks of `piece` now."""
    return s.lane[u].state == SERVING or may_ask(s, u, piece)


@kernel
def may_ask(s, u, piece):
    """True if the downloader of lane `u` may ask for `piece` though it is choked."""
    g = np.int64(s.lane[u].g)
    return in_set(s, g >> s.rules.slot_bits, piece, np.int64(s.tally[g].allowed))


@kernel
def rarest_piece(s, u, y, row, alone, begun_first):
    """The rarest by the copies known, begun before open; what others fetch comes last where whole pieces are wanted."""
    best, least, fewest, rank = picking.NOTHING, 1 << 30, 1 << 30, np.uint64(0)
    for word in range(s.has.shape[1]):
        candidates = s.has[row, word] & s.want[y, word]
        while candidates != bits.EMPTY:
            piece = (word << 6) + bits.first(candidates)
            candidates &= candidates - bits.ONE
            copies = np.int64(s.copies[piece, y])
            if (least == 0 and 2 * copies > fewest) or not eligible(s, u, piece):
                continue
            opened = is_open(s, y, piece)
            late = 1 if (begun_first and opened) or (alone > 0 and not opened and under_way(s, y, piece)) else 0
            n = 2 * copies + opened
            if late > least or (late == least and n > fewest):
                continue
            challenger = rules.tie_rank(s.rng[1], y, piece, copies)
            if late < least or rules.rarer(n, challenger, fewest, rank):
                best, least, fewest, rank = piece, late, n, challenger
    return best


@kernel
def random_piece(s, u, y, row, alone):
    """The first begun one; else the first open one from a random place on; what others fetch last, as above."""
    begin = below(s.rng, s.rules.pieces)
    best, least = picking.NOTHING, 1 << 30
    for word in range(s.has.shape[1]):
        candidates = s.has[row, word] & s.want[y, word]
        while candidates != bits.EMPTY:
            piece = (word << 6) + bits.first(candidates)
            candidates &= candidates - bits.ONE
            if not eligible(s, u, piece):
                continue
            order = piece
            if is_open(s, y, piece):
                order = s.rules.pieces + (piece - begin + s.rules.pieces) % s.rules.pieces
            elif alone > 0 and under_way(s, y, piece):
                order = 2 * s.rules.pieces + piece
            if order < least:
                best, least = piece, order
    return best


@kernel
def hold(s, own, y, row, piece, most):
    """Take `piece` and open ones beside it, `most` in all, for one lane alone (piece_picker.cpp, expand_piece)."""
    first = piece
    while first > 0 and first > piece - most + 1 and may_hold(s, y, row, first - 1):
        first -= 1
    last = piece + 1
    while last < s.rules.pieces and last < first + most and may_hold(s, y, row, last):
        last += 1
    own.held_from, own.held_to = first, last
    for taken in range(first, last):
        drop_wanted(s, y, np.int64(taken))


@kernel
def may_hold(s, y, row, piece):
    """True if a piece is open, nobody's, and there."""
    return bits.has_piece(s.want, y, piece) and is_open(s, y, piece) and bits.has_piece(s.has, row, piece)


@kernel
def is_begun(s, y, piece):
    """True if a piece is in `begun`."""
    row = np.int64(s.row[y, piece])
    return bits.has(np.uint64(s.peer[y].taken), row) and s.begun[y, row << s.part_bits].piece == piece


@kernel
def entry_of(s, y, piece):
    """First part of a piece in `begun`, a new one if it has none; NOTHING if all are in use."""
    if not is_begun(s, y, piece) and not picking.take_row(s, y, piece):
        return picking.NOTHING
    return picking.first_part(s, y, piece)


@kernel
def any_free(s, y, piece):
    """True if some block of a piece is not asked for."""
    if is_begun(s, y, piece):
        return picking.any_free(s, y, picking.first_part(s, y, piece))
    return bits.has_piece(s.lacks, y, piece)


@kernel
def is_open(s, y, piece):
    """True if no block of a piece was asked for."""
    if not is_begun(s, y, piece):
        return bits.has_piece(s.lacks, y, piece)
    first = picking.first_part(s, y, piece)
    for entry in picking.parts(s, first):
        if s.begun[y, entry].unrequested != all_blocks(s, piece, entry - first):
            return False
    return True


@kernel
def under_way(s, y, piece):
    """True if blocks of a piece were asked for and have not come."""
    for entry in picking.parts(s, picking.first_part(s, y, piece)):
        begun = s.begun[y, entry]
        if begun.missing & ~begun.unrequested != bits.EMPTY:
            return is_begun(s, y, piece)
    return False


@kernel
def begun_and_free(s, y):
    """How many begun pieces have free blocks."""
    n = 0
    for word in range(s.want.shape[1]):
        n += bits.count(s.want[y, word] & s.open[y, word])
    return n


@kernel
def all_begun(s, y):
    """True if no missing piece is open and nobody's (strict_end_game_mode)."""
    for word in range(s.want.shape[1]):
        candidates = s.want[y, word]
        while candidates != bits.EMPTY:
            piece = (word << 6) + bits.first(candidates)
            candidates &= candidates - bits.ONE
            if is_open(s, y, piece):
                return False
    return True


@kernel
def let_go(s, u, y):
    """Lane `u` ends for its downloader: what it asked for there, and what the lane had for itself, is free again."""
    for i in range(s.lane[u].runs):
        run = s.run[u, i]
        give_back(s, y, u, np.int64(run.entry), np.uint64(run.blocks) & ~np.uint64(run.cancelled))
    release(s, np.int64(s.lane[u].g))


@kernel
def give_back(s, y, u, entry, blocks):
    """Blocks asked for on lane `u` are free again, unless they have come or are under way on another lane."""
    begun = s.begun[y, entry]
    blocks &= np.uint64(begun.missing) & ~np.uint64(begun.unrequested)
    if s.peer[y].endgame == BUSY:
        for i in range(s.peer[y].n_served):
            if s.served[y, i] != u:
                blocks &= ~asked_on(s, np.int64(s.served[y, i]), entry)
    if blocks == bits.EMPTY:
        return
    begun.unrequested |= blocks
    s.peer[y].unrequested += bits.count(blocks)
    bits.put_piece(s.open, y, np.int64(begun.piece))
    put_wanted(s, y, np.int64(begun.piece))


@kernel
def lost_block(s, g, arg):
    """A block for end `g` was under way when its connection closed: it is free again, unless asked for elsewhere."""
    y, b, piece = g >> s.rules.slot_bits, arg >> 8 & 63, arg >> 14 + s.part_bits
    if client_of(s, y).picker != BEGUN_FIRST and s.peer[y].present == 1 and is_begun(s, y, piece):
        entry = picking.first_part(s, y, piece) + (arg >> 14 & (1 << s.part_bits) - 1)
        give_back(s, y, picking.NOTHING, entry, bits.ONE << np.uint64(b))


@kernel
def asked_on(s, u, entry):
    """Blocks of a part that are asked for on lane `u`, or under way."""
    found = bits.EMPTY
    for i in range(s.lane[u].runs):
        if s.run[u, i].entry == entry:
            found |= np.uint64(s.run[u, i].blocks) & ~np.uint64(s.run[u, i].cancelled)
    for i in range(s.runs - s.lane[u].awaited, s.runs):
        if s.run[u, i].entry == entry:
            found |= np.uint64(s.run[u, i].blocks)
    return found


@kernel
def release(s, g):
    """What was taken for end `g` alone and not asked for is free again."""
    own, y = s.tally[g], g >> s.rules.slot_bits
    for piece in range(own.held_from, own.held_to):
        if any_free(s, y, np.int64(piece)):
            put_wanted(s, y, np.int64(piece))
    own.held_from = own.held_to = 0
