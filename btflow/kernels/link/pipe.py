"""Pipes: what is under way between two hops, first in, first out."""

from btflow.kernels.jit import kernel
from btflow.kernels.link.events import schedule
from btflow.kernels.link.state import FOREVER, PIPES, SOURCES


@kernel
def source_of(p):
    """The source of pipe `p` (flow * PIPES + its number in the flow)."""
    return p // PIPES * SOURCES + p % PIPES


@kernel
def put(s, p, left, number, stamp, owd, size, packets):
    """A parcel leaves into pipe `p` at time `left`.

    What a full ring cannot hold is lost: only storms of needless retransmissions are so much.
    """
    pipe = s.pipe[p]
    if pipe.last - pipe.first > pipe.mask:
        return
    parcel = s.parcel[pipe.offset + (pipe.last & pipe.mask)]
    parcel.at = left + pipe.delay
    parcel.number = number
    parcel.stamp = stamp
    parcel.owd = owd
    parcel.bytes = size
    parcel.packets = packets
    pipe.last += 1
    if pipe.last - pipe.first == 1:
        schedule(s, source_of(p), parcel.at)


@kernel
def take(s, p):
    """The parcel at the end of pipe `p`, which has arrived; its place in the ring stays valid until the next `put`."""
    pipe = s.pipe[p]
    place = pipe.offset + (pipe.first & pipe.mask)
    pipe.first += 1
    following = FOREVER
    if pipe.first != pipe.last:
        following = s.parcel[pipe.offset + (pipe.first & pipe.mask)].at
    schedule(s, source_of(p), following)
    return place
