"""What was seen on the access links of a swarm: queues, delays, slots, and what the bytes were."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from btflow.kernels import state as k
from btflow.kernels.access import state as a
from btflow.kernels.flow.state import Flow

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MESSAGES = {
    "piece": k.PIECE,
    "request": k.REQUEST,
    "cancel": k.CANCEL,
    "have": k.HAVE,
    "interested": k.INTERESTED,
    "not interested": k.NOT_INTERESTED,
    "choke": k.CHOKE,
    "unchoke": k.UNCHOKE,
    "bitfield": k.BITFIELD,
    "handshake": k.SYN,
    "offer": k.OFFER,
}
"""Kinds of messages; an offer is a super-seed's HAVE."""

TRAFFIC = ("TCP data", "uTP data", "TCP ACKs", "uTP ACKs", "control")
"""What the bytes on an uplink are, in the order of the kernels' columns; control: of connections of its own."""


@dataclass(frozen=True)
class Uplinks:
    """The links of one replica, from the warm-up on unless it says otherwise.

    Attributes:
        packets: Samples of the uplinks' queues by class and packets waiting (classes, lengths).
        delay: The same by the time until all that waits has left (classes, bins).
        delay_width: Width of a bin of ``delay`` [s].
        messages: Messages by class of the sender, kind and bin of the delay (classes, kinds, bins).
        message_delay: Sum of the delays from writing to delivery [s] (classes, kinds).
        latency: Blocks by class of the receiver and bin of the time since they were asked for (classes, bins).
        block_latency: Sum of these times [s] (classes,).
        slots: Mean number of connections that a leecher is served on (classes,).
        wins: Unchokes that came to each peer, warm-up included (peers,).
        bytes: Bytes that left each uplink, headers included, by what they were, warm-up included (peers, traffic).
        drops: Packets dropped at the uplink and the downlink of each peer, warm-up included (peers, 2).
    """

    packets: Ints
    delay: Ints
    delay_width: float
    messages: Ints
    message_delay: Floats
    latency: Ints
    block_latency: Floats
    slots: Floats
    wins: Ints
    bytes: Floats
    drops: Ints


def uplinks(x: a.Access) -> Uplinks:
    """Copy what is kept out of the final state of the links of a replica."""
    kinds = [int(kind) for kind in MESSAGES.values()]
    samples, served = x.slots.T
    return Uplinks(
        packets=x.queue_packets.copy(),
        delay=x.queue_delay.copy(),
        delay_width=float(x.watch[0].width),
        messages=x.control[:, kinds].copy(),
        message_delay=x.control_sum[:, kinds].copy(),
        latency=x.latency.copy(),
        block_latency=x.latency_sum.copy(),
        slots=np.divide(served, samples, out=np.full(len(samples), np.nan), where=samples > 0),
        wins=x.wins.copy(),
        bytes=x.crossed.copy(),
        drops=x.net.queue.drops.reshape(-1, 2).astype(np.int64),
    )


def flow_uplinks(s: Flow) -> Uplinks:
    """Copy what is kept out of the final state of a replica at flow fidelity."""
    n, kinds = s.net, [int(kind) for kind in MESSAGES.values()]
    samples, served = n.slots.T
    return Uplinks(
        packets=n.queue_packets.copy(),
        delay=n.queue_delay.copy(),
        delay_width=float(n.watch[0].width),
        messages=n.control[:, kinds].copy(),
        message_delay=n.control_sum[:, kinds].copy(),
        latency=n.latency.copy(),
        block_latency=n.latency_sum.copy(),
        slots=np.divide(served, samples, out=np.full(len(samples), np.nan), where=samples > 0),
        wins=n.wins.copy(),
        bytes=n.crossed.copy(),
        drops=np.column_stack([n.link.dropped, n.link.dropped_down]).astype(np.int64),
    )


def delay_edges() -> Floats:
    """Lower edges of the bins of messages' delays [s] (bins,); the first bin has all below the second edge."""
    return np.asarray(a.SHORTEST * 10.0 ** (np.arange(a.DELAY_BINS) / a.BINS_PER_DECADE), np.float64)


def quantile(values: Floats, counts: NDArray[np.generic], q: float) -> float:
    """Return the least of ascending `values` at or below which a share `q` of the counts lies; NaN for no counts."""
    total = np.cumsum(counts, dtype=float)
    if total.size == 0 or total[-1] == 0.0:
        return float("nan")
    return float(values[int(np.searchsorted(total, q * total[-1]))])
