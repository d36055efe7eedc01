"""One TCP connection below the limiter, evaluated once per block and once per control message.

The limiter writes 1380 B units `gap` seconds apart. While that is slower than the window allows, TCP adds latency
only: propagation, Nagle's wait for the last small segment, and recovery stalls. When it is not, segments leave in
rounds of at most cwnd per RTT and the window law sets the rate. Random loss hits data and acknowledgements alike.
Windows are in segments, times in seconds. Rules and constants: Linux 2.6.32 tcp_cubic.c, tcp_input.c, tcp_timer.c. How
near the rounds come to the same rules taken segment by segment, test_tcp.py says.
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
    w.w_start = 0.0
    w.round_at = -1e9
    w.in_round = 0
    w.quick = s.rules.quick_acks
    w.buffer = s.rules.send_buffer
    w.last_sent = t
    w.last_arrival = t
    w.recovered = -1e9
    w.falling = 0
    w.repairing = 0
    w.held_from = FOREVER
    w.held_until = -1e9
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
    """Arrival time of a control message written at `t` [s]: Nagle, propagation, its own loss, in-order delivery.

    Behind data that waits for the window it shares a segment with the last of it.
    """
    if t < w.last_sent:
        w.last_arrival = max(w.last_arrival, w.last_sent + 0.5 * w.rtt)
        return w.last_arrival
    idle_restart(s, w, t)
    sent = nagle_departure(s, w, t)
    w.last_sent = sent
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
def cubic_target(s, w, t):
    """Whole segments CUBIC aims at a round trip after `t`: C (t - K)^3 from the window of the last loss, or of `epoch`.

    K is the time from the window `w_start` of the epoch's start back to that of the loss (bictcp_update).
    """
    origin = max(w.w_max, w.w_start)
    k = ((origin - w.w_start) / s.rules.cubic_c) ** (1.0 / 3.0)
    x = t - w.epoch + w.rtt - k
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

    Linux counts acknowledgements, not bytes. CUBIC takes each for two segments: its estimate of the ratio starts there
    and is kept in sixteenths that are cut off, so that it never falls below 31/16 (bictcp_acked).
    """
    acks *= 1.0 - w.loss
    if w.cwnd <= w.ssthresh:
        opened = min(acks, math.floor(w.ssthresh) + 1.0 - math.floor(w.cwnd))
        w.cwnd += opened
        acks -= opened
    if acks > 0.0:
        if w.epoch < 0.0:
            w.epoch = t
            w.w_start = math.floor(w.cwnd)
        w.cwnd += acks / (max(1.0, math.floor(0.5 * acks_per_segment(s, w, t))) + 1.0)


@kernel
def reduce(s, w, timeout):
    """A loss: window times beta, and 1 after a timeout; fast convergence when losses come at a falling window.

    The kernel counts windows in whole segments and rounds down, which is a good deal at windows of 3 to 7. A timeout
    makes CUBIC forget the window it had (bictcp_state).
    """
    beta = s.rules.cubic_beta
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
def limiting(s, w):
    """True if the window counts as the limit, so that it may grow: within a burst of full (tcp_is_cwnd_limited).

    The other half of RFC 2861, a window that shrinks while it is not the limit, does nothing in this kernel: its clock
    (snd_cwnd_stamp) is set anew by every acknowledgement, and after a timeout without one comes the reset of idleness.
    """
    return s.rules.window_validation == 0 or w.in_round + s.rules.dupacks >= int(w.cwnd)


@kernel
def round_length(s, w):
    """Time from a round's first segment to the acknowledgement of its last, which a delayed ACK holds if it is odd."""
    return w.rtt + s.rules.delayed_ack if w.in_round & 1 and w.quick < w.in_round else w.rtt


@kernel
def round_acks(s, w):
    """Acknowledgements of a round: one per segment while the receiver is quick, else one per two."""
    if w.quick >= w.in_round:
        return float(w.in_round)
    return math.ceil(0.5 * w.in_round)


@kernel
def end_round(s, w, t):
    """By `t` the round is acknowledged: the window falls if a loss was found, stays while it is repaired, or grows."""
    acks = round_acks(s, w)
    if w.falling > 0:  # up to the hole the acknowledgements are ordinary ones
        acks = min(acks, float(w.intact))
        w.intact = 0
    elif t + 1e-9 < w.held_until + 0.5 * w.rtt:  # the recovery goes on
        acks = 0.0
    elif w.repairing > 0:  # the recovery ends with what left before the third duplicate ACK
        acks -= s.rules.dupacks
    w.repairing = 0
    if acks > 0.0 and limiting(s, w):
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
    length = round_length(s, w)
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

    CUBIC has forgotten its history by then (tcp_try_undo_recovery, bictcp_state).
    """
    w.round_at += rto(s, w)
    w.ssthresh = max(w.ssthresh, math.floor(0.75 * w.cwnd))
    w.cwnd = 2.0
    w.w_max = 0.0
    w.epoch = -1.0


@kernel
def acks_lost(s, w):
    """True if every acknowledgement of the round was lost: the sender times out for nothing."""
    return uniform(s.rng) < w.loss ** round_acks(s, w)


@kernel
def silent(s, w, segments):
    """True if not one of `segments` brings an acknowledgement back."""
    return segments <= 0 or uniform(s.rng) < (1.0 - (1.0 - w.loss) ** 2) ** segments


@kernel
def loss_known(s, w, sent, gap, following):
    """When the sender learns that the segment sent at `sent` was lost; FOREVER if too little follows.

    That is the acknowledgement of the third segment behind it, or of the first that comes when the lost one is older
    than the timeout (tcp_time_to_recover; the timer itself starts anew with every acknowledgement). `following`
    segments can leave behind it: `gap` apart, or with this round and the next ones, which are a segment smaller
    (limited transmit, RFC 3042: what is selectively acknowledged makes room).
    """
    need = s.rules.dupacks
    patience = s.rules.rto_min  # the timeout less the round trip of the acknowledgement
    if gap > 0.0:
        behind = min(float(need), math.ceil(patience / gap))
        return sent + behind * gap + w.rtt if behind <= following else FOREVER
    count = min(int(w.cwnd) - w.in_round, following)
    at = w.round_at
    while count < need:
        at += w.rtt
        more = min(int(w.cwnd) - 1, following - count)
        if silent(s, w, more):
            return FOREVER
        count += more
        if at >= sent + patience:
            break
    return at + w.rtt


@kernel
def recover(s, w, sent, before, gap, following):
    """Segment sent at `sent` was lost: arrival of its retransmission.

    `before`: when the segment before it was sent; its acknowledgement restarts the timer. `following` segments, `gap`
    apart, can raise the duplicate acknowledgements of a fast retransmit; with too few the timer must fire.
    """
    w.quick = s.rules.quick_acks  # a hole makes the receiver quick (tcp_enter_quickack_mode)
    expiry = max(sent, before + w.rtt) + rto(s, w)
    again = loss_known(s, w, sent, gap, following)
    if again < expiry:
        if w.falling > 0:
            w.falling += 1
        elif sent >= w.recovered and (w.repairing == 0 or w.in_round >= w.repairing + s.rules.dupacks):
            w.recovered = again
            w.falling = 1  # one reduction for all losses of a window (SACK), and of what left before it was known
            w.intact = w.in_round - 1
        while lost(s, w):  # what leaves behind the retransmission tells: every second ACK lets one go (tcp_cwnd_down)
            if silent(s, w, min((int(w.cwnd) - s.rules.dupacks - 1) // 2, following)):
                expiry = again + rto(s, w)
                break
            again += w.rtt + gap
            w.falling += 1
        else:
            return again + 0.5 * w.rtt
    w.resume_at = repaired(s, w, expiry)
    w.timeout_at = min(w.timeout_at, expiry)
    w.recovered = max(w.recovered, w.resume_at)
    return w.resume_at + 0.5 * w.rtt


@kernel
def burst(s, w, gap, units):
    """Writes that leave together: Nagle lets them pile up for a round trip."""
    if s.rules.nagle == 1 and gap > 0.0 and gap < w.rtt:
        return min(int(math.ceil(w.rtt / gap)), units, BURST_BINS - 1)
    return 1


@kernel
def count_burst(s, w, gap, units):
    """Statistics of segment sizes."""
    m = burst(s, w, gap, units)
    s.bursts[m] += units / m


@kernel
def block_arrival(s, w, end, gap, units, more):
    """(arrival of the last byte in order, time the socket takes data again, loss stall) of a block written by `end`.

    `units` writes, `gap` seconds apart, the last at `end`; `more`: another block follows on the connection.
    An offloaded segment carries a whole burst: it is lost, and sent again, as one.
    """
    whole = min(burst(s, w, gap, units), s.rules.segment_units)
    left = 0  # writes still to come of the segment under way
    late = 0.0
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
        if left == 0:
            left = whole
            late = 0.0
            if w.loss > 0.0 and lost(s, w):
                following = (units - 1 - i + (units if more else 0)) // whole
                late = recover(s, w, sent, before, gap if sent <= written else 0.0, following)
                stall += late - arrival
                if late > delivered:
                    w.held_from = sent
                    w.held_until = late
        left -= 1
        arrival = max(arrival, late)
        delivered = max(delivered, arrival)
    tail = last_segment_wait(s, w, begin, end, gap, sent, more)
    w.last_sent = sent
    w.last_arrival = max(delivered, sent + tail + 0.5 * w.rtt)
    return w.last_arrival, socket_free(s, w, end, sent, gap, units), stall


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
def acked_but(w, sent, behind, spacing):
    """When all but the last `behind` segments are acknowledged, if they left `spacing` apart, the last at `sent`.

    A segment stays in the buffer until all before it have arrived, so a hole holds all that was sent after it.
    """
    left = sent - max(0.0, behind) * spacing
    arrival = left + 0.5 * w.rtt
    if left >= w.held_from:
        arrival = max(arrival, w.held_until)
    return arrival + 0.5 * w.rtt


@kernel
def socket_free(s, w, end, sent, gap, units):
    """When the socket takes the next block; `end` if this one did not fill it.

    A full socket takes data again when a third of it is empty (poll's rule). Blocks of `units` are written whole here,
    so they wait until the mean filling is that of a socket between two thirds and full, but not until the window runs
    dry. The buffer grows to two windows when what is left in it no longer fills the window (tcp_new_space), which has
    fallen by then if something is being repaired.
    """
    spacing, burst = w.rtt / w.cwnd, float(w.in_round)  # with the window: what is in this round left at once
    if gap > spacing and sent <= end:
        spacing, burst = gap, 0.0  # as written
    if acked_but(w, sent, w.buffer - burst, spacing) <= end:
        return end
    cwnd = w.cwnd if w.falling == 0 else s.rules.cubic_beta * w.cwnd
    if cwnd > 2.0 / 3.0 * w.buffer and w.timeout_at == FOREVER:
        w.buffer = 2.0 * max(math.floor(cwnd), s.rules.dupacks + 1.0)
    left = max(5.0 / 6.0 * w.buffer - 0.5 * units, min(cwnd, 2.0 / 3.0 * w.buffer))
    return max(end, acked_but(w, sent, left - burst, spacing))
