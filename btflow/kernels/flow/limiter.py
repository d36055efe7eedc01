"""Upload limits that are kept by quotas, and headers that count against a limit (`kernels/swarm/limiter.py`).

What is paid for is written with the next quota; headers are a debt of all lanes. A peer that sends nothing keeps what
a limit in shares has given (`kernels/swarm/limiter_shares.py`). On access links a limit is a rate: there headers take
their part of it, and nothing waits for a quota but messages. Their quotas are handed out when the next message comes:
up to then, or, if it must wait, ahead until it has its share.
"""

import math

import numpy as np

from btflow.kernels.access.state import TCP
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow.ends import own_end, wake
from btflow.kernels.swarm import limiter_shares, rules
from btflow.kernels.swarm.ends import client_of
from btflow.kernels.swarm.rates import FORGETS
from btflow.kernels.swarm.state import FOREVER, IN_TURNS, PACKETS, PEER_PROPORTIONAL


@kernel
def in_quotas(s, p):
    """True if what peer `p` uploads leaves with its quotas, in turns or in shares."""
    return s.rules.tallied == 1 and client_of(s, p).limiter != IN_TURNS and s.peer[p].upload_limit < FOREVER


@kernel
def released(s, p, t):
    """When what peer `p` has paid for at `t` is written."""
    return rules.next_quota(client_of(s, p), s.peer[p].start, t) if in_quotas(s, p) else t


@kernel
def block_released(s, p, t):
    """As `released`, for a block: at once, if it is the only one and more than enough is kept behind it."""
    if limiter_shares.by_shares(s, p) and s.peer[p].active == 1 and limiter_shares.at_once(s, p, 0.0):
        return t
    return released(s, p, t)


@kernel
def message_written(s, h, size, t):
    """When messages of `size` bytes that end `h` has at `t` are written: with the next quota, if blocks wait.

    In shares it asks for more as soon as what it may write is less than it wants, and writes that meanwhile.
    """
    p = h >> s.rules.slot_bits
    if not limiter_shares.by_shares(s, p):
        return released(s, p, t) if s.peer[p].active > 0 else t
    y = s.tally[h]
    limiter_shares.note_written(s, h, size, t)
    y.up_else += size
    t = max(t, y.written_at)
    hand_out(s, p, t)
    take_grant(y, t)
    wanted = size
    if s.peer[p].active == 0:
        wanted = rules.wanted_share(client_of(s, p), size, limiter_shares.rate(s, h, t))
    if y.asks == 0.0 and y.paid < wanted:
        ask(s, h, math.ceil(wanted - y.paid), t)
    if y.paid < size:
        while y.granted_at == FOREVER:
            hand_out_next(s, p)
        t = max(t, y.granted_at)
        take_grant(y, t)
    y.paid -= size
    y.written_at = t
    return t


@kernel
def take_grant(y, t):
    """What an end has asked for and has got by `t` may be written."""
    if y.asks > 0.0 and y.granted_at <= t:
        y.paid += y.asks
        y.asks = 0.0


@kernel
def ask(s, h, wanted, t):
    """End `h` asks at `t`: what blocks of its peer leave of a quota they work off later, or it waits for its share."""
    p, y = h >> s.rules.slot_bits, s.tally[h]
    y.asks, y.given, y.quotas, y.granted_at = wanted, 0.0, 0, t
    if s.peer[p].active > 0:
        owed = debt(s, p)
        s.session[p].left = -owed - wanted
        y.granted_at = rules.quota_after(client_of(s, p), s.peer[p].start, t + owed / s.peer[p].upload_limit)
    elif limiter_shares.at_once(s, p, wanted):
        s.session[p].left -= wanted
        take_grant(y, t)
    else:
        y.granted_at = FOREVER


@kernel
def hand_out(s, p, t):
    """The quotas of peer `p` up to `t`: while something waits."""
    session, r, start = s.session[p], client_of(s, p), s.peer[p].start
    while rules.quota_after(r, start, session.quota_at) <= t and hand_out_next(s, p):
        pass
    session.quota_at = max(session.quota_at, t)
    limiter_shares.settle(s, p, t)


@kernel
def hand_out_next(s, p):
    """Its next quota, for all that wait; False if nothing does."""
    session, r, waiting = s.session[p], client_of(s, p), 0
    base = p << s.rules.slot_bits
    for h in range(base, base + s.peer[p].end_top):
        waiting += s.tally[h].asks > 0.0 and s.tally[h].granted_at == FOREVER
    if waiting == 0:
        return False
    session.quota_at = rules.quota_after(r, s.peer[p].start, session.quota_at)
    limiter_shares.settle(s, p, session.quota_at - 0.5 * client_of(s, p).limiter_interval)
    session.left = rules.left_to_share(r, session.left, s.peer[p].upload_limit)
    share = max(session.left, 0.0) / waiting
    for h in range(base, base + s.peer[p].end_top):
        y = s.tally[h]
        if y.asks > 0.0 and y.granted_at == FOREVER and limiter_shares.gets_all(s, h, share):
            y.granted_at = session.quota_at
    return True


@kernel
def requests_written(s, h, n, t):
    """When `n` requests are written that end `h` has at `t`; the ACKs for what they bring are charged with them."""
    at, p = message_written(s, h, float(n * s.rules.request_size), t), h >> s.rules.slot_bits
    if limiter_shares.by_shares(s, p) and client_of(s, p).limit_counts == PACKETS and s.peer[p].active == 0:
        limiter_shares.settle(s, p, at)
        s.session[p].headers += n * read_headers(s, s.rules.block_size)
    return at


@kernel
def read_headers(s, size):
    """Headers of the ACKs for a block of `size` bytes that is read [B]: reads do not stop where it ends."""
    return rules.HEADERS * (size + s.rules.header) / rules.PACKET


@kernel
def news_written(s, p, t):
    """When peer `p` writes of a piece that it has at `t` to all its neighbours."""
    if not limiter_shares.by_shares(s, p):
        return released(s, p, t) if s.peer[p].active > 0 else t
    n, size = np.int64(s.peer[p].n_order), float(s.peer[p].n_order * s.rules.have_size)
    hand_out(s, p, t)
    waits, owed = not limiter_shares.at_once(s, p, size), debt(s, p)
    s.session[p].left -= size
    if client_of(s, p).limit_counts == PACKETS:
        s.session[p].headers += n * rules.HEADERS
    return rules.quota_after(client_of(s, p), s.peer[p].start, t + owed / s.peer[p].upload_limit) if waits else t


@kernel
def news_read(s, p, t):
    """The neighbours of peer `p` have read of a piece of its."""
    for i in range(s.peer[p].n_order):
        g = np.int64(s.end[own_end(s, p, s.order[p, i])].mate)
        if limiter_shares.by_shares(s, g >> s.rules.slot_bits):
            limiter_shares.note_read(s, g, float(s.rules.have_size), t)


@kernel
def begun_at(s, p, t):
    """From when on a block is paid for that is asked for at `t`, while nothing else is sent."""
    at = s.peer[p].free_at
    if not in_quotas(s, p):
        return at
    quota_at, fresh = released(s, p, t), client_of(s, p).limiter_interval
    if not limiter_shares.by_shares(s, p):
        return max(at, quota_at - fresh)
    left = s.session[p].left * s.peer[p].per_byte
    if left < 0.0:  # a debt is worked off by the quotas that follow
        return max(s.session[p].quota_at - left, quota_at - fresh)
    if quota_at > s.session[p].quota_at:
        left += fresh
    return quota_at - min(left, client_of(s, p).quota_kept)


@kernel
def spend(s, p, size):
    """How much of `size` bytes, of the only block of peer `p`, what it has kept pays for at once [B]."""
    if not limiter_shares.by_shares(s, p):
        return 0.0
    paid = max(0.0, min(size, s.session[p].left))
    s.session[p].left -= paid
    return paid


@kernel
def keep(s, p, last_turn, t):
    """Peer `p` sends nothing more at `t`: what the next quota leaves, the `last_turn` paid [B], is kept."""
    session = s.session[p]
    session.quota_at = released(s, p, t)
    session.left = max(session.left, 0.0)  # a debt of headers has delayed what was sent
    session.left += (session.quota_at - t) * s.peer[p].upload_limit - last_turn


@kernel
def charge_packets(s, h, size, came, t):
    """Headers of the packets of a block that end `h` sent, or of the ACKs for one that came, delay what it sends.

    With a block comes the packet of its request, sent or read.
    """
    p = h >> s.rules.slot_bits
    peer, shares = s.peer[p], limiter_shares.by_shares(s, p)
    headers = read_headers(s, size) if came else rules.packet_headers(size + s.rules.header) + rules.HEADERS
    if shares:
        limiter_shares.rate(s, h, t)
        s.tally[h].up_else += headers + (0.0 if came else size + s.rules.header)
    if client_of(s, p).limit_counts != PACKETS or not peer.upload_limit < FOREVER or s.rules.linked == 1:
        return
    if peer.active > 0:
        if shares:
            limiter_shares.settle(s, p, t)
            headers += debt(s, p)
            s.session[p].left += debt(s, p)
        peer.work -= headers / peer.active
        wake(s, p, peer.next_at)
    elif not shares:
        peer.free_at = max(peer.free_at, peer.now) + headers * peer.per_byte


@kernel
def debt(s, p):
    """What peer `p` has been charged with and has not worked off [B]; 0 if it keeps a limit otherwise."""
    return max(-s.session[p].left, 0.0) if limiter_shares.by_shares(s, p) else 0.0


LEAST_PAYLOAD = 0.05  # of an upload limit that is left, however much comes
DEBT_TIME = 1.0  # in which a debt is worked off: headers are charged once a second [s]


@kernel
def payload_limit(s, p, came):
    """Upload limit of peer `p` for payload [B/s], to which `came` [B/s] comes, whose ACKs take their part, too."""
    upload_limit, owed, part = s.peer[p].upload_limit, debt(s, p) / DEBT_TIME, 0.0
    if not upload_limit < FOREVER:
        return upload_limit
    if client_of(s, p).limit_counts == PACKETS:
        size = s.rules.block_size
        part = (rules.packet_headers(size + s.rules.header) + rules.HEADERS) / size
        owed += came * (read_headers(s, size) + s.rules.request_size + rules.HEADERS) / size
    return max(upload_limit - owed, LEAST_PAYLOAD * upload_limit) / (1.0 + part)


@kernel
def work_off(s, p, t, dt):
    """Blocks of peer `p` with an access link, which were slower by its debt for `dt`, have worked some of it off."""
    if s.peer[p].active > 0 and limiter_shares.by_shares(s, p):
        s.session[p].left = -debt(s, p) * max(1.0 - dt / DEBT_TIME, 0.0)
        limiter_shares.settle(s, p, t)


# -- TCP beside uTP ----------------------------------------------------------------------------------------------------


@kernel
def over_tcp(s, u):
    """True if lane `u` of a peer with an access link sends over TCP."""
    return s.net.protocol[s.lane[u].h] == TCP


@kernel
def proportion(s, p, t):
    """Each second: the limit of TCP lanes together where others use uTP, as `kernels/access/uploads.py` has it."""
    if client_of(s, p).mixed_mode != PEER_PROPORTIONAL:
        return
    session, peer = s.session[p], s.peer[p]
    passed = math.floor(t - session.tcp_at)
    if passed < 1.0:
        return
    kept = math.pow(FORGETS, passed)
    session.rate = kept * session.rate + (1.0 - kept) * (peer.bytes_up - session.uploaded) / passed
    session.uploaded = peer.bytes_up
    session.tcp_at += passed
    tcp, busy, first = 0, 0, p << s.lane_bits
    for u in range(first, first + peer.top):
        if s.finish[u] < FOREVER:
            busy += 1
            tcp += over_tcp(s, u)
    session.tcp_limit = rules.limit_of_tcp(session.rate, tcp, busy)


@kernel
def tcp_level(s, p):
    """The rate that no TCP lane of peer `p` exceeds so that together they keep their limit: blocks go round [B/s].

    An upload limit of all lanes gives each an equal part, which is below that.
    """
    if client_of(s, p).mixed_mode != PEER_PROPORTIONAL or s.session[p].tcp_limit == 0.0 or s.net.link[p].capped == 1:
        return FOREVER
    level, limit = 0.0, s.session[p].tcp_limit
    for _ in range(s.peer[p].active):
        under, above = below_level(s, p, level)
        better = (limit - under) / above if above > 0 else FOREVER
        if better <= level * (1.0 + 1e-9) or above == 0:
            return max(level, better)
        level = better
    return level if level > 0.0 else FOREVER


@kernel
def below_level(s, p, level):
    """What TCP lanes of peer `p` send that would be below `level` [B/s], and how many are not."""
    link, first, under, above = s.net.link[p], p << s.lane_bits, 0.0, 0
    for u in range(first, first + s.peer[p].top):
        if s.finish[u] < FOREVER and over_tcp(s, u):
            pull = s.net.pull[u]
            wants = pull.mss * min(pull.window / (pull.base + link.seen), pull.most)
            if wants <= level:
                under += wants
            else:
                above += 1
    return under, above
