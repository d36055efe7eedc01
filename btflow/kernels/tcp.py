"""One TCP connection below the limiter, evaluated once per block and once per control message.

The limiter writes 1380 B units `gap` seconds apart. While that is slower than the window allows, TCP adds latency
only: propagation, Nagle's wait for the last small segment, and recovery stalls. When it is not, segments leave in
rounds of at most cwnd per RTT and the window law sets the rate. Random loss hits data and acknowledgements alike.
Windows are in segments, times in seconds. Constants: Linux 2.6.32 tcp_cubic.c, tcp_input.c, tcp_timer.c.
"""

import math

from btflow.kernels.jit import kernel
from btflow.kernels.rng import geometric, uniform
from btflow.kernels.state import BURST_BINS


@kernel
def reset(s, c, t):
    """A new connection: initial window, no history."""
    c.cwnd = s.rules.initial_window
    c.ssthresh = 1e9
    c.w_max = 0.0
    c.epoch = -1.0
    c.round_at = -1e9
    c.in_round = 0
    c.last_sent = t
    c.last_arrival = t
    c.small_acked = -1e9
    c.small_held = 0
    c.until_loss = geometric(s.rng, c.loss)


@kernel
def rto(s, c):
    """Retransmission timeout [s]: SRTT plus at least 200 ms (the deviation term of a constant RTT decays to nothing)."""
    return c.rtt + s.rules.rto_min


@kernel
def lost(s, c):
    """True if the next segment of this direction is lost (the gap to the next loss is geometric)."""
    c.until_loss -= 1
    if c.until_loss > 0:
        return False
    c.until_loss = geometric(s.rng, c.loss)
    return True


@kernel
def nagle_departure(s, c, t):
    """When a small segment written at `t` may leave: at once, or with the acknowledgement of the last small one."""
    if s.rules.nagle == 0 or c.rtt == 0.0:
        return t
    if c.small_held == 1 and t >= c.small_acked:
        c.small_acked += c.rtt  # the held one left then
        c.small_held = 0
    if t >= c.small_acked:
        c.small_acked = t + c.rtt
        return t
    c.small_held = 1
    return c.small_acked


@kernel
def repair_time(s, c, sent):
    """Arrival at the receiver of a lone segment sent at `sent` and lost: timeouts double until one gets through."""
    wait = rto(s, c)
    while True:
        sent += wait
        wait = min(2.0 * wait, s.rules.rto_max)
        if not lost(s, c):
            return sent + 0.5 * c.rtt


@kernel
def control_arrival(s, c, t):
    """Arrival time of a control message written at `t` [s]: Nagle, propagation, its own loss, in-order delivery."""
    sent = nagle_departure(s, c, t)
    arrival = sent + 0.5 * c.rtt
    if c.loss > 0.0 and lost(s, c):
        arrival = repair_time(s, c, sent)
    c.last_arrival = max(c.last_arrival, arrival)
    return c.last_arrival


@kernel
def handshake_delay(s, c):
    """Extra seconds of connection set-up from lost SYNs and SYN-ACKs: initial timeout, doubling."""
    wait = s.rules.initial_rto
    extra = 0.0
    while lost(s, c) or lost(s, c):
        extra += wait
        wait *= 2.0
    return extra


@kernel
def idle_restart(s, c, t):
    """Congestion-window reset after idle: halved for each timeout that passed, down to the initial window (RFC 2861)."""
    idle = t - c.last_sent
    wait = rto(s, c)
    if s.rules.idle_reset == 0 or idle <= wait or c.cwnd <= s.rules.initial_window:
        return
    c.ssthresh = max(c.ssthresh, 0.75 * c.cwnd) if c.ssthresh < 1e8 else 0.75 * c.cwnd
    while idle > wait and c.cwnd > s.rules.initial_window:
        c.cwnd = max(0.5 * c.cwnd, s.rules.initial_window)
        idle -= wait
    c.epoch = -1.0


@kernel
def cubic_window(s, c, t):
    """Window CUBIC aims at `t`: C (t - K)^3 + Wmax, or Reno's line where that is higher (RFC 9438, 4.2 and 4.3)."""
    beta = s.rules.cubic_beta
    k = (c.w_max * (1.0 - beta) / s.rules.cubic_c) ** (1.0 / 3.0)
    x = t - c.epoch
    cubic = s.rules.cubic_c * (x + c.rtt - k) ** 3 + c.w_max
    reno = c.w_max * beta + 3.0 * (1.0 - beta) / (1.0 + beta) * x / max(c.rtt, 1e-3)
    return max(cubic, reno)


@kernel
def grow(s, c, t):
    """End of a round that filled the window: slow start by acknowledgements (every other segment), else CUBIC."""
    if c.cwnd < c.ssthresh:
        c.cwnd += max(1.0, math.floor(c.cwnd / 2.0))
        return
    if c.epoch < 0.0:
        c.epoch = t
        c.w_max = max(c.w_max, c.cwnd)
    c.cwnd = min(max(c.cwnd, cubic_window(s, c, t)), 1.5 * c.cwnd)


@kernel
def reduce(s, c, t, timeout):
    """A loss: window times beta, and 1 after a timeout; fast convergence when losses come at a falling window."""
    beta = s.rules.cubic_beta
    c.w_max = c.cwnd * (1.0 + beta) / 2.0 if c.cwnd < c.w_max else c.cwnd
    c.ssthresh = max(2.0, c.cwnd * beta)
    c.cwnd = 1.0 if timeout else c.ssthresh
    c.epoch = -1.0 if timeout else t


@kernel
def next_departure(s, c, written):
    """When a segment written at `written` leaves: now if the round has room, else with the next round."""
    if written >= c.round_at + c.rtt:
        c.round_at = written
        c.in_round = 0
    elif c.in_round >= int(c.cwnd):
        if c.loss > 0.0 and acks_lost(s, c):
            c.round_at += rto(s, c)
            reduce(s, c, c.round_at, True)
        else:
            grow(s, c, c.round_at + c.rtt)
        c.round_at += c.rtt
        c.in_round = 0
    c.in_round += 1
    return max(written, c.round_at)


@kernel
def acks_lost(s, c):
    """True if every acknowledgement of the round was lost (one per two segments): the sender times out for nothing."""
    acks = max(1.0, math.floor(c.cwnd / 2.0))
    return uniform(s.rng) < c.loss**acks


@kernel
def recover(s, c, sent, gap, following):
    """Segment sent at `sent` was lost: arrival of its retransmission; `following` segments can raise duplicate ACKs."""
    need = s.rules.dupacks
    third = max(sent + need * gap, sent)
    if following >= need and c.cwnd >= need + 1 and third <= sent + rto(s, c):
        again = third + c.rtt
        reduce(s, c, again, False)
        arrival = again + 0.5 * c.rtt
        if lost(s, c):
            arrival = repair_time(s, c, again)
            reduce(s, c, arrival, True)
            c.round_at = arrival + 0.5 * c.rtt
            c.in_round = 0
        return arrival
    arrival = repair_time(s, c, sent)
    reduce(s, c, arrival, True)
    c.round_at = arrival - 0.5 * c.rtt
    c.in_round = 1
    return arrival


@kernel
def count_burst(s, c, gap, units):
    """Statistics of segment sizes: Nagle lets writes pile up for a round trip, so one segment carries several."""
    m = 1
    if s.rules.nagle == 1 and gap > 0.0 and gap < c.rtt:
        m = min(int(math.ceil(c.rtt / gap)), units, BURST_BINS - 1)
    s.bursts[m] += units / m


@kernel
def block_arrival(s, c, end, gap, units, more):
    """(arrival of the last byte in order, time the socket takes data again, loss stall) of a block written by `end`.

    `units` writes, `gap` seconds apart, the last at `end`; `more`: another block follows on the connection.
    """
    begin = end - (units - 1) * gap
    idle_restart(s, c, begin)
    delivered = c.last_arrival
    sent = begin
    stall = 0.0
    for i in range(units):
        written = begin + i * gap
        sent = next_departure(s, c, written)
        arrival = sent + 0.5 * c.rtt
        if c.loss > 0.0 and lost(s, c):
            following = units - 1 - i + (units if more else 0)
            spacing = gap if sent <= written else 0.0
            repaired = recover(s, c, sent, spacing, following)
            stall += repaired - arrival
            arrival = repaired
        delivered = max(delivered, arrival)
    tail = last_segment_wait(s, c, begin, end, gap, sent, more)
    c.last_sent = sent
    c.last_arrival = max(delivered, sent + tail + 0.5 * c.rtt)
    return c.last_arrival, socket_free(s, c, end, sent), stall


@kernel
def last_segment_wait(s, c, begin, end, gap, sent, more):
    """Nagle: the block's last bytes wait for the last small segment's acknowledgement or for the next write."""
    if s.rules.nagle == 0 or gap >= c.rtt or sent > end:
        return 0.0
    if c.small_acked < begin:
        c.small_acked = begin + c.rtt
    while c.small_acked <= end:
        c.small_acked += c.rtt
    c.small_held = 1
    wait = c.small_acked - end
    return min(wait, gap) if more else wait


@kernel
def socket_free(s, c, end, sent):
    """When the socket buffer is two-thirds empty again (poll's rule); `end` if the window never held data back."""
    if sent <= end:
        return end
    room = max(s.rules.send_buffer, 2.0 * c.cwnd)
    backlog = (sent - end) * c.cwnd / c.rtt + c.cwnd
    if backlog <= room:
        return end
    return sent + c.rtt - room * (2.0 / 3.0) * c.rtt / c.cwnd
