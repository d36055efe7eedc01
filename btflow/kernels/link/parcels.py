"""Parcels between the ends of a flow: those under way in pipes, and those that wait in queues served by event.

A pipe leads from one hop to the next; its parcels are a linked list in the order of arrival. All pipes take their
places from one pool, the last one given back first: what is under way at one time is little and stays in the cache,
where a ring for each pipe would go through main memory.

Parcels that wait are nodes in singly linked lists. The nodes `net.waiting` not in use are chained from
`net.clock[0].free`. A list hangs on any record with the fields `head` and `tail`, NONE when it is empty: a queue
(CoDel) or a subqueue (FQ-CoDel, CAKE). What such a queue holds in all, `q.packets` and `q.bytes`, changes here only,
and the figures are noted before each change.
"""

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link import course
from btflow.kernels.link.events import schedule
from btflow.kernels.link.state import FOREVER, NONE


@kernel
def put_in_pipe(net, p, left, parcel):
    """A parcel leaves into pipe `p` at time `left`.

    What is more than there is room for is lost: only storms of needless retransmissions are so much.
    """
    pipe = net.pipe[p]
    if pipe.count == pipe.room:
        return
    n = new_place(net)
    place = net.parcel[n]
    copy(place, parcel)
    place.at = left + pipe.delay
    if pipe.steps > 0:
        place.at += course.longer(net, pipe, left)
        if pipe.count > 0:  # it overtakes nothing
            place.at = max(place.at, net.parcel[pipe.last].at)
    place.next = NONE
    if pipe.count == 0:
        pipe.first = n
        schedule(net, pipe.source, place.at)
    else:
        net.parcel[pipe.last].next = n
    pipe.last = n
    pipe.count += 1


@kernel
def new_place(net):
    """A free place for a parcel: there are as many as all pipes have room for."""
    c = net.clock[0]
    n = c.free_parcel
    if n != NONE:
        c.free_parcel = net.parcel[n].next
    else:
        n = c.used_parcels
        c.used_parcels = n + 1
    return n


@kernel
def copy(to, parcel):
    """Write down what a parcel is; times and lists are the caller's."""
    to.number = parcel.number
    to.stamp = parcel.stamp
    to.owd = parcel.owd
    to.bytes = parcel.bytes
    to.packets = parcel.packets
    to.segments = parcel.segments
    to.owner = parcel.owner
    to.generation = parcel.generation
    to.ack = parcel.ack
    to.ack_stamp = parcel.ack_stamp
    to.ack_owd = parcel.ack_owd


@kernel
def take_from_pipe(net, p):
    """The parcel at the end of pipe `p`, which has arrived; its place stays valid until the next `put_in_pipe`."""
    pipe = net.pipe[p]
    n = pipe.first
    pipe.first = net.parcel[n].next
    pipe.count -= 1
    schedule(net, pipe.source, net.parcel[pipe.first].at if pipe.count > 0 else FOREVER)
    net.parcel[n].next = net.clock[0].free_parcel
    net.clock[0].free_parcel = n
    return n


@kernel
def take_node(net):
    """A free node, NONE if there is none left."""
    n = net.clock[0].free
    if n != NONE:
        net.clock[0].free = net.waiting[n].next
    return n


@kernel
def give_node(net, n):
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
    node.plain = parcel.bytes


@kernel
def fits(q, size, packets):
    """True if the limits leave room for one more parcel."""
    return q.packets + packets <= q.limit_packets and q.bytes + size <= q.limit_bytes


@kernel
def note_length(net, k, q, t):
    """Queue `k` changes at `t`: its length so far has lasted since the last change. Call before every change."""
    since = max(q.counted_to, net.rules.warmup)
    if t > since:
        net.queue_time[k, min(q.packets, net.queue_time.shape[1] - 1)] += t - since
        q.byte_seconds += q.bytes * (t - since)
    q.counted_to = t


@kernel
def count_in(net, k, q, n, t):
    """The parcel of node `n` begins to wait in queue `k`."""
    note_length(net, k, q, t)
    q.packets += net.waiting[n].packets
    q.bytes += net.waiting[n].bytes


@kernel
def count_out(net, k, q, n, t):
    """The parcel of node `n` no longer waits in queue `k`."""
    note_length(net, k, q, t)
    q.packets -= net.waiting[n].packets
    q.bytes -= net.waiting[n].bytes


@kernel
def count_drop(net, q, parcel, came):
    """A parcel that came at `came` was dropped: it counts if its coming did."""
    q.dropped += parcel.packets
    if parcel.owner & 1 == 0:
        net.flow[parcel.owner >> 1].dropped += parcel.packets * parcel.segments
    if came >= net.rules.warmup:
        q.drops += parcel.packets


@kernel
def drop(net, q, n):
    """Drop the parcel of node `n`, which is in no list and no longer counted as waiting."""
    count_drop(net, q, net.waiting[n], net.waiting[n].at)
    give_node(net, n)
