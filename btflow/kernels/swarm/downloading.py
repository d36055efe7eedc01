"""Fetching: what to request when, interest, and what a choke gives back (4.0.2 Downloader)."""

import numpy as np

from btflow.kernels import bits
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.random import shuffle
from btflow.kernels.swarm import ends, picking, picking_whole, rates, requests, rules
from btflow.kernels.swarm.limiter import block_number, cancelled, charge_acks, entry, place, was_refused
from btflow.kernels.swarm.state import BEGUN_FIRST, MISSING, MISSING_PIECES, NIL, OPEN, SERVED, SINGLE, UNREQUESTED


@kernel
def request_more(s, h, lost, n_lost, t):
    """Refill the pipeline of end `h`; with `n_lost` > 0 only from the pieces lost[:n_lost]."""
    p = h >> s.rules.slot_bits
    if s.rules.tallied == 1 and ends.client_of(s, p).picker != BEGUN_FIRST:
        if ends.client_of(s, p).request_interval == 0.0 and s.tally[h].choke_read == 0:
            picking_whole.request(s, h, t)
        return
    c = s.conn[h]
    room = c.outstanding + requests.free_entries(s, h)
    b = min(requests.backlog(s, h, t), room)
    if c.outstanding >= b:
        return
    if ends.in_endgame(s, p):
        requests.endgame_requests(s, h, t)
        return
    used_up = 0
    first_used = picking.NOTHING
    while c.outstanding < b:
        piece = picking.first_wanted(s, h, lost, n_lost) if n_lost > 0 else picking.next_piece(s, h)
        if piece == picking.NOTHING:
            break
        if not ends.wanting(s, h):
            requests.say_interested(s, h, t)
        picking.begin(s, h, piece)
        entered = NIL
        level = min(rules.refill_level(ends.client_of(s, p), b), room)
        while c.outstanding < level:
            requests.new_request(s, h, piece)
            entered += 1
            if not bits.has_piece(s.want, p, piece):
                used_up += 1
                if first_used == picking.NOTHING:
                    first_used = piece
                break
        requests.send_requests(s, h, entered, t)
    if c.outstanding == 0 and ends.wanting(s, h):
        requests.say_not_interested(s, h, t)
    if used_up > 0:
        lose_interest(s, p, first_used, used_up, t)
    if ends.in_endgame(s, p):
        requests.endgame_everywhere(s, p, t)


@kernel
def lose_interest(s, p, piece, used_up, t):
    """A piece is fully requested: connections with nothing outstanding and nothing else to fetch lose our interest.

    `watched` remembers a piece worth fetching for each connection, so that most need no search.
    """
    for w in ends.words_of(s, p):
        marked = ends.wanting_among(s, w)
        while marked != bits.EMPTY:
            h = (w << 3) + (bits.first(marked) >> 3)
            marked &= marked - bits.ONE
            if bits.has_piece(s.want, p, np.int64(s.watched[h])):
                continue
            if used_up == 1 and not bits.has_piece(s.has, ends.neighbour(s, h), piece):
                continue
            other = picking.some_wanted(s, h)
            if other != picking.NOTHING:
                s.watched[h] = other
            elif s.conn[h].outstanding == 0:
                requests.say_not_interested(s, h, t)


@kernel
def any_wantable(s, p, lost, n_lost):
    """True if one of the given pieces still has unrequested blocks."""
    for i in range(n_lost):
        if bits.has_piece(s.want, p, lost[i]):
            return True
    return False


@kernel
def refill_served(s, p, lost, n_lost, t):
    """Offer the pieces lost[:n_lost] to the connections that serve us, in random order, while any is left."""
    n = NIL
    for w in ends.words_of(s, p):
        marked = ends.served_among(s, w)
        while marked != bits.EMPTY:
            h = (w << 3) + (bits.first(marked) >> 3)
            marked &= marked - bits.ONE
            if picking.first_wanted(s, h, lost, n_lost) != picking.NOTHING:
                s.scratch[0, n] = h
                n += 1
    shuffle(s.rng, s.scratch[0], n)
    for i in range(n):
        if not any_wantable(s, p, lost, n_lost):
            return
        if picking.first_wanted(s, s.scratch[0, i], lost, n_lost) != picking.NOTHING:
            request_more(s, s.scratch[0, i], lost, n_lost, t)


@kernel
def let_go(s, h, t):
    """We were choked: every outstanding request of this connection goes back to the pool (not in endgame)."""
    p = h >> s.rules.slot_bits
    if ends.client_of(s, p).picker != BEGUN_FIRST:
        picking_whole.let_go(s, h, s.conn[h].state == OPEN and ends.linked(s, h))
        return
    c = s.conn[h]
    g = ends.mate(s, h)
    n_lost = NIL
    if c.outstanding > 0 and not ends.in_endgame(s, p):
        lost = s.scratch[1]
        for seq in range(c.dn_next, c.dn_tail):
            block = entry(s, g, seq)
            if block < 0:
                continue
            piece = block // s.rules.blocks
            bits.put_block(s.blocks, p, piece, UNREQUESTED, block - piece * s.rules.blocks)
            s.peer[p].unrequested += 1
            bits.put_piece(s.want, p, piece)
            if n_lost == 0 or lost[n_lost - 1] != piece:
                lost[n_lost] = piece
                n_lost += 1
    c.outstanding = 0
    c.dn_base = c.dn_tail
    c.dn_next = c.dn_tail
    if n_lost > 0:
        refill_served(s, p, s.scratch[1], n_lost, t)
        regain_interest(s, p, s.scratch[1], n_lost, t)


@kernel
def regain_interest(s, p, lost, n_lost, t):
    """Lost requests can make choking neighbours interesting again."""
    if not any_wantable(s, p, lost, n_lost):
        return
    for w in ends.words_of(s, p):
        marked = ends.idle_among(s, w)
        while marked != bits.EMPTY:
            h = (w << 3) + (bits.first(marked) >> 3)
            marked &= marked - bits.ONE
            if picking.first_wanted(s, h, lost, n_lost) != picking.NOTHING:
                requests.say_interested(s, h, t)


@kernel
def got_choke(s, h, t):
    """CHOKE arrived."""
    if s.rules.tallied == 1:
        s.tally[h].choke_read = 0
    if ends.served(s, h):
        if s.rules.tallied == 1:
            rates.settle(s, h, t, True)
        ends.lower_flag(s.dn, h, SERVED)
        before = np.int64(s.conn[h].outstanding)
        let_go(s, h, t)
        left = np.int64(s.conn[h].outstanding)
        if s.rules.tallied == 1 and s.tally[h].allowed > 0 and rules.asks_for_its_set(before - left, left):
            picking_whole.request(s, h, t)


@kernel
def got_unchoke(s, h, t):
    """UNCHOKE arrived."""
    if not ends.served(s, h):
        if s.rules.tallied == 1:
            rates.settle(s, h, t, False)
        ends.raise_flag(s.dn, h, SERVED)
        if ends.wanting(s, h):
            request_more(s, h, s.scratch[1], NIL, t)


@kernel
def got_have(s, h, piece, t):
    """The other side of `h` has `piece` (already entered in `told` and `copies`)."""
    p = h >> s.rules.slot_bits
    if ends.in_endgame(s, p):
        requests.endgame_requests(s, h, t)
    elif bits.has_piece(s.want, p, piece):
        if ends.served(s, h):
            s.scratch[1, 0] = piece
            request_more(s, h, s.scratch[1], SINGLE, t)
        elif not ends.wanting(s, h):
            requests.say_interested(s, h, t)


@kernel
def got_bitfield(s, h, t):
    """The other side's first message tells all it has."""
    p = h >> s.rules.slot_bits
    if ends.client_of(s, p).interest == MISSING_PIECES:
        if not ends.seeding(s, p) and not ends.wanting(s, h) and picking_whole.lacks_some(s, h):
            picking_whole.find_interesting(s, h, t)
        return
    wanted = requests.any_missing(s, h) if ends.in_endgame(s, p) else picking.some_wanted(s, h) != picking.NOTHING
    if wanted and not ends.wanting(s, h):
        requests.say_interested(s, h, t)


@kernel
def done_with(entry):
    """True for the entry of a request that its asker does not count any more."""
    return entry < 0 and not was_refused(entry)


@kernel
def got_block(s, h, seq, t):
    """The block of request number `seq` arrived; True if it completes a piece."""
    p = h >> s.rules.slot_bits
    c = s.conn[h]
    peer = s.peer[p]
    block = entry(s, ends.mate(s, h), seq)
    size = rules.block_bytes(s.rules, block_number(block))
    peer.bytes_down += size
    s.peer[ends.mate(s, h) >> s.rules.slot_bits].bytes_across += size
    if s.rules.tallied == 1 and s.rules.linked == 0:
        begun = rates.first_byte(s.tally[h], c.last_block, ends.wire(s, h).rtt, t)
        rates.note_rest(s, h, float(size), begun, t, ends.served(s, h))
    if block < 0 or seq < c.dn_base:
        peer.duplicates += 1
        return False
    if (
        s.rules.split == 1 or s.rules.direct == 1
    ) and seq > c.dn_next:  # it has overtaken a CHOKE, which will give back what was left out
        s.requests[s.conn[ends.mate(s, h)].row, place(s, seq)] = cancelled(block)
    else:
        c.dn_next = seq + 1
        while (
            s.rules.linked == 1 and c.dn_next < c.dn_tail and done_with(entry(s, ends.mate(s, h), np.int64(c.dn_next)))
        ):
            c.dn_next += 1
    c.outstanding -= 1
    piece = block // s.rules.blocks
    b = block - piece * s.rules.blocks
    if s.rules.tallied == 1:
        wanted = bits.has_block(s.blocks, p, piece, MISSING, b)
        rates.note_block(s, h, c.last_block, t, wanted)
        charge_acks(s, h, size, t)
        if not wanted:
            c.last_block = t
            peer.duplicates += 1
            request_more(s, h, s.scratch[1], NIL, t)
            return False
    rates.note_source(s, c, h, t)
    rates.download_rate(ends.client_of(s, p), c, t, float(size))
    bits.drop_block(s.blocks, p, piece, MISSING, b)
    done = not bits.any_block(s.blocks, p, piece, MISSING)
    if done:
        picking.complete(s, p, piece, t)
    if ends.in_endgame(s, p):
        requests.cancel_elsewhere(s, h, block, t)
    if ends.client_of(s, p).picker != BEGUN_FIRST:
        picking_whole.block_came(s, h, piece, b, t)
    if done and ends.client_of(s, p).interest == MISSING_PIECES and ends.client_of(s, p).request_interval == 0.0:
        picking_whole.lose_interest(s, p, t)
    request_more(s, h, s.scratch[1], NIL, t)
    return done
