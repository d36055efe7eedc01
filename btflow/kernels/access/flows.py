"""The flows of a connection: which they are, and their end."""

import numpy as np

from btflow.kernels.access import rings
from btflow.kernels.clock import give_node
from btflow.kernels.jit import kernel
from btflow.kernels.link import sender
from btflow.kernels.link.events import schedule, source
from btflow.kernels.link.state import ACK_TIMER, FOREVER, NONE, RTO_TIMER, SEND_TIMER
from btflow.kernels.link.state import IDLE as CLOSED


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
    s, n = x.swarm, x.net
    f = n.flow[i]
    if f.ring_mask == 0:
        return
    rings.give(x, f.ring_at, f.ring_mask)
    f.ring_mask = 0
    f.generation += 1
    if f.reverse != NONE and n.flow[f.reverse].reverse == i:  # the other side may not know yet
        n.flow[f.reverse].reverse = NONE
    f.running = CLOSED
    for what in (RTO_TIMER, ACK_TIMER, SEND_TIMER):
        schedule(n, source(n, i, what), FOREVER)
    k = f.first_message
    while k != NONE:
        following = np.int64(s.node[k].next)
        give_node(s, k)
        k = following
    f.first_message = NONE
    f.wrote = 0
    f.cut = 0
