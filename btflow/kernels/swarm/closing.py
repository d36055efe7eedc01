"""Connections end: both sides are seeds, one leaves, or nobody answers; a spare takes the place (4.0.2 Connecter)."""

import numpy as np

from btflow.kernels import bits, calendar
from btflow.kernels.calendar import NONE, post
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.swarm import choking, downloading, limiter_shares, messages, rules, state
from btflow.kernels.swarm.ends import (
    CLOSED,
    client_of,
    in_endgame,
    left,
    linked,
    mate,
    note,
    raise_flag,
    seeding,
    set_cause,
    super_seeding,
)
from btflow.kernels.swarm.limiter import drop, plan, sync
from btflow.kernels.swarm.peer_set import forget_attempt, learn, unregister
from btflow.kernels.swarm.picking import other_is_seed


@kernel
def got_bitfield(s, h, count, t):
    """The first message of the other side tells all it has, in one go."""
    g = mate(s, h)
    q, p = g >> s.rules.slot_bits, h >> s.rules.slot_bits
    messages.arrived_alone(s, g)
    for i in range(count):
        s.copies[s.have_log[q, i], p] += 1
    s.told[g] = count
    if not close_if_both_seeds(s, h, t):
        downloading.got_bitfield(s, h, t)


@kernel
def close(s, h, t):
    """Close the connection of end `h` at both sides (the other side notices at once: both are seeds by then)."""
    g = mate(s, h)
    release(s, h, t)
    release(s, g, t)


@kernel
def release(s, h, t):
    """Give up end `h`: leave ring, lists and slot; a spare takes its place; an open, used slot triggers a rechoke."""
    c = s.conn[h]
    p = h >> s.rules.slot_bits
    if c.state == state.FREE:
        return
    was_open = c.state == state.OPEN
    if was_open:
        s.dn[h] = 0
        forget_copies(s, h)
        choking.forget_source(s, h)
        downloading.let_go(s, h, t)
        leave_limiter(s, h, t)
        set_cause(s, h, state.CAUSES, t)
        choking.delist(s, h)
        s.peer[p].complete -= 1
    wanted_slot = was_open and s.up[h] & state.INTERESTED_IN_US != 0 and s.up[h] & state.UNCHOKED != 0
    if s.up[h] & state.UNCHOKED != 0:
        s.peer[p].n_unchoked -= 1
    s.dn[h] = 0
    s.up[h] = 0
    c.state = state.FREE
    c.generation += 1
    s.peer[p].degree -= 1
    if s.rules.linked == 1:
        note(s, h, CLOSED)
    if left(s, p):
        return
    if was_open and in_endgame(s, p) and not seeding(s, p):
        downloading.endgame_everywhere(s, p, t)
    for _ in range(s.peer[p].n_spare):
        if not rules.may_initiate(client_of(s, p), s.peer[p].degree):
            break
        s.peer[p].n_spare -= 1
        learn(s, p, s.spare[p, s.peer[p].n_spare], t)
    if wanted_slot:
        choking.rechoke(s, p, t)


@kernel
def leave_limiter(s, h, t):
    """Take end `h` out of the limiter, a part-sent block included, and drop the messages that waited behind it."""
    p = h >> s.rules.slot_bits
    c = s.conn[h]
    sync(s, p, t)
    s.turns[h] = 0
    if s.rules.tallied == 1:
        limiter_shares.leave(s, h)
    n = c.out_first
    while n != NONE:
        following = np.int64(s.node[n].next)
        calendar.give_node(s, n)
        n = following
    c.out_first = NONE
    if s.up[h] & state.RINGED != 0:
        leave_ring(s, h)
        plan(s, p, t)


@kernel
def forget_copies(s, h):
    """The other side of `h` is gone: its pieces no longer count among the known copies."""
    p, g = h >> s.rules.slot_bits, mate(s, h)
    q = g >> s.rules.slot_bits
    if seeding(s, p):
        return
    if super_seeding(s, q):
        for piece in range(s.rules.pieces):
            if bits.has_piece(s.offered, g, np.int64(piece)):
                s.copies[piece, p] -= 1
        return
    for i in range(s.told[g]):
        s.copies[s.have_log[q, i], p] -= 1


@kernel
def leave(s, p, t):
    """Peer `p` leaves: the tracker forgets it, its connections close, and a new leecher may take its place."""
    raise_flag(s.mode, p, state.LEFT)
    s.peer[p].left_at = t
    unregister(s, p)
    calendar.remove(s, p)
    calendar.remove(s, s.rules.peers + p)
    base = p << s.rules.slot_bits
    for slot in range(s.peer[p].top):
        h = base + slot
        c = s.conn[h]
        if c.state == state.FREE:
            continue
        g = mate(s, h)
        counts = c.state == state.OPEN or c.outgoing != state.INCOMING
        if s.conn[g].state != state.FREE and mate(s, g) == h:
            if s.conn[g].state == state.CONNECTING and s.conn[g].outgoing == state.INCOMING:
                forget_attempt(s, g)
            else:
                release(s, g, t)
        if counts:
            release(s, h, t)
        else:
            forget_attempt(s, h)
    if s.rules.replace == 1:
        give_birth(s, s.peer[p].klass, t)


@kernel
def give_up(s, h, t):
    """Nobody answers: the attempt to connect ends on both sides."""
    g = mate(s, h)
    if s.conn[g].state != state.FREE and mate(s, g) == h:
        forget_attempt(s, g)
    release(s, h, t)


@kernel
def give_birth(s, klass, t):
    """A new leecher of class `klass` starts, if there is one left."""
    p = rules.next_born(s.births, klass)
    if p >= 0:
        post(s, t, state.START, p, state.NIL, state.ANY)


@kernel
def close_if_both_seeds(s, h, t):
    """Seeds have nothing for each other: the connection is closed. True if it was."""
    if seeding(s, h >> s.rules.slot_bits) and other_is_seed(s, h):
        close(s, h, t)
        return True
    return False


@kernel
def close_to_seeds(s, p, t):
    """Peer `p` has just finished: it closes its connections to seeds."""
    base = p << s.rules.slot_bits
    for slot in range(s.peer[p].top):
        if linked(s, base + slot):
            close_if_both_seeds(s, base + slot, t)


@kernel
def leave_ring(s, h):
    """Take end `h` out of the limiter's ring, wherever it stands."""
    p = h >> s.rules.slot_bits
    for i in range(s.peer[p].n_ring):
        if s.ring[p, i] == h - (p << s.rules.slot_bits):
            drop(s, p, i)
            break
