"""Control messages on access links: they wait for their sender's queue, in order, by Nagle's rule.

A message of peer `p` to `y` waits until Nagle's rule lets it go, then for the uplink's queue, the propagation and the
downlink's queue. On a connection that carries blocks the same way it comes behind those that are written: requests with
the very block, whenever that comes, others when it is likely to. A small segment that waits takes with it whatever is
written meanwhile.
"""

import numpy as np

from btflow.kernels import bits
from btflow.kernels.access import sampling
from btflow.kernels.access.state import CONTROL_DATA, TCP_ACKS, TCP_DATA
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow import windows
from btflow.kernels.flow.ends import NONE, wake
from btflow.kernels.flow.state import NO_LANE
from btflow.kernels.link.state import NO_NAGLE
from btflow.kernels.random import uniform
from btflow.kernels.swarm.state import FOREVER, HAVE, REQUEST

UNLIMITED = 1e9  # packets of a buffer that is not counted in packets
CONTROL = 2  # column of `template`
LONGEST_REPAIR = 60.0  # [s]: a timer doubles up to about that (RFC 6298, 2.5)


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
    line, u = s.net.line[h], lane_ahead(s, p, h)
    if u >= 0:
        load(s, p, h, float(size), 0.0)
        line.known = t
        line.arrival = max(line.arrival, max(drained(s, u, t), t + windows.one_way(s, p, y)))
        return line.arrival
    f = s.net.template[s.peer[p].klass, way_of(s, h)]
    a, b = s.net.link[p], s.net.link[y]
    leaves = t
    if f.nagle != NO_NAGLE:
        catch_up(s, p, h, f, t)
        if t < line.leaves:  # one waits already: this goes with it
            load(s, p, h, float(size), 0.0)
            line.arrival = max(line.arrival, line.leaves + windows.one_way(s, p, y))
            return line.arrival
        leaves = max(t, line.acked)
    leaves += repair(s, p, y, f, a.full if a.room_packets < UNLIMITED else 0.0)  # one in bytes has room for it
    if f.nagle != NO_NAGLE:
        hold(s, p, h, f, leaves)
    load(s, p, h, size + f.header + a.framing, f.ack_size + b.framing)
    line.arrival = max(line.arrival, leaves + windows.one_way(s, p, y) + (size + f.header) * a.per_byte)
    return line.arrival


@kernel
def repair(s, p, y, f, full):
    """Time until a small segment of peer `p` to `y` gets through [s]: if it is lost, its timer sends it again.

    `full` is the chance that a buffer drops it.
    """
    wait, through = 0.0, (1.0 - f.data_loss) * (1.0 - full)
    if through < 1.0:
        timer = max(f.rto_min, windows.one_way(s, p, y) + windows.one_way(s, y, p) + f.rto_slack)
        while uniform(s.net.rng) > through and wait < LONGEST_REPAIR:
            wait += timer
            timer *= 2.0
            through = 1.0 - f.data_loss
    return wait


@kernel
def lane_ahead(s, p, h):
    """The lane of peer `p` whose blocks are ahead of what it writes on end `h`; -1 if there are none."""
    if s.rules.split == 1 or s.end[h].lane == NO_LANE:
        return NONE
    u = (p << s.lane_bits) + s.end[h].lane
    return u if s.finish[u] < FOREVER else NONE


@kernel
def load(s, p, h, size, ack):
    """A message takes room: `size` bytes on the uplink of peer `p`, its acknowledgement on that of the other side."""
    s.net.link[p].control += size
    s.net.crossed[p, CONTROL_DATA if s.rules.split == 1 else TCP_DATA + s.net.protocol[h]] += size
    if ack > 0.0 and s.net.watch[0].free_acks == 0:
        y = s.end[h].mate >> s.rules.slot_bits
        s.net.link[y].control += ack
        s.net.crossed[y, TCP_ACKS + (0 if s.rules.split == 1 else s.net.protocol[h])] += ack


@kernel
def hold(s, p, h, f, leaves):
    """A small segment leaves end `h` at `leaves`: by Nagle's rule the next one waits for its acknowledgement."""
    line, y = s.net.line[h], s.end[h].mate >> s.rules.slot_bits
    line.leaves = leaves
    line.acked = leaves + windows.one_way(s, p, y) + windows.one_way(s, y, p) + ack_wait(s, h, f)


@kernel
def catch_up(s, p, h, f, t):
    """Enter the HAVEs told since the last message on end `h` of peer `p`; what was older than a round trip is gone."""
    line, y = s.net.line[h], s.end[h].mate >> s.rules.slot_bits
    n = last = np.int64(s.peer[p].n_log)
    since = max(line.known, t - windows.one_way(s, p, y) - windows.one_way(s, y, p) - f.ack_delay)
    while n > 0 and s.have_time[p, n - 1] > since:  # NaN for what a seed had from the start
        n -= 1
    while n < last and s.have_time[p, n] <= t:
        if s.have_time[p, n] >= line.leaves:
            hold(s, p, h, f, max(s.have_time[p, n], line.acked) + repair(s, p, y, f, 0.0))
        n += 1
    line.known = t


@kernel
def ack_wait(s, h, f):
    """Time until the ACK of a small segment goes [s]: with the next data that come this way, or by itself."""
    if f.ack_every <= 1:
        return 0.0
    g = s.end[h].mate
    if s.rules.split == 0 and s.end[g].lane != NO_LANE:
        rate = s.net.pull[((g >> s.rules.slot_bits) << s.lane_bits) + s.end[g].lane].rate
        if rate > 0.0:
            return min(f.ack_delay, f.mss / rate)
    return f.ack_delay


# -- requests ----------------------------------------------------------------------------------------------------------


@kernel
def requests(s, p, h, n, t):
    """When `n` requests that peer `p` writes on end `h` at `t` arrive, the first and the others.

    FOREVER and `t` if they come with a block of the lane the other way, which is known when that comes: `land`.
    """
    size = n * s.rules.request_size
    g = np.int64(s.end[h].mate)
    v = ((g >> s.rules.slot_bits) << s.lane_bits) + s.end[g].lane
    if s.rules.direct == 0 and s.end[g].lane != NO_LANE and s.lane[v].leaving == 0 and lane_ahead(s, p, h) >= 0:
        load(s, p, h, float(size), 0.0)
        return FOREVER, t
    at = arrival(s, p, h, size, t)
    note(s, p, REQUEST, at - t, n)
    return at, at


@kernel
def ride(s, h, run, t):
    """The requests of a row, written on end `h` at `t`, come with the last block that is in the socket before them."""
    u = lane_ahead(s, h >> s.rules.slot_bits, h)
    pull = s.net.pull[u]
    run.behind = pull.came + committed(s, u, t)
    pull.riders = 1


@kernel
def land(s, u, came, t):
    """`came` blocks have come on lane `u` at `t`, and with them the requests that were written behind them."""
    g = np.int64(s.lane[u].g)
    y, p = g >> s.rules.slot_bits, u >> s.lane_bits
    s.net.pull[u].riders = 0
    if s.end[g].lane == NO_LANE:
        return
    v = (y << s.lane_bits) + s.end[g].lane
    for i in range(s.lane[v].runs):
        run = s.run[v, i]
        if run.behind > came:
            s.net.pull[u].riders = 1
        elif run.behind > 0:
            note(s, p, REQUEST, t - run.later, bits.count(run.blocks))
            run.at = run.later = t
            run.behind = 0
            if i == 0 and not s.finish[v] < FOREVER:
                s.ready[v] = t
                wake(s, y, t)


# -- HAVEs -------------------------------------------------------------------------------------------------------------


@kernel
def tell(s, p, t):
    """Peer `p` tells all its neighbours of a piece: bytes on its uplink and, for their ACKs, on theirs.

    What it does to a connection is worked out when another message is written there (`catch_up`); its delay is noted
    for one neighbour, drawn at random, in place of all.
    """
    n = np.int64(s.peer[p].n_order)
    if n == 0:
        return
    drawn = (p << s.rules.slot_bits) + slot_at(s, p, min(int(uniform(s.net.rng) * n), n - 1))
    y, u = s.end[drawn].mate >> s.rules.slot_bits, lane_ahead(s, p, drawn)
    if s.rules.direct == 1:
        note(s, p, HAVE, windows.propagation(s, p, y), n)
        return
    for i in range(n):
        h = (p << s.rules.slot_bits) + slot_at(s, p, i)
        if lane_ahead(s, p, h) >= 0:
            load(s, p, h, float(s.rules.have_size), 0.0)
        else:
            f = s.net.template[s.peer[p].klass, way_of(s, h)]
            framing = s.net.link[p].framing
            other = s.net.link[s.end[h].mate >> s.rules.slot_bits].framing
            load(s, p, h, s.rules.have_size + f.header + framing, f.ack_size + other)
    arrives = t + windows.one_way(s, p, y)
    if u >= 0:
        arrives = max(arrives, drained(s, u, t))
    elif s.net.template[s.peer[p].klass, way_of(s, drawn)].nagle != NO_NAGLE:
        arrives += max(s.net.line[drawn].acked - t, 0.0)
    note(s, p, HAVE, arrives - t, n)


@kernel
def slot_at(s, p, i):
    """Slot of the neighbour at place `i` of the choker's list of peer `p`."""
    entry = s.order[p, i]
    return (entry if entry >= 0 else -1 - entry) & (s.rules.slots - 1)


@kernel
def note(s, p, kind, delay, n):
    """Enter the delay of `n` messages of peer `p` into the statistics."""
    if s.clock[0].unfinished <= s.net.watch[0].begin:
        klass = np.int64(s.peer[p].klass)
        s.net.control[klass, kind, sampling.delay_bin(delay)] += n
        s.net.control_sum[klass, kind] += n * delay


# -- the socket: what is written ahead ---------------------------------------------------------------------------------


@kernel
def left(s, u, t):
    """Bytes of the block of lane `u` that is coming that have not come at `t`."""
    pull = s.net.pull[u]
    return max(pull.rest - max(0.0, t - max(pull.at, pull.hold)) * pull.rate, 0.0)


@kernel
def written_ahead(s, u, t):
    """Bytes of lane `u` in its socket and on the way, beyond what has come at `t`."""
    pull, f = s.net.pull[u], s.net.flow[s.lane[u].h]
    p = u >> s.lane_bits
    if s.net.link[p].capped == 1:
        return pull.rate * windows.one_way(s, p, np.int64(pull.to))
    if f.socket_unsent == 1:
        return windows.window(s, u, f, t) * f.mss + f.socket
    takes = max(f.socket, f.socket_windows * f.cwnd * f.mss + f.mss) if f.socket_windows > 0.0 else f.socket
    takes *= 1.0 - 0.5 * f.socket_free  # full, it takes nothing before that part of it is free
    return max(takes - pull.rate * windows.one_way(s, np.int64(pull.to), p), 0.0)


@kernel
def committed(s, u, t):
    """Blocks of lane `u` that are written to its socket at `t`, in part or in full: they will be sent."""
    if not s.finish[u] < FOREVER:
        return 0
    ahead, start = written_ahead(s, u, t), left(s, u, t)
    n, most = 1, windows.asked(s, u, t)
    while n < most and start <= ahead:
        n += 1
        start += s.rules.block_size + s.rules.header
    return n


@kernel
def drained(s, u, t):
    """When all that lane `u` has written by `t` is there."""
    n = committed(s, u, t)
    if n == 0:
        return t
    pull, f = s.net.pull[u], s.net.flow[s.lane[u].h]
    size = left(s, u, t) + (n - 1) * (s.rules.block_size + s.rules.header)
    rate = max(
        pull.rate, 0.5 * f.mss * max(f.cwnd, 1.0) / f.rtt
    )  # while a loss is repaired it is less, but not for long
    return windows.handed_over(pull, max(t, pull.hold) + size / rate)


@kernel
def lag(s, u, t):
    """How long before it comes a block of lane `u` is written [s]: a CANCEL must be there before that."""
    rate = s.net.pull[u].rate
    return written_ahead(s, u, t) / rate if rate > 0.0 else 0.0
