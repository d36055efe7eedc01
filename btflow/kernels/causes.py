"""Where the time of an unchoked connection goes: what holds it back, and since when."""

from btflow.kernels.jit import kernel
from btflow.kernels.state import CAUSES


@kernel
def set_cause(s, h, cause, t):
    """From `t` on end `h` is held back by `cause`; the time since the last change is charged to the old one."""
    c = s.conn[h]
    if c.cause != cause:
        if c.cause < CAUSES:
            s.share[h >> s.rules.slot_bits, c.cause] += t - c.cause_since
        c.cause = cause
        c.cause_since = t
