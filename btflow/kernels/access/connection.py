"""Connections: which transport they use, when they are open, and how they end.

The opener tries its transports in its order. A SYN that nobody answers is repeated; who opens connections over both
transports takes the second after SYN_TRIES of the first, or, if it tries both in parallel, after one: the other has
been established meanwhile. Without a second one the attempt is given up.
"""

from btflow.kernels import closing
from btflow.kernels.access import flows, rings
from btflow.kernels.access.state import (
    ACCEPTS_TCP,
    ACCEPTS_UTP,
    CONTROL,
    IN_PARALLEL,
    PREFERS_UTP,
    SMALLEST_RING,
    TCP,
    UTP,
)
from btflow.kernels.ends import mate
from btflow.kernels.jit import kernel
from btflow.kernels.link import sender
from btflow.kernels.link.state import CONNECTING, NONE, PAST
from btflow.kernels.link.state import IDLE as CLOSED
from btflow.kernels.state import OPENS_TCP, OPENS_UTP

# libtorrent 2.0.9 settings_pack.cpp, utp_syn_resends 2: three in all.
SYN_TRIES = 3
# Linux Documentation/networking/ip-sysctl.rst, tcp_syn_retries 6: seven in all.
LAST_TRY = 7


@kernel
def accepts(s, p, protocol):
    """True if peer `p` takes connections of this transport."""
    return s.peer[p].transports & (ACCEPTS_UTP if protocol == UTP else ACCEPTS_TCP) != 0


@kernel
def first_choice(s, p):
    """The transport that peer `p` tries first."""
    ways = s.peer[p].transports
    if ways & OPENS_TCP == 0:
        return UTP
    return UTP if ways & OPENS_UTP != 0 and ways & PREFERS_UTP != 0 else TCP


@kernel
def second_choice(s, p):
    """The transport that peer `p` tries if the first one fails; NONE if there is no other."""
    if s.peer[p].transports & (OPENS_TCP | OPENS_UTP) != OPENS_TCP | OPENS_UTP:
        return NONE
    return TCP if first_choice(s, p) == UTP else UTP


@kernel
def begin(x, h, t):
    """End `h` opens its connection."""
    s = x.swarm
    p = h >> s.rules.slot_bits
    if s.rules.split == 1:  # each side's blocks travel as that side prefers
        prepare(x, flows.control_flow(s, h), flows.control_flow(s, mate(s, h)), h, CONTROL)
        prepare(x, flows.control_flow(s, mate(s, h)), flows.control_flow(s, h), mate(s, h), CONTROL)
        prepare_data(x, h)
        prepare_data(x, mate(s, h))
        start(x, flows.control_flow(s, h), t)
    else:
        try_over(x, h, first_choice(s, p), t)


@kernel
def try_over(x, h, protocol, t):
    """End `h` sends a SYN over a transport."""
    s = x.swarm
    g = mate(s, h)
    x.protocol[h] = protocol
    x.protocol[g] = protocol
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
    s, n = x.swarm, x.net
    p, q = h >> s.rules.slot_bits, mate(s, h) >> s.rules.slot_bits
    flows.shut(x, i)
    generation = n.flow[i].generation
    n.flow[i] = x.template[s.peer[p].klass, kind]
    f = n.flow[i]
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
    f.ring_at = rings.take(x, SMALLEST_RING)
    f.ring_mask = (1 << SMALLEST_RING) - 1


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
    return SYN_TRIES if x.swarm.rules.split == 0 and x.protocol[h] == UTP else LAST_TRY


@kernel
def timer(x, i, t):
    """The retransmission timer of flow `i`: a SYN is repeated, or the other transport is tried."""
    s, n = x.swarm, x.net
    f = n.flow[i]
    if f.running != CONNECTING or f.rto_at > t:
        sender.rto_timer(n, i, f, t)
        return
    h = flows.end_of(s, i)
    p = h >> s.rules.slot_bits
    most = 1 if s.peer[p].transports & IN_PARALLEL != 0 else SYN_TRIES
    second = second_choice(s, p) if s.rules.split == 0 else NONE
    if second != NONE and x.protocol[h] == first_choice(s, p) and f.tries >= most:
        try_over(x, h, second, t)
    elif f.tries >= last_try(x, h) and i == flows.control_flow(s, h):
        closing.give_up(s, h, t)
    else:
        f.tries += 1
        sender.rto_timer(n, i, f, t)


@kernel
def end(x, h):
    """The connection of end `h` is closed, as far as this side goes."""
    s = x.swarm
    flows.shut(x, h)
    if s.rules.split == 1:
        flows.shut(x, flows.control_flow(s, h))
