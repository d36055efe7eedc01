"""Pipes: what is under way between two hops, in the order of arrival."""

from btflow.kernels.jit import kernel
from btflow.kernels.link.events import schedule
from btflow.kernels.link.state import FOREVER


@kernel
def put(s, p, left, parcel):
    """A parcel leaves into pipe `p` at time `left`.

    What a full ring cannot hold is lost: only storms of needless retransmissions are so much.
    """
    pipe = s.pipe[p]
    if pipe.last - pipe.first > pipe.mask:
        return
    place = s.parcel[pipe.offset + (pipe.last & pipe.mask)]
    copy(place, parcel)
    place.at = left + pipe.delay
    pipe.last += 1
    if pipe.last - pipe.first == 1:
        schedule(s, pipe.source, place.at)


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
def take(s, p):
    """The parcel at the end of pipe `p`, which has arrived; its place in the ring stays valid until the next `put`."""
    pipe = s.pipe[p]
    place = pipe.offset + (pipe.first & pipe.mask)
    pipe.first += 1
    following = FOREVER
    if pipe.first != pipe.last:
        following = s.parcel[pipe.offset + (pipe.first & pipe.mask)].at
    schedule(s, pipe.source, following)
    return place
