"""A peer's uploads between two looks at it, exactly: processor sharing of the cap, block by block.

The limiter gives each connection with data one turn of 1380 B after the other. Between two blocks' ends nothing happens
but that all advance alike, so the next block's end is known in closed form (`advance`). With n active lanes a block
that joins has its first turn when the n - 1 others have had theirs, the next block of a lane one round after the last
turn of the one before; its last turn, when it is in the socket, comes `units - 1` rounds after its first.

What a neighbour does about it, it does at once: `fetch` works out when that has an effect here.
"""

import numpy as np

from btflow.kernels import bits
from btflow.kernels.access.state import TCP_ACKS, TCP_DATA
from btflow.kernels.compiler import intrinsics
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow import choke, fetch, losses, mail, peers, queues, quota, stream, transport, windows
from btflow.kernels.flow.interest import told_all
from btflow.kernels.flow.state import CLOSING, LEAVES
from btflow.kernels.swarm import limiter_shares, rates, rules
from btflow.kernels.swarm.state import FOREVER, GAP_BINS, NIL

ALL = np.int64(1 << 30)  # blocks, however many
AT_ONCE = 8  # lanes whose times are compared together; each peer has as many, or a multiple


@kernel
def advance(s, p, t):
    """Bring the uploads of peer `p` up to time `t` [s]."""
    peer = s.peer[p]
    first = p << s.lane_bits
    ending = np.int64(peer.ending)  # if nothing has changed since the last look, it found what comes now
    while True:
        if ending >= 0:
            peer.now = max(peer.next_at, peer.now)
            if s.rules.linked == 1:
                received(s, p, first + ending, peer.now)
            else:
                peer.work = s.finish[first + ending]
                written(s, p, first + ending, peer.now)
        least, soon = FOREVER, FOREVER
        for u in range(first, first + peer.top, AT_ONCE):
            least = min(least, soonest(s.finish, u))
            soon = min(soon, soonest(s.ready, u))
        end = least
        if s.rules.linked == 0:
            end = peer.now + (least - peer.work) * peer.active * peer.per_byte if peer.active > 0 else FOREVER
        event = min(min(end, soon), min(peer.known_at, min(peer.shown_at, peer.due_at)))
        peer.next_at = event
        if event > t:
            peer.ending = lane_at(s.finish, first, least) - first if end <= event and peer.active > 0 else -1
            return
        event = max(event, peer.now)
        ending = lane_at(s.finish, first, least) - first if end <= event else np.int64(-1)
        if ending >= 0:
            continue
        settle(s, p, event)
        peer.now = event
        if peer.known_at <= event:
            choke.piece_known(s, p, event)
            if told_all(s, p):
                peers.close_to_seeds(s, p, event)
        elif peer.shown_at <= event:
            choke.piece_shown(s, p, event)
        elif peer.due_at <= event:
            peer.due_at = FOREVER
            choke.rechoke(s, p, event)
        else:
            called(s, p, lane_at(s.ready, first, soon), event)


@kernel
def soonest(times, u):
    """The least of the times of `AT_ONCE` lanes, from `u` on: pairs as a processor compares them side by side."""
    a, b = min(times[u], times[u + 4]), min(times[u + 1], times[u + 5])
    c, d = min(times[u + 2], times[u + 6]), min(times[u + 3], times[u + 7])
    return min(min(a, c), min(b, d))


@kernel
def settle(s, p, t):
    """Give the active lanes of peer `p` what they get until `t`, or until its next event if that is sooner."""
    peer = s.peer[p]
    until = min(t, peer.next_at)
    if s.rules.linked == 1:
        peer.now = max(peer.now, until)
    elif until > peer.now and peer.active > 0:
        peer.work += (until - peer.now) * peer.cap / peer.active
        peer.now = until


@kernel
def lane_at(times, u, value):
    """The first lane from `u` on that has this value, where one does: compared side by side, without a guess."""
    while True:
        at = NIL
        for i in range(AT_ONCE):
            at |= np.int64(times[u + i] == value) << i
        if at != 0:
            return u + bits.first(np.uint64(at))
        u += AT_ONCE


@kernel
def called(s, p, u, t):
    """Lane `u` is ready: its block begins, or its downloader has lost interest."""
    if s.lane[u].leaving == LEAVES:
        choke.lost_interest(s, p, u, t)
    else:
        begin(s, p, u, t)


@kernel
def next_block(s, u):
    """Number, in its piece, of the block at the head of lane `u`."""
    return bits.first(s.run[u, 0].blocks)


@kernel
def head_bytes(s, u):
    """Payload of the block at the head of lane `u` [B]; where all are alike, without a look at which it is."""
    if s.alike == 1:
        return np.int64(rules.block_bytes(s.rules, NIL))
    piece = np.int64(s.begun[fetch.begun_row(s, u), s.run[u, 0].entry].piece)
    return np.int64(rules.block_bytes(s.rules, piece * s.rules.blocks + next_block(s, u)))


@kernel
def set_turns(s, p, u):
    """Write down how many turns the block at the head of lane `u` takes."""
    peer = s.peer[p]
    turns = np.int64(peer.turns)
    if s.alike == 0:
        turns = rules.turns(s.rules, head_bytes(s, u), np.int64(peer.unit))
    s.lane[u].units = turns
    return turns


@kernel
def begin(s, p, u, t):
    """The block at the head of lane `u` joins the active ones at `t`."""
    if s.rules.linked == 1:
        begin_stream(s, p, u, t)
        return
    peer = s.peer[p]
    active = np.int64(peer.active)
    early = 0.0
    if active == 0:
        at = quota.begun_at(s, p, t)
        if at > t:
            s.ready[u] = at
            return
        if quota.in_quotas(s, p):
            early = (t - at) * peer.cap
    s.ready[u] = FOREVER
    skip_cancelled(s, u, t)
    if s.lane[u].runs == 0:
        return
    turns = set_turns(s, p, u)
    if active == 0 and limiter_shares.by_shares(s, p):
        s.session[p].left = early
        early = quota.spend(s, p, float((turns - 1) * peer.unit))
    s.lane[u].since = t
    s.lane[u].began = peer.work + peer.unit * (active / (active + 1.0)) - early
    s.finish[u] = s.lane[u].began + (turns - 1) * peer.unit
    peer.active += 1


@kernel
def part_sent(s, u, t):
    """True if a block of lane `u` has had its first turn at `t`, which may be ahead of what is settled."""
    peer = s.peer[u >> s.lane_bits]
    if not s.finish[u] < FOREVER:
        return False
    ahead = max(0.0, min(t, peer.next_at) - peer.now)
    return peer.work + ahead * peer.cap / peer.active >= s.lane[u].began


@kernel
def written(s, p, u, t):
    """The block at the head of lane `u` is in its socket at `t`; what is next begins, and the downloader gets it."""
    peer, lane, run = s.peer[p], s.lane[u], s.run[u, 0]
    active = np.int64(peer.active)
    fetch_ahead(s, np.int64(lane.g))
    entry, b = np.int64(run.entry), next_block(s, u)
    units = np.int64(lane.units)
    size = head_bytes(s, u)
    rates.note_sent(s, np.int64(lane.h), float(size))
    last_turn = rules.last_turn(s.rules, size, units, np.int64(peer.unit))
    peer.bytes_up += size
    s.gaps[peer.klass, min(active, GAP_BINS - 1)] += units
    stale = bits.has(run.cancelled, b)
    pop(s, u)
    skip_cancelled(s, u, t)
    more = lane.runs > 0
    arrival = transport.block_arrival(
        s, p, u, quota.block_released(s, p, t), active, units, more and s.run[u, 0].at <= t
    )
    free = t if s.rules.ideal == 1 else s.end[lane.h].free
    work = peer.work
    if active == 1:
        peer.free_at = t + last_turn * peer.per_byte
    s.finish[u] = FOREVER
    peer.active -= 1
    s.ready[u] = FOREVER
    closing = lane.state == CLOSING
    if more and not closing:
        continue_lane(s, p, u, t, free, work + last_turn)
    if s.rules.tallied == 1:
        if peer.active == 0 and limiter_shares.by_shares(s, p):
            quota.keep(s, p, last_turn, t)
        quota.charge_packets(s, p, size)
    if arrival > t and not stale and s.peer[lane.g >> s.rules.slot_bits].endgame != 0 and fetch.room(s, u):
        fetch.await_block(s, u, entry, b, arrival)
    elif fetch.got_block(s, u, np.int64(lane.g), entry, b, size, stale, arrival):
        fetch.announce(s, lane.g >> s.rules.slot_bits)
    if closing:
        choke.close_lane(s, u, t, arrival)
    elif stale and lane.outstanding == 0:
        fetch.lose_interest(s, u, fetch.begun_row(s, u), np.int64(lane.g), arrival)
    if s.rules.tallied == 1:
        choke.end_fast(s, u, arrival)


@kernel
def begin_stream(s, p, u, t):
    """The block at the head of lane `u` of a peer with an access link is sent from `t` on."""
    s.ready[u] = FOREVER
    skip_cancelled(s, u, t)
    if s.lane[u].runs == 0:
        return
    if s.run[u, 0].at > t:  # the request behind a cancelled block is still on its way
        s.ready[u] = s.run[u, 0].at
        return
    if s.peer[p].active == 0:  # it was idle up to now: what this lane sends comes from now on
        queues.move(s, p, t)
        s.net.link[p].step = queues.SHORTEST_STEP
    s.peer[p].active += 1
    stream.begin(s, p, u, float(head_bytes(s, u) + s.rules.header), s.run[u, 0].at, t)


@kernel
def received(s, p, u, t):
    """The block at the head of lane `u` of a peer with an access link is at its downloader at `t`."""
    peer, lane, run, pull = s.peer[p], s.lane[u], s.run[u, 0], s.net.pull[u]
    there = losses.handed_over(pull, t)
    if there > t:
        s.finish[u] = there
        return
    fetch_ahead(s, np.int64(lane.g))
    entry, b = np.int64(run.entry), next_block(s, u)
    size = head_bytes(s, u)
    peer.bytes_up += size
    rates.note_sent(s, np.int64(lane.h), float(size))
    s.gaps[peer.klass, min(peer.active, GAP_BINS - 1)] += 1
    s.net.crossed[p, TCP_DATA + s.net.protocol[lane.h]] += size * pull.bytes * pull.per_mss
    s.net.crossed[pull.to, TCP_ACKS + s.net.protocol[lane.h]] += size * pull.per_ack
    stale = bits.has(run.cancelled, b)
    pop(s, u)
    skip_cancelled(s, u, t - stream.lag(s, u, t))
    pull.came += 1
    if pull.riders == 1:
        mail.land(s, u, np.int64(pull.came), t)
    closing = lane.state == CLOSING
    if closing:
        pull.left -= 1
    follows = lane.runs > 0 and (not closing or pull.left > 0)
    at = s.run[u, 0].at if follows else FOREVER
    if at <= t:
        hold = at + windows.one_way(s, p, np.int64(lane.g) >> s.rules.slot_bits) - stream.own_wait(s, p, u)
        stream.follow(s, u, float(head_bytes(s, u) + s.rules.header), hold, t)
    else:
        peer.active -= 1
        stop(s, p, u, t)
        s.ready[u] = at
    if fetch.got_block(s, u, np.int64(lane.g), entry, b, size, stale, t):
        fetch.announce(s, lane.g >> s.rules.slot_bits)
    if closing:
        if not follows:
            choke.close_lane(s, u, t, t)
    elif stale and lane.outstanding == 0:
        fetch.lose_interest(s, u, fetch.begun_row(s, u), np.int64(lane.g), t)
    if s.rules.tallied == 1:
        choke.end_fast(s, u, t)


@kernel
def stop(s, p, u, t):
    """Lane `u` of a peer with an access link has nothing more to send; what is behind its blocks comes now."""
    stream.stop(s, p, u, t)
    if s.net.pull[u].riders == 1:
        mail.land(s, u, ALL, t)


@kernel
def fetch_ahead(s, g):
    """Have the processor fetch what the owner of end `g` will look at when the block arrives."""
    y = g >> s.rules.slot_bits
    intrinsics.line(s.end, g, 0)
    intrinsics.line(s.peer, y, 64)
    intrinsics.line(s.begun, y, 0)
    if s.rules.ideal == 0 and s.rules.linked == 0:
        intrinsics.line(s.wire, g, 0)


@kernel
def continue_lane(s, p, u, t, free, work):
    """The next block asked for on lane `u` follows without a pause if its request is there and the socket not full."""
    at = max(s.run[u, 0].at, free)
    if at > t:
        s.ready[u] = at
        return
    turns = set_turns(s, p, u)
    if s.rules.tallied == 1 and s.peer[p].active == 0:
        work -= quota.spend(s, p, float((turns - 1) * s.peer[p].unit))
    s.lane[u].since = t
    s.lane[u].began = work
    s.finish[u] = work + (turns - 1) * s.peer[p].unit
    s.peer[p].active += 1


@kernel
def pop(s, u):
    """Take the block at the head of lane `u` out of its requests."""
    run = s.run[u, 0]
    run.blocks = run.blocks & (run.blocks - bits.ONE)
    if run.behind == 0:
        run.at = run.later
    if run.blocks == bits.EMPTY:
        drop_run(s, u, 0)


@kernel
def skip_cancelled(s, u, t):
    """Take the blocks at the head of lane `u` whose CANCEL has come by `t` out of its requests."""
    lane, run = s.lane[u], s.run[u, 0]
    while lane.runs > 0 and run.cancel_at <= t and bits.has(run.cancelled, next_block(s, u)):
        pop(s, u)


@kernel
def drop_run(s, u, i):
    """Take row `i` out of the requests of lane `u`."""
    lane = s.lane[u]
    for j in range(i + 1, lane.runs):
        s.run[u, j - 1] = s.run[u, j]
    lane.runs -= 1
