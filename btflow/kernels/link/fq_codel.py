"""FQ-CoDel (RFC 8290): a CoDel queue per flow, served in turns of `quantum` bytes.

A subqueue that is found empty passes through the old list once more before it may be new again, so that it cannot
always be first.
"""

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link import codel, parcels, turns
from btflow.kernels.link.state import NONE

# RFC 8290, 4.1: at the limit the longest queue loses up to half of its bytes, at most this many packets.
_BATCH = 64


@kernel
def enqueue(net, k, q, t, pipe, parcel, size):
    """A parcel arrives; above the limit the longest subqueue loses its oldest. False: this very parcel was dropped."""
    line = turns.line_up(net, k, q, t, pipe, parcel, size)
    if line == NONE:
        return False
    sub = net.subqueue[line]
    if sub.listed == turns.NOWHERE:
        sub.deficit = q.quantum
        turns.join_new(net, q, line)
    n, dropped = sub.tail, NONE
    while not parcels.fits(q, 0.0, 0):
        dropped = _relieve(net, k, q, t)
    return dropped != n


@kernel
def dequeue(net, k, q, t):
    """Node of the parcel to serve next, after the drops that are due; NONE if the queue is empty. Free it after use."""
    line = turns.front(q)
    while line != NONE:
        sub = net.subqueue[line]
        if sub.deficit <= 0.0:
            sub.deficit += q.quantum
            turns.leave_front(q, sub)
            turns.join_old(net, q, line)
        else:
            n = codel.serve(net, k, q, sub, t)
            if n != NONE:
                sub.deficit -= net.waiting[n].bytes
                return n
            _found_empty(net, q, line)
        line = turns.front(q)
    return NONE


@kernel
def _found_empty(net, q, line):
    """The first subqueue has nothing to send: from the new list into the old one, from there out."""
    sub = net.subqueue[line]
    was_new = sub.listed == turns.NEW
    turns.leave_front(q, sub)
    if was_new:
        turns.join_old(net, q, line)


@kernel
def _relieve(net, k, q, t):
    """Drop from the head of the longest subqueue; returns the node dropped last (free by now)."""
    sub = net.subqueue[turns.longest(net, q)]
    enough = 0.5 * sub.bytes
    size, packets, n = 0.0, 0, NONE
    while size < enough and packets < _BATCH:
        n = turns.take(net, k, q, sub, t)
        size += net.waiting[n].bytes
        packets += net.waiting[n].packets
        parcels.drop(net, q, n)
    return n
