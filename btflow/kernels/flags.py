"""Reading and writing the bits of `up`, `dn` and `mode`."""

from btflow.kernels.jit import kernel
from btflow.kernels.state import ENDGAME, SEEDING


@kernel
def raise_flag(array, i, bit):
    """Set `bit` of array[i]."""
    array[i] = array[i] | bit


@kernel
def lower_flag(array, i, bit):
    """Clear `bit` of array[i]."""
    array[i] = array[i] & (255 - bit)


@kernel
def seeding(s, p):
    """True if peer `p` has every piece."""
    return s.mode[p] & SEEDING != 0


@kernel
def in_endgame(s, p):
    """True if peer `p` has requested every block."""
    return s.mode[p] & ENDGAME != 0
