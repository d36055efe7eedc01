"""Rates of a connection, what rules count of it, and the list of a peer's sources.

Rules other than mainline's count bytes in a round of the choker and in a second. Where every client has mainline's
nothing is counted, and the arrays are of size 1 (`rules.tallied`).
"""

import math

import numpy as np

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.swarm import rules
from btflow.kernels.swarm.ends import client_of
from btflow.kernels.swarm.state import FOREVER, NIL


@kernel
def measured_from(r, t):
    """Time from which a connection that opens at `t` is measured: some seconds before, so that it starts gently."""
    return t - r.rate_fudge


@kernel
def updated(rate, since, last, t, n, window):
    """(rate, since, last) after `n` bytes at time `t` [s]; rate in B/s. With n = 0 this is also how it is read."""
    rate = (rate * (last - since) + n) / (t - since)
    return rate, max(since, t - window), t


@kernel
def download_rate(r, c, t, n):
    """Count `n` bytes received on end `c` at `t` and return the estimate [B/s]."""
    c.dn_rate, c.dn_since, c.dn_last = updated(c.dn_rate, c.dn_since, c.dn_last, t, n, r.rate_window)
    return c.dn_rate


@kernel
def upload_rate(s, h, t, n):
    """Count `n` bytes handed to the socket of end `h` at `t` and return the estimate [B/s]."""
    c = s.conn[h]
    c.up_rate, c.up_since, c.up_last = updated(
        c.up_rate, c.up_since, c.up_last, t, n, client_of(s, h >> s.rules.slot_bits).rate_window
    )
    return c.up_rate


FORGETS = 0.8  # libtorrent stat.cpp, stat_channel: a second counts a fifth


@kernel
def reset(s, h, g, t):
    """A fresh end `h`, whose other side is end `g`: nothing was counted."""
    p = h >> s.rules.slot_bits
    y = s.tally[h]
    y.got = y.sent = y.sent_since = 0.0
    y.unchoked_at = y.choked_at = t
    y.favoured_at = 0.0
    y.rate = y.this_second = y.last_second = 0.0
    y.second = int(t - s.peer[p].start)
    y.queue = client_of(s, p).pipeline_start
    y.most = rules.most_requests(client_of(s, p), client_of(s, g >> s.rules.slot_bits))
    y.asks_since = y.asked_at = y.heard_at = y.busy_at = t
    y.counted = 0
    y.wait = y.off = 0.0
    y.waits_seen = y.snubbed = y.failures = y.reached = y.over_utp = y.answers = y.choke_read = 0
    y.held_from = y.held_to = 0
    y.written_at = 0.0
    y.block = y.ahead = y.paid = y.asks = y.given = y.mail = y.mail_ahead = 0.0
    y.up_rate = y.up_bytes = y.up_before = y.up_else = 0.0
    y.wrote_at = y.read_at = -1.0
    y.up_second = y.second
    y.quotas = 0
    y.haves_due = FOREVER
    y.exchange_at = 0.0
    y.met = 0
    y.allowed = y.allows = 0
    y.slow = 1
    y.idle = 0
    y.waits = 0


@kernel
def note_sent(s, h, size, t):
    """`size` bytes of a block, or of a part of one, were written to end `h`."""
    if s.rules.tallied == 1:
        y = s.tally[h]
        y.sent += size
        y.sent_since += size
        y.busy_at = t


@kernel
def new_round(s, p, t):
    """The choker of peer `p` has ranked its connections: the bytes of a round are counted anew."""
    base = p << s.rules.slot_bits
    for slot in range(s.peer[p].top):
        s.tally[base + slot].got = 0.0
        s.tally[base + slot].sent = 0.0
    s.session[p].round_at = t


@kernel
def set_queue(r, y, block_size):
    """Requests that are to be outstanding on a connection once its slow start is over (update_desired_queue_size)."""
    if y.slow == 0:
        y.queue = 1 if y.snubbed == 1 else rules.queue_of_rate(r, block_size, y.rate, y.most)


@kernel
def snub(y):
    """Nothing came on a connection for too long: it is asked for one block at a time (snub_peer)."""
    y.snubbed, y.slow, y.queue = 1, 0, 1


@kernel
def end_second(s, h, y, is_served):
    """A second is over at end `h`: its mean rate, and whether its queue goes on growing; a choked one's does."""
    r = client_of(s, h >> s.rules.slot_bits)
    if y.slow == 1 and is_served and rules.levels_off(y.last_second, y.this_second):
        y.slow = 0
    y.last_second = y.this_second
    y.rate = FORGETS * y.rate + (1.0 - FORGETS) * y.this_second
    y.this_second = 0.0
    set_queue(r, y, s.rules.block_size)


@kernel
def advance(s, h, second, is_served):
    """Seconds up to number `second` have begun at end `h`; in those after the first two nothing came."""
    y = s.tally[h]
    passed = second - y.second
    if passed <= 0:
        return
    end_second(s, h, y, is_served)
    if passed > 1:
        end_second(s, h, y, is_served)
    if passed > 2:
        y.rate *= math.pow(FORGETS, passed - 2)
        y.last_second = 0.0
        set_queue(client_of(s, h >> s.rules.slot_bits), y, s.rules.block_size)
    y.second = second


@kernel
def settle(s, h, t, is_served):
    """The seconds that are over at end `h` are counted as served, or not, before that changes."""
    advance(s, h, int(t - s.peer[h >> s.rules.slot_bits].start), is_served)


@kernel
def note_bytes(s, h, size, begun, t, is_served):
    """Payload of `size` bytes has come to end `h`, evenly since `begun`, of a block that is there or not.

    Clients count bytes as they come, not blocks: a second has its part of a block that takes longer.
    """
    y = s.tally[h]
    y.got += size
    y.heard_at = t
    start = s.peer[h >> s.rules.slot_bits].start
    second, last = int(begun - start), int(t - start)
    left, span = size, t - begun
    while second < last:
        advance(s, h, second, is_served)
        part = size * (start + second + 1.0 - max(begun, start + second)) / span
        y.this_second += part
        left -= part
        second += 1
    advance(s, h, last, is_served)
    y.this_second += left


@kernel
def note_part(s, h, size, t, is_served):
    """A part of a block comes to end `h` at `t`, before the rest (without access links)."""
    s.tally[h].counted += size
    note_bytes(s, h, size, t, t, is_served)


@kernel
def note_rest(s, h, size, begun, t, is_served):
    """The rest comes of a block of `size` bytes, evenly since `begun` if that is all of it."""
    y = s.tally[h]
    note_bytes(s, h, max(size - y.counted, 0.0), begun if y.counted == 0 else t, t, is_served)
    y.counted = 0


@kernel
def first_byte(y, before, rtt, t):
    """When the first byte came of a block that is here at `t`: after the block `before`, or `rtt` after the request."""
    return min(max(before, y.asks_since + rtt), t)


@kernel
def note_block(s, h, before, t, wanted):
    """A block is complete at end `h`, the one before it was at `before`: the queue grows, and the mean wait is taken.

    A connection that brings one in time that was `wanted` is snubbed no longer.
    """
    y, r = s.tally[h], client_of(s, h >> s.rules.slot_bits)
    if y.slow == 1:
        y.queue = min(y.queue + 1, y.most)
    set_queue(r, y, s.rules.block_size)
    waited = max(NIL, t - max(before, y.asks_since))
    if wanted and math.floor(waited) < rules.time_to_snub(r, y):
        y.snubbed = 0
    rules.note_wait(y, waited)


# -- sources that are not snubbed --------------------------------------------------------------------------------------


@kernel
def note_source(s, c, h, t):
    """A block came on end `h`, whose record is `c`: it is among the sources that are not snubbed."""
    p = h >> s.rules.slot_bits
    c.last_block = t
    if c.recent == 0:
        c.recent = 1
        s.recent[p, s.peer[p].n_recent] = h - (p << s.rules.slot_bits)
        s.peer[p].n_recent += 1


@kernel
def forget_source(s, c, h):
    """End `h`, whose record is `c`, is closed: it leaves the list of sources, as its slot will be used again."""
    if c.recent == 0:
        return
    p = h >> s.rules.slot_bits
    c.recent = 0
    rules.strike(s.recent, p, np.int64(s.peer[p].n_recent), h - (p << s.rules.slot_bits))
    s.peer[p].n_recent -= 1
