"""Sets of blocks of one piece as a 64-bit mask: bit b is block b (so a piece has at most 64 blocks)."""

import numpy as np

from btflow.kernels.jit import kernel

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
    b = 0
    while (mask >> np.uint64(b)) & ONE == EMPTY:
        b += 1
    return b


@kernel
def first_n(n):
    """Mask of blocks 0..n-1, 1 <= n <= 64."""
    return ~EMPTY >> np.uint64(64 - n)
