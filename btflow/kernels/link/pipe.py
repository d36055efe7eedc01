"""Pipes: what is under way between two hops, in the order of arrival.

The parcels of a pipe are a linked list. All pipes take their places from one pool, the last one given back first: what
is under way at one time is little and stays in the cache, where a ring for each pipe would go through main memory.
"""

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link.events import schedule
from btflow.kernels.link.state import FOREVER, NONE


@kernel
def put(net, p, left, parcel):
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
    to.owner = parcel.owner
    to.generation = parcel.generation
    to.ack = parcel.ack
    to.ack_stamp = parcel.ack_stamp
    to.ack_owd = parcel.ack_owd


@kernel
def take(net, p):
    """The parcel at the end of pipe `p`, which has arrived; its place stays valid until the next `put`."""
    pipe = net.pipe[p]
    n = pipe.first
    pipe.first = net.parcel[n].next
    pipe.count -= 1
    schedule(net, pipe.source, net.parcel[pipe.first].at if pipe.count > 0 else FOREVER)
    net.parcel[n].next = net.clock[0].free_parcel
    net.clock[0].free_parcel = n
    return n
