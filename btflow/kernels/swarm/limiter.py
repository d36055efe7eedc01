"""The upload limiter: round robin over connections in units of 1380 B (4.0.2 RateLimiter, Connecter.send_partial).

One turn sends one unit; the debt it leaves is worked off at the limit before the next turn, so turns that send whole
units are `unit / upload_limit` apart and a block of 16397 B takes 12 turns. Nothing interesting happens between the
turns that finish a block, so the ring is not stepped turn by turn: `advance` performs any number of turns in one go and
`plan` finds the next one that finishes a block. The result is that of the unit-by-unit loop, turn for turn.
"""

import math

import numpy as np

from btflow.kernels import calendar
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.swarm import limiter_shares, picking, rules, state
from btflow.kernels.swarm.ends import client_of, lower_flag, mate, raise_flag, set_cause
from btflow.kernels.swarm.rates import note_sent, upload_rate

WITHDRAWN, REFUSED = 1 << 29, 1 << 30


@kernel
def cancelled(block):
    """Entry of a request its asker no longer wants: the block is still sent unless CANCEL comes in time."""
    return -1 - block


@kernel
def withdrawn(block):
    """Entry of a request that CANCEL took out of the uploader's buffer: it is never sent."""
    return -1 - block - WITHDRAWN


@kernel
def refused(block):
    """Entry of a request that its uploader has dropped with a CHOKE, of which its asker has not heard yet."""
    return -1 - block - REFUSED


@kernel
def was_refused(entry):
    """True for such an entry."""
    return entry <= -1 - REFUSED


@kernel
def block_number(entry):
    """Block of an entry of the request list, cancelled or not."""
    if entry >= 0:
        return entry
    if was_refused(entry):
        return -1 - entry - REFUSED
    return -1 - entry if entry > -WITHDRAWN else -1 - entry - WITHDRAWN


@kernel
def place(s, seq):
    """Where request number `seq` stands in the list of its end."""
    return seq & (s.requests.shape[1] - 1)


@kernel
def entry(s, h, seq):
    """Entry of request number `seq` of end h's uploads."""
    return np.int64(s.requests[s.conn[h].row, place(s, seq)])


@kernel
def part_sent(s, h):
    """True if a block is part-sent: control messages wait behind it."""
    return s.turns[h] > 0 and s.turns[h] < s.conn[h].full


@kernel
def queued(s, h):
    """True if a request waits, the part-sent block and cancelled ones not counted (the client's `buffer`)."""
    return waits(s, h, s.conn[h].up_head + (1 if part_sent(s, h) else 0))


@kernel
def waits(s, h, first):
    """True if a request from number `first` on waits that was not cancelled."""
    for seq in range(first, s.conn[h].up_seen):
        if entry(s, h, np.int64(seq)) > -WITHDRAWN:
            return True
    return False


@kernel
def load(s, h, t):
    """Make the next request in the buffer the block to be sent; `turns` is 0 if there is none.

    Where a limit is kept in shares, the block is in the send buffer then: as if part-sent, and asking for its share.
    """
    c = s.conn[h]
    s.turns[h] = 0
    while c.up_head < c.up_seen:
        asked = entry(s, h, np.int64(c.up_head))
        if asked > -WITHDRAWN:
            p = h >> s.rules.slot_bits
            c.full = rules.turns(s.rules, rules.block_bytes(s.rules, block_number(asked)), np.int64(s.peer[p].unit))
            s.turns[h] = c.full
            if limiter_shares.by_shares(s, p):
                c.full += 1
                size = float(rules.block_bytes(s.rules, block_number(asked)) + s.rules.header)
                limiter_shares.load(s, h, size, waits(s, h, c.up_head + 1), t)
            return
        c.up_head += 1
    if s.rules.tallied == 1:
        s.tally[h].ahead = 0.0


@kernel
def drop(s, p, i):
    """Take entry `i` out of the ring of peer `p`."""
    peer = s.peer[p]
    lower_flag(s.up, (p << s.rules.slot_bits) + s.ring[p, i], state.RINGED)
    for j in range(i, peer.n_ring - 1):
        s.ring[p, j] = s.ring[p, j + 1]
    peer.n_ring -= 1
    if i < peer.at:
        peer.at -= 1
    if peer.at >= peer.n_ring:
        peer.at = 0


@kernel
def drop_empty(s, p):
    """Visit the ring from the turn's position, removing connections without data, up to the first that has some."""
    peer = s.peer[p]
    while peer.n_ring > 0:
        if s.turns[(p << s.rules.slot_bits) + s.ring[p, peer.at]] > 0:
            return
        drop(s, p, peer.at)


@kernel
def send_unit(s, p, time):
    """One turn: the connection at the ring's position sends one unit."""
    peer = s.peer[p]
    h = (p << s.rules.slot_bits) + s.ring[p, peer.at]
    c = s.conn[h]
    if s.turns[h] == c.full and rates_matter(s, p):
        upload_rate(s, h, time, float(rules.block_bytes(s.rules, block_number(entry(s, h, np.int64(c.up_head))))))
    s.turns[h] -= 1
    peer.at += 1
    if peer.at >= peer.n_ring:
        peer.at = 0


@kernel
def advance(s, p, turns, active):
    """Perform `turns` turns of peer `p` with `active` connections with data; none but the last may finish a block."""
    peer = s.peer[p]
    s.gaps[peer.klass, min(active, state.GAP_BINS - 1)] += turns
    if peer.n_ring == active and not rates_matter(s, p):
        take_turns(s, p, turns, active)
    else:
        step_turns(s, p, turns, active)
    peer.turn += turns * (peer.unit / peer.upload_limit)
    if peer.planned >= 0:
        peer.planned -= turns


@kernel
def rates_matter(s, p):
    """True if the upload rates of peer `p` will be looked at: only a seed's choker does, and who writes ahead.

    They are means over `rate_window`, so what a leecher sent long before it turned seed is forgotten by then.
    """
    if 10 * s.n_log[p] >= 9 * s.rules.pieces:
        return True
    return s.rules.tallied == 1 and client_of(s, p).write_ahead > 0.0


@kernel
def take_turns(s, p, turns, active):
    """`turns` turns of a ring in which every connection has data, in one pass."""
    peer = s.peer[p]
    base = p << s.rules.slot_bits
    cycles = turns // active
    rest = turns - cycles * active
    i = np.int64(peer.at)
    for position in range(active):
        s.turns[base + s.ring[p, i]] -= cycles + 1 if position < rest else cycles
        i += 1
        if i == active:
            i = 0
    at = peer.at + rest
    peer.at = at if at < active else at - active


@kernel
def step_turns(s, p, turns, active):
    """`turns` turns whose visits change more than the turns: empty connections leave, upload rates are noted."""
    peer = s.peer[p]
    base = p << s.rules.slot_bits
    unit_time = peer.unit / peer.upload_limit
    first = min(turns, active)
    for j in range(first):
        drop_empty(s, p)
        send_unit(s, p, peer.turn + j * unit_time)
    rest = turns - first
    if rest > 0:
        drop_empty(s, p)
        cycles = rest // active
        if cycles > 0:
            for i in range(peer.n_ring):
                s.turns[base + s.ring[p, i]] -= cycles
        for _ in range(rest - cycles * active):
            send_unit(s, p, peer.turn)


@kernel
def sync(s, p, t):
    """Perform the turns of peer `p` that are due at time `t` [s], the one that finishes a block excepted."""
    peer = s.peer[p]
    if peer.n_ring == 0 or t < peer.turn or s.rules.linked == 1 or limiter_shares.by_shares(s, p):
        return
    if peer.active == 0:
        drop_empty(s, p)
        return
    if peer.planned < 0:  # a block has just been written: what is next is not planned yet
        return
    turns = min(np.int64((t - peer.turn) * peer.upload_limit / peer.unit) + 1, np.int64(peer.planned))
    if turns > 0:
        advance(s, p, turns, np.int64(peer.active))


@kernel
def plan(s, p, t):
    """Find the turn that finishes the next block of peer `p` and set its timer (node `p`).

    The connection with fewest turns left finishes first, the next in the ring if several have as few. Where the peers
    have access links, every turn is an event: what leaves when depends on the queues.
    """
    peer = s.peer[p]
    if s.rules.linked == 1 or limiter_shares.by_shares(s, p):
        arm(s, p, t)
        return
    calendar.remove(s, p)
    peer.planned = calendar.NONE
    base = p << s.rules.slot_bits
    least, position, active, slot = 1 << 30, 0, 0, state.NIL
    j = np.int64(peer.at)
    for _ in range(peer.n_ring):
        turns = s.turns[base + s.ring[p, j]]
        if turns > 0:
            if turns < least:
                least, position, slot = np.int64(turns), active, np.int64(s.ring[p, j])
            active += 1
        j += 1
        if j == peer.n_ring:
            j = 0
    peer.active = active
    if active == 0:
        return
    peer.planned = (least - 1) * active + position
    time = peer.turn + peer.planned * (peer.unit / peer.upload_limit)
    s.node[p].target = base + slot
    s.node[p].arg = mate(s, base + slot)
    calendar.insert(s, p, max(released(s, p, time), t))


@kernel
def by_quota(s, p):
    """True if the client of peer `p` hands out quotas: who has no upload limit waits for none."""
    return s.rules.tallied == 1 and client_of(s, p).limiter == state.BY_QUOTA and s.peer[p].upload_limit < state.FOREVER


@kernel
def released(s, p, time):
    """When what is paid for at `time` is written: then, or with the next quota (libtorrent bandwidth_manager.cpp).

    A quota is for all that wait when it is handed out, also for who came just before.
    """
    if not by_quota(s, p):
        return time
    return rules.next_quota(client_of(s, p), s.peer[p].start, time)


@kernel
def message_written(s, h, t):
    """When a control message of end `h` is written: with the next quota, if others wait for that, or the next batch."""
    if s.rules.tallied == 0:
        return t
    p = h >> s.rules.slot_bits
    return in_batch(s, p, behind_blocks(s, p, t))


@kernel
def news_written(s, p, t):
    """As `message_written`, for a message of peer `p` to all."""
    return t if s.rules.tallied == 0 else in_batch(s, p, behind_blocks(s, p, t))


@kernel
def behind_blocks(s, p, t):
    """When a message of peer `p` is written that shares a quota, if there are any, with blocks."""
    return released(s, p, t) if s.peer[p].n_ring > 0 else t


@kernel
def in_batch(s, p, at):
    """When a message of peer `p` is written that might be at `at`: at once, or when it looks at its connections."""
    r, start = client_of(s, p), s.peer[p].start
    if r.batch_interval == 0.0:
        return at
    return start + r.pulse * (math.floor((at - start) / r.pulse + rules.ROUNDING) + 1.0)


@kernel
def charge_packets(s, p, size):
    """Headers of the packets of a block sent, or of the ACKs for one that came, count against the limit too.

    Where it is kept in shares, `limiter_shares` counts them.
    """
    if counts_packets(s, p):
        charge(s, p, rules.packet_headers(size + s.rules.header))


@kernel
def counts_packets(s, p):
    """True if peer `p` has an upload limit that counts packets and is not kept in shares."""
    if s.rules.tallied == 0 or not s.peer[p].upload_limit < state.FOREVER:
        return False
    return client_of(s, p).limit_counts == state.PACKETS and client_of(s, p).limiter != state.BY_SHARES


@kernel
def charge_acks(s, h, size, t):
    """As `charge_packets`, for a block that came to end `h` while others are being sent."""
    p = h >> s.rules.slot_bits
    if limiter_shares.by_shares(s, p):
        limiter_shares.note_read(s, h, float(size + s.rules.header), t)
    elif counts_packets(s, p):
        sync(s, p, t)
        charge_packets(s, p, size)
        if s.peer[p].n_ring > 0:
            plan(s, p, t)


@kernel
def arm(s, p, t):
    """The timer of the next turn, if there is a ring to serve."""
    if limiter_shares.by_shares(s, p):
        limiter_shares.arm(s, p, t)
    elif s.peer[p].n_ring > 0 and s.node[p].bucket == calendar.NONE:
        calendar.insert(s, p, max(released(s, p, s.peer[p].turn), t))


@kernel
def join(s, h, t):
    """Put end `h` at the tail of its peer's ring (or refill it where it stands) and plan anew."""
    p = h >> s.rules.slot_bits
    peer = s.peer[p]
    sync(s, p, t)
    if s.turns[h] == 0:
        load(s, h, t)
    if s.turns[h] == 0 or s.up[h] & state.BLOCKED != 0:
        return
    if s.up[h] & state.RINGED == 0:
        if limiter_shares.by_shares(s, p):
            s.ring[p, peer.n_ring] = h - (p << s.rules.slot_bits)
        elif peer.n_ring == 0:
            now = released(s, p, t) - client_of(s, p).limiter_interval if by_quota(s, p) else t
            peer.turn = max(peer.turn, now)
            peer.at = 0
            s.ring[p, 0] = h - (p << s.rules.slot_bits)
        else:
            for j in range(peer.n_ring, peer.at, -1):
                s.ring[p, j] = s.ring[p, j - 1]
            s.ring[p, peer.at] = h - (p << s.rules.slot_bits)
            peer.at += 1
        peer.n_ring += 1
        raise_flag(s.up, h, state.RINGED)
    set_cause(s, h, state.BY_LIMITER, t)
    plan(s, p, t)


@kernel
def finish(s, p, t):
    """The planned turn: perform it, charge it, and return the end whose block is now fully written to its socket."""
    peer = s.peer[p]
    active = np.int64(peer.active)
    if peer.planned > 0:
        advance(s, p, np.int64(peer.planned), active)
    drop_empty(s, p)
    if not by_quota(s, p):
        peer.turn = t
    slot = s.ring[p, peer.at]
    h = (p << s.rules.slot_bits) + slot
    c = s.conn[h]
    size = rules.block_bytes(s.rules, block_number(entry(s, h, np.int64(c.up_head))))
    send_unit(s, p, t)
    charge(s, p, rules.last_turn(s.rules, size, np.int64(c.full), np.int64(peer.unit)))
    s.gaps[peer.klass, min(active, state.GAP_BINS - 1)] += 1
    peer.planned = calendar.NONE
    return h


@kernel
def pay(s, h, t):
    """As much of the block of end `h` is written as its shares have paid for [B]; `turns` is 0 if that is all of it."""
    c = s.conn[h]
    p = h >> s.rules.slot_bits
    size = limiter_shares.pay(s, h, queued(s, h), t)
    note_sent(s, h, float(size), t)
    if rates_matter(s, p):
        upload_rate(s, h, t, float(size))
    if s.turns[h] == 0:
        c.full -= 1
        s.gaps[s.peer[p].klass, min(s.peer[p].n_ring, state.GAP_BINS - 1)] += c.full
    return size


@kernel
def note_written(s, h, size, t):
    """A block of `size` bytes is written on end `h`: it counts as sent, unless its parts did, with its header."""
    part = -float(s.rules.header) if limiter_shares.by_shares(s, h >> s.rules.slot_bits) else float(size)
    note_sent(s, h, part, t)


@kernel
def charge(s, p, amount):
    """Add `amount` bytes of debt: the next turn comes amount / upload_limit later."""
    s.peer[p].turn += amount / s.peer[p].upload_limit


@kernel
def forget(s, h, t):
    """Clear the buffer of end `h`; a part-sent block stays, and what it may be asked for choked or not."""
    c = s.conn[h]
    p = h >> s.rules.slot_bits
    sync(s, p, t)
    if s.rules.tallied == 1 and s.tally[h].allows > 0:
        withdraw(s, h, c.up_head + (1 if part_sent(s, h) else 0))
        if not part_sent(s, h) and s.turns[h] > 0:
            load(s, h, t)
            plan(s, p, t)
        return
    if part_sent(s, h):
        for seq in range(c.up_head + 1, c.up_seen):
            s.requests[c.row, place(s, seq)] = withdrawn(block_number(entry(s, h, np.int64(seq))))
    else:
        c.up_head = c.up_seen
        if s.turns[h] > 0:
            s.turns[h] = 0
            plan(s, p, t)
    if s.turns[h] == 0 and s.up[h] & state.BLOCKED == 0 and s.up[h] & state.TOLD != 0:
        set_cause(s, h, state.BY_PIPELINE, t)


@kernel
def withdraw(s, h, first):
    """Take requests from number `first` on out of the buffer of end `h`, but for its allowed-fast set."""
    c = s.conn[h]
    for seq in range(first, c.up_seen):
        block = entry(s, h, np.int64(seq))
        if block > -WITHDRAWN and not picking.serves(s, h, block_number(block) // s.rules.blocks):
            s.requests[c.row, place(s, seq)] = refused(block) if block >= 0 else withdrawn(block_number(block))


@kernel
def too_late(s, h, count, t):
    """True if `count` more requests arrive at end `h` long after a CHOKE, one of them not for its allowed-fast set.

    Who hears of CHOKE late, behind a full queue, asks too late (libtorrent peer_connection.cpp, incoming_request).
    """
    if s.rules.tallied == 0 or s.up[h] & state.TOLD != 0:
        return False
    grace = client_of(s, h >> s.rules.slot_bits).choke_grace
    if grace == 0.0 or t - s.tally[h].choked_at <= grace:
        return False
    for seq in range(s.conn[h].up_seen, s.conn[h].up_seen + count):
        block = entry(s, h, np.int64(seq))
        if block > -WITHDRAWN and not picking.serves(s, h, block_number(block) // s.rules.blocks):
            return True
    return False


@kernel
def got_request(s, h, count, t):
    """`count` more requests arrived at end `h`; they are ignored once CHOKE was sent."""
    c = s.conn[h]
    c.up_seen += count
    if s.rules.tallied == 1:
        s.tally[h].busy_at = t
    if s.up[h] & state.TOLD == 0:
        if s.rules.tallied == 0 or s.tally[h].allows == 0:
            c.up_head = c.up_seen
            return
        withdraw(s, h, c.up_seen - count)
    if s.up[h] & state.BLOCKED == 0:
        if s.turns[h] == 0 or s.up[h] & state.RINGED == 0:
            join(s, h, t)
    elif s.turns[h] == 0 and limiter_shares.by_shares(s, h >> s.rules.slot_bits):
        load(s, h, t)  # it asks for its share meanwhile
        plan(s, h >> s.rules.slot_bits, t)


@kernel
def waits_for(s, h):
    """What holds an end back that has nothing to send: its peer asks for nothing, or wants nothing, or is choked."""
    if s.up[h] & state.TOLD == 0:
        return state.CAUSES
    return state.BY_PIPELINE if s.up[h] & state.INTERESTED_IN_US != 0 else state.IDLE


@kernel
def got_cancel(s, h, seq, t):
    """CANCEL arrived: the block is taken out of the buffer unless its sending has begun."""
    c = s.conn[h]
    p = h >> s.rules.slot_bits
    sync(s, p, t)
    first = c.up_head + (1 if part_sent(s, h) else 0)
    if seq < first or seq >= c.up_seen:
        return
    i = place(s, seq)
    s.requests[c.row, i] = withdrawn(block_number(entry(s, h, seq)))
    if seq == c.up_head and s.turns[h] > 0:
        load(s, h, t)
        plan(s, p, t)
