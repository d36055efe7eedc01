"""Flows of a link without packets: what the application writes, what the window lets go, what the ACKs do to it.

A flow sends its window over its round trip. The window is moved by the laws of `kernels/link/laws`, the very functions
that packets call, for each ACK that the bytes that came make; of many ACKs in a step some are taken together.
"""

import math

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow.windows import left_after, normal, segments_of, whole
from btflow.kernels.fluid import hops
from btflow.kernels.fluid.state import ACKS, PASSAGES
from btflow.kernels.link import application, laws, recovery, sampling, sender, state
from btflow.kernels.link.laws import utp_libtorrent
from btflow.kernels.random import uniform

MOST_SAMPLES = 4.0  # of the delay in one step


@kernel
def measure(s):
    """The queues and round trips of now."""
    for k in range(s.net.rules.queues):
        now = s.time[0].steps % s.queued.shape[1]
        s.queued[k, now], s.unused[k, now] = s.hop[k].queue, s.hop[k].empty
    for i in range(s.net.rules.flows):
        lane = s.lane[i]
        lane.owd, lane.trip = lane.way, lane.plain
        for j in range(PASSAGES):
            k = s.passage[i, j].queue
            if k != state.NONE:
                lane.trip += s.hop[k].seen
                if j < ACKS:
                    lane.owd += s.hop[k].seen


@kernel
def act(s, i, t, dt):
    """What flow `i` does in the step that ends at `t`."""
    f, lane = s.net.flow[i], s.lane[i]
    if f.law == state.CBR:
        lane.offers = f.app_rate if f.start < t <= f.stop else 0.0
        count_sent(s, f, lane, dt)
        return
    if f.running == state.IDLE and t >= f.start:
        f.running = state.CONNECTING
        lane.opens = f.start + lane.trip
    if f.running == state.CONNECTING and t >= lane.opens:
        connect(s, i, f, lane, t)
    if f.running == state.CONNECTED:
        acknowledge(s, i, f, lane, t, dt)
        write(s, f, lane, t, dt)
        send(s, i, f, lane, t, dt)


@kernel
def connect(s, i, f, lane, t):
    """The other side has answered: the application begins to write."""
    f.running = state.CONNECTED
    f.cwnd = f.initial_window
    f.ssthresh = state.FOREVER
    f.top = -1
    f.last_sent = t
    f.owd = lane.owd
    f.rtt = f.min_rtt = lane.trip - small(s, i, f)
    recovery.estimate_rtt(f)
    application.begin(s.net, i, f, t)
    lane.budget_at = t
    if f.app == state.BULK:
        lane.rest = state.FOREVER
    elif f.app == state.SIZED:
        lane.rest = total(f)
    laws.start(s.net, i, f, t)
    lane.began = 0.0
    lane.spare = spare(s, lane)
    begin_round(s, f, lane)


@kernel
def total(f):
    """SIZED: what there is to send [segments]."""
    return f.total - 1.0 + f.last_payload / f.mss


# -- what is sent -----------------------------------------------------------------------------------------------------


@kernel
def write(s, f, lane, t, dt):
    """What the application gives to send in this step."""
    if t >= f.stop:
        lane.rest = 0.0
    elif f.app == state.RATE:
        lane.rest += f.app_rate * dt
    elif f.app == state.ON_OFF:
        while t >= f.on_until:
            lane.budget_at = f.on_until + application.length(s.net, f, f.off)
            f.on_until = lane.budget_at + application.length(s.net, f, f.on)
            lane.rest = 0.0
        if t < lane.budget_at:
            lane.rest = 0.0
        elif f.app_rate > 0.0:
            lane.rest += f.app_rate * dt
        else:
            lane.rest = state.FOREVER


@kernel
def window(f, lane, t):
    """Segments on the way: the window less what was lost of it; none before a timer fires."""
    if lane.timer == 1 and t >= lane.silent:
        return 0.0
    return max(min(whole(f), f.max_window) - lane.lost, 0.0)


@kernel
def send(s, i, f, lane, t, dt):
    """The rate of this step: the window over the round trip, a pace, or all there is."""
    if lane.rest > 0.0 and lane.offers == 0.0 and lane.lost == 0:
        sender.restart_after_idle(s.net, i, f, t)
    trip = lane.trip
    if (
        min(f.cwnd, f.max_window) < f.ack_every and lane.lost == 0
    ):  # a lone segment's ACK waits; while something is missing it does not
        trip += f.ack_delay
    rate = window(f, lane, t) / trip
    lane.steered = 1
    if f.pacing > 0.0:
        pace = 1.0 / (1.0 / f.pacing + trip) if f.law == state.UTP else f.pacing
        lane.steered = 1 if rate <= pace else 0
        rate = min(rate, pace)
    f.limited = 1 if rate * dt < lane.rest else 0
    if f.limited == 0:
        lane.steered = 0
        rate = lane.rest / dt
    if lane.rest < state.FOREVER:
        lane.rest = max(lane.rest - rate * dt, 0.0)
    lane.offers = rate
    if rate > 0.0:
        f.last_sent = t
        lane.ends = state.FOREVER
    count_sent(s, f, lane, dt)


@kernel
def count_sent(s, f, lane, dt):
    """Enter what is sent into the statistics: first of it is what is known to be lost."""
    again = min(lane.due - lane.lost, lane.offers * dt)
    lane.due -= again
    counted = s.time[0].counted
    f.sent += lane.offers * counted
    f.resent += again * (counted / dt)


# -- what arrives -----------------------------------------------------------------------------------------------------


@kernel
def receive(s, i, t, dt):
    """What comes out of the last queue arrives, but for what the path loses."""
    f, lane = s.net.flow[i], s.lane[i]
    rate = lane.offers
    for j in range(ACKS):
        if s.passage[i, j].queue != state.NONE:
            rate = s.passage[i, j].leaves
    if f.data_loss > 0.0 and rate > 0.0:
        lose_on_the_way(s, i, f, lane, rate * dt * f.data_loss, t)
        rate *= 1.0 - f.data_loss
    lane.rate = rate
    lane.got += rate * dt
    s.past[i, s.time[0].steps % s.past.shape[1]] = lane.got
    f.arrived = f.expected = int(lane.got)
    f.goodput += rate * s.time[0].counted * f.mss
    if f.app == state.SIZED and f.law != state.CBR and f.running == state.CONNECTED and f.finish < 0.0:
        finish(f, lane, t)


@kernel
def lose_on_the_way(s, i, f, lane, mean, t):
    """Of what was sent in a step, `mean` segments were lost behind the queues, in the mean: as many at random."""
    if f.law == state.CBR:
        return
    lane.rest += mean
    n = math.floor(mean)
    if uniform(s.net.rng) < mean - n:
        n += 1.0
    for _ in range(int(n)):
        hops.lose(s, i, t)


@kernel
def finish(f, lane, t):
    """SIZED: the last byte arrives a way after it was sent, unless something must be sent again."""
    if lane.rest > 1e-6 or lane.lost > 0:
        lane.ends = state.FOREVER
    elif lane.ends == state.FOREVER:
        lane.ends = t + lane.owd
    if lane.ends <= t:
        f.finish = lane.ends


@kernel
def acknowledge(s, i, f, lane, t, dt):
    """ACKs for what arrived in the step that ends: the window moves, a loss is answered."""
    f.rtt, f.owd = lane.trip, lane.owd
    f.stamp = t - f.rtt
    f.min_rtt = min(f.min_rtt, f.rtt)
    if lane.rate > 0.0 and not f.smoothed_rtt:
        recovery.estimate_rtt(f)
    flight = segments_of(f, in_flight(s, i, f, lane))
    f.flight = flight
    half = 0.5 * dt
    if lane.answer <= t + half:
        hops.answer(s, i, f, lane, t)
    elif f.phase == state.RECOVERY and lane.repaired <= t + half:
        f.phase = state.OPEN
        f.cwnd = f.ssthresh
    f.sample_rate = lane.rate
    f.sample_limited = 1 - f.limited
    known = s.past[i, (s.time[0].steps - lane.lag) % s.past.shape[1]]
    lane.credit += known - lane.known
    lane.known = known
    deliver(s, i, f, lane, flight, t, dt)


@kernel
def in_flight(s, i, f, lane):
    """Segments on the way: the window; with a pace, or less to send, what is in the queues and beside them."""
    if f.cwnd < 1.0:
        return 0.0
    if f.law != state.BBR and f.limited == 1:
        return min(f.cwnd, f.max_window)
    waits = lane.got - lane.known
    for j in range(ACKS):
        if s.passage[i, j].queue != state.NONE:
            waits += s.passage[i, j].held
    beside = max(lane.plain - lane.lag * s.time[0].step, 0.0)
    return max(waits + 0.5 * (lane.rate + lane.offers) * beside, 0.0)


@kernel
def deliver(s, i, f, lane, flight, t, dt):
    """The ACKs one after the other, spread over the step; of many some are taken together, as of a train."""
    each = hops.every(f)
    if lane.credit < each:
        return
    n = math.floor(lane.credit / each)
    times = min(n, MOST_SAMPLES)
    acks = math.floor(n / times)
    batch = acks * each
    lane.credit -= batch * times
    f.train = 1 if f.law == state.BBR or utp_libtorrent.rules(f) else int(acks)
    f.flight = flight // f.train
    for j in range(int(times)):
        now = t - dt + dt * (j + 1.0) / times
        if f.law != state.BBR:
            flight = segments_of(f, in_flight(s, i, f, lane))
            f.flight = left_after(f, flight // f.train, batch)
        scatter(s, i, f, lane, each, flight, batch)
        wait_for_ack(f, lane, each, batch)
        if lane.place >= lane.began:
            begin_round(s, f, lane)
        f.min_rtt = min(f.min_rtt, f.rtt)
        f.stamp = now - f.rtt
        note_rtt(s, i, f, now, int(acks))
        smooth(f, int(acks))
        f.delivered += batch
        f.delivered_at = now
        f.una = int(f.delivered)
        f.nxt = f.una + flight
        f.top = f.una - 1
        f.acks += int(acks)
        laws.sample(s.net, i, f, now, batch)
        if f.phase != state.RECOVERY and (f.limited == 1 or not f.validate):
            laws.grow(s.net, i, f, now, batch)
        f.cwnd = max(f.cwnd, f.min_window)
    f.rtt, f.owd, f.train = lane.trip, lane.owd, 1


@kernel
def scatter(s, i, f, lane, each, flight, batch):
    """The delay of these ACKs, in the queues as they were: what was sent in one round meets the same queue."""
    if uniform(s.net.rng) * flight < batch:
        lane.noise = normal(s.net.rng)
    waits = 0.0
    for j in range(ACKS):
        k = s.passage[i, j].queue
        if k != state.NONE:
            hop, then = s.hop[k], (s.time[0].steps - (2 - j) * lane.lag) % s.queued.shape[1]
            others = hops.by_others(hop, s.passage[i, j], lane)
            queue = s.queued[k, then] - (1.0 - others) * s.unused[k, then] * lane.trip
            queue += lane.noise * hop.spread * math.sqrt(others)
            ahead = behind_others(lane, each, batch) if k == lane.narrow else 0.0
            waits += min(max(queue, 0.0) + ahead, hop.room) - hop.seen
    f.rtt, f.owd = lane.trip + waits, lane.owd + waits


@kernel
def behind_others(lane, each, batch):
    """Time that a segment waits for others of its window where the link could send more.

    What a window has grown by leaves with the rest, so a segment is behind all that came before it in this round; and
    what one ACK released is acknowledged by one.
    """
    ahead = (lane.place + 0.5 * (batch - each)) * lane.rose / max(lane.began, 1.0) + each - 1.0
    return min(ahead, lane.most) * lane.crossing


@kernel
def wait_for_ack(f, lane, each, batch):
    """The ACK of a lone segment waits for another one: until the next train, or for its timer."""
    lane.place += batch
    if f.acks < f.quick_acks or f.ack_every == 1:
        return
    if each < f.ack_every:
        f.rtt += f.ack_delay
        f.owd += f.ack_delay
    elif lane.place >= lane.began > each and math.floor(lane.began) % each > 0.0:
        gap = min(f.ack_delay, max(lane.trip - lane.began * lane.crossing, 0.0))
        f.owd += gap
        if not f.times_newest:
            f.rtt += gap


@kernel
def begin_round(s, f, lane):
    """All that the window held has been acknowledged: what it has grown by since left in a burst."""
    lane.most = lane.spare
    lane.rose = max(f.cwnd - lane.began, 0.0)
    lane.began = f.cwnd
    lane.place = 0.0
    lane.spare = spare(s, lane)


@kernel
def small(s, i, f):
    """Time by which a SYN, of the size of an ACK, takes less on its way than a segment does."""
    less = 0.0
    for j in range(ACKS):
        k = s.passage[i, j].queue
        if k != state.NONE:
            less += (f.mss + f.header - f.ack_size) * s.hop[k].per_byte
    return less


@kernel
def spare(s, lane):
    """Segments a round trip that the slowest queue could send and that do not come."""
    return s.hop[lane.narrow].empty * lane.trip / lane.crossing if lane.narrow != state.NONE else 0.0


@kernel
def smooth(f, n):
    """The law sees the smoothed round trip of `n` ACKs."""
    if f.smoothed_rtt:
        for _ in range(n):
            recovery.estimate_rtt(f)
        f.rtt = f.srtt


@kernel
def note_rtt(s, i, f, t, n):
    """Enter `n` samples of the round-trip time into the statistics."""
    if t >= s.net.rules.warmup and f.rtt > 0.0:
        s.net.rtt_bins[i, sampling.rtt_bin(f.rtt)] += n
        f.rtt_sum += n * f.rtt
        f.rtt_count += n
