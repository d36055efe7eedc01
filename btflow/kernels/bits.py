"""Sets as bits: the blocks of one piece in one 64-bit mask (so at most 64 blocks), pieces in rows of 64-bit words."""

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
def count(mask):
    """Number of blocks in `mask`."""
    n = 0
    while mask != EMPTY:
        mask &= mask - ONE
        n += 1
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
