"""Fetching: what a peer asks for when a block comes, when it is unchoked or choked, and when others get pieces.

Times are those of the peer that fetches. A request's own time is the one at which it reaches the uploader, who sees no
request before. `u` is the lane that serves, `g` the end of the peer that fetches.
"""

import numpy as np

from btflow.kernels import bits
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow import choke, events, mail, queues, quota, transport, whole
from btflow.kernels.flow.interest import drop_wanted, offer, put_wanted, row_of, super_seeding, told_all, wants
from btflow.kernels.flow.state import FAST, LEAVES, NO_LANE, SERVING
from btflow.kernels.random import shuffle
from btflow.kernels.swarm import rates, rules
from btflow.kernels.swarm.ends import client_of
from btflow.kernels.swarm.state import ANY, BEGUN_FIRST, FOREVER, HAVE_ONE, LEAVE, NIL, OPEN, PIECE, SINGLE

NOTHING = np.int64(-1)


@kernel
def begun_row(s, u):
    """Row of `begun` that belongs to the downloader of lane `u`."""
    return np.int64(s.lane[u].g) >> s.rules.slot_bits


@kernel
def download_rate(s, r, e, t, n):
    """Count `n` bytes that come to end `e` at `t` and return the rate as the client measures it [B/s]."""
    if t <= e.last:
        if n == 0.0:
            return e.rate
        t = e.last
    e.rate, e.since, e.last = rates.updated(e.rate, e.since, e.last, t, n, r.rate_window)
    return e.rate


@kernel
def got_block(s, u, g, entry, b, size, stale, t):
    """Block `b` of the begun piece `entry` arrives at end `g` at `t`; True if that completes it.

    It comes on lane `u`, which may be NOTHING if it has ended since. A stale block was not wanted any more.
    """
    y = g >> s.rules.slot_bits
    peer, e = s.peer[y], s.end[g]
    peer.bytes_down += size
    if stale:
        peer.duplicates += 1
        return False
    if u != NOTHING:
        s.lane[u].outstanding -= 1
    r = client_of(s, y)
    if s.rules.tallied == 1:
        rates.note_block(s, g, float(size), e.last_block, t, u != NOTHING and s.lane[u].state == SERVING)
        if s.rules.linked == 0:
            quota.charge_packets(s, y, size)
    note_source(s, y, g, t)
    download_rate(s, r, e, t, float(size))
    piece = s.begun[y, entry]
    piece.missing = bits.without_bit(piece.missing, b)
    piece.last = max(piece.last, t)
    done = piece.missing == bits.EMPTY
    full = done and rows_taken(s, y)
    if done:
        complete(s, y, entry, piece.last)
    if r.picker != BEGUN_FIRST:
        whole.block_came(s, y, u, entry, b, done, t)
    if full:
        ask_again(s, y, t)
    if peer.endgame == 1:
        cancel_elsewhere(s, y, u, entry, b, t)
    if u != NOTHING and (s.lane[u].state == SERVING or s.lane[u].state == FAST):
        request_more(s, u, NIL, t)
    return done


@kernel
def await_block(s, u, entry, b, t):
    """In endgame a block is there when it arrives, and no sooner: another may come before it from elsewhere."""
    lane = s.lane[u]
    lane.awaited += 1
    run = s.run[u, s.runs - lane.awaited]
    run.entry = entry
    run.blocks = bits.ONE << np.uint64(b)
    number = (np.int64(s.begun[begun_row(s, u), entry].piece) << 6) + b
    events.post(s, t, PIECE, np.int64(lane.g), (number << 8) + lane.use, s.end[lane.g].generation)


@kernel
def no_longer_awaited(s, u, entry, block):
    """A block of a begun piece is no longer awaited on lane `u`; False if it was not."""
    lane = s.lane[u]
    last = s.runs - lane.awaited
    for i in range(last, s.runs):
        if s.run[u, i].entry == entry and s.run[u, i].blocks == block:
            s.run[u, i] = s.run[u, last]
            lane.awaited -= 1
            return True
    return False


@kernel
def awaited_block(s, g, arg, t):
    """A block arrives at end `g` that was awaited."""
    y, h = g >> s.rules.slot_bits, np.int64(s.end[g].mate)
    use, b, piece = arg & 255, arg >> 8 & 63, arg >> 14
    u = ((h >> s.rules.slot_bits) << s.lane_bits) + s.end[h].lane if s.end[h].lane != NO_LANE else NOTHING
    entry, came = np.int64(s.row[y, piece]), not bits.has_piece(s.lacks, y, piece)
    if came or (u != NOTHING and s.lane[u].use != use):
        u = NOTHING  # cancelled, and its row may be another piece's by now; or choked since
    elif u != NOTHING and not no_longer_awaited(s, u, entry, bits.ONE << np.uint64(b)):
        u = NOTHING  # cancelled
    stale = came or not bits.has(s.begun[y, entry].missing, b)
    size = np.int64(rules.block_bytes(s.rules, piece * s.rules.blocks + b))
    if got_block(s, u, g, entry, b, size, stale, t):
        announce(s, y)
    if u != NOTHING:
        choke.end_fast(s, u, t)


@kernel
def note_source(s, y, g, t):
    """Remember end `g` among the sources that are not snubbed."""
    e = s.end[g]
    e.last_block = t
    if e.recent == 0:
        e.recent = 1
        s.recent[y, s.peer[y].n_recent] = g - (y << s.rules.slot_bits)
        s.peer[y].n_recent += 1


@kernel
def complete(s, y, entry, t):
    """Peer `y` has the piece `entry`: it is entered in the log, and its last one ends the download.

    Uploaders are looked at one after the other: a piece entered before may come later, and this one is told after it.
    """
    peer = s.peer[y]
    if peer.n_log > 0:
        t = max(t, s.have_time[y, peer.n_log - 1])
    piece = np.int64(s.begun[y, entry].piece)
    peer.taken = bits.without_bit(peer.taken, entry)
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
            events.post(s, t + rules.stay(s.rules, t - peer.start, s.rng), LEAVE, y, NIL, ANY)


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
        events.post(s, t + transport.half(s, h), HAVE_ONE, g, piece, s.end[g].generation)


@kernel
def announce(s, y):
    """Peer `y` will tell of its next piece when it has it."""
    peer = s.peer[y]
    if s.rules.linked == 1:
        mail.tell(s, y, s.have_time[y, peer.n_log - 1])
    if peer.known_at == FOREVER:
        peer.known_at = quota.message_written(s, y, s.have_time[y, peer.n_known] + transport.news(s, y))
        wake(s, y, peer.known_at)


@kernel
def wake(s, p, t):
    """Something may happen in the uploads of peer `p` at `t`."""
    s.peer[p].next_at = min(s.peer[p].next_at, t)
    s.peer[p].ending = -1
    if s.rules.linked == 1 and s.net.link[p].look_at == FOREVER:
        queues.schedule(s, p, t)


# -- requests ---------------------------------------------------------------------------------------------------------


@kernel
def room(s, u):
    """True if lane `u` has a row left for requests."""
    return s.lane[u].runs + s.lane[u].awaited < s.runs


@kernel
def request_more(s, u, n_lost, t):
    """Refill the pipeline of lane `u`; with `n_lost` > 0 only from the pieces scratch[1][:n_lost]."""
    lane = s.lane[u]
    g = np.int64(lane.g)
    y = g >> s.rules.slot_bits
    peer = s.peer[y]
    r = client_of(s, y)
    if r.picker != BEGUN_FIRST:
        whole.request(s, u, t)
        return
    rate = download_rate(s, r, s.end[g], t, 0.0)
    b = rules.pipeline(r, s.rules.block_size, rate, s.rules.blocks * s.runs)
    if lane.outstanding >= b:
        return
    if peer.endgame == 1:
        endgame_requests(s, u, t)
        return
    x = u >> s.lane_bits
    row = row_of(s, x, np.int64(lane.h))
    level = rules.refill_level(r, b)
    while lane.outstanding < b and room(s, u) and peer.endgame == 0:
        named = n_lost > 0
        entry = begin(s, y, first_wanted(s, y, row, n_lost), told_all(s, x)) if named else next_piece(s, y, x, row)
        if entry == NOTHING:
            break
        take_blocks(s, u, y, g, entry, level - lane.outstanding, t)
    if lane.outstanding == 0 and not rows_taken(s, y):
        lose_interest(s, u, y, g, t)
    if peer.endgame == 1:
        endgame_everywhere(s, y, t)


@kernel
def rows_taken(s, y):
    """True if peer `y` has begun as many pieces as it can: it still wants others, and asks when one is complete."""
    return s.peer[y].taken == ~bits.EMPTY


@kernel
def ask_again(s, y, t):
    """Peer `y` may begin a piece again: it asks those that serve it and have nothing to send."""
    for i in range(s.peer[y].n_served):
        u = np.int64(s.served[y, i])
        lane = s.lane[u]
        if lane.state == SERVING and lane.outstanding == 0 and lane.leaving == 0:
            request_more(s, u, NIL, t)


@kernel
def take_blocks(s, u, y, g, entry, most, t):
    """Ask on lane `u` at `t` for up to `most` unrequested blocks of the begun piece `entry`."""
    piece, peer = s.begun[y, entry], s.peer[y]
    blocks = bits.EMPTY
    n = 0
    left = np.uint64(piece.unrequested)
    while n < most and left != bits.EMPTY:
        lowest = left & (~left + bits.ONE)
        blocks |= lowest
        left ^= lowest
        n += 1
    piece.unrequested = left
    peer.unrequested -= n
    if left == bits.EMPTY:
        bits.drop_piece(s.open, y, np.int64(piece.piece))
        drop_wanted(s, y, np.int64(piece.piece))
    if rules.endgame_begins(client_of(s, y), peer.unrequested):
        enter_endgame(s, y)
    at, later = transport.request_arrivals(s, y, g, t, n)
    if client_of(s, y).picker == BEGUN_FIRST or not whole.joins(s, u, entry, blocks, n, at, later):
        ask(s, u, entry, blocks, n, at, later)


@kernel
def ask(s, u, entry, blocks, n, at, later):
    """Put a row with `n` blocks of a begun piece behind the requests of lane `u`: the first arrives at `at`."""
    lane = s.lane[u]
    run = s.run[u, lane.runs]
    run.blocks = blocks
    run.at = at
    run.later = later
    run.entry = entry
    run.behind = NIL
    run.cancelled = bits.EMPTY
    if at == FOREVER:
        mail.ride(s, np.int64(lane.g), run, later)
    lane.runs += 1
    lane.outstanding += n
    if lane.runs == 1 and lane.leaving == 0 and not s.finish[u] < FOREVER:
        s.ready[u] = at if s.rules.ideal == 1 else max(at, s.end[lane.h].free)
        wake(s, u >> s.lane_bits, s.ready[u])


@kernel
def lose_interest(s, u, y, g, t):
    """The downloader of lane `u` has nothing to ask for: the uploader hears of it."""
    lane = s.lane[u]
    if not s.finish[u] < FOREVER:
        lane.runs = 0  # what is left is cancelled
    if lane.runs == 0 and lane.leaving == 0 and lane.state == SERVING:
        lane.leaving = LEAVES
        s.ready[u] = transport.message_arrival(s, y, g, t)
        wake(s, u >> s.lane_bits, s.ready[u])


# -- which piece ------------------------------------------------------------------------------------------------------


@kernel
def next_piece(s, y, x, row):
    """Begun piece from which peer `y` asks `x` for blocks, or NOTHING; `row` of `has` is what `y` knows of."""
    on_seed = told_all(s, x)
    entry = begun_piece(s, y, row, on_seed)
    if entry != NOTHING:
        return entry
    if rules.picks_at_random(client_of(s, y), s.peer[y].n_log):
        return begin(s, y, random_piece(s, y, row), on_seed)
    return begin(s, y, rarest_piece(s, y, row), on_seed)


@kernel
def begun_piece(s, y, x, on_seed):
    """Strict priority: the begun piece with fewest known copies, ties at random; on seeds only those begun on seeds."""
    best, fewest, ties = NOTHING, 1 << 30, 0
    for word in range(s.has.shape[1]):
        candidates = s.has[x, word] & s.open[y, word]
        while candidates != bits.EMPTY:
            piece = (word << 6) + bits.first(candidates)
            candidates &= candidates - bits.ONE
            if not rules.may_continue(on_seed, bits.has_piece(s.seeded, y, piece)):
                continue
            better, fewest, ties = rules.fewer(s.rng, np.int64(s.copies[piece, y]), fewest, ties)
            if better:
                best = np.int64(s.row[y, piece])
    return best


@kernel
def random_piece(s, y, x):
    """Random first: the first wanted piece in the client's own random order."""
    for i in range(s.rules.pieces):
        piece = np.int64(s.random_order[y, i])
        if bits.has_piece(s.want, y, piece) and bits.has_piece(s.has, x, piece):
            return piece
    return NOTHING


@kernel
def rarest_piece(s, y, x):
    """Rarest first over the copies known among the connected peers; ties by the client's own random order."""
    best, fewest = NOTHING, 1 << 30
    rank = np.uint64(0)
    for word in range(s.has.shape[1]):
        candidates = s.has[x, word] & s.want[y, word]
        while candidates != bits.EMPTY:
            piece = (word << 6) + bits.first(candidates)
            candidates &= candidates - bits.ONE
            n = np.int64(s.copies[piece, y])
            if n > fewest:
                continue
            challenger = rules.tie_rank(s.rng[1], y, piece, n)
            if rules.rarer(n, challenger, fewest, rank):
                best, fewest, rank = piece, n, challenger
    return best


@kernel
def begin(s, y, piece, on_seed):
    """Row of `begun` for `piece`, a new one unless it has one; NOTHING for no piece, or if all rows are in use."""
    if piece == NOTHING:
        return NOTHING
    if not bits.has_piece(s.open, y, piece) and not take_row(s, y, piece):
        return NOTHING
    if on_seed:
        bits.put_piece(s.seeded, y, piece)
    return np.int64(s.row[y, piece])


@kernel
def take_row(s, y, piece):
    """A fresh row of `begun` for `piece`; False if all are in use."""
    peer = s.peer[y]
    if rows_taken(s, y):
        return False
    entry = bits.first(~np.uint64(peer.taken))
    peer.taken = bits.with_bit(peer.taken, entry)
    bits.put_piece(s.open, y, piece)
    s.row[y, piece] = entry
    begun = s.begun[y, entry]
    begun.piece = piece
    begun.last = 0.0
    blocks = s.rules.last_piece_blocks if piece == s.rules.pieces - 1 else s.rules.blocks
    begun.missing = ~bits.EMPTY >> np.uint64(64 - blocks)
    begun.unrequested = begun.missing
    return True


@kernel
def first_wanted(s, y, x, n_lost):
    """First of scratch[1][:n_lost] that `x` has and of which `y` may still ask for blocks, or NOTHING."""
    for i in range(n_lost):
        piece = s.scratch[1, i]
        if bits.has_piece(s.want, y, piece) and bits.has_piece(s.has, x, piece):
            return piece
    return NOTHING


# -- what a choke gives back ------------------------------------------------------------------------------------------


@kernel
def let_go(s, u, t):
    """Lane `u` ends for its downloader at `t`: what it asked for there goes back to the pool (not in endgame)."""
    lane = s.lane[u]
    y = np.int64(lane.g) >> s.rules.slot_bits
    peer = s.peer[y]
    n_lost = NIL
    if client_of(s, y).picker != BEGUN_FIRST:
        whole.let_go(s, u, y)
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
        x = u >> s.lane_bits
        row = row_of(s, x, np.int64(s.lane[u].h))
        if s.lane[u].state == SERVING and first_wanted(s, y, row, n_lost) != NOTHING:
            request_more(s, u, n_lost, t)


@kernel
def asked_for(s, y, piece):
    """Peer `y` asked for blocks of a piece: it has begun it, even if it is choked before one comes."""
    if s.peer[y].endgame == 0 and client_of(s, y).picker == BEGUN_FIRST:
        begin(s, y, piece, False)


@kernel
def got_have(s, u, piece, t):
    """The uploader of lane `u` has told of a piece."""
    y = begun_row(s, u)
    if s.lane[u].state != SERVING or client_of(s, y).picker != BEGUN_FIRST:
        return
    if s.peer[y].endgame == 1:
        endgame_requests(s, u, t)
    elif bits.has_piece(s.want, y, piece):
        s.scratch[1, 0] = piece
        request_more(s, u, SINGLE, t)


# -- endgame ----------------------------------------------------------------------------------------------------------


@kernel
def enter_endgame(s, y):
    """Every block is requested: from now on peer `y` wants what it misses."""
    peer = s.peer[y]
    peer.endgame = 1
    left = np.uint64(peer.taken)
    while left != bits.EMPTY:
        put_wanted(s, y, np.int64(s.begun[y, bits.first(left)].piece))
        left &= left - bits.ONE


@kernel
def endgame_everywhere(s, y, t):
    """Endgame has begun: let every lane that serves peer `y` ask for what is missing."""
    for i in range(s.peer[y].n_served):
        endgame_requests(s, np.int64(s.served[y, i]), t)
    ask_idle(s, y, t)


@kernel
def ask_idle(s, y, t):
    """Peer `y` wants more: who had unchoked it while it wanted nothing gets its requests, and the choker runs."""
    base = y << s.rules.slot_bits
    for h in range(base, base + s.peer[y].end_top):
        e = s.end[h]
        if e.state != OPEN:
            continue
        g = np.int64(e.mate)
        x = g >> s.rules.slot_bits
        if s.peer[x].reach == 0 or s.end[g].lane != NO_LANE:
            continue
        if choke.keeps_unchoked(s, g) and wants(s, y, x, offer(s, x)):
            s.peer[x].due_at = min(s.peer[x].due_at, t + transport.half(s, h))
            wake(s, x, s.peer[x].due_at)


@kernel
def endgame_requests(s, u, t):
    """Missing blocks not yet asked of lane `u`, drawn at random, up to the pipeline's floor."""
    lane = s.lane[u]
    if lane.state != SERVING:
        return
    g = np.int64(lane.g)
    y = g >> s.rules.slot_bits
    x = row_of(s, u >> s.lane_bits, np.int64(lane.h))
    r = client_of(s, y)
    rate = download_rate(s, r, s.end[g], t, 0.0)
    floor = rules.pipeline(r, s.rules.block_size, rate, s.rules.blocks * s.runs)
    most = min(floor - lane.outstanding, s.runs - lane.runs - lane.awaited)
    chosen, seen = s.scratch[2], NIL
    left = np.uint64(s.peer[y].taken)
    while left != bits.EMPTY and most > 0:
        entry = bits.first(left)
        left &= left - bits.ONE
        begun = s.begun[y, entry]
        if not bits.has_piece(s.has, x, np.int64(begun.piece)):
            continue
        blocks = np.uint64(begun.missing)
        for i in range(lane.runs):
            if s.run[u, i].entry == entry:
                blocks &= ~(s.run[u, i].blocks & ~s.run[u, i].cancelled)
        for i in range(s.runs - lane.awaited, s.runs):
            if s.run[u, i].entry == entry:
                blocks &= ~s.run[u, i].blocks
        while blocks != bits.EMPTY:
            block = (entry << 6) + bits.first(blocks)
            blocks &= blocks - bits.ONE
            seen = rules.draw_missing(s.rng, chosen, most, seen, block)
    n = np.int64(min(seen, most))
    if n > 0:
        shuffle(s.rng, chosen, n)
        at, later = transport.request_arrivals(s, y, g, t, n)
        for i in range(n):
            arrival = at if i == 0 or at == FOREVER else later
            ask(s, u, chosen[i] >> 6, bits.ONE << np.uint64(chosen[i] & 63), SINGLE, arrival, later)
    elif lane.outstanding == 0:
        lose_interest(s, u, y, g, t)


@kernel
def cancel_elsewhere(s, y, u, entry, b, t):
    """Endgame: a block arrived, so its other requests are cancelled and those lanes look for more."""
    peer = s.peer[y]
    block = bits.ONE << np.uint64(b)
    for k in range(peer.n_served):
        v = np.int64(s.served[y, k])
        if v == u:
            continue
        lane = s.lane[v]
        if cancel(s, y, v, entry, block, t):
            peer.cancelled += 1
            lane.outstanding -= 1
            if lane.state == SERVING:
                endgame_requests(s, v, t)


@kernel
def cancel(s, y, v, entry, block, t):
    """CANCEL for a block, asked for on lane `v` or under way: it is sent all the same if its turn comes first."""
    for i in range(s.lane[v].runs):
        run = s.run[v, i]
        if run.entry == entry and run.blocks & ~run.cancelled & block != bits.EMPTY:
            at = transport.message_arrival(s, y, np.int64(s.lane[v].g), t)
            run.cancel_at = max(run.cancel_at, at) if run.cancelled != bits.EMPTY else at
            run.cancelled |= block
            return True
    if no_longer_awaited(s, v, entry, block):
        transport.message_arrival(s, y, np.int64(s.lane[v].g), t)
        return True
    return False
