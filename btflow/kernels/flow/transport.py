"""When blocks and messages arrive: the window laws of `tcp.py`, asked once for each.

HAVEs are not sent one by one: what they do to a connection, to Nagle's wait above all, is worked out when something else
is written on it.
"""

from btflow.kernels import tcp, window
from btflow.kernels.flow import upload
from btflow.kernels.flow.state import NO_LANE
from btflow.kernels.jit import kernel
from btflow.kernels.state import FOREVER


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
    window.idle_restart(s, w, t - (units - 1) * gap)
    if unhindered(s, w, t, gap, units):
        s.end[h].free = t
        return as_written(s, w, t, gap, units, more)
    arrival, free, _ = tcp.block_arrival(s, w, t, gap, units, more)
    s.end[h].free = free
    return arrival


@kernel
def unhindered(s, w, t, gap, units):
    """True if a block leaves as it is written: no loss in it or under repair, and neither window nor socket is full.

    A window that is far from full does not grow (`window.limiting`); one in slow start opens with the acknowledgements.
    """
    if w.falling > 0 or w.repairing > 0 or w.timeout_at < FOREVER or w.held_until + 0.5 * w.rtt > t:
        return False
    if w.loss > 0.0 and (w.until_loss <= units or s.rules.segment_units > 1):
        return False
    if w.buffer * gap <= w.rtt or s.rules.window_validation == 0:
        return False
    if (w.cwnd - s.rules.dupacks - 1.0) * gap > w.rtt:
        return True
    return w.cwnd <= w.ssthresh and (w.cwnd - 1.0) * gap > w.rtt


@kernel
def as_written(s, w, t, gap, units, more):
    """When such a block arrives, written by `t`; the rounds of `tcp.block_arrival` in closed form."""
    w.until_loss -= units
    if w.cwnd <= w.ssthresh:
        acks = units if w.quick >= units else 0.5 * units
        enough = w.rtt / gap + 1.0 + s.rules.dupacks + 1.0
        w.cwnd = max(w.cwnd, min(w.cwnd + acks, min(enough, w.ssthresh + 1.0)))
    w.quick = max(0, w.quick - units)
    w.round_at = t
    w.in_round = 1
    tail = 0.0
    if s.rules.nagle == 1 and gap < w.rtt:
        begin = t - (units - 1) * gap
        if w.small_acked < begin:
            w.small_acked = begin + w.rtt
        if w.small_acked <= t:
            w.small_acked += w.rtt * (int((t - w.small_acked) / w.rtt) + 1)
        w.small_held = 1
        tail = w.small_acked - t
        if more:
            tail = min(tail, gap)
    w.last_sent = t
    w.last_arrival = max(w.last_arrival, t + tail + 0.5 * w.rtt)
    return w.last_arrival


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
