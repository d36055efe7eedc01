"""The client's rules as functions of plain values, for both fidelities (mainline 4.0.2 unless a model file says else).

What a peer knows, and when, is kept in two ways: every message an event (`engine.py` and its neighbours), or uploads
advanced between ticks (`flow/`). What it decides is here, once: whom to unchoke, how many blocks to ask for, which
piece first, when to look for more peers. `rates.py` has how rates are measured. `r` is a `state.Rules`; the list of
peer `p` is the first `n` entries of lists[p].
"""

import math

import numpy as np

from btflow.kernels import bits
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.random import below, uniform
from btflow.kernels.swarm.state import ASK_EVERYWHERE, LONGEST_WAITING, NIL

NO_OFFER = -1  # no piece is shown
_MIX = np.uint64(0xD6E8FEB86659FD93)


# -- the choker's list (Choker.py) ------------------------------------------------------------------------------------


@kernel
def position(head, i, n):
    """Where entry `i` of the choker's list stands, which is circular: `n` entries from `head` on."""
    j = head + i
    return j - n if j >= n else j


@kernel
def enlist(rng, lists, p, n, head, entry):
    """A new connection enters the list at a uniformly random position; returns where the list then starts."""
    at = head + below(rng, n + 1)
    if at > n:
        at -= n
        head += 1
    elif at < head:
        head += 1
    for j in range(n, at, -1):
        lists[p, j] = lists[p, j - 1]
    lists[p, at] = entry
    return head


@kernel
def delist(lists, p, n, head, entry):
    """A closed connection leaves the list, whose order is kept; returns where the list then starts."""
    if strike(lists, p, n, entry) < head:
        head -= 1
    return NIL if head >= n - 1 else head


@kernel
def strike(lists, p, n, entry):
    """Take `entry` out of a list and close the gap; returns where it stood."""
    at = NIL
    while lists[p, at] != entry:
        at += 1
    for j in range(at, n - 1):
        lists[p, j] = lists[p, j + 1]
    return at


@kernel
def comes_before(lists, p, n, head, entry, other):
    """True if `entry` stands before `other` in the choker's list."""
    for i in range(n):
        e = lists[p, position(head, i, n)]
        if e == entry:
            return True
        if e == other:
            return False
    return False


# -- choker (Choker.py) -----------------------------------------------------------------------------------------------


@kernel
def reciprocal_slots(candidates, upload_slots):
    """How many of a leecher's interested, unsnubbed sources keep a slot by their rate: all slots but one."""
    return min(candidates, upload_slots - 1)


@kernel
def optimistic_slots(r, kept, upload_slots):
    """How many more a leecher unchokes in the order of its list: one, or more while `min_uploads` are not reached.

    With those kept never more than it has slots.
    """
    return max(1, min(r.min_uploads, upload_slots) - kept)


@kernel
def snubbed(r, last_block, t):
    """True if a source that sent its last block at `last_block` [s] is no longer thanked for it at `t`."""
    return t - last_block > r.snub_time


@kernel
def forced_unchokes(slots, round_number, opened):
    """New unchokes a seed forces this round: about (slots + 2) / 3 each 30 s, less those opened since the last tick."""
    return max(0, ((slots + 2) // 3 + round_number % 3) // 3 - opened)


@kernel
def seed_rank(r, unchoked_at, ticks, pending):
    """Order in which a seed keeps peers: those unchoked in the last rounds or with requests pending, latest first.

    `unchoked_at` and `ticks` count the rounds of the choker.
    """
    return float(-unchoked_at) if unchoked_at > ticks - r.recent_rounds or pending else 1.0


@kernel
def seed_keeps(candidates, slots, forced):
    """How many of a seed's unchoked, interested peers keep their slot: all it has but those that are forced open."""
    return max(NIL, min(candidates, slots - forced))


@kernel
def may_fill(unchoked, blocked):
    """True if an interested peer takes one of a seed's free slots: it has one now, or its socket is not full."""
    return unchoked or not blocked


@kernel
def is_idle_end(rank, unchoked_at, oldest):
    """True if a seed that chokes a peer does so as it was idle, for it keeps one unchoked before, at `oldest`."""
    return rank > 0.0 and unchoked_at > oldest


@kernel
def insert_source(number, chosen, lists, p, n, head, entry, rate, kept):
    """Insert `entry` of the choker's list into chosen[:kept], ascending by rate, whose keys are in `number`.

    Ties stand in the order of the list.
    """
    j = kept
    while j > 0 and (
        number[j - 1] > rate or (number[j - 1] == rate and comes_before(lists, p, n, head, entry, chosen[j - 1]))
    ):
        number[j] = number[j - 1]
        chosen[j] = chosen[j - 1]
        j -= 1
    number[j] = rate
    chosen[j] = entry


@kernel
def insert_kept(number, chosen, h, rank, rate, n):
    """Insert `h` into chosen[:n], ascending by (rank, rate), whose keys are in the halves of `number`; ties stay."""
    half = number.size // 2
    j = n
    while j > 0 and (number[j - 1] > rank or (number[j - 1] == rank and number[half + j - 1] > rate)):
        number[j] = number[j - 1]
        number[half + j] = number[half + j - 1]
        chosen[j] = chosen[j - 1]
        j -= 1
    number[j] = rank
    number[half + j] = rate
    chosen[j] = h


@kernel
def is_optimistic_round(r, ticks):
    """True if a leecher's list is rotated at this tick of its choker."""
    return ticks % r.optimistic_rounds == 0


# -- chokers that rank all peers alike, whether they leech or seed -----------------------------------------------------


@kernel
def goes_before(first, second):
    """True if the first of two keys (state.RANK) goes before the second.

    That of the higher rate; whose share of the slot is not complete, or who has one; who was sent more; who waits
    longer, or the lower number drawn (libtorrent choker.cpp, unchoke_compare_rr; Transmission peer-mgr.cc).
    """
    if first.rate != second.rate:
        return first.rate > second.rate
    if first.done != second.done:
        return first.done < second.done
    if first.sent != second.sent:
        return first.sent > second.sent
    return first.waits < second.waits


@kernel
def rank_by_round(r, key, y, ahead, piece_size, unchoked, t):
    """Write the key of a peer by what came from it and went to it since the last round.

    `y` is its state.TALLY; `ahead` bytes are sent that are not counted there.
    """
    done = had_its_share(r, piece_size, unchoked, y.sent_since + ahead, t - y.unchoked_at)
    key.rate, key.done, key.waits = y.got, 1.0 if done else 0.0, y.unchoked_at
    key.sent = y.sent + ahead if unchoked else 0.0


@kernel
def had_its_share(r, piece_size, unchoked, sent, since):
    """True if a peer unchoked for `since` [s] was sent so much [B] that its slot may go to another."""
    return unchoked and sent > r.piece_quota * piece_size and since > r.slot_time


@kernel
def split(keys, ends, n, first):
    """Bring the `first` ends that go before the other `n`, with their keys, to the front, in no order.

    In the order that a quickselect leaves there, as the client has only these found: libtorrent has no slot for one of
    them, and the order says for which (choker.cpp, unchoke_sort, nth_element; that of GNU's library, stl_algo.h, which
    parts by the median of the second, the middle and the last, and sorts the last three).
    """
    low, high = 0, n
    while first < n and high - low > 3:
        middle, last = low + (high - low) // 2, high - 1
        a, b = (low + 1, middle) if goes_before(keys[low + 1], keys[middle]) else (middle, low + 1)
        pivot = (b if goes_before(keys[b], keys[last]) else last) if goes_before(keys[a], keys[last]) else a
        exchange(keys, ends, low, pivot)
        i, j = low + 1, high - 1
        while True:
            while goes_before(keys[i], keys[low]):
                i += 1
            while goes_before(keys[low], keys[j]):
                j -= 1
            if i >= j:
                break
            exchange(keys, ends, i, j)
            i, j = i + 1, j - 1
        low, high = (i, high) if i <= first else (low, i)
    for i in range(low + 1, high if first < n else low):
        j = i
        while j > low and goes_before(keys[j], keys[j - 1]):
            exchange(keys, ends, j - 1, j)
            j -= 1


@kernel
def exchange(keys, ends, i, j):
    """Exchange entries `i` and `j` of what `split` parts; the last of `keys` is free."""
    spare = keys.size - 1
    keys[spare] = keys[i]
    keys[i] = keys[j]
    keys[j] = keys[spare]
    ends[i], ends[j] = ends[j], ends[i]


@kernel
def begins_round(r, session, connections, t):
    """True if a choker that ranks by the last round begins one at `t`; without connections it waits for one."""
    if connections == 0 or t < session.choke_due - ROUNDING * r.choke_interval:
        return False
    session.choke_due = t + r.choke_interval
    return True


@kernel
def renews(r, session, t):
    """True if the optimistic slots go to others as the choker runs at `t`; when they do next is noted."""
    if t < session.optimistic_due - ROUNDING * r.choke_interval:
        return False
    session.optimistic_due = t + r.optimistic_rounds * r.choke_interval
    return True


@kernel
def next_look(session, start, t):
    """When a client started at `start` looks next at its two timers, after `t`: at a second of its own."""
    due = min(session.choke_due, session.optimistic_due)
    return max(next_second(start, t), start + math.ceil(due - start - ROUNDING))


@kernel
def next_second(start, t):
    """The end of the second since `start` that it is at `t`: when a client that looks once a second does so next."""
    return start + math.floor(t - start + ROUNDING) + 1.0


@kernel
def slots_by_chance(r, upload_slots):
    """How many of all slots are optimistic: a fifth, at least one (session_impl.cpp); one, where they are drawn."""
    return max(1, upload_slots // 5) if r.optimistic == LONGEST_WAITING else 1


# -- request queues of clients that measure by the second (peer_connection.cpp) ---------------------------------------

SLACK = 5000.0  # libtorrent peer_connection.cpp, second_tick: a rise of less, in a second, is none [B]


@kernel
def levels_off(last_second, this_second):
    """True if a connection's slow start is over: it brought hardly more than in the second before [B]."""
    return last_second > 0.0 and last_second + SLACK >= this_second


@kernel
def most_requests(r, other):
    """Requests that may be outstanding at a peer of client `other`: what it tells (BEP 10, reqq), if both tell one.

    libtorrent bt_peer_connection.cpp, on_extended_handshake; Transmission peer-msgs.cc, max_available_reqs.
    """
    return other.reqq if r.reqq > 0 and other.reqq > 0 else r.pipeline_cap


@kernel
def queue_of_rate(r, block_size, rate, most):
    """Requests to be outstanding at a rate [B/s]: so many seconds of it, from the floor to `most`."""
    return min(max(int(r.pipeline_seconds * rate / block_size), r.pipeline_floor), most)


WAITS, LEAST_TIMEOUT = 20, 2.0  # peer_connection.hpp, m_request_time; peer_connection.cpp, request_timeout [s]


@kernel
def note_wait(y, waited):
    """A block came `waited` seconds after the one before, or its request: the mean of some 20, and its deviation.

    `y` is a state.TALLY (libtorrent sliding_average.hpp).
    """
    off = abs(y.wait - waited)
    y.waits_seen = min(y.waits_seen + 1, WAITS)
    y.wait += (waited - y.wait) / y.waits_seen
    if y.waits_seen > 1:
        y.off += (off - y.off) / (y.waits_seen - 1)


@kernel
def time_to_snub(r, y):
    """Whole seconds without a block after which a connection is snubbed: its mean wait and four deviations."""
    if y.waits_seen == 0:
        return max(LEAST_TIMEOUT, r.request_timeout)
    wait = 1.2 * y.wait if y.waits_seen == 1 else y.wait + 4.0 * y.off
    return max(LEAST_TIMEOUT, min(math.ceil(wait), r.request_timeout))


@kernel
def times_out(r):
    """True if a client snubs connections that bring nothing."""
    return r.request_timeout > 0.0


@kernel
def overdue_at(r, y, before):
    """When a connection brings no block for too long that brought one at `before` [s]."""
    return max(before, y.asks_since) + time_to_snub(r, y)


@kernel
def silent_at(r, y):
    """When nothing at all comes for too long on a connection that was asked for something [s]."""
    return max(y.heard_at, y.asked_at) + r.piece_timeout


@kernel
def pieces_at_once(r, piece_size, rate):
    """Pieces that a connection of this rate [B/s] takes for itself; 0 if it shares what is begun (request_blocks.cpp).

    What it brings in `whole_piece_time`, of which 8 MiB count.
    """
    return int(min(rate * r.whole_piece_time, 8388608.0) / piece_size)


@kernel
def too_many_begun(begun, neighbours, blocks):
    """True if so many pieces are half done that they go first (piece_picker.cpp, pick_pieces; 2048 blocks: 32 MiB)."""
    return 2 * begun > 3 * neighbours or begun * blocks > 2048


@kernel
def asks_for_its_set(rejected, outstanding):
    """True if a choked client asks for its allowed-fast set: requests are rejected, and few are left outstanding.

    libtorrent peer_connection.cpp, incoming_reject_request: a rejection has it ask while fewer than two are.
    """
    return rejected > 0 and outstanding < 2


# -- request pipeline (Downloader.py) ---------------------------------------------------------------------------------


@kernel
def pipeline(r, block_size, rate, most):
    """Requests below which a connection of this rate [B/s] asks for more: 2 and 4 s of data, flattening above 50."""
    b = r.pipeline_floor + int(r.pipeline_seconds * rate / block_size)
    if b > r.pipeline_cap:
        b = max(r.pipeline_cap, int(r.pipeline_slope * b))
    return min(b, most)


@kernel
def refill_level(r, b):
    """How far a refill of the pipeline goes whose floor is `b`."""
    return max(b, (b - r.pipeline_floor) * r.pipeline_refill + r.pipeline_floor)


@kernel
def endgame_begins(r, unrequested):
    """True if a client whose last block was just requested from now on asks everybody for what it misses."""
    return unrequested == 0 and r.endgame == ASK_EVERYWHERE


@kernel
def draw_missing(rng, chosen, most, seen, block):
    """In endgame one more block may be asked for, after `seen` others: it is among the `most` drawn, or not.

    All have the same chance (reservoir sampling). Returns how many were seen.
    """
    if seen < most:
        chosen[seen] = block
    else:
        j = below(rng, seen + 1)
        if j < most:
            chosen[j] = block
    return seen + 1


# -- order of pieces (PiecePicker.py) ---------------------------------------------------------------------------------


@kernel
def picks_at_random(r, held):
    """True while a client with `held` pieces takes new ones in its random order, not the rarest."""
    return held < r.random_first


@kernel
def may_continue(from_seed, begun_on_seed):
    """True if a begun piece may go on at this neighbour: at a seed only pieces of which a seed was asked before."""
    return begun_on_seed or not from_seed


@kernel
def fewer(rng, n, fewest, ties):
    """Whether a begun piece with `n` copies goes on before the best so far; returns (so, fewest, ties).

    The one of the fewest copies does; of `ties` alike each with the same chance.
    """
    if n > fewest:
        return False, fewest, ties
    if n < fewest:
        return True, n, 1
    return below(rng, ties + 1) == 0, fewest, ties + 1


@kernel
def rarer(n, rank, fewest, best_rank):
    """True if a piece with `n` copies and this rank is begun before one with `fewest` and `best_rank`."""
    return n < fewest or (n == fewest and rank < best_rank)


@kernel
def tie_rank(key, p, piece, copies):
    """Rank of a piece within its rarity class: random, differs between clients, persists until the class changes."""
    z = key ^ (np.uint64(p) << np.uint64(40)) ^ (np.uint64(copies) << np.uint64(24)) ^ np.uint64(piece)
    z = (z ^ (z >> np.uint64(32))) * _MIX
    z = (z ^ (z >> np.uint64(32))) * _MIX
    return z ^ (z >> np.uint64(32))


# -- super-seeding (BEP 16) --------------------------------------------------------------------------------------------


@kernel
def piece_to_show(r, offers, shown, h, has, q):
    """The piece that a super-seed shows peer `q` next: the one it showed least, the first of equals, or NO_OFFER.

    None that is in shown[h], what `q` was shown already, or in has[q]; offers[piece] counts how often it was shown.
    """
    best, fewest = NO_OFFER, 1 << 60
    for piece in range(r.pieces):
        if offers[piece] < fewest and not bits.has_piece(shown, h, piece) and not bits.has_piece(has, q, piece):
            best, fewest = piece, offers[piece]
    return best


@kernel
def shows_next_at_once(pending, upload_slots):
    """True if a super-seed shows the next piece to who has the last, though nobody else has reported it.

    So it does while no more peers than it has upload slots have something to pass on (`pending`).
    """
    return pending <= upload_slots


@kernel
def passed_on(offer, piece, owned):
    """True if a peer that was shown `offer`, and has reported it (`owned`), is shown another as one reports `piece`."""
    return offer == piece and owned


@kernel
def idles(offer, owned):
    """True if a peer that is not interested has nothing to fetch of a super-seed: it has reported what it was shown."""
    return offer == NO_OFFER or owned


# -- upload limiter (RateLimiter.py, Connecter.py) --------------------------------------------------------------------


@kernel
def block_bytes(r, block):
    """Payload of block number `block` [B] (piece * blocks-per-piece + offset)."""
    last = (r.pieces - 1) * r.blocks + r.last_piece_blocks - 1
    return r.last_block_size if block == last else r.block_size


@kernel
def turns(r, size, unit):
    """Turns of `unit` bytes in which a block of `size` bytes is written, with its header."""
    return (size + r.header + unit - 1) // unit


@kernel
def last_turn(r, size, n, unit):
    """What the last of the `n` turns of a block writes [B]."""
    return size + r.header - (n - 1) * unit


LEAST_TCP = 5000.0  # below which TCP beside uTP is never limited (libtorrent session_impl.cpp, on_tick) [B/s]


@kernel
def limit_of_tcp(rate, tcp, connections):
    """Upload limit [B/s] of `tcp` connections of those that upload at `rate` together, others with uTP; 0 for none."""
    if tcp == connections or connections < 5:
        return 0.0
    return max(LEAST_TCP, rate * max(tcp, 1) * 4.0 / connections)


HEADERS, PACKET = 40.0, 1460.0  # of IP and TCP, and what is in a packet of 1500 B beside (libtorrent stat.hpp) [B]


@kernel
def packet_headers(size):
    """Headers of the packets in which `size` bytes are written, or of the ACKs for as many that are read [B]."""
    return HEADERS * math.ceil(size / PACKET)


ROUNDING = 1e-9  # of intervals: a time that is one of a quota, but for rounding, is that quota's


@kernel
def next_quota(r, start, time):
    """When a client that was started at `start` hands out its next quota, at `time` or later [s]."""
    return start + r.limiter_interval * math.ceil((time - start) / r.limiter_interval - ROUNDING)


@kernel
def quota_after(r, start, time):
    """When it hands out the first one after `time` [s]."""
    return start + r.limiter_interval * (math.floor((time - start) / r.limiter_interval + ROUNDING) + 1.0)


@kernel
def second_of(r, start, time):
    """Number of its second at `time`: the first ends with the first quota (session_impl.cpp, m_last_second_tick)."""
    return int(math.floor(time - start - r.limiter_interval + ROUNDING)) + 1


@kernel
def left_to_share(r, left, upload_limit):
    """What there is to share with a new quota, if `left` was not asked for [B] (libtorrent bandwidth_limit.cpp)."""
    return min(left + r.limiter_interval * upload_limit, r.quota_kept * upload_limit)


@kernel
def is_spare(r, left, size, upload_limit):
    """True if so much is left that `size` bytes need not wait (libtorrent bandwidth_limit.hpp, need_queueing)."""
    return left - size >= r.quota_spare * upload_limit


TWO_QUOTAS = 2.0  # libtorrent peer_connection.cpp, wanted_transfer: of what it uploads


@kernel
def wanted_share(r, size, rate):
    """Bytes that a connection with `size` in its buffer wants, which uploads at `rate` [B/s]."""
    return max(size, TWO_QUOTAS * r.limiter_interval * rate)


# -- peer set (Encoder.py, Rerequester.py) ----------------------------------------------------------------------------


@kernel
def may_initiate(r, degree):
    """True if a client with `degree` connections opens one more."""
    return degree < r.max_initiate


@kernel
def serves_first(r, served, slots):
    """True if a client unchokes a new connection, of whose interest it does not know yet: a slot is free.

    (libtorrent bt_peer_connection.cpp, on_receive; the next round takes the slot from who wants nothing)
    """
    return r.preemptive_unchoke == 1 and served < slots


@kernel
def may_accept(r, degree):
    """True if a client with `degree` connections accepts one more."""
    return degree < r.max_allow_in


@kernel
def announces_again(r, announce_interval, complete, ever_incoming, since):
    """True if a client asks the tracker again, `since` seconds after the last time: short of peers, or it is time."""
    few = complete <= r.min_peers_incoming if ever_incoming else complete < r.min_peers
    return (few and since >= r.reannounce) or since >= announce_interval


@kernel
def peers_wanted(r, reply, complete):
    """How many addresses a client takes from the tracker's reply."""
    return 0 if complete >= r.max_initiate else reply


MORE_TIME = 3.0  # for each failure [s] (libtorrent peer_connection.cpp, second_tick)


@kernel
def gives_up(r, reached, failures, waited):
    """True if a client gives up an attempt to connect that has waited for an answer so long [s].

    First it waits for the answer to its SYN, longer after each failure, then for the answer to its handshake
    (libtorrent peer_connection.cpp, second_tick).
    """
    most = r.handshake_timeout if reached else r.connect_timeout
    return most > 0.0 and waited > most + (0.0 if reached else MORE_TIME * failures)


@kernel
def drops(r, interested):
    """True if a client closes its connection to a neighbour of whose last piece it hears: it is not interested yet.

    So does who has all but that piece (libtorrent peer_connection.cpp, incoming_have: disconnect_if_redundant is called
    before the new piece is looked at).
    """
    return r.drops_seeds == 1 and not interested


# -- tracker (track.py), which is beside peer 0 -----------------------------------------------------------------------


@kernel
def reply_time(p, rtt):
    """How long an announce over HTTP takes [s]: two round trips, TCP set-up, request and reply."""
    return 2.0 * rtt * (p > 0)


@kernel
def draw_registered(rng, registered, n, i):
    """The next of the `n` registered peers in random order, `i` after the first: a step of a Fisher-Yates shuffle.

    registered[0] is their number, registered[1] the first.
    """
    j = i + below(rng, n - i)
    registered[1 + i], registered[1 + j] = registered[1 + j], registered[1 + i]
    return registered[1 + i]


@kernel
def is_named(p, seeds, q, other_seeds):
    """True if a reply to `p` may name `q`: no peer is told of itself, and no seed of seeds."""
    return q != p and not (seeds and other_seeds)


@kernel
def register(registered, p):
    """The tracker learns of peer `p`."""
    n = registered[0] + 1
    registered[n] = p
    registered[0] = n


@kernel
def unregister(registered, p):
    """The tracker forgets peer `p`; the last one registered takes its place."""
    n = registered[0]
    for i in range(n):
        if registered[1 + i] == p:
            registered[1 + i] = registered[n]
            registered[0] = n - 1
            break


# -- departures -------------------------------------------------------------------------------------------------------


@kernel
def stay(r, download_time, rng):
    """How long a peer stays once it has everything [s]: exponentially distributed, its mean in download times."""
    mean = r.stay * download_time
    return -mean * math.log(1.0 - uniform(rng)) if mean > 0.0 else 0.0


@kernel
def next_born(births, klass):
    """The leecher of class `klass` that starts when one leaves, -1 if there is none left."""
    p = births[klass, 0]
    if p >= births[klass, 1]:
        return NIL - 1
    births[klass, 0] = p + 1
    return p
