"""PIE (RFC 8033): arriving packets are dropped with a probability that a controller keeps up to date.

The queue is served in order, so its delay is known: `q.free_at` is when the last byte admitted so far will have left,
and nothing has to be estimated. Nothing changes between two arrivals but the time, so the updates missed since
the last one are made up for exactly when the next one comes. The caller has taken what entered service by `t` out of
`q.packets` and `q.bytes`, and on admission counts the parcel in and moves `free_at`. A train is one packet here.
"""

import math

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link import parcels
from btflow.kernels.random import uniform

# RFC 8033, 4.2: what an update without any delay leaves of the probability.
_DECAY = 0.98
# RFC 8033, 5.5: a high probability does not rise faster than this per update.
_HIGH, _CAP = 0.1, 0.02
# RFC 8033, 4.1: no drop below half the target at a probability below this, nor with so many packets or fewer waiting.
_LOW, _FEW = 0.2, 2.0
# RFC 8033, 5.4: accumulated probability before which nothing is dropped, and at which something is.
_TOO_SOON, _DUE = 0.85, 8.5
_ROUNDING = 1e-9  # [s] of the subtractions from the burst allowance


@kernel
def admit(net, k, q, t, size, packets):
    """True if a parcel that arrives at `t` may wait; else it is to be dropped."""
    update(net, k, q, t)
    full = q.free_at > t and not parcels.fits(q, size, packets)  # on an idle link it need not wait
    if full or (q.burst_left == 0.0 and _drops_early(net, q)):
        q.accumulated = 0.0
        return False
    if q.drop_chance == 0.0 and max(_delay(q, t), q.old_delay) < 0.5 * q.target:
        q.burst_left = q.burst
    return True


@kernel
def update(net, k, q, t):
    """Make up for the updates that were due up to `t`; those that would change nothing are skipped."""
    while q.update_at <= t:
        if _at_rest(q):
            q.update_at += math.floor((t - q.update_at) / q.update) * q.update
        _step(q, _delay(q, q.update_at))
        q.update_at += q.update


@kernel
def _at_rest(q):
    """True if an update changes nothing as long as no parcel arrives."""
    return q.free_at <= q.update_at and q.old_delay == 0.0 and q.drop_chance == 0.0 and q.burst_left == 0.0


@kernel
def _delay(q, t):
    """How long a parcel that arrives at `t` would wait."""
    return max(q.free_at - t, 0.0)


@kernel
def _step(q, delay):
    """One update of the probability, given the present delay."""
    change = (q.alpha * (delay - q.target) + q.beta * (delay - q.old_delay)) * _tuning(q.drop_chance)
    if q.drop_chance >= _HIGH:
        change = min(change, _CAP)
    q.drop_chance += change
    if delay == 0.0 and q.old_delay == 0.0:
        q.drop_chance *= _DECAY
    q.drop_chance = min(max(q.drop_chance, 0.0), 1.0)
    q.old_delay = delay
    q.burst_left -= q.update
    if q.burst_left < _ROUNDING:
        q.burst_left = 0.0


@kernel
def _tuning(chance):
    """Small probabilities change in small steps (the table of RFC 8033, 4.2)."""
    if chance < 0.000001:
        return 1.0 / 2048.0
    if chance < 0.00001:
        return 1.0 / 512.0
    if chance < 0.0001:
        return 1.0 / 128.0
    if chance < 0.001:
        return 1.0 / 32.0
    if chance < 0.01:
        return 1.0 / 8.0
    if chance < 0.1:
        return 1.0 / 2.0
    return 1.0


@kernel
def _drops_early(net, q):
    """Draw for a parcel, so that drops are neither close together nor far apart."""
    if (q.old_delay < 0.5 * q.target and q.drop_chance < _LOW) or q.bytes <= _FEW * q.mtu:
        return False
    if q.drop_chance == 0.0:
        q.accumulated = 0.0
    q.accumulated += q.drop_chance
    if q.accumulated < _TOO_SOON:
        return False
    return q.accumulated >= _DUE or uniform(net.rng) < q.drop_chance
