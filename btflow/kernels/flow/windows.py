"""Windows of the lanes of peers with access links, and what losses make of them.

What a lane carries is its window over the round trip, all queues on the way included, that of the receiver's uplink in
which the ACKs wait, too.

A sender finds a loss by three segments that come behind the lost one, or by its timer if its window is too small for
that or nothing follows. With RACK one segment and some time do, and with nothing behind it a probe. Until then it goes
on with what is left of its window; so others lose too, as they do behind a drop-tail queue. What it sends again may be
lost again. The receiver gets nothing of what came behind the lost segment before that is there.
"""

import math

import numpy as np

from btflow.kernels import bits
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow import queues
from btflow.kernels.flow.state import FAST, NO_LANE, SERVING
from btflow.kernels.link import laws, recovery
from btflow.kernels.link.laws import utp_libtorrent
from btflow.kernels.link.state import BBR, CONNECTED, OPEN, PER_LOSS, RACK, RECOVERY, TAHOE, UTP
from btflow.kernels.random import next_u64, uniform
from btflow.kernels.swarm.state import FOREVER

DUPLICATES = 3.0  # segments behind a lost one that show it (RFC 5681: duplicate ACKs)
FEWEST_ACKS = 0.001  # for a segment, where the data of the other direction take them along
FIRST = 0.5  # of a round trip: spread over one, the first window comes so much later than it does


@kernel
def lay(s, h, t):
    """Begin to send data on the connection of end `h`, if nobody did before: its flow is laid."""
    net, e = s.net, s.end[h]
    f = net.flow[h]
    if f.running == CONNECTED and f.generation == e.generation:
        return
    p, y = h >> s.rules.slot_bits, np.int64(e.mate) >> s.rules.slot_bits
    net.flow[h] = net.template[s.peer[p].klass, net.protocol[h]]
    f.generation = e.generation
    f.running = CONNECTED
    f.cwnd = f.initial_window
    f.ssthresh = FOREVER
    f.last_sent = t
    f.owd = one_way(s, p, y)
    f.rtt = base_trip(s, p, y, f) + net.link[p].seen
    f.min_rtt = f.rtt
    f.top = -1
    recovery.estimate_rtt(f)
    laws.start(net, h, f, t)


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
    return max(min(min(whole(f), f.max_window), asked_for) - pull.lost, 0.0)


@kernel
def whole(f):
    """The window without what is less than a packet: one that does not fit waits (kernels/link/sender.py)."""
    packet = f.packet / f.mss if utp_libtorrent.rules(f) else 1.0
    return math.floor(max(f.cwnd, 1.0) / packet + 1e-9) * packet


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
    if slow_starts(f) and f.limited == 1 and pull.lost == 0:  # it grows in the step for which this holds
        pull.window = min(pull.window * (1.0 + 0.5 * s.net.link[p].step / f.rtt), f.max_window)
    pull.base = base_trip(s, p, np.int64(pull.to), f)
    if f.cwnd < f.ack_every and t > pull.whole:  # a lone segment's ACK waits; while something is missing it does not
        pull.base += f.ack_delay
    pull.most = FOREVER
    if f.pacing > 0.0:
        trip = pull.base + s.net.link[p].seen
        pull.most = 1.0 / (1.0 / f.pacing + trip) if f.law == UTP else f.pacing


@kernel
def slow_starts(f):
    """Whether the window grows as fast as ACKs come."""
    return f.cwnd < f.ssthresh and (f.opening == 1 or not utp_libtorrent.rules(f))


@kernel
def segments_of(f, flight):
    """Whole segments of what is on the way; a part of one is one where small packets may fill a window."""
    return int(math.ceil(flight - 1e-9)) if utp_libtorrent.rules(f) else int(flight)


@kernel
def left_after(f, flight, batch):
    """Of `flight` segments on the way what an ACK for `batch` of them leaves there, where the law asks for that."""
    return max(flight - int(batch), 0) if utp_libtorrent.rules(f) else flight


@kernel
def normal(rng):
    """A variable of mean 0 and variance 1, nearly normal: the sum of four uniform ones, of 16 bits each."""
    drawn = next_u64(rng)
    low, half = np.uint64(0xFFFF), np.uint64(16)
    total = drawn & low
    for _ in range(3):
        drawn >>= half
        total += drawn & low
    return 1.7320508075688772 * (float(total) / 65536.0 - 2.0)


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
    if utp_libtorrent.rules(f):  # data that an ACK lets go take along one for what that came with
        return 1.0 / max(1.0 - back / rate, FEWEST_ACKS) if rate > 0.0 else 1.0
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


# -- losses: whose packet is dropped -----------------------------------------------------------------------------------


@kernel
def drop_outgoing(s, p, t):
    """A packet is dropped at the uplink of peer `p`: one of a lane drawn by what it offers, or an ACK."""
    link, first = s.net.link[p], p << s.lane_bits
    link.dropped += 1.0
    total = link.acks
    for u in range(first, first + s.peer[p].top):
        if s.finish[u] < FOREVER:
            total += s.net.pull[u].offers
    at = uniform(s.net.rng) * total
    for u in range(first, first + s.peer[p].top):
        if s.finish[u] < FOREVER:
            at -= s.net.pull[u].offers
            if at < 0.0:
                lose(s, p, u, t)
                return


@kernel
def drop_incoming(s, p, t):
    """A packet on its way to peer `p` is dropped at its downlink: one of a lane drawn by its rate."""
    total, n = 0.0, np.int64(s.peer[p].n_served)
    s.net.link[p].dropped_down += 1.0
    for i in range(n):
        total += s.net.pull[s.served[p, i]].sent
    at = uniform(s.net.rng) * total
    for i in range(n):
        u = np.int64(s.served[p, i])
        at -= s.net.pull[u].sent
        if at < 0.0:
            lose(s, u >> s.lane_bits, u, t)
            return


@kernel
def lose_on_the_way(s, p, u, mean, t):
    """Of what lane `u` sent in a step, `mean` packets were lost behind its queues, in the mean: as many at random."""
    n = math.floor(mean)
    if uniform(s.net.rng) < mean - n:
        n += 1.0
    for _ in range(int(n)):
        lose(s, p, u, t)
        s.net.pull[u].latest = t


@kernel
def lose(s, p, u, t):
    """A packet of lane `u` is dropped: its sender finds out by what comes behind it, or by its timer."""
    pull, f = s.net.pull[u], s.net.flow[s.lane[u].h]
    pull.lost += 1
    first = pull.answer == FOREVER
    if first:
        pull.lost_at = pull.latest = t
        pull.fires = fires(f, t, f.rto)
        pull.fires += 0.5 * f.rtt if f.cwnd >= 2.0 else 0.0  # what is ahead of it still puts it off
    moving = f.cwnd - pull.lost
    unsent = asked_bytes(s, u, t) - on_the_way(s, u, f, t) * f.mss
    found = FOREVER
    serves = s.lane[u].state == SERVING or s.lane[u].state == FAST
    asks = pull.blocks > 1 and serves and s.lane[u].leaving == 0
    if moving > 0.0 and (unsent >= DUPLICATES * f.mss or asks):
        found = pull.lost_at + f.rtt * math.ceil(DUPLICATES / moving)
        if unsent < DUPLICATES * f.mss:  # a block that is there is followed by a request, and that by segments
            found += f.rtt
    if f.detection == RACK:
        found = pull.lost_at + found_by_time(f, moving, max(unsent / f.mss, 1.0 if asks else 0.0))
        if f.tail_probe:  # which goes before the timer fires, and starts that anew
            pull.fires = found
    pull.timer = 1 if pull.fires < found else 0
    pull.silent = t + f.rtt
    wait(s, p, u, min(found, pull.fires), t if first else FOREVER)


@kernel
def fires(f, t, rto):
    """When a timer of `rto` fires that starts at `t`."""
    return utp_libtorrent.expiry(f, t + rto - f.rto, 1.0) if utp_libtorrent.rules(f) else t + rto


@kernel
def found_by_time(f, moving, behind):
    """How long after a loss RACK or a probe finds it [s]; FOREVER: neither does.

    `moving` segments of the window go on, `behind` are there to be sent after the lost one (link/recovery.py).
    """
    if moving > 0.0 and behind >= 1.0:
        late = min(moving, behind) < DUPLICATES
        return f.rtt + (recovery.REORDERING * f.min_rtt if late else 0.0)
    if not f.tail_probe:
        return FOREVER
    late = f.rto_min if f.cwnd < 2.0 else recovery.GRANULARITY
    return min(recovery.ROUND_TRIPS * f.srtt + late, f.rto) + f.rtt


@kernel
def burst(s, p, u, f, t):
    """The first segments of lane `u` come to the uplink's queue together: what finds no room there is lost."""
    link, pull = s.net.link[p], s.net.pull[u]
    n = pull.window
    one = pull.bytes * link.per_byte
    if f.pacing > 0.0:
        return
    fits = min(n, max(0.0, math.floor((queues.buffer(link) - max(link.seen, link.queue)) / one)))
    link.queue = max(link.queue, 0.0) + fits * one
    if fits == n:
        return
    answer_now(s, np.int64(s.lane[u].h), f, pull, t)
    link.dropped += n - fits
    pull.lost = int(n - fits)
    pull.lost_at = t
    pull.fires = fires(f, t, f.rto) + (f.rtt if fits > 0.0 else 0.0)
    need = 1.0 if f.detection == RACK else DUPLICATES
    more = fits >= need and pull.blocks * (s.rules.block_size + s.rules.header) > (n + need) * f.mss
    found = t + 2.0 * f.rtt
    if not more:  # the lost ones are the last: a probe finds them, or the timer
        found = pull.fires if not f.tail_probe else t + found_by_time(f, fits, 0.0)
    pull.timer = 0 if more or f.tail_probe else 1
    pull.silent = t + f.rtt
    ahead = FIRST * f.rtt if fits > 0.0 else 0.0  # the lost ones are the last: what fits comes before them
    wait(s, p, u, found, t + ahead)
    pull.window = fits


# -- losses: the answer ------------------------------------------------------------------------------------------------


@kernel
def wait(s, p, u, answer, since):
    """The sender of lane `u` answers at `answer` to what was lost; what it sends from `since` on comes later."""
    pull = s.net.pull[u]
    way = one_way(s, p, np.int64(pull.to))
    if since < FOREVER:
        pull.hole_before, pull.whole_before = pull.hole, pull.whole
        pull.hole = since + way
    pull.answer = answer
    pull.whole = answer + way


@kernel
def handed_over(pull, t):
    """When what has come at `t` is handed over: in order, so behind a segment that is missing."""
    if pull.hole_before <= t < pull.whole_before:
        t = pull.whole_before
    return pull.whole if pull.hole <= t < pull.whole else t


@kernel
def answer(s, p, h, f, pull, t):
    """The sender has found a loss, and sends again what was lost: some of it is dropped again.

    Without a phase of recovery (uTP) each loss on the way is found and answered by itself; those of one overflow come
    together, and are one.
    """
    lost, timed = pull.lost, pull.timer
    f.lost_sent = pull.lost_at
    pull.answer = FOREVER
    pull.lost = pull.timer = 0
    f.flight = int(f.cwnd) if f.law != BBR else int(min(f.cwnd, pull.rate * pull.per_mss * f.rtt))
    f.nxt = f.una + f.flight
    if uniform(s.net.rng) > ((1.0 - s.net.link[p].full) * (1.0 - f.data_loss)) ** lost:
        pull.lost = 1
        pull.timer = 1 if timed == 1 or not f.lost_retransmit else 0
        pull.silent = pull.lost_at = t
        pull.fires = fires(f, t, (2.0 if timed == 1 else 1.0) * f.rto)
        pull.answer = pull.fires if pull.timer == 1 else t + f.rtt
        pull.whole = pull.answer + one_way(s, p, np.int64(pull.to))
    elif f.recovery == PER_LOSS and timed == 0 and lost > 1 and pull.latest > pull.lost_at:
        pull.lost = lost - 1
        gap = (pull.latest - pull.lost_at) / pull.lost
        pull.lost_at += gap
        pull.silent = t + f.rtt
        pull.answer = t + gap
        pull.whole = pull.answer + one_way(s, p, np.int64(pull.to))
    if fall(s.net, h, f, timed, 1, t):
        pull.repaired = t + f.rtt


@kernel
def fall(net, i, f, timed, counts, t):
    """What a loss, found by the timer or not, leaves of the window of flow `i`; True if it is repaired in a phase.

    With `counts` 1 it is one of the falls that are counted.
    """
    if timed == 1:
        f.expired += 1
        f.timeouts += counts
        f.ssthresh = laws.timeout(net, i, f, t)
        f.cwnd = 1.0
        f.phase = OPEN
        return False
    before = f.cwnd
    f.ssthresh = laws.reduce(net, i, f, t)
    if f.cwnd < before or not utp_libtorrent.rules(f):
        f.falls += 1
        f.losses += counts
    if f.recovery == PER_LOSS:
        return False
    f.cwnd = 1.0 if f.recovery == TAHOE else f.ssthresh
    f.phase = OPEN if f.recovery == TAHOE else RECOVERY
    return True


@kernel
def answer_now(s, h, f, pull, t):
    """A lane has fallen silent or ends: what it lost and had not found is found by now, and moves its window."""
    if pull.answer < FOREVER:
        f.lost_sent = pull.lost_at
        fall(s.net, h, f, pull.timer, 1, t)
        pull.answer = FOREVER
        pull.lost = pull.timer = 0
