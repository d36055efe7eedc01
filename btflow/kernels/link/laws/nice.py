"""TCP Nice (Venkataramani, Kokku and Dahlin, OSDI 2002): Vegas that halves its window when a queue builds up.

A segment is late if its RTT is above base + threshold (highest - base), base and highest over the whole connection; if
more than `fraction` of a window was late by the end of a round, the window is halved, else Vegas goes on.

Variant 0 is the paper's: the window may fall below one segment, down to `min_window`: then one segment goes every
1/cwnd round trips, by pacing. Out of that range it grows by one segment per round without a queue (the paper leaves
that open). Variant 1 is Linux's Vegas extended by the rule (a kernel module): whole segments, so that `min_window` is
Vegas' two; no round of two samples or fewer and none of slow start is judged, and base and highest are forgotten where
Vegas forgets its base, when nothing was in flight.

Constants: Vegas', threshold, fraction, beta, min_window.
"""

import math

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link.laws import newreno, vegas
from btflow.kernels.link.laws.delay import round_over
from btflow.kernels.link.state import OPEN

MODULE = 1


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
    if f.variant == MODULE:
        if f.idle == 1:
            f.highest = 0.0
            f.round_late = 0
        vegas.sample(net, i, f, t, acked)
    else:
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
    congested = f.phase == OPEN and f.round_late > f.fraction * f.cwnd and judged(f)
    f.round_late = 0
    if congested:
        f.cwnd = max(f.min_window, math.floor(0.5 * f.cwnd) if f.variant == MODULE else 0.5 * f.cwnd)
        f.ssthresh = min(f.ssthresh, 0.5 * f.cwnd)  # below the window: slow start is over
    if congested or f.limited == 0:
        vegas.begin(f)


@kernel
def judged(f):
    """Whether the rule is asked for in this round."""
    return f.variant != MODULE or (f.round_samples > 2 and not vegas.opening(f))


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
    """Half, even below one segment; of the module Reno's, as Vegas'."""
    return newreno.reduce(net, i, f, t) if f.variant == MODULE else max(f.min_window, f.cwnd * f.beta)


@kernel
def timeout(net, i, f, t):
    """As Reno."""
    f.pacing = 0.0
    return newreno.reduce(net, i, f, t)
