"""What is looked at while a swarm runs on its links: queues, delays, slots."""

import math

import numpy as np

from btflow.kernels import bits
from btflow.kernels.access import state
from btflow.kernels.calendar import post
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link import queue
from btflow.kernels.link.state import DROP_TAIL, PIE
from btflow.kernels.swarm.ends import left, mate, seeding, served_among, wanting_among, words_of
from btflow.kernels.swarm.limiter import place
from btflow.kernels.swarm.state import ANY, NIL, PIECE, SAMPLE, UNCHOKE


@kernel
def sample(x, t):
    """Look at the uplink's queue of every peer, and at the slots of the leechers."""
    s = x.swarm
    w = x.watch[0]
    post(s, t + w.every, SAMPLE, NIL, NIL, ANY)
    if s.clock[0].unfinished > w.begin:
        return
    w.samples += 1
    for p in range(s.rules.peers):
        peer = s.peer[p]
        if peer.registered == 0 or left(s, p):
            continue
        look(x, p, np.int64(peer.klass), t)
        if not seeding(s, p):
            x.slots[peer.klass, 0] += 1.0
            for word in words_of(s, p):
                x.slots[peer.klass, 1] += bits.count(served_among(s, word) & wanting_among(s, word))


@kernel
def look(x, p, k, t):
    """Enter the length of the uplink's queue of peer `p`: packets waiting, and the time until the last has left."""
    net = x.net
    q = net.queue[2 * p]
    delay = q.bytes / q.rate + max(q.free_at - t, 0.0)
    if q.kind == DROP_TAIL or q.kind == PIE:
        queue.advance(net, 2 * p, q, t)
        delay = max(q.free_at - t, 0.0)
    x.queue_packets[k, min(q.packets, x.queue_packets.shape[1] - 1)] += 1
    x.queue_delay[k, min(int(delay / x.watch[0].width), x.queue_delay.shape[1] - 1)] += 1


@kernel
def delay_bin(delay):
    """Bin of a delay [s]."""
    if delay <= state.SHORTEST:
        return 0
    return min(int(state.BINS_PER_DECADE * math.log10(delay / state.SHORTEST)), state.DELAY_BINS - 1)


@kernel
def note_message(x, h, kind, arg, delay, t):
    """A message of end `h` was delivered `delay` after it was written."""
    s = x.swarm
    if kind == UNCHOKE:
        x.wins[mate(s, h) >> s.rules.slot_bits] += 1
    if s.clock[0].unfinished > x.watch[0].begin:
        return
    klass = s.peer[h >> s.rules.slot_bits].klass
    x.control[klass, kind, delay_bin(delay)] += 1
    x.control_sum[klass, kind] += delay
    if kind == PIECE:
        klass = s.peer[mate(s, h) >> s.rules.slot_bits].klass
        took = t - s.asked[s.conn[h].row, place(s, arg)]
        x.latency[klass, delay_bin(took)] += 1
        x.latency_sum[klass] += took


@kernel
def note_crossing(x, p, owner, size):
    """A parcel has left the uplink of peer `p`."""
    i = owner >> 1
    ends = x.swarm.rules.peers << x.swarm.rules.slot_bits
    if i >= ends and owner & 1 == 0:
        column = state.CONTROL_DATA
    else:
        h = i - ends if i >= ends else i
        utp = 1 if i < ends and x.protocol[h] == state.UTP else 0
        column = (state.TCP_ACKS if owner & 1 else state.TCP_DATA) + utp
    x.crossed[p, column] += size
