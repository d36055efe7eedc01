"""Pending events: a calendar queue (Brown, CACM 1988) of intrusive nodes, and a lane, first in first out, beside it.

Nodes 0..2N-1 are the limiter and choker timers of the peers; the others come from a free list. What arrives a fixed
time after it was sent arrives in the order of sending: it needs no calendar. That is most messages of a swarm whose
round trips are alike, and all of one without delays. Events at the same time leave in the order they were posted, so a
run is a function of the scenario and the seed alone.
"""

import numpy as np

from btflow.kernels.compiler import intrinsics
from btflow.kernels.compiler.jit import kernel

NONE = np.int64(-1)


@kernel
def take_node(s):
    """A free node; the main loop stops for more room before the list can run dry."""
    clock = s.clock[0]
    n = clock.free
    clock.free = s.node[n].next
    clock.n_free -= 1
    return n


@kernel
def give_node(s, n):
    """Put node `n` back, unless it is a timer."""
    if n >= 2 * s.rules.peers:
        clock = s.clock[0]
        s.node[n].next = clock.free
        clock.free = n
        clock.n_free += 1


@kernel
def insert(s, n, time):
    """File node `n` under `time` [s], not before now. In a bucket, equal times keep the order of filing."""
    clock = s.clock[0]
    node = s.node[n]
    node.time = time
    node.lap = int(time / clock.width)
    node.serial = clock.serial
    clock.serial += 1
    clock.lap = min(clock.lap, node.lap)
    b = node.lap & (s.bucket.size - 1)
    node.bucket = b
    before = np.int64(s.bucket[b].last)
    while before != NONE and s.node[before].time > time:
        before = np.int64(s.node[before].prev)
    node.prev = before
    if before == NONE:
        node.next = s.bucket[b].first
        s.bucket[b].first = n
    else:
        node.next = s.node[before].next
        s.node[before].next = n
    if node.next == NONE:
        s.bucket[b].last = n
    else:
        s.node[node.next].prev = n
    clock.pending += 1


@kernel
def remove(s, n):
    """Take node `n` out of its bucket; nothing to do if it is not filed."""
    node = s.node[n]
    if node.bucket == NONE:
        return
    if node.prev == NONE:
        s.bucket[node.bucket].first = node.next
    else:
        s.node[node.prev].next = node.next
    if node.next == NONE:
        s.bucket[node.bucket].last = node.prev
    else:
        s.node[node.next].prev = node.prev
    node.bucket = NONE
    s.clock[0].pending -= 1


@kernel
def post(s, time, kind, target, arg, generation):
    """Schedule an event; what is for now comes behind what was filed for the same instant before.

    Without delays, and with messages that leave at once, there is nothing of that kind: the lane does.
    """
    clock = s.clock[0]
    n = take_node(s)
    node = s.node[n]
    node.kind = kind
    node.target = target
    node.arg = arg
    node.generation = generation
    if time <= clock.now:
        if s.rules.ideal == 1 and s.rules.tallied == 0:
            join_lane(s, n, clock.now)
        else:
            insert(s, n, clock.now)
    elif time == clock.now + clock.lane_delay and (clock.lane_first == NONE or time >= s.node[clock.lane_last].time):
        join_lane(s, n, time)
    else:
        insert(s, n, time)


@kernel
def join_lane(s, n, time):
    """Append node `n` to the lane; nothing in it is later."""
    clock = s.clock[0]
    node = s.node[n]
    node.time = time
    node.serial = clock.serial
    clock.serial += 1
    node.bucket = NONE
    node.next = NONE
    if clock.lane_first == NONE:
        clock.lane_first = n
    else:
        s.node[clock.lane_last].next = n
    clock.lane_last = n


@kernel
def pop_until(s, limit):
    """As `pop`, but NONE if nothing is filed until `limit` [s], which may not be before the clock's time."""
    clock = s.clock[0]
    if clock.pending == 0:
        return NONE
    last = int(min(limit, 2.0 * s.rules.horizon) / clock.width)
    while True:
        n = np.int64(s.bucket[clock.lap & (s.bucket.size - 1)].first)
        if n != NONE and s.node[n].lap == clock.lap:
            if s.node[n].time > limit:
                return NONE
            remove(s, n)
            clock.now = s.node[n].time
            return n
        if clock.lap >= last:
            return NONE
        clock.lap += 1


@kernel
def filed(s):
    """First node of the calendar, the lap moved to its bucket; NONE if it is empty."""
    clock = s.clock[0]
    if clock.pending == 0:
        return NONE
    while True:
        n = np.int64(s.bucket[clock.lap & (s.bucket.size - 1)].first)
        if n != NONE and s.node[n].lap == clock.lap:
            return n
        clock.lap += 1


@kernel
def lane_leads(s, n):
    """True if the first of the lane is due before node `n` of the calendar; what happens at once goes first."""
    first = s.node[s.clock[0].lane_first]
    node = s.node[n]
    return first.time < node.time or (first.time == node.time and (s.rules.ideal == 1 or first.serial < node.serial))


@kernel
def pop(s):
    """Next event's node, the clock moved to its time; NONE if nothing is pending."""
    clock = s.clock[0]
    n = filed(s)
    if clock.lane_first != NONE and (n == NONE or lane_leads(s, n)):
        n = clock.lane_first
        clock.lane_first = s.node[n].next
    elif n != NONE:
        remove(s, n)
    else:
        return NONE
    clock.now = s.node[n].time
    return n


@kernel
def look_ahead(s):
    """Have the processor fetch what the next event of the calendar and the next of the lane will touch."""
    n = s.clock[0].lane_first
    if n != NONE:
        fetch_end(s, np.int64(s.node[n].target))
    n = filed(s)
    if n == NONE:
        return
    if n < s.rules.peers:
        intrinsics.line(s.peer, n, 0)
        intrinsics.line(s.ring, n, 0)
        fetch_end(s, np.int64(s.node[n].target))
        fetch_end(s, np.int64(s.node[n].arg))
    elif n < 2 * s.rules.peers:
        intrinsics.line(s.peer, n - s.rules.peers, 0)
        intrinsics.line(s.peer, n - s.rules.peers, 64)
        intrinsics.line(s.order, n - s.rules.peers, 0)


@kernel
def fetch_end(s, h):
    """Have the processor fetch end `h`."""
    intrinsics.line(s.conn, h, 0)
    intrinsics.line(s.conn, h, 64)
    intrinsics.line(s.turns, h, 0)
    intrinsics.line(s.mate, h, 0)
