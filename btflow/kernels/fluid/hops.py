"""Queues of a link without packets: what comes, the mean queue (flow/queues.py), what leaves, what is lost.

The mean and the scatter of a queue come from `queues.step`; what each flow has in it is kept besides, so that nothing
gets lost or made. What leaves is a mixture of all that waits.
"""

import math

from btflow.kernels.flow import queues
from btflow.kernels.fluid import losses
from btflow.kernels.fluid.state import ACKS, PASSAGES
from btflow.kernels.jit import kernel
from btflow.kernels.link.state import CBR, NONE
from btflow.kernels.rng import uniform

SCATTER = 0.02  # of what is on the way that comes at random: one link's flows are clocked by their ACKs


@kernel
def route(s):
    """Write down what comes to each queue in this step."""
    for k in range(s.link.rules.queues):
        hop = s.hop[k]
        hop.came = hop.packets = hop.slope = hop.away = 0.0
    for i in range(s.link.rules.flows):
        f, lane = s.link.flow[i], s.lane[i]
        acks = 0.0 if f.law == CBR else lane.rate / every(f)
        for j in range(PASSAGES):
            p = s.passage[i, j]
            if p.queue == NONE:
                continue
            if j == 0:
                p.comes = lane.offers
            elif j == ACKS:
                p.comes = acks
            else:
                p.comes = s.passage[i, j - 1].leaves
            enter(s.hop[p.queue], p, lane, j)


@kernel
def enter(hop, p, lane, j):
    """Add a passage to what comes to its queue; `j` 0: the sender is in front of it."""
    hop.came += p.comes * p.wire
    hop.packets += p.comes
    if j < ACKS:
        hop.away += away(p, lane)
    if j == 0 and lane.steered == 1:
        hop.slope += p.wire * p.comes / lane.trip


@kernel
def away(p, lane):
    """Variance of what a flow has on the way elsewhere [B2]."""
    return SCATTER * p.comes * lane.plain * p.wire * p.wire


@kernel
def by_others(hop, p, lane):
    """Part of the variance of a queue that a flow meets by chance: what it sent itself its ACKs clock."""
    return max(1.0 - away(p, lane) / hop.away, 0.0) if hop.away > 0.0 else 0.0


@kernel
def every(f):
    """Segments for each ACK."""
    alone = f.acks < f.quick_acks or min(f.cwnd, f.max_window) < f.ack_every
    return 1.0 if alone else float(max(f.ack_every, 1))


@kernel
def fill(s, k, dt):
    """The mean queue after a step."""
    hop, q = s.hop[k], s.link.queue[k]
    if hop.packets > 0.0:
        hop.packet = hop.came / hop.packets
    room = min(q.limit_bytes + hop.packet, (q.limit_packets + 1.0) * hop.packet) * hop.per_byte
    queues.step(hop, hop.came, hop.slope, hop.away, dt, room)
    hop.drops = 0.0  # in packets of one size; here they are counted by what comes
    hop.dropping += hop.packets * hop.full * dt
    taken = hop.held + hop.came * (1.0 - hop.full) * dt
    hop.left = min(max(taken - hop.seen / hop.per_byte, 0.0), dt / hop.per_byte)
    hop.part = hop.left / taken if taken > 0.0 else 0.0
    hop.held = taken - hop.left
    most = room / hop.per_byte
    hop.over = 1.0 - most / hop.held if hop.held > most else 0.0  # more came in a step than the mean follows
    hop.held *= 1.0 - hop.over


@kernel
def let_through(s, t, dt):
    """What leaves the queues, flow by flow, and what is lost."""
    rules = s.link.rules
    for i in range(rules.flows):
        lane = s.lane[i]
        for j in range(PASSAGES):
            p = s.passage[i, j]
            if p.queue == NONE:
                continue
            hop = s.hop[p.queue]
            cut = p.comes * hop.full * dt
            taken = p.held + p.comes * dt - cut
            p.leaves = taken * hop.part / dt
            rest = taken * (1.0 - hop.part)
            p.held = rest * (1.0 - hop.over)
            hop.dropping += rest - p.held
            cut += rest - p.held
            if j < ACKS and s.link.flow[i].law != CBR:
                lane.rest += cut  # to be sent again
    for k in range(rules.queues):
        hop = s.hop[k]
        n = math.floor(hop.dropping)
        hop.dropping -= n
        if t >= rules.warmup:
            s.link.queue[k].drops += int(n)
        for _ in range(int(n)):
            drop(s, k, t)


@kernel
def drop(s, k, t):
    """A packet is dropped at queue `k`: one of a flow drawn by what comes of it, or an ACK, which nobody misses."""
    at = uniform(s.link.rng) * s.hop[k].packets
    for i in range(s.link.rules.flows):
        for j in range(PASSAGES):
            p = s.passage[i, j]
            if p.queue == k:
                at -= p.comes
                if at < 0.0:
                    if j < ACKS and s.link.flow[i].law != CBR:
                        losses.lose(s, i, s.hop[k].full, t)
                    return
