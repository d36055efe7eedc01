"""Who is on the other side of a connection, and by which rules a peer lives."""

import numpy as np

from btflow.kernels.jit import kernel


@kernel
def mate(s, h):
    """The other side's end of the connection of end `h`."""
    return np.int64(s.mate[h])


@kernel
def wire(s, h):
    """The transport of what end `h` sends; without delays there is but one, which does nothing."""
    return s.wire[0] if s.rules.ideal == 1 else s.wire[h]


@kernel
def neighbour(s, h):
    """The peer on the other side of end `h`."""
    return mate(s, h) >> s.rules.slot_bits


@kernel
def client_of(s, p):
    """The constants and rules of the client that peer `p` runs (state.CLIENT)."""
    return s.client[s.peer[p].klass]
