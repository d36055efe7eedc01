"""What all ask of peers, their ends and lanes: who wants something of whom, where one stands in the choker's list.

Interest is not announced: pieces are rows of bits, compared when somebody asks. `wake` and `post` see to it that a peer
is looked at in time.
"""

import numpy as np

from btflow.kernels import bits, calendar
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow.state import FAST, GONE, LEAVES, NO_LANE
from btflow.kernels.swarm import rules
from btflow.kernels.swarm.ends import client_of
from btflow.kernels.swarm.state import ANY, FOREVER, LOOK, NIL, OPEN, UNREQUESTED_PIECES

NONE = np.int64(-1)


@kernel
def post(s, time, kind, target, arg, generation):
    """Schedule an event, not before the last one taken."""
    n = calendar.take_node(s)
    node = s.node[n]
    node.kind = kind
    node.target = target
    node.arg = arg
    node.generation = generation
    calendar.insert(s, n, max(time, s.clock[0].now))
    s.soonest[0] = min(s.soonest[0], node.time)


@kernel
def schedule(s, p, at):
    """Look at peer `p` at `at`, unless it is looked at before."""
    link = s.net.link[p]
    if link.look_at <= at:
        return
    link.look_at = at
    post(s, at, LOOK, p, NIL, ANY)


@kernel
def is_open(s, h):
    """True if the connection of end `h` is complete."""
    return s.end[h].state == OPEN


@kernel
def neighbour(s, h):
    """The peer on the other side of end `h`."""
    return np.int64(s.end[h].mate) >> s.rules.slot_bits


@kernel
def wake(s, p, t):
    """Something may happen in the uploads of peer `p` at `t`."""
    s.peer[p].next_at = min(s.peer[p].next_at, t)
    s.peer[p].ending = -1
    if s.rules.linked == 1 and s.net.link[p].look_at == FOREVER:
        schedule(s, p, t)


@kernel
def line_up(s, p):
    """Peer `p` will be looked at a step later, after the others of its round but those that it is behind of."""
    peer, row = s.peer[p], s.round[s.peer[p].klass]
    following = peer.visit_at + peer.step
    peer.visit_at = peer.tick_at if following > peer.tick_at - 0.5 * peer.step else following
    size, place = s.queue.shape[1], row.first + row.count
    row.count += 1
    while place > row.first:
        before = np.int64(s.queue[peer.klass, place - 1 if place <= size else place - 1 - size])
        if s.peer[before].visit_at <= peer.visit_at:
            break
        s.queue[peer.klass, place if place < size else place - size] = before
        place -= 1
    s.queue[peer.klass, place if place < size else place - size] = p


# -- interest ----------------------------------------------------------------------------------------------------------


@kernel
def offer(s, p):
    """The first four words of what peer `p` has to offer: who asks for many neighbours reads them once."""
    return s.shown[p, 0], s.shown[p, 1], s.shown[p, 2], s.shown[p, 3]


@kernel
def wants(s, y, p, offered):
    """True if peer `y` needs a piece of `p`, and its interest in it has reached `p`; `offered` is offer(s, p)."""
    a, b, c, d = offered
    some = (a & s.lacks[y, 0]) | (b & s.lacks[y, 1])
    others = (c & s.lacks[y, 2]) | (d & s.lacks[y, 3])
    return some | others != bits.EMPTY or (s.shown.shape[1] > 4 and wants_later(s, y, p))


@kernel
def wants_later(s, y, p):
    """True if peer `y` needs a piece of `p` behind the first four words; four at a time."""
    for w in range(4, s.shown.shape[1], 4):
        some = (s.shown[p, w] & s.lacks[y, w]) | (s.shown[p, w + 1] & s.lacks[y, w + 1])
        others = (s.shown[p, w + 2] & s.lacks[y, w + 2]) | (s.shown[p, w + 3] & s.lacks[y, w + 3])
        if some | others != bits.EMPTY:
            return True
    return False


@kernel
def lacks_some(s, y, row):
    """True if peer `y` is interested in a piece of row `row` of `has`, whether that is known or not."""
    for w in range(s.has.shape[1]):
        if s.has[row, w] & s.lacks[y, w] != bits.EMPTY:
            return True
    return False


@kernel
def put_wanted(s, y, piece):
    """Blocks of `piece` may be asked for by peer `y`: some clients are interested only in such pieces."""
    bits.put_piece(s.want, y, piece)
    if client_of(s, y).interest == UNREQUESTED_PIECES:
        bits.put_piece(s.lacks, y, piece)


@kernel
def drop_wanted(s, y, piece):
    """No block of `piece` may be asked for by peer `y`."""
    bits.drop_piece(s.want, y, piece)
    if client_of(s, y).interest == UNREQUESTED_PIECES:
        bits.drop_piece(s.lacks, y, piece)


@kernel
def super_seeding(s, p):
    """True if peer `p` shows its pieces one by one."""
    return s.rules.super_seeding == 1 and s.peer[p].shows == 1


@kernel
def row_of(s, p, h):
    """Row of `has` and `shown` for end `h` of peer `p`: `p`, or one of this end if `p` is a super-seed."""
    return s.rules.peers + h if super_seeding(s, p) else p


@kernel
def left(s, p):
    """True if peer `p` has left the swarm, or not yet come."""
    return s.peer[p].present == 0


@kernel
def seeding(s, p):
    """True if peer `p` has every piece."""
    return s.peer[p].n_log == s.rules.pieces


@kernel
def serves_as_seed(s, p):
    """True if peer `p` has every piece by its own time: what is on its way to it does not count yet."""
    return s.peer[p].shows == 1 or s.peer[p].n_known == s.rules.pieces


@kernel
def told_all(s, p):
    """True if the neighbours of `p` know that it has every piece."""
    return s.peer[p].n_known == s.rules.pieces


# -- the choker's list -------------------------------------------------------------------------------------------------


@kernel
def place_of(s, p, i):
    """Place in `order` of position `i` of the choker's list."""
    peer = s.peer[p]
    return np.int64(rules.position(peer.head, i, peer.n_order))


@kernel
def position_of(s, p, place):
    """Position in the choker's list of a place in `order`."""
    peer = s.peer[p]
    return place - peer.head if place >= peer.head else place - peer.head + peer.n_order


@kernel
def is_unchoked(s, p, i, reach, entry):
    """True if the choker, when it last ran, unchoked who is at position `i` of its list: up to `reach`, none since."""
    return i < reach and s.listed[own_end(s, p, entry)] < s.peer[p].rechokes


@kernel
def keeps_unchoked(s, h):
    """True if the other side of end `h` is unchoked, though it may have no lane as it wanted nothing."""
    p, at = h >> s.rules.slot_bits, np.int64(s.end[h].at)
    return is_unchoked(s, p, position_of(s, p, at), s.peer[p].reach, s.order[p, at])


@kernel
def other_end(s, entry):
    """The other side's end of an entry of the list."""
    return (entry if entry >= 0 else -1 - entry) >> s.rules.slot_bits


@kernel
def own_end(s, p, entry):
    """The end of peer `p` of an entry of its list."""
    slot = (entry if entry >= 0 else -1 - entry) & (s.rules.slots - 1)
    return (p << s.rules.slot_bits) + slot


@kernel
def lane_of(s, p, entry):
    """The lane of an entry of the list that has one."""
    return (p << s.lane_bits) + s.end[own_end(s, p, entry)].lane


@kernel
def interested(s, h):
    """True if the other side of end `h` of a super-seed is interested, as far as that knows."""
    e, p = s.end[h], h >> s.rules.slot_bits
    if e.lane != NO_LANE and s.lane[(p << s.lane_bits) + e.lane].outstanding > 0:
        return True
    row = s.rules.peers + h
    return wants(s, np.int64(e.mate) >> s.rules.slot_bits, row, offer(s, row))


@kernel
def may_serve(s, p, entry, offered):
    """True if who is at an entry of the list is interested in `p`, as far as `p` knows, and not marked to be kept."""
    if entry < 0:
        lane = s.lane[lane_of(s, p, entry)]
        if lane.kept == 1 or lane.leaving == GONE:
            return False
        if lane.outstanding > 0 or lane.leaving == LEAVES:
            return True
    if super_seeding(s, p):
        return interested(s, own_end(s, p, entry))
    return wants(s, other_end(s, entry) >> s.rules.slot_bits, p, offered)


@kernel
def next_candidate(s, p, i, offered):
    """The first position of the list, from `i` on, of one that is served or interested; behind it if there is none."""
    n, head, shift = np.int64(s.peer[p].n_order), np.int64(s.peer[p].head), 2 * s.rules.slot_bits
    while i < n:
        entry = s.order[p, rules.position(head, i, n)]
        if entry < 0 or wants(s, entry >> shift, p, offered):
            break
        i += 1
    return i


@kernel
def part_sent(s, u, t):
    """True if a block of lane `u` has had its first turn at `t`, which may be ahead of what is settled."""
    peer = s.peer[u >> s.lane_bits]
    if not s.finish[u] < FOREVER:
        return False
    ahead = max(0.0, min(t, peer.next_at) - peer.now)
    return peer.work + ahead * peer.upload_limit / peer.active >= s.lane[u].began


@kernel
def has_fast_lane(s, p):
    """True if peer `p` may serve one more set."""
    n, first = NIL, p << s.lane_bits
    for u in range(first, first + s.peer[p].top):
        n += s.lane[u].state == FAST
    return n < s.fast_lanes
