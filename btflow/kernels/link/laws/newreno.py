"""NewReno: a stand-in until the engine's own arrives."""

from btflow.kernels.jit import kernel
from btflow.kernels.link.laws.rounds import acks


@kernel
def grow(s, i, f, t, acked):
    """One segment per ACK up to ssthresh, above it one per window of ACKs."""
    n = acks(f, acked)
    if f.cwnd <= f.ssthresh:
        opened = min(n, f.ssthresh + 1.0 - f.cwnd)
        f.cwnd += opened
        n -= opened
    f.cwnd = min(f.cwnd + n / f.cwnd, f.max_window)


@kernel
def reduce(s, i, f, t):
    """What a loss leaves of the window, at least two segments (RFC 5681)."""
    return max(2.0, f.cwnd * f.beta)
