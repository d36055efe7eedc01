"""Losses on access links: whose packet a full buffer drops, when its sender finds out, and what waits until then.

A sender finds a loss by three segments that come behind the lost one, or by its timer if its window is too small for
that or nothing follows. With RACK one segment and some time do, and with nothing behind it a probe. Until then it goes
on with what is left of its window; so others lose too, as they do behind a drop-tail queue. What it sends again may be
lost again. The receiver gets nothing of what came behind the lost segment before that is there.
"""

import math

import numpy as np

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow import queues, windows
from btflow.kernels.flow.state import FAST, SERVING
from btflow.kernels.link import law, loss_detection
from btflow.kernels.link.state import BBR, OPEN, PER_LOSS, RACK, RECOVERY, TAHOE
from btflow.kernels.random import uniform
from btflow.kernels.swarm.state import FOREVER

DUPLICATES = 3.0  # segments behind a lost one that show it (RFC 5681: duplicate ACKs)


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
        pull.fires = t + f.rto + (0.5 * f.rtt if f.cwnd >= 2.0 else 0.0)  # what is ahead of it still puts it off
    moving = f.cwnd - pull.lost
    unsent = windows.asked_bytes(s, u, t) - windows.on_the_way(s, u, f, t) * f.mss
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
def found_by_time(f, moving, behind):
    """How long after a loss RACK or a probe finds it [s]; FOREVER: neither does.

    `moving` segments of the window go on, `behind` are there to be sent after the lost one (link/rack.py, probe.py).
    """
    if moving > 0.0 and behind >= 1.0:
        late = min(moving, behind) < DUPLICATES
        return f.rtt + (loss_detection.REORDERING * f.min_rtt if late else 0.0)
    if not f.tail_probe:
        return FOREVER
    late = f.rto_min if f.cwnd < 2.0 else loss_detection.GRANULARITY
    return min(loss_detection.ROUND_TRIPS * f.srtt + late, f.rto) + f.rtt


@kernel
def wait(s, p, u, answer, since):
    """The sender of lane `u` answers at `answer` to what was lost; what it sends from `since` on comes later."""
    pull = s.net.pull[u]
    way = windows.one_way(s, p, np.int64(pull.to))
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
    pull.answer = FOREVER
    pull.lost = pull.timer = 0
    f.flight = int(f.cwnd) if f.law != BBR else int(min(f.cwnd, pull.rate * pull.per_mss * f.rtt))
    f.nxt = f.una + f.flight
    if uniform(s.net.rng) > ((1.0 - s.net.link[p].full) * (1.0 - f.data_loss)) ** lost:
        pull.lost = 1
        pull.timer = 1 if timed == 1 or not f.lost_retransmit else 0
        pull.silent = pull.lost_at = t
        pull.fires = t + (2.0 if timed == 1 else 1.0) * f.rto
        pull.answer = pull.fires if pull.timer == 1 else t + f.rtt
        pull.whole = pull.answer + windows.one_way(s, p, np.int64(pull.to))
    elif f.recovery == PER_LOSS and timed == 0 and lost > 1 and pull.latest > pull.lost_at:
        pull.lost = lost - 1
        gap = (pull.latest - pull.lost_at) / pull.lost
        pull.lost_at += gap
        pull.silent = t + f.rtt
        pull.answer = t + gap
        pull.whole = pull.answer + windows.one_way(s, p, np.int64(pull.to))
    if fall(s.net, h, f, timed, 1, t):
        pull.repaired = t + f.rtt


@kernel
def fall(n, i, f, timed, counts, t):
    """What a loss, found by the timer or not, leaves of the window of flow `i`; True if it is repaired in a phase.

    With `counts` 1 it is one of the falls that are counted.
    """
    if timed == 1:
        f.timeouts += counts
        f.ssthresh = law.timeout(n, i, f, t)
        f.cwnd = 1.0
        f.phase = OPEN
        return False
    f.losses += counts
    f.ssthresh = law.reduce(n, i, f, t)
    if f.recovery == PER_LOSS:
        return False
    f.cwnd = 1.0 if f.recovery == TAHOE else f.ssthresh
    f.phase = OPEN if f.recovery == TAHOE else RECOVERY
    return True


@kernel
def answer_now(s, h, f, pull, t):
    """A lane has fallen silent or ends: what it lost and had not found is found by now, and moves its window."""
    if pull.answer < FOREVER:
        fall(s.net, h, f, pull.timer, 1, t)
        pull.answer = FOREVER
        pull.lost = pull.timer = 0


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
    pull.fires = t + f.rto + (f.rtt if fits > 0.0 else 0.0)
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


FIRST = 0.5  # of a round trip: spread over one, the first window comes so much later than it does
