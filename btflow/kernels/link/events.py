"""Which source comes next: a binary heap of all sources by time, the lower number first among equals.

Every source is always in the heap, with FOREVER if it has nothing to do; `pos` finds its place. So a source that is
put off or brought forward moves from where it is, and a pipe with a hundred packets is one entry.
"""

from btflow.kernels.jit import kernel
from btflow.kernels.link.state import SOURCES


@kernel
def source(i, what):
    """Number of a flow's pipe or timer among the sources."""
    return i * SOURCES + what


@kernel
def before(s, a, b):
    """True if source `a` comes before source `b`."""
    ta, tb = s.key[a], s.key[b]
    return ta < tb or (ta == tb and a < b)


@kernel
def schedule(s, a, time):
    """Set the time of source `a`."""
    s.key[a] = time
    place = s.pos[a]
    while place > 0:
        parent = (place - 1) >> 1
        other = s.heap[parent]
        if not before(s, a, other):
            break
        s.heap[place] = other
        s.pos[other] = place
        place = parent
    n = s.heap.size
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
def wake(s, a, time):
    """Bring source `a` forward to `time`; a source that is woken too early looks at its own deadline and waits on."""
    if time < s.key[a]:
        schedule(s, a, time)
