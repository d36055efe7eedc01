"""TCP Nice (Venkataramani, Kokku and Dahlin, OSDI 2002): Vegas that halves its window when a queue builds up.

A segment is late if its RTT is above base + threshold (highest - base), base and highest over the whole connection; if
more than `fraction` of a window was late by the end of a round, the window is halved, else Vegas goes on. It may fall
below one segment, down to `min_window`: then one segment goes every 1/cwnd round trips, by pacing. Out of that range
it grows by one segment per round without a queue (the paper leaves that open).

Constants: Vegas', threshold, fraction, beta, min_window.
"""

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link.laws import newreno, vegas
from btflow.kernels.link.laws.delay import round_over
from btflow.kernels.link.state import OPEN


@kernel
def start(net, i, f, t):
    """No RTT is known."""
    vegas.start(net, i, f, t)
    f.highest = 0.0
    f.round_late = 0
    f.pacing = 0.0


@kernel
def sample(net, i, f, t, acked):
    """Measure, count what is late, and halve the window at the end of a round with too much of it."""
    vegas.measure(f, acked)
    f.highest = max(f.highest, f.rtt)
    if f.rtt > f.base_delay + f.threshold * (f.highest - f.base_delay):
        f.round_late += int(acked)
    if f.una > f.round_end:
        end_round(f)
    pace(f)


@kernel
def end_round(f):
    """Answer to the round's late segments; without it the round is Vegas', unless that will not be asked."""
    congested = f.phase == OPEN and f.round_late > f.fraction * f.cwnd
    f.round_late = 0
    if congested:
        f.cwnd = max(f.min_window, 0.5 * f.cwnd)
        f.ssthresh = min(f.ssthresh, 0.5 * f.cwnd)  # below the window: slow start is over
    if congested or f.limited == 0:
        vegas.begin(f)


@kernel
def grow(net, i, f, t, acked):
    """As Vegas; one segment per round if the window is smaller than that."""
    if f.cwnd >= 1.0:
        vegas.grow(net, i, f, t, acked)
    elif round_over(f):
        f.cwnd += 1.0
        vegas.clear(f)
    pace(f)


@kernel
def pace(f):
    """One segment every 1/cwnd round trips if the window is less than one."""
    f.pacing = f.cwnd / f.srtt if f.cwnd < 1.0 and f.srtt > 0.0 else 0.0


@kernel
def reduce(net, i, f, t):
    """Half, even below one segment."""
    return max(f.min_window, f.cwnd * f.beta)


@kernel
def timeout(net, i, f, t):
    """As Reno."""
    f.pacing = 0.0
    return newreno.reduce(net, i, f, t)
