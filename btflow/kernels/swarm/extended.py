"""Extended messages (BEP 10): a handshake, then the peers that each has met and lost (libtorrent ut_pex.cpp).

Once a minute a client notes which of its connections are new and which are gone. Each connection hears of all of them
within a second of its own handshake, and from then on once a minute of those noted last, if there are any.
"""

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.swarm.ends import client_of

MOST = 100  # peers of a message (max_peer_entries)
ENVELOPE, ADDED, DROPPED = 76, 7, 6  # header and keys; address and flags of a peer; address (BEP 11) [B]


@kernel
def greeting(s, p, q):
    """Length of the extension handshake of peer `p` to `q` [B]; 0 if one of them has none."""
    return client_of(s, p).extended_size if client_of(s, q).extended_size > 0 else 0


@kernel
def exchange(s, p, ends, is_open, neighbour, send, t):
    """The clock of peer `p`, with ends in range(*ends): connections that are due hear of its peers."""
    r, session, n = client_of(s, p), s.session[p], 0
    if r.exchange_interval == 0.0:
        return
    for h in range(ends[0], ends[1]):
        n += is_open(s, h)
    if t >= session.exchange_at:
        session.exchange_at = t + r.exchange_interval
        note(s, session, ends, is_open)
    for h in range(ends[0], ends[1]):
        y = s.tally[h]
        if not is_open(s, h) or t < y.exchange_at or n == 1:
            continue
        size = session.news if y.exchange_at > 0.0 else ENVELOPE + ADDED * min(n, MOST)
        y.exchange_at = t + r.exchange_interval
        if size > 0 and client_of(s, neighbour(s, h)).exchange_interval > 0.0:
            send(s, h, size, t)


@kernel
def note(s, session, ends, is_open):
    """Note who is new and who is gone: `news` is the length of the message that says so [B]; 0 if nobody is."""
    before, still, added = session.met, 0, 0
    for h in range(ends[0], ends[1]):
        if not is_open(s, h):
            continue
        if s.tally[h].met == 1:
            still += 1
        elif added < MOST:
            s.tally[h].met = 1
            added += 1
    session.met = still + added
    session.news = ENVELOPE + ADDED * added + DROPPED * (before - still) if added + before - still > 0 else 0
