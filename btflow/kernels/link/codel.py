"""CoDel (RFC 8289): drops at the head of the queue when packets have waited too long for too long.

A packet is *late* if it waited `target` or longer and more than one packet is still behind it. When all packets of an
`interval` were late, one is dropped, and from then on one more after interval / sqrt(count), where `count` is the
number of drops since the queue began to drop, until a packet is not late. A queue that soon has to drop again goes on
at about the rate it had reached.

`serve` and what it calls know two records: the queue `q` with the constants and totals, and `line`, what one control
loop watches. For CoDel that is the queue itself, for FQ-CoDel one of its subqueues. A train is one packet here.
"""

import math

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link import parcels
from btflow.kernels.link.state import FQ_CODEL, NONE

# RFC 8289 (its pseudocode) and Linux: what was reached is forgotten if the last drop was due so many intervals ago.
_MEMORY = 16.0


@kernel
def enqueue(net, k, q, t, pipe, parcel, size):
    """A parcel arrives: append it to the queue. False: it was dropped, since a limit or the last node was reached."""
    n = NONE
    if parcels.fits(q, size, parcel.packets):
        n = parcels.take_node(net)
    if n == NONE:
        parcels.count_drop(net, q, parcel, t)
        return False
    parcels.fill(net, n, t, pipe, parcel, size)
    parcels.append(net, q, n)
    parcels.count_in(net, k, q, n, t)
    return True


@kernel
def dequeue(net, k, q, t):
    """Node of the parcel to serve next, after the drops that are due; NONE if the queue is empty. Free it after use."""
    return serve(net, k, q, q, t)


@kernel
def serve(net, k, q, line, t):
    """Take the first parcel of `line` that is not dropped."""
    n = _pop(net, k, q, line, t)
    late = _late(net, q, line, n, t)
    if line.dropping == 0:
        if not late:
            return n
        parcels.drop(net, q, n)
        _begin(line, t, q.interval)
        n = _pop(net, k, q, line, t)
        _late(net, q, line, n, t)  # this one goes, whatever it is: the next drop is not due yet
        return n
    while late and t >= line.drop_next:
        parcels.drop(net, q, n)
        line.drops_since += 1
        n = _pop(net, k, q, line, t)
        late = _late(net, q, line, n, t)
        if late:
            line.drop_next = next_drop(line.drop_next, line.drops_since, q.interval)
    if not late:
        line.dropping = 0
    return n


@kernel
def _pop(net, k, q, line, t):
    """Take the first parcel out of the list and the sums."""
    n = parcels.pop_head(net, line)
    if n != NONE:
        parcels.count_out(net, k, q, n, t)
        if q.kind == FQ_CODEL:  # else the line is the queue
            line.bytes -= net.waiting[n].bytes
    return n


@kernel
def _late(net, q, line, n, t):
    """Judge the parcel just taken out. An empty queue is never late."""
    if n == NONE:
        line.first_above = 0.0
        return False
    return should_drop(line, t - net.waiting[n].at, line.bytes, t, q.target, q.interval, q.mtu)


@kernel
def should_drop(line, sojourn, backlog, t, target, interval, mtu):
    """True if all parcels of the last `interval` were late; `backlog` are the bytes behind this one.

    `first_above` is the end of the interval that the first late one began; 0: the last one was not late.
    """
    if sojourn < target or backlog <= mtu:
        line.first_above = 0.0
        return False
    if line.first_above == 0.0:
        line.first_above = t + interval
        return False
    return t >= line.first_above


@kernel
def next_drop(t, count, interval):
    """When the next drop is due after one at `t`: windows that answer to loss by 1 / sqrt(p) then shrink linearly."""
    return t + interval / math.sqrt(count)


@kernel
def _begin(line, t, interval):
    """The first drop: count from 1, or from what the last spell of dropping added if that was not long ago."""
    added = line.drops_since - line.last_count
    line.drops_since = added if added > 1 and t - line.drop_next < _MEMORY * interval else 1
    line.last_count = line.drops_since
    line.drop_next = next_drop(t, line.drops_since, interval)
    line.dropping = 1
