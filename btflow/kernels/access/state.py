"""What joins a swarm to its links, and what is counted there.

`x.swarm` is the state of the client's rules (kernels/swarm/state.py), `x.net` that of the flows (link/state.py).
Flow `h` carries what end `h` sends to the other side; with control connections of their own, flow `h` carries the
blocks and flow `ends + h` everything else. Peer `p` has queue and pipe `2 p` upwards and `2 p + 1` downwards.

    template   flow records to begin with, by class and by TCP, UTP or CONTROL
    protocol   TCP or UTP, of the connection of each end
    rings      free rings by size, as the power of two, and at TOP the part of the pool that was ever used
    crossed    bytes that left each uplink, by what they were (columns TCP_DATA...)
    queue_packets, queue_delay: samples of the uplinks' queues, by class and length
    control    messages by class of the sender, kind and delay; control_sum the delays [s]
    latency    blocks by class of the receiver and time since they were requested; latency_sum [s]
    slots      by class: samples of leechers, and of the connections they are served on
    wins       unchokes that came to each peer
"""

from collections import namedtuple

import numpy as np

TCP, UTP, CONTROL = np.int64(0), np.int64(1), np.int64(2)

# Transports of a peer (peer.transports), after OPENS_TCP and OPENS_UTP: the bits of uTorrent's bt.transp_disposition,
# and ours.
ACCEPTS_TCP, ACCEPTS_UTP = 4, 8
PREFERS_UTP, IN_PARALLEL = 16, 32

TCP_DATA, UTP_DATA, TCP_ACKS, UTP_ACKS, CONTROL_DATA = range(5)  # columns of crossed
COLUMNS = 5

# Delays are counted in bins of equal ratio, BINS_PER_DECADE to a power of ten, from SHORTEST [s] on.
BINS_PER_DECADE, DECADES = 50, 8
SHORTEST = 1e-5
DELAY_BINS = BINS_PER_DECADE * DECADES

SMALLEST_RING, LARGEST_RING = 4, 24  # powers of two
TOP = np.int64(LARGEST_RING + 1)  # entry of `rings`

Access = namedtuple(
    "Access",
    "swarm net template protocol rings crossed queue_packets queue_delay control control_sum latency latency_sum "
    "slots wins watch",
)

# The watch: period of the samples [s], width of a bin of queue_delay [s], and how many downloads may be left when it
# begins (the others are the warm-up); free_acks: ACKs take no room in any queue.
WATCH = np.dtype(
    [("every", "f8"), ("width", "f8"), ("begin", "i8"), ("samples", "i8"), ("free_acks", "i8")], align=True
)
