"""Which piece next where fast connections take whole ones (libtorrent request_blocks.cpp, piece_picker.cpp).

Both engines use these rules. They keep blocks in different ways, so they pass functions: `any_free`, `free` and
`is_open` of a peer and a piece, `there` and `eligible` of a connection and a piece, `shared` of all three: whether
another connection is to bring blocks of it. A connection is an end in full and a lane in flow; `row` of `has` has the
pieces of its other side.
"""

import numpy as np

from btflow.kernels import bits
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.random import below
from btflow.kernels.swarm import rules
from btflow.kernels.swarm.ends import client_of
from btflow.kernels.swarm.picking import NOTHING
from btflow.kernels.swarm.state import NIL

_MOST = 1 << 24  # copies of a piece


@kernel
def all_blocks(s, piece, w):
    """Word `w` of the set of all blocks of a piece."""
    n = min((s.rules.last_piece_blocks if piece == s.rules.pieces - 1 else s.rules.blocks) - (w << 6), 64)
    return ~bits.EMPTY >> np.uint64(64 - n) if n > 0 else bits.EMPTY


@kernel
def look_anew(s, own, p, held):
    """A connection looks for what to ask for: pieces taken at random are those from one drawn on (pick_pieces)."""
    if rules.picks_at_random(client_of(s, p), held):
        own.begin = below(s.rng, s.rules.pieces)


@kernel
def next_piece(s, link, own, p, row, held, begun, any_free, free, is_open, shared, there, eligible):
    """The piece that peer `p` asks for, or NOTHING; it has `held` pieces, and `begun` others have free blocks.

    `own` is the tally of the connection `link`.
    """
    piece = own_piece(s, own, p, any_free)
    if piece != NOTHING:
        return piece
    r = client_of(s, p)
    alone = np.int64(rules.pieces_at_once(r, s.rules.blocks * s.rules.block_size, own.rate))
    begun_first = rules.too_many_begun(begun, s.peer[p].complete, s.rules.blocks)
    if begun_first:
        alone = NIL
    if rules.picks_at_random(r, held):
        piece = random_piece(s, link, own, p, row, alone, is_open, shared, eligible)
    else:
        common = own.snubbed == 1 and not begun_first  # peer_connection.cpp, picker_options: reverse
        piece = rarest_piece(s, link, p, row, alone, begun_first, common, free, is_open, shared, eligible)
    if piece != NOTHING and alone > 0 and not shared(s, link, p, piece):
        hold(s, link, own, p, row, piece, alone, is_open, there, eligible)
        piece = own_piece(s, own, p, any_free)
    return piece


@kernel
def own_piece(s, own, p, any_free):
    """The first of the pieces that a connection has for itself of which blocks are left to ask for, or NOTHING."""
    while own.held_from < own.held_to:
        if any_free(s, p, np.int64(own.held_from)):
            return np.int64(own.held_from)
        own.held_from += 1
    return NOTHING


@kernel
def rarest_piece(s, link, p, row, alone, begun_first, common, free, is_open, shared, eligible):
    """The rarest by the copies known, begun before open; what others fetch comes last where whole pieces are wanted.

    Where pieces that were begun go first, those of the same copies do by how much of them is asked for. With `common`
    the order of copies is the other way round, and open ones go before begun.
    """
    best, least, fewest, rank = NOTHING, 1 << 30, 1 << 40, np.uint64(0)
    for word in range(s.has.shape[1]):
        candidates = s.has[row, word] & s.want[p, word]
        while candidates != bits.EMPTY:
            piece = (word << 6) + bits.first(candidates)
            candidates &= candidates - bits.ONE
            copies = np.int64(s.copies[piece, p])
            number = _MOST - copies if common else copies
            if (least == 0 and number << 12 > fewest) or not eligible(s, link, piece):
                continue
            opened = is_open(s, p, piece)
            late = 1 if (begun_first and opened) or (alone > 0 and not opened and shared(s, link, p, piece)) else 0
            n = (number << 12) + (1 << 11 if opened != common else free(s, p, piece) if begun_first else 0)
            if late > least or (late == least and n > fewest):
                continue
            challenger = rules.tie_rank(s.rng[1], p, piece, copies)
            if late < least or rules.rarer(n, challenger, fewest, rank):
                best, least, fewest, rank = piece, late, n, challenger
    return best


@kernel
def random_piece(s, link, own, p, row, alone, is_open, shared, eligible):
    """The first begun one, those of others last where whole pieces are wanted; else the open one after `own.begin`."""
    best, least = NOTHING, 1 << 30
    for word in range(s.has.shape[1]):
        candidates = s.has[row, word] & s.want[p, word]
        while candidates != bits.EMPTY:
            piece = (word << 6) + bits.first(candidates)
            candidates &= candidates - bits.ONE
            if not eligible(s, link, piece):
                continue
            order = piece
            if is_open(s, p, piece):
                order = 2 * s.rules.pieces + (piece - own.begin + s.rules.pieces) % s.rules.pieces
            elif alone > 0 and shared(s, link, p, piece):
                order = s.rules.pieces + piece
            if order < least:
                best, least = piece, order
    return best


@kernel
def hold(s, link, own, p, row, piece, most, is_open, there, eligible):
    """Take what is free of `piece` for one connection; if it is open, open ones beside it too, `most` in all.

    (piece_picker.cpp, add_blocks_downloading and expand_piece)
    """
    first, last = piece, piece + 1
    if is_open(s, p, piece):
        while first > 0 and first > piece - most + 1 and may_hold(s, link, p, row, first - 1, is_open, there, eligible):
            first -= 1
        while (
            last < s.rules.pieces and last < first + most and may_hold(s, link, p, row, last, is_open, there, eligible)
        ):
            last += 1
    own.held_from, own.held_to = first, last
    for taken in range(first, last):
        bits.drop_piece(s.want, p, np.int64(taken))


@kernel
def may_hold(s, link, p, row, piece, is_open, there, eligible):
    """True if a piece is open, nobody's, there, and may be asked for."""
    free = bits.has_piece(s.want, p, piece) and is_open(s, p, piece)
    return free and there(s, link, row, piece) and eligible(s, link, piece)


@kernel
def release(s, own, p, any_free):
    """What was taken for one connection and not asked for is free again."""
    for piece in range(own.held_from, own.held_to):
        if any_free(s, p, np.int64(piece)):
            bits.put_piece(s.want, p, np.int64(piece))
    own.held_from = own.held_to = 0


@kernel
def all_begun(s, p, is_open):
    """True if no missing piece is open and nobody's (strict_end_game_mode)."""
    for word in range(s.want.shape[1]):
        candidates = s.want[p, word]
        while candidates != bits.EMPTY:
            piece = (word << 6) + bits.first(candidates)
            candidates &= candidates - bits.ONE
            if is_open(s, p, piece):
                return False
    return True
