"""uTP as libutp has it; all of it in `sample`, losses in `reduce`, which lowers the window itself (PER_LOSS).

Per ACK: window += max_gain (target - delay) / target x part of the window that is acknowledged. The delay is the least
of the last `filter` samples, each above the base of its time; until there are so many it is 0; and it is at most the
RTT. There is no growth if the window has not been the limit for `gate` seconds. A loss leaves `beta` of the window, at
most once every `loss_gap` seconds.

Variant 0 is the first release (May 2010). A window below one packet is paced: one packet every base RTT / window.
Variant 1 is what libutp has been since May 2013: until the delay exceeds 0.9 target or the window ssthresh it grows by
at least one packet per round trip (its "slow start" adds a packet per *window*, less than max_gain while the queue is
empty, so it hardly matters); a window below one packet is stuck until the timer sets it to one; idle time shrinks it.

Variant 2 is libtorrent's (`utp_libtorrent.py`).

Not here, in the first two: the adjustment of the base when the other side's falls (clocks do not drift), the penalty
for a clock that drifts, packet sizes that follow the rate (2010), the probes of the path MTU.
Constants: target, max_gain, filter, history, history_step, beta, loss_gap, gate, decay_idle, min_window.
"""

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link.laws import delay, utp_libtorrent
from btflow.kernels.link.laws.utp_libtorrent import LIBTORRENT
from btflow.kernels.link.state import FOREVER

FIRST, SINCE_2013 = 0, 1
LEAVE = 0.9  # of the target: ends slow start (apply_ccontrol)


@kernel
def start(net, i, f, t):
    """No delay is known."""
    delay.forget(f)
    f.until = -FOREVER
    f.maxed_at = t
    f.opening = 1
    f.pacing = 0.0
    f.back_base = FOREVER
    f.backed_off = f.last_ack = -FOREVER
    if f.variant == LIBTORRENT:
        utp_libtorrent.start_search(f)


@kernel
def sample(net, i, f, t, acked):
    """Measure, and move the window."""
    if f.variant == LIBTORRENT:
        utp_libtorrent.sample(net, i, f, t, acked)
        return
    if f.limited == 1:
        f.maxed_at = t
    if f.variant == SINCE_2013 and f.pacing > 0.0:  # the timer has reset it
        f.cwnd = 1.0
        f.opening = 1
    measure(net, i, f, t)
    if f.variant == SINCE_2013 and f.opening == 1:
        open_up(f, t, acked)
    else:
        f.cwnd = steered(f, t, acked)
    pace(f, t)


@kernel
def measure(net, i, f, t):
    """Queueing delay."""
    delay.note_base(net, i, f, t, f.owd)
    delay.note_sample(net, i, f, f.owd - f.base_delay)
    f.queueing = 0.0 if f.samples < f.filter else min(delay.current(net, i, f), f.rtt)


@kernel
def part(f, acked):
    """Part of the window that is acknowledged; never more than one window's worth."""
    return min(acked, f.cwnd) / max(acked, f.cwnd)


@kernel
def steered(f, t, acked):
    """The window that the delay calls for."""
    change = f.max_gain * part(f, acked) * (f.target - f.queueing) / f.target
    if change > 0.0 and t - f.maxed_at > f.gate:
        change = 0.0
    return min(max(f.cwnd + change, f.min_window), f.max_window)


@kernel
def open_up(f, t, acked):
    """Slow start; the ACK that ends it does not move the window."""
    opened = f.cwnd + part(f, acked)
    if opened > f.ssthresh:
        f.opening = 0
    elif f.queueing > LEAVE * f.target:
        f.opening = 0
        f.ssthresh = f.cwnd
    else:
        f.cwnd = min(max(opened, steered(f, t, acked)), f.max_window)


@kernel
def pace(f, t):
    """A window of less than a packet: by the quota of 2010, or later once per timeout."""
    if f.cwnd >= 1.0:
        f.pacing = 0.0
    elif f.variant == FIRST:
        f.pacing = f.cwnd / f.min_rtt
    else:
        f.pacing = 1.0 / f.rto if f.flight == 0 else 0.0
        if f.flight == 0:
            f.pace_at = max(f.pace_at, t + f.rto)


@kernel
def reduce(net, i, f, t):
    """A loss: once per `loss_gap`."""
    if f.variant == LIBTORRENT:
        return utp_libtorrent.reduce(f, t)
    if t >= f.until:
        f.until = t + f.loss_gap
        f.cwnd = max(f.min_window, f.cwnd * f.beta)
        f.opening = 0
        f.ssthresh = f.cwnd
    return f.ssthresh


@kernel
def timeout(net, i, f, t):
    """One packet, and slow start again; ssthresh stays."""
    if f.variant == LIBTORRENT:
        return utp_libtorrent.timeout(f, t)
    f.opening = 1
    f.pacing = 0.0
    return f.ssthresh


@kernel
def rest(net, i, f, t):
    """Data to send after a time without any: each timeout that passed, the next twice as long, took its part."""
    if f.variant == LIBTORRENT:
        utp_libtorrent.rest(f, t)
    if f.variant != SINCE_2013:
        return
    idle, wait = t - f.last_sent, f.rto
    while idle > wait and f.cwnd > 1.0:
        f.cwnd = max(1.0, f.decay_idle * f.cwnd)
        idle -= wait
        wait *= 2.0
