"""NewReno: slow start and congestion avoidance of RFC 5681.

The window grows with the ACKs, as RFC 5681 allows and ns-3's TcpNewReno does, or, with `counts_segments`, with the
segments they acknowledge, as in Linux since 3.10.
"""

from btflow.kernels.jit import kernel


@kernel
def slow_start(f, acked):
    """Grow up to ssthresh, one segment for each segment or ACK; what is left of `acked`."""
    step = min(acked, float(f.train))
    if f.counts_segments:
        step = min(acked, max(f.ssthresh - f.cwnd, 1.0))
    f.cwnd += step
    return acked - step


@kernel
def avoid(f, acked):
    """Congestion avoidance: one segment for each window of segments, or of ACKs."""
    f.cwnd += (acked if f.counts_segments else min(acked, float(f.train))) / f.cwnd


@kernel
def grow(s, i, f, t, acked):
    """`acked` segments were acknowledged."""
    if f.cwnd < f.ssthresh:
        acked = slow_start(f, acked)
    if f.cwnd >= f.ssthresh and acked > 0.0:
        avoid(f, acked)


@kernel
def reduce(s, i, f, t):
    """Half of what is in flight (RFC 5681, equation 4)."""
    return max(2.0, f.beta * min(f.cwnd, outstanding(f)))


@kernel
def outstanding(f):
    """Segments sent and not known to have arrived when the loss was found: FlightSize, the lost ones included."""
    return float((f.flight + f.waiting_retransmit) * f.train)


@kernel
def timeout(s, i, f, t):
    """As after a loss."""
    return reduce(s, i, f, t)
