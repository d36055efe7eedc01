"""When blocks and messages arrive: the window laws of `tcp.py`, asked once for each.

HAVEs are not sent one by one: what they do to a connection, to Nagle's wait above all, is worked out when something else
is written on it.
"""

import math

import numpy as np

from btflow.kernels import tcp, window
from btflow.kernels.flow import upload
from btflow.kernels.flow.state import NO_LANE
from btflow.kernels.jit import kernel
from btflow.kernels.rng import geometric
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
    if unhindered(s, w, t, gap):
        s.end[h].free = t
        return as_written(s, w, t, gap, units, more)
    arrival, free, _ = tcp.block_arrival(s, w, t, gap, units, more)
    s.end[h].free = free
    return arrival


@kernel
def unhindered(s, w, t, gap):
    """True if the limiter alone says when segments `gap` apart leave: neither window nor socket is full, no repair on."""
    if w.falling > 0 or w.repairing > 0 or w.timeout_at < FOREVER or w.held_until + 0.5 * w.rtt > t:
        return False
    if w.buffer * gap <= w.rtt or s.rules.window_validation == 0 or (w.loss > 0.0 and s.rules.segment_units > 1):
        return False
    return (math.floor(w.cwnd) - 1.0) * gap > w.rtt


@kernel
def as_written(s, w, t, gap, units, more):
    """When such a block arrives, written by `t`: `tcp.block_arrival` without its rounds.

    The window opens if it is not far from full (`window.limiting`), by all of the block's acknowledgements at once.
    """
    delivered = w.last_arrival
    left = units
    while w.until_loss <= left:
        left -= np.int64(w.until_loss)
        w.until_loss = geometric(s.rng, w.loss)
        delivered = max(delivered, late_segment(s, w, t - left * gap, gap, left + (units if more else 0)))
    w.until_loss -= left
    flight = w.rtt / gap + 1.0
    if w.held_until < t and flight + s.rules.dupacks >= w.cwnd:
        acks = units if w.quick >= units else 0.5 * units
        if w.cwnd <= w.ssthresh:
            w.cwnd = min(w.cwnd + acks, min(flight + s.rules.dupacks + 1.0, math.floor(w.ssthresh) + 1.0))
        else:
            window.grow(s, w, t, acks)
    w.quick = max(0, w.quick - units)
    w.round_at = max(w.round_at, t)
    w.in_round = 1
    w.last_sent = t
    w.last_arrival = max(delivered, t + last_wait(s, w, t, gap, units, more) + 0.5 * w.rtt)
    return w.last_arrival


@kernel
def late_segment(s, w, sent, gap, following):
    """When the segment lost at `sent` arrives at last; the window falls."""
    late = tcp.recover(s, w, sent, sent - gap, gap, following)
    if w.falling > 0:
        lost = w.falling
        window.reduce(s, w, False)
        w.cwnd = max(1.0, min(w.cwnd, w.rtt / gap + 1.0 - lost))
    if w.timeout_at < FOREVER:
        window.time_out(s, w)
    w.held_from = sent
    w.held_until = max(w.held_until, late)
    return late


@kernel
def last_wait(s, w, t, gap, units, more):
    """Nagle: the block's last bytes wait for the last small segment's acknowledgement or for the next write."""
    if s.rules.nagle == 0 or gap >= w.rtt:
        return 0.0
    begin = t - (units - 1) * gap
    if w.small_acked < begin:
        w.small_acked = begin + w.rtt
    if w.small_acked <= t:
        w.small_acked += w.rtt * (int((t - w.small_acked) / w.rtt) + 1)
    w.small_held = 1
    wait = w.small_acked - t
    return min(wait, gap) if more else wait


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
