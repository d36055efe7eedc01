"""Rings of the flows: a flow begins with a short one and moves into one twice as long when its window needs it.

Most connections of a swarm carry a message now and then, a few carry blocks; rings that fit them stay in the cache.
Free rings of a size are chained through `log`.
"""

from btflow.kernels.access.state import SMALLEST_RING, TOP
from btflow.kernels.jit import kernel
from btflow.kernels.link.state import NONE


@kernel
def take(x, power):
    """A ring of 2**power places; `x.rings[TOP]` stays below the pool's size, as the main loop sees to."""
    n = x.net
    at = x.rings[power]
    if at == NONE:
        at = x.rings[TOP]
        x.rings[TOP] += 1 << power
    else:
        x.rings[power] = n.log[at]
    for j in range(at, at + (1 << power)):
        n.got[j] = 0
    return at


@kernel
def give(x, at, mask):
    """A ring is free."""
    power = SMALLEST_RING
    while (1 << power) <= mask:
        power += 1
    x.net.log[at] = x.rings[power]
    x.rings[power] = at


@kernel
def widen(x, i):
    """Move flow `i` into a ring twice as long: what is under way, what was sent again, what came."""
    n = x.net
    f = n.flow[i]
    old, mask = f.ring_at, f.ring_mask
    power = SMALLEST_RING
    while (1 << power) <= mask:
        power += 1
    new, wide = take(x, power + 1), 2 * mask + 1
    for number in range(max(f.una - 1, 0), f.nxt):
        n.segment[new + (number & wide)] = n.segment[old + (number & mask)]
    for number in range(f.expected, f.nxt):
        n.got[new + (number & wide)] = n.got[old + (number & mask)]
    for place in range(max(f.seen, f.log - mask - 1), f.log):
        n.log[new + (place & wide)] = n.log[old + (place & mask)]
    for place in range(f.again_first, f.again_last):
        n.again[new + (place & wide)] = n.again[old + (place & mask)]
    f.ring_at = new
    f.ring_mask = wide
    give(x, old, mask)
