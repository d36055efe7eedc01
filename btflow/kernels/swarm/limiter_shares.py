"""An upload limit in shares (libtorrent bandwidth_manager.cpp, bandwidth_limit.cpp, bandwidth_queue_entry.cpp).

Who has something in its send buffer asks for so many bytes, or for what it uploads in two quotas, if that is more. It
gets its share of each quota, and may write when it has all it asked for: bytes leave in bursts of whole requests. What
is not asked for is kept, up to a time; above another one it is given at once. A quota is handed out only if something
waits for it.

A block comes into an empty buffer with its header first, which asks; so a slow connection writes it in two parts. The
next block is read once little is left of the one before (peer_connection.cpp, write_piece, fill_send_buffer).

Messages are in the same buffer: they wait for their share as blocks do. Headers of what is written, and of the ACKs for
what is read, are part of what a connection uploads; once a second they are taken from what is left, where packets
count (peer_connection.cpp, second_tick).
"""

import math

import numpy as np

from btflow.kernels import calendar
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.swarm import rules
from btflow.kernels.swarm.ends import client_of
from btflow.kernels.swarm.rates import FORGETS
from btflow.kernels.swarm.state import BLOCKED, BY_SHARES, FOREVER, NIL, PACKETS

LITTLE, LITTLE_TIME = 10240.0, 0.5  # [B], [s] (settings_pack.cpp, send_buffer_low_watermark, watermark_factor)
QUOTAS = 20  # after which a request is given what it has (bandwidth_queue_entry.cpp, ttl)
GIVEN = -1  # in place of their number: just now
ROUNDING = 1e-3  # bytes that a request may lack: it is of whole bytes, its shares are not


@kernel
def by_shares(s, p):
    """True if the upload limit of peer `p` is kept in shares."""
    return s.rules.tallied == 1 and client_of(s, p).limiter == BY_SHARES and s.peer[p].upload_limit < FOREVER


@kernel
def await_quota(s, p, t):
    """Something of peer `p` waits from `t` on: for the quota after that."""
    if s.session[p].quota_at == 0.0:
        s.session[p].quota_at = rules.quota_after(client_of(s, p), s.peer[p].start, t)


@kernel
def at_once(s, p, size):
    """True if `size` bytes of peer `p` need not wait for a quota."""
    return rules.is_spare(client_of(s, p), s.session[p].left, size, s.peer[p].upload_limit)


@kernel
def rate(s, h, t):
    """What end `h` uploads, a mean over five seconds or so that changes with every second of its client's [B/s]."""
    y = s.tally[h]
    p = h >> s.rules.slot_bits
    passed = rules.second_of(client_of(s, p), s.peer[p].start, t) - y.up_second
    if passed > 0:
        second = y.up_bytes + y.up_else
        y.up_rate = (FORGETS * y.up_rate + (1.0 - FORGETS) * second) * math.pow(FORGETS, passed - 1)
        y.up_second += passed
        y.up_before = y.up_bytes if passed == 1 else 0.0
        y.up_bytes = y.up_else = 0.0
    return y.up_rate


@kernel
def settle(s, p, t):
    """The headers of seconds of peer `p` that are over at `t` are charged (session_impl.cpp, use_quota_overhead)."""
    session, second = s.session[p], rules.second_of(client_of(s, p), s.peer[p].start, t)
    if second > session.second:
        session.left -= session.headers
        session.headers = 0.0
        session.second = second


@kernel
def note_headers(s, h, headers, t):
    """End `h` has written packets, or acknowledges those it has read, at `t`: with so many bytes of headers."""
    p = h >> s.rules.slot_bits
    rate(s, h, t)
    s.tally[h].up_else += headers
    if client_of(s, p).limit_counts == PACKETS:
        settle(s, p, t)
        s.session[p].headers += headers


@kernel
def note_read(s, h, size, t):
    """`size` bytes are read on end `h`: reads do not stop where a block ends; small ones of an instant are one."""
    y = s.tally[h]
    if size > rules.PACKET or y.read_at != t:
        note_headers(s, h, rules.HEADERS * max(size / rules.PACKET, 1.0), t)
    y.read_at = t


@kernel
def note_written(s, h, size, t):
    """As `note_read`, for what is written."""
    y = s.tally[h]
    if size > rules.PACKET or y.wrote_at != t:
        note_headers(s, h, rules.packet_headers(size), t)
    y.wrote_at = t


@kernel
def load(s, h, size, more, t):
    """A block of `size` bytes, with its header, comes into the buffer of end `h`, if it was not there already.

    Whether `more` are asked of it counts if it was and will not be written at once: the buffer is filled up then.
    """
    y = s.tally[h]
    fills = y.ahead > 0.0 and (y.paid == 0.0 or s.up[h] & BLOCKED != 0)
    if y.ahead == 0.0:
        ask_for(s, h, float(s.rules.header), t)
    y.ahead = 0.0
    y.block = size
    ask_for(s, h, size, t)
    if fills and reads(s, h, more):
        ask_for(s, h, size + y.ahead, t)


@kernel
def reads(s, h, more):
    """The next block is read if one more is asked for and little is left of the one before; True if it is."""
    y = s.tally[h]
    if not more or y.ahead > 0.0 or y.block >= max(LITTLE, LITTLE_TIME * y.up_before):
        return False
    y.ahead = float(s.rules.block_size + s.rules.header)
    return True


@kernel
def ask_for(s, h, size, t):
    """End `h` has `size` bytes and messages in its buffer, some paid for (peer_connection.cpp, request_bandwidth)."""
    p, y = h >> s.rules.slot_bits, s.tally[h]
    if y.asks > 0.0:
        return
    size = math.ceil(rules.wanted_share(client_of(s, p), size + y.mail, rate(s, h, t)) - y.paid)
    if size <= 0:
        return
    settle(s, p, t)
    if at_once(s, p, size):
        s.session[p].left -= size
        y.paid += size
        return
    y.asks = size
    y.given = 0.0
    y.quotas = 0
    await_quota(s, p, t)


@kernel
def next_paid(s, p, i):
    """First place of the ring of peer `p`, from `i` on, whose block may be written in part; behind it if none may."""
    while i < s.peer[p].n_ring:
        h = (p << s.rules.slot_bits) + s.ring[p, i]
        if s.turns[h] > 0 and s.tally[h].paid > 0.0 and s.tally[h].mail_ahead == 0.0:
            break
        i += 1
    return i


@kernel
def pay(s, h, more, t):
    """What end `h` has paid for of the block in its buffer is written at `t` [B]; `more` blocks are asked of it."""
    y = s.tally[h]
    size = min(y.paid, y.block)
    y.paid -= size
    y.block -= size
    note_written(s, h, size, t)
    y.up_bytes += size
    if y.block == 0.0:
        s.turns[h] = 0
        y.mail_ahead = y.mail
    elif reads(s, h, more):
        ask_for(s, h, max(y.block, s.rules.block_size - y.mail), t)
    else:
        ask_for(s, h, y.block + y.ahead, t)
    return np.int64(size)


@kernel
def hand_out(s, p, t):
    """The quota of peer `p` that is due at `t`, if one is, for all that wait."""
    session = s.session[p]
    if session.quota_at == 0.0 or session.quota_at > t:
        return
    session.quota_at = 0.0
    settle(s, p, t - 0.5 * client_of(s, p).limiter_interval)
    session.left = rules.left_to_share(client_of(s, p), session.left, s.peer[p].upload_limit)
    base, waiting = p << s.rules.slot_bits, 0
    for h in range(base, base + s.peer[p].top):
        waiting += s.tally[h].asks > 0.0
    share = max(session.left, 0.0) / max(waiting, 1)
    for h in range(base, base + s.peer[p].top):
        if s.tally[h].asks > 0.0:
            give(s, h, share)
    for h in range(base, base + s.peer[p].top):
        y = s.tally[h]
        if y.asks > 0.0:
            await_quota(s, p, t)
        elif y.quotas == GIVEN:
            y.quotas = 0
            if s.turns[h] > 0 or y.mail > 0.0:
                ask_for(s, h, y.block + y.ahead, t)
    settle(s, p, t)


@kernel
def give(s, h, share):
    """End `h` gets its share [B] of a quota, and has what it asked for if that is all."""
    y = s.tally[h]
    if gets_all(s, h, share):
        y.paid += y.asks
        y.asks = 0.0
        y.quotas = GIVEN


@kernel
def gets_all(s, h, share):
    """End `h` gets its share [B] of a quota; True if that is all it asked for, or some and it has waited long."""
    session, y = s.session[h >> s.rules.slot_bits], s.tally[h]
    part = min(share, y.asks - y.given)
    session.left -= part
    y.given += part
    y.quotas += 1
    if y.given >= y.asks - ROUNDING:
        return True
    if y.quotas >= QUOTAS and y.given >= 1.0:
        y.asks = math.floor(y.given)
        return True
    return False


@kernel
def leave(s, h):
    """End `h` is closed: what it was given of a request is kept for others (bandwidth_limit.cpp, return_quota)."""
    y = s.tally[h]
    if y.asks > 0.0:
        s.session[h >> s.rules.slot_bits].left += y.given
        y.asks = 0.0


@kernel
def ask_for_mail(s, h, t):
    """End `h` has messages in its buffer: those behind no block are next."""
    p, y = h >> s.rules.slot_bits, s.tally[h]
    if y.block == 0.0 or s.rules.split == 1 or s.rules.direct == 1:
        y.mail_ahead = y.mail
    ask_for(s, h, y.block + y.ahead, t)
    if s.session[p].quota_at > 0.0 and s.node[p].bucket == calendar.NONE:
        arm(s, p, t)


@kernel
def pay_mail(s, h, size, n, t):
    """How many of `n` messages of `size` bytes each, the next ones of end `h`, are written at `t`."""
    y = s.tally[h]
    n = min(n, np.int64(y.paid / size), np.int64(y.mail_ahead / size))
    if n > 0:
        y.paid -= n * size
        y.mail -= n * size
        y.mail_ahead -= n * size
        note_written(s, h, float(n * size), t)
        y.up_else += n * size
    return n


@kernel
def pays(s, h, size, t):
    """True if a message of end `h` is written at once, as nothing is before it and enough is paid for."""
    y = s.tally[h]
    if y.mail > 0.0 or y.block > 0.0:
        return False
    y.mail = y.mail_ahead = size
    ask_for(s, h, 0.0, t)
    written = pay_mail(s, h, size, 1, t) == 1
    y.mail = y.mail_ahead = 0.0
    return written


@kernel
def arm(s, p, t):
    """The timer of peer `p`: now, if a block may be written, else with the next quota that something waits for."""
    calendar.remove(s, p)
    if next_paid(s, p, NIL) < s.peer[p].n_ring:
        calendar.insert(s, p, t)
        return
    if s.session[p].quota_at > 0.0:
        calendar.insert(s, p, max(s.session[p].quota_at, t))
