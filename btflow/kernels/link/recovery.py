"""How a sender finds losses and what they do to its window until all that was under way is acknowledged; its timer.

RACK: a segment is lost when one that left later has arrived, and some time has passed (RFC 8985, section 6). Where
nothing is known of reordering there is no need to wait once three have arrived, or while losses are repaired
(tcp_rack_reo_wnd). Whether a segment was sent for the first time makes no difference: lost retransmissions are found.

Tail loss probes (RFC 8985, section 7): the last segments of what an application writes have none behind them that
would show their loss. So when nothing has come back for two round trips a segment goes (sender.send_probe): its ACK
shows what is missing before the timer fires.
"""

import math

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link import laws, scoreboard, state
from btflow.kernels.link.events import source, wake
from btflow.kernels.link.laws import utp_libtorrent

THRESHOLD = 3  # segments that have arrived beyond a hole (RFC 8985, section 6.2, DupThresh; Linux tcp_reordering)
REORDERING = 0.25  # of the least round trip: how late a segment may be (RFC 8985, section 6.2; tcp_rack_reo_wnd)
GRANULARITY = 2e-3  # what a timer takes longer [s] (Linux include/net/tcp.h, TCP_TIMEOUT_MIN_US)
ROUNDING = 1e-9  # [s]


@kernel
def start_rack(f):
    """Nothing has arrived."""
    f.rack_sent = -1.0
    f.rack_number = state.NONE
    f.settle_at = state.FOREVER


@kernel
def note_arrival(f, t, number, seg, stamp):
    """Train `number` is newly known to have arrived: it may be the one that left last (RFC 8985, section 6.2, step 2).

    If it was sent twice, and has come faster than any or before the time stamp echoed, this was the first of the two,
    and says nothing (Linux tcp_rack_advance, tcp_skb_spurious_retrans).
    """
    rtt = t - seg.sent
    if (rtt < f.min_rtt or stamp < seg.sent) and (seg.bits & state.RETRANSMITTED or number == f.probed):
        return
    f.rack_rtt = rtt
    if seg.sent > f.rack_sent or (seg.sent == f.rack_sent and number > f.rack_number):
        f.rack_sent = seg.sent
        f.rack_number = number


@kernel
def left_before(f, number, seg):
    """Whether train `number` left before the last one of those that have arrived."""
    return seg.sent < f.rack_sent or (seg.sent == f.rack_sent and number < f.rack_number)


@kernel
def reordering_window(f):
    """Time that a segment may be late by [s]."""
    repairs = f.phase != state.OPEN and f.una < f.recover
    arrived = f.nxt - f.una - f.flight - f.waiting_retransmit
    if repairs or arrived * f.train >= THRESHOLD:
        return 0.0
    return min(REORDERING * f.min_rtt, f.srtt)


@kernel
def find_losses(net, i, f, t):
    """Mark what must be lost by now; the number of trains newly found so. What may only be late sets the timer."""
    window = reordering_window(f)
    latest = t - f.rack_rtt - window + ROUNDING  # what left by then and has not come is lost
    found = 0
    late = -1.0  # when the last of those left that may still come
    number = max(f.judged, f.una)
    while number < f.nxt:
        seg = scoreboard.segment(net, i, number)
        if seg.bits == 0:
            if not left_before(f, number, seg):
                break
            if seg.sent > latest:
                late = seg.sent
            else:
                found += scoreboard.mark_lost(net, i, f, number)
        number += 1
        if late < 0.0:
            f.judged = number
    while f.again_first < f.again_last:
        number = net.again[f.ring_at + (f.again_first & f.ring_mask)]
        if number >= f.una:
            seg = scoreboard.segment(net, i, number)
            if seg.bits == state.LOST | state.RETRANSMITTED:
                if not left_before(f, number, seg):
                    break
                if seg.sent > latest:
                    late = max(late, seg.sent)
                    break
                seg.bits = 0
                found += scoreboard.mark_lost(net, i, f, number)
        f.again_first += 1
    f.settle_at = state.FOREVER
    if late >= 0.0:
        f.settle_at = late + f.rack_rtt + window + GRANULARITY
        f.probe_at = state.FOREVER  # one timer: the later purpose takes it
        wake(net, source(net, i, state.RTO_TIMER), f.settle_at)
    return found


@kernel
def mark_lost_at_timeout(net, i, f, t):
    """The timer fired: the first is lost, and all that left longer ago than a round trip (tcp_timeout_mark_lost)."""
    f.flight = 0
    f.waiting_retransmit = 0
    for number in range(f.una, f.nxt):
        seg = scoreboard.segment(net, i, number)
        if seg.bits & state.SACKED:
            continue
        if seg.bits != state.LOST and number != f.una and seg.sent + f.rack_rtt > t:
            f.flight += 1
        else:
            seg.bits = state.LOST
            f.waiting_retransmit += 1
    f.judged = f.repair = f.una
    f.settle_at = state.FOREVER
    keep_those_on_the_way(net, i, f)


@kernel
def note_timeout(f, t):
    """The timer is about to fire: if all that was sent comes after all, the window is again that of now."""
    if f.phase != state.LOSS:
        f.before_window = f.cwnd
        f.before_ssthresh = f.ssthresh
        f.expired_at = t


@kernel
def undo(net, i, f):
    """The ACK echoes a time before the timer fired: nothing was lost (Linux tcp_try_undo_loss, tcp_packet_delayed)."""
    for number in range(f.una, f.nxt):
        seg = scoreboard.segment(net, i, number)
        if seg.bits == state.LOST:
            seg.bits = 0
            f.flight += 1
    f.waiting_retransmit = 0
    f.cwnd = max(f.cwnd, f.before_window)
    f.ssthresh = f.before_ssthresh
    f.phase = state.OPEN


@kernel
def keep_those_on_the_way(net, i, f):
    """Of the trains sent again forget those that are to be sent once more, so that the others stay in order of time."""
    kept = f.again_first
    for place in range(f.again_first, f.again_last):
        number = net.again[f.ring_at + (place & f.ring_mask)]
        if number >= f.una and scoreboard.segment(net, i, number).bits == state.LOST | state.RETRANSMITTED:
            net.again[f.ring_at + (kept & f.ring_mask)] = number
            kept += 1
    f.again_last = kept


ROUND_TRIPS = 2.0  # without an answer (RFC 8985, section 7.2; Linux tcp_output.c, tcp_schedule_loss_probe)


@kernel
def start_probing(f):
    """None is on the way, none will go."""
    f.probe_at = state.FOREVER
    f.probe_end = state.NONE
    f.probed = state.NONE
    f.probe_twice = 0


@kernel
def arm_probe(net, i, f, t):
    """Something was sent, or acknowledged in order: the probe is put off.

    There is one at a time, and none goes while anything is known to be missing. The ACK of a segment alone may be
    delayed, by as much as the least timeout (tcp_rto_min).
    """
    if f.probe_end != state.NONE or f.phase != state.OPEN or f.una == f.nxt or f.flight < f.nxt - f.una:
        return
    wait = ROUND_TRIPS * f.srtt + (f.rto_min if (f.nxt - f.una) * f.train == 1 else GRANULARITY)
    f.probe_at = min(t + wait, f.rto_at)
    wake(net, source(net, i, state.RTO_TIMER), f.probe_at)


@kernel
def probe_answered(net, i, f, t):
    """An ACK that may answer the probe (tcp_process_tlp_ack; RFC 8985, section 7.4.2).

    What it sent again has come twice: nothing was lost. Or what was sent behind it has come and it did not come twice:
    it repaired a loss that nobody else has seen, and the window falls as for any other.
    """
    if f.probe_end == state.NONE or f.una < f.probe_end:
        return
    if f.probed == state.NONE or f.probe_twice == 1:
        f.probe_end = state.NONE
    elif f.una > f.probe_end:
        f.probe_end = state.NONE
        f.ssthresh = laws.reduce(net, i, f, t)
        count_fall(net, f, t)
        if f.recovery != state.PER_LOSS:
            f.cwnd = f.ssthresh


@kernel
def count_fall(net, f, t):
    """The window fell."""
    f.falls += 1
    if t >= net.rules.warmup:
        f.losses += 1


@kernel
def begin(net, i, f, t, arrived):
    """A loss was found: the law says what is left, the lost segment goes at once (RFC 6675, step 4.3).

    `arrived` trains are newly known to have come. A probe that is on the way has done its work.
    """
    f.probe_at = state.FOREVER
    f.probe_end = state.NONE
    if utp_libtorrent.rules(f):
        number = scoreboard.first_lost(net, i, f)
        f.lost_sent = scoreboard.segment(net, i, number).sent if number != f.probe else -state.FOREVER
    f.prr_flight = float(f.flight + f.waiting_retransmit)  # RecoverFS of RFC 6937: what is outstanding
    before = f.cwnd
    f.ssthresh = laws.reduce(net, i, f, t)
    f.forced = 1
    if f.cwnd < before or not utp_libtorrent.rules(f):
        count_fall(net, f, t)
    if f.recovery == state.PER_LOSS:
        return
    f.recover = f.nxt
    f.prr_delivered = 0.0
    f.prr_out = 0.0
    if f.recovery == state.TAHOE:
        f.phase = state.LOSS
        f.cwnd = 1.0
        return
    f.phase = state.RECOVERY
    f.cwnd = f.ssthresh
    if f.recovery == state.PRR_SAFE:
        go_on(f, arrived, 0.0)


@kernel
def go_on(f, arrived, safe):
    """Another ACK in recovery: proportional rate reduction says how much may be sent (RFC 6937, section 3).

    Below ssthresh it grows by a segment for each ACK, or, with PRR_SAFE, for each that is `safe` (1): it acknowledges
    in order and shows no new loss (draft-ietf-tcpm-prr-rfc6937bis, section 6; tcp_cwnd_reduction). There the first one
    of a recovery goes whatever comes of it.
    """
    if f.recovery != state.PRR and f.recovery != state.PRR_SAFE:
        return
    f.prr_delivered += arrived
    least, more = 0.0, 1.0
    if f.recovery == state.PRR_SAFE:
        least, more = 0.0 if f.prr_out > 0.0 else 1.0, safe
    threshold = f.ssthresh / f.train
    if f.flight > threshold:
        allowed = math.ceil(f.prr_delivered * threshold / f.prr_flight) - f.prr_out
    else:
        allowed = min(threshold - f.flight, max(f.prr_delivered - f.prr_out, float(arrived)) + more)
    f.cwnd = (f.flight + max(allowed, least)) * f.train


@kernel
def refuse(net, i, f, t):
    """The queue of its own host took no more of flow `i` (Linux tcp_transmit_skb, tcp_enter_cwr).

    Nothing is lost: the segment waits for the next ACK or, if nothing is under way, for a timer
    (tcp_check_probe_timer). The window falls as after a loss, but with the ACKs, and no further until something sent
    later is acknowledged.
    """
    if f.phase == state.OPEN:
        f.ssthresh = laws.reduce(net, i, f, t)
        f.cwnd = min(f.cwnd, f.flight + 1.0)
        f.phase = state.REFUSED
        f.recover = f.nxt + 1
        count_fall(net, f, t)
    if f.flight == 0:
        wake(net, source(net, i, state.SEND_TIMER), t + f.rto)


@kernel
def shrink(f):
    """An ACK after `refuse`: half a segment less, down to ssthresh (tcp_cwnd_down)."""
    f.cwnd = min(max(f.ssthresh, f.cwnd - 0.5), f.flight + 1.0)


@kernel
def end(f):
    """Everything under way when the loss was found is acknowledged."""
    if f.phase == state.RECOVERY:
        f.cwnd = f.ssthresh
    elif f.phase == state.REFUSED:
        f.cwnd = min(f.cwnd, f.ssthresh)
    f.phase = state.OPEN


@kernel
def estimate_rtt(f):
    """Take the last RTT sample into SRTT and RTTVAR (RFC 6298, section 2: gains 1/8 and 1/4)."""
    if utp_libtorrent.rules(f):
        utp_libtorrent.estimate_rtt(f)
        return
    if f.srtt < 0.0:
        f.srtt = f.rtt
        f.rttvar = 0.5 * f.rtt
    else:
        f.rttvar += 0.25 * (math.fabs(f.srtt - f.rtt) - f.rttvar)
        f.srtt += 0.125 * (f.rtt - f.srtt)
    f.rto = max(f.rto_min, f.srtt + max(f.rto_slack, 4.0 * f.rttvar))


@kernel
def expiry(f, t):
    """When the timer fires that starts at `t`."""
    if utp_libtorrent.rules(f):
        return utp_libtorrent.expiry(f, t, f.backoff)
    return t + min(f.rto * f.backoff, f.rto_max)


@kernel
def restart_timer(net, i, f, t):
    """The timer runs anew from `t` as long as something is unacknowledged."""
    if f.una == f.nxt:
        f.rto_at = state.FOREVER
        return
    f.rto_at = expiry(f, t)
    wake(net, source(net, i, state.RTO_TIMER), f.rto_at)
