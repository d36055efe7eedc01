"""LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus): LEDBAT on round-trip delays that makes way for others.

GAIN = 1 / min(16, ceil(2 target / base)). Below the target the window grows by GAIN per round trip; above it, a round
changes it by max(GAIN - window (delay / target - 1), -window / 2). Slow start adds GAIN per segment acknowledged; the
first one ends at 3/4 of the target. Slowdowns let the queue drain and everybody's base be measured again: two round
trips after slow start, and then after nine times as long as the last one took, the window is kept at two segments for
two round trips, and regains what it was by slow start (scaled, as in Apple's xnu; the draft does not say).

A loss halves the window, or what the slowdown is to regain; in the rise it ends the slowdown. All of it in `sample`.
Constants: target, beta, history, history_step, filter, min_window.
"""

import math

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link.laws import delay
from btflow.kernels.link.state import FOREVER, RECOVERY

OPENING, STEADY, FROZEN, RISING = 0, 1, 2, 3  # f.slowing
LEAVE = 0.75  # of the target: ends the first slow start (draft, 4.1)
LEAST_GAIN = 16.0  # its inverse (4.2)
FREEZE = 2.0  # round trips (4.4)
WAIT = 2.0  # round trips from slow start to the first slowdown (4.4)
PAUSE = 9.0  # of a slowdown's duration, to the next: at most a tenth of the time is lost (4.4)


@kernel
def start(net, i, f, t):
    """No delay is known."""
    delay.forget(f)
    f.slowing = OPENING
    f.slow_at = FOREVER
    f.slow_until = FOREVER
    f.slow_window = f.cwnd
    f.round_end = f.nxt


@kernel
def sample(net, i, f, t, acked):
    """Measure, and do what the phase asks for; a recovery is left to the sender."""
    measure(net, i, f, t)
    if f.phase == RECOVERY:
        return
    if f.slowing == OPENING:
        open_up(f, t, acked)
    elif f.slowing == STEADY:
        if t >= f.slow_at:
            slow_down(f, t)
        else:
            steer(f, acked)
    elif f.slowing == FROZEN:
        f.cwnd = f.min_window
        if t >= f.slow_until:
            f.slowing = RISING
    else:
        rise(f, t, acked)


@kernel
def measure(net, i, f, t):
    """Queueing delay on both ways: the least of the last few RTTs above the base."""
    delay.note_base(net, i, f, t, f.rtt)
    delay.note_sample(net, i, f, f.rtt)
    f.queueing = max(0.0, delay.current(net, i, f) - f.base_delay)


@kernel
def gain(f):
    """Growth per round trip [segments]: less on short paths, where round trips are many."""
    return 1.0 / min(LEAST_GAIN, max(1.0, math.ceil(2.0 * f.target / f.base_delay)))


@kernel
def open_up(f, t, acked):
    """The first slow start, and that after a timeout."""
    if f.queueing > LEAVE * f.target or f.cwnd >= f.ssthresh:
        f.slow_at = t + WAIT * f.srtt
        settle(f)
    elif f.limited == 1:
        f.cwnd = min(f.cwnd + gain(f) * acked, f.max_window)


@kernel
def settle(f):
    """Steered by delay from now on, in rounds."""
    f.slowing = STEADY
    f.round_end = f.nxt


@kernel
def steer(f, acked):
    """Up with every ACK, down once per round."""
    over = delay.round_over(f)
    if f.queueing < f.target:
        if f.limited == 1:
            f.cwnd = min(f.cwnd + gain(f) * acked / f.cwnd, f.max_window)
    elif over:
        excess = f.cwnd * (f.queueing / f.target - 1.0)  # "Constant" of the draft is 1
        f.cwnd = max(f.min_window, f.cwnd + max(gain(f) - excess, -0.5 * f.cwnd))


@kernel
def slow_down(f, t):
    """A slowdown begins."""
    f.slow_window = f.cwnd
    f.ssthresh = f.cwnd
    f.cwnd = f.min_window
    f.slow_at = t
    f.slow_until = t + FREEZE * f.srtt
    f.slowing = FROZEN


@kernel
def rise(f, t, acked):
    """Back to the window before, whatever the delay."""
    f.cwnd = min(f.cwnd + gain(f) * acked, f.slow_window)
    if f.cwnd >= f.slow_window:
        speed_up(f, t)


@kernel
def speed_up(f, t):
    """The slowdown is over; the next one follows after a time as long as this one demands."""
    f.slow_at = t + PAUSE * (t - f.slow_at)
    settle(f)


@kernel
def reduce(net, i, f, t):
    """Half the window; a loss found while it is frozen is that of the window before."""
    if f.slowing == FROZEN:
        f.slow_window = max(f.min_window, f.beta * f.slow_window)
        return f.min_window
    if f.slowing == RISING:
        speed_up(f, t)
    elif f.slowing == OPENING:
        f.slow_at = t + WAIT * f.srtt
        settle(f)
    return max(f.min_window, f.beta * f.cwnd)


@kernel
def timeout(net, i, f, t):
    """Everything from the start, but for the base and ssthresh."""
    f.slowing = OPENING
    return max(f.min_window, f.beta * f.cwnd)
