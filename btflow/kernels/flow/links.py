"""How lanes share the access links: windows, queues and rates, brought up to date in one look at a peer.

In one look (`move`): 1. ACKs move the windows (rates of the step that ends, old queues); 2. the downlink's queue, which
`set_rate` brings up to date whenever what comes changes; 3. the uplink's, by an implicit step, which is stable however
short the round trip is; 4. drops; 5. new rates. Between two looks rates change when lanes begin or end to send.

The windows are moved by the laws of `kernels/link/laws`, the very functions of full fidelity, called for each ACK that
the bytes that came make, with a delay of its own: the queue is not a number, it scatters (queues.py). Consecutive ACKs
see nearly the same queue, those a round trip apart another one.

Times are those of the receiver: a block is over when its last byte is there, and begins, after a pause, when its first
byte is: `hold`. A pause ends with a burst: all that the window allows leaves at once, and nothing more before the first
ACK is back.
"""

import math

import numpy as np

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow import limiter, queues, windows
from btflow.kernels.flow.ends import schedule
from btflow.kernels.flow.state import STALLED
from btflow.kernels.link import laws, recovery, sender
from btflow.kernels.link.laws import bbr, utp_libtorrent
from btflow.kernels.link.state import BBR, CUBIC, NEWRENO, OPEN, RECOVERY
from btflow.kernels.random import uniform
from btflow.kernels.swarm.state import FOREVER

STEP = 1.0  # of the shortest round trip of its lanes between two looks at a peer,
SHORTEST_STEP, LONGEST_STEP = 0.05, 0.3  # and its limits [s]
BBR_STEP = 0.5  # of its least round trip: the phases of its pace last one (draft-cardwell-iccrg-bbr 00, 4.3.4)
MOST_SAMPLES = 2.0  # of the delay in one step: of more ACKs several are taken together, as packets in trains take them
QUEUE_SHARE = 0.005  # of a new look in the mean queue of all peers that have something to send
SAMPLE_EVERY = 0.1  # [s], as in full fidelity (btflow/swarm/access.py)


@kernel
def move(s, p, t):
    """Bring the access link of peer `p` and the windows of its lanes up to `t`."""
    link = s.net.link[p]
    dt, last = t - link.at, link.step
    if dt <= 0.0:
        return
    link.at = t
    first, shortest = p << s.lane_bits, FOREVER
    for u in range(first, first + s.peer[p].top):
        if s.finish[u] < FOREVER:
            shortest = min(shortest, acknowledge(s, p, u, t, dt))
    link.step = min(max(STEP * shortest, SHORTEST_STEP), LONGEST_STEP)
    limiter.proportion(s, p, t)
    limiter.work_off(s, p, t, dt)
    fill_downlink(s, p, t)
    fill_uplink(s, p, t, dt)
    share(s, p, t)
    note(s, p, dt, min(dt, 2.0 * last))


@kernel
def look_again(s, p, t):
    """Look at peer `p` a step after `t` while something moves, else when something is due."""
    link, peer = s.net.link[p], s.peer[p]
    full = link.inflow * link.per_byte_down > 1.0 or link.acks * link.per_byte > 1.0
    moves = peer.active > 0 or link.queue > 0.0 or link.down_queue > 0.0 or full
    at = t + link.step if moves else peer.next_at
    if not moves:
        link.seen = 0.0
    if at < FOREVER:
        schedule(s, p, at)
    else:
        link.look_at = FOREVER


@kernel
def note(s, p, dt, looked):
    """Enter the queue of peer `p` into the statistics, ten times a second; but for `looked` of `dt` it was empty."""
    watch, link = s.net.watch[0], s.net.link[p]
    watch.queue += QUEUE_SHARE * (link.seen - watch.queue)
    if s.clock[0].unfinished > watch.begin or s.peer[p].registered == 0:
        return
    klass = np.int64(s.peer[p].klass)
    if looked < dt:
        idle = int((dt - looked) / SAMPLE_EVERY + uniform(s.net.rng))
        s.net.queue_delay[klass, 0] += idle
        s.net.queue_packets[klass, 0] += idle
    per_packet = 1.0 / (queues.packet_size(link) * link.per_byte)
    for _ in range(int(looked / SAMPLE_EVERY + uniform(s.net.rng))):
        delay = min(max(link.queue + link.spread * windows.normal(s.net.rng), 0.0), link.room)
        s.net.queue_delay[klass, min(int(delay / watch.width), s.net.queue_delay.shape[1] - 1)] += 1
        packets = int(delay * per_packet)
        s.net.queue_packets[klass, min(packets, s.net.queue_packets.shape[1] - 1)] += 1


@kernel
def fill_downlink(s, p, t):
    """The queue of the downlink of peer `p` at `t`, and what its buffer did not take since the last look."""
    link = s.net.link[p]
    queues.settle_downlink(link, t)
    if link.down_queue > 0.0:
        link.step = min(link.step, max(SHORTEST_STEP, link.down_queue))
    while link.down_drops >= 1.0:
        link.down_drops -= 1.0
        windows.drop_incoming(s, p, t)


@kernel
def fill_uplink(s, p, t, dt):
    """The queue of the uplink of peer `p` after a step, and what its buffer does not take."""
    link = s.net.link[p]
    came = slope = away = own = payload = 0.0
    first, most_tcp = p << s.lane_bits, limiter.tcp_level(s, p)
    for u in range(first, first + s.peer[p].top):
        if s.finish[u] < FOREVER:
            pull = s.net.pull[u]
            per_trip = 1.0 / (pull.base + link.seen)
            rate = pull.window * per_trip
            if t + 0.5 * link.step < pull.primed:
                rate = 0.0
            elif rate < pull.most:
                slope += pull.bytes * rate * per_trip
            else:
                rate = pull.most
            if most_tcp < FOREVER and limiter.over_tcp(s, u):
                rate = min(rate, most_tcp * pull.per_mss)
            there = rate * pull.base * pull.bytes
            away += there
            own += there * there
            pull.offers = rate * pull.bytes
            came += pull.offers
            payload += rate * pull.mss
    payload_limit = limiter.payload_limit(s, p, link.inflow)
    if link.capped == 1 and payload > payload_limit:
        came *= payload_limit / payload
    link.offered = came
    came += link.acks
    others = max(away - own / away, 0.0) if away > 0.0 else 0.0
    queues.step(link, came, slope, queues.FULL_SIZE * others, dt, queues.buffer(link))
    while link.drops >= 1.0:
        link.drops -= 1.0
        windows.drop_outgoing(s, p, t)


# -- ACKs --------------------------------------------------------------------------------------------------------------


@kernel
def acknowledge(s, p, u, t, dt):
    """ACKs for what lane `u` brought in the step that ends: its window moves, a loss is answered.

    Returns the time in which that moves again [s].
    """
    pull, h = s.net.pull[u], np.int64(s.lane[u].h)
    f, y = s.net.flow[h], np.int64(pull.to)
    f.rtt = pull.base + s.net.link[p].seen
    f.owd = windows.one_way(s, p, y)
    f.stamp = t - f.rtt
    f.min_rtt = min(f.min_rtt, f.rtt)
    f.last_sent = t
    recovery.estimate_rtt(f)
    pull.blocks = windows.asked(s, u, t)
    half = 0.5 * s.net.link[p].step
    if pull.answer <= t + half:
        windows.answer(s, p, h, f, pull, t)
    elif f.phase == RECOVERY and pull.repaired <= t + half:
        f.phase = OPEN
        f.cwnd = f.ssthresh
    settle(pull, t)
    since = max(t - dt, pull.hold)
    if since < t:
        segments = pull.rate * pull.per_mss
        left = windows.asked_bytes(s, u, t) * pull.per_mss + segments * windows.one_way(s, y, p)
        f.limited = 1 if left >= f.cwnd else 0
        f.sample_rate += (segments - f.sample_rate) * min((t - since) / f.rtt, 1.0)
        f.sample_limited = 1 - f.limited
        flight = windows.segments_of(f, min(windows.on_the_way(s, u, f, t), left))
        f.flight = 0 if f.cwnd < 1.0 else flight
        deliver(s, p, h, f, pull, flight, since, t)
        if f.data_loss > 0.0:
            windows.lose_on_the_way(s, p, u, segments * (t - since) * f.data_loss, t)
    windows.survey(s, p, u, f, t)
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
    f.train = int(batch / every) if f.law != BBR and not utp_libtorrent.rules(f) else 1  # ACKs that are taken together
    f.flight = f.flight // f.train if f.train > 1 else windows.left_after(f, f.flight, batch)
    link, rtt, owd = s.net.link[p], f.rtt, f.owd
    for i in range(int(times)):
        now = since + (t - since) * (i + 1.0) / times
        if scatters:
            if uniform(s.net.rng) * flight < batch:  # what was sent in one round meets the same queue
                pull.noise = windows.normal(s.net.rng)
            waits = min(max(link.queue + link.spread * pull.noise, 0.0), link.room) - link.seen
            f.rtt, f.owd = rtt + waits, owd + waits
            f.min_rtt = min(f.min_rtt, f.rtt)
            f.stamp = now - f.rtt
        f.delivered += batch
        f.una = int(f.delivered)
        f.nxt = f.una + flight
        f.top = f.una - 1
        laws.sample(s.net, h, f, now, batch)
        if f.phase != RECOVERY and (f.limited == 1 or not f.validate):
            laws.grow(s.net, h, f, now, batch)
        f.cwnd = max(f.cwnd, f.min_window)
    f.rtt, f.owd, f.train = rtt, owd, 1


# -- rates -------------------------------------------------------------------------------------------------------------


@kernel
def share(s, p, t):
    """New rates of the lanes of peer `p` at `t`: what their windows allow, the link, and the upload limit."""
    link, first = s.net.link[p], p << s.lane_bits
    payload_limit = limiter.payload_limit(s, p, link.inflow)
    total = payload = emptied = 0.0
    active = 0
    waits, most_tcp = FOREVER, limiter.tcp_level(s, p)
    for u in range(first, first + s.peer[p].top):
        if s.finish[u] < FOREVER:
            pull = s.net.pull[u]
            if pull.hold > t:
                pull.wants = 0.0
                waits = min(waits, pull.hold)
                continue
            packets = min(pull.window / (pull.base + link.seen), pull.most)
            if most_tcp < FOREVER and limiter.over_tcp(s, u):
                packets = min(packets, most_tcp * pull.per_mss)
            pull.wants = pull.mss * packets
            payload += pull.wants
            active += 1 if pull.wants > 0.0 else 0
            offered = pull.bytes * packets
            total += offered
            emptied += offered if link.seen == 0.0 else offered * (1.0 + link.seen / pull.base)
    if waits < FOREVER:
        schedule(s, p, waits)
    scale = 1.0
    if total > 0.0:
        scale = queues.passed(link, total, emptied) / total
    link.capped = 1 if payload * scale > payload_limit else 0
    level = water_level(s, p, payload_limit, scale, active) if link.capped == 1 else FOREVER
    for u in range(first, first + s.peer[p].top):
        if s.finish[u] < FOREVER:
            set_rate(s, u, min(s.net.pull[u].wants * scale, level), link.step, t)


@kernel
def water_level(s, p, payload_limit, scale, active):
    """The rate that no lane of peer `p` exceeds so that all together keep its upload limit: turns go round."""
    first = p << s.lane_bits
    level = payload_limit / max(active, 1)
    for _ in range(active):
        under, n = 0.0, 0
        for u in range(first, first + s.peer[p].top):
            if s.finish[u] < FOREVER and 0.0 < s.net.pull[u].wants * scale < level:  # 0: it waits
                under += s.net.pull[u].wants * scale
                n += 1
        better = (payload_limit - under) / (active - n) if n < active else level
        if better <= level * (1.0 + 1e-9):
            break
        level = better
    return level


@kernel
def set_rate(s, u, sent, step, t):
    """The uplink lets `sent` payload [B/s] of lane `u` through from `t` on, for `step` or so."""
    pull = s.net.pull[u]
    b = s.net.link[pull.to]
    same = sent == pull.sent and sent == pull.rate and sent * pull.per_ack == pull.acks
    if same and b.down_queue == 0.0 and b.inflow * b.per_byte_down <= 1.0:
        return
    settle(pull, t)
    rate = sent * queues.let_through(b, (sent - pull.sent) * pull.bytes * pull.per_mss, step, t)
    if b.inflow * b.per_byte_down > 1.0:
        schedule(s, np.int64(pull.to), t + max(b.step, SHORTEST_STEP))
    acks = rate * pull.per_ack
    b.acks += acks - pull.acks
    pull.sent, pull.rate, pull.acks = sent, rate, acks
    if s.finish[u] < FOREVER:
        s.finish[u] = ends(pull)


@kernel
def settle(pull, t):
    """Book what a lane has brought up to `t`: bytes of its block, and segments whose ACKs are to come."""
    since = max(pull.at, pull.hold)
    if t > since:
        came = (t - since) * pull.rate
        pull.rest -= came
        pull.credit += came * pull.per_mss
    pull.at = t


@kernel
def ends(pull):
    """When the block that is coming is there, at the rate of now."""
    begins = max(pull.at, pull.hold)
    if pull.rest <= 0.0:
        return windows.handed_over(pull, begins)
    return begins + pull.rest / pull.rate if pull.rate > 0.0 else STALLED


# -- blocks of a lane --------------------------------------------------------------------------------------------------


@kernel
def renew(s, u):
    """A fresh lane: nothing of the one before is left."""
    pull = s.net.pull[u]
    pull.to = np.int64(s.lane[u].g) >> s.rules.slot_bits
    pull.answer = pull.hole = pull.hole_before = FOREVER
    pull.repaired = pull.whole = pull.whole_before = 0.0
    pull.stopped = -FOREVER
    pull.primed = 0.0
    pull.credit = pull.noise = pull.rate = pull.sent = pull.acks = 0.0
    pull.lost = pull.timer = pull.left = pull.came = pull.riders = 0


@kernel
def begin(s, p, u, size, asked_at, t):
    """Lane `u` begins to send a block of `size` bytes, asked for at `asked_at`: it was silent."""
    h, pull = np.int64(s.lane[u].h), s.net.pull[u]
    windows.lay(s, h, t)
    f, link = s.net.flow[h], s.net.link[p]
    if pull.answer <= asked_at:
        windows.answer_now(s, h, f, pull, t)
    if f.phase == RECOVERY:
        f.phase = OPEN
        f.cwnd = f.ssthresh
    f.flight = 0
    sender.restart_after_idle(s.net, h, f, asked_at)
    pull.mss = f.mss
    pull.per_mss = 1.0 / f.mss
    pull.bytes = f.mss + f.header + link.framing
    pull.blocks = windows.asked(s, u, t)
    windows.survey(s, p, u, f, t)
    windows.load_acks(s, u, f)
    way, trip = windows.one_way(s, p, np.int64(pull.to)), pull.base + link.seen
    pull.hold = asked_at + way
    if asked_at + way > pull.stopped + trip:
        windows.burst(s, p, u, f, asked_at)
        pull.primed = asked_at + trip
        pull.hold -= windows.FIRST * trip
        if f.law == BBR:  # its first segment finds the queues as they are before it
            f.rtt = trip
            bbr.measure_rtt(f, asked_at + trip)
    pull.hold = max(t, pull.hold)
    pull.at = pull.hold
    pull.rest = size
    s.finish[u] = STALLED
    share(s, p, t)


@kernel
def follow(s, u, size, hold, t):
    """The next block of lane `u` follows at `t`, or when its first byte is there, at `hold`; some may have come.

    Who asks for one block at a time often asks late: until then the other lanes have the link.
    """
    pull = s.net.pull[u]
    settle(pull, t)
    pull.rest = min(0.0, pull.rest) + size
    pull.hold = hold
    pull.blocks = windows.asked(s, u, t)
    windows.load_acks(s, u, s.net.flow[s.lane[u].h])
    s.finish[u] = ends(pull)
    if s.rules.tallied == 1 and hold > t:
        share(s, u >> s.lane_bits, t)


@kernel
def own_wait(s, p, u):
    """What the packets of lane `u` alone make of the queue of its uplink [s]: a block behind them does not wait for it.

    When it was asked for they were ahead of it, and when the block before it is there they have gone.
    """
    link = s.net.link[p]
    return link.seen * s.net.pull[u].offers / link.offered if link.offered > 0.0 else 0.0


@kernel
def stop(s, p, u, t):
    """Lane `u` has nothing more to send; the others share what it had."""
    s.finish[u] = FOREVER
    set_rate(s, u, 0.0, s.net.link[p].step, t)
    s.net.pull[u].stopped = t
    if s.peer[p].active == 0:
        s.net.link[p].queue = min(s.net.link[p].queue, 0.0)  # all that waited has come
    s.net.flow[s.lane[u].h].last_sent = t
    share(s, p, t)
