"""The way between the two ends of a flow: its queues in order, propagation, random loss behind the last queue."""

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link import parcels, queue
from btflow.kernels.link.state import ACKS, DATA, NONE, PAST, PIPES
from btflow.kernels.random import uniform


@kernel
def emit(net, i, f, way, t, number, stamp, owd, size, packets):
    """An end of flow `i` sends: into the first queue of the `way` (DATA or ACKS), or straight into the pipe."""
    sent = parcel(net, i, f, way, number, stamp, owd, size)
    sent.packets = packets
    set_off(net, i, f, way, t, sent)


@kernel
def parcel(net, i, f, way, number, stamp, owd, size):
    """A packet about to be sent by an end of flow `i`, without an ACK that rides on it."""
    made = net.hand[0]
    made.number = number
    made.stamp = stamp
    made.owd = owd
    made.bytes = size
    made.packets = 1
    made.segments = 1
    made.owner = 2 * i + (1 if way == ACKS else 0)
    made.generation = f.generation
    made.ack = NONE
    return made


@kernel
def set_off(net, i, f, way, t, parcel):
    """A parcel leaves an end."""
    k = f.data_queue0 if way == DATA else f.ack_queue0
    if k == NONE:
        parcels.put_in_pipe(net, i * PIPES + way, t, parcel)
    elif k == PAST:
        parcels.put_in_pipe(net, f.data_pipe1 if way == DATA else f.ack_pipe1, t, parcel)
    else:
        queue.arrive(net, k, t, f.data_pipe1 if way == DATA else f.ack_pipe1, parcel)


@kernel
def pass_on(net, f, way, hop, t, parcel):
    """A parcel has come through `hop` queues: True if that was the last one, else it joins the next."""
    if hop != 1:
        return True
    k = f.data_queue1 if way == DATA else f.ack_queue1
    if k == NONE:
        return True
    if k == PAST:
        parcels.put_in_pipe(net, f.data_pipe2 if way == DATA else f.ack_pipe2, t, parcel)
        return False
    queue.arrive(net, k, t, f.data_pipe2 if way == DATA else f.ack_pipe2, parcel)
    return False


@kernel
def lost(net, chance):
    """Whether the path loses a parcel."""
    return chance > 0.0 and uniform(net.rng) < chance
