"""One TCP connection below the limiter, evaluated once per block and once per control message.

The limiter writes 1380 B units `gap` seconds apart. While that is slower than the window allows, TCP adds latency
only: propagation, Nagle's wait for the last small segment, and recovery stalls. When it is not, segments leave in
rounds of at most cwnd per RTT and the window law sets the rate. Random loss hits data and acknowledgements alike.
Windows are in segments, times in seconds. Constants: Linux 2.6.32 tcp_cubic.c, tcp_input.c, tcp_timer.w.
"""

import math

from btflow.kernels.jit import kernel
from btflow.kernels.rng import geometric, uniform
from btflow.kernels.state import BURST_BINS, FOREVER


@kernel
def reset(s, w, t):
    """A new connection: initial window, no history."""
    w.cwnd = s.rules.initial_window
    w.ssthresh = 1e9
    w.w_max = 0.0
    w.epoch = -1.0
    w.round_at = -1e9
    w.in_round = 0
    w.filled_at = t
    w.last_sent = t
    w.last_arrival = t
    w.recovered = -1e9
    w.timeout_at = FOREVER
    w.small_acked = -1e9
    w.small_held = 0
    w.until_loss = geometric(s.rng, w.loss)


@kernel
def rto(s, w):
    """Retransmission timeout [s]: SRTT plus at least 200 ms (the deviation term of a constant RTT decays away)."""
    return w.rtt + s.rules.rto_min


@kernel
def lost(s, w):
    """True if the next segment of this direction is lost (the gap to the next loss is geometric)."""
    w.until_loss -= 1
    if w.until_loss > 0:
        return False
    w.until_loss = geometric(s.rng, w.loss)
    return True


@kernel
def nagle_departure(s, w, t):
    """When a small segment written at `t` may leave: at once, or with the acknowledgement of the last small one."""
    if s.rules.nagle == 0 or w.rtt == 0.0:
        return t
    if w.small_held == 1 and t >= w.small_acked:
        w.small_acked += w.rtt  # the held one left then
        w.small_held = 0
    if t >= w.small_acked:
        w.small_acked = t + w.rtt
        return t
    w.small_held = 1
    return w.small_acked


@kernel
def repaired(s, w, expiry):
    """Time a lost segment is sent for the time that gets through: first at `expiry`, then with doubled timeouts."""
    wait = rto(s, w)
    while lost(s, w):
        wait = min(2.0 * wait, s.rules.rto_max)
        expiry += wait
    return expiry


@kernel
def control_arrival(s, w, t):
    """Arrival time of a control message written at `t` [s]: Nagle, propagation, its own loss, in-order delivery."""
    sent = nagle_departure(s, w, t)
    arrival = sent + 0.5 * w.rtt
    if w.loss > 0.0 and lost(s, w):
        arrival = repaired(s, w, sent + rto(s, w)) + 0.5 * w.rtt
        w.small_acked = max(w.small_acked, arrival + 0.5 * w.rtt)
    w.last_arrival = max(w.last_arrival, arrival)
    return w.last_arrival


@kernel
def handshake_delay(s, w):
    """Extra seconds of connection set-up from lost SYNs and SYN-ACKs: initial timeout, doubling."""
    wait = s.rules.initial_rto
    extra = 0.0
    while lost(s, w) or lost(s, w):
        extra += wait
        wait *= 2.0
    return extra


@kernel
def idle_restart(s, w, t):
    """Congestion-window reset after idle: halved for each timeout that passed, down to the initial window (RFC 2861).

    CUBIC's clock is not reset: until 2015 (Linux 4.x) the idle time counted as growth, so such a window recovers fast.
    """
    idle = t - w.last_sent
    wait = rto(s, w)
    if s.rules.idle_reset == 0 or idle <= wait or w.cwnd <= s.rules.initial_window:
        return
    w.ssthresh = max(w.ssthresh, 0.75 * w.cwnd)
    while idle > wait and w.cwnd > s.rules.initial_window:
        w.cwnd = max(0.5 * w.cwnd, s.rules.initial_window)
        idle -= wait


@kernel
def cubic_window(s, w, t):
    """Window CUBIC aims at `t`: C (t - K)^3 + Wmax, or Reno's line where that is higher (RFC 9438, 4.2 and 4.3)."""
    beta = s.rules.cubic_beta
    k = (w.w_max * (1.0 - beta) / s.rules.cubic_c) ** (1.0 / 3.0)
    x = t - w.epoch
    cubic = s.rules.cubic_c * (x + w.rtt - k) ** 3 + w.w_max
    reno = w.w_max * beta + 3.0 * (1.0 - beta) / (1.0 + beta) * x / max(w.rtt, 1e-3)
    return max(cubic, reno)


@kernel
def grow(s, w, t):
    """End of a round that filled the window: slow start by acknowledgements (one per two segments), else CUBIC."""
    if w.cwnd < w.ssthresh:
        w.cwnd += math.ceil(w.cwnd / 2.0)
        return
    if w.epoch < 0.0:
        w.epoch = t
        w.w_max = max(w.w_max, w.cwnd)
    w.cwnd = min(max(w.cwnd, cubic_window(s, w, t)), 1.5 * w.cwnd)


@kernel
def reduce(s, w, t, timeout):
    """A loss: window times beta, and 1 after a timeout; fast convergence when losses come at a falling window.

    The kernel counts windows in whole segments and rounds down, which is a good deal at windows of 3 to 7.
    """
    beta = s.rules.cubic_beta
    cwnd = math.floor(w.cwnd)
    w.w_max = math.floor(cwnd * (1.0 + beta) / 2.0) if cwnd < w.w_max else cwnd
    w.ssthresh = max(2.0, math.floor(cwnd * beta))
    w.cwnd = 1.0 if timeout else w.ssthresh
    w.epoch = -1.0 if timeout else t


@kernel
def validate(s, w, t):
    """Window validation (RFC 2861): unused for a timeout, the window moves half-way to what was used of it."""
    if s.rules.window_validation == 0 or t - w.filled_at < rto(s, w):
        return
    used = max(float(w.in_round), s.rules.initial_window)
    if w.in_round < int(w.cwnd):
        w.ssthresh = max(w.ssthresh, 0.75 * w.cwnd)
        w.cwnd = max(1.0, 0.5 * (w.cwnd + min(used, w.cwnd)))
    w.filled_at = t


@kernel
def round_length(s, w):
    """Time from a round's first segment to the acknowledgement of its last, which a delayed ACK holds if it is odd."""
    return w.rtt + s.rules.delayed_ack if w.in_round & 1 else w.rtt


@kernel
def next_departure(s, w, written):
    """When a segment written at `written` leaves: now if the round has room, else with the next round."""
    if written >= w.timeout_at:
        time_out(s, w)
    length = round_length(s, w)
    if written >= w.round_at + length:
        validate(s, w, written)
        w.round_at = written
        w.in_round = 0
    elif w.in_round >= int(w.cwnd):
        w.filled_at = w.round_at
        if w.loss > 0.0 and acks_lost(s, w):
            w.round_at += rto(s, w)
            reduce(s, w, w.round_at, True)
        else:
            grow(s, w, w.round_at + length)
        w.round_at += length
        w.in_round = 0
        if w.round_at >= w.timeout_at:
            time_out(s, w)
    w.in_round += 1
    return max(written, w.round_at)


@kernel
def time_out(s, w):
    """The retransmission timer fired: one segment in flight, the repaired one, and slow start from there."""
    reduce(s, w, w.timeout_at, True)
    w.round_at = max(w.round_at, w.resume_at)
    w.in_round = 1
    w.timeout_at = FOREVER


@kernel
def acks_lost(s, w):
    """True if every acknowledgement of the round was lost (one per two segments): the sender times out for nothing."""
    acks = max(1.0, math.floor(w.cwnd / 2.0))
    return uniform(s.rng) < w.loss**acks


@kernel
def recover(s, w, sent, before, gap, following):
    """Segment sent at `sent` was lost: arrival of its retransmission.

    `before`: when the segment before it was sent; its acknowledgement restarts the timer. `following` segments, `gap`
    apart, can raise the duplicate acknowledgements of a fast retransmit; with fewer than three the timer must fire.
    """
    need = s.rules.dupacks
    expiry = max(sent, before + w.rtt) + rto(s, w)
    again = sent + need * gap + w.rtt
    if following >= need and w.cwnd >= need + 1 and again <= expiry:
        if sent >= w.recovered:  # one reduction for all losses of a window (SACK)
            reduce(s, w, again, False)
            w.recovered = again
        if not lost(s, w):
            return again + 0.5 * w.rtt
        expiry = again + rto(s, w)
    w.resume_at = repaired(s, w, expiry)
    w.timeout_at = min(w.timeout_at, expiry)
    w.recovered = max(w.recovered, w.resume_at)
    return w.resume_at + 0.5 * w.rtt


@kernel
def count_burst(s, w, gap, units):
    """Statistics of segment sizes: Nagle lets writes pile up for a round trip, so one segment carries several."""
    m = 1
    if s.rules.nagle == 1 and gap > 0.0 and gap < w.rtt:
        m = min(int(math.ceil(w.rtt / gap)), units, BURST_BINS - 1)
    s.bursts[m] += units / m


@kernel
def block_arrival(s, w, end, gap, units, more):
    """(arrival of the last byte in order, time the socket takes data again, loss stall) of a block written by `end`.

    `units` writes, `gap` seconds apart, the last at `end`; `more`: another block follows on the connection.
    """
    begin = end - (units - 1) * gap
    idle_restart(s, w, begin)
    delivered = w.last_arrival
    sent = w.last_sent
    stall = 0.0
    for i in range(units):
        before = sent
        written = min(begin + i * gap, end)
        sent = next_departure(s, w, written)
        arrival = sent + 0.5 * w.rtt
        if w.loss > 0.0 and lost(s, w):
            following = units - 1 - i + (units if more else 0)
            late = recover(s, w, sent, before, gap if sent <= written else 0.0, following)
            stall += late - arrival
            arrival = late
        delivered = max(delivered, arrival)
    tail = last_segment_wait(s, w, begin, end, gap, sent, more)
    w.last_sent = sent
    w.last_arrival = max(delivered, sent + tail + 0.5 * w.rtt)
    return w.last_arrival, socket_free(s, w, end, sent), stall


@kernel
def last_segment_wait(s, w, begin, end, gap, sent, more):
    """Nagle: the block's last bytes wait for the last small segment's acknowledgement or for the next write."""
    if s.rules.nagle == 0 or gap >= w.rtt or sent > end:
        return 0.0
    if w.small_acked < begin:
        w.small_acked = begin + w.rtt
    while w.small_acked <= end:
        w.small_acked += w.rtt
    w.small_held = 1
    wait = w.small_acked - end
    return min(wait, gap) if more else wait


@kernel
def socket_free(s, w, end, sent):
    """When the socket buffer is one third empty again (poll's rule); `end` if the window never held data back.

    The buffer grows to two windows once the window, not the buffer, would let more segments out (tcp_new_space).
    """
    if sent <= end or w.rtt == 0.0:
        return end
    room = s.rules.send_buffer if w.cwnd <= s.rules.send_buffer else 2.0 * w.cwnd
    backlog = (sent - end) * w.cwnd / w.rtt + w.cwnd
    if backlog <= room:
        return end
    return sent + w.rtt - room * (2.0 / 3.0) * w.rtt / w.cwnd
