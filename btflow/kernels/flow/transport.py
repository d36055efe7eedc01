"""When blocks and messages arrive: the window laws of `tcp.py`, asked once for each.

HAVEs are not sent one by one: what they do to a connection, to Nagle's wait above all, is worked out when something
else is written on it.
"""

import numpy as np

from btflow.kernels import tcp, window
from btflow.kernels.flow import upload
from btflow.kernels.flow.state import NO_LANE
from btflow.kernels.jit import kernel
from btflow.kernels.rng import below

SAMPLES = 1024  # blocks of the streams that are drawn for each number of lanes
STRETCH = 32  # of which so many follow each other without a pause
OFTEN = 0.15  # share of blocks that fill their socket from which streams are not used
ARRIVES, IS_FREE = 0, 1  # last axis of `delay`


@kernel
def block_arrival(s, p, u, t, active, units, more):
    """When a block written on lane `u` of peer `p` by `t` arrives; the end's `free` says when the socket takes more."""
    if s.rules.ideal == 1:
        s.bursts[1] += units
        return t
    h = np.int64(s.lane[u].h)
    w = s.wire[h]
    gap = active * s.peer[p].unit / s.peer[p].cap
    tcp.count_burst(s, w, gap, units)
    if s.repeats[s.peer[p].klass] == 1:
        return sampled_arrival(s, p, h, t, active, gap, units, more)
    catch_up(s, p, w)
    arrival, free, _ = tcp.block_arrival(s, w, t, gap, units, more)
    s.end[h].free = free
    return arrival


# -- one path for all -------------------------------------------------------------------------------------------------


@kernel
def sampled_arrival(s, p, h, t, active, gap, units, more):
    """As `tcp.block_arrival`, from blocks that it was asked for before: those of a long stream with the same gaps.

    A connection follows the stream block by block, from the first behind a pause after it was idle.
    """
    w, e, k = s.wire[h], s.end[h], np.int64(s.peer[p].klass)
    if s.drawn[k, active] == 0:
        draw(s, k, active, gap, units)
    if t - units * gap - w.round_at > window.rto(s, w):
        e.sample = STRETCH * below(s.rng, SAMPLES // STRETCH)
    at, way = np.int64(e.sample), 0 if more else 1
    e.sample += 1
    if e.sample % STRETCH == 0:
        e.sample = STRETCH * below(s.rng, SAMPLES // STRETCH) + STRETCH // 2
    catch_up(s, p, w)
    w.round_at = t
    w.last_sent = t
    w.last_arrival = max(w.last_arrival, t + s.delay[k, active, at, way, ARRIVES])
    e.free = t + s.delay[k, active, at, way, IS_FREE]
    return w.last_arrival


@kernel
def find_repeats(s):
    """Find the classes whose blocks can be taken from streams: all paths are alike and leave room in the window.

    Where the socket is often full, what a block meets depends on all that the connection had before it.
    """
    if s.delay.shape[0] == 0:
        return
    for p in range(s.rules.peers):
        k, slots = np.int64(s.peer[p].klass), min(np.int64(s.peer[p].upload_slots), s.lanes)
        if s.drawn[k, slots] == 1:
            continue
        turns = np.int64(s.peer[p].turns)
        draw(s, k, slots, slots * s.peer[p].unit / s.peer[p].cap, turns)
        full = 0
        for i in range(SAMPLES):
            full += s.delay[k, slots, i, 0, IS_FREE] > 0.0
        s.repeats[k] = 1 if full <= OFTEN * SAMPLES else 0


@kernel
def draw(s, k, active, gap, units):
    """Ask TCP for streams of blocks written `gap` apart, with a pause before each; each block as the last one, too."""
    s.drawn[k, active] = 1
    w, last = s.wire[s.end.size], s.wire[s.end.size + 1]
    w.rtt, w.loss = s.rtt[0, 0], s.loss[0, 0]
    tcp.reset(s, w, 0.0)
    t = 0.0
    for i in range(SAMPLES):
        if i % STRETCH == 0:
            t += 1000.0 * window.rto(s, w)
        t += units * gap
        s.wire[s.end.size + 1] = w
        for way in range(2):
            arrival, free, _ = tcp.block_arrival(s, last if way == 1 else w, t, gap, units, way == 0)
            s.delay[k, active, i, way, ARRIVES] = arrival - t
            s.delay[k, active, i, way, IS_FREE] = free - t
        t += s.delay[k, active, i, 0, IS_FREE]


# -- messages ---------------------------------------------------------------------------------------------------------


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
