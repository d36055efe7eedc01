"""Sets as bits: pieces in rows of 64-bit words, and the blocks of a piece in one word for each 64 of them."""

import numpy as np

from btflow.kernels.compiler.intrinsics import trailing_zeros
from btflow.kernels.compiler.jit import kernel

ONE = np.uint64(1)
EMPTY = np.uint64(0)


@kernel
def has(mask, b):
    """True if block `b` is in `mask`."""
    return (mask >> np.uint64(b)) & ONE != EMPTY


@kernel
def with_bit(mask, b):
    """`mask` with block `b` put in."""
    return mask | (ONE << np.uint64(b))


@kernel
def without_bit(mask, b):
    """`mask` with block `b` taken out."""
    return mask & ~(ONE << np.uint64(b))


@kernel
def first(mask):
    """Lowest block of a non-empty `mask`."""
    return trailing_zeros(mask)


@kernel
def last(mask):
    """Highest block of a non-empty `mask`."""
    n = 0
    while mask > ONE:
        mask >>= ONE
        n += 1
    return n


@kernel
def count(mask):
    """Number of blocks in `mask`."""
    n = 0
    while mask != EMPTY:
        mask &= mask - ONE
        n += 1
    return n


@kernel
def has_block(blocks, p, piece, which, b):
    """True if block `b` is in one of the two sets of a piece: in blocks[p, piece] their words take turns."""
    return has(blocks[p, piece, (b >> 6 << 1) + which], b & 63)


@kernel
def put_block(blocks, p, piece, which, b):
    """Put block `b` into a set of a piece."""
    blocks[p, piece, (b >> 6 << 1) + which] |= ONE << np.uint64(b & 63)


@kernel
def drop_block(blocks, p, piece, which, b):
    """Take block `b` out of a set of a piece."""
    blocks[p, piece, (b >> 6 << 1) + which] &= ~(ONE << np.uint64(b & 63))


@kernel
def any_block(blocks, p, piece, which):
    """True if a block is in a set of a piece."""
    for w in range(which, blocks.shape[2], 2):
        if blocks[p, piece, w] != EMPTY:
            return True
    return False


@kernel
def first_block(blocks, p, piece, which):
    """Lowest block of a set of a piece that is not empty."""
    w = which
    while blocks[p, piece, w] == EMPTY:
        w += 2
    return (w >> 1 << 6) + first(blocks[p, piece, w])


@kernel
def count_blocks(blocks, p, piece, which):
    """Number of blocks in a set of a piece."""
    n = 0
    for w in range(which, blocks.shape[2], 2):
        n += count(blocks[p, piece, w])
    return n


@kernel
def has_piece(sets, p, piece):
    """True if `piece` is in the piece set sets[p] (64 pieces a word)."""
    return has(sets[p, piece >> 6], piece & 63)


@kernel
def put_piece(sets, p, piece):
    """Put `piece` into the piece set sets[p]."""
    sets[p, piece >> 6] |= ONE << np.uint64(piece & 63)


@kernel
def drop_piece(sets, p, piece):
    """Take `piece` out of the piece set sets[p]."""
    sets[p, piece >> 6] &= ~(ONE << np.uint64(piece & 63))
