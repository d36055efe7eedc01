"""Control messages on access links: they wait for their sender's queue, in order, by Nagle's rule.

A message of peer `p` to `y` waits until Nagle's rule lets it go, then for the uplink's queue, the propagation and the
downlink's queue. On a connection that carries blocks the same way it comes behind those that are written. A small
segment that waits takes with it whatever is written meanwhile.
"""

import numpy as np

from btflow.kernels.access import watch
from btflow.kernels.access.state import CONTROL_DATA, TCP_DATA
from btflow.kernels.flow import stream, windows
from btflow.kernels.flow.state import NO_LANE
from btflow.kernels.jit import kernel
from btflow.kernels.link.state import NO_NAGLE
from btflow.kernels.rng import uniform
from btflow.kernels.state import FOREVER, HAVE

UNLIMITED = 1e9  # packets of a buffer that is not counted in packets
CONTROL = 2  # column of `template`


@kernel
def way_of(s, h):
    """The column of `template` of the connection that the messages of end `h` take."""
    return CONTROL if s.rules.split == 1 else s.net.protocol[h]


@kernel
def arrival(s, p, h, size, t):
    """When a message of `size` bytes that peer `p` writes on end `h` at `t` arrives."""
    y = s.end[h].mate >> s.rules.slot_bits
    if s.rules.direct == 1:
        return t + windows.propagation(s, p, y)
    line, column = s.net.line[h], CONTROL_DATA if s.rules.split == 1 else TCP_DATA + s.net.protocol[h]
    f = s.net.template[s.peer[p].klass, way_of(s, h)]
    a, b = s.net.link[p], s.net.link[y]
    behind = t
    if s.rules.split == 0 and s.end[h].lane != NO_LANE:
        u = (p << s.lane_bits) + s.end[h].lane
        if s.finish[u] < FOREVER:
            behind = stream.drained(s, u, t)
            a.control += size
            s.net.crossed[p, column] += size
            line.arrival = max(line.arrival, max(behind, t + windows.one_way(s, p, y)))
            return line.arrival
    leaves = t
    if f.nagle != NO_NAGLE:
        if t < line.leaves:  # one waits already: this goes with it
            a.control += size
            s.net.crossed[p, column] += size
            return max(line.arrival, t)
        leaves = max(t, line.acked)
        line.leaves = leaves
        line.acked = leaves + windows.one_way(s, p, y) + windows.one_way(s, y, p) + ack_wait(s, h, f)
    if a.full > 0.0 and a.room_packets < UNLIMITED and uniform(s.net.rng) < a.full:
        trip = windows.one_way(s, p, y) + windows.one_way(s, y, p)
        leaves += max(f.rto_min, trip + f.rto_slack)  # a buffer in packets drops it, and the timer sends it again
    a.control += size + f.header + a.framing
    s.net.crossed[p, column] += size + f.header + a.framing
    if s.net.watch[0].free_acks == 0:
        b.control += f.ack_size + b.framing
    line.arrival = max(line.arrival, leaves + windows.one_way(s, p, y) + (size + f.header) * a.per_byte)
    return line.arrival


@kernel
def ack_wait(s, h, f):
    """Time until the ACK of a small segment goes [s]: with the next data that come this way, or by itself."""
    g = s.end[h].mate
    if s.rules.split == 0 and s.end[g].lane != NO_LANE:
        rate = s.net.pull[((g >> s.rules.slot_bits) << s.lane_bits) + s.end[g].lane].rate
        if rate > 0.0:
            return min(f.ack_delay, f.mss / rate)
    return f.ack_delay


@kernel
def tell(s, p, t):
    """Peer `p` tells all its neighbours of a piece: bytes on its uplink, and Nagle's rule for the next message."""
    for i in range(s.peer[p].n_order):
        entry = s.order[p, i]
        slot = (entry if entry >= 0 else -1 - entry) & (s.rules.slots - 1)
        note(s, p, HAVE, arrival(s, p, (p << s.rules.slot_bits) + slot, s.rules.have_size, t) - t, 1)


@kernel
def note(s, p, kind, delay, n):
    """Enter the delay of `n` messages of peer `p` into the statistics."""
    if s.clock[0].unfinished <= s.net.watch[0].begin:
        k = np.int64(s.peer[p].klass)
        s.net.control[k, kind, watch.delay_bin(delay)] += n
        s.net.control_sum[k, kind] += n * delay
