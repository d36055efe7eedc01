"""Upload limits that are kept by quotas, and headers that count against a limit (`kernels/swarm/limiter.py`).

What is paid for is written with the next quota; headers are a debt of all lanes. A peer that sends nothing keeps what
a limit in shares has given (`kernels/swarm/limiter_shares.py`). On access links a limit is a rate: there headers take
their part of it, and nothing waits for a quota but messages.
"""

import math

from btflow.kernels.access.state import TCP
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow.ends import wake
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
def message_written(s, p, t):
    """When a message is written that peer `p` has at `t`: with the next quota, if blocks wait or none was kept."""
    if s.peer[p].active > 0:
        return released(s, p, t)
    if limiter_shares.by_shares(s, p) and s.rules.linked == 0 and not limiter_shares.at_once(s, p, 0.0):
        return released(s, p, t)
    return t


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
    session.left += (session.quota_at - t) * s.peer[p].upload_limit - last_turn


@kernel
def charge_packets(s, p, size):
    """Headers of the packets of a block that peer `p` sent, or of the ACKs for one that came, delay what it sends."""
    peer = s.peer[p]
    if client_of(s, p).limit_counts != PACKETS or not peer.upload_limit < FOREVER:
        return
    headers = rules.packet_headers(s.rules, size)
    if peer.active > 0:
        peer.work -= headers / peer.active
        wake(s, p, peer.next_at)
    elif limiter_shares.by_shares(s, p):
        s.session[p].left -= headers
    else:
        peer.free_at = max(peer.free_at, peer.now) + headers * peer.per_byte


LEAST_PAYLOAD = 0.05  # of an upload limit that is left, however much comes


@kernel
def payload_limit(s, p, came):
    """Upload limit of peer `p` for payload [B/s], to which `came` [B/s] comes, whose ACKs take their part, too."""
    upload_limit = s.peer[p].upload_limit
    if client_of(s, p).limit_counts != PACKETS or not upload_limit < FOREVER:
        return upload_limit
    part = rules.packet_headers(s.rules, s.rules.block_size) / s.rules.block_size
    return max(upload_limit - part * came, LEAST_PAYLOAD * upload_limit) / (1.0 + part)


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
