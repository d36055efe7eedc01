"""When blocks and messages arrive: the window laws of `kernels/swarm/tcp.py`, asked once for each.

HAVEs are not sent one by one: what they do to a connection, to Nagle's wait above all, is worked out when something
else is written on it.
"""

import numpy as np

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow import limiter, mail, windows
from btflow.kernels.flow.ends import part_sent, seeding
from btflow.kernels.flow.state import NO_LANE, UNUSED
from btflow.kernels.random import below
from btflow.kernels.swarm import nagle, rules, tcp, tcp_window
from btflow.kernels.swarm.state import GAP_BINS, NIL

SAMPLES = 1024  # blocks of the streams that are drawn for each number of lanes
STRETCH = 32  # of which so many follow each other without a pause
FRESH = 8  # stretches of fresh connections beside them
FARTHEST = 1.0  # round-trip time [s] up to which they are used
OFTEN = 0.15  # share of blocks that fill their socket from which streams are not used
ARRIVES, IS_FREE = 0, 1  # last axis of `delay`


@kernel
def block_arrival(s, p, u, t, active, units, more):
    """When a block written on lane `u` of peer `p` by `t` arrives; the end's `free` says when the socket takes more.

    HAVEs that had to wait for it leave behind it.
    """
    if s.rules.ideal == 1:
        s.bursts[1] += units
        return t
    h = np.int64(s.lane[u].h)
    w = s.wire[h]
    # time between two writes of a lane of peer `p` while `active` lanes share its limit [s]; a quota is one write
    gap = 0.0 if limiter.in_quotas(s, p) else active * s.peer[p].unit * s.peer[p].per_byte
    lane, ahead = s.lane[u], w.rtt > 0.0 and s.end[h].message_at > t
    catch_up(s, p, w, lane.since)
    last_sent, last_arrival, small_acked, held = w.last_sent, w.last_arrival, w.small_acked, w.held
    if ahead:  # a message that is written later has been worked out before: the block knows nothing of it
        w.last_sent = min(last_sent, t)
        w.last_arrival = w.before
        w.held = 0.0
        while w.small_acked > t + w.rtt:
            w.small_acked -= w.rtt
    if s.repeats[s.peer[p].klass] == 1:
        arrival = sampled_arrival(s, p, h, t, active, gap, units, more)
    else:
        tcp.count_burst(s, w, gap, units)
        arrival, free, _ = tcp.block_arrival(s, w, t, gap, units, more)
        s.end[h].free = free
    if ahead:
        w.before = arrival
        w.last_sent = max(w.last_sent, last_sent)
        w.last_arrival = max(arrival, last_arrival)
        w.small_acked = max(w.small_acked, small_acked)
        w.held = held
    if lane.behind > 0.0:
        w.last_arrival = max(w.last_arrival, lane.behind)
        lane.behind = 0.0
    elif s.peer[p].last_have > lane.since:
        tcp.control_arrival(s, w, t)
    return arrival


# -- one path for all --------------------------------------------------------------------------------------------------


@kernel
def sampled_arrival(s, p, h, t, active, gap, units, more):
    """As `tcp.block_arrival`, from blocks that it was asked for before: those of a long stream with the same gaps.

    A connection follows the stream block by block: a fresh one's at first, one behind a pause after it was idle.
    """
    w, e, klass = s.wire[h], s.end[h], np.int64(s.peer[p].klass)
    if s.drawn[klass, active] == 0:
        draw(s, klass, active, gap, np.int64(s.peer[p].turns), s.peer[p].unit)
    if e.sample == UNUSED:
        e.sample = rows(s) + (NIL if w.loss == 0.0 else STRETCH * below(s.rng, FRESH))
    elif t - units * gap - w.last_sent > tcp_window.rto(s, w):
        e.sample = a_stretch(s)
    at, way = np.int64(e.sample), 0 if more else 1
    e.sample += 1
    if e.sample % STRETCH == 0:
        e.sample = a_stretch(s) + STRETCH // 2
    w.round_at = t
    w.last_sent = t
    w.last_arrival = max(w.last_arrival, t + s.delay[klass, active, at, way, ARRIVES])
    e.free = t + s.delay[klass, active, at, way, IS_FREE]
    return w.last_arrival


@kernel
def rows(s):
    """Blocks of the streams, those of fresh connections left out: without loss all stretches are the same one."""
    return STRETCH if s.loss[0, 0] == 0.0 else SAMPLES


@kernel
def a_stretch(s):
    """Where a stretch starts, drawn at random."""
    return NIL if s.loss[0, 0] == 0.0 else STRETCH * below(s.rng, SAMPLES // STRETCH)


@kernel
def find_repeats(s):
    """Find the classes whose blocks can be taken from streams: all paths are alike and leave room in the window.

    Where the socket is often full, what a block meets depends on all that the connection had before it. So it does with
    losses, if a file has less than a stretch of blocks for each neighbour: no connection gets far from its start.
    """
    if s.delay.shape[0] == 0 or s.rtt[0, 0] > FARTHEST:
        return
    if s.loss[0, 0] > 0.0 and s.rules.pieces * s.rules.blocks < STRETCH * s.neighbours:
        return
    for p in range(s.rules.peers):
        klass, slots = np.int64(s.peer[p].klass), min(np.int64(s.peer[p].upload_slots), s.lanes)
        if s.drawn[klass, slots] > 0:
            continue
        turns, unit = np.int64(s.peer[p].turns), s.peer[p].unit
        draw(s, klass, slots, 0.0 if limiter.in_quotas(s, p) else slots * unit / s.peer[p].upload_limit, turns, unit)
        full = 0
        for i in range(rows(s)):
            full += s.delay[klass, slots, i, 0, IS_FREE] > 0.0
        s.repeats[klass] = 1 if full <= OFTEN * rows(s) and (seeding(s, p) or not tells_often(s, p)) else 0


@kernel
def tells_often(s, p):
    """True if peer `p` downloads at its upload limit pieces less than two round trips apart.

    Then Nagle holds back most of what it writes: the HAVE before is not acknowledged.
    """
    return s.rules.blocks * rules.block_bytes(s.rules, NIL) * s.peer[p].per_byte < 2.0 * s.rtt[0, 0]


@kernel
def draw(s, klass, active, gap, units, unit):
    """Ask TCP for streams of blocks written `gap` apart, with a pause before each; each block as the last one, too.

    Behind those rows are stretches of fresh connections, drawn first: the last of them goes on after the pause.
    """
    w = s.wire[s.end.size]
    w.rtt, w.loss, w.unit = s.rtt[0, 0], s.loss[0, 0], unit
    t = 0.0
    for i in range(FRESH if w.loss > 0.0 else 1):
        tcp.reset(s, w, t)
        t = draw_stretch(s, klass, active, gap, units, rows(s) + i * STRETCH, t)
    s.drawn[klass, active] = tcp.burst(s, w, gap, units)
    for i in range(0, rows(s), STRETCH):
        t = draw_stretch(s, klass, active, gap, units, i, t + 1000.0 * tcp_window.rto(s, w))


@kernel
def draw_stretch(s, klass, active, gap, units, first, t):
    """Draw one stretch from row `first` on, from `t` on; returns when it ends."""
    w, last = s.wire[s.end.size], s.wire[s.end.size + 1]
    for at in range(first, first + STRETCH):
        t += units * gap
        s.wire[s.end.size + 1] = w
        for way in range(2):
            arrival, free, _ = tcp.block_arrival(s, last if way == 1 else w, t, gap, units, way == 0)
            s.delay[klass, active, at, way, ARRIVES] = arrival - t
            s.delay[klass, active, at, way, IS_FREE] = free - t
        t += s.delay[klass, active, at, 0, IS_FREE]
    return t


@kernel
def count_bursts(s):
    """Statistics of segment sizes where blocks came from streams: they are those of the gaps."""
    for klass in range(s.repeats.size):
        for active in range(1, s.drawn.shape[1] if s.repeats[klass] == 1 else 1):
            together = np.int64(s.drawn[klass, active])
            if together > 0:
                s.bursts[together] += s.gaps[klass, min(active, GAP_BINS - 1)] / together


# -- messages ----------------------------------------------------------------------------------------------------------


@kernel
def catch_up(s, p, w, t):
    """Let the HAVEs that peer `p` told of up to `t` have their effect on the connection `w`.

    Those before a pause of two round trips have none: whatever they held back has left, and is acknowledged.
    """
    if s.peer[p].last_have <= w.last_sent:
        return
    end = np.int64(s.peer[p].n_known)
    while end > 0 and s.have_time[p, end - 1] > t:
        end -= 1
    if end == 0 or s.have_time[p, end - 1] <= w.last_sent:
        return
    first, sent = end - 1, w.last_sent
    while first > 0 and s.have_time[p, first - 1] > max(sent, s.have_time[p, first] - 2.0 * w.rtt):
        first -= 1
    for i in range(first, end):
        tcp.control_arrival(s, w, s.have_time[p, i])


@kernel
def message_arrival(s, p, h, t):
    """When a message that peer `p` writes on end `h` at `t` arrives: behind a part-sent block, then as TCP has it."""
    return arrival(s, p, h, s.rules.state_size, t)


@kernel
def arrival(s, p, h, size, t):
    """As `message_arrival`, of `size` bytes."""
    t = limiter.message_written(s, h, float(size), t)
    if s.rules.linked == 1:
        return mail.arrival(s, p, h, size, t)
    turn = its_turn(s, p, h, t)
    return turn if s.rules.ideal == 1 else written(s, p, h, t, turn)


@kernel
def request_arrivals(s, p, h, t, n):
    """When the first of `n` requests that are written together arrives, and when the others do."""
    t = limiter.requests_written(s, h, n, t)
    if s.rules.linked == 1:
        return mail.requests(s, p, h, n, t)
    turn = its_turn(s, p, h, t)
    if s.rules.ideal == 1:
        return turn, turn
    first = written(s, p, h, t, turn)
    return first, first if n == 1 else written(s, p, h, t, turn)


@kernel
def its_turn(s, p, h, t):
    """When a message of peer `p` is written that it has at `t`: at once, or behind a part-sent block."""
    u = s.end[h].lane
    if u != NO_LANE:
        lane = (p << s.lane_bits) + u
        if part_sent(s, lane, t):
            peer = s.peer[p]
            return max(t, peer.now + (s.finish[lane] - peer.work) * peer.active * peer.per_byte)
    return t


@kernel
def written(s, p, h, t, turn):
    """When a message arrives that peer `p` has at `t` and writes at its `turn`."""
    w = s.wire[h]
    if turn > t:
        return behind_block(s, p, w, s.lane[(p << s.lane_bits) + s.end[h].lane], t, turn)
    catch_up(s, p, w, t)
    e = s.end[h]
    if t > s.peer[p].now:
        if e.message_at <= s.peer[p].now:
            w.before = w.last_arrival
        e.message_at = t
    return tcp.control_arrival(s, w, t)


@kernel
def behind_block(s, p, w, lane, t, end):
    """When messages arrive that wait for the block of a lane to be written, at `end`: with its last bytes.

    What they do to the connection they do when it is written.
    """
    if lane.behind == 0.0:
        gap = s.peer[p].active * s.peer[p].unit * s.peer[p].per_byte
        sent = min(nagle.small_ack(w, lane.since, end), end + gap) if s.rules.nagle == 1 and gap < w.rtt else end
        if w.loss > 0.0 and tcp.lost(s, w):
            sent = tcp.repaired(s, w, sent + tcp_window.rto(s, w))
        lane.behind = max(w.last_arrival, sent + 0.5 * w.rtt)
    return max(lane.behind, t + 0.5 * w.rtt)


@kernel
def half(s, h):
    """Time that what end `h` sends is under way [s]."""
    if s.rules.linked == 1:
        return windows.one_way(s, h >> s.rules.slot_bits, np.int64(s.end[h].mate) >> s.rules.slot_bits)
    return 0.0 if s.rules.ideal == 1 else 0.5 * s.wire[h].rtt


@kernel
def news(s, p):
    """Time after which peer `p` has told its neighbours of a piece.

    0 where half a round trip is added to what they do; on an access link what a HAVE takes in the mean.
    """
    return 0.0 if s.rules.linked == 0 else s.net.link[p].seen + s.net.link[p].delay + s.net.watch[0].delay


@kernel
def reply(s, p):
    """Time after that until its neighbours' interest is back: a round trip, or, on access links, what they take."""
    return s.peer[p].rtt if s.rules.linked == 0 else s.net.watch[0].queue + s.net.link[p].delay + s.net.watch[0].delay
