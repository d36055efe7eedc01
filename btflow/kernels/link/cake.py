"""CAKE (Høiland-Jørgensen, Täht and Morton, 2018; Linux sch_cake.c) with one tin: fair to hosts, and to their flows.

As FQ-CoDel (fq_codel.py), but the turn of a flow is the `quantum` divided by the bulk flows of its host: each host gets
the same, however many flows it has. A flow is *sparse* until it has something left to send after its turn, then it is
*bulk* until it is found empty. An empty subqueue leaves its list at once. Drops are COBALT's (cobalt.py); in a full
queue the longest subqueue loses packets one by one.

Which host a subqueue is of is `sub.host`, the number of the subqueue that counts the host's bulk flows. The link is
the shaper: a packet leaves when the one before it has.
"""

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link import cobalt, parcels, turns
from btflow.kernels.link.state import NONE


@kernel
def enqueue(net, k, q, t, pipe, parcel, size):
    """A parcel arrives; above the limit the longest subqueue loses its oldest. False: this very parcel was dropped."""
    line = turns.line_up(net, k, q, t, pipe, parcel, size)
    if line == NONE:
        return False
    sub = net.subqueue[line]
    if sub.listed == turns.NOWHERE:
        cobalt.back(q, sub, t)
        sub.deficit = _quantum(net, q, sub)
        turns.join_new(net, q, line)
    elif sub.listed == turns.OLD and sub.bulk == 0:
        _count_as_bulk(net, sub)
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
            _next_turn(net, q, line, sub)
        else:
            n = _serve(net, k, q, sub, t)
            if n != NONE:
                sub.deficit -= net.waiting[n].bytes
                return n
            cobalt.found_empty(q, sub, t)
            turns.leave_front(q, sub)
            if sub.bulk == 1:
                sub.bulk = 0
                net.subqueue[sub.host].bulk_flows -= 1
        line = turns.front(q)
    return NONE


@kernel
def _serve(net, k, q, sub, t):
    """Take the first parcel of a subqueue that is not dropped; the last one never is."""
    n = turns.take(net, k, q, sub, t)
    while n != NONE:
        if not cobalt.should_drop(net, q, sub, t - net.waiting[n].at, t) or sub.head == NONE:
            return n
        parcels.drop(net, q, n)
        n = turns.take(net, k, q, sub, t)
    return n


@kernel
def _next_turn(net, q, line, sub):
    """The first subqueue has used up its turn, and goes to the end of the old list; who has more to send is bulk."""
    if sub.listed == turns.NEW and sub.head != NONE:
        _count_as_bulk(net, sub)
    sub.deficit += _quantum(net, q, sub)
    turns.leave_front(q, sub)
    turns.join_old(net, q, line)


@kernel
def _count_as_bulk(net, sub):
    """Count a subqueue among the bulk flows of its host."""
    sub.bulk = 1
    net.subqueue[sub.host].bulk_flows += 1


@kernel
def _quantum(net, q, sub):
    """What a subqueue may send in a turn [B]."""
    if q.fair_to_hosts == 0:
        return q.quantum
    return q.quantum / max(net.subqueue[sub.host].bulk_flows, 1)


@kernel
def _relieve(net, k, q, t):
    """Drop the head of the longest subqueue; returns its node (free by now)."""
    sub = net.subqueue[turns.longest(net, q)]
    n = turns.take(net, k, q, sub, t)
    parcels.drop(net, q, n)
    cobalt.overflowed(q, sub, t)
    return n
