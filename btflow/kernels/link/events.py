"""Which source comes next: a binary heap of the sources that have something to do, by time, then by number.

`pos` finds the place of a source in the heap, NONE if it is not there. So a source that is put off or brought forward
moves from where it is, and a pipe with a hundred packets is one entry. An entry has its time with it: to compare two
neighbours is to read one cache line.
"""

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link.state import FOREVER, NONE


@kernel
def source(s, i, what):
    """Number of a flow's pipe or timer among the sources."""
    return i * s.rules.per_flow + what - s.rules.skipped


@kernel
def before(ta, a, tb, b):
    """True if source `a` at time `ta` comes before source `b` at `tb`; no branches, since nobody can foretell them."""
    return (ta < tb) | ((ta == tb) & (a < b))


@kernel
def schedule(s, a, time):
    """Set the time of source `a`; FOREVER: it has nothing to do."""
    place = s.pos[a]
    s.key[a] = time
    if place == NONE:
        if time >= FOREVER:
            return
        place = s.clock[0].scheduled
        s.clock[0].scheduled = place + 1
        settle(s, a, place)
    elif time >= FOREVER:
        leave(s, a, place)
    else:
        settle(s, a, place)


@kernel
def settle(s, a, place):
    """Find the place of source `a` from the free place `place` on."""
    time = s.key[a]
    place = sink(s, a, time, rise(s, a, time, place))
    s.heap[place].time = time
    s.heap[place].source = a
    s.pos[a] = place


@kernel
def rise(s, a, time, place):
    """The place for source `a`, from `place` on towards the top; what comes later makes room."""
    while place > 0:
        parent = (place - 1) >> 1
        other = s.heap[parent]
        if not before(time, a, other.time, other.source):
            break
        move(s, other, place)
        place = parent
    return place


@kernel
def sink(s, a, time, place):
    """The place for source `a`, from `place` on away from the top; what comes earlier makes room."""
    n = s.clock[0].scheduled
    child = 2 * place + 1
    while child < n:
        if child + 1 < n:
            left, right = s.heap[child], s.heap[child + 1]
            child += before(right.time, right.source, left.time, left.source)
        other = s.heap[child]
        if before(time, a, other.time, other.source):
            break
        move(s, other, place)
        place = child
        child = 2 * place + 1
    return place


@kernel
def move(s, entry, place):
    """An entry of the heap gets another place."""
    source = entry.source
    s.heap[place].time = entry.time
    s.heap[place].source = source
    s.pos[source] = place


@kernel
def leave(s, a, place):
    """Take source `a` out of the heap; the last one takes its place and settles."""
    n = s.clock[0].scheduled - 1
    s.clock[0].scheduled = n
    s.pos[a] = NONE
    if place < n:
        settle(s, s.heap[n].source, place)


@kernel
def wake(s, a, time):
    """Bring source `a` forward to `time`; a source that is woken too early looks at its own deadline and waits on."""
    if time < s.key[a]:
        schedule(s, a, time)


@kernel
def next_time(s):
    """When the next source acts; FOREVER if none has anything to do."""
    return s.heap[0].time if s.clock[0].scheduled > 0 else FOREVER
