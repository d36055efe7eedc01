"""Connections on access links: which transport they use, when they are open, their flows and rings, and how they end.

The opener tries its transports in its order. A SYN that nobody answers is repeated; who opens connections over both
transports takes the second after SYN_TRIES of the first, or, if it tries both in parallel, after one: the other has
been established meanwhile. Without a second one the attempt is given up.

A flow begins with a short ring and moves into one twice as long when its window needs it: most connections of a swarm
carry a message now and then, a few carry blocks, and rings that fit them stay in the cache. Free rings of a size are
chained through `log`.
"""

import numpy as np

from btflow.kernels.access import state
from btflow.kernels.calendar import give_node
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link import scoreboard, sender
from btflow.kernels.link.events import schedule, source
from btflow.kernels.link.laws import utp_libtorrent
from btflow.kernels.link.state import (
    ACK_TIMER,
    CONNECTED,
    CONNECTING,
    FOREVER,
    IDLE as CLOSED,
    NONE,
    PAST,
    RTO_TIMER,
    SEND_TIMER,
)
from btflow.kernels.swarm import peer_set
from btflow.kernels.swarm.ends import client_of, mate
from btflow.kernels.swarm.state import OPEN, OPENS_TCP, OPENS_UTP, OUTGOING


@kernel
def take_ring(x, power):
    """A ring of 2**power places; `x.rings[TOP]` stays below the pool's size, as the main loop sees to."""
    net = x.net
    at = x.rings[power]
    if at == NONE:
        at = x.rings[state.TOP]
        x.rings[state.TOP] += 1 << power
    else:
        x.rings[power] = net.log[at]
    for j in range(at, at + (1 << power)):
        net.got[j] = 0
    return at


@kernel
def give_ring(x, at, mask):
    """A ring is free."""
    power = state.SMALLEST_RING
    while (1 << power) <= mask:
        power += 1
    x.net.log[at] = x.rings[power]
    x.rings[power] = at


@kernel
def widen_ring(x, i):
    """Move flow `i` into a ring twice as long: what is under way, what was sent again, what came."""
    net = x.net
    f = net.flow[i]
    old, mask = f.ring_at, f.ring_mask
    power = state.SMALLEST_RING
    while (1 << power) <= mask:
        power += 1
    new, wide = take_ring(x, power + 1), 2 * mask + 1
    for number in range(max(f.una - 1, 0), f.nxt):
        net.segment[new + (number & wide)] = net.segment[old + (number & mask)]
    for number in range(f.expected, f.nxt):
        net.got[new + (number & wide)] = net.got[old + (number & mask)]
    for place in range(max(f.seen, f.log - mask - 1), f.log):
        net.log[new + (place & wide)] = net.log[old + (place & mask)]
    for place in range(f.again_first, f.again_last):
        net.again[new + (place & wide)] = net.again[old + (place & mask)]
    f.ring_at = new
    f.ring_mask = wide
    give_ring(x, old, mask)


@kernel
def control_flow(s, h):
    """The flow of the control messages of end `h`."""
    return h + (s.rules.peers << s.rules.slot_bits) if s.rules.split == 1 else h


@kernel
def end_of(s, i):
    """The end whose messages flow `i` carries."""
    ends = s.rules.peers << s.rules.slot_bits
    return i - ends if i >= ends else i


@kernel
def establish(x, i, t):
    """The handshake has come: the flow back is open too; its first RTT is that of our answer to the SYN."""
    f = x.net.flow[i]
    if f.running == CLOSED:
        sender.connect(x.net, i, f, t, f.opened)


@kernel
def shut(x, i):
    """Nothing more comes of flow `i`: timers, ring, messages; what is under way is thrown away where it arrives."""
    s, net = x.swarm, x.net
    f = net.flow[i]
    if f.ring_mask == 0:
        return
    give_ring(x, f.ring_at, f.ring_mask)
    f.ring_mask = 0
    f.generation += 1
    if f.reverse != NONE and net.flow[f.reverse].reverse == i:  # the other side may not know yet
        net.flow[f.reverse].reverse = NONE
    f.running = CLOSED
    for what in (RTO_TIMER, ACK_TIMER, SEND_TIMER):
        schedule(net, source(net, i, what), FOREVER)
    n = f.first_message
    while n != NONE:
        following = np.int64(s.node[n].next)
        give_node(s, n)
        n = following
    f.first_message = NONE
    f.wrote = 0
    f.cut = 0


# libutp utp_internal.cpp, check_timeouts: two more in all.
SYN_TRIES = 3
# libtorrent utp_stream.cpp, tick: who was never heard of is given up at the first timeout.
SYN_TRIES_LIBTORRENT = 1
# Linux Documentation/networking/ip-sysctl.rst, tcp_syn_retries 6: seven in all.
LAST_TRY = 7


@kernel
def accepts(s, p, protocol):
    """True if peer `p` takes connections of this transport."""
    return s.peer[p].transports & (state.ACCEPTS_UTP if protocol == state.UTP else state.ACCEPTS_TCP) != 0


@kernel
def first_choice(s, p):
    """The transport that peer `p` tries first."""
    ways = s.peer[p].transports
    if ways & OPENS_TCP == 0:
        return state.UTP
    return state.UTP if ways & OPENS_UTP != 0 and ways & state.PREFERS_UTP != 0 else state.TCP


@kernel
def second_choice(s, p):
    """The transport that peer `p` tries if the first one fails; NONE if there is no other."""
    if s.peer[p].transports & (OPENS_TCP | OPENS_UTP) != OPENS_TCP | OPENS_UTP:
        return NONE
    return state.TCP if first_choice(s, p) == state.UTP else state.UTP


@kernel
def begin(x, h, t):
    """End `h` opens its connection."""
    s = x.swarm
    p = h >> s.rules.slot_bits
    if s.rules.split == 1:  # each side's blocks travel as that side prefers
        prepare(x, control_flow(s, h), control_flow(s, mate(s, h)), h, state.CONTROL)
        prepare(x, control_flow(s, mate(s, h)), control_flow(s, h), mate(s, h), state.CONTROL)
        prepare_data(x, h)
        prepare_data(x, mate(s, h))
        start(x, control_flow(s, h), t)
    else:
        try_over(x, h, state.UTP if peer_set.takes_utp(s, h) == 1 else first_choice(s, p), t)


@kernel
def try_over(x, h, protocol, t):
    """End `h` sends a SYN over a transport."""
    s = x.swarm
    g = mate(s, h)
    x.protocol[h] = protocol
    x.protocol[g] = protocol
    if s.rules.tallied == 1:
        s.tally[h].heard_at = t  # the other transport has its time anew
    prepare(x, h, g, h, protocol)
    prepare(x, g, h, g, protocol)
    start(x, h, t)


@kernel
def prepare_data(x, h):
    """The flow of the blocks of end `h`, where control has its own: one way only, so nothing rides on it."""
    s = x.swarm
    p, q = h >> s.rules.slot_bits, mate(s, h) >> s.rules.slot_bits
    protocol = first_choice(s, p)
    if not accepts(s, q, protocol) and second_choice(s, p) != NONE:
        protocol = second_choice(s, p)
    x.protocol[h] = protocol
    prepare(x, h, NONE, h, protocol)


@kernel
def prepare(x, i, reverse, h, kind):
    """Lay flow `i` from the peer of end `h` to the other side, as its class has it for `kind`."""
    s, net = x.swarm, x.net
    p, q = h >> s.rules.slot_bits, mate(s, h) >> s.rules.slot_bits
    shut(x, i)
    generation = net.flow[i].generation
    net.flow[i] = x.template[s.peer[p].klass, kind]
    f = net.flow[i]
    f.generation = generation
    f.reverse = reverse
    f.other = i - h + mate(s, h)
    f.data_queue0 = f.data_pipe1 = 2 * p
    f.data_queue1 = f.data_pipe2 = 2 * q + 1
    f.ack_queue0 = f.ack_pipe1 = 2 * q
    f.ack_queue1 = f.ack_pipe2 = 2 * p + 1
    if x.watch[0].free_acks == 1:
        lanes = 2 * s.rules.peers  # a second pair of pipes for each peer
        f.ack_queue0 = f.ack_queue1 = PAST
        f.ack_pipe1 += lanes
        f.ack_pipe2 += lanes
    f.ring_at = take_ring(x, state.SMALLEST_RING)
    f.ring_mask = (1 << state.SMALLEST_RING) - 1


@kernel
def start(x, i, t):
    """Flow `i` sends its first SYN."""
    f = x.net.flow[i]
    f.tries = 1
    f.opened = t
    sender.start(x.net, i, f, t)


@kernel
def start_data(x, h, t):
    """The first block of end `h` is written where control has its own connection: the data's one is opened."""
    if x.net.flow[h].running == CLOSED:
        start(x, h, t)


@kernel
def last_try(x, h):
    """SYNs after which the connection of end `h` is given up; a control connection is always one over TCP."""
    return syn_tries(x.net.flow[h]) if x.swarm.rules.split == 0 and x.protocol[h] == state.UTP else LAST_TRY


@kernel
def syn_tries(f):
    """SYNs over one transport, of who has two."""
    return SYN_TRIES_LIBTORRENT if utp_libtorrent.rules(f) else SYN_TRIES


@kernel
def calls_back(x, h, f):
    """True if the other side of `h` tries to reach us by uTP now: it has heard of us by peer exchange, not from us.

    Both sides exchange peers, and have somebody to do so with.
    """
    s = x.swarm
    p, q = h >> s.rules.slot_bits, mate(s, h) >> s.rules.slot_bits
    if not utp_libtorrent.rules(f) or s.peer[p].transports & state.IN_PARALLEL != 0 or s.tally[h].answers == 1:
        return False
    knows = client_of(s, p).exchange_interval > 0.0 and client_of(s, q).exchange_interval > 0.0
    calls = s.peer[q].transports & OPENS_UTP != 0 and first_choice(s, q) == state.UTP and accepts(s, p, state.UTP)
    return knows and calls and s.peer[p].complete > 0 and s.peer[q].complete > 0 and peer_set.may_call(s, q)


@kernel
def breaks(net, i, f, t):
    """True if uTP of libtorrent gives up connection `f`: its timer fires, and the first packet left too often."""
    if f.running != CONNECTED or f.rto_at > t or not utp_libtorrent.rules(f):
        return False
    return scoreboard.segment(net, i, f.una).sendings >= utp_libtorrent.SENDINGS


@kernel
def timer(x, i, t):
    """The retransmission timer of flow `i`: a SYN is repeated, or the other transport is tried."""
    s, net = x.swarm, x.net
    f = net.flow[i]
    h = end_of(s, i)
    if f.running != CONNECTING or f.rto_at > t:
        if breaks(net, i, f, t) and s.conn[h].state == OPEN:
            peer_set.part(s, h, 0, t)
        elif breaks(net, i, f, t) and s.conn[h].outgoing == OUTGOING:
            peer_set.give_up(s, h, t)
        else:
            sender.rto_timer(net, i, f, t)
        return
    p = h >> s.rules.slot_bits
    most = 1 if s.peer[p].transports & state.IN_PARALLEL != 0 else syn_tries(f)
    second = second_choice(s, p) if s.rules.split == 0 and peer_set.takes_utp(s, h) == 0 else NONE
    if second != NONE and x.protocol[h] == first_choice(s, p) and f.tries >= most:
        if s.rules.tallied == 1 and calls_back(x, h, f):
            peer_set.call_back(s, h, t)
        else:
            try_over(x, h, second, t)
    elif f.tries >= last_try(x, h) and i == control_flow(s, h):
        peer_set.give_up(s, h, t)
    else:
        f.tries += 1
        if s.rules.tallied == 1 and x.protocol[h] == state.UTP:
            s.tally[h].heard_at = t  # its SYNs have timeouts of their own
        sender.rto_timer(net, i, f, t)


@kernel
def end(x, h):
    """The connection of end `h` is closed, as far as this side goes."""
    s = x.swarm
    shut(x, h)
    if s.rules.split == 1:
        shut(x, control_flow(s, h))
