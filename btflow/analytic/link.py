"""One bottleneck with a drop-tail queue: sawtooths, Vegas' backlog, LEDBAT's growth and latecomers, header shares.

Queues and windows are in packets here, as buffers are given; the packet in service is not counted, since its time is
part of the base round-trip time. Everything is fluid and at rest: no slow start, no other traffic, no random loss.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from btflow.analytic.checks import Real, not_negative, positive, probability, unwrap, whole
from btflow.analytic.tcp import MSS

PACKET = 1500.0
"""Default packet [B], headers included: an Ethernet MTU."""

UTP_GROWTH = 3000.0
"""Growth of a uTP window in a round trip without queueing [B]: MAX_CWND_INCREASE_BYTES_PER_RTT of libutp, 2010 on."""

_POINTS = 4096
"""Points of a cycle; the mean of a sawtooth is then good to 1e-6 of the window."""


class Sawtooth(NamedTuple):
    """Cycle of a window between two losses at a full drop-tail queue; of all flows together if there are several."""

    low: float
    """Window after a loss, beta (B + BDP) [packets]."""
    high: float
    """Window at a loss, B + BDP [packets]."""
    period: float
    """Time between two losses [s]."""
    utilisation: float
    """Share of the capacity that is used."""
    mean_queue: float
    """Mean number of packets waiting."""
    window: NDArray[np.float64]
    """The window at the middle of equal parts of the period [packets]."""
    bdp: float
    """Capacity times base round-trip time [packets]: what of the window does not wait."""

    def queue(self, share: ArrayLike) -> Real:
        """Return the number of packets that wait for a `share` of the time at most: the quantiles of the queue."""
        parts = probability("share", share, below=math.nextafter(1.0, 2.0), zero=True)
        return unwrap(np.maximum(np.quantile(self.window, parts) - self.bdp, 0.0))


def reno_sawtooth(
    capacity: float,
    base_rtt: float,
    buffer: float,
    *,
    packet: float = PACKET,
    flows: int = 1,
    beta: float = 0.5,
    growth: float = 1.0,
) -> Sawtooth:
    """Return the sawtooth of Reno (AIMD) flows that alone fill a drop-tail queue and all lose when it overflows.

    Between losses the window W of a flow grows by `growth` in a round trip of base_rtt + queue / capacity. Where the
    queue is empty that is a straight line; where it is not, dW/dt = growth C / W, so W^2 is one. With D = C base_rtt
    and H = D + B, the window of all goes from L = beta H to H and
    - for L >= D, that is B >= D (1 - beta) / beta (B >= BDP for Reno): utilisation 1, mean queue
      2/3 (H^3 - L^3) / (H^2 - L^2) - D;
    - for L < D: utilisation (H^2 - L^2) / (2 D (D - L) + H^2 - D^2), 3/4 without any buffer for beta = 1/2.
    The rule B >= BDP is of Villamizar and Song, "High performance TCP in ANSNET", CCR 24(5), 1994; the cycle is ours.

    It holds for windows of many packets: the fall takes a round trip in reality, in which the queue drains, and the
    flow sends up to `growth` packets more than fit. Below some ten packets, or where a loss needs a timeout, the mean
    queue is lower than this. Flows that do not lose together (there is no slow start or reverse traffic to make them)
    keep the queue fuller and the link busier.

    Args:
        capacity: Rate of the bottleneck [B/s].
        base_rtt: Round-trip time with an empty queue, the transmission of a packet included [s].
        buffer: Packets that may wait, B.
        packet: Size of a packet, headers included [B].
        flows: Number of flows that lose at the same time.
        beta: What a loss leaves of the window.
        growth: Segments a window grows by in a round trip: 1, or 1/2 if every second segment is acknowledged and ACKs
            are counted, not bytes (RFC 5681 without RFC 3465).

    Raises:
        InputError: An argument is out of range.
    """
    c, bdp, high = _pipe(capacity, base_rtt, buffer, packet)
    low = high * float(probability("beta", beta))
    step = float(positive("growth", growth)) * whole("flows", flows)
    empty, period = _aimd_times(low, high, bdp, c, step)
    return _sawtooth(_aimd(low, bdp, c, step, empty, _middles(period)), low, high, bdp, period)


def cubic_sawtooth(
    capacity: float,
    base_rtt: float,
    buffer: float,
    *,
    packet: float = PACKET,
    flows: int = 1,
    beta: float = 0.7,
    c: float = 0.4,
    friendly: bool = True,
) -> Sawtooth:
    """Return the sawtooth of CUBIC flows that alone fill a drop-tail queue and all lose when it overflows.

    Each loss comes at the window W_max of the one before, so a flow is always in the concave part of RFC 9438's
    W(t) = C (t - K)^3 + W_max, K = cbrt(W_max (1 - beta) / C), equations 1 and 2, and the period is K. With D the BDP,
    H = D + B, L = beta H and m = H - L:
    - for L >= D, B >= 3/7 of the BDP: utilisation 1, mean queue H (3 + beta) / 4 - D;
    - for L < D the queue is empty until v = 1 - t / K falls to v0 = cbrt(B / m): mean queue 3/4 B v0, utilisation
      v0 + [H (1 - v0) - m (1 - v0^4) / 4] / D.
    With `friendly` the window is the greater of that and of an AIMD flow with RFC 9438's alpha = 3 (1 - beta) /
    (1 + beta) (section 4.3), which may reach H first: it does so on short paths with few packets in flight.

    It holds as `reno_sawtooth` does, as long as fast convergence (section 4.7) does not act. A flow alone makes it act
    at every second loss: it overshoots the full queue by the round trip in which the loss is found, and as the curve is
    flat at W_max, the next loss finds a window some segments smaller. W_max then falls to (1 + beta) / 2 of that, and
    the flow comes back to the full queue on the steep side of the curve, so that it overshoots by more again. In the
    kernels the mean queue is thereby 9 to 21 % below this for buffers from half a BDP on, a third to half below for a
    third and a tenth of it, and the utilisation up to 4 points lower.

    Args:
        capacity: Rate of the bottleneck [B/s].
        base_rtt: Round-trip time with an empty queue, the transmission of a packet included [s].
        buffer: Packets that may wait, B.
        packet: Size of a packet, headers included [B].
        flows: Number of flows that lose at the same time.
        beta: What a loss leaves of the window.
        c: CUBIC's C [segments/s^3].
        friendly: Whether there is the Reno-friendly region.

    Raises:
        InputError: An argument is out of range.
    """
    rate, bdp, high = _pipe(capacity, base_rtt, buffer, packet)
    kept, n = float(probability("beta", beta)), whole("flows", flows)
    low, curve = kept * high, float(positive("c", c)) * n  # n windows of H / n each: n C (t - K)^3 in all
    k = math.cbrt((high - low) / curve)
    if not friendly:
        return _sawtooth(high + curve * (_middles(k) - k) ** 3, low, high, bdp, k)
    step = n * 3.0 * (1.0 - kept) / (1.0 + kept)
    empty, linear = _aimd_times(low, high, bdp, rate, step)
    period = min(k, linear)
    times = _middles(period)
    window = np.maximum(high + curve * (times - k) ** 3, _aimd(low, bdp, rate, step, empty, times))
    return _sawtooth(window, low, high, bdp, period)


def _pipe(capacity: float, base_rtt: float, buffer: float, packet: float) -> tuple[float, float, float]:
    """Return the capacity [packets/s], the BDP and the BDP and the buffer together [packets]."""
    rate = float(positive("capacity", capacity) / positive("packet", packet))
    bdp = rate * float(positive("base_rtt", base_rtt))
    return rate, bdp, bdp + float(not_negative("buffer", buffer))


def _middles(period: float) -> NDArray[np.float64]:
    return np.asarray((np.arange(_POINTS) + 0.5) * (period / _POINTS), np.float64)


def _aimd_times(low: float, high: float, bdp: float, rate: float, step: float) -> tuple[float, float]:
    """Return the time until the queue is no longer empty, and the time until the window is `high` [s]."""
    empty = max(0.0, bdp - low) * bdp / (rate * step)
    return empty, empty + (high**2 - max(low, bdp) ** 2) / (2.0 * rate * step)


def _aimd(
    low: float, bdp: float, rate: float, step: float, empty: float, times: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the window of an AIMD flow at `times` after its last loss [packets]."""
    line = low + times * step * rate / bdp
    square = max(low, bdp) ** 2 + 2.0 * rate * step * np.maximum(times - empty, 0.0)
    return np.asarray(np.where(times < empty, line, np.sqrt(square)), np.float64)


def _sawtooth(window: NDArray[np.float64], low: float, high: float, bdp: float, period: float) -> Sawtooth:
    queue = float(np.maximum(window - bdp, 0.0).mean())
    return Sawtooth(low, high, period, float(np.minimum(window / bdp, 1.0).mean()), queue, window, bdp)


class Backlog(NamedTuple):
    """Between which two numbers of packets the queue stays."""

    low: float
    high: float


def vegas_backlog(
    capacity: float,
    base_rtt: float,
    *,
    packet: float = PACKET,
    flows: int = 1,
    alpha: float = 2.0,
    beta: float = 4.0,
    linux: bool = True,
) -> Backlog:
    """Return between which two queues the windows of Vegas flows rest [packets].

    A window stands still while the flow's own estimate of its packets in the queue is from alpha to beta. With the
    estimate of the paper, W (RTT - base) / RTT, that is its true backlog, and n flows keep n alpha to n beta packets
    waiting, whatever the link: Brakmo and Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet",
    IEEE JSAC 13(8), 1995; Low, Peterson and Wang, "Understanding Vegas: a duality model", JACM 49(2), 2002. Linux
    (tcp_vegas.c of 2.6.32) takes W (RTT - base) / base, which is greater by RTT / base: with n alpha = A the
    queueing delay q solves C (base + q) q / base = A: the queue C q is below A, and tends to A as the BDP grows.

    It holds if every flow knows the true base RTT, as one does that started first or on an empty queue, and if the
    buffer has room for it; a flow that took a standing queue for the base keeps its packets on top of that queue. From
    slow start a window comes down to the upper end, from below it comes up to the lower one.

    Args:
        capacity: Rate of the bottleneck [B/s].
        base_rtt: Round-trip time with an empty queue [s].
        packet: Size of a packet, headers included [B].
        flows: Number of flows.
        alpha: Least backlog of a flow [packets].
        beta: Greatest backlog of a flow [packets].
        linux: Take Linux's estimate, not the paper's.

    Raises:
        InputError: An argument is out of range.
    """
    _, bdp, _ = _pipe(capacity, base_rtt, 0.0, packet)
    n = whole("flows", flows)
    ends = [n * float(positive(name, value)) for name, value in (("alpha", alpha), ("beta", beta))]
    if linux:
        ends = [bdp / 2.0 * (math.sqrt(1.0 + 4.0 * end / bdp) - 1.0) for end in ends]
    return Backlog(*ends)


class LedbatDelay(NamedTuple):
    """Between which two queueing delays LEDBAT flows stay [s]."""

    low: float
    """All know the true base delay."""
    high: float
    """Each took the queue of those before it for part of the base delay; or the buffer is full."""


def ledbat_latecomers(capacity: float, buffer: float, *, target: float = 0.1, flows: int = 1) -> LedbatDelay:
    """Return the bounds of the queueing delay of LEDBAT flows that joined one after the other.

    Flow k that joins while those before it hold a queue of (k - 1) targets takes it for its base delay and adds its
    own, which makes the others, who see more than their target, go back to their least window: the latecomer effect
    of RFC 6817, section 4.4, and Carofiglio, Muscariello, Rossi and Testa, "A hands-on assessment of transport
    protocols with lower than best effort priority", IEEE LCN 2010. So n flows hold one target if all know the base
    delay, n targets if each is misled by all before it, and never more than the buffer takes to drain. In the upper
    case the last one has the link to itself. An idle moment, a slowdown, or a loss that empties the queue shows all of
    them the base delay, and they return to one target. If one target is more than the buffer holds, both bounds are
    the full buffer: the delay never reaches the target, losses govern, and the queue is a sawtooth below the bound.

    Args:
        capacity: Rate of the bottleneck [B/s].
        buffer: Bytes that may wait [B].
        target: Target queueing delay of each flow [s].
        flows: Number of flows n.

    Raises:
        InputError: An argument is out of range.
    """
    full = float(not_negative("buffer", buffer) / positive("capacity", capacity))
    delay = float(positive("target", target))
    return LedbatDelay(min(delay, full), min(whole("flows", flows) * delay, full))


def ledbat_growth(
    base_rtt: ArrayLike, queueing_delay: ArrayLike = 0.0, *, target: float = 0.1, growth: float = UTP_GROWTH
) -> Real:
    """Return how fast a LEDBAT or uTP window changes [B/s]: growth (1 - queueing delay / target) per round trip.

    BEP 29 with MAX_CWND_INCREASE_BYTES_PER_RTT of libutp; RFC 6817, section 2.4.2, where `growth` is GAIN times one
    MSS. Without queueing the rate thus rises by growth / RTT^2. It holds for a flow that its window limits, outside
    slow start; all bytes acknowledged count, so that delayed ACKs do not slow it down. Above the target it is
    negative, without end, down to the least window.

    Args:
        base_rtt: Round-trip time without queueing [s].
        queueing_delay: Wait in the bottleneck's queue [s].
        target: Target queueing delay [s].
        growth: Bytes in a round trip.

    Raises:
        InputError: An argument is out of range.
    """
    base, waits = positive("base_rtt", base_rtt), not_negative("queueing_delay", queueing_delay)
    return unwrap(positive("growth", growth) * (1.0 - waits / positive("target", target)) / (base + waits))


def ledbat_settling_time(
    capacity: float,
    base_rtt: float,
    share: float = 0.9,
    *,
    target: float = 0.1,
    growth: float = UTP_GROWTH,
    flows: int = 1,
) -> float:
    """Return how long LEDBAT flows take from a full pipe and an empty queue to a `share` of the target [s].

    The windows are C (base + q) in all, so C dq/dt = n growth (1 - q / target) / (base + q), which integrates to
    C target / (n growth) [-(base + target) ln(1 - share) - target share]. Before that the pipe fills at
    `ledbat_growth`. It holds as that does, with a buffer larger than the target, and without the delay of a round trip
    with which flows see the queue: they may overshoot where it is not small against the result.

    Args:
        capacity: Rate of the bottleneck, C [B/s].
        base_rtt: Round-trip time without queueing [s].
        share: Part of the target that is to be reached, in (0, 1).
        target: Target queueing delay [s].
        growth: Bytes a window grows by in a round trip without queueing.
        flows: Number of flows n.

    Raises:
        InputError: An argument is out of range.
    """
    part, delay = float(probability("share", share)), float(positive("target", target))
    pace = float(positive("growth", growth)) * whole("flows", flows)
    shape = -(float(positive("base_rtt", base_rtt)) + delay) * math.log1p(-part) - delay * part
    return float(positive("capacity", capacity)) * delay / pace * shape


def goodput_share(mss: ArrayLike = MSS, header: ArrayLike = 40.0) -> Real:
    """Return the ceiling of goodput over the bottleneck's rate, mss / (mss + header), that packet size alone sets.

    What `header` counts is what the rate counts: 40 B of IP and TCP, 48 B of IP, UDP and uTP, more with options or
    framing. Packets of 300 B and 1460 B with 40 B of headers reach 88.2 % and 97.3 %. It is exact for a busy link
    without retransmissions.

    Args:
        mss: Payload of a packet [B].
        header: Headers of a packet [B].

    Raises:
        InputError: An argument is out of range.
    """
    payload = positive("mss", mss)
    return unwrap(payload / (payload + not_negative("header", header)))
