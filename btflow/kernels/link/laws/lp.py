"""TCP-LP (Kuzmanovic and Knightly, 2003): Reno that backs off as soon as one-way delays show a queue.

Congestion is near when the smoothed one-way delay is above min + threshold (max - min). The window is then halved, and
does not grow for an inference time of three round trips; if the sign is seen (still or) again within that time, the
window falls to one segment.

Variant 0 is Linux (tcp_lp.c): delays in ticks of a millisecond; after each back-off min becomes the smoothed delay and
max twice that; the greatest delay counts only when one yet greater was seen. It does not touch ssthresh, so that slow
start leads back to where it was. A delay is the receiver's clock less the sender's. Where they agree, as in ns-3, that
is the delay itself; on hosts that were not started in the same second twice their `clock_difference` is so much that
the second back-off never comes, and what is left is Reno.
Variant 1 is ns-3's TcpLp: the limit itself is no congestion, and the inference time does not stop slow start.
Variant 2 is the paper's: exact delays, a range that is never reset, additive increase after every back-off.

Constants: threshold (0.15), clock_difference, beta, min_window (1). State in ticks: base, highest, reserve, smooth
(eight times that).
"""

import math

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link.laws import newreno
from btflow.kernels.link.laws.delay import ticks
from btflow.kernels.link.state import FOREVER, RECOVERY

LINUX, NS3, PAPER = 0, 1, 2
reduce = timeout = newreno.reduce
INFERENCE = 3.0  # round trips (tcp_lp_pkts_acked; the paper's simulations)


@kernel
def start(net, i, f, t):
    """No delay is known, nothing is inferred."""
    f.base_delay = FOREVER
    f.highest = 0.0
    f.reserve = 0.0
    f.smooth = 0.0
    f.early = 0
    f.backed_off = -FOREVER


@kernel
def sample(net, i, f, t, acked):
    """Measure, and back off early. A recovery is left to the sender."""
    delay = one_way(f, t)
    if delay > 0.0:  # as Linux: an implausible one is left out
        note(f, delay)
    f.early = 1 if t - f.backed_off < INFERENCE * (t - f.stamp) else 0
    if f.smooth > 0.0 and f.phase != RECOVERY and congested(f):
        back_off(f, t)


@kernel
def one_way(f, t):
    """One-way delay of the segment acknowledged, as the two clocks show it, in milliseconds."""
    if f.variant == PAPER:
        return 1e3 * (f.owd + f.clock_difference)
    return float(ticks(f.stamp, f.stamp + f.owd + f.clock_difference))


@kernel
def whole(f, x):
    """Integer arithmetic cuts off."""
    return x if f.variant == PAPER else math.floor(x + 1e-9)


@kernel
def note(f, delay):
    """The range of delays, and their mean, to which a new one adds one eighth."""
    f.base_delay = min(f.base_delay, delay)
    if delay > f.highest:
        widen(f, delay)
    f.smooth = f.smooth + delay - whole(f, f.smooth / 8.0) if f.smooth > 0.0 else 8.0 * delay


@kernel
def widen(f, delay):
    """A delay above all others: with Linux the one before it counts from now on, not yet this one."""
    if f.variant == PAPER or delay <= f.reserve:
        f.highest = delay
        return
    f.highest = f.reserve if f.reserve > 0.0 else delay
    f.reserve = delay


@kernel
def congested(f):
    """The early indication. Linux takes the limit itself for congestion, and so any delay if the range is nil."""
    limit = f.base_delay + whole(f, f.threshold * (f.highest - f.base_delay))
    mean = whole(f, f.smooth / 8.0)
    return mean >= limit if f.variant == LINUX else mean > limit


@kernel
def back_off(f, t):
    """Half the window, and one segment if the inference time is not over."""
    f.cwnd = 1.0 if f.early == 1 else max(1.0, 0.5 * f.cwnd if f.variant == NS3 else whole(f, 0.5 * f.cwnd))
    f.backed_off = t
    if f.variant == PAPER:
        f.ssthresh = min(f.ssthresh, 0.5 * f.cwnd)  # below the window: slow start is over
        return
    f.base_delay = math.floor(f.smooth / 8.0)
    f.highest = math.floor(f.smooth / 4.0)
    f.reserve = f.highest


@kernel
def grow(net, i, f, t, acked):
    """As Reno, but not within the inference time."""
    if f.early == 0 or (f.variant == NS3 and f.cwnd < f.ssthresh):
        newreno.grow(net, i, f, t, acked)
