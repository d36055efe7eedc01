"""Rates and delays that change at times known beforehand: by steps, or by a trace of opportunities to send.

`net.course` has them, one after the other. *Steps*: from `at` [s] on the link sends at `value` [B/s]; a packet that is
being sent then goes on at the new rate. *Trace* (mahimahi(1), link_queue.cc): at each `at` [ms] the link sends up to
`q.opportunity` bytes, of several packets, or a part of one. An opportunity is lost if no packet waits. After its last
time the trace begins anew. `q.slot` is the number of the next opportunity, and `q.spare` what is left of it [B].
"""

import numpy as np

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link.state import TRACE


@kernel
def in_force(net, first, end, t):
    """Number of the step in force at `t`, of those from `first` to `end`; the first one begins at 0."""
    while end - first > 1:
        middle = (first + end) >> 1
        if net.course[middle].at <= t:
            first = middle
        else:
            end = middle
    return first


@kernel
def opportunity(net, q, number):
    """When an opportunity of a trace comes [s]."""
    n = q.course_end - q.course_first
    lap = number // n
    return (lap * net.course[q.course_end - 1].at + net.course[q.course_first + number - lap * n].at) / 1000.0


@kernel
def first_after(net, q, low, t):
    """Number of the first opportunity later than `t`, from number `low` on."""
    n, length = q.course_end - q.course_first, net.course[q.course_end - 1].at
    high = max(low, n * (int(1000.0 * t / length) + 2))
    while low < high:
        middle = (low + high) >> 1
        if opportunity(net, q, middle) > t:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def begins(net, q, t):
    """When the service of a packet begins that comes at `t`; on a trace an idle link waits for an opportunity."""
    if q.course == TRACE and q.free_at <= t:
        q.slot = first_after(net, q, np.int64(q.slot), t)
        q.spare = q.opportunity
        q.free_at = opportunity(net, q, q.slot)
    return max(t, q.free_at)


@kernel
def send(net, q, start, size):
    """When a packet of `size` bytes has left whose service begins at `start`; the link is free at `q.free_at`."""
    if q.course == TRACE:
        return send_by_trace(net, q, size)
    i, at, left = in_force(net, q.course_first, q.course_end, start), start, size
    while i + 1 < q.course_end and (net.course[i + 1].at - at) * net.course[i].value < left:
        then = net.course[i + 1].at
        left -= (then - at) * net.course[i].value
        count(net, q, at, then, net.course[i].value)
        at = then
        i += 1
    q.free_at = at + left / net.course[i].value
    count(net, q, at, q.free_at, net.course[i].value)
    return q.free_at


@kernel
def send_by_trace(net, q, size):
    """The same on a trace: what is left of the next opportunity, then others as they come."""
    left, at = size, 0.0
    while left > 0.0:
        at = opportunity(net, q, q.slot)
        part = min(left, q.spare)
        left -= part
        q.spare -= part
        if net.rules.warmup < at <= net.rules.duration:
            q.served += part
        if q.spare == 0.0:
            q.slot += 1
            q.spare = q.opportunity
    q.free_at = opportunity(net, q, q.slot) if q.spare == q.opportunity else at
    return at


@kernel
def count(net, q, begin, end, rate):
    """Count what leaves between the warm-up and the end."""
    q.served += max(min(end, net.rules.duration) - max(begin, net.rules.warmup), 0.0) * rate


@kernel
def delay(net, q, t):
    """How long the bytes that wait at `t` will take."""
    free_at, served, slot, spare = q.free_at, q.served, q.slot, q.spare
    if q.course == TRACE:
        q.slot, q.spare = first_after(net, q, np.int64(0), t), q.opportunity
    takes = max(send(net, q, t, q.bytes) - t, 0.0)
    q.free_at, q.served, q.slot, q.spare = free_at, served, slot, spare
    return takes


@kernel
def longer(net, pipe, t):
    """How much longer than at first a packet is on its way that leaves for pipe `pipe` at `t` [s]."""
    return 0.5 * (net.course[in_force(net, 0, pipe.steps, t)].value - net.course[0].value)
