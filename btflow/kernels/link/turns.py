"""Subqueues, one per flow, take turns (DRR++; RFC 8290): what FQ-CoDel and CAKE have in common.

Every pipe has a subqueue of its own, `net.subqueue[pipe]`; in a swarm, where flows share pipes, every flow has (below
`line` is the number of a subqueue). The hash into 1024 queues that RFC 8290 and CAKE have is taken to be perfect: with
the few flows of a link two of them seldom meet.

Subqueues with something to send stand in one of two lists. Those that had nothing stand in the new one, which goes
first; who has used up its turn goes to the end of the old one.
"""

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link import parcels
from btflow.kernels.link.state import NONE

NOWHERE, NEW, OLD = 0, 1, 2  # subqueue.listed


@kernel
def line_up(net, k, q, t, pipe, parcel, size):
    """A parcel arrives: it waits last in its subqueue, whose number is returned; NONE: no node was left."""
    n = parcels.take_node(net)
    if n == NONE:
        parcels.count_drop(net, q, parcel, t)
        return NONE
    line = line_of(net, k, pipe, parcel)
    sub = net.subqueue[line]
    parcels.fill(net, n, t, pipe, parcel, size)
    parcels.append(net, sub, n)
    parcels.count_in(net, k, q, n, t)
    sub.bytes += size
    return line


@kernel
def line_of(net, k, pipe, parcel):
    """The subqueue of a parcel in queue `k`.

    In a swarm each way of a flow has one at the uplink and one at the downlink, numbered by the flow of that peer's own
    end: its next connection may use it while packets of the last one wait, for they wait in the same queue.
    """
    if net.rules.skipped == 0:
        return pipe
    i, way = parcel.owner >> 1, parcel.owner & 1
    here = i if way == k & 1 else net.flow[i].other
    return 4 * here + 2 * way + (k & 1)


@kernel
def take(net, k, q, sub, t):
    """Take the first parcel of a subqueue out of the list and the sums; NONE if it is empty."""
    n = parcels.pop_head(net, sub)
    if n != NONE:
        parcels.count_out(net, k, q, n, t)
        sub.bytes -= net.waiting[n].bytes
    return n


@kernel
def front(q):
    """The subqueue whose turn it is."""
    return q.new_first if q.new_first != NONE else q.old_first


@kernel
def leave_front(q, sub):
    """Take the first subqueue out of its list."""
    if sub.listed == NEW:
        q.new_first = sub.next
        if q.new_first == NONE:
            q.new_last = NONE
    else:
        q.old_first = sub.next
        if q.old_first == NONE:
            q.old_last = NONE
    sub.listed = NOWHERE


@kernel
def join_new(net, q, line):
    """Append a subqueue to the new list."""
    net.subqueue[line].listed = NEW
    net.subqueue[line].next = NONE
    if q.new_last == NONE:
        q.new_first = line
    else:
        net.subqueue[q.new_last].next = line
    q.new_last = line


@kernel
def join_old(net, q, line):
    """Append a subqueue to the old list."""
    net.subqueue[line].listed = OLD
    net.subqueue[line].next = NONE
    if q.old_last == NONE:
        q.old_first = line
    else:
        net.subqueue[q.old_last].next = line
    q.old_last = line


@kernel
def longest(net, q):
    """The subqueue with the most bytes, the first by number among equals."""
    return _longer(net, q.old_first, _longer(net, q.new_first, NONE))


@kernel
def _longer(net, line, best):
    """Whichever is longest: `best` or one of the list from `line` on."""
    while line != NONE:
        if best == NONE:
            best = line
        else:
            more = net.subqueue[line].bytes - net.subqueue[best].bytes
            if more > 0.0 or (more == 0.0 and line < best):
                best = line
        line = net.subqueue[line].next
    return best
