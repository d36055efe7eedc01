"""A queue of an access link: parcels wait their turn at `rate`, or are dropped.

First-in first-out queues need no events: when a parcel comes, the time its service starts is known (Lindley's
recursion), and what has started since is taken off the count. CoDel, FQ-CoDel and CAKE decide when a parcel is taken
out, so they are served by an event each. The packet in service does not count as waiting, as in ns-3 and tc's fifos.
"""

import math

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link import cake, codel, course, fq_codel, parcels, pie
from btflow.kernels.link.events import schedule
from btflow.kernels.link.state import CODEL, CONSTANT, DROP_TAIL, FOREVER, FQ_CODEL, NONE, PIE, TRACE


@kernel
def arrive(net, k, t, into, parcel):
    """A parcel comes to queue `k` at `t`; it goes on into pipe `into`."""
    q = net.queue[k]
    size = on_wire(q, parcel.bytes, parcel.packets * parcel.segments)
    if t >= net.rules.warmup:
        q.arrivals += parcel.packets
    if q.kind == DROP_TAIL or q.kind == PIE:
        line_up(net, k, q, t, into, parcel, size)
        return
    if q.kind == CODEL:
        codel.enqueue(net, k, q, t, into, parcel, size)
    elif q.kind == FQ_CODEL:
        fq_codel.enqueue(net, k, q, t, into, parcel, size)
    else:
        cake.enqueue(net, k, q, t, into, parcel, size)
    if q.free_at <= t:
        if q.course == TRACE:
            schedule(net, source_of(net, k), course.begins(net, q, t))
        else:
            serve(net, k, q, t)


@kernel
def on_wire(q, size, packets):
    """What packets of `size` bytes take on the link [B]: with framing, and in cells of 53 B for 48 (ITU-T I.361)."""
    if q.cells == 0:
        return size + q.framing * packets
    return packets * math.ceil((size / packets + q.framing) / 48.0) * 53.0


@kernel
def line_up(net, k, q, t, into, parcel, size):
    """First in, first out: the parcel is dropped, or it leaves after all before it."""
    packets = parcel.packets
    advance(net, k, q, t)
    start = max(t, q.free_at) if q.course == CONSTANT else course.begins(net, q, t)
    if q.kind == PIE:
        if not pie.admit(net, k, q, t, size, packets):
            parcels.count_drop(net, q, parcel, t)
            return
    elif start > t and not parcels.fits(q, size, packets):
        parcels.count_drop(net, q, parcel, t)
        return
    if q.last - q.first > q.mask:  # more small packets than there are places
        parcels.count_drop(net, q, parcel, t)
        return
    if start > t:
        parcels.note_length(net, k, q, t)
        q.packets += packets
        q.bytes += size
        wait = net.service[q.offset + (q.last & q.mask)]
        wait.at = start
        wait.bytes = size
        wait.packets = packets
        q.last += 1
    else:
        count_served(net, q, t, size)
    left = send(net, q, start, size)
    parcels.put_in_pipe(net, into, start if q.early else left, parcel)


@kernel
def full(net, k, q, t, size):
    """Whether a first-in first-out queue would drop a packet of `size` bytes."""
    advance(net, k, q, t)
    return q.free_at > t and not parcels.fits(q, on_wire(q, size, 1), 1)


@kernel
def send(net, q, start, size):
    """When a packet has left whose service begins at `start`; the link is free at `q.free_at`."""
    if q.course != CONSTANT:
        return course.send(net, q, start, size)
    q.free_at = start + size / q.rate
    return q.free_at


@kernel
def advance(net, k, q, t):
    """Take off the count what has started service by `t`."""
    while q.first != q.last:
        wait = net.service[q.offset + (q.first & q.mask)]
        if wait.at > t:
            break
        parcels.note_length(net, k, q, wait.at)
        q.packets -= wait.packets
        q.bytes -= wait.bytes
        count_served(net, q, wait.at, wait.bytes)
        q.first += 1


@kernel
def serve(net, k, q, t):
    """The link is free: send the next parcel of an event-served queue, if there is one."""
    n = take_out(net, k, q, t)
    if n == NONE:
        schedule(net, source_of(net, k), FOREVER)
        return
    parcel = net.waiting[n]
    left = send(net, q, t, parcel.bytes)
    count_served(net, q, t, parcel.bytes)
    parcel.bytes = parcel.plain
    parcels.put_in_pipe(net, parcel.pipe, t if q.early else left, parcel)
    parcels.give_node(net, n)
    schedule(net, source_of(net, k), q.free_at)


@kernel
def count_served(net, q, t, size):
    """Service of `size` bytes begins at `t`: those of them count that leave between the warm-up and the end."""
    if q.course != CONSTANT:  # course.py has counted it
        return
    left = t + size / q.rate
    begin, end = max(t, net.rules.warmup), min(left, net.rules.duration)
    q.served += size if begin == t and end == left else max(end - begin, 0.0) * q.rate


@kernel
def take_out(net, k, q, t):
    """Node of the parcel that an event-served queue sends next; NONE if it is empty."""
    if q.kind == CODEL:
        return codel.dequeue(net, k, q, t)
    if q.kind == FQ_CODEL:
        return fq_codel.dequeue(net, k, q, t)
    return cake.dequeue(net, k, q, t)


@kernel
def source_of(net, k):
    """The source of queue `k`: after those of the flows."""
    return net.rules.first_queue + k


@kernel
def close(net, k, t):
    """Count up to the end of the experiment."""
    q = net.queue[k]
    if q.kind == DROP_TAIL or q.kind == PIE:
        advance(net, k, q, t)
    parcels.note_length(net, k, q, t)
