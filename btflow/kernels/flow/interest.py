"""Who wants something of whom: pieces as rows of bits, compared when somebody asks."""

from btflow.kernels import bits
from btflow.kernels.jit import kernel


@kernel
def wants(s, y, x):
    """True if peer `y` needs a piece of `x`, and its interest in it has reached `x`; four words at a time."""
    for w in range(0, s.shown.shape[1], 4):
        some = (s.shown[x, w] & s.want[y, w]) | (s.shown[x, w + 1] & s.want[y, w + 1])
        others = (s.shown[x, w + 2] & s.want[y, w + 2]) | (s.shown[x, w + 3] & s.want[y, w + 3])
        if some | others != bits.EMPTY:
            return True
    return False


@kernel
def seeding(s, p):
    """True if peer `p` has every piece."""
    return s.peer[p].n_log == s.rules.pieces


@kernel
def told_all(s, x):
    """True if the neighbours of `x` know that it has every piece."""
    return s.peer[x].n_known == s.rules.pieces
