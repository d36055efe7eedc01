"""Fetching: the request pipeline, interest, lost requests and endgame (4.0.2 Downloader)."""

import numpy as np

from btflow.kernels import bits, picker
from btflow.kernels.ends import mate, neighbour
from btflow.kernels.flags import (
    idle_among,
    in_endgame,
    linked,
    lower_flag,
    raise_flag,
    served_among,
    wanting_among,
    words_of,
)
from btflow.kernels.jit import kernel
from btflow.kernels.limiter import block_bytes, block_number, cancelled, entry
from btflow.kernels.messages import send
from btflow.kernels.picker import NOTHING
from btflow.kernels.rate import download_rate
from btflow.kernels.rng import below, shuffle
from btflow.kernels.state import (
    CANCEL,
    ENDGAME,
    INTERESTED,
    MISSING,
    NIL,
    NOT_INTERESTED,
    REQUEST,
    SERVED,
    SINGLE,
    UNREQUESTED,
    WANTING,
)


@kernel
def backlog(s, h, t):
    """Floor of the pipeline: 2 requests and 4 s of data at the measured rate, flattening above 50."""
    r = s.rules
    c = s.conn[h]
    rate = c.dn_rate if c.dn_last == t else download_rate(s, c, t, 0.0)
    b = r.pipeline_floor + int(r.pipeline_seconds * rate / r.block_size)
    if b > r.pipeline_cap:
        b = max(r.pipeline_cap, int(r.pipeline_slope * b))
    return min(b, s.requests.shape[1] - r.blocks)


@kernel
def refill_level(s, b):
    """How far one refill goes beyond the floor `b`."""
    return (b - s.rules.pipeline_floor) * s.rules.pipeline_refill + s.rules.pipeline_floor


@kernel
def say_interested(s, h, t):
    """Tell the other side that we want something it has."""
    raise_flag(s.dn, h, WANTING)
    send(s, h, INTERESTED, NIL, t)


@kernel
def say_not_interested(s, h, t):
    """Tell the other side that it has nothing for us."""
    lower_flag(s.dn, h, WANTING)
    send(s, h, NOT_INTERESTED, NIL, t)


@kernel
def wanting(s, h):
    """True if we told the other side that we are interested."""
    return s.dn[h] & WANTING != 0


@kernel
def served(s, h):
    """True if the other side has unchoked us, as far as we know."""
    return s.dn[h] & SERVED != 0


@kernel
def enter(s, h, block):
    """Write down one more request of end `h` in the list both sides share; the caller sends it."""
    c = s.conn[h]
    g = mate(s, h)
    s.requests[g, c.dn_tail & (s.requests.shape[1] - 1)] = block
    c.dn_tail += 1
    c.outstanding += 1


@kernel
def new_request(s, h, piece):
    """Enter a request for the first unrequested block of `piece`; the caller sends it."""
    p = h >> s.rules.slot_bits
    b = bits.first(s.blocks[p, piece, UNREQUESTED])
    s.blocks[p, piece, UNREQUESTED] = bits.without_bit(s.blocks[p, piece, UNREQUESTED], b)
    s.peer[p].unrequested -= 1
    if s.blocks[p, piece, UNREQUESTED] == bits.EMPTY:
        bits.drop_piece(s.want, p, piece)
    if s.peer[p].unrequested == 0 and s.rules.endgame == 1:
        raise_flag(s.mode, p, ENDGAME)
    enter(s, h, piece * s.rules.blocks + b)


@kernel
def send_requests(s, h, n, t):
    """Send the last `n` requests entered: the first leaves at once, Nagle may hold back the others."""
    if n > 1 and s.rules.ideal == 0:
        send(s, h, REQUEST, SINGLE, t)
        n -= 1
    if n > 0:
        send(s, h, REQUEST, n, t)


@kernel
def request_more(s, h, lost, n_lost, t):
    """Refill the pipeline of end `h`; with `n_lost` > 0 only from the pieces lost[:n_lost]."""
    p = h >> s.rules.slot_bits
    c = s.conn[h]
    b = backlog(s, h, t)
    if c.outstanding >= b:
        return
    if in_endgame(s, p):
        endgame_requests(s, h, t)
        return
    used_up = 0
    first_used = NOTHING
    while c.outstanding < b:
        piece = first_wanted(s, h, lost, n_lost) if n_lost > 0 else picker.next_piece(s, h)
        if piece == NOTHING:
            break
        if not wanting(s, h):
            say_interested(s, h, t)
        picker.begin(s, h, piece)
        entered = NIL
        level = refill_level(s, b)
        while c.outstanding < level:
            new_request(s, h, piece)
            entered += 1
            if not bits.has_piece(s.want, p, piece):
                used_up += 1
                if first_used == NOTHING:
                    first_used = piece
                break
        send_requests(s, h, entered, t)
    if c.outstanding == 0 and wanting(s, h):
        say_not_interested(s, h, t)
    if used_up > 0:
        lose_interest(s, p, first_used, used_up, t)
    if in_endgame(s, p):
        endgame_everywhere(s, p, t)


@kernel
def first_wanted(s, h, lost, n_lost):
    """First of the given pieces that the other side has and that has unrequested blocks."""
    for i in range(n_lost):
        if picker.wants(s, h, lost[i]):
            return lost[i]
    return NOTHING


@kernel
def lose_interest(s, p, piece, used_up, t):
    """A piece is fully requested: connections with nothing outstanding and nothing else to fetch lose our interest.

    `watched` remembers a piece worth fetching for each connection, so that most need no search.
    """
    for w in words_of(s, p):
        marked = wanting_among(s, w)
        while marked != bits.EMPTY:
            h = (w << 3) + (bits.first(marked) >> 3)
            marked &= marked - bits.ONE
            if bits.has_piece(s.want, p, np.int64(s.watched[h])):
                continue
            if used_up == 1 and not bits.has_piece(s.has, neighbour(s, h), piece):
                continue
            other = picker.some_wanted(s, h)
            if other != NOTHING:
                s.watched[h] = other
            elif s.conn[h].outstanding == 0:
                say_not_interested(s, h, t)


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
    for w in words_of(s, p):
        marked = served_among(s, w)
        while marked != bits.EMPTY:
            h = (w << 3) + (bits.first(marked) >> 3)
            marked &= marked - bits.ONE
            if first_wanted(s, h, lost, n_lost) != NOTHING:
                s.scratch[0, n] = h
                n += 1
    shuffle(s.rng, s.scratch[0], n)
    for i in range(n):
        if not any_wantable(s, p, lost, n_lost):
            return
        if first_wanted(s, s.scratch[0, i], lost, n_lost) != NOTHING:
            request_more(s, s.scratch[0, i], lost, n_lost, t)


@kernel
def let_go(s, h, t):
    """We were choked: every outstanding request of this connection goes back to the pool (not in endgame)."""
    p = h >> s.rules.slot_bits
    c = s.conn[h]
    g = mate(s, h)
    n_lost = NIL
    if c.outstanding > 0 and not in_endgame(s, p):
        lost = s.scratch[1]
        for seq in range(c.dn_next, c.dn_tail):
            block = entry(s, g, seq)
            if block < 0:
                continue
            piece = block // s.rules.blocks
            s.blocks[p, piece, UNREQUESTED] = bits.with_bit(
                s.blocks[p, piece, UNREQUESTED], block - piece * s.rules.blocks
            )
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
    for w in words_of(s, p):
        marked = idle_among(s, w)
        while marked != bits.EMPTY:
            h = (w << 3) + (bits.first(marked) >> 3)
            marked &= marked - bits.ONE
            if first_wanted(s, h, lost, n_lost) != NOTHING:
                say_interested(s, h, t)


@kernel
def got_choke(s, h, t):
    """CHOKE arrived."""
    if served(s, h):
        lower_flag(s.dn, h, SERVED)
        let_go(s, h, t)


@kernel
def got_unchoke(s, h, t):
    """UNCHOKE arrived."""
    if not served(s, h):
        raise_flag(s.dn, h, SERVED)
        if wanting(s, h):
            request_more(s, h, s.scratch[1], NIL, t)


@kernel
def got_have(s, h, piece, t):
    """The other side of `h` has `piece` (already entered in `told` and `copies`)."""
    p = h >> s.rules.slot_bits
    if in_endgame(s, p):
        endgame_requests(s, h, t)
    elif bits.has_piece(s.want, p, piece):
        if served(s, h):
            s.scratch[1, 0] = piece
            request_more(s, h, s.scratch[1], SINGLE, t)
        elif not wanting(s, h):
            say_interested(s, h, t)


@kernel
def got_bitfield(s, h, t):
    """The other side's first message tells all it has."""
    p = h >> s.rules.slot_bits
    wanted = any_missing(s, h) if in_endgame(s, p) else picker.some_wanted(s, h) != NOTHING
    if wanted and not wanting(s, h):
        say_interested(s, h, t)


@kernel
def note_source(s, h, t):
    """Remember end `h` among the sources that are not snubbed."""
    c = s.conn[h]
    p = h >> s.rules.slot_bits
    c.last_block = t
    if c.recent == 0:
        c.recent = 1
        s.recent[p, s.peer[p].n_recent] = h - (p << s.rules.slot_bits)
        s.peer[p].n_recent += 1


@kernel
def got_block(s, h, seq, t):
    """The block of request number `seq` arrived; True if it completes a piece."""
    p = h >> s.rules.slot_bits
    c = s.conn[h]
    peer = s.peer[p]
    block = entry(s, mate(s, h), seq)
    size = block_bytes(s, block_number(block))
    peer.bytes_down += size
    if block < 0 or seq < c.dn_base:
        peer.duplicates += 1
        return False
    c.dn_next = seq + 1
    c.outstanding -= 1
    note_source(s, h, t)
    download_rate(s, c, t, float(size))
    piece = block // s.rules.blocks
    b = block - piece * s.rules.blocks
    s.blocks[p, piece, MISSING] = bits.without_bit(s.blocks[p, piece, MISSING], b)
    done = s.blocks[p, piece, MISSING] == bits.EMPTY
    if done:
        picker.complete(s, p, piece, t)
    if in_endgame(s, p):
        cancel_elsewhere(s, h, block, t)
    request_more(s, h, s.scratch[1], NIL, t)
    return done


@kernel
def asked(s, h, block):
    """Sequence number under which `block` is outstanding on end `h`, or -1."""
    c = s.conn[h]
    for seq in range(c.dn_next, c.dn_tail):
        if entry(s, mate(s, h), seq) == block:
            return seq
    return -1


@kernel
def any_missing(s, h):
    """Endgame: True if the other side has a piece we still miss a block of."""
    p = h >> s.rules.slot_bits
    for i in range(s.peer[p].n_begun):
        if picker.knows(s, h, np.int64(s.begun[p, i])):
            return True
    return False


@kernel
def endgame_requests(s, h, t):
    """Every missing block may be requested from everyone who has it, in random order, up to the floor."""
    c = s.conn[h]
    if not served(s, h) or c.outstanding == 0:
        wanted = any_missing(s, h)
        if wanting(s, h) and c.outstanding == 0 and not wanted:
            say_not_interested(s, h, t)
            return
        if not wanting(s, h) and wanted:
            say_interested(s, h, t)
    if not served(s, h):
        return
    room = backlog(s, h, t) - c.outstanding
    if room > 0:
        request_missing(s, h, room, t)


@kernel
def request_missing(s, h, room, t):
    """Request up to `room` missing blocks not yet asked of this connection, drawn at random (reservoir sampling)."""
    p = h >> s.rules.slot_bits
    chosen = s.scratch[2]
    seen = 0
    for i in range(s.peer[p].n_begun):
        piece = np.int64(s.begun[p, i])
        if not picker.knows(s, h, piece):
            continue
        for b in range(s.rules.blocks):
            block = piece * s.rules.blocks + b
            if not bits.has(s.blocks[p, piece, MISSING], b) or asked(s, h, block) >= 0:
                continue
            if seen < room:
                chosen[seen] = block
            else:
                j = below(s.rng, seen + 1)
                if j < room:
                    chosen[j] = block
            seen += 1
    n = np.int64(min(seen, room))
    shuffle(s.rng, chosen, n)
    if n > 0 and not wanting(s, h):
        say_interested(s, h, t)
    for i in range(n):
        enter(s, h, chosen[i])
    send_requests(s, h, n, t)


@kernel
def endgame_everywhere(s, p, t):
    """Endgame has begun or moved on: let every connection ask for what is missing."""
    base = p << s.rules.slot_bits
    for slot in range(s.peer[p].top):
        if linked(s, base + slot):
            endgame_requests(s, base + slot, t)


@kernel
def cancel_elsewhere(s, h, block, t):
    """Endgame: a block arrived, so its other requests are cancelled and those connections look for more."""
    p = h >> s.rules.slot_bits
    base = p << s.rules.slot_bits
    for slot in range(s.peer[p].top):
        g = base + slot
        if g == h or not linked(s, g) or not wanting(s, g):
            continue
        if served(s, g):
            seq = asked(s, g, block)
            if seq < 0:
                continue
            s.conn[g].outstanding -= 1
            s.requests[mate(s, g), seq & (s.requests.shape[1] - 1)] = cancelled(block)
            s.peer[p].cancelled += 1
            send(s, g, CANCEL, seq, t)
        endgame_requests(s, g, t)
