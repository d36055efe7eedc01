"""NewReno: slow start and congestion avoidance of RFC 5681.

The window grows with the ACKs, as RFC 5681 allows and ns-3's TcpNewReno does, or, with `counts_segments`, with the
segments they acknowledge, as in Linux since 3.10.
"""

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link.state import OUTSTANDING, WINDOW


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
def grow(net, i, f, t, acked):
    """`acked` segments were acknowledged."""
    if f.cwnd < f.ssthresh:
        acked = slow_start(f, acked)
    if f.cwnd >= f.ssthresh and acked > 0.0:
        avoid(f, acked)


@kernel
def reduce(net, i, f, t):
    """A part of the window, or of what is under way: FlightSize (RFC 5681, equation 4) or, with ns-3, less by SACKs."""
    if f.halves == WINDOW:
        return max(2.0, f.beta * f.cwnd)
    if f.halves == OUTSTANDING:
        return max(2.0, f.beta * min(f.cwnd, float((f.nxt - f.una) * f.train)))
    return max(2.0, f.beta * min(f.cwnd, float((f.flight + f.waiting_retransmit) * f.train)))


timeout = reduce
