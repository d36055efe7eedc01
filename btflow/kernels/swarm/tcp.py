"""One TCP connection below the limiter, evaluated once per block and once per control message.

The limiter writes 1380 B units `gap` seconds apart. While that is slower than the window allows, TCP adds latency
only: propagation, Nagle's wait for the last small segment, and recovery stalls. When it is not, segments leave in
rounds of at most cwnd per RTT and the window law sets the rate. Random loss hits data and acknowledgements alike.
Windows are in segments, times in seconds. Rules and constants: Linux 2.6.32 tcp_cubic.c, tcp_input.c, tcp_timer.c. How
near the rounds come to the same rules taken segment by segment, test_tcp.py says.
"""

import math

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.random import all_of, first_success, geometric, uniform
from btflow.kernels.swarm import nagle
from btflow.kernels.swarm.state import BURST_BINS, FOREVER, NIL
from btflow.kernels.swarm.tcp_window import coast, idle_restart, next_departure, rto


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
    nagle.reset(s, w)
    w.log_passed = math.log1p(-w.loss)
    w.until_loss = geometric(s.rng, w.loss)


@kernel
def lost(s, w):
    """True if the next segment of this direction is lost (the gap to the next loss is geometric)."""
    w.until_loss -= 1
    if w.until_loss > 0:
        return False
    w.until_loss = first_success(s.rng, w.log_passed)
    return True


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
    sent = nagle.departure(s, w, t)
    w.last_sent = sent
    arrival = sent + 0.5 * w.rtt
    if w.loss > 0.0 and lost(s, w):
        arrival = repaired(s, w, sent + rto(s, w)) + 0.5 * w.rtt
        w.small_acked = max(w.small_acked, arrival + 0.5 * w.rtt)
        w.ack_waits = 0
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
def silent(s, w, segments):
    """True if not one of `segments` brings an acknowledgement back."""
    return segments <= 0 or uniform(s.rng) < all_of(1.0 - (1.0 - w.loss) ** 2, segments)


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
    w.quick = s.rules.quick_acks  # a hole makes the receiver quick
    nagle.make_quick(s, w)
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
def unlimited(s, w, begin, gap, end, units, whole):
    """How many of a block's first writes leave at once, none of them lost; `whole` writes make a segment."""
    if w.loss == 0.0:
        return coast(s, w, begin, gap, end, units)
    if whole > 1:
        return NIL
    safe = coast(s, w, begin, gap, end, min(units, w.until_loss - 1))
    w.until_loss -= safe
    return safe


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
    first = unlimited(s, w, begin, gap, end, units, whole)
    if first > 0:
        sent = min(begin + (first - 1) * gap, end)
        delivered = max(delivered, sent + 0.5 * w.rtt)
    for i in range(first, units):
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
    by_window = sent > end
    tail = nagle.have_left(w, sent, more) if by_window else nagle.last_wait(s, w, begin, gap, end, units, more)
    w.last_sent = sent
    w.last_arrival = max(delivered, sent + tail + 0.5 * w.rtt)
    return w.last_arrival, socket_free(s, w, end, sent, gap, units), stall


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
