"""Latency of a transfer of given size over TCP: set-up, slow start, the first loss, and what is left after it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from btflow.analytic.checks import not_negative, positive, probability, whole
from btflow.analytic.tcp import DELAYED_ACK, MSS, pftk_full, timeout_length, timeout_probability


class Latency(NamedTuple):
    """Expected time of a transfer, by what it is spent on [s]."""

    handshake: float
    """Connection set-up, lost SYNs included."""
    slow_start: float
    """Sending what is sent in slow start."""
    recovery: float
    """Repairing the loss that ends slow start."""
    congestion_avoidance: float
    """Sending the rest at the long-lived flow's rate."""
    delayed_ack: float
    """Wait of the first segment for its delayed ACK."""

    @property
    def total(self) -> float:
        """All of it [s]."""
        return math.fsum(self)


def cardwell(
    size: float,
    loss: float,
    rtt: float,
    rto: float,
    *,
    mss: float = MSS,
    acked: int = DELAYED_ACK,
    initial_window: float = 3.0,
    window_max: float = np.inf,
    syn_timeout: float = 3.0,
    ack_loss: float | None = None,
    delayed_ack: float = 0.0,
) -> Latency:
    """Return the expected latency of a TCP transfer that slow start may or may not survive.

    Cardwell, Savage and Anderson, "Modeling TCP latency", INFOCOM 2000, equations 4 to 25.

    Args:
        size: Bytes to be transferred [B].
        loss: Probability p that a data segment is lost, in [0, 0.5).
        rtt: Round-trip time [s].
        rto: First retransmission timeout T0 of data [s].
        mss: Segment payload [B].
        acked: Segments per ACK, b; slow start grows the window by 1 + 1/b per round.
        initial_window: Congestion window at the start w1 [segments].
        window_max: The receiver's window Wm [segments].
        syn_timeout: First timeout of a SYN Ts [s]: 3 s in RFC 2988, 1 s in RFC 6298.
        ack_loss: Probability that a segment the other way is lost; as `loss` if not given.
        delayed_ack: Mean wait for the ACK of a first, single segment [s]; about 0.1 s if the window starts at one
            segment, nothing if it starts at two or more, since the second segment releases the ACK.

    Raises:
        InputError: An argument is out of range.
    """
    p = float(probability("loss", loss, below=0.5, zero=True))
    back = float(probability("ack_loss", loss if ack_loss is None else ack_loss, below=0.5, zero=True))
    r, t0, ts = (float(positive(n, v)) for n, v in (("rtt", rtt), ("rto", rto), ("syn_timeout", syn_timeout)))
    limit = float(positive("window_max", window_max, finite=False))
    w1 = min(float(positive("initial_window", initial_window)), limit)
    gamma = 1.0 + 1.0 / whole("acked", acked)
    segments = math.ceil(float(positive("size", size)) / float(positive("mss", mss)))
    early = slow_start_segments(segments, p)
    window = early * (gamma - 1.0) / gamma + w1 / gamma  # equation 11
    rest = 0.0
    if p > 0.0 and segments > early:
        rate = pftk_full(p, r, t0, mss=mss, acked=acked, window_max=limit, goodput=True)
        rest = (segments - early) * mss / float(rate)  # equations 21 and 24
    return Latency(
        handshake=r + ts * ((1 - back) / (1 - 2 * back) + (1 - p) / (1 - 2 * p) - 2),  # equation 4
        slow_start=r * _slow_start_rounds(early, window, w1, limit, gamma),
        recovery=_recovery(segments, p, r, t0, min(window, limit)),
        congestion_avoidance=rest,
        delayed_ack=float(not_negative("delayed_ack", delayed_ack)),
    )


def slow_start_segments(segments: int, p: float) -> float:
    """Return how many of `segments` are expected to be sent in slow start, the lost one included (equation 5)."""
    if p == 0.0:
        return float(segments)
    return min(float(segments), (1.0 - (1.0 - p) ** segments) * (1.0 - p) / p + 1.0)


def _slow_start_rounds(early: float, window: float, w1: float, limit: float, gamma: float) -> float:
    """Rounds that slow start takes for `early` segments, at most `limit` in a round (equation 15)."""
    if window <= limit:
        return math.log(early * (gamma - 1.0) / w1 + 1.0, gamma)
    growing = (gamma * limit - w1) / (gamma - 1.0)
    return math.log(limit / w1, gamma) + 1.0 + (early - growing) / limit


def _recovery(segments: int, p: float, rtt: float, rto: float, window: float) -> float:
    """Expected time lost to the first loss [s]: its probability times a timeout or a round (equations 16 to 20)."""
    if p == 0.0:
        return 0.0
    by_timeout = float(timeout_probability(np.asarray(p), np.asarray(window)))
    timeouts = float(timeout_length(np.asarray(p))) * rto / (1.0 - p)
    return (1.0 - (1.0 - p) ** segments) * (by_timeout * timeouts + (1.0 - by_timeout) * rtt)
