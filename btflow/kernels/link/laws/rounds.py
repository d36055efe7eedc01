"""Rounds and ACKs, as several laws count them."""

from btflow.kernels.jit import kernel


@kernel
def round_over(f):
    """True once per round trip: when the first segment sent after the last time is acknowledged."""
    if f.una <= f.round_end:
        return False
    f.round_end = f.nxt
    return True


@kernel
def acks(f, acked):
    """ACKs that `acked` segments came with: one, or as many as the segments of a train would have had."""
    return 1.0 if f.train == 1 else max(1.0, acked / max(1, f.ack_every))
