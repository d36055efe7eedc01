"""TCP in formulas: throughput of long flows (square-root law, PFTK, CUBIC), latency of short ones; LEDBAT's queue.

Throughputs are ceilings: the sender always has data, losses of different rounds are independent and the round-trip time
does not depend on the window. A connection below a rate limiter that is slower than its ceiling never comes near it.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from btflow.analytic.checks import Real, not_negative, positive, probability, unwrap, whole

MSS = 1460
"""Default segment payload [B]: an Ethernet MTU of 1500 B less 40 B of IP and TCP headers."""

DELAYED_ACK = 2
"""Segments acknowledged by one ACK where every second segment is acknowledged (RFC 5681, section 4.2)."""


def mathis(loss: ArrayLike, rtt: ArrayLike, *, mss: float = MSS, acked: int = DELAYED_ACK) -> Real:
    """Return the throughput [B/s] of the square-root law, MSS / RTT * sqrt(3 / (2 b p)).

    Mathis, Semke, Mahdavi and Ott, "The macroscopic behavior of the TCP congestion avoidance algorithm", ACM CCR 27(3),
    1997, equation 3 with C = sqrt(3 / (2 b)): losses by fast retransmit only, no timeouts, no window limit. With
    independent losses it holds up to a loss of 0.3 % (the kernels' NewReno with SACK: within 8 %); there are timeouts
    above, and at 2 % it is a quarter too high.

    Args:
        loss: Probability p that a segment is lost, in (0, 1).
        rtt: Round-trip time [s].
        mss: Segment payload [B].
        acked: Segments per ACK, b: 1, or 2 with delayed ACKs.

    Raises:
        InputError: An argument is out of range.
    """
    p, r = probability("loss", loss), positive("rtt", rtt)
    return unwrap(positive("mss", mss) / r * np.sqrt(3.0 / (2.0 * whole("acked", acked) * p)))


def pftk_approx(
    loss: ArrayLike,
    rtt: ArrayLike,
    rto: ArrayLike,
    *,
    mss: float = MSS,
    acked: int = DELAYED_ACK,
    window_max: float = np.inf,
) -> Real:
    """Return the send rate [B/s] of TCP Reno with timeouts, approximate model.

    min(Wm / RTT, 1 / (RTT sqrt(2bp/3) + T0 min(1, 3 sqrt(3bp/8)) p (1 + 32 p^2))) segments per second: Padhye, Firoiu,
    Towsley and Kurose, "Modeling TCP Reno performance", IEEE/ACM ToN 8(2), 2000, approximate model of section II-C;
    also RFC 5348, section 3.1, there without the minima.

    Args:
        loss: Probability p of a loss event, in (0, 1).
        rtt: Round-trip time [s].
        rto: First retransmission timeout T0 [s].
        mss: Segment payload [B].
        acked: Segments per ACK, b.
        window_max: The receiver's window Wm [segments].

    Raises:
        InputError: An argument is out of range.
    """
    p, r, t0 = probability("loss", loss), positive("rtt", rtt), positive("rto", rto)
    b, size, limit = whole("acked", acked), positive("mss", mss), positive("window_max", window_max, finite=False)
    timeouts = t0 * np.minimum(1.0, 3.0 * np.sqrt(3.0 * b * p / 8.0)) * p * (1.0 + 32.0 * p**2)
    return unwrap(size * np.minimum(limit / r, 1.0 / (r * np.sqrt(2.0 * b * p / 3.0) + timeouts)))


def pftk_full(
    loss: ArrayLike,
    rtt: ArrayLike,
    rto: ArrayLike,
    *,
    mss: float = MSS,
    acked: int = DELAYED_ACK,
    window_max: float = np.inf,
    goodput: bool = False,
) -> Real:
    """Return the send rate [B/s] of TCP Reno with timeouts, full model.

    Padhye, Firoiu, Towsley and Kurose, IEEE/ACM ToN 8(2), 2000, full model of section II-C. With `goodput` it is the
    rate of useful data, for which Cardwell, Savage and Anderson, INFOCOM 2000, equation 22, put half the window and Q
    into the numerator. The kernels' NewReno with SACK is within 12 % of it for losses of 0.1 to 2 % and round-trip
    times of 50 to 400 ms.

    Args:
        loss: Probability p of a loss event, in (0, 1).
        rtt: Round-trip time [s].
        rto: First retransmission timeout T0 [s].
        mss: Segment payload [B].
        acked: Segments per ACK, b.
        window_max: The receiver's window Wm [segments].
        goodput: Count what is delivered, not what is sent.

    Raises:
        InputError: An argument is out of range.
    """
    p, r, t0 = probability("loss", loss), positive("rtt", rtt), positive("rto", rto)
    b, size, limit = whole("acked", acked), positive("mss", mss), positive("window_max", window_max, finite=False)
    free = mean_window(p, b)
    w = np.minimum(free, limit)
    q = timeout_probability(p, w)
    sent = (1.0 - p) / p + (w / 2.0 + q if goodput else w + q / (1.0 - p))
    rounds = np.where(free < limit, b * w / 2.0 + 1.0, b * w / 8.0 + (1.0 - p) / (p * w) + 2.0)
    return unwrap(size * sent / (r * rounds + q * timeout_length(p) * t0 / (1.0 - p)))


def mean_window(p: NDArray[np.float64], b: int) -> NDArray[np.float64]:
    """Window E[W] at a loss, not limited by the receiver [segments] (PFTK, E[W] of section II-A)."""
    offset = (2.0 + b) / (3.0 * b)
    return np.asarray(offset + np.sqrt(8.0 * (1.0 - p) / (3.0 * b * p) + offset**2))


def timeout_probability(p: NDArray[np.float64], w: NDArray[np.float64]) -> NDArray[np.float64]:
    """Q(p, w): probability that a loss in a window of `w` segments is found by timeout (PFTK, Q of section II-B)."""
    three = (1.0 - p) ** 3
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        ratio = (1.0 - three) * (1.0 + three * (1.0 - (1.0 - p) ** (w - 3.0))) / (1.0 - (1.0 - p) ** w)
    return np.asarray(np.where(w <= 3.0, 1.0, np.minimum(1.0, ratio)))


def timeout_length(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """G(p): mean length of a run of doubling timeouts, times 1 - p, in units of the first (PFTK, section II-B)."""
    return np.asarray(1.0 + p + 2.0 * p**2 + 4.0 * p**3 + 8.0 * p**4 + 16.0 * p**5 + 32.0 * p**6)


def cubic_response(loss: ArrayLike, rtt: ArrayLike, *, mss: float = MSS, c: float = 0.4, beta: float = 0.7) -> Real:
    """Return the throughput [B/s] of CUBIC: the larger of its own window and Reno's, over the RTT.

    The mean window is (C (3 + beta) / (4 (1 - beta)))^(1/4) (RTT / p)^(3/4) segments in the cubic region and
    1.2 / sqrt(p) in the Reno-friendly one: RFC 8312, section 5, equation 5, and section 5.1; RFC 9438, section 5.
    Losses are 1/p segments apart; there are no timeouts. With independent losses, the windows of which vary more, the
    kernels' mean is 5 to 25 % larger.

    Args:
        loss: Probability p that a segment is lost, in (0, 1).
        rtt: Round-trip time [s].
        mss: Segment payload [B].
        c: CUBIC's C [segments/s^3].
        beta: What a loss leaves of the window, in (0, 1).

    Raises:
        InputError: An argument is out of range.
    """
    p, r, kept = probability("loss", loss), positive("rtt", rtt), probability("beta", beta)
    scale = (positive("c", c) * (3.0 + kept) / (4.0 * (1.0 - kept))) ** 0.25
    window = np.maximum(scale * (r / p) ** 0.75, 1.2 / np.sqrt(p))
    return unwrap(positive("mss", mss) * window / r)


class LedbatQueue(NamedTuple):
    """A bottleneck that LEDBAT flows have filled to their target."""

    queueing_delay: float
    """Time a packet waits [s]: the target, or that of a full buffer."""
    queue: float
    """Bytes waiting [B]."""
    window: float
    """Congestion window of each flow [B]."""


def ledbat_fixed_point(
    capacity: float, base_rtt: float, *, target: float = 0.1, flows: int = 1, buffer: float = np.inf
) -> LedbatQueue:
    """Return where LEDBAT's window stops moving: off_target = 0, so the queueing delay is the target.

    RFC 6817, section 2.4.2: the window grows by GAIN (TARGET - queueing delay) / TARGET, so at rest the bottleneck, of
    `capacity`, holds target * capacity bytes, and the flows' windows add up to capacity * (base RTT + target). Here
    each has its share. It holds if the buffer is larger than that, no other traffic fills it, and every flow knows the
    true base delay; a flow that joined later and took a standing queue for the base delay adds its own target to it.
    So does a flow alone when the minutes of its base history are over and the queue never was empty in them.

    Args:
        capacity: Rate of the bottleneck [B/s].
        base_rtt: Round-trip time without queueing [s].
        target: Target queueing delay [s]: 100 ms, the most RFC 6817, section 2.5 allows.
        flows: Number of flows.
        buffer: Bytes that may wait [B].

    Raises:
        InputError: An argument is out of range.
    """
    rate = float(positive("capacity", capacity))
    delay = min(float(positive("target", target)), float(positive("buffer", buffer, finite=False)) / rate)
    window = rate * (float(positive("base_rtt", base_rtt)) + delay) / whole("flows", flows)
    return LedbatQueue(delay, rate * delay, window)


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
