"""Queues of the access links without packets, and how a link is shared.

With windows W and round trips base + q a lane offers W MSS / (base + q); the queue takes what the link does not
(Misra, Gong and Towsley, SIGCOMM 2000). Not its length is followed but its mean: what is on the way elsewhere scatters
like random arrivals, by its root, and within the buffer by no more than the buffer's root, so the queue is normal with
`spread`, cut off where it is empty and where it is full. Where it is empty the link idles, where it is full packets are
dropped:

    dq/dt = (in / C) (1 - P(full)) - (1 - P(empty))

In one look at a peer (`move`): 1. ACKs move the windows (rates of the step that ends, old queues); 2. the downlink's
queue, which `set_rate` brings up to date whenever what comes changes; 3. the uplink's, by an implicit step, which is
stable however short the round trip is; 4. drops; 5. new rates. Between two looks rates change when lanes begin or end
to send.
"""

import math

import numpy as np

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow import losses, quota, windows
from btflow.kernels.flow.events import post
from btflow.kernels.flow.state import NO_LANE, STALLED
from btflow.kernels.random import uniform
from btflow.kernels.swarm.state import ANY, FOREVER, LOOK, NIL

STEP = 1.0  # of the shortest round trip of its lanes between two looks at a peer,
SHORTEST_STEP, LONGEST_STEP = 0.05, 0.3  # and its limits [s]
FULL_SIZE = 1500.0  # a full packet [B]


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
            shortest = min(shortest, windows.acknowledge(s, p, u, t, dt))
    link.step = min(max(STEP * shortest, SHORTEST_STEP), LONGEST_STEP)
    quota.proportion(s, p, t)
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
def schedule(s, p, at):
    """Look at peer `p` at `at`, unless it is looked at before."""
    link = s.net.link[p]
    if link.look_at <= at:
        return
    link.look_at = at
    post(s, at, LOOK, p, NIL, ANY)


@kernel
def fill_downlink(s, p, t):
    """The queue of the downlink of peer `p` at `t`, and what its buffer did not take since the last look."""
    link = s.net.link[p]
    settle_downlink(link, t)
    if link.down_queue > 0.0:
        link.step = min(link.step, max(SHORTEST_STEP, link.down_queue))
    while link.down_drops >= 1.0:
        link.down_drops -= 1.0
        losses.drop_incoming(s, p, t)


@kernel
def settle_downlink(link, t):
    """Bring the queue of a downlink up to `t`: what comes has been the same since the last time."""
    if t <= link.down_at:
        return
    excess = link.inflow * link.per_byte_down - 1.0
    if excess > 0.0 or link.down_queue > 0.0:
        lengthen(link, (t - link.down_at) * excess)
    link.down_at = t


@kernel
def lengthen(link, more):
    """Add `more` [s] to the queue of a downlink; its buffer takes no more than it holds."""
    link.down_queue = max(0.0, link.down_queue + more)
    if link.down_queue > link.down_room:
        link.down_drops += (link.down_queue - link.down_room) / (FULL_SIZE * link.per_byte_down)
        link.down_queue = link.down_room


@kernel
def fill_uplink(s, p, t, dt):
    """The queue of the uplink of peer `p` after a step, and what its buffer does not take."""
    link = s.net.link[p]
    came = slope = away = own = payload = 0.0
    first, most_tcp = p << s.lane_bits, quota.tcp_level(s, p)
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
            if most_tcp < FOREVER and quota.over_tcp(s, u):
                rate = min(rate, most_tcp * pull.per_mss)
            there = rate * pull.base * pull.bytes
            away += there
            own += there * there
            pull.offers = rate * pull.bytes
            came += pull.offers
            payload += rate * pull.mss
    cap = quota.payload_limit(s, p, link.inflow)
    if link.capped == 1 and payload > cap:
        came *= cap / payload
    link.offered = came
    came += link.acks
    others = max(away - own / away, 0.0) if away > 0.0 else 0.0
    step(link, came, slope, FULL_SIZE * others, dt, buffer(link))
    while link.drops >= 1.0:
        link.drops -= 1.0
        losses.drop_outgoing(s, p, t)


@kernel
def step(link, came, slope, away, dt, room, bursts=0.0):
    """The mean of a queue after `dt` [s]: `came` bytes a second come, less by `slope` for each second of queue.

    `away` is the variance of what is on the way elsewhere, `bursts` that of what comes in bursts besides [B2].
    """
    held = FULL_SIZE * room / link.per_byte
    spread = max(math.sqrt(away * held / (away + held) + bursts), 0.5 * FULL_SIZE) * link.per_byte
    low, high = link.queue / spread, (link.queue - room) / spread
    at_low, at_high, full, empty = 0.0, 0.0, 0.0, 0.0
    if low < FAR:
        at_low = normal_at(low)
        empty = 1.0 - normal_below(low, at_low)
    if high > -FAR:
        at_high = normal_at(high)
        full = normal_below(high, at_high)
    load = came * link.per_byte
    stiff = slope * link.per_byte * (1.0 - full) + (load * at_high + at_low) / spread
    change = (load * (1.0 - full) - 1.0 + empty) * dt + link.control * link.per_byte
    link.queue = max(link.queue + change / (1.0 + dt * stiff), -3.0 * spread)
    link.control = 0.0
    link.room, link.spread, link.full, link.empty = room, spread, full, empty
    link.seen = clipped_mean(link.queue, spread, room)
    link.drops += came * full * dt / FULL_SIZE


FAR = 8.0  # standard deviations: 1e-15 is beyond


@kernel
def normal_at(z):
    """Density of a standard normal variable."""
    return 0.3989422804014327 * math.exp(-0.5 * z * z)


@kernel
def normal_below(z, at):
    """Chance that it is below `z`, where its density is `at`: Abramowitz and Stegun, 26.2.17, within 1e-7."""
    k = 1.0 / (1.0 + 0.2316419 * abs(z))
    tail = ((((1.330274429 * k - 1.821255978) * k + 1.781477937) * k - 0.356563782) * k + 0.319381530) * k * at
    return tail if z < 0.0 else 1.0 - tail


@kernel
def clipped_mean(mean, spread, most):
    """Mean of a normal variable that is cut off at 0 and at `most`."""
    low, high = mean / spread, (mean - most) / spread
    within = low
    if low < FAR:
        at_low = normal_at(low)
        within = at_low + low * normal_below(low, at_low)
    if high > -FAR:
        at_high = normal_at(high)
        within -= at_high + high * normal_below(high, at_high)
    return min(max(spread * within, 0.0), most)


@kernel
def buffer(link):
    """Time that a full buffer of an uplink takes to empty, with the packets that come now [s]."""
    return min(link.room_bytes, (link.room_packets + 1.0) * packet_size(link)) * link.per_byte


@kernel
def packet_size(link):
    """Mean size of the packets that come to an uplink now, ACKs among them [B]."""
    acks = min(link.acks * link.per_byte, 0.9)
    return 1.0 / ((1.0 - acks) / FULL_SIZE + acks / link.bare)


# -- rates ------------------------------------------------------------------------------------------------------------


@kernel
def share(s, p, t):
    """New rates of the lanes of peer `p` at `t`: what their windows allow, the link, and the upload limit."""
    link, first = s.net.link[p], p << s.lane_bits
    cap = quota.payload_limit(s, p, link.inflow)
    total = payload = emptied = 0.0
    active = 0
    waits, most_tcp = FOREVER, quota.tcp_level(s, p)
    for u in range(first, first + s.peer[p].top):
        if s.finish[u] < FOREVER:
            pull = s.net.pull[u]
            if pull.hold > t:
                pull.wants = 0.0
                waits = min(waits, pull.hold)
                continue
            packets = min(pull.window / (pull.base + link.seen), pull.most)
            if most_tcp < FOREVER and quota.over_tcp(s, u):
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
        scale = passed(link, total, emptied) / total
    link.capped = 1 if payload * scale > cap else 0
    level = water_level(s, p, cap, scale, active) if link.capped == 1 else FOREVER
    for u in range(first, first + s.peer[p].top):
        if s.finish[u] < FOREVER:
            set_rate(s, u, min(s.net.pull[u].wants * scale, level), link.step, t)


@kernel
def passed(link, total, emptied):
    """What an uplink lets through [B/s] of `total` that lanes bring; `emptied` brings along what they have waiting.

    While something waits it is busy, whatever comes, but for the chance that it is empty, as the queue will be a step
    later: what comes and does not stay passes.
    """
    acks = link.acks * link.per_byte
    most = max(1.0 - acks, LEAST_SHARE)
    load = total * link.per_byte
    if link.queue <= 0.0:
        return min(load, most) / link.per_byte
    low = link.queue / link.spread
    if low < FAR:
        at_low = normal_at(low)
        stays = (load - normal_below(low, at_low) + acks) / (1.0 + link.step * at_low / link.spread)
        most = min(max(load - stays, 0.0), most)
    return min(most / link.per_byte, emptied)


LEAST_SHARE = 0.05  # of an uplink that data keep, however many ACKs there are: those are dropped before


@kernel
def water_level(s, p, cap, scale, active):
    """The rate that no lane of peer `p` exceeds so that all together keep its upload limit: turns go round."""
    first = p << s.lane_bits
    level = cap / max(active, 1)
    for _ in range(active):
        under, n = 0.0, 0
        for u in range(first, first + s.peer[p].top):
            if s.finish[u] < FOREVER and 0.0 < s.net.pull[u].wants * scale < level:  # 0: it waits
                under += s.net.pull[u].wants * scale
                n += 1
        better = (cap - under) / (active - n) if n < active else level
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
    rate = sent * let_through(b, (sent - pull.sent) * pull.bytes * pull.per_mss, step, t)
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
def let_through(link, change, step, t):
    """What a downlink brings for each byte that comes, when that changes by `change` [B/s] at `t`.

    More comes than it takes: a part. What waits comes in the next `step`, at the link's rate at most.
    """
    if link.per_byte_down == 0.0:
        return 1.0
    settle_downlink(link, t)
    link.inflow += change
    load = link.inflow * link.per_byte_down
    if t < link.down_at:  # it is ahead of what sends to it
        busy = link.down_queue > 0.0
        lengthen(link, (link.down_at - t) * (change * link.per_byte_down if busy else load - 1.0))
    if load > 1.0:
        return 1.0 / load
    if link.down_queue > 0.0 and load > 0.0:
        return min(1.0 / load, 1.0 + link.down_queue / (step * load))
    return 1.0


@kernel
def ends(pull):
    """When the block that is coming is there, at the rate of now."""
    begins = max(pull.at, pull.hold)
    if pull.rest <= 0.0:
        return losses.handed_over(pull, begins)
    return begins + pull.rest / pull.rate if pull.rate > 0.0 else STALLED


@kernel
def load_acks(s, u, f):
    """Write down what the ACKs for a byte of lane `u` take on the uplink of its downloader."""
    pull = s.net.pull[u]
    pull.per_ack = 0.0
    if s.net.watch[0].free_acks == 0:
        pull.per_ack = (f.ack_size + s.net.link[pull.to].framing) * pull.per_mss / segments_per_ack(s, u, f)


@kernel
def segments_per_ack(s, u, f):
    """Segments of lane `u` for each ACK that goes by itself: data that go the other way before it is due take it along.

    Segments and those data come at random: `every` segments must come with none of them in between.
    """
    every = max(f.ack_every, 1)
    rate, back = s.net.pull[u].rate, reverse_rate(s, u)
    if rate <= 0.0 or back <= 0.0:
        return float(every)
    n, more = 0.0, 1.0
    for _ in range(every):
        n += more
        more *= 1.0 + back / rate
    return n


@kernel
def reverse_rate(s, u):
    """What the data bring that go the other way on the connection of lane `u`, and would take its ACKs along [B/s]."""
    if s.rules.split == 1:
        return 0.0
    g = np.int64(s.lane[u].g)
    lane = s.end[g].lane
    return s.net.pull[((g >> s.rules.slot_bits) << s.lane_bits) + lane].rate if lane != NO_LANE else 0.0


@kernel
def note(s, p, dt, looked):
    """Enter the queue of peer `p` into the statistics, ten times a second; but for `looked` of `dt` it was empty."""
    watch, link = s.net.watch[0], s.net.link[p]
    watch.queue += QUEUE_SHARE * (link.seen - watch.queue)
    if s.clock[0].unfinished > watch.begin or s.peer[p].registered == 0:
        return
    k = np.int64(s.peer[p].klass)
    if looked < dt:
        idle = int((dt - looked) / SAMPLE_EVERY + uniform(s.net.rng))
        s.net.queue_delay[k, 0] += idle
        s.net.queue_packets[k, 0] += idle
    per_packet = 1.0 / (packet_size(link) * link.per_byte)
    for _ in range(int(looked / SAMPLE_EVERY + uniform(s.net.rng))):
        delay = min(max(link.queue + link.spread * windows.normal(s.net.rng), 0.0), link.room)
        s.net.queue_delay[k, min(int(delay / watch.width), s.net.queue_delay.shape[1] - 1)] += 1
        packets = int(delay * per_packet)
        s.net.queue_packets[k, min(packets, s.net.queue_packets.shape[1] - 1)] += 1


QUEUE_SHARE = 0.005  # of a new look in the mean queue of all peers that have something to send
SAMPLE_EVERY = 0.1  # [s], as in full fidelity (btflow/swarm/access.py)
