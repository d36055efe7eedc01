"""Who is on the other side of a connection."""

import numpy as np

from btflow.kernels.jit import kernel


@kernel
def mate(s, h):
    """The other side's end of the connection of end `h`."""
    return np.int64(s.mate[h])


@kernel
def neighbour(s, h):
    """The peer on the other side of end `h`."""
    return mate(s, h) >> s.rules.slot_bits
