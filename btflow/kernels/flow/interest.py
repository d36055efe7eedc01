"""Who wants something of whom: pieces as rows of bits, compared when somebody asks."""

from btflow.kernels import bits
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.swarm.ends import client_of
from btflow.kernels.swarm.state import UNREQUESTED_PIECES


@kernel
def offer(s, x):
    """The first four words of what peer `x` has to offer: who asks for many neighbours reads them once."""
    return s.shown[x, 0], s.shown[x, 1], s.shown[x, 2], s.shown[x, 3]


@kernel
def wants(s, y, x, offered):
    """True if peer `y` needs a piece of `x`, and its interest in it has reached `x`; `offered` is offer(s, x)."""
    a, b, c, d = offered
    some = (a & s.lacks[y, 0]) | (b & s.lacks[y, 1])
    others = (c & s.lacks[y, 2]) | (d & s.lacks[y, 3])
    return some | others != bits.EMPTY or (s.shown.shape[1] > 4 and wants_later(s, y, x))


@kernel
def wants_later(s, y, x):
    """True if peer `y` needs a piece of `x` behind the first four words; four at a time."""
    for w in range(4, s.shown.shape[1], 4):
        some = (s.shown[x, w] & s.lacks[y, w]) | (s.shown[x, w + 1] & s.lacks[y, w + 1])
        others = (s.shown[x, w + 2] & s.lacks[y, w + 2]) | (s.shown[x, w + 3] & s.lacks[y, w + 3])
        if some | others != bits.EMPTY:
            return True
    return False


@kernel
def lacks_some(s, y, row):
    """True if peer `y` is interested in a piece of row `row` of `has`, whether that is known or not."""
    for w in range(s.has.shape[1]):
        if s.has[row, w] & s.lacks[y, w] != bits.EMPTY:
            return True
    return False


@kernel
def put_wanted(s, y, piece):
    """Blocks of `piece` may be asked for by peer `y`: some clients are interested only in such pieces."""
    bits.put_piece(s.want, y, piece)
    if client_of(s, y).interest == UNREQUESTED_PIECES:
        bits.put_piece(s.lacks, y, piece)


@kernel
def drop_wanted(s, y, piece):
    """No block of `piece` may be asked for by peer `y`."""
    bits.drop_piece(s.want, y, piece)
    if client_of(s, y).interest == UNREQUESTED_PIECES:
        bits.drop_piece(s.lacks, y, piece)


@kernel
def super_seeding(s, p):
    """True if peer `p` shows its pieces one by one."""
    return s.rules.super_seeding == 1 and s.peer[p].shows == 1


@kernel
def row_of(s, x, h):
    """Row of `has` and `shown` for end `h` of peer `x`: `x`, or one of this end if `x` is a super-seed."""
    return s.rules.peers + h if super_seeding(s, x) else x


@kernel
def seeding(s, p):
    """True if peer `p` has every piece."""
    return s.peer[p].n_log == s.rules.pieces


@kernel
def serves_as_seed(s, p):
    """True if peer `p` has every piece by its own time: what is on its way to it does not count yet."""
    return s.peer[p].shows == 1 or s.peer[p].n_known == s.rules.pieces


@kernel
def told_all(s, x):
    """True if the neighbours of `x` know that it has every piece."""
    return s.peer[x].n_known == s.rules.pieces
