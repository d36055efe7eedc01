"""LEDBAT: steers the queueing delay it measures towards `target`; all of it in `sample`.

Variant 0 is RFC 6817 on exact delays, 3 the same on delays in ticks of a millisecond (ns-3's TcpLedbat). The window
grows by gain (target - delay) / target per round trip, shrinks likewise, and is at most one segment more than what was
in flight.
Variant 1 is the ns-2 module and 2 the Linux module TCP-LEDBAT of the same authors: in ticks, a counter in place of
fractions of a segment, and no change while the window is not the limit. Variant 2 falls to one segment when no ACK came
for a round trip (since 5 Feb 2012; what was published does so when one did come, and divides the off-target by the
gain's denominator with a macro that leaves the remainder, 0; both against its comments, and not copied).

slow_start: 0 none, 1 until the target is reached, 2 until ssthresh (TCP-LEDBAT, ns-3).
Constants: target, gain, beta, history, history_step, filter, slow_start, min_window.
"""

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link.laws import delay
from btflow.kernels.link.state import FOREVER, RECOVERY

RFC, NS2, LINUX, NS3 = 0, 1, 2, 3
TO_TARGET, TO_SSTHRESH = 1, 2
_ROUNDING = 1e-9  # of the counter, which the modules keep in whole milliseconds


@kernel
def start(net, i, f, t):
    """No delay is known."""
    delay.forget(f)
    f.count = 0.0
    f.until = -FOREVER
    f.last_ack = FOREVER
    f.opening = 1


@kernel
def sample(net, i, f, t, acked):
    """Measure, and move the window; a recovery is left to the sender."""
    if f.variant == LINUX and t - f.last_ack > f.srtt:
        f.cwnd = 1.0
    f.last_ack = t
    measure(net, i, f, t)
    if f.phase == RECOVERY:
        return
    if slow_starting(f):
        open_up(f, acked)
    elif f.variant == NS2 or f.variant == LINUX:
        if f.limited == 1:
            count(f, delay.acks(f, acked))
    else:
        steer(f, acked)


@kernel
def one_way(f, t):
    """One-way delay of the segment acknowledged, as far as its clocks show it [s]."""
    return f.owd if f.variant == RFC else 1e-3 * delay.ticks(f.stamp, f.stamp + f.owd)


@kernel
def measure(net, i, f, t):
    """Queueing delay: the least of the last few delays above the base."""
    d = one_way(f, t)
    delay.note_base(net, i, f, t, d)
    delay.note_sample(net, i, f, d)
    f.queueing = max(0.0, delay.current(net, i, f) - f.base_delay)


@kernel
def slow_starting(f):
    """True before the first sign of a queue or a loss, and again from a window of one."""
    if f.cwnd <= 1.0:
        f.opening = 1
    if f.cwnd > f.ssthresh or (f.slow_start == TO_TARGET and f.queueing >= f.target):
        f.opening = 0
    return f.slow_start > 0 and f.opening == 1


@kernel
def open_up(f, acked):
    """One segment per ACK while the window is the limit."""
    if f.limited == 1:
        f.cwnd = min(f.cwnd + delay.acks(f, acked), f.max_window)


@kernel
def steer(f, acked):
    """RFC 6817, 2.4.2, with ALLOWED_INCREASE 1 (a train, if segments travel in trains)."""
    off_target = (f.target - f.queueing) / f.target
    in_flight = f.flight * f.train + acked  # before this ACK
    cwnd = min(f.cwnd + f.gain * off_target * acked / f.cwnd, in_flight + f.train)
    f.cwnd = min(max(cwnd, f.min_window), f.max_window)


@kernel
def count(f, n):
    """The modules' counter: off-target in targets, at most one per ACK; a window of it moves the window by one."""
    step = f.gain * min(1.0, (f.target - f.queueing) / f.target)
    for _ in range(int(n)):
        f.count += step
        if f.count < -_ROUNDING:
            f.cwnd = max(f.min_window, f.cwnd - 1.0)
            f.count = f.cwnd - 1.0
        elif f.count >= f.cwnd - _ROUNDING:
            f.cwnd = min(f.cwnd + 1.0, f.max_window)
            f.count = 0.0


@kernel
def reduce(net, i, f, t):
    """Half, at most once per round trip."""
    f.opening = 0
    if t < f.until:
        return f.cwnd
    f.until = t + f.srtt
    return max(f.min_window, f.beta * f.cwnd)


@kernel
def timeout(net, i, f, t):
    """One segment; slow start, if there is one, leads back to half the window."""
    f.opening = 1
    f.count = 0.0
    return max(f.min_window, f.beta * f.cwnd)
