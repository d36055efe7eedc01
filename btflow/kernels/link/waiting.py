"""Parcels waiting in queues that are served by event: a free list of nodes and singly linked lists of them.

The nodes `net.waiting` not in use are chained from `net.clock[0].free`. A list hangs on any record with the fields
`head` and `tail`, NONE when it is empty: a queue (CoDel) or a subqueue (FQ-CoDel).

What a queue holds in all, `q.packets` and `q.bytes`, changes here only, and the figures are noted before each change.
"""

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link import stats
from btflow.kernels.link.pipe import copy
from btflow.kernels.link.state import NONE


@kernel
def clear(net):
    """Chain all nodes into the free list."""
    net.clock[0].free = NONE
    for n in range(net.waiting.shape[0] - 1, -1, -1):
        give(net, n)


@kernel
def take(net):
    """A free node, NONE if there is none left."""
    n = net.clock[0].free
    if n != NONE:
        net.clock[0].free = net.waiting[n].next
    return n


@kernel
def give(net, n):
    """Node `n` is no longer in use."""
    net.waiting[n].next = net.clock[0].free
    net.clock[0].free = n


@kernel
def append(net, line, n):
    """Put node `n` last in the list of `line`."""
    net.waiting[n].next = NONE
    if line.tail == NONE:
        line.head = n
    else:
        net.waiting[line.tail].next = n
    line.tail = n


@kernel
def pop_head(net, line):
    """Take the first node out of the list of `line`; NONE if it is empty."""
    n = line.head
    if n != NONE:
        line.head = net.waiting[n].next
        if line.head == NONE:
            line.tail = NONE
    return n


@kernel
def fill(net, n, t, into, parcel, size):
    """Write down a parcel that came at `t` and will go on into pipe `into`; `size` is with framing."""
    node = net.waiting[n]
    copy(node, parcel)
    node.at = t
    node.pipe = into
    node.bytes = size


@kernel
def fits(q, size, packets):
    """True if the limits leave room for one more parcel."""
    return q.packets + packets <= q.limit_packets and q.bytes + size <= q.limit_bytes


@kernel
def count_in(net, k, q, n, t):
    """The parcel of node `n` begins to wait in queue `k`."""
    stats.note(net, k, q, t)
    q.packets += net.waiting[n].packets
    q.bytes += net.waiting[n].bytes


@kernel
def count_out(net, k, q, n, t):
    """The parcel of node `n` no longer waits in queue `k`."""
    stats.note(net, k, q, t)
    q.packets -= net.waiting[n].packets
    q.bytes -= net.waiting[n].bytes


@kernel
def count_drop(net, q, packets, t):
    """Packets were dropped."""
    if t >= net.rules.warmup:
        q.drops += packets


@kernel
def drop(net, q, n, t):
    """Drop the parcel of node `n`, which is in no list and no longer counted as waiting."""
    count_drop(net, q, net.waiting[n].packets, t)
    give(net, n)
