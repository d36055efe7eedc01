"""Control messages between the two ends of a connection: they wait behind a part-sent block, then travel.

A message names the end that receives it. `generation` lets a message outlive its connection harmlessly.
"""

from btflow.kernels import tcp
from btflow.kernels.clock import NONE, post, take_node
from btflow.kernels.jit import kernel
from btflow.kernels.limiter import part_sent, sync
from btflow.kernels.state import HAVE, HAVE_ALL


@kernel
def blocked(s, h, t):
    """True if end `h` is in the middle of writing a block, so that nothing else can be written (4.0.2 Connecter)."""
    c = s.conn[h]
    if c.turns > 0 and c.in_ring == 1:
        sync(s, h // s.rules.slots, t)
    return part_sent(c)


@kernel
def send(s, h, kind, arg, t):
    """Write a control message on end `h`; behind a part-sent block it waits in the end's queue."""
    c = s.conn[h]
    if kind == HAVE:
        hold_haves(s, h, arg)
    if blocked(s, h, t):
        n = take_node(s)
        node = s.node[n]
        node.kind = kind
        node.arg = arg
        node.next = NONE
        if c.out_first == NONE:
            c.out_first = n
        else:
            s.node[c.out_last].next = n
        c.out_last = n
    else:
        transmit(s, h, kind, arg, t)


@kernel
def transmit(s, h, kind, arg, t):
    """Put a message of end `h` on the wire."""
    c = s.conn[h]
    mate = s.mate[h]
    arrival = t if s.rules.ideal == 1 else tcp.control_arrival(s, c, t)
    post(s, arrival, kind, mate, arg, s.conn[mate].generation)


@kernel
def flush(s, h, t):
    """The block is written: the control messages that waited go out behind it, in order. Returns their bytes."""
    c = s.conn[h]
    mate = s.mate[h]
    n = c.out_first
    total = 0
    if n != NONE:
        arrival = t if s.rules.ideal == 1 else tcp.control_arrival(s, c, t)
        while n != NONE:
            node = s.node[n]
            following = node.next
            post(s, arrival, node.kind, mate, node.arg, s.conn[mate].generation)
            node.next = s.clock[0].free
            s.clock[0].free = n
            s.clock[0].n_free += 1
            n = following
            total += 9
        c.out_first = NONE
    return total


@kernel
def hold_haves(s, h, count):
    """HAVEs number `count - 1` and later of end `h` travel on their own until all of them have arrived."""
    if s.alone[h] == 0:
        s.conn[h].have_limit = count - 1
    s.alone[h] += 1


@kernel
def announce_have(s, p, t):
    """Peer `p` verified a piece: tell every connection (no suppression for those who have it).

    Undelayed connections of one RTT hear of it at the same instant: one event serves them all.
    """
    base = p * s.rules.slots
    count = s.peer[p].n_log
    if s.rules.ideal == 1:
        for i in range(s.peer[p].n_ring):
            h = base + s.ring[p, i]
            if s.alone[h] > 0 or blocked(s, h, t):
                send(s, h, HAVE, count, t)
        post(s, t, HAVE_ALL, p, count, 0)
    else:
        announce_delayed(s, p, t)


@kernel
def announce_delayed(s, p, t):
    """`announce_have` where messages take time: one event for each RTT, and one for each connection that is behind."""
    base = p * s.rules.slots
    count = s.peer[p].n_log
    batched = -1.0
    for slot in range(s.peer[p].top):
        h = base + slot
        if s.other[h] < 0:
            continue
        c = s.conn[h]
        behind = s.alone[h] > 0 or t < c.small_acked or t + 0.5 * c.rtt < c.last_arrival
        if behind or blocked(s, h, t):
            send(s, h, HAVE, count, t)
        elif c.loss > 0.0 and tcp.lost(s, c):
            hold_haves(s, h, count)
            c.last_arrival = tcp.repair_time(s, c, t)
            c.small_acked = c.last_arrival + 0.5 * c.rtt
            post(s, c.last_arrival, HAVE, s.mate[h], count, s.conn[s.mate[h]].generation)
        else:
            if s.rules.nagle == 1:
                c.small_acked = t + c.rtt
            c.last_arrival = t + 0.5 * c.rtt
            if c.rtt != batched:
                batched = c.rtt
                post(s, c.last_arrival, HAVE_ALL, p, count, 0)


@kernel
def told_by_batch(s, h, count):
    """How many pieces of its log end `h` has brought across by a HAVE_ALL of `count`: not those that travel alone."""
    return min(count, s.conn[h].have_limit) if s.alone[h] > 0 else count


@kernel
def arrived_alone(s, h):
    """A HAVE (or bitfield) of end `h` that travelled on its own has arrived."""
    s.alone[h] -= 1
