"""The receiver: takes segments, delivers them in order, and acknowledges.

It keeps a log of the trains in the order they came. An ACK carries how long the log was when it left: all that
cumulative and selective acknowledgements say, and an ACK that is lost is made good by the next, as SACK blocks do.
"""

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link import path, queue, recovery
from btflow.kernels.link.events import schedule, source, wake
from btflow.kernels.link.scoreboard import counts_bytes, lacks, payload, segment
from btflow.kernels.link.state import (
    ACK_TIMER,
    ACKS,
    CBR,
    CONNECTED,
    FOREVER,
    MESSAGES,
    NONE,
    SIZED,
    STREAM,
    SYN,
    SYN_ACK,
    UTP,
)


@kernel
def receive(net, i, f, t, number, stamp, more):
    """Train `number`, sent at `stamp`, arrives at `t`; `more` of its super-packet come with it: one ACK is for all."""
    if f.law == CBR:
        hear(net, i, f, t, number, stamp)
        return
    if number == SYN:
        path.emit(net, i, f, ACKS, t, SYN_ACK, stamp, t - stamp, f.ack_size, 1)
        return
    ring = f.ring_mask
    net.log[f.ring_at + (f.log & ring)] = number
    f.log += 1
    f.last_owd = t - stamp
    if f.unacked == 0:
        f.first_stamp = stamp
        f.last_stamp = stamp
    elif number == f.expected:
        f.last_stamp = stamp
    gap = number != f.expected or f.holes > 0
    if number >= f.expected and net.got[f.ring_at + (number & ring)] != number + 1:
        net.got[f.ring_at + (number & ring)] = number + 1
        f.arrived += 1
        f.lacked += lacks(f, segment(net, i, number))
        if t >= net.rules.warmup:
            f.goodput += payload(net, i, f, number)
        if number > f.expected:
            f.holes += 1
        else:
            deliver(net, i, f, t, ring)
    f.unacked += 1
    if more > 0:
        return
    if gap or f.quick > 0 or due(net, i, f, number):
        f.quick = max(0, f.quick - 1)
        acknowledge(net, i, f, t)
    elif f.ack_at == FOREVER:
        f.ack_at = t + f.ack_delay
        wake(net, source(net, i, ACK_TIMER), f.ack_at)


@kernel
def due(net, i, f, number):
    """Whether so much has come that an ACK is due; where bytes count, small segments do not make up a large one."""
    if f.app == STREAM and f.ack_bytes > 0:
        f.unacked_bytes += segment(net, i, number).bytes
        return f.unacked_bytes >= f.ack_bytes
    return f.unacked * f.train >= f.ack_every


@kernel
def deliver(net, i, f, t, ring):
    """The segment that was expected is there: it goes to the application, with those behind it that came before."""
    first = f.expected
    f.expected += 1
    while net.got[f.ring_at + (f.expected & ring)] == f.expected + 1:
        f.expected += 1
        f.holes -= 1
    if f.app == STREAM or counts_bytes(f):
        f.in_order = segment(net, i, f.expected - 1).end
    if f.app == STREAM:
        net.clock[0].delivered = i
    if f.app == SIZED and f.expected * f.train >= f.total and f.finish < 0.0:
        f.finish = t
    if f.app == MESSAGES:
        length = int(f.total)
        for m in range(first // length, f.expected // length):
            if m < net.record_delay.shape[1]:
                net.record_delay[i, m] = t - (f.start + m * f.period)


@kernel
def acknowledge(net, i, f, t):
    """Send an ACK for all that has come.

    TCP has its one-way delay from time stamps: from the first segment not yet acknowledged (RFC 7323) to this ACK.
    """
    f.unacked = 0
    f.unacked_bytes = 0
    f.ack_at = FOREVER
    owd = f.last_owd if f.law == UTP else t - f.first_stamp
    if f.reverse != NONE and net.flow[f.reverse].told == 1:
        notice(net, f, t)
    path.emit(net, i, f, ACKS, t, f.log, f.last_stamp if f.times_newest else f.first_stamp, owd, f.ack_size, 1)


@kernel
def notice(net, f, t):
    """The host's own queue drops the ACK: the flow that the host sends over the connection is told, as for data."""
    back = net.flow[f.reverse]
    if back.running == CONNECTED and queue.full(net, f.ack_queue0, net.queue[f.ack_queue0], t, f.ack_size):
        recovery.refuse(net, f.reverse, back, t)


@kernel
def ride(net, f, t, parcel):
    """A waiting ACK of the flow in the other direction travels with data that leaves anyway."""
    if f.reverse == NONE:
        return
    back = net.flow[f.reverse]
    if back.unacked == 0:
        return
    parcel.ack = back.log
    parcel.ack_stamp = back.last_stamp if back.times_newest else back.first_stamp
    parcel.ack_owd = back.last_owd if back.law == UTP else t - back.first_stamp
    back.unacked = 0
    back.unacked_bytes = 0
    back.ack_at = FOREVER


@kernel
def ack_timer(net, i, f, t):
    """The timer of the delayed ACK; it is not moved when an ACK goes earlier, so it looks for itself."""
    if f.ack_at <= t:
        schedule(net, source(net, i, ACK_TIMER), FOREVER)
        acknowledge(net, i, f, t)
    else:
        schedule(net, source(net, i, ACK_TIMER), f.ack_at)


@kernel
def hear(net, i, f, t, number, stamp):
    """A packet of a constant-rate flow: its one-way delay is written down."""
    f.arrived += 1
    if t >= net.rules.warmup:
        f.goodput += f.mss
    if number < net.record_delay.shape[1]:
        net.record_delay[i, number] = t - stamp
