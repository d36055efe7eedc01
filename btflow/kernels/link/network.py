"""The way between the two ends of a flow: its queues in order, propagation, random loss behind the last queue."""

from btflow.kernels.jit import kernel
from btflow.kernels.link import pipe, queue
from btflow.kernels.link.state import DATA, NONE, PIPES
from btflow.kernels.rng import uniform


@kernel
def emit(s, i, f, way, t, number, stamp, owd, size, packets):
    """An end of flow `i` sends: into the first queue of the `way` (DATA or ACKS), or straight into the pipe."""
    k = f.data_queue0 if way == DATA else f.ack_queue0
    if k == NONE:
        pipe.put(s, i * PIPES + way, t, number, stamp, owd, size, packets)
    else:
        queue.arrive(s, k, t, i * PIPES + way + 1, number, stamp, owd, size, packets)


@kernel
def pass_on(s, i, f, way, hop, t, parcel):
    """A parcel has come through `hop` queues: True if that was the last one, else it joins the next."""
    if hop != 1:
        return True
    k = f.data_queue1 if way == DATA else f.ack_queue1
    if k == NONE:
        return True
    queue.arrive(s, k, t, i * PIPES + way + 2, parcel.number, parcel.stamp, parcel.owd, parcel.bytes, parcel.packets)
    return False


@kernel
def lost(s, chance):
    """Whether the path loses a parcel."""
    return chance > 0.0 and uniform(s.rng) < chance
