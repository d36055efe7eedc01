"""Chokers that rank all interested peers by one order, leeching or seeding, and keep slots for chance.

libtorrent's (session_impl.cpp, recalculate_unchoke_slots and recalculate_optimistic_unchoke_slots; choker.cpp) and
Transmission's (peer-mgr.cc, rechokeUploads) differ in the order, in who gets the optimistic slots, and in whether a
free slot waits for the choker's tick: rules that a client names (program.CLIENT).

libtorrent walks its connections in the order of their addresses in memory: behind all others as long as memory grows,
anywhere among them once some are closed, whose memory is free.
"""

import numpy as np

from btflow.kernels import calendar
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.random import below, uniform
from btflow.kernels.swarm import messages, picking, rates, rules, state
from btflow.kernels.swarm.ends import client_of, lower_flag, raise_flag, seeding


@kernel
def enlist(s, p, entry):
    """A new connection of peer `p` enters the choker's list."""
    peer, n = s.peer[p], np.int64(s.peer[p].n_order)
    if client_of(s, p).choker == state.BY_LAST_ROUND and s.session[p].closed == 0:
        s.order[p, n] = entry
    else:
        peer.head = rules.enlist(s.rng, s.order, p, n, np.int64(peer.head), entry)
    peer.n_order += 1


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
    """Ends of the interested peers as the client's choker leaves them, in scratch[3]; returns how many."""
    r = client_of(s, p)
    base = p << s.rules.slot_bits
    n = state.NIL
    for i in range(s.peer[p].n_order):
        h = base + s.order[p, rules.position(s.peer[p].head, i, s.peer[p].n_order)]
        if s.up[h] & state.INTERESTED_IN_US == 0:
            continue
        if r.choker == state.BY_LAST_ROUND:
            write_key(s, r, s.ranks[n], p, h, t)
            s.scratch[3, n] = h
        else:
            write_key(s, r, s.ranks[s.ranks.size - 1], p, h, t)
            insert(s, h, n)
        n += 1
    if r.choker == state.BY_LAST_ROUND:
        rules.split(s.ranks, s.scratch[3], n, np.int64(s.peer[p].upload_slots))
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
    keep_ranked(s, r, n, peer.upload_slots - wanted, renew)
    draw(s, r, n, wanted, t)
    serve_kept(s, r, p, n, t)


@kernel
def serve_kept(s, r, p, n, t):
    """Choke whom no slot is kept for, unchoke the others, and begin a round, after `n` peers were ranked."""
    peer = s.peer[p]
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


# -- two timers that a client looks at once a second -------------------------------------------------------------------


@kernel
def start_choker(s, p, t):
    """The client starts: when it looks first [s]."""
    if client_of(s, p).choker != state.BY_LAST_ROUND:
        return t + client_of(s, p).choke_interval
    s.session[p].choke_due = s.session[p].optimistic_due = rules.next_second(t, t)
    return rules.next_second(t, t)


@kernel
def connections(s, p):
    """How many connections peer `p` has; over uTP one that comes in counts from its SYN on."""
    degree = np.int64(s.peer[p].degree)
    if degree > 0:
        return degree
    base = p << s.rules.slot_bits
    for h in range(base, base + s.peer[p].top):
        if s.conn[h].state != state.FREE and s.tally[h].reached == 1:
            degree += 1
    return degree


@kernel
def tick(s, p, t):
    """The choker's timer has run out; the node of the next one is posted already."""
    r, session = client_of(s, p), s.session[p]
    if r.choker != state.BY_LAST_ROUND:
        rechoke(s, p, t, rules.renews(r, session, t))
        return
    if rules.begins_round(r, session, connections(s, p), t):
        n = rank(s, p, t)
        keep_first(s, r, session, n, np.int64(s.peer[p].upload_slots), t)
        serve_kept(s, r, p, n, t)
    if rules.renews(r, session, t):
        n = choked_or_optimistic(s, p)
        favour(s, r, n, np.int64(s.peer[p].upload_slots), t)
        for i in range(n):
            h = s.scratch[3, i]
            if s.up[h] & state.OPTIMISTIC != 0:
                messages.unchoke(s, h, t)
            else:
                messages.choke(s, h, t)
        if s.peer[p].n_unchoked > s.peer[p].upload_slots:
            session.choke_due = t
    post_tick(s, p, rules.next_look(session, s.peer[p].start, t))


@kernel
def post_tick(s, p, at):
    """The choker of peer `p` looks at its timers at `at` [s], not when it would have."""
    calendar.remove(s, s.rules.peers + p)
    calendar.insert(s, s.rules.peers + p, at)


@kernel
def keep_first(s, r, session, n, slots, t):
    """Mark the first of the `n` ranked, whoever has an optimistic slot among them: others get that at once.

    As many slots are left to chance as are taken by it now, or as may be if none is.
    """
    optimistic = state.NIL
    for i in range(n):
        optimistic += s.up[s.scratch[3, i]] & state.OPTIMISTIC != 0
    regular = slots - (optimistic if optimistic > 0 else np.int64(rules.slots_by_chance(r, slots)))
    for i in range(min(n, regular)):
        h = s.scratch[3, i]
        raise_flag(s.up, h, state.KEPT)
        if s.up[h] & state.OPTIMISTIC != 0:
            lower_flag(s.up, h, state.OPTIMISTIC)
            session.optimistic_due = t


@kernel
def choked_or_optimistic(s, p):
    """Ends of the interested peers with no slot but an optimistic one, in the client's order, in scratch[3]; how many.

    They are those for whom an optimistic slot is.
    """
    base, n = p << s.rules.slot_bits, state.NIL
    for i in range(s.peer[p].n_order):
        h = base + s.order[p, rules.position(s.peer[p].head, i, s.peer[p].n_order)]
        if s.up[h] & state.INTERESTED_IN_US != 0 and s.up[h] & (state.UNCHOKED | state.OPTIMISTIC) != state.UNCHOKED:
            s.scratch[3, n] = h
            n += 1
    return n


@kernel
def favour(s, r, n, slots, t):
    """Give the optimistic slots anew, to some of the `n` in scratch[3]; who has one may keep it."""
    for i in range(n):
        lower_flag(s.up, s.scratch[3, i], state.OPTIMISTIC)
    draw(s, r, n, np.int64(rules.slots_by_chance(r, slots)), t)


# -- slots by rank and by chance ---------------------------------------------------------------------------------------


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
        if s.up[h] & state.UNCHOKED == 0:
            s.tally[h].favoured_at = t
        wanted -= 1


@kernel
def longest_waiting(s, n):
    """The one whose last optimistic slot began longest ago, of those not kept, the first of equals; -1 if none is."""
    best = state.NIL - 1
    for i in range(n):
        h = s.scratch[3, i]
        if s.up[h] & (state.KEPT | state.OPTIMISTIC) != 0:
            continue
        if best < 0 or s.tally[h].favoured_at < s.tally[best].favoured_at:
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
def leave_slot(s, h, t):
    """Who had an optimistic slot wants nothing any more, or is gone: others are to get it."""
    if s.up[h] & state.OPTIMISTIC != 0:
        lower_flag(s.up, h, state.OPTIMISTIC)
        if client_of(s, h >> s.rules.slot_bits).choker == state.BY_LAST_ROUND:
            s.session[h >> s.rules.slot_bits].optimistic_due = t


@kernel
def lost_slot(s, p, t):
    """An unchoked peer wants nothing any more, or is gone: the choker runs within a second, unless that waits."""
    n, soon = s.rules.peers + p, rules.next_second(s.peer[p].start, t)
    if client_of(s, p).free_slots == state.AT_TICK:
        return
    s.session[p].choke_due = t
    if s.node[n].time > soon:
        post_tick(s, p, soon)
