"""Windows of the lanes of peers with access links: what the ACKs make of them, by the laws that packets call.

What a lane carries is its window over the round trip, all queues on the way included, that of the receiver's uplink in
which the ACKs wait, too. The window is moved by the laws of `kernels/link/laws`, the very functions of full fidelity,
called for each ACK that the bytes that came make, with a delay of its own: the queue is not a number, it scatters
(queues.py). Consecutive ACKs see nearly the same queue, those a round trip apart another one.
"""

import math

import numpy as np

from btflow.kernels import bits
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow import losses, queues
from btflow.kernels.link import law, recovery
from btflow.kernels.link.state import BBR, CONNECTED, CUBIC, NEWRENO, OPEN, RECOVERY, UTP
from btflow.kernels.random import next_u64, uniform
from btflow.kernels.swarm.state import FOREVER

BBR_STEP = 0.5  # of its least round trip: the phases of its pace last one (draft-cardwell-iccrg-bbr 00, 4.3.4)
MOST_SAMPLES = 2.0  # of the delay in one step: of more ACKs several are taken together, as packets in trains take them


@kernel
def lay(s, h, t):
    """Begin to send data on the connection of end `h`, if nobody did before: its flow is laid."""
    n, e = s.net, s.end[h]
    f = n.flow[h]
    if f.running == CONNECTED and f.generation == e.generation:
        return
    p, y = h >> s.rules.slot_bits, np.int64(e.mate) >> s.rules.slot_bits
    n.flow[h] = n.template[s.peer[p].klass, n.protocol[h]]
    f.generation = e.generation
    f.running = CONNECTED
    f.cwnd = f.initial_window
    f.ssthresh = FOREVER
    f.last_sent = t
    f.owd = one_way(s, p, y)
    f.rtt = base_trip(s, p, y, f) + n.link[p].seen
    f.min_rtt = f.rtt
    f.top = -1
    recovery.estimate(f)
    law.start(n, h, f, t)


@kernel
def one_way(s, p, y):
    """Time that a packet of peer `p` takes to `y`, queues included [s]."""
    a, b = s.net.link[p], s.net.link[y]
    return a.seen + b.down_queue + a.delay + b.delay


@kernel
def propagation(s, p, y):
    """Time that a packet of peer `p` takes to `y` past all queues [s]."""
    return s.net.link[p].delay + s.net.link[y].delay


@kernel
def base_trip(s, p, y, f):
    """Round trip of a segment and its ACK between two peers, but for the queue of the uplink of `p` [s]."""
    a, b = s.net.link[p], s.net.link[y]
    queued = 0.0 if s.net.watch[0].free_acks == 1 else b.seen + a.down_queue
    crossing = (f.mss + f.header + a.framing) * (a.per_byte + b.per_byte_down)
    crossing += (f.ack_size + b.framing) * (b.per_byte + a.per_byte_down)
    return 2.0 * (a.delay + b.delay) + crossing + queued + b.down_queue


@kernel
def asked(s, u, t):
    """Blocks that lane `u` may send at `t`: their requests are there."""
    n = 0
    for i in range(s.lane[u].runs):
        run = s.run[u, i]
        if run.at > t:
            break
        n += bits.count(run.blocks) if run.later <= t else 1
    return n


@kernel
def asked_bytes(s, u, t):
    """Bytes that lane `u` has been asked for and that have not come at `t`."""
    pull = s.net.pull[u]
    begun = max(0.0, t - max(pull.at, pull.hold)) * pull.rate
    return max(pull.rest - begun, 0.0) + max(pull.blocks - 1, 0) * (s.rules.block_size + s.rules.header)


@kernel
def window(s, u, f, t):
    """Segments that lane `u` keeps on the way: its window, or all that it was asked for; none before a timer fires."""
    pull = s.net.pull[u]
    if pull.timer == 1 and t >= pull.silent:
        return 0.0
    asked_for = pull.blocks * (s.rules.block_size + s.rules.header) * pull.per_mss
    whole = math.floor(max(f.cwnd, 1.0) + 1e-9)  # a segment that does not fit waits (kernels/link/sender.py)
    return max(min(min(whole, f.max_window), asked_for) - pull.lost, 0.0)


@kernel
def on_the_way(s, u, f, t):
    """Segments of lane `u` that are on the way: its window, but for a law whose pace keeps it below that."""
    w = window(s, u, f, t)
    return min(w, s.net.pull[u].rate * s.net.pull[u].per_mss * f.rtt) if f.law == BBR else w


@kernel
def survey(s, p, u, f, t):
    """Write down what the rate of lane `u` depends on: window, round trip but for the uplink's queue, pace."""
    pull = s.net.pull[u]
    pull.window = window(s, u, f, t)
    if f.cwnd < f.ssthresh and f.limited == 1 and pull.lost == 0:  # it grows in the step for which this holds
        pull.window = min(pull.window * (1.0 + 0.5 * s.net.link[p].step / f.rtt), f.max_window)
    pull.base = base_trip(s, p, np.int64(pull.to), f)
    if f.cwnd < f.ack_every and t > pull.whole:  # a lone segment's ACK waits; while something is missing it does not
        pull.base += f.ack_delay
    pull.most = FOREVER
    if f.pacing > 0.0:
        trip = pull.base + s.net.link[p].seen
        pull.most = 1.0 / (1.0 / f.pacing + trip) if f.law == UTP else f.pacing


@kernel
def acknowledge(s, p, u, t, dt):
    """ACKs for what lane `u` brought in the step that ends: its window moves, a loss is answered.

    Returns the time in which that moves again [s].
    """
    pull, h = s.net.pull[u], np.int64(s.lane[u].h)
    f, y = s.net.flow[h], np.int64(pull.to)
    f.rtt = pull.base + s.net.link[p].seen
    f.owd = one_way(s, p, y)
    f.stamp = t - f.rtt
    f.min_rtt = min(f.min_rtt, f.rtt)
    f.last_sent = t
    recovery.estimate(f)
    pull.blocks = asked(s, u, t)
    half = 0.5 * s.net.link[p].step
    if pull.answer <= t + half:
        losses.answer(s, p, h, f, pull, t)
    elif f.phase == RECOVERY and pull.repaired <= t + half:
        f.phase = OPEN
        f.cwnd = f.ssthresh
    queues.settle(pull, t)
    since = max(t - dt, pull.hold)
    if since < t:
        segments = pull.rate * pull.per_mss
        left = asked_bytes(s, u, t) * pull.per_mss + segments * one_way(s, y, p)
        f.limited = 1 if left >= f.cwnd else 0
        f.sample_rate += (segments - f.sample_rate) * min((t - since) / f.rtt, 1.0)
        f.sample_limited = 1 - f.limited
        flight = int(min(on_the_way(s, u, f, t), left))
        f.flight = 0 if f.cwnd < 1.0 else flight
        deliver(s, p, h, f, pull, flight, since, t)
        if f.data_loss > 0.0:
            losses.lose_on_the_way(s, p, u, segments * (t - since) * f.data_loss, t)
    survey(s, p, u, f, t)
    return BBR_STEP * f.min_rtt if f.law == BBR else pull.base + s.net.link[p].seen


@kernel
def deliver(s, p, h, f, pull, flight, since, t):
    """The ACKs one after the other, spread over the time since `since`; of many some are taken together."""
    every = 1.0 if f.cwnd < f.ack_every else float(f.ack_every)
    if pull.credit < every:
        return
    n = math.floor(pull.credit / every)
    scatters = f.law != NEWRENO and (f.law != CUBIC or f.cwnd < f.ssthresh)
    times = min(n, MOST_SAMPLES if scatters else 1.0)
    batch = math.floor(n / times) * every
    pull.credit -= batch * times
    f.train = int(batch / every) if f.law != BBR else 1  # ACKs that are taken together
    f.flight = f.flight // f.train
    link, rtt, owd = s.net.link[p], f.rtt, f.owd
    for k in range(int(times)):
        now = since + (t - since) * (k + 1.0) / times
        if scatters:
            if uniform(s.net.rng) * flight < batch:  # what was sent in one round meets the same queue
                pull.noise = normal(s.net.rng)
            waits = min(max(link.queue + link.spread * pull.noise, 0.0), link.room) - link.seen
            f.rtt, f.owd = rtt + waits, owd + waits
            f.min_rtt = min(f.min_rtt, f.rtt)
            f.stamp = now - f.rtt
        f.delivered += batch
        f.una = int(f.delivered)
        f.nxt = f.una + flight
        f.top = f.una - 1
        law.sample(s.net, h, f, now, batch)
        if f.phase != RECOVERY and (f.limited == 1 or not f.validate):
            law.grow(s.net, h, f, now, batch)
        f.cwnd = max(f.cwnd, f.min_window)
    f.rtt, f.owd, f.train = rtt, owd, 1


@kernel
def normal(rng):
    """A variable of mean 0 and variance 1, nearly normal: the sum of four uniform ones, of 16 bits each."""
    x = next_u64(rng)
    low, half = np.uint64(0xFFFF), np.uint64(16)
    total = x & low
    for _ in range(3):
        x >>= half
        total += x & low
    return 1.7320508075688772 * (float(total) / 65536.0 - 2.0)
