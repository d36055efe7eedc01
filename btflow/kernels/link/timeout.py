"""The retransmission timer: RFC 6298's estimator, with Linux's floor on the variation or the RFC's on the whole."""

import math

from btflow.kernels.jit import kernel
from btflow.kernels.link.events import source, wake
from btflow.kernels.link.state import FOREVER, RTO_TIMER


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
def restart(s, i, f, t):
    """The timer runs anew from `t` as long as something is unacknowledged."""
    if f.una == f.nxt:
        f.rto_at = FOREVER
        return
    f.rto_at = t + min(f.rto * f.backoff, f.rto_max)
    wake(s, source(s, i, RTO_TIMER), f.rto_at)
