"""Who wants something of whom: pieces as rows of bits, compared when somebody asks."""

from btflow.kernels import bits, rules
from btflow.kernels.jit import kernel


@kernel
def wants(s, y, x):
    """True if peer `y` needs a piece that `x` has told of."""
    for word in range(s.has.shape[1]):
        if s.has[x, word] & s.want[y, word] != bits.EMPTY:
            return True
    return False


@kernel
def wants_shown(s, y, x):
    """True if peer `y` needs a piece of `x`, and its interest in it has reached `x`."""
    for word in range(s.shown.shape[1]):
        if s.shown[x, word] & s.want[y, word] != bits.EMPTY:
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


@kernel
def block_bytes(s, piece, b):
    """Payload of block `b` of a piece [B]."""
    return rules.block_bytes(s.rules, piece * s.rules.blocks + b)
