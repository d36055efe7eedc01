"""Tail loss probes: when one goes, and what its answer says (RFC 8985, section 7).

The last segments of what an application writes have none behind them that would show their loss. So when nothing has
come back for two round trips a segment goes (sender.send_probe): its ACK shows what is missing before the timer fires.
"""

from btflow.kernels.jit import kernel
from btflow.kernels.link import law
from btflow.kernels.link.events import source, wake
from btflow.kernels.link.rack import GRANULARITY
from btflow.kernels.link.state import FOREVER, NONE, OPEN, PER_LOSS, RTO_TIMER

ROUND_TRIPS = 2.0  # without an answer (RFC 8985, section 7.2; Linux tcp_output.c, tcp_schedule_loss_probe)


@kernel
def start(f):
    """None is on the way, none will go."""
    f.probe_at = FOREVER
    f.probe_end = NONE
    f.probed = NONE
    f.probe_twice = 0


@kernel
def arm(s, i, f, t):
    """Something was sent, or acknowledged in order: the probe is put off.

    There is one at a time, and none goes while anything is known to be missing. The ACK of a segment alone may be
    delayed, by as much as the least timeout (tcp_rto_min).
    """
    if f.probe_end != NONE or f.phase != OPEN or f.una == f.nxt or f.flight < f.nxt - f.una:
        return
    wait = ROUND_TRIPS * f.srtt + (f.rto_min if (f.nxt - f.una) * f.train == 1 else GRANULARITY)
    f.probe_at = min(t + wait, f.rto_at)
    wake(s, source(s, i, RTO_TIMER), f.probe_at)


@kernel
def answered(s, i, f, t):
    """An ACK that may answer the probe (tcp_process_tlp_ack; RFC 8985, section 7.4.2).

    What it sent again has come twice: nothing was lost. Or what was sent behind it has come and it did not come twice:
    it repaired a loss that nobody else has seen, and the window falls as for any other.
    """
    if f.probe_end == NONE or f.una < f.probe_end:
        return
    if f.probed == NONE or f.probe_twice == 1:
        f.probe_end = NONE
    elif f.una > f.probe_end:
        f.probe_end = NONE
        f.ssthresh = law.reduce(s, i, f, t)
        if t >= s.rules.warmup:
            f.losses += 1
        if f.recovery != PER_LOSS:
            f.cwnd = f.ssthresh
