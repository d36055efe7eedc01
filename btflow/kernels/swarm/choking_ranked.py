"""Chokers that rank all interested peers by one order, leeching or seeding, and keep slots for chance.

libtorrent's (session_impl.cpp, recalculate_unchoke_slots and recalculate_optimistic_unchoke_slots; choker.cpp) and
Transmission's (peer-mgr.cc, rechokeUploads) differ in the order, in who gets the optimistic slots, and in whether a
free slot waits for the choker's tick: rules that a client names (program.CLIENT).
"""

import numpy as np

from btflow.kernels import calendar
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.random import below, uniform
from btflow.kernels.swarm import messages, picking, rates, rules, state
from btflow.kernels.swarm.ends import client_of, lower_flag, raise_flag, seeding


@kernel
def write_key(s, r, key, p, h, t):
    """Write by what the peer at end `h` is ranked: the first number that differs decides (rules.goes_before)."""
    unchoked = s.up[h] & state.UNCHOKED != 0
    if r.choker == state.BY_LAST_ROUND:
        rules.rank_by_round(r, key, s.tally[h], 0.0, s.rules.blocks * s.rules.block_size, unchoked, t)
        return
    key.rate = rates.upload_rate(s, h, t, 0.0) if seeding(s, p) else rates.download_rate(r, s.conn[h], t, 0.0)
    key.done, key.sent, key.waits = 0.0 if unchoked else 1.0, 0.0, uniform(s.rng)


@kernel
def rank(s, p, t):
    """Ends of the interested peers in the order of their rank, in scratch[3]; returns how many."""
    r = client_of(s, p)
    base = p << s.rules.slot_bits
    n = state.NIL
    for i in range(s.peer[p].n_order):
        h = base + s.order[p, rules.position(s.peer[p].head, i, s.peer[p].n_order)]
        if s.up[h] & state.INTERESTED_IN_US == 0:
            continue
        write_key(s, r, s.ranks[s.ranks.size - 1], p, h, t)
        insert(s, h, n)
        n += 1
    return n


@kernel
def insert(s, h, n):
    """Put `h`, whose key is the last of `ranks`, among the `n` in scratch[3] that are ranked already."""
    key, j = s.ranks[s.ranks.size - 1], n
    while j > 0 and rules.goes_before(key, s.ranks[j - 1]):
        s.ranks[j] = s.ranks[j - 1]
        s.scratch[3, j] = s.scratch[3, j - 1]
        j -= 1
    s.ranks[j] = key
    s.scratch[3, j] = h


@kernel
def rechoke(s, p, t, renew):
    """Slots by rank, then those for chance; the others are choked first, so that there never are too many.

    With `renew` the optimistic slots go to others, if there are any.
    """
    r, peer = client_of(s, p), s.peer[p]
    n = rank(s, p, t)
    wanted = np.int64(rules.slots_by_chance(r, peer.upload_slots))
    regular = peer.upload_slots - wanted
    keep_ranked(s, r, n, regular, renew)
    draw(s, r, n, wanted, t)
    if r.free_slots == state.AT_TICK:
        keep_strangers(s, p, n)
    base = p << s.rules.slot_bits
    for slot in range(peer.top):
        h = base + slot
        if s.up[h] & state.UNCHOKED != 0 and s.up[h] & (state.KEPT | state.OPTIMISTIC) == 0:
            messages.choke(s, h, t)
    for slot in range(peer.top):
        h = base + slot
        if s.up[h] & (state.KEPT | state.OPTIMISTIC) != 0:
            if s.up[h] & state.UNCHOKED == 0:
                messages.unchoke(s, h, t)
            lower_flag(s.up, h, state.KEPT)
    rates.new_round(s, p, t)


@kernel
def keep_ranked(s, r, n, regular, renew):
    """Mark the first `regular` of those ranked; one that had an optimistic slot leaves it to another.

    Where that slot is drawn, who has it takes no part until it is drawn anew (peer-mgr.cc).
    """
    for i in range(n):
        h = s.scratch[3, i]
        if r.optimistic == state.AT_RANDOM and not renew and s.up[h] & state.OPTIMISTIC != 0:
            continue
        if regular > 0:
            regular -= 1
            raise_flag(s.up, h, state.KEPT)
            lower_flag(s.up, h, state.OPTIMISTIC)
        elif renew:
            lower_flag(s.up, h, state.OPTIMISTIC)


@kernel
def keep_strangers(s, p, n):
    """Mark peers that want nothing yet for the slots that are left: they need not wait when they do (peer-mgr.cc).

    The client itself does so for all before the last of its slots in the order of rank, slots or not.
    """
    peer = s.peer[p]
    free = peer.upload_slots
    for i in range(n):
        if s.up[s.scratch[3, i]] & (state.KEPT | state.OPTIMISTIC) != 0:
            free -= 1
    for unchoked in (True, False):
        for i in range(peer.n_order):
            h = (p << s.rules.slot_bits) + s.order[p, rules.position(peer.head, i, peer.n_order)]
            flags = s.up[h]
            if picking.other_is_seed(s, h):
                continue
            if (
                free > 0
                and flags & (state.INTERESTED_IN_US | state.KEPT) == 0
                and (flags & state.UNCHOKED != 0) == unchoked
            ):
                raise_flag(s.up, h, state.KEPT)
                free -= 1


@kernel
def draw(s, r, n, wanted, t):
    """Give the optimistic slots that nobody has to interested peers that were not kept."""
    for i in range(n):
        if s.up[s.scratch[3, i]] & state.OPTIMISTIC != 0:
            wanted -= 1
    while wanted > 0:
        h = longest_waiting(s, n) if r.optimistic == state.LONGEST_WAITING else at_random(s, n)
        if h < 0:
            return
        raise_flag(s.up, h, state.OPTIMISTIC)
        s.tally[h].favoured_at = t
        wanted -= 1


@kernel
def longest_waiting(s, n):
    """The one whose last optimistic slot began longest ago, of those ranked and not kept; -1 if there is none.

    Whoever has just lost another slot is one of them. Of equals it is the older connection's, whatever its rank.
    """
    best = state.NIL - 1
    for i in range(n):
        h = s.scratch[3, i]
        if s.up[h] & (state.KEPT | state.OPTIMISTIC) != 0:
            continue
        first = best < 0 or s.tally[h].favoured_at < s.tally[best].favoured_at
        if first or (s.tally[h].favoured_at == s.tally[best].favoured_at and h < best):
            best = h
    return best


@kernel
def at_random(s, n):
    """One of those ranked and not kept, each with the same chance; -1 if there is none."""
    best, seen = state.NIL - 1, 0
    for i in range(n):
        h = s.scratch[3, i]
        if s.up[h] & (state.KEPT | state.OPTIMISTIC) == 0:
            seen += 1
            if below(s.rng, seen) == 0:
                best = h
    return best


@kernel
def got_interested(s, h, t):
    """A choked peer has become interested: a free slot is given at once, if the client does so."""
    p = h >> s.rules.slot_bits
    peer = s.peer[p]
    if client_of(s, p).free_slots == state.AT_ONCE and peer.n_unchoked < peer.upload_slots:
        messages.unchoke(s, h, t)


@kernel
def lost_slot(s, p, t):
    """An unchoked peer wants nothing any more, or is gone: the choker runs within a second, unless that waits."""
    n, soon = s.rules.peers + p, rules.next_second(s.peer[p].start, t)
    if client_of(s, p).free_slots == state.AT_ONCE and s.node[n].time > soon:
        calendar.remove(s, n)
        calendar.insert(s, n, soon)
