"""HyStart (Ha and Rhee, 2008) as in tcp_cubic: slow start ends when delay rises or ACK trains fill half the path.

CUBIC. Variant 0 is RFC 9438; variant 1 counts as Linux and ns-3 do, in whole segments of window and of growth.

W(t) = C (t - K)^3 + W_max, K = ((W_max - W_start) / C)^(1/3); a loss leaves beta of the window.
"""

import math

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link.laws import newreno
from btflow.kernels.link.state import FOREVER

LOW_WINDOW = 16.0  # segments below which it does not act (tcp_cubic, hystart_low_window)


SAMPLES = 8  # of a round (tcp_cubic, HYSTART_MIN_SAMPLES)


SPACING = 2e-3  # ACKs at most so far apart are a train [s] (tcp_cubic, hystart_ack_delta)


@kernel
def start_round(f, t):
    """A round of slow start begins."""
    f.hs_start = t
    f.hs_last = t
    f.hs_round_end = f.nxt
    f.hs_delay = FOREVER
    f.hs_samples = 0


@kernel
def leave_if_full(f, t):
    """An ACK in slow start: leave it if the path is full."""
    if f.una > f.hs_round_end:
        start_round(f, t)
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


WHOLE_SEGMENTS = 1  # f.variant


@kernel
def start(net, i, f, t):
    """Nothing is known yet."""
    f.w_max = 0.0
    f.epoch = -1.0
    f.count = 0.0
    start_round(f, t)


@kernel
def sample(net, i, f, t, acked):
    """HyStart watches the delay."""
    if f.hystart and f.cwnd < f.ssthresh:
        leave_if_full(f, t)


@kernel
def grow(net, i, f, t, acked):
    """Slow start, then the cubic curve."""
    if f.cwnd < f.ssthresh:
        acked = newreno.slow_start(f, acked)
    if f.cwnd >= f.ssthresh and acked > 0.0:
        if f.epoch < 0.0:
            begin_epoch(f, t)
        if f.variant == WHOLE_SEGMENTS:
            grow_counting(f, t, acked)
        else:
            grow_smoothly(f, t, acked)


@kernel
def begin_epoch(f, t):
    """The curve starts here: K is the time from this window back to that of the loss."""
    f.epoch = t
    f.w_start = math.floor(f.cwnd) if f.variant == WHOLE_SEGMENTS else f.cwnd
    f.w_est = f.w_start
    if f.variant == WHOLE_SEGMENTS:
        f.prior = f.w_max  # 0: no loss so far, or a timeout (last_max_cwnd)
    f.w_max = max(f.w_max, f.w_start)
    f.k = ((f.w_max - f.w_start) / f.c) ** (1.0 / 3.0)
    if not f.counts_repaired:
        f.count = 0.0


@kernel
def grow_smoothly(f, t, acked):
    """RFC 9438, sections 4.2 to 4.5: towards the curve a round trip ahead, or Reno's estimate if that is higher."""
    f.w_est = reno(f.w_est, f.cwnd, f.prior, f.beta, acked)
    ahead = t - f.epoch + f.srtt - f.k
    now = t - f.epoch - f.k
    f.cwnd = smooth(f.cwnd, f.w_est, f.w_max + f.c * now * now * now, f.w_max + f.c * ahead * ahead * ahead, acked)


@kernel
def reno(line, cwnd, prior, beta, acked):
    """Reno's estimate after `acked` more segments: one for a window from `prior` on, that of the last loss."""
    return line + (alpha(beta) if line < prior else 1.0) * acked / cwnd


@kernel
def smooth(cwnd, line, now, ahead, acked):
    """The window after `acked` segments: the curve is at `now`, a round trip on `ahead`; Reno's estimate is `line`."""
    if now < line:
        return max(cwnd, line)
    target = min(max(ahead, cwnd), 1.5 * cwnd)
    return cwnd + (target - cwnd) / cwnd * acked


@kernel
def alpha(beta):
    """Reno-friendly increase: as fast as Reno on average with this beta (RFC 9438, section 4.3)."""
    return 3.0 * (1.0 - beta) / (1.0 + beta)


@kernel
def grow_counting(f, t, acked):
    """tcp_cubic's count: a segment of window for each `wanted` segments acknowledged, at most one for two."""
    cwnd = math.floor(f.cwnd)
    x = t - f.epoch + f.min_rtt - f.k
    rise = math.floor(f.c * abs(x) ** 3)
    target = f.w_max + rise if x > 0.0 else f.w_max - rise
    wanted = math.floor(cwnd / (target - cwnd)) if target > cwnd else 100.0 * cwnd
    if f.prior == 0.0:  # no loss so far: at least a segment for 20
        wanted = min(wanted, 20.0)
    wanted = min(wanted, friendly(f, cwnd, acked))
    wanted = max(wanted, 2.0)
    f.count += acked
    more = f.count >= wanted
    while more:
        f.count -= wanted
        f.cwnd += 1.0
        more = f.count >= wanted and not f.counts_repaired  # ns-3: one segment for an ACK, the rest stays in the count


@kernel
def friendly(f, cwnd, acked):
    """Segments for one more of window that Reno's line asks for (bictcp_update, tcp_friendliness)."""
    counted = acked if f.counts_segments else min(acked, float(f.train))  # Linux 2.6 counts ACKs here
    f.w_est += counted * alpha(f.beta) / cwnd
    ahead = math.floor(f.w_est) - cwnd
    return math.floor(cwnd / ahead) if ahead > 0.0 else 1e9


@kernel
def reduce(net, i, f, t):
    """A loss: beta of the window; less is aimed at if the window was still below the last loss (fast convergence)."""
    whole = f.variant == WHOLE_SEGMENTS
    cwnd = math.floor(f.cwnd) if whole else f.cwnd
    f.w_max = cwnd * (1.0 + f.beta) / 2.0 if cwnd < f.w_max else cwnd
    if whole:
        f.w_max = math.floor(f.w_max)
    f.prior = cwnd
    f.epoch = -1.0
    left = f.beta * cwnd
    return max(2.0, math.floor(left) if whole else left)


@kernel
def timeout(net, i, f, t):
    """The window of the loss is forgotten: the curve starts with K = 0 (RFC 9438, section 4.8; Linux, ns-3)."""
    left = reduce(net, i, f, t)
    f.w_max = 0.0
    start_round(f, t)
    return left


@kernel
def rest(f, idle):
    """Time without anything to send is not time to grow (RFC 9438, section 5.8; Linux since 4.4, not 2.6 and ns-3)."""
    if f.variant != WHOLE_SEGMENTS and f.epoch >= 0.0:
        f.epoch += idle
