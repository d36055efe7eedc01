"""Which piece next where fast connections take whole ones: the rules of `kernels/swarm/whole_pieces.py`.

The blocks of a piece that were never asked for are in its parts in `begun`; a piece without one has all of them. Nobody
is offered what another lane gave back: a lane with nothing to ask for looks again after a while.
"""

import numpy as np

from btflow.kernels import bits
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow import picking
from btflow.kernels.flow.ends import put_wanted
from btflow.kernels.flow.state import BUSY, SERVING
from btflow.kernels.swarm import whole_pieces
from btflow.kernels.swarm.ends import client_of
from btflow.kernels.swarm.picking import in_set
from btflow.kernels.swarm.state import BEGUN_FIRST
from btflow.kernels.swarm.whole_pieces import all_blocks


@kernel
def next_piece(s, u, y, row):
    """The piece from which lane `u` is asked for blocks, or NOTHING; `row` of `has` says what its uploader has."""
    own, held, begun = s.tally[s.lane[u].g], s.peer[y].n_log, begun_and_free(s, y)
    piece = whole_pieces.next_piece(
        s, u, own, y, row, held, begun, any_free, free, is_open, shared, picking.there, eligible
    )
    if piece != picking.NOTHING and picking.rows_taken(s, y) and not is_begun(s, y, piece):
        return picking.NOTHING
    return piece


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
def shared(s, u, y, piece):
    """True if blocks of a piece were asked for elsewhere than on lane `u` and have not come."""
    for entry in picking.parts(s, picking.first_part(s, y, piece)):
        begun = s.begun[y, entry]
        if begun.missing & ~begun.unrequested & ~asked_on(s, u, entry) != bits.EMPTY:
            return is_begun(s, y, piece)
    return False


@kernel
def free(s, y, piece):
    """How many blocks of a begun piece are not asked for."""
    n = 0
    for entry in picking.parts(s, picking.first_part(s, y, piece)):
        n += bits.count(np.uint64(s.begun[y, entry].unrequested))
    return n


@kernel
def begun_and_free(s, y):
    """How many begun pieces have free blocks."""
    n = 0
    for word in range(s.want.shape[1]):
        n += bits.count(s.want[y, word] & s.open[y, word])
    return n


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
    blocks = only_here(s, y, u, entry, blocks)
    if blocks == bits.EMPTY:
        return
    begun.unrequested |= blocks
    s.peer[y].unrequested += bits.count(blocks)
    bits.put_piece(s.open, y, np.int64(begun.piece))
    put_wanted(s, y, np.int64(begun.piece))


@kernel
def only_here(s, y, u, entry, blocks):
    """Those of some blocks of a part that are asked for, have not come and are under way on no other lane than `u`."""
    blocks &= np.uint64(s.begun[y, entry].missing) & ~np.uint64(s.begun[y, entry].unrequested)
    if s.peer[y].endgame == BUSY:
        for i in range(s.peer[y].n_served):
            if s.served[y, i] != u:
                blocks &= ~asked_on(s, np.int64(s.served[y, i]), entry)
    return blocks


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
    whole_pieces.release(s, s.tally[g], g >> s.rules.slot_bits, any_free)
