"""Access links without packets: a queue for each direction of each link, a window for each connection.

What a lane carries is its window over the round trip, all queues on the way included, that of the receiver's uplink in
which the ACKs wait, too:

    rate = W MSS / (base + q_sender + q_receiver + D_receiver + D_sender)        dq/dt = (sum of rates + ACKs - C) / C

(Misra, Gong and Towsley, SIGCOMM 2000). The windows are moved by the laws of `kernels/link/laws`, the very functions
that packets call, once for each ACK that so many bytes make. Where the windows together hold more than a link and its
buffer, what is too much is dropped, packet by packet, from a lane drawn by its rate; its sender hears of it a round trip
later, and until then goes on as before: so others lose too, as they do behind a full drop-tail queue.

In one step of a peer's look (`move`): 1. ACKs move the windows (rates of the step that ends; old queues); 2. the
downlink's queue; 3. the uplink's queue, by an implicit step, which is stable however short the round trip is; 4. drops;
5. new rates. Between two looks rates change when lanes begin or end to send.

Times of a lane are those of the receiver: a block is over when its last byte is there, and begins, after a pause, when
its first byte is: `hold`.
"""

import math

import numpy as np

from btflow.kernels import bits
from btflow.kernels.flow.state import CLOSING
from btflow.kernels.jit import kernel
from btflow.kernels.link import law, sender, timeout
from btflow.kernels.link.state import BBR, CONNECTED, NEWRENO, OPEN, PER_LOSS, RECOVERY, TAHOE, UTP
from btflow.kernels.link.state import LOSS as LOST
from btflow.kernels.rng import uniform
from btflow.kernels.state import FOREVER

# Waiting behind other packets of a queue that is short: packet times at a utilisation of rho, as of random arrivals
# (M/D/1: 0.5 rho / (1 - rho)), less than half of it since ACKs pace what is sent. Fitted once, to the delay of uTP
# alone on an uplink: docs/fidelity.md, "constants".
NOISE = 0.2
BUSIEST = 0.93  # utilisation from which the queue itself decides
DUPLICATES = 3.0  # duplicate ACKs by which a loss is found (RFC 5681), of segments sent behind it
MOST_ACKS = 12  # for which laws that count segments are asked one by one in a step; of more, so many parts


@kernel
def flow_of(s, u):
    """The flow of the connection of lane `u`, from its uploader to its downloader."""
    return s.net.flow[s.lane[u].h]


@kernel
def wire_bytes(s, p, f):
    """A full segment on the uplink of peer `p` [B]."""
    return f.mss + f.header + s.net.link[p].framing


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
    f.rtt = round_trip(s, p, y, f)
    f.min_rtt = f.rtt
    f.top = -1
    timeout.estimate(f)
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
    crossing = wire_bytes(s, p, f) * (a.per_byte + b.per_byte_down) + f.ack_size * b.per_byte
    return 2.0 * (a.delay + b.delay) + crossing + queued + b.down_queue


@kernel
def round_trip(s, p, y, f):
    """Round-trip time of a full segment of peer `p` to `y` and its ACK [s]."""
    return base_trip(s, p, y, f) + s.net.link[p].seen


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
def window(s, u, f, t):
    """Segments that lane `u` keeps on the way: its window, or all that it was asked for, or one if it is paced."""
    pull = s.net.pull[u]
    if pull.timer == 1 and t >= pull.silent:
        return 0.0
    asked_for = pull.blocks * (s.rules.block_size + s.rules.header) / f.mss
    return max(min(min(max(f.cwnd, 1.0), f.max_window), asked_for) - pull.lost, 0.0)


@kernel
def ack_wait(f, pull, t):
    """Time that the delayed ACK of a lone segment waits [s]; while something is missing ACKs go at once (RFC 5681)."""
    return f.ack_delay if f.cwnd < f.ack_every and t > pull.whole else 0.0


@kernel
def paced(f, rtt):
    """Segments a second that a paced flow sends at most; FOREVER if it is not."""
    if f.pacing <= 0.0:
        return FOREVER
    return 1.0 / (1.0 / f.pacing + rtt) if f.law == UTP else f.pacing


# -- one step ---------------------------------------------------------------------------------------------------------


@kernel
def move(s, p, t):
    """Bring the access link of peer `p` and the windows of its lanes up to `t`."""
    link = s.net.link[p]
    dt = t - link.at
    if dt <= 0.0:
        return
    link.at = t
    first = p << s.lane_bits
    for u in range(first, first + s.peer[p].top):
        if s.finish[u] < FOREVER:
            acknowledge(s, p, u, t, dt)
    fill_downlink(s, p, dt)
    fill_uplink(s, p, t, dt)
    share(s, p, t)
    note(s, p, t)


@kernel
def acknowledge(s, p, u, t, dt):
    """ACKs for what lane `u` brought in the step that ends: its window moves, a loss is answered."""
    pull, h = s.net.pull[u], np.int64(s.lane[u].h)
    f = s.net.flow[h]
    y = np.int64(s.lane[u].g) >> s.rules.slot_bits
    f.rtt = round_trip(s, p, y, f)
    f.owd = one_way(s, p, y)
    f.rtt += ack_wait(f, pull, t)
    f.stamp = t - f.rtt
    f.min_rtt = min(f.min_rtt, f.rtt)
    f.last_sent = t
    timeout.estimate(f)
    pull.blocks = asked(s, u, t)
    if pull.answer <= t:
        answer(s, h, f, pull, t)
    elif f.phase == RECOVERY and pull.repaired <= t:
        f.phase = OPEN
        f.cwnd = f.ssthresh
    since = max(t - dt, pull.hold)
    if since >= t:
        return
    segments = pull.rate * (t - since) / f.mss
    pull.credit += segments
    on_the_way = window(s, u, f, t)
    left = (asked_bytes(s, u, t) + pull.rate * one_way(s, y, p)) / f.mss
    f.limited = 1 if left >= f.cwnd else 0
    f.sample_rate = pull.rate / f.mss
    f.sample_limited = 1 - f.limited
    flight = int(min(on_the_way, left))
    f.flight = 0 if f.cwnd < 1.0 else flight
    deliver(s, h, f, pull, flight, since, t)


@kernel
def asked_bytes(s, u, t):
    """Bytes that lane `u` has been asked for and that have not come at `t`."""
    pull = s.net.pull[u]
    begun = max(0.0, t - max(pull.at, pull.hold)) * pull.rate
    return max(pull.rest - begun, 0.0) + max(pull.blocks - 1, 0) * (s.rules.block_size + s.rules.header)


@kernel
def deliver(s, h, f, pull, flight, since, t):
    """One ACK after the other, spread over the time since `since`, as the law counts them, each with a delay of its own."""
    p = h >> s.rules.slot_bits
    link = s.net.link[p]
    batch = 1.0 if f.cwnd < f.ack_every else float(f.ack_every)
    n = math.floor(pull.credit / batch)
    if n <= 0.0:
        return
    pull.credit -= n * batch
    if f.counts_segments and n > MOST_ACKS:
        batch *= n / MOST_ACKS
        n = float(MOST_ACKS)
    rtt, owd, queue, scatter = f.rtt, f.owd, link.queue, link.spread
    room = buffer(s, p)
    alike = rtt / (rtt + (t - since) / n)
    fresh = math.sqrt(1.0 - alike * alike)
    for k in range(int(n)):
        now = since + (t - since) * (k + 1.0) / n
        if f.law != NEWRENO:
            pull.noise = alike * pull.noise + fresh * normal(s.rng)
            waits = min(max(queue + scatter * pull.noise, 0.0), room) - link.seen
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
    f.rtt, f.owd = rtt, owd


@kernel
def normal(rng):
    """A variable of mean 0 and variance 1, nearly normal: the sum of four uniform ones."""
    return 1.7320508075688772 * (uniform(rng) + uniform(rng) + uniform(rng) + uniform(rng) - 2.0)


@kernel
def answer(s, h, f, pull, t):
    """The sender has found a loss, and sends again what was lost: some of it is dropped again."""
    again = pull.lost
    timed = pull.timer
    pull.answer = FOREVER
    pull.lost = 0
    pull.timer = 0
    f.flight = int(f.cwnd)
    f.nxt = f.una + f.flight
    if uniform(s.rng) > (1.0 - s.net.link[h >> s.rules.slot_bits].full) ** again:
        pull.lost = 1
        pull.timer = 1 if timed == 1 or not f.lost_retransmit else 0
        pull.silent = t
        pull.lost_at = t
        pull.fires = t + (2.0 if timed == 1 else 1.0) * f.rto
        pull.answer = pull.fires if pull.timer == 1 else t + f.rtt
        pull.whole = pull.answer + pull.way
    if timed == 1:
        f.timeouts += 1
        f.ssthresh = law.timeout(s.net, h, f, t)
        f.cwnd = 1.0
        f.phase = OPEN
        return
    f.losses += 1
    f.ssthresh = law.reduce(s.net, h, f, t)
    if f.recovery == PER_LOSS:
        return
    f.cwnd = 1.0 if f.recovery == TAHOE else f.ssthresh
    f.phase = OPEN if f.recovery == TAHOE else RECOVERY
    pull.repaired = t + f.rtt


@kernel
def lose(s, p, u, t):
    """A packet of lane `u` is dropped: its sender finds out by what comes behind it, or by its timer."""
    pull = s.net.pull[u]
    f = flow_of(s, u)
    pull.lost += 1
    first = pull.answer == FOREVER
    if first:
        pull.lost_at = t
        pull.fires = t + f.rto + (0.5 * f.rtt if f.cwnd >= 2.0 else 0.0)
    moving = f.cwnd - pull.lost
    unsent = asked_bytes(s, u, t) - window(s, u, f, t) * f.mss
    found = FOREVER
    if moving > 0.0 and (unsent >= DUPLICATES * f.mss or moving >= f.cwnd * DUPLICATES):
        found = pull.lost_at + f.rtt * math.ceil(DUPLICATES / moving)
    pull.timer = 1 if pull.fires < found else 0
    pull.answer = min(found, pull.fires)
    pull.silent = t + f.rtt
    if first:
        missing(s, p, u, t)
    pull.whole = pull.answer + pull.way


@kernel
def missing(s, p, u, t):
    """Of what lane `u` sends from `t` on nothing is delivered before what was lost is there."""
    pull, way = s.net.pull[u], one_way(s, p, np.int64(s.lane[u].g) >> s.rules.slot_bits)
    pull.hole_before, pull.whole_before = pull.hole, pull.whole
    pull.hole = t + way
    pull.whole = pull.answer + way
    pull.way = way


@kernel
def delivered(pull, t):
    """When what has come at `t` is handed over: in order, so behind a segment that is missing."""
    if pull.hole_before <= t < pull.whole_before:
        t = pull.whole_before
    return pull.whole if pull.hole <= t < pull.whole else t


# -- queues -----------------------------------------------------------------------------------------------------------


@kernel
def fill_downlink(s, p, dt):
    """The queue of the downlink of peer `p` after a step."""
    link = s.net.link[p]
    if link.inflow * link.per_byte_down <= 1.0 and link.down_queue == 0.0:
        return
    link.down_queue = max(0.0, link.down_queue + dt * (link.inflow * link.per_byte_down - 1.0))
    if link.down_queue > link.down_room:
        link.down_drops += (link.down_queue - link.down_room) / (1500.0 * link.per_byte_down)
        link.down_queue = link.down_room
        while link.down_drops >= 1.0:
            link.down_drops -= 1.0
            drop_incoming(s, p, link.at)


@kernel
def drop_incoming(s, p, t):
    """A packet on its way to peer `p` is dropped at its downlink: one of a lane drawn by its rate."""
    total, n = 0.0, np.int64(s.peer[p].n_served)
    for i in range(n):
        total += s.net.pull[s.served[p, i]].sent
    at = uniform(s.rng) * total
    s.net.link[p].dropped_down += 1.0
    for i in range(n):
        u = np.int64(s.served[p, i])
        at -= s.net.pull[u].sent
        if at < 0.0:
            lose(s, u >> s.lane_bits, u, t)
            return


@kernel
def fill_uplink(s, p, t, dt):
    """The queue of the uplink of peer `p` after a step, and what its buffer does not take.

    Not its length is followed but its mean: what is on the way elsewhere scatters like random arrivals, by its root, so
    the queue is normal around `link.queue` with `spread`, cut off where it is empty and where it is full. There the link
    idles, here packets are dropped:

        dq/dt = (in / C) (1 - P(full)) - (1 - P(empty))
    """
    link = s.net.link[p]
    if link.per_byte == 0.0:
        return
    came, slope, away = link.acks, 0.0, 0.0
    first = p << s.lane_bits
    for u in range(first, first + s.peer[p].top):
        if s.finish[u] < FOREVER:
            f = flow_of(s, u)
            pull = s.net.pull[u]
            bytes_, base = wire_bytes(s, p, f), base_trip(s, p, np.int64(s.lane[u].g) >> s.rules.slot_bits, f)
            trip = base + link.seen
            trip += ack_wait(f, pull, t)
            rate = window(s, u, f, t) / trip
            most = paced(f, trip)
            if t < pull.primed:
                rate = 0.0
            elif rate < most:
                slope += bytes_ * rate / trip
            else:
                rate = most
            away += rate * base * bytes_ * bytes_
            pull.offers = rate * bytes_
            came += pull.offers
    if link.capped == 1:
        came = min(came, link.acks + 1.04 * s.peer[p].cap)
    room = buffer(s, p)
    held = 1500.0 * room / link.per_byte  # variance of as many packets as the buffer holds
    spread = max(math.sqrt(away * held / (away + held)), 750.0) * link.per_byte
    full, empty = normal_below((link.queue - room) / spread), normal_below(-link.queue / spread)
    load = came * link.per_byte
    change = load * (1.0 - full) - (1.0 - empty)
    stiff = slope * link.per_byte * (1.0 - full)
    stiff += (load * normal_at((link.queue - room) / spread) + normal_at(link.queue / spread)) / spread
    link.queue += (change * dt + link.control * link.per_byte) / (1.0 + dt * stiff)
    link.queue = max(link.queue, -3.0 * spread)
    link.control = 0.0
    link.full = full
    link.seen = clipped_mean(link.queue, spread, room)
    link.spread = spread
    link.drops += came * full * dt / 1500.0
    while link.drops >= 1.0:
        link.drops -= 1.0
        drop_outgoing(s, p, t)


@kernel
def normal_below(z):
    """Chance that a standard normal variable is below `z`."""
    return 0.5 * math.erfc(-0.7071067811865476 * z)


@kernel
def normal_at(z):
    """Density of a standard normal variable."""
    return 0.3989422804014327 * math.exp(-0.5 * z * z)


@kernel
def clipped_mean(mean, spread, most):
    """Mean of a normal variable that is cut off at 0 and at `most`."""
    low, high = mean / spread, (mean - most) / spread
    above = normal_at(low) + low * normal_below(low)
    return min(max(spread * (above - normal_at(high) - high * normal_below(high)), 0.0), most)


@kernel
def buffer(s, p):
    """Time that a full buffer of the uplink of peer `p` takes to empty, with the packets that come now [s]."""
    link = s.net.link[p]
    acks = link.acks * link.per_byte
    size = 1500.0 * (1.0 - min(acks, 0.9)) + 60.0 * min(acks, 0.9)
    return min(link.room_bytes, (link.room_packets + 1.0) * size) * link.per_byte


@kernel
def drop_outgoing(s, p, t):
    """A packet is dropped at the uplink of peer `p`: one of a lane drawn by what it offers."""
    link, first = s.net.link[p], p << s.lane_bits
    link.dropped += 1.0
    total = link.acks
    for u in range(first, first + s.peer[p].top):
        if s.finish[u] < FOREVER:
            total += s.net.pull[u].offers
    at = uniform(s.rng) * total
    for u in range(first, first + s.peer[p].top):
        if s.finish[u] < FOREVER:
            at -= s.net.pull[u].offers
            if at < 0.0:
                lose(s, p, u, t)
                return


# -- rates ------------------------------------------------------------------------------------------------------------


@kernel
def share(s, p, t):
    """New rates of the lanes of peer `p` at `t`: what their windows allow, the link, and the upload limit."""
    link, first, cap = s.net.link[p], p << s.lane_bits, s.peer[p].cap
    total = payload = 0.0
    active = 0
    for u in range(first, first + s.peer[p].top):
        if s.finish[u] < FOREVER:
            pull, f = s.net.pull[u], flow_of(s, u)
            y = np.int64(s.lane[u].g) >> s.rules.slot_bits
            trip = round_trip(s, p, y, f)
            trip += ack_wait(f, pull, t)
            pull.wants = f.mss * min(window(s, u, f, t) / trip, paced(f, trip))
            total += pull.wants * wire_bytes(s, p, f) / f.mss
            payload += pull.wants
            active += 1
    if active == 0:
        link.capped = 0
        return
    room = 1.0 / link.per_byte - link.acks if link.per_byte > 0.0 else FOREVER
    scale = max(room, 0.05 * (room + link.acks)) / total if total > room else 1.0
    link.capped = 1 if payload * scale > cap else 0
    level = FOREVER
    if link.capped == 1:
        level = water_level(s, p, cap, scale, active)
    for u in range(first, first + s.peer[p].top):
        if s.finish[u] < FOREVER:
            pull, f = s.net.pull[u], flow_of(s, u)
            b = s.net.link[np.int64(s.lane[u].g) >> s.rules.slot_bits]
            rate = min(pull.wants * scale, level)
            down = b.inflow * b.per_byte_down
            set_rate(s, p, u, rate, rate / down if down > 1.0 else rate, t)


@kernel
def water_level(s, p, cap, scale, active):
    """The rate that no lane of peer `p` exceeds so that all together keep its upload limit: turns go round."""
    first = p << s.lane_bits
    level = cap / active
    for _ in range(active):
        under, n = 0.0, 0
        for u in range(first, first + s.peer[p].top):
            if s.finish[u] < FOREVER:
                if s.net.pull[u].wants * scale < level:
                    under += s.net.pull[u].wants * scale
                    n += 1
        better = (cap - under) / (active - n) if n < active else level
        if better <= level * (1.0 + 1e-9):
            break
        level = better
    return level


@kernel
def set_rate(s, p, u, sent, rate, t):
    """Lane `u` brings `rate` payload [B/s] from `t` on; its uplink lets `sent` through."""
    pull, f = s.net.pull[u], flow_of(s, u)
    pull.rest -= max(0.0, t - max(pull.at, pull.hold)) * pull.rate
    pull.at = t
    b = s.net.link[np.int64(s.lane[u].g) >> s.rules.slot_bits]
    per = 1.0 / f.mss
    bytes_ = wire_bytes(s, p, f)
    b.inflow += (sent - pull.sent) * per * bytes_
    acks = 0.0
    if s.net.watch[0].free_acks == 0 and not rides(s, u):
        acks = rate * per / max(f.ack_every, 1) * (f.ack_size + b.framing)
    b.acks += acks - pull.acks
    pull.sent, pull.rate, pull.acks = sent, rate, acks
    if s.finish[u] < FOREVER:
        if pull.rest <= 0.0:
            s.finish[u] = delivered(pull, max(t, pull.hold))
        else:
            s.finish[u] = max(t, pull.hold) + pull.rest / rate if rate > 0.0 else 1e17


@kernel
def rides(s, u):
    """True if the ACKs of lane `u` ride on data that goes the other way."""
    if s.rules.split == 1:
        return False
    lane = s.end[s.lane[u].g].lane
    return lane >= 0 and s.finish[((np.int64(s.lane[u].g) >> s.rules.slot_bits) << s.lane_bits) + lane] < FOREVER


@kernel
def begin(s, p, u, size, asked_at, t):
    """Lane `u` begins to send a block of `size` bytes, asked for at `asked_at`; it was silent, or its pipe is empty."""
    h, pull = np.int64(s.lane[u].h), s.net.pull[u]
    y = np.int64(s.lane[u].g) >> s.rules.slot_bits
    lay(s, h, t)
    f = s.net.flow[h]
    f.flight = 0
    sender.restart_after_idle(s.net, h, f, asked_at)
    pull.blocks = asked(s, u, t)
    pull.hold = max(t, asked_at + one_way(s, p, y))
    pull.at = pull.hold
    first = burst(s, p, u, f, asked_at)
    pull.rest = size - 0.5 * first * f.mss
    pull.primed = asked_at + round_trip(s, p, y, f)
    s.finish[u] = 1e17
    share(s, p, t)


@kernel
def burst(s, p, u, f, t):
    """The first segments of lane `u` come to the uplink's queue together: what finds no room there is lost.

    Returns how many found room.
    """
    link, pull = s.net.link[p], s.net.pull[u]
    n = window(s, u, f, t)
    one = wire_bytes(s, p, f) * link.per_byte
    if one == 0.0 or f.pacing > 0.0:
        return n
    fits = max(0.0, math.floor((buffer(s, p) - link.seen) / one))
    if n <= fits:
        link.queue = max(link.queue, 0.0) + n * one
        return n
    link.queue = max(link.queue, 0.0) + fits * one
    link.dropped += n - fits
    pull.lost = int(n - fits)
    pull.lost_at = t
    pull.fires = t + f.rto + (f.rtt if fits > 0.0 else 0.0)
    more = fits >= DUPLICATES and pull.blocks * (s.rules.block_size + s.rules.header) > (n + DUPLICATES) * f.mss
    pull.timer = 0 if more else 1
    pull.silent = t + f.rtt
    pull.answer = t + 2.0 * f.rtt if more else pull.fires
    missing(s, p, u, t)
    return fits


@kernel
def come(s, u, t):
    """What has come of lane `u` by `t` beyond the block that has ended counts for the next."""
    pull = s.net.pull[u]
    pull.rest = min(0.0, pull.rest - max(0.0, t - max(pull.at, pull.hold)) * pull.rate)


@kernel
def follow(s, p, u, size, hold, t):
    """The next block of lane `u` follows at `t`, or when its first byte is there, at `hold`."""
    pull = s.net.pull[u]
    pull.rest = min(pull.rest, 0.0) + size
    pull.hold = hold
    pull.at = max(t, hold)
    pull.blocks = asked(s, u, t)
    if pull.rest <= 0.0:
        s.finish[u] = pull.at
    else:
        s.finish[u] = pull.at + pull.rest / pull.rate if pull.rate > 0.0 else 1e17


@kernel
def stop(s, p, u, t):
    """Lane `u` has nothing more to send; the others share what it had."""
    s.finish[u] = FOREVER
    set_rate(s, p, u, 0.0, 0.0, t)
    s.net.pull[u].credit = 0.0
    s.net.flow[s.lane[u].h].last_sent = t
    share(s, p, t)


@kernel
def renew(s, u):
    """A fresh lane: nothing of the one before is left."""
    pull = s.net.pull[u]
    pull.answer = FOREVER
    pull.repaired = 0.0
    pull.credit = 0.0
    pull.lost = 0
    pull.timer = 0
    pull.noise = 0.0
    pull.left = 0
    pull.hole = pull.hole_before = FOREVER
    pull.whole = pull.whole_before = 0.0


# -- the socket -------------------------------------------------------------------------------------------------------


@kernel
def written_ahead(s, u, t):
    """Bytes of lane `u` in its socket and on the way, beyond what has come at `t`."""
    pull, f = s.net.pull[u], flow_of(s, u)
    p, y = u >> s.lane_bits, np.int64(s.lane[u].g) >> s.rules.slot_bits
    if s.net.link[p].capped == 1:
        return pull.rate * one_way(s, p, y)
    on_the_way = window(s, u, f, t) * f.mss
    if f.socket_unsent == 1:
        return on_the_way + f.socket
    takes = max(f.socket, f.socket_windows * f.cwnd * f.mss + f.mss) if f.socket_windows > 0.0 else f.socket
    return max(takes - pull.rate * one_way(s, y, p), 0.0)


@kernel
def committed(s, u, t):
    """Blocks of lane `u` that are written to its socket at `t`, in part or in full: they will be sent."""
    if not s.finish[u] < FOREVER:
        return 0
    pull = s.net.pull[u]
    ahead = written_ahead(s, u, t)
    start = max(pull.rest - max(0.0, t - max(pull.at, pull.hold)) * pull.rate, 0.0)
    n, most = 1, asked(s, u, t)
    while n < most and start <= ahead:
        n += 1
        start += s.rules.block_size + s.rules.header
    return n


@kernel
def drained(s, u, t):
    """When all that lane `u` has written by `t` is there."""
    n = committed(s, u, t)
    if n == 0:
        return t
    pull, f = s.net.pull[u], flow_of(s, u)
    block = s.rules.block_size + s.rules.header
    begun = max(0.0, t - max(pull.at, pull.hold)) * pull.rate
    left = max(pull.rest - begun, 0.0) + (n - 1) * block
    rate = max(pull.rate, 0.5 * f.mss * max(f.cwnd, 1.0) / f.rtt)
    return delivered(pull, max(t, pull.hold) + left / rate)


@kernel
def lag(s, u, t):
    """How long before it comes a block of lane `u` is written [s]: a CANCEL must be there before that."""
    rate = s.net.pull[u].rate
    return written_ahead(s, u, t) / rate if rate > 0.0 else 0.0


@kernel
def note(s, p, t):
    """Enter the queue of peer `p` into the statistics."""
    watch = s.net.watch[0]
    if s.clock[0].unfinished > watch.begin or s.peer[p].registered == 0:
        return
    link, k = s.net.link[p], np.int64(s.peer[p].klass)
    s.net.queue_delay[k, min(int(link.seen / watch.width), s.net.queue_delay.shape[1] - 1)] += 1
    size = 1500.0
    packets = int(link.queue / (size * link.per_byte)) if link.per_byte > 0.0 else 0
    s.net.queue_packets[k, min(packets, s.net.queue_packets.shape[1] - 1)] += 1


__all__ = ["BBR", "CLOSING", "LOST"]
