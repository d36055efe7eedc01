"""Queues of a link without packets, and when senders find out what full ones have lost.

The mean and the scatter of a queue are those of flow/queues.py. The share of each flow in it is kept besides, so that
no byte gets lost or made. A mixture of all that waits leaves.

The rules of losses are those of flow/windows.py: a sender finds a loss by three segments that come behind it, or by its
timer if its window is too small for that or nothing follows. A segment that is sent again may be lost again.
"""

import math

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow import queues
from btflow.kernels.flow.windows import DUPLICATES, fall, fires, found_by_time
from btflow.kernels.fluid.state import ACKS, PASSAGES
from btflow.kernels.link.state import BBR, CBR, FOREVER, NONE, PER_LOSS, RACK
from btflow.kernels.random import uniform


@kernel
def lose(s, i, t):
    """A segment of flow `i` is lost."""
    lane, f = s.lane[i], s.net.flow[i]
    lane.lost += 1
    lane.due += 1.0
    if lane.answer == FOREVER:
        lane.lost_at = t
        lane.fires = fires(f, t, f.rto)
        lane.fires += 0.5 * f.rtt if f.cwnd >= 2.0 else 0.0  # what is ahead of it still puts it off
    lane.last_at = lane.silent = t
    lane.silent += f.rtt
    if lane.again == 0 or lane.timer == 0:  # a lost segment that was sent again waits for its timer, come what may
        find(f, lane)


@kernel
def find(f, lane):
    """When the sender finds the loss at `lost_at`, and by what."""
    moving = f.cwnd - lane.lost
    found = FOREVER
    if moving > 0.0 and lane.rest >= DUPLICATES:
        found = lane.lost_at + f.rtt * math.ceil(DUPLICATES / moving)
    if f.detection == RACK:
        found = lane.lost_at + found_by_time(f, moving, lane.rest)
        if f.tail_probe:  # which goes before the timer fires, and starts that anew
            lane.fires = found
    lane.timer = 1 if lane.fires < found else 0
    lane.answer = min(found, lane.fires)


@kernel
def fullest(s, i):
    """Chance that a segment of flow `i` is dropped now."""
    chance = 0.0
    for j in range(2):
        k = s.passage[i, j].queue
        if k >= 0:
            chance = max(chance, s.hop[k].full)
    return chance


@kernel
def answer(s, i, f, lane, t):
    """The sender has found a loss, and sends again what was lost: some of it is dropped again."""
    lost, timed, again = lane.lost, lane.timer, lane.again
    f.lost_sent = lane.lost_at
    lane.answer = FOREVER
    lane.lost = lane.timer = lane.again = 0
    if f.law != BBR:
        f.flight = int(f.cwnd)
    f.nxt = f.una + f.flight
    if timed == 0 and f.recovery == PER_LOSS:
        if lost > 1:
            wait_for_next(f, lane, lost - 1, t)
    elif uniform(s.net.rng) > (1.0 - fullest(s, i)) ** lost:
        lane.lost = lane.again = 1
        lane.timer = 1 if timed == 1 or not f.lost_retransmit else 0
        lane.silent = lane.lost_at = lane.last_at = t
        lane.fires = fires(f, t, (2.0 if timed == 1 else 1.0) * f.rto)
        lane.answer = lane.fires if lane.timer == 1 else t + f.rtt
    counts = int(t >= s.net.rules.warmup)
    one_phase = again == 1 and timed == 0 and lost == 1  # nothing else was lost: the recovery lasts longer
    if one_phase or fall(s.net, i, f, timed, counts, t):
        lane.repaired = t + f.rtt


@kernel
def wait_for_next(f, lane, lost, t):
    """Without a phase of recovery each loss is found by itself; they are spread from the first to the last."""
    lane.lost = lost
    lane.fires = fires(f, t, f.rto)  # what was found by now restarts it
    lane.lost_at += (lane.last_at - lane.lost_at) / lost
    find(f, lane)


SCATTER = 0.02  # of what is on the way that comes at random: one link's flows are clocked by their ACKs

CLUSTER = 0.5
"""Scatter of what comes in clusters, as a part of one: what waits as ACKs behind packets of others comes at once.

Packets of a connection cluster where they meet those of another that goes the other way (Zhang, Shenker and Clark,
SIGCOMM 1991): what is in a queue is now all of one, now none of it, and half of the difference is its deviation.
"""


@kernel
def route(s):
    """Write down what comes to each queue in this step."""
    for k in range(s.net.rules.queues):
        hop = s.hop[k]
        hop.came = hop.packets = hop.slope = hop.away = hop.bursts = hop.cut = hop.lossy = hop.largest = 0.0
    for i in range(s.net.rules.flows):
        f, lane = s.net.flow[i], s.lane[i]
        lane.apart = 0.0 if f.pacing > 0.0 else apart(s, i)  # a pace undoes clusters
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
    for i in range(s.net.rules.flows):
        for j in range(PASSAGES):
            p = s.passage[i, j]
            if p.queue != NONE:
                find_room(s.hop[p.queue], s.net.queue[p.queue], p)


@kernel
def apart(s, i):
    """Time that the ACKs of flow `i` wait behind packets of others [s]."""
    waits = 0.0
    for j in range(ACKS, PASSAGES):
        p = s.passage[i, j]
        if p.queue != NONE:
            hop = s.hop[p.queue]
            if hop.held > 0.0:
                waits += hop.seen * (1.0 - p.held * p.wire / hop.held)
    return waits


@kernel
def enter(hop, p, lane, j):
    """Add a passage to what comes to its queue; `j` 0: the sender is in front of it."""
    hop.came += p.comes * p.wire
    hop.packets += p.comes
    if p.comes > 0.0:
        hop.largest = max(hop.largest, p.wire)
    if j < ACKS:
        hop.away += away(p, lane)
        burst = CLUSTER * p.comes * lane.apart * p.wire
        hop.bursts += burst * burst
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
def find_room(hop, q, p):
    """Chance that a packet finds no room in a full buffer: where bytes count, a small one fits where a large did not.

    What a buffer of bytes has left when the largest do not fit is anything up to their size.
    """
    p.drops = 1.0 if q.limit_bytes == math.inf or hop.largest == 0.0 else p.wire / hop.largest
    hop.cut += p.comes * p.drops
    hop.lossy += p.comes * p.drops * p.wire


@kernel
def every(f):
    """Segments for each ACK."""
    alone = f.acks < f.quick_acks or min(f.cwnd, f.max_window) < f.ack_every
    return 1.0 if alone else float(max(f.ack_every, 1))


@kernel
def fill(s, k, dt):
    """The mean queue after a step."""
    hop, q = s.hop[k], s.net.queue[k]
    if hop.packets > 0.0:
        hop.packet = hop.came / hop.packets
    room = buffer(hop, q) * hop.per_byte
    hop.control = (hop.came - hop.lossy) * dt  # what finds room in a full buffer, too
    queues.step(hop, hop.lossy, hop.slope, hop.away, dt, room, hop.bursts)
    hop.drops = 0.0  # in packets of one size; here they are counted by what comes
    hop.dropping += hop.cut * hop.full * dt
    taken = hop.held + (hop.came - hop.lossy * hop.full) * dt
    hop.left = min(max(taken - hop.seen / hop.per_byte, 0.0), dt / hop.per_byte)
    hop.part = hop.left / taken if taken > 0.0 else 0.0
    hop.held = taken - hop.left
    most = room / hop.per_byte
    hop.over = 1.0 - most / hop.held if hop.held > most else 0.0  # more came in a step than the mean follows
    hop.held *= 1.0 - hop.over


@kernel
def buffer(hop, q):
    """What a queue holds when it is full, the packet that is being sent included [B]."""
    most = (q.limit_packets + 1.0) * hop.packet
    if hop.largest == 0.0 or q.limit_bytes == math.inf:
        return min(most, q.limit_bytes + hop.packet)
    if hop.packet > hop.largest * (1.0 - 1e-9):  # whole packets alone
        return min(most, (math.floor(q.limit_bytes / hop.largest) + 1.0) * hop.largest)
    return min(most, max(q.limit_bytes - 0.5 * hop.largest, 0.0) + hop.largest)


@kernel
def let_through(s, t, dt):
    """What leaves the queues, flow by flow, and what is lost."""
    rules = s.net.rules
    for i in range(rules.flows):
        lane = s.lane[i]
        for j in range(PASSAGES):
            p = s.passage[i, j]
            if p.queue == NONE:
                continue
            hop = s.hop[p.queue]
            cut = p.comes * hop.full * p.drops * dt
            taken = p.held + p.comes * dt - cut
            p.leaves = taken * hop.part / dt
            rest = taken * (1.0 - hop.part)
            p.held = rest * (1.0 - hop.over)
            hop.dropping += rest - p.held
            cut += rest - p.held
            if j < ACKS and s.net.flow[i].law != CBR:
                lane.rest += cut  # to be sent again
    for k in range(rules.queues):
        overflow(s, k, t, dt)


@kernel
def overflow(s, k, t, dt):
    """What is lost at queue `k`: as many at once, and of one flow, as a cluster has too many."""
    hop = s.hop[k]
    together = too_many(hop)
    if s.time[0].counted < dt:
        hop.early = hop.dropping
    while hop.dropping >= together:
        hop.dropping -= together
        s.net.queue[k].dropped += int(together)
        s.net.queue[k].drops += int(max(together - hop.early, 0.0))
        hop.early = max(hop.early - together, 0.0)
        drop(s, k, int(together), t)


@kernel
def too_many(hop):
    """Packets for which there is no room when there is no room: at least one."""
    high = (hop.queue - hop.room) / hop.spread
    if hop.full < 1e-9 or high < -6.0:
        return 1.0
    at = queues.normal_at(high)
    over = hop.spread * (at / queues.normal_below(high, at) + high)
    return max(math.floor(over / (hop.packet * hop.per_byte)), 1.0)


@kernel
def drop(s, k, n, t):
    """Packets are dropped at queue `k`: of a flow drawn by what comes of it, or ACKs, which nobody misses."""
    at = uniform(s.net.rng) * s.hop[k].cut
    for i in range(s.net.rules.flows):
        for j in range(PASSAGES):
            p = s.passage[i, j]
            if p.queue == k:
                at -= p.comes * p.drops
                if at < 0.0:
                    if j < ACKS:
                        s.net.flow[i].dropped += n
                    if j < ACKS and s.net.flow[i].law != CBR:
                        for _ in range(n):
                            lose(s, i, t)
                    return
