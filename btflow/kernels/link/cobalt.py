"""COBALT, CAKE's drops in the subqueue of a flow: CoDel for flows that answer to them, BLUE for those that do not.

As CoDel (codel.py) it drops when packets have waited longer than `target` for an `interval`, and then one more after
interval / sqrt(count). Here `count` goes down again as it went up while packets are not late, instead of being
forgotten or remembered at once; `drop_next` is when it changes next. And there is a chance of a drop besides, which
rises each time the queue was full and falls while the flow has nothing to send.

Linux takes flows that have become empty out of turn, again and again, until this has come to rest. Here it is made up
for when their next packet comes, as if Linux had looked all the time.
"""

import math

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link.codel import next_drop
from btflow.kernels.random import uniform

# Linux sch_cake.c, cobalt_should_drop: a packet that waited no longer than so many full ones take is not late.
_FEW = 4.0
# Linux sch_cake.c, cake_set_rate: what a full queue adds to BLUE's chance, and what each `target` without data takes.
_UP, _DOWN = 1.0 / 256.0, 1.0 / 4096.0


@kernel
def should_drop(net, q, line, sojourn, t):
    """True if a packet of `line` that waited for `sojourn` is to be dropped at `t`; to be asked once for each."""
    past = t - line.drop_next
    due = line.drops_since > 0 and past >= 0.0
    _watch(q, line, sojourn > q.target and sojourn > _FEW * q.mtu / q.rate, t)
    drop = due and line.dropping == 1
    if drop:
        line.drops_since += 1
        _put_off(q, line)
        past = t - line.drop_next
    elif due:
        _calm_down(q, line, t)
        past = t - line.drop_next
    if line.drop_chance > 0.0 and uniform(net.rng) < line.drop_chance:
        drop = True
    if line.drops_since == 0:
        line.drop_next = t + q.interval
    elif past > 0.0 and not drop:
        line.drop_next = t
    return drop


@kernel
def overflowed(q, line, t):
    """A packet of `line` had to go for want of room."""
    if t - line.blue_at > q.target:
        line.drop_chance = min(line.drop_chance + _UP, 1.0)
        line.blue_at = t
    line.dropping = 1
    line.drop_next = t
    line.drops_since = max(line.drops_since, 1)


@kernel
def found_empty(q, line, t):
    """It was the turn of `line`, and it has nothing to send."""
    line.dropping = 0
    if line.drop_chance > 0.0 and t - line.blue_at > q.target:
        line.drop_chance = max(line.drop_chance - _DOWN, 0.0)
        line.blue_at = t


@kernel
def back(q, line, t):
    """A packet comes to `line`, which had nothing to send: make up for the time since."""
    _calm_down(q, line, t)
    if line.drop_chance > 0.0:
        times = math.floor((t - line.blue_at) / q.target)
        line.drop_chance = max(line.drop_chance - _DOWN * times, 0.0)
        line.blue_at += times * q.target


@kernel
def _watch(q, line, late, t):
    """A spell of dropping begins with the first packet that is late, and ends with the first that is not."""
    if not late:
        line.dropping = 0
        return
    if line.dropping == 0:
        line.dropping = 1
        line.drop_next = t
        _put_off(q, line)
    line.drops_since = max(line.drops_since, 1)


@kernel
def _calm_down(q, line, t):
    """Count down what is due by `t`."""
    while line.drops_since > 0 and t >= line.drop_next:
        line.drops_since -= 1
        _put_off(q, line)


@kernel
def _put_off(q, line):
    """The next change of the count is due interval / sqrt(count) later."""
    line.drop_next = next_drop(line.drop_next, max(line.drops_since, 1), q.interval)
