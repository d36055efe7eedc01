"""Which source comes next: a binary heap of the sources that have something to do, by time, then by number.

`pos` finds the place of a source in the heap, NONE if it is not there. So a source that is put off or brought forward
moves from where it is, and a pipe with a hundred packets is one entry.
"""

from btflow.kernels.jit import kernel
from btflow.kernels.link.state import FOREVER, NONE


@kernel
def source(s, i, what):
    """Number of a flow's pipe or timer among the sources."""
    return i * s.rules.per_flow + what - s.rules.skipped


@kernel
def before(s, a, b):
    """True if source `a` comes before source `b`."""
    ta, tb = s.key[a], s.key[b]
    return ta < tb or (ta == tb and a < b)


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
    while place > 0:
        parent = (place - 1) >> 1
        other = s.heap[parent]
        if not before(s, a, other):
            break
        s.heap[place] = other
        s.pos[other] = place
        place = parent
    n = s.clock[0].scheduled
    while True:
        child = 2 * place + 1
        if child >= n:
            break
        other = s.heap[child]
        if child + 1 < n and before(s, s.heap[child + 1], other):
            child += 1
            other = s.heap[child]
        if not before(s, other, a):
            break
        s.heap[place] = other
        s.pos[other] = place
        place = child
    s.heap[place] = a
    s.pos[a] = place


@kernel
def leave(s, a, place):
    """Take source `a` out of the heap; the last one takes its place and settles."""
    n = s.clock[0].scheduled - 1
    s.clock[0].scheduled = n
    s.pos[a] = NONE
    if place < n:
        settle(s, s.heap[n], place)


@kernel
def wake(s, a, time):
    """Bring source `a` forward to `time`; a source that is woken too early looks at its own deadline and waits on."""
    if time < s.key[a]:
        schedule(s, a, time)


@kernel
def next_time(s):
    """When the next source acts; FOREVER if none has anything to do."""
    return s.key[s.heap[0]] if s.clock[0].scheduled > 0 else FOREVER
