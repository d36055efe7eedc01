"""What a loss does to the window until all that was under way is acknowledged; the retransmission timer."""

import math

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link import law
from btflow.kernels.link.events import source, wake
from btflow.kernels.link.state import FOREVER, LOSS, NONE, OPEN, PER_LOSS, PRR, PRR_SAFE, RECOVERY, RTO_TIMER, TAHOE


@kernel
def begin(net, i, f, t, arrived):
    """A loss was found: the law says what is left, the lost segment goes at once (RFC 6675, step 4.3).

    `arrived` trains are newly known to have come. A probe that is on the way has done its work.
    """
    f.probe_at = FOREVER
    f.probe_end = NONE
    f.prr_flight = float(f.flight + f.waiting_retransmit)  # RecoverFS of RFC 6937: what is outstanding
    f.ssthresh = law.reduce(net, i, f, t)
    f.forced = 1
    if t >= net.rules.warmup:
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
    if f.recovery == PRR_SAFE:
        go_on(f, arrived, 0.0)


@kernel
def go_on(f, arrived, safe):
    """Another ACK in recovery: proportional rate reduction says how much may be sent (RFC 6937, section 3).

    Below ssthresh it grows by a segment for each ACK, or, with PRR_SAFE, for each that is `safe` (1): it acknowledges
    in order and shows no new loss (draft-ietf-tcpm-prr-rfc6937bis, section 6; tcp_cwnd_reduction). There the first one
    of a recovery goes whatever comes of it.
    """
    if f.recovery != PRR and f.recovery != PRR_SAFE:
        return
    f.prr_delivered += arrived
    least, more = 0.0, 1.0
    if f.recovery == PRR_SAFE:
        least, more = 0.0 if f.prr_out > 0.0 else 1.0, safe
    threshold = f.ssthresh / f.train
    if f.flight > threshold:
        allowed = math.ceil(f.prr_delivered * threshold / f.prr_flight) - f.prr_out
    else:
        allowed = min(threshold - f.flight, max(f.prr_delivered - f.prr_out, float(arrived)) + more)
    f.cwnd = (f.flight + max(allowed, least)) * f.train


@kernel
def end(f):
    """Everything under way when the loss was found is acknowledged."""
    if f.phase == RECOVERY:
        f.cwnd = f.ssthresh
    f.phase = OPEN


@kernel
def estimate(f):
    """Take the last RTT sample into SRTT and RTTVAR (RFC 6298, section 2: gains 1/8 and 1/4)."""
    if f.srtt < 0.0:
        f.srtt = f.rtt
        f.rttvar = 0.5 * f.rtt
    else:
        f.rttvar += 0.25 * (math.fabs(f.srtt - f.rtt) - f.rttvar)
        f.srtt += 0.125 * (f.rtt - f.srtt)
    f.rto = max(f.rto_min, f.srtt + max(f.rto_slack, 4.0 * f.rttvar))


@kernel
def restart(net, i, f, t):
    """The timer runs anew from `t` as long as something is unacknowledged."""
    if f.una == f.nxt:
        f.rto_at = FOREVER
        return
    f.rto_at = t + min(f.rto * f.backoff, f.rto_max)
    wake(net, source(net, i, RTO_TIMER), f.rto_at)
