"""FQ-CoDel (RFC 8290): a CoDel queue per flow, served in turns of `quantum` bytes (DRR++).

Every pipe has a subqueue of its own, `net.subqueue[pipe]`; in a swarm, where flows share pipes, every flow has (below
`pipe` is the number of a subqueue). The RFC's hash into 1024 queues is taken to be perfect: with
the few flows of a link two of them seldom meet.

Subqueues with something to send stand in one of two lists. Those that had nothing stand in the new one, which goes
first; who has used up its turn goes to the end of the old one. A subqueue that is found empty passes through the old
list once more before it may be new again, so that it cannot always be first.
"""

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link import codel, parcels
from btflow.kernels.link.state import NONE

_NOWHERE, _NEW, _OLD = 0, 1, 2  # subqueue.listed

# RFC 8290, 4.1: at the limit the longest queue loses up to half of its bytes, at most this many packets.
_BATCH = 64


@kernel
def enqueue(net, k, q, t, pipe, parcel, size):
    """A parcel arrives; above the limit the longest subqueue loses its oldest. False: this very parcel was dropped."""
    n = parcels.take_node(net)
    if n == NONE:
        parcels.count_drop(net, q, parcel, t)
        return False
    line = line_of(net, k, pipe, parcel)
    sub = net.subqueue[line]
    parcels.fill(net, n, t, pipe, parcel, size)
    parcels.append(net, sub, n)
    parcels.count_in(net, k, q, n, t)
    sub.bytes += size
    if sub.listed == _NOWHERE:
        sub.deficit = q.quantum
        _join_new(net, q, line)
    dropped = NONE
    while not parcels.fits(q, 0.0, 0):
        dropped = _relieve(net, k, q, t)
    return dropped != n


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
def dequeue(net, k, q, t):
    """Node of the parcel to serve next, after the drops that are due; NONE if the queue is empty. Free it after use."""
    pipe = _front(q)
    while pipe != NONE:
        sub = net.subqueue[pipe]
        if sub.deficit <= 0.0:
            sub.deficit += q.quantum
            _leave_front(net, q, sub)
            _join_old(net, q, pipe)
        else:
            n = codel.serve(net, k, q, sub, t)
            if n != NONE:
                sub.deficit -= net.waiting[n].bytes
                return n
            _found_empty(net, q, pipe)
        pipe = _front(q)
    return NONE


@kernel
def _found_empty(net, q, pipe):
    """The first subqueue has nothing to send: from the new list into the old one, from there out."""
    sub = net.subqueue[pipe]
    was_new = sub.listed == _NEW
    _leave_front(net, q, sub)
    if was_new:
        _join_old(net, q, pipe)


@kernel
def _front(q):
    """The subqueue whose turn it is."""
    return q.new_first if q.new_first != NONE else q.old_first


@kernel
def _leave_front(net, q, sub):
    """Take the first subqueue out of its list."""
    if sub.listed == _NEW:
        q.new_first = sub.next
        if q.new_first == NONE:
            q.new_last = NONE
    else:
        q.old_first = sub.next
        if q.old_first == NONE:
            q.old_last = NONE
    sub.listed = _NOWHERE


@kernel
def _join_new(net, q, pipe):
    """Append a subqueue to the new list."""
    net.subqueue[pipe].listed = _NEW
    net.subqueue[pipe].next = NONE
    if q.new_last == NONE:
        q.new_first = pipe
    else:
        net.subqueue[q.new_last].next = pipe
    q.new_last = pipe


@kernel
def _join_old(net, q, pipe):
    """Append a subqueue to the old list."""
    net.subqueue[pipe].listed = _OLD
    net.subqueue[pipe].next = NONE
    if q.old_last == NONE:
        q.old_first = pipe
    else:
        net.subqueue[q.old_last].next = pipe
    q.old_last = pipe


@kernel
def _relieve(net, k, q, t):
    """Drop from the head of the longest subqueue; returns the node dropped last (free by now)."""
    sub = net.subqueue[_longest(net, q)]
    enough = 0.5 * sub.bytes
    size, packets, n = 0.0, 0, NONE
    while size < enough and packets < _BATCH:
        n = parcels.pop_head(net, sub)
        parcels.count_out(net, k, q, n, t)
        sub.bytes -= net.waiting[n].bytes
        size += net.waiting[n].bytes
        packets += net.waiting[n].packets
        parcels.drop(net, q, n, t)
    return n


@kernel
def _longest(net, q):
    """The subqueue with the most bytes, the first by number among equals."""
    return _longer(net, q.old_first, _longer(net, q.new_first, NONE))


@kernel
def _longer(net, pipe, best):
    """Whichever is longest: `best` or one of the list from `pipe` on."""
    while pipe != NONE:
        if best == NONE:
            best = pipe
        else:
            more = net.subqueue[pipe].bytes - net.subqueue[best].bytes
            if more > 0.0 or (more == 0.0 and pipe < best):
                best = pipe
        pipe = net.subqueue[pipe].next
    return best
