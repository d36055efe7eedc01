"""Reading and writing the bits of `up`, `dn` and `mode`; `dn` of eight ends at a time, as a word.

`words_of` gives a peer's words; the functions `..._among` give a word with bit 8 i set where end `8 w + i` is meant.
"""

import numpy as np

from btflow.kernels.jit import kernel
from btflow.kernels.state import ENDGAME, LEFT, LINKED, SEEDING, SERVED, SUPER, WANTING

EACH = np.uint64(0x0101010101010101)  # the lowest bit of each byte
SECOND, THIRD = np.uint64(1), np.uint64(2)  # shifts that bring SERVED and LINKED there


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
def left(s, p):
    """True if peer `p` has left the swarm."""
    return s.mode[p] & LEFT != 0


@kernel
def super_seeding(s, p):
    """True if peer `p` shows its pieces one by one."""
    return s.rules.super_seeding == 1 and s.mode[p] & SUPER != 0


@kernel
def in_endgame(s, p):
    """True if peer `p` has requested every block."""
    return s.mode[p] & ENDGAME != 0


@kernel
def linked(s, h):
    """True if the connection of end `h` is open."""
    return s.dn[h] & LINKED != 0


@kernel
def wanting(s, h):
    """True if we told the other side that we are interested."""
    return s.dn[h] & WANTING != 0


@kernel
def served(s, h):
    """True if the other side has unchoked us, as far as we know."""
    return s.dn[h] & SERVED != 0


@kernel
def words_of(s, p):
    """The words of `dn_words` that hold the ends of peer `p` that may be in use."""
    base = p << s.rules.slot_bits
    return range(base >> 3, (base + s.peer[p].top + 7) >> 3)


@kernel
def wanting_among(s, w):
    """Ends that said they are interested."""
    return s.dn_words[w] & EACH


@kernel
def served_among(s, w):
    """Ends that are unchoked, as far as they know."""
    return (s.dn_words[w] >> SECOND) & EACH


@kernel
def idle_among(s, w):
    """Open ends that are neither interested nor unchoked."""
    word = s.dn_words[w]
    return (word >> THIRD) & ~(word | word >> SECOND) & EACH
