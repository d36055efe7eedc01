"""Blocks of a lane of a peer with an access link: when they begin, follow each other, and what is written ahead.

Times are those of the receiver: a block is over when its last byte is there, and begins, after a pause, when its first
byte is: `hold`. A pause ends with a burst: all that the window allows leaves at once, and nothing more before the first
ACK is back.
"""

import numpy as np

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow import losses, queues, windows
from btflow.kernels.flow.state import STALLED
from btflow.kernels.link import sender
from btflow.kernels.link.laws import bbr
from btflow.kernels.link.state import BBR, OPEN, RECOVERY
from btflow.kernels.swarm.state import FOREVER


@kernel
def renew(s, u):
    """A fresh lane: nothing of the one before is left."""
    pull = s.net.pull[u]
    pull.to = np.int64(s.lane[u].g) >> s.rules.slot_bits
    pull.answer = pull.hole = pull.hole_before = FOREVER
    pull.repaired = pull.whole = pull.whole_before = 0.0
    pull.stopped = -FOREVER
    pull.primed = 0.0
    pull.credit = pull.noise = pull.rate = pull.sent = pull.acks = 0.0
    pull.lost = pull.timer = pull.left = pull.came = pull.riders = 0


@kernel
def begin(s, p, u, size, asked_at, t):
    """Lane `u` begins to send a block of `size` bytes, asked for at `asked_at`: it was silent."""
    h, pull = np.int64(s.lane[u].h), s.net.pull[u]
    windows.lay(s, h, t)
    f, link = s.net.flow[h], s.net.link[p]
    if pull.answer <= asked_at:
        losses.answer_now(s, h, f, pull, t)
    if f.phase == RECOVERY:
        f.phase = OPEN
        f.cwnd = f.ssthresh
    f.flight = 0
    sender.restart_after_idle(s.net, h, f, asked_at)
    pull.mss = f.mss
    pull.per_mss = 1.0 / f.mss
    pull.bytes = f.mss + f.header + link.framing
    pull.blocks = windows.asked(s, u, t)
    windows.survey(s, p, u, f, t)
    queues.load_acks(s, u, f)
    way, trip = windows.one_way(s, p, np.int64(pull.to)), pull.base + link.seen
    pull.hold = asked_at + way
    if asked_at + way > pull.stopped + trip:
        losses.burst(s, p, u, f, asked_at)
        pull.primed = asked_at + trip
        pull.hold -= losses.FIRST * trip
        if f.law == BBR:  # its first segment finds the queues as they are before it
            f.rtt = trip
            bbr.measure_rtt(f, asked_at + trip)
    pull.hold = max(t, pull.hold)
    pull.at = pull.hold
    pull.rest = size
    s.finish[u] = STALLED
    queues.share(s, p, t)


@kernel
def follow(s, u, size, hold, t):
    """The next block of lane `u` follows at `t`, or when its first byte is there, at `hold`; some may have come.

    Who asks for one block at a time often asks late: until then the other lanes have the link.
    """
    pull = s.net.pull[u]
    queues.settle(pull, t)
    pull.rest = min(0.0, pull.rest) + size
    pull.hold = hold
    pull.blocks = windows.asked(s, u, t)
    queues.load_acks(s, u, s.net.flow[s.lane[u].h])
    s.finish[u] = queues.ends(pull)
    if s.rules.tallied == 1 and hold > t:
        queues.share(s, u >> s.lane_bits, t)


@kernel
def own_wait(s, p, u):
    """What the packets of lane `u` alone make of the queue of its uplink [s]: a block behind them does not wait for it.

    When it was asked for they were ahead of it, and when the block before it is there they have gone.
    """
    link = s.net.link[p]
    return link.seen * s.net.pull[u].offers / link.offered if link.offered > 0.0 else 0.0


@kernel
def stop(s, p, u, t):
    """Lane `u` has nothing more to send; the others share what it had."""
    s.finish[u] = FOREVER
    queues.set_rate(s, u, 0.0, s.net.link[p].step, t)
    s.net.pull[u].stopped = t
    if s.peer[p].active == 0:
        s.net.link[p].queue = min(s.net.link[p].queue, 0.0)  # all that waited has come
    s.net.flow[s.lane[u].h].last_sent = t
    queues.share(s, p, t)


# -- the socket -------------------------------------------------------------------------------------------------------


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
    return losses.handed_over(pull, max(t, pull.hold) + size / rate)


@kernel
def lag(s, u, t):
    """How long before it comes a block of lane `u` is written [s]: a CANCEL must be there before that."""
    rate = s.net.pull[u].rate
    return written_ahead(s, u, t) / rate if rate > 0.0 else 0.0
