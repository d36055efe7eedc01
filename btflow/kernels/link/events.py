"""Which source comes next: a binary heap of the sources that have something to do, by time, then by number.

`pos` finds the place of a source in the heap, NONE if it is not there. So a source that is put off or brought forward
moves from where it is, and a pipe with a hundred packets is one entry. An entry has its time with it: to compare two
neighbours is to read one cache line.
"""

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link.state import FOREVER, NONE


@kernel
def source(net, i, what):
    """Number of a flow's pipe or timer among the sources."""
    return i * net.rules.per_flow + what - net.rules.skipped


@kernel
def before(ta, a, tb, b):
    """True if source `a` at time `ta` comes before source `b` at `tb`; no branches, since nobody can foretell them."""
    return (ta < tb) | ((ta == tb) & (a < b))


@kernel
def schedule(net, a, time):
    """Set the time of source `a`; FOREVER: it has nothing to do."""
    place = net.pos[a]
    net.key[a] = time
    if place == NONE:
        if time >= FOREVER:
            return
        place = net.clock[0].scheduled
        net.clock[0].scheduled = place + 1
        settle(net, a, place)
    elif time >= FOREVER:
        leave(net, a, place)
    else:
        settle(net, a, place)


@kernel
def settle(net, a, place):
    """Find the place of source `a` from the free place `place` on."""
    time = net.key[a]
    place = sink(net, a, time, rise(net, a, time, place))
    net.heap[place].time = time
    net.heap[place].source = a
    net.pos[a] = place


@kernel
def rise(net, a, time, place):
    """The place for source `a`, from `place` on towards the top; what comes later makes room."""
    while place > 0:
        parent = (place - 1) >> 1
        other = net.heap[parent]
        if not before(time, a, other.time, other.source):
            break
        move(net, other, place)
        place = parent
    return place


@kernel
def sink(net, a, time, place):
    """The place for source `a`, from `place` on away from the top; what comes earlier makes room."""
    n = net.clock[0].scheduled
    child = 2 * place + 1
    while child < n:
        if child + 1 < n:
            left, right = net.heap[child], net.heap[child + 1]
            child += before(right.time, right.source, left.time, left.source)
        other = net.heap[child]
        if before(time, a, other.time, other.source):
            break
        move(net, other, place)
        place = child
        child = 2 * place + 1
    return place


@kernel
def move(net, entry, place):
    """An entry of the heap gets another place."""
    source = entry.source
    net.heap[place].time = entry.time
    net.heap[place].source = source
    net.pos[source] = place


@kernel
def leave(net, a, place):
    """Take source `a` out of the heap; the last one takes its place and settles."""
    n = net.clock[0].scheduled - 1
    net.clock[0].scheduled = n
    net.pos[a] = NONE
    if place < n:
        settle(net, net.heap[n].source, place)


@kernel
def wake(net, a, time):
    """Bring source `a` forward to `time`; a source that is woken too early looks at its own deadline and waits on."""
    if time < net.key[a]:
        schedule(net, a, time)


@kernel
def next_time(net):
    """When the next source acts; FOREVER if none has anything to do."""
    return net.heap[0].time if net.clock[0].scheduled > 0 else FOREVER
