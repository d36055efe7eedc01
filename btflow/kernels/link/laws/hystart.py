"""HyStart (Ha and Rhee, 2008) as in tcp_cubic: slow start ends when delay rises or ACK trains fill half the path."""

from btflow.kernels.jit import kernel
from btflow.kernels.link.state import FOREVER

LOW_WINDOW = 16.0  # segments below which it does not act (tcp_cubic, hystart_low_window)
SAMPLES = 8  # of a round (tcp_cubic, HYSTART_MIN_SAMPLES)
SPACING = 2e-3  # ACKs at most so far apart are a train [s] (tcp_cubic, hystart_ack_delta)


@kernel
def start(f, t):
    """A round of slow start begins."""
    f.hs_start = t
    f.hs_last = t
    f.hs_round_end = f.nxt
    f.hs_delay = FOREVER
    f.hs_samples = 0


@kernel
def watch(f, t):
    """An ACK in slow start: leave it if the path is full."""
    if f.una > f.hs_round_end:
        start(f, t)
    if f.cwnd < LOW_WINDOW:
        return
    full = False
    if t - f.hs_last <= SPACING:
        f.hs_last = t
        full = t - f.hs_start > f.hs_train * f.min_rtt
    if f.hs_samples < SAMPLES:
        f.hs_delay = min(f.hs_delay, f.rtt)
        f.hs_samples += 1
    else:
        rise = min(max(f.hs_share * f.min_rtt, f.hs_least), f.hs_most)
        full = full or f.hs_delay > f.min_rtt + rise
    if full:
        f.ssthresh = f.cwnd
