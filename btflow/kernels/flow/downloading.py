"""Fetching: what a peer asks for when it is unchoked or choked, when others get pieces, and what it tells of its own.

Times are those of the peer that fetches. What it does when a block comes is in uploads.py.
"""

import math

import numpy as np

from btflow.kernels import bits
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow import limiter, mail, picking, picking_whole, requests, transport
from btflow.kernels.flow.ends import lacks_some, post, put_wanted, row_of, seeding, super_seeding, told_all, wake
from btflow.kernels.flow.state import BUSY, FAST, LOOKS_AGAIN, NO_LANE, SERVING, STALLED, WATCHED
from btflow.kernels.random import below, shuffle
from btflow.kernels.swarm import rates, rules, whole_pieces
from btflow.kernels.swarm.ends import client_of, lower_flag, raise_flag
from btflow.kernels.swarm.state import ANY, BEGUN_FIRST, FOREVER, HAVE_ONE, LEAVE, NIL, OPEN, PULSE, SINGLE, SLOW_START


@kernel
def request_more(s, u, n_lost, t):
    """Refill the pipeline of lane `u`; with `n_lost` > 0 only from the pieces scratch[1][:n_lost]."""
    lane = s.lane[u]
    g = np.int64(lane.g)
    y = g >> s.rules.slot_bits
    peer = s.peer[y]
    r = client_of(s, y)
    if r.picker != BEGUN_FIRST:
        request_whole(s, u, t)
        return
    rate = requests.download_rate(s, r, s.end[g], t, 0.0)
    b = rules.pipeline(r, s.rules.block_size, rate, s.rules.blocks * s.runs)
    if lane.outstanding >= b:
        return
    if peer.endgame == 1:
        requests.endgame_requests(s, u, t)
        return
    p = u >> s.lane_bits
    row = row_of(s, p, np.int64(lane.h))
    level = rules.refill_level(r, b)
    while lane.outstanding < b and requests.room(s, u) and peer.endgame == 0:
        if n_lost > 0:
            entry = picking.begin(s, y, picking.first_wanted(s, y, row, s.scratch[1], n_lost), told_all(s, p))
        else:
            entry = picking.next_piece(s, y, p, row)
        if entry == picking.NOTHING:
            break
        requests.take_blocks(s, u, y, g, entry, level - lane.outstanding, t)
    if lane.outstanding == 0 and not picking.rows_taken(s, y):
        requests.lose_interest(s, u, y, g, t)
    if peer.endgame == 1:
        requests.endgame_everywhere(s, y, t)


@kernel
def ask_again(s, y, t):
    """Peer `y` may begin a piece again: it asks those that serve it and have nothing to send."""
    for i in range(s.peer[y].n_served):
        u = np.int64(s.served[y, i])
        lane = s.lane[u]
        if lane.state == SERVING and lane.outstanding == 0 and lane.leaving == 0:
            request_more(s, u, NIL, t)


@kernel
def asked_for(s, y, piece):
    """Peer `y` asked for blocks of a piece: it has begun it, even if it is choked before one comes."""
    if s.peer[y].endgame == 0 and client_of(s, y).picker == BEGUN_FIRST:
        picking.begin(s, y, piece, False)


@kernel
def got_have(s, u, piece, t):
    """The uploader of lane `u` has told of a piece."""
    y = picking.begun_row(s, u)
    if s.lane[u].state != SERVING or client_of(s, y).picker != BEGUN_FIRST:
        return
    if s.peer[y].endgame == 1:
        requests.endgame_requests(s, u, t)
    elif bits.has_piece(s.want, y, piece):
        s.scratch[1, 0] = piece
        request_more(s, u, SINGLE, t)


# -- what a choke gives back -------------------------------------------------------------------------------------------


@kernel
def let_go(s, u, t):
    """Lane `u` ends for its downloader at `t`: what it asked for there goes back to the pool (not in endgame)."""
    lane = s.lane[u]
    y = np.int64(lane.g) >> s.rules.slot_bits
    peer = s.peer[y]
    n_lost = NIL
    if client_of(s, y).picker != BEGUN_FIRST:
        picking_whole.let_go(s, u, y)
    elif peer.endgame == 0:
        for i in range(lane.runs):
            run = s.run[u, i]
            entry = np.int64(run.entry)
            piece = s.begun[y, entry]
            piece.unrequested |= run.blocks
            peer.unrequested += bits.count(run.blocks)
            number = np.int64(piece.piece)
            bits.put_piece(s.open, y, number)
            put_wanted(s, y, number)
            if n_lost == 0 or s.scratch[1, n_lost - 1] != number:
                s.scratch[1, n_lost] = number
                n_lost += 1
    lane.runs = 0
    lane.outstanding = 0
    for i in range(peer.n_served):
        if s.served[y, i] == u:
            peer.n_served -= 1
            s.served[y, i] = s.served[y, peer.n_served]
            break
    if n_lost > 0:
        refill(s, y, n_lost, t)


@kernel
def refill(s, y, n_lost, t):
    """Offer the pieces scratch[1][:n_lost] to the lanes that serve peer `y`, in random order, while any is left."""
    n = np.int64(s.peer[y].n_served)
    for i in range(n):
        s.scratch[0, i] = s.served[y, i]
    shuffle(s.rng, s.scratch[0], n)
    for i in range(n):
        u = s.scratch[0, i]
        p = u >> s.lane_bits
        row = row_of(s, p, np.int64(s.lane[u].h))
        if s.lane[u].state == SERVING and picking.first_wanted(s, y, row, s.scratch[1], n_lost) != picking.NOTHING:
            request_more(s, u, n_lost, t)


# -- where fast connections take whole pieces --------------------------------------------------------------------------


@kernel
def backlog(s, u, y, t):
    """Requests that are to be outstanding on lane `u`."""
    r, g = client_of(s, y), np.int64(s.lane[u].g)
    if r.requests == SLOW_START:
        return np.int64(1 if s.tally[g].idle == 1 or s.tally[g].snubbed == 1 else s.tally[g].queue)
    rate = requests.download_rate(s, r, s.end[g], t, 0.0)
    return np.int64(rules.pipeline(r, s.rules.block_size, rate, s.rules.blocks * s.runs))


@kernel
def request_whole(s, u, t):
    """Ask on lane `u` for as many blocks as are to be outstanding, if there are any."""
    lane = s.lane[u]
    g, p = np.int64(lane.g), u >> s.lane_bits
    y, own, served = g >> s.rules.slot_bits, s.tally[g], lane.state == SERVING
    if seeding(s, y) or not (served or lane.state == FAST):
        return
    rates.settle(s, g, t, served)
    most = backlog(s, u, y, t)
    if lane.outstanding >= most:
        return
    if lane.outstanding == 0:
        own.asks_since = t
    row = row_of(s, p, np.int64(lane.h))
    whole_pieces.look_anew(s, own, y, s.peer[y].n_log)
    while lane.outstanding < most and requests.room(s, u):
        piece = picking_whole.next_piece(s, u, y, row)
        if piece == picking.NOTHING:
            break
        requests.take_blocks(s, u, y, g, picking_whole.entry_of(s, y, piece), most - lane.outstanding, t)
    if served:
        own.idle = 1 if lane.outstanding < most and requests.room(s, u) else 0
        if lane.outstanding == 0:
            found_nothing(s, u, y, g, row, t)
    if lane.outstanding > 0:
        own.asked_at = t
        if rules.times_out(client_of(s, y)) and s.up[g] & WATCHED == 0:
            raise_flag(s.up, g, WATCHED)
            look_at(s, y, g, rules.overdue_at(client_of(s, y), own, s.end[g].last_block), SINGLE, t)


@kernel
def look_at(s, y, g, at, what, t):
    """Have peer `y` look at end `g` at the tick of its clock that comes after `t`, not before `at`."""
    r, start = client_of(s, y), s.peer[y].start
    at = start + max(1.0, math.ceil((max(at, t) - start) / r.pulse)) * r.pulse
    post(s, at if at > t else at + r.pulse, PULSE, g, what, s.end[g].generation)


@kernel
def watch(s, g, t):
    """End `g`, which was asked for blocks, is snubbed if nothing came for too long (second_tick, snub_peer)."""
    lower_flag(s.up, g, WATCHED)
    h, y, own = np.int64(s.end[g].mate), g >> s.rules.slot_bits, s.tally[g]
    if s.end[h].lane == NO_LANE or seeding(s, y):
        return
    u, r = ((h >> s.rules.slot_bits) << s.lane_bits) + s.end[h].lane, client_of(s, y)
    lane = s.lane[u]
    if lane.outstanding <= 0 or lane.leaving != 0 or not (lane.state == SERVING or lane.state == FAST):
        return
    rates.settle(s, g, t, lane.state == SERVING)
    if s.finish[u] < STALLED:  # it comes
        own.heard_at = max(own.heard_at, t)
    overdue, silent = rules.overdue_at(r, own, s.end[g].last_block), rules.silent_at(r, own)
    if t > overdue:
        snub(s, u, y, g)
    if t > silent:
        snub(s, u, y, g)
    raise_flag(s.up, g, WATCHED)
    look_at(s, y, g, min(overdue, silent), SINGLE, t)


@kernel
def snub(s, u, y, g):
    """Lane `u` is asked for no more than it has; if the piece of its last block lacks nothing else, others bring it."""
    rates.snub(s.tally[g])
    picking_whole.release(s, g)
    for i in range(s.lane[u].runs - 1, -1, -1):
        run = s.run[u, i]
        entry = np.int64(run.entry)
        blocks = picking_whole.only_here(s, y, u, entry, np.uint64(run.blocks) & ~np.uint64(run.cancelled))
        if blocks != bits.EMPTY:
            if not picking.any_free(s, y, entry):
                picking_whole.give_back(s, y, u, entry, bits.ONE << np.uint64(bits.last(blocks)))
                s.peer[y].endgame = BUSY
            return


@kernel
def found_nothing(s, u, y, g, row, t):
    """There is nothing to ask lane `u` for: a block that is under way elsewhere, or it looks again later."""
    if not lacks_some(s, y, row):
        requests.lose_interest(s, u, y, g, t)
        return
    ask_twice(s, u, y, g, row, t)
    if s.lane[u].outstanding == 0 and s.up[g] & LOOKS_AGAIN == 0:
        raise_flag(s.up, g, LOOKS_AGAIN)
        look_at(s, y, g, s.tally[g].asked_at + client_of(s, y).retry_interval, NIL, t)


@kernel
def ask_twice(s, u, y, g, row, t):
    """A lane with nothing to ask for is asked for one block that is under way elsewhere, of a random piece."""
    if client_of(s, y).endgame == NIL or not whole_pieces.all_begun(s, y, picking_whole.is_open):
        return
    chosen, seen = picking.NOTHING, 0
    for word in range(s.has.shape[1]):
        candidates = s.has[row, word] & s.lacks[y, word]
        while candidates != bits.EMPTY:
            piece = (word << 6) + bits.first(candidates)
            candidates &= candidates - bits.ONE
            seen += 1
            if below(s.rng, seen) == 0:
                chosen = piece
    entry = picking_whole.entry_of(s, y, chosen)
    if entry == picking.NOTHING:
        return
    block, seen = picking.NOTHING, 0
    for part in picking.parts(s, entry):
        left = np.uint64(s.begun[y, part].missing)
        while left != bits.EMPTY:
            seen += 1
            if below(s.rng, seen) == 0:
                block, entry = bits.first(left), part
            left &= left - bits.ONE
    s.peer[y].endgame = BUSY
    at, later = transport.request_arrivals(s, y, g, t, SINGLE)
    requests.ask(s, u, entry, bits.ONE << np.uint64(block), SINGLE, at, later)


@kernel
def look_again(s, g, t):
    """End `g`, which found nothing to ask for, looks again."""
    lower_flag(s.up, g, LOOKS_AGAIN)
    h = np.int64(s.end[g].mate)
    if s.end[h].lane == NO_LANE:
        return
    u = ((h >> s.rules.slot_bits) << s.lane_bits) + s.end[h].lane
    lane = s.lane[u]
    if lane.state == SERVING and lane.leaving == 0 and lane.outstanding == 0:
        s.tally[g].asked_at = t
        request_whole(s, u, t)


# -- a piece is complete -----------------------------------------------------------------------------------------------


@kernel
def complete(s, y, entry, t):
    """Peer `y` has the piece of part `entry`: it is entered in the log, and its last one ends the download.

    Uploaders are looked at one after the other: a piece entered before may come later, and this one is told after it.
    """
    peer = s.peer[y]
    if peer.n_log > 0:
        t = max(t, s.have_time[y, peer.n_log - 1])
    piece = np.int64(s.begun[y, entry].piece)
    peer.taken = bits.without_bit(peer.taken, entry >> s.part_bits)
    bits.drop_piece(s.want, y, piece)
    bits.drop_piece(s.lacks, y, piece)
    s.have_log[y, peer.n_log] = piece
    s.have_time[y, peer.n_log] = t
    peer.n_log += 1
    if s.rules.super_seeding == 1:
        report(s, y, piece, t)
    if peer.n_log == s.rules.pieces:
        peer.done = t
        s.clock[0].unfinished -= 1
        if s.rules.stay >= 0.0:
            post(s, t + rules.stay(s.rules, t - peer.start, s.rng), LEAVE, y, NIL, ANY)


@kernel
def report(s, y, piece, t):
    """Super-seeds among the neighbours of peer `y` hear half a round trip later of a piece that it has at `t`."""
    base = y << s.rules.slot_bits
    for h in range(base, base + s.peer[y].end_top):
        if s.end[h].state == OPEN:
            report_on(s, h, piece, t)


@kernel
def report_on(s, h, piece, t):
    """Tell the other side of end `h` of a piece at `t`, if that is a super-seed."""
    g = np.int64(s.end[h].mate)
    if super_seeding(s, g >> s.rules.slot_bits):
        post(s, t + transport.half(s, h), HAVE_ONE, g, piece, s.end[g].generation)


@kernel
def announce(s, y):
    """Peer `y` will tell of its next piece when it has it."""
    peer = s.peer[y]
    if s.rules.linked == 1:
        mail.tell(s, y, s.have_time[y, peer.n_log - 1])
    if peer.known_at == FOREVER:
        peer.known_at = limiter.news_written(s, y, s.have_time[y, peer.n_known] + transport.news(s, y))
        wake(s, y, peer.known_at)
