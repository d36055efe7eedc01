"""TCP Vegas: keeps `alpha` to `beta_delay` segments queued, judged once per round trip by the round's least RTT.

Variant 0 is Linux (tcp_vegas.c of 2.6.32, the same since). Variant 1 is ns-3's TcpVegas, which differs in that
 * the backlog is counted with the actual rate, cwnd (RTT - base) / RTT and rounded up, not cwnd (RTT - base) / base and
   rounded down, so that it lets RTT / base times as much queue;
 * a loss, and a timeout too, takes one segment off the window, not half of it;
 * the base RTT is kept for good, not forgotten when nothing was in flight.

Constants: alpha, beta_delay, gamma [segments], beta, min_window.
"""

import math

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link.laws import newreno
from btflow.kernels.link.laws.delay import acks, round_over
from btflow.kernels.link.state import FOREVER, OPEN, VEGAS as LAW

NS3 = 1
OFF = -1  # round_samples: rounds are not judged, the window is Reno's


@kernel
def ns3(f):
    """Variant 1; Nice, which goes on as this law, has variants of its own."""
    return f.law == LAW and f.variant == NS3


@kernel
def start(net, i, f, t):
    """The base RTT is not known."""
    f.base_delay = FOREVER
    f.idle = 0
    begin(f)


@kernel
def begin(f):
    """A round begins with the next segment."""
    f.round_end = f.nxt
    clear(f)


@kernel
def clear(f):
    """Forget the round's samples."""
    f.round_min = FOREVER
    f.round_samples = 0


@kernel
def sample(net, i, f, t, acked):
    """Measure; what follows a time with nothing in flight is measured from scratch (CA_EVENT_TX_START)."""
    if f.idle == 1:
        f.base_delay = FOREVER
        begin(f)
    measure(f, acked)
    f.idle = 1 if f.flight == 0 and not ns3(f) else 0


@kernel
def measure(f, acked):
    """Least RTT ever and of this round. No round is judged that has seen a recovery or a timeout."""
    if f.phase != OPEN:
        f.round_samples = OFF
    elif f.round_samples == OFF:
        begin(f)
    f.base_delay = min(f.base_delay, f.rtt)
    f.round_min = min(f.round_min, f.rtt)
    if f.round_samples != OFF:
        f.round_samples += int(acks(f, acked))


@kernel
def grow(net, i, f, t, acked):
    """Once per round as Vegas has it, in slow start also with every ACK.

    Of two samples or fewer each may be from a delayed ACK: such a round is Reno's.
    """
    if f.round_samples == OFF:
        newreno.grow(net, i, f, t, acked)
    elif round_over(f):
        if f.round_samples <= 2:
            newreno.grow(net, i, f, t, acked)
        else:
            adjust(net, i, f, t, acked)
        clear(f)
    elif opening(f):
        newreno.grow(net, i, f, t, acked)


@kernel
def opening(f):
    """True in slow start."""
    return f.cwnd < f.ssthresh


@kernel
def fitting(f, cwnd):
    """Window with which the round's rate would just fill the empty path."""
    return math.floor(cwnd * f.base_delay / f.round_min + 1e-9)


@kernel
def backlog(f, cwnd):
    """Segments of the window that wait in queues ("diff")."""
    if ns3(f):
        return cwnd - fitting(f, cwnd)
    return math.floor(cwnd * (f.round_min - f.base_delay) / f.base_delay + 1e-9)


@kernel
def adjust(net, i, f, t, acked):
    """One segment more or less, or the end of slow start."""
    cwnd = math.floor(f.cwnd)
    diff = backlog(f, cwnd)
    if opening(f):
        if diff > f.gamma:
            f.cwnd = min(cwnd, fitting(f, cwnd) + 1.0)
            f.ssthresh = below(f)
        else:
            newreno.grow(net, i, f, t, acked)
    elif diff > f.beta_delay:
        f.cwnd -= 1.0
        f.ssthresh = below(f)
    elif diff < f.alpha:
        f.cwnd += 1.0
    f.cwnd = min(max(f.cwnd, f.min_window), f.max_window)
    f.ssthresh = max(f.ssthresh, 0.75 * f.cwnd)  # tcp_current_ssthresh


@kernel
def below(f):
    """An ssthresh that ends slow start."""
    lowered = min(f.ssthresh, f.cwnd - 1.0)
    return max(2.0, lowered) if ns3(f) else lowered


@kernel
def reduce(net, i, f, t):
    """Reno's half; with ns-3 one segment less."""
    return below(f) if ns3(f) else newreno.reduce(net, i, f, t)


timeout = reduce
