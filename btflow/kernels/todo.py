"""What an event leaves to do for the flows: connections begun, closed, written to. Served after the event, in order.

The kernels of the client know nothing of flows; where the peers have access links they note here what concerns them,
and `kernels/access` does it. `todo[0]` counts the entries; an entry is 4 h + what.
"""

import numpy as np

from btflow.kernels.jit import kernel

OPENED, CLOSED, WRITTEN = np.int64(0), np.int64(1), np.int64(2)


@kernel
def note(s, h, what):
    """Something is to be done for the connection of end `h`; WRITTEN is noted once."""
    if what == WRITTEN:
        if s.marked[h] != 0:
            return
        s.marked[h] = 1
    s.todo[0] += 1
    s.todo[s.todo[0]] = 4 * h + what
