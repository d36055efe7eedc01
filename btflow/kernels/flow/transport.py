"""When blocks and messages arrive: the window laws of `tcp.py`, asked once for each.

HAVEs are not sent one by one: what they do to a connection, to Nagle's wait above all, is worked out when something else
is written on it.
"""

from btflow.kernels import tcp, window
from btflow.kernels.flow import upload
from btflow.kernels.flow.state import NO_LANE
from btflow.kernels.jit import kernel


@kernel
def block_arrival(s, p, u, t, active, units, more):
    """When a block written on lane `u` of peer `p` by `t` arrives; the end's `free` says when the socket takes more."""
    h = s.lane[u].h
    if s.rules.ideal == 1:
        s.bursts[1] += units
        return t
    w = s.wire[h]
    catch_up(s, p, w)
    gap = active * s.peer[p].unit / s.peer[p].cap
    tcp.count_burst(s, w, gap, units)
    arrival, free, _ = tcp.block_arrival(s, w, t, gap, units, more)
    s.end[h].free = free
    return arrival


@kernel
def catch_up(s, p, w):
    """Let the last HAVE of peer `p` have its effect on the connection `w`."""
    if s.peer[p].last_have > w.last_sent:
        tcp.control_arrival(s, w, s.peer[p].last_have)


@kernel
def message_arrival(s, p, h, t):
    """When a message that peer `p` writes on end `h` at `t` arrives: behind a part-sent block, then as TCP has it."""
    u = s.end[h].lane
    if u != NO_LANE:
        lane = (p << s.lane_bits) + u
        if upload.part_sent(s, lane, t):
            peer = s.peer[p]
            t = max(t, peer.now + (s.finish[lane] - peer.work) * peer.active / peer.cap)
    if s.rules.ideal == 1:
        return t
    w = s.wire[h]
    catch_up(s, p, w)
    return tcp.control_arrival(s, w, t)


@kernel
def half(s, h):
    """Time that what end `h` sends is under way [s]."""
    return 0.0 if s.rules.ideal == 1 else 0.5 * s.wire[h].rtt
