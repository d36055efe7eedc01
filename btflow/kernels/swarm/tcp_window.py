"""The congestion window and the rounds it sends: CUBIC, reset after idle, timeouts (Linux 2.6.32 tcp_cubic.c).

Windows are in segments, times in seconds. A round is what leaves within one round trip. With `rules.counts_segments`
CUBIC is that of today (RFC 9438, Linux 6.x): it counts segments, not acknowledgements, and keeps fractions of one.
"""

import math

import numpy as np

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link.laws import cubic
from btflow.kernels.random import all_of, uniform
from btflow.kernels.swarm.state import FOREVER


@kernel
def rto(s, w):
    """Retransmission timeout [s]: SRTT plus at least 200 ms (the deviation term of a constant RTT decays away)."""
    return w.rtt + s.rules.rto_min


@kernel
def idle_restart(s, w, t):
    """Congestion-window reset after idle: halved for each timeout that passed, down to the initial window (RFC 2861).

    CUBIC's clock is not reset: until 2015 (Linux 4.x) the idle time counted as growth, so such a window recovers fast.
    """
    idle = t - w.last_sent
    wait = rto(s, w)
    if s.rules.counts_segments == 1 and idle > w.rtt and w.epoch >= 0.0:
        w.epoch += idle  # cubictcp_cwnd_event
    if idle <= wait:
        return
    w.quick = s.rules.quick_acks  # the receiver, too, starts anew (tcp_event_data_recv)
    if s.rules.idle_reset == 0 or w.cwnd <= s.rules.initial_window:
        return
    w.ssthresh = max(w.ssthresh, 0.75 * w.cwnd)
    while idle > wait and w.cwnd > s.rules.initial_window:
        w.cwnd = max(0.5 * w.cwnd, s.rules.initial_window)
        idle -= wait


@kernel
def plateau(s, w):
    """K [s]: time from the window `w_start` of CUBIC's epoch back to that of the last loss; once an epoch."""
    return ((max(w.w_max, w.w_start) - w.w_start) / s.rules.cubic_c) ** (1.0 / 3.0)


@kernel
def cubic_target(s, w, t):
    """Whole segments CUBIC aims at a round trip after `t`: C (t - K)^3 from the window of the last loss, or of `epoch`.

    K is the time from the window `w_start` of the epoch's start back to that of the loss (bictcp_update).
    """
    origin = max(w.w_max, w.w_start)
    x = t - w.epoch + w.rtt - w.k
    rise = math.floor(s.rules.cubic_c * abs(x) ** 3)
    return origin + rise if x > 0.0 else origin - rise


@kernel
def acks_per_segment(s, w, t):
    """Acknowledgements CUBIC wants for one more segment: from its target, or from Reno's line if that is higher.

    Reno's line rises by one segment for every (1 + beta) / (3 (1 - beta)) windows of acknowledgements.
    """
    beta = s.rules.cubic_beta
    cwnd = math.floor(w.cwnd)
    ahead = max(cubic_target(s, w, t) - cwnd, 0.01)  # at the target: a hundred windows for one segment
    reno = w.w_start + math.floor((t - w.epoch) / max(w.rtt, 1e-3) * 3.0 * (1.0 - beta) / (1.0 + beta))
    return max(1.0, math.floor(cwnd / max(ahead, reno - cwnd)))


@kernel
def grow(s, w, t, acks):
    """`acks` acknowledgements: one segment each up to ssthresh, above it as CUBIC has it (the count starts at 0).

    Linux 2.6 counts acknowledgements, not bytes. CUBIC takes each for two segments: its estimate of the ratio starts
    there and is kept in sixteenths that are cut off, so that it never falls below 31/16 (bictcp_acked).
    """
    if s.rules.counts_segments == 1:
        grow_smoothly(s, w, t, acks)
        return
    acks *= 1.0 - w.loss
    if w.cwnd <= w.ssthresh:
        opened = min(acks, math.floor(w.ssthresh) + 1.0 - math.floor(w.cwnd))
        w.cwnd += opened
        acks -= opened
    if acks > 0.0:
        if w.epoch < 0.0:
            w.epoch = t
            w.w_start = math.floor(w.cwnd)
            w.k = plateau(s, w)
        w.cwnd += acks / (max(1.0, math.floor(0.5 * acks_per_segment(s, w, t))) + 1.0)


@kernel
def grow_smoothly(s, w, t, acked):
    """`acked` segments: one each up to ssthresh, above it as RFC 9438 has it. `w_start` is Reno's line by then."""
    if w.cwnd < w.ssthresh:
        opened = min(acked, w.ssthresh - w.cwnd)
        w.cwnd += opened
        acked -= opened
    if acked <= 0.0:
        return
    if w.epoch < 0.0:
        w.epoch = t
        w.w_start = w.cwnd
        w.w_max = max(w.w_max, w.cwnd)
        w.k = plateau(s, w)
    beta, c, x = s.rules.cubic_beta, s.rules.cubic_c, t - w.epoch - w.k
    w.w_start = cubic.reno(w.w_start, w.cwnd, w.ssthresh / beta, beta, acked)
    w.cwnd = cubic.smooth(w.cwnd, w.w_start, w.w_max + c * x**3, w.w_max + c * (x + w.rtt) ** 3, acked)


@kernel
def reduce(s, w, timeout):
    """A loss: window times beta, and 1 after a timeout; fast convergence when losses come at a falling window.

    Linux 2.6 counts windows in whole segments and rounds down, which is a good deal at windows of 3 to 7. A timeout
    makes CUBIC forget the window it had (bictcp_state).
    """
    beta = s.rules.cubic_beta
    if s.rules.counts_segments == 1:
        w.w_max = w.cwnd * (1.0 + beta) / 2.0 if w.cwnd < w.w_max else w.cwnd
        w.ssthresh = max(2.0, w.cwnd * beta)
    else:
        cwnd = math.floor(w.cwnd)
        w.w_max = math.floor(cwnd * (1.0 + beta) / 2.0) if cwnd < w.w_max else cwnd
        w.ssthresh = max(2.0, math.floor(cwnd * beta))
    w.cwnd = w.ssthresh
    if timeout:
        w.cwnd = 1.0
        w.w_max = 0.0
    w.epoch = -1.0
    w.falling = 0


@kernel
def round_acks(s, w):
    """Acknowledgements of a round: one per segment while the receiver is quick, else one per two."""
    if w.quick >= w.in_round:
        return float(w.in_round)
    return math.ceil(0.5 * w.in_round)


@kernel
def full_from(s, w):
    """Segments of a round from which on the window was its limit: in today's slow start, half of it."""
    room = int(w.cwnd) - s.rules.dupacks
    if s.rules.counts_segments == 1 and w.cwnd < w.ssthresh:
        return min(room, int(0.5 * w.cwnd) + 1)
    return room


@kernel
def odd_round(s, w):
    """Seconds from an odd round's first segment to the acknowledgement of its last, which is delayed.

    Where segments are counted, those acknowledged before it have let the next round begin.
    """
    return w.rtt if s.rules.counts_segments == 1 else w.rtt + s.rules.delayed_ack


@kernel
def end_round(s, w, t):
    """By `t` the round is acknowledged: the window falls if a loss was found, stays while it is repaired, or grows."""
    acks = float(w.in_round) if s.rules.counts_segments == 1 else round_acks(s, w)
    if w.falling > 0:  # up to the hole the acknowledgements are ordinary ones
        acks = min(acks, float(w.intact))
        w.intact = 0
    elif t + 1e-9 < w.held_until + 0.5 * w.rtt:  # the recovery goes on
        acks = 0.0
    elif w.repairing > 0:  # the recovery ends with what left before the third duplicate ACK
        acks -= s.rules.dupacks
    w.repairing = 0
    # The window grows only while it is the limit: within a burst of full (tcp_is_cwnd_limited). The other half of RFC
    # 2861, a window that shrinks while it is not, does nothing in this kernel: its clock (snd_cwnd_stamp) is set anew
    # by every acknowledgement, and after a timeout without one comes the reset of idleness.
    if acks > 0.0 and (s.rules.window_validation == 0 or w.in_round >= full_from(s, w)):
        grow(s, w, t, acks)
    if w.falling > 0 and w.recovered <= t:
        w.repairing = w.falling
        reduce(s, w, False)
        w.cwnd = max(1.0, min(w.cwnd, w.in_round - w.repairing))  # each ACK lets one segment go, no more
    w.quick = max(0, w.quick - w.in_round)


@kernel
def next_round(s, w, at):
    """A round begins: what was found lost is in flight still, or again."""
    w.round_at = at
    held = w.falling + w.repairing + (1 if w.timeout_at < FOREVER else 0)
    w.in_round = min(held, max(0, int(w.cwnd) - 1))


@kernel
def next_departure(s, w, written):
    """When a segment written at `written` leaves: now if the round has room, else with the next round."""
    if written >= w.timeout_at:
        time_out(s, w)
    length = odd_round(s, w) if w.in_round & 1 and w.quick < w.in_round else w.rtt
    if written >= w.round_at + length:
        if w.in_round > 0:
            end_round(s, w, w.round_at + length)
        next_round(s, w, written)
    elif w.in_round >= int(w.cwnd):
        if w.loss > 0.0 and acks_lost(s, w):
            undo(s, w)
        else:
            end_round(s, w, w.round_at + length)
        next_round(s, w, w.round_at + length)
        if w.round_at >= w.timeout_at:
            time_out(s, w)
    w.in_round += 1
    return max(written, w.round_at)


@kernel
def coast(s, w, begin, gap, end, units):
    """Let segments leave while the window is no limit and nothing is lost or under repair; returns how many did.

    `units` segments are written from `begin` on, `gap` apart, the last at `end`. What `next_departure` does with such
    segments is to count rounds: here it is done for all of them in one go.
    """
    if w.falling > 0 or w.repairing > 0 or w.timeout_at < FOREVER or s.rules.window_validation == 0:
        return 0
    window, room = int(w.cwnd), full_from(s, w)
    round_at, in_round, quick = w.round_at, np.int64(w.in_round), np.int64(w.quick)
    odd = odd_round(s, w)
    coasted = 0
    while coasted < units:
        written = min(begin + coasted * gap, end)
        if written >= round_at + (odd if in_round & 1 and quick < in_round else w.rtt):
            if in_round >= room:
                break
            quick = max(0, quick - in_round)
            round_at, in_round = written, 0
        elif in_round >= window or written < round_at:
            break
        in_round += 1
        coasted += 1
    w.round_at, w.in_round, w.quick = round_at, in_round, quick
    return coasted


@kernel
def time_out(s, w):
    """The retransmission timer fired: one segment in flight, the repaired one, and slow start from there."""
    reduce(s, w, True)
    w.repairing = 0
    w.round_at = max(w.round_at, w.resume_at)
    w.in_round = 1
    w.timeout_at = FOREVER


@kernel
def undo(s, w):
    """The timer fired though nothing was lost but acknowledgements: D-SACK says so, and slow start leads back.

    CUBIC has forgotten its history by then (tcp_try_undo_recovery, bictcp_state). Today timestamps say so at once, and
    the window is as before (tcp_try_undo_loss).
    """
    w.round_at += rto(s, w)
    if s.rules.counts_segments == 0:
        w.ssthresh = max(w.ssthresh, math.floor(0.75 * w.cwnd))
        w.cwnd = 2.0
    w.w_max = 0.0
    w.epoch = -1.0


@kernel
def acks_lost(s, w):
    """True if every acknowledgement of the round was lost: the sender times out for nothing."""
    return uniform(s.rng) < all_of(w.loss, round_acks(s, w))
