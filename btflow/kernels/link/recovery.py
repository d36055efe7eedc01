"""What a loss found by duplicate ACKs does to the window until all that was under way is acknowledged."""

import math

from btflow.kernels.jit import kernel
from btflow.kernels.link import law
from btflow.kernels.link.state import LOSS, OPEN, PER_LOSS, PRR, RECOVERY, TAHOE


@kernel
def begin(s, i, f, t):
    """A loss was found: the law says what is left, the lost segment goes at once (RFC 6675, step 4.3)."""
    f.prr_flight = float(f.flight + f.waiting_retransmit)  # RecoverFS of RFC 6937: what is outstanding
    f.ssthresh = law.reduce(s, i, f, t)
    f.forced = 1
    if t >= s.rules.warmup:
        f.losses += 1
    if f.recovery == PER_LOSS:
        return
    f.recover = f.nxt
    f.prr_delivered = 0.0
    f.prr_out = 0.0
    if f.recovery == TAHOE:
        f.phase = LOSS
        f.cwnd = 1.0
        return
    f.phase = RECOVERY
    f.cwnd = f.ssthresh


@kernel
def go_on(f, arrived):
    """Another ACK in recovery: proportional rate reduction says how much may be sent (RFC 6937, section 3)."""
    if f.recovery != PRR:
        return
    f.prr_delivered += arrived
    threshold = f.ssthresh / f.train
    if f.flight > threshold:
        allowed = math.ceil(f.prr_delivered * threshold / f.prr_flight) - f.prr_out
    else:
        allowed = min(threshold - f.flight, max(f.prr_delivered - f.prr_out, float(arrived)) + 1.0)
    f.cwnd = (f.flight + max(allowed, 0.0)) * f.train


@kernel
def end(f):
    """Everything under way when the loss was found is acknowledged."""
    if f.phase == RECOVERY:
        f.cwnd = f.ssthresh
    f.phase = OPEN
