"""Delays, rounds and ACKs, as several laws measure and count them.

LEDBAT sees the base over some minutes, and the least of the last few samples. Its history keeps one minimum per minute
of the flow (not of the wall clock), the newest opened by the first sample after the minute is over; minutes without a
sample are not counted. A newcomer therefore has a base that contains whatever queue stood when it came (the latecomer
effect), until a minute's minimum was taken from an empty queue; and a base that is too low is forgotten `f.history`
minutes later.
"""

import math

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link.state import FOREVER


@kernel
def forget(f):
    """No delay is known."""
    f.base_delay = FOREVER
    f.queueing = 0.0
    f.slots = 0
    f.slot_at = 0.0
    f.samples = 0


@kernel
def ticks(sent, arrived):
    """A delay as two clocks that tick in milliseconds show it [ms]; the clocks agree."""
    return math.floor(1e3 * arrived + 1e-6) - math.floor(1e3 * sent + 1e-6)


@kernel
def note_base(net, i, f, t, delay):
    """Enter a delay into this minute's minimum, and set the base to the least of the minutes kept."""
    if f.slots == 0 or t - f.slot_at > f.history_step:
        net.history[i, f.slots % f.history] = delay
        f.slots += 1
        f.slot_at = t
        f.base_delay = least(net.history, i, min(f.slots, f.history))
        return
    newest = (f.slots - 1) % f.history
    net.history[i, newest] = min(net.history[i, newest], delay)
    f.base_delay = min(f.base_delay, delay)


@kernel
def shift_base(net, i, f, rise):
    """Let the base rise, and what is kept of the minutes with it."""
    if f.slots == 0:
        return
    f.base_delay += rise
    for j in range(min(f.slots, f.history)):
        net.history[i, j] = max(net.history[i, j], f.base_delay)


@kernel
def note_sample(net, i, f, delay):
    """Enter a delay into the filter of the last samples."""
    net.recent[i, f.samples % f.filter] = delay
    f.samples += 1


@kernel
def current(net, i, f):
    """The least of the last `f.filter` samples: what ACKs and jitter add is thereby left out."""
    return least(net.recent, i, min(f.samples, f.filter))


@kernel
def least(table, i, n):
    """Least of the first `n` entries of a row."""
    found = FOREVER
    for j in range(n):
        found = min(found, table[i, j])
    return found


@kernel
def round_over(f):
    """True once per round trip: when the first segment sent after the last time is acknowledged."""
    if f.una <= f.round_end:
        return False
    f.round_end = f.nxt
    return True


@kernel
def acks(f, acked):
    """ACKs that `acked` segments came with: one, or as many as the segments of a train would have had."""
    return 1.0 if f.train == 1 else max(1.0, acked / max(1, f.ack_every))
