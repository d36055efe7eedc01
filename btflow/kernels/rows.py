"""Rows of request lists: an end has one while blocks are asked of it, few of a peer's ends at a time.

A row is taken with the first request. It is not given back when its list is empty, which it often is for a moment, but
when rows run short: then all that are idle are collected.
"""

import numpy as np

from btflow.kernels.ends import mate
from btflow.kernels.jit import kernel
from btflow.kernels.state import FREE

NO_ROW = np.int32(-1)


@kernel
def take_row(s, h):
    """Give end `h` a row if it has none; the main loop stops for more before they can run out."""
    c = s.conn[h]
    if c.row != NO_ROW:
        return
    clock = s.clock[0]
    c.row = clock.free_row
    clock.free_row = -1 - s.row_owner[c.row]
    clock.n_free_rows -= 1
    s.row_owner[c.row] = h


@kernel
def collect_rows(s, t):
    """Take back every row that is idle."""
    clock = s.clock[0]
    for row in range(s.row_owner.size):
        h = np.int64(s.row_owner[row])
        if h >= 0 and idle(s, h, t):
            s.conn[h].row = NO_ROW
            s.row_owner[row] = -1 - clock.free_row
            clock.free_row = row
            clock.n_free_rows += 1


@kernel
def idle(s, h, t):
    """True if no request of the other side is sent, waits or is answered, nor a block under way, at end `h`."""
    c = s.conn[h]
    if c.state == FREE:
        return True
    other = s.conn[mate(s, h)]
    if c.up_head != c.up_seen or s.turns[h] != 0 or other.dn_next != other.dn_tail or other.dn_tail != c.up_seen:
        return False
    return s.rules.ideal == 1 or s.wire[h].last_arrival < t
