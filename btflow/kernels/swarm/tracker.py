"""The tracker: whom it names to a peer, and when a peer asks it (Rerequester.py).

Both engines use these rules. They pass functions for what they keep in different ways: whether a peer has left or is a
seed, how it connects to another one, and how an event is posted.
"""

import numpy as np

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.swarm import rules, state
from btflow.kernels.swarm.ends import client_of


@kernel
def reply(s, p, t, left, is_seed, connected_to, connect):
    """The tracker's answer: a random sample of those registered, ourselves and seeds-for-seeds left out."""
    peer = s.peer[p]
    if left(s, p):
        return
    registered = s.registered
    n = np.int64(registered[0])
    wanted = rules.peers_wanted(client_of(s, p), s.rules.tracker_reply, peer.complete)
    for i in range(n):
        if wanted == 0:
            break
        q = rules.draw_registered(s.rng, registered, n, i)
        if rules.is_named(p, is_seed(s, p), q, is_seed(s, q)):
            learn(s, p, q, t, left, connected_to, connect)
            wanted -= 1
    if peer.registered == 0:
        peer.registered = 1
        rules.register(registered, p)


@kernel
def learn(s, p, q, t, left, connected_to, connect):
    """Peer `p` learns of `q`: connect while below max_initiate, else keep it as a spare."""
    peer = s.peer[p]
    if left(s, q) or connected_to(s, p, q):
        return
    if rules.may_initiate(client_of(s, p), peer.degree) and connect(s, p, q, t):
        return
    if peer.n_spare < s.spare.shape[1]:
        s.spare[p, peer.n_spare] = q
        peer.n_spare += 1


@kernel
def check(s, p, t, left, post, ask):
    """Each minute: announce again if short of peers or when the tracker asks for it."""
    peer = s.peer[p]
    if left(s, p):
        return
    r = client_of(s, p)
    post(s, t + r.check_interval, state.TRACKER_CHECK, p, state.NIL, state.ANY)
    since = t - peer.last_announce
    if rules.announces_again(r, s.rules.announce_interval, peer.complete, peer.ever_incoming == 1, since):
        ask(s, p, t)


@kernel
def forget(s, p):
    """The tracker forgets peer `p`."""
    rules.unregister(s.registered, p)
    s.peer[p].registered = 0
