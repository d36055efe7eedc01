"""The sender: takes ACKs, lets the window law act, and sends what window, pacing and application allow."""

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link import application, laws, path, queue, receiver, recovery, sampling, scoreboard, state
from btflow.kernels.link.events import schedule, source, wake
from btflow.kernels.link.laws import bbr, cubic, utp, utp_libtorrent


@kernel
def start(net, i, f, t):
    """The flow's first moment: a connection opens, voice begins."""
    if f.law == state.CBR:
        f.running = state.CONNECTED
        return
    f.running = state.CONNECTING
    f.rto_at = recovery.expiry(f, t)
    wake(net, source(net, i, state.RTO_TIMER), f.rto_at)
    path.emit(net, i, f, state.DATA, t, state.SYN, t, 0.0, f.ack_size, 1)


@kernel
def connect(net, i, f, t, stamp):
    """The other side has answered: the application begins to write."""
    f.running = state.CONNECTED
    f.rto_at = state.FOREVER
    f.backoff = 1.0
    f.cwnd = f.initial_window
    f.ssthresh = state.FOREVER
    f.top = f.top2 = f.top3 = f.top4 = state.NONE
    recovery.start_rack(f)
    recovery.start_probing(f)
    f.delivered_at = t
    f.last_sent = t
    f.quick = f.quick_acks
    f.rtt = t - stamp
    f.min_rtt = f.rtt
    recovery.estimate_rtt(f)
    application.begin(net, i, f, t)
    laws.start(net, i, f, t)
    send(net, i, f, t)


@kernel
def send_timer(net, i, f, t):
    """Something to send may be there: the flow starts, the application writes, a paced segment is due."""
    schedule(net, source(net, i, state.SEND_TIMER), state.FOREVER)
    if f.running == state.IDLE:
        start(net, i, f, t)
    if f.law == state.CBR:
        application.speak(net, i, f, t)
    elif f.running == state.CONNECTED:
        send(net, i, f, t)


@kernel
def ack_arrives(net, i, f, t, position, stamp, owd):
    """An ACK: all the receiver had logged before `position` has arrived; `stamp` is the echo of a sending time."""
    if f.running == state.CONNECTING and position == state.SYN_ACK:
        connect(net, i, f, t, stamp)
    if position <= f.seen:
        return
    arrived = read_log(net, i, f, t, position, stamp)
    if arrived == 0:
        if f.tail_probe:
            recovery.probe_answered(net, i, f, t)
        return
    f.acks += 1
    f.owd = owd
    f.stamp = stamp
    acked = scoreboard.advance(net, i, f)
    if f.app == state.STREAM and acked > 0:
        f.acked = scoreboard.segment(net, i, f.una - 1).end
    if acked > 0 or f.srtt < 0.0 or f.detection == state.RACK:  # the first too if something before it is missing
        take_rtt(net, i, f, t, stamp)
    laws.sample(net, i, f, t, float(arrived * f.train) - f.came_short)
    f.came_short = f.unexpected = 0.0
    if f.tail_probe:
        recovery.probe_answered(net, i, f, t)
    if acked > 0 and f.phase == state.LOSS and f.detection == state.RACK and stamp < f.expired_at:
        recovery.undo(net, i, f)
    found = recovery.find_losses(net, i, f, t) if f.detection == state.RACK else scoreboard.find_losses(net, i, f)
    was = f.phase
    if f.phase != state.OPEN and f.una >= f.recover:
        recovery.end(f)
    if acked > 0 and found == 0 and may_grow(f, was == state.RECOVERY):
        laws.grow(net, i, f, t, float((acked if was == state.RECOVERY else arrived) * f.train))
    left = was != state.OPEN and f.waiting_retransmit > 0  # lost after the phase began: another one
    repairs = f.phase == state.RECOVERY or f.phase == state.LOSS
    if utp_libtorrent.rules(f):
        left = False
    if (found > 0 or left) and (not repairs or f.recovery == state.PER_LOSS):
        recovery.begin(net, i, f, t, arrived)
    elif f.phase == state.REFUSED:
        recovery.shrink(f)
    elif f.phase == state.RECOVERY:
        recovery.go_on(f, arrived, 1.0 if acked > 0 and found == 0 else 0.0)
    if f.phase != state.LOSS:  # the one segment after a timeout is less
        f.cwnd = max(f.cwnd, f.min_window)
    if acked > 0:
        f.backoff = 1.0
        recovery.restart_timer(net, i, f, t)
        if f.tail_probe:
            f.probe_at = state.FOREVER
            recovery.arm_probe(net, i, f, t)
    elif utp_libtorrent.rules(f):
        heard(net, i, f, t)
    elif f.detection == state.RACK and stamp < scoreboard.segment(net, i, f.una).sent:
        recovery.restart_timer(net, i, f, t)
    send(net, i, f, t)


@kernel
def heard(net, i, f, t):
    """With uTP of libtorrent any packet of the other side starts the timer anew (utp_stream.cpp, incoming_packet)."""
    if f.flight == 0:
        utp_libtorrent.rest(f, t)
    f.last_ack = t
    f.backoff = 1.0
    recovery.restart_timer(net, i, f, t)


@kernel
def may_grow(f, repairs):
    """Whether the window was the limit, or need not be, and no fast recovery is on; `repairs`: one was until now."""
    repairing = f.phase == state.RECOVERY or f.phase == state.REFUSED
    half_used = f.recalls_use and f.cwnd < f.ssthresh and f.cwnd < 2.0 * f.most_out * f.train
    return (f.limited or half_used or not f.validate) and not repairing and (f.counts_repaired or not repairs)


@kernel
def note_use(f, limited, sent):
    """Data was `sent`, or could not be: `limited` says whether the window ended that (tcp_cwnd_validate)."""
    if not f.recalls_use:
        f.limited = limited
    elif limited or sent:
        out = f.nxt - f.una
        if limited or f.una >= f.use_until or (f.limited == 0 and out > f.most_out):
            f.limited, f.most_out, f.use_until = limited, out, f.nxt


@kernel
def read_log(net, i, f, t, position, stamp):
    """Go through what the receiver logged since the last ACK: the number of trains newly known to have arrived.

    The ACK echoes a time `stamp`.
    """
    arrived = 0
    newest = state.NONE
    for place in range(f.seen, position):
        number = net.log[f.ring_at + (place & f.ring_mask)]
        if scoreboard.mark_arrived(net, i, f, number):
            arrived += 1
            newest = number
            if f.detection == state.RACK:
                recovery.note_arrival(f, t, number, scoreboard.segment(net, i, number), stamp)
        elif f.tail_probe and number == f.probed:
            f.probe_twice = 1
    f.seen = position
    if arrived > 0:
        f.delivered += arrived * f.train
        measure_rate(f, t, scoreboard.segment(net, i, newest))
        f.delivered_at = t
    return arrived


@kernel
def measure_rate(f, t, newest):
    """Delivery rate while the newest segment was under way (draft-cheng-iccrg-delivery-rate-estimation)."""
    interval = max(t - newest.delivered_at, newest.sent - newest.first_sent)
    f.sample_rate = (f.delivered - newest.delivered) / interval if interval > 0.0 else 0.0
    f.first_sent = newest.sent
    f.sample_limited = newest.delivered < f.app_limited


@kernel
def take_rtt(net, i, f, t, stamp):
    """A sample of the round-trip time, from the echoed time stamp."""
    f.rtt = t - stamp
    recovery.estimate_rtt(f)
    sampling.note_rtt(net, i, f, t)
    if f.smoothed_rtt:
        f.rtt = f.srtt
    f.min_rtt = min(f.min_rtt, f.rtt)


@kernel
def send(net, i, f, t):
    """Send lost segments, then new ones, as long as the window has room."""
    application.write(net, i, f, t)
    any_sent = False
    while True:
        more = something_new(f) if f.app == state.STREAM else f.nxt < f.written and t < f.stop
        if f.waiting_retransmit == 0 and not more:
            note_use(f, 0, any_sent)
            f.app_limited = int(f.delivered) + f.flight * f.train
            return
        if f.flight == 0 and f.waiting_retransmit == 0:
            restart_after_idle(net, i, f, t)
        if not has_room(f) and not f.forced and not goes_again_at_once(f):
            note_use(f, 1, any_sent)
            return
        if f.waiting_retransmit == 0 and (f.nxt - f.una + 1) * f.train > f.max_window:
            note_use(f, 0, any_sent)
            return
        if f.app == state.STREAM and f.waiting_retransmit == 0 and 2 * (f.nxt - f.una + 1) > f.ring_mask:
            net.clock[0].cramped = i
            return
        if f.pacing > 0.0 and t < f.pace_at:
            note_use(f, 1, any_sent)
            wake(net, source(net, i, state.SEND_TIMER), f.pace_at)
            return
        if f.told == 1 and refused(net, i, f, t):
            note_use(f, 1, any_sent)
            return
        f.forced = 0
        any_sent = True
        sent = 1
        if f.waiting_retransmit > 0:
            number = send_again(net, i, f, t)
            if number == f.una:  # tcp_xmit_retransmit_queue: the head starts it anew
                recovery.restart_timer(net, i, f, t)
        else:
            sent = bundle(f) if f.bundled > 0 else 1
            send_new(net, i, f, t, sent)
            if f.tail_probe:
                recovery.arm_probe(net, i, f, t)
        if f.pacing > 0.0:
            f.pace_at = max(t, f.pace_at) + sent * f.train / f.pacing


# Linux net/ipv4/tcp_output.c, tcp_tso_autosize: what the pacing rate brings in 2**-10 s, and never more than GSO takes;
# tcp_input.c, tcp_update_pacing_rate: where no law paces, that rate is so many windows a round trip.
BUNDLE_TIME, BUNDLE_SIZE = 1.0 / 1024.0, 65536.0  # [s], [B]
PACE_SLOW_START, PACE_AVOIDANCE = 2.0, 1.2


@kernel
def bundle(f):
    """Segments of the next super-packet, as far as window and application allow."""
    goal = float(f.bundled)
    if f.law == state.BBR:
        goal = bbr.quantum(f)
    elif f.srtt > 0.0:
        rate = (PACE_SLOW_START if f.cwnd < 0.5 * f.ssthresh else PACE_AVOIDANCE) * f.cwnd / f.srtt
        goal = max(goal, min(rate * BUNDLE_TIME, BUNDLE_SIZE / f.mss))
    room = min((f.cwnd + 1e-9) / f.weight - f.flight, f.max_window - (f.nxt - f.una), float(f.written - f.nxt))
    return max(1, int(min(goal, room)))


@kernel
def has_room(f):
    """True if one more train fits the window; one may always be under way."""
    if scoreboard.counts_bytes(f):
        return f.flight == 0 or f.flight - f.short + next_size(f) / f.mss <= f.cwnd + 1e-9
    return f.flight == 0 or (f.flight + 1) * f.weight <= f.cwnd + 1e-9


@kernel
def next_size(f):
    """Payload of the next new segment, where the window counts bytes [B]."""
    most = utp_libtorrent.size(f, f.nxt)
    return min(most, float(f.wrote - f.cut)) if f.app == state.STREAM and f.waiting_retransmit == 0 else most


@kernel
def goes_again_at_once(f):
    """With uTP of libtorrent what is found lost, but for what the timer found (utp_stream.cpp, resend_packet)."""
    return f.waiting_retransmit > 0 and f.phase == state.OPEN and utp_libtorrent.rules(f)


@kernel
def refused(net, i, f, t):
    """Whether the queue of the sender's own host has no room for the next segment, of which the sender is told."""
    k = f.data_queue0
    payload = min(f.mss, float(f.wrote - f.cut)) if f.waiting_retransmit == 0 else f.mss
    if not queue.full(net, k, net.queue[k], t, payload + f.header):
        return False
    recovery.refuse(net, i, f, t)
    return True


@kernel
def restart_after_idle(net, i, f, t):
    """After an RTO without sending the window is halved for each RTO, down to the initial one (RFC 2861, Linux)."""
    idle = t - f.last_sent
    if f.law == state.BBR and idle > 0.0:
        bbr.restart(net, i, f, t)
    elif f.law == state.UTP:
        utp.rest(net, i, f, t)
    elif f.law == state.CUBIC and idle > 0.0:
        cubic.rest(f, idle)
    if not f.idle_reset or f.srtt < 0.0 or idle <= f.rto or f.cwnd <= f.initial_window:
        return
    f.ssthresh = max(f.ssthresh, 0.75 * f.cwnd) if f.ssthresh < state.FOREVER else f.ssthresh
    while idle > f.rto and f.cwnd > f.initial_window:
        f.cwnd = max(0.5 * f.cwnd, f.initial_window)
        idle -= f.rto


@kernel
def send_new(net, i, f, t, segments):
    """Send the next train, or the segments of a super-packet, for the first time."""
    number = f.nxt
    f.nxt += segments
    for j in range(number, f.nxt):
        seg = scoreboard.segment(net, i, j)
        seg.bits = seg.sendings = 0
    if f.app == state.STREAM:
        cut(f, scoreboard.segment(net, i, number))
    elif scoreboard.counts_bytes(f):
        cut_short(f, scoreboard.segment(net, i, number), number)
    transmit(net, i, f, t, number, segments)


@kernel
def something_new(f):
    """STREAM: whether a segment may be cut from what was written; Nagle lets a small one wait (RFC 9293, 3.7.4)."""
    left = f.wrote - f.cut
    if left >= room_of_next(f, f.nxt) or left == 0:
        return left > 0
    waits_for = f.cut if f.nagle == state.ANY_DATA and not utp_libtorrent.rules(f) else f.small_end
    return f.nagle == state.NO_NAGLE or f.acked >= waits_for


@kernel
def cut(f, seg):
    """STREAM: the next segment takes as much of what was written as it can hold."""
    most = int(room_of_next(f, f.nxt - 1))
    seg.bytes = min(f.wrote - f.cut, most)
    f.cut += seg.bytes
    seg.end = f.cut
    if seg.bytes < most:
        f.small_end = f.cut
        if f.nxt - 1 == f.probe:  # too small for one
            f.probe = f.nxt


@kernel
def room_of_next(f, number):
    """STREAM: payload of segment `number` at most [B]."""
    return utp_libtorrent.size(f, number) if scoreboard.counts_bytes(f) else f.mss


@kernel
def cut_short(f, seg, number):
    """A segment takes no more than its packet: what it leaves of a full one makes the file longer, in segments."""
    full = f.last_payload if f.app == state.SIZED and number == f.written - 1 else f.mss
    seg.bytes = int(min(full, utp_libtorrent.size(f, number)))
    f.cut += seg.bytes
    seg.end = f.cut
    if f.app == state.SIZED and seg.bytes < full:
        f.last_payload = full - seg.bytes + (0.0 if number == f.written - 1 else f.last_payload)
        if number == f.written - 1 or f.last_payload > f.mss:
            f.last_payload -= 0.0 if number == f.written - 1 else f.mss
            f.written += 1
            f.total += 1.0


@kernel
def send_again(net, i, f, t):
    """Send the first lost train again; its number."""
    number = scoreboard.next_lost(net, i, f)
    seg = scoreboard.segment(net, i, number)
    seg.bits = state.LOST | state.RETRANSMITTED
    seg.mark = f.nxt
    scoreboard.note_again(net, i, f, number)
    f.waiting_retransmit -= 1
    if number == f.probe and number == f.una:
        utp_libtorrent.probe_lost(f)
    if t >= net.rules.warmup:
        f.resent += f.train
    transmit(net, i, f, t, number, 1)
    return number


@kernel
def transmit(net, i, f, t, number, segments):
    """Put a train on the way, or a super-packet of `segments`."""
    if f.flight == 0:
        f.delivered_at = t
        f.first_sent = t
    size = 0.0
    for j in range(number, number + segments):
        seg = scoreboard.segment(net, i, j)
        seg.sent = t
        seg.sendings += 1
        seg.delivered = f.delivered
        seg.delivered_at = f.delivered_at
        seg.first_sent = f.first_sent
        size += scoreboard.payload(net, i, f, j) + f.train * f.header
        f.short += scoreboard.lacks(f, seg)
    f.flight += segments
    f.prr_out += segments
    f.last_sent = t
    if t >= net.rules.warmup:
        f.sent += segments * f.train
    if f.rto_at == state.FOREVER:
        recovery.restart_timer(net, i, f, t)
    parcel = path.parcel(net, i, f, state.DATA, number, t, 0.0, size)
    parcel.packets = f.train
    parcel.segments = segments
    if f.app == state.STREAM:
        receiver.ride(net, f, t, parcel)
    path.set_off(net, i, f, state.DATA, t, parcel)


@kernel
def rto_timer(net, i, f, t):
    """The retransmission timer; it is not moved when ACKs put it off, so it looks for itself."""
    due = f.rto_at
    if f.detection == state.RACK and f.running == state.CONNECTED:
        due = min(due, f.settle_at, f.probe_at)
    if due > t:
        schedule(net, source(net, i, state.RTO_TIMER), due)
        return
    schedule(net, source(net, i, state.RTO_TIMER), state.FOREVER)
    if f.running == state.CONNECTING:
        f.backoff *= 2.0
        start(net, i, f, t)
        return
    if f.detection == state.RACK and min(f.settle_at, f.probe_at) <= t:
        look_before_the_timeout(net, i, f, t)
        return
    recovery.note_timeout(f, t)
    if f.phase != state.LOSS or utp_libtorrent.rules(f):
        f.ssthresh = laws.timeout(net, i, f, t)
    f.cwnd = 1.0
    f.phase = state.LOSS
    f.recover = f.nxt
    if f.detection == state.RACK:
        recovery.mark_lost_at_timeout(net, i, f, t)
        f.cwnd += f.flight * f.train
        recovery.start_probing(f)
    else:
        scoreboard.mark_all_lost(net, i, f)
    f.backoff *= 2.0
    f.limited = 1
    f.expired += 1
    if t >= net.rules.warmup:
        f.timeouts += 1
    recovery.restart_timer(net, i, f, t)
    send(net, i, f, t)


@kernel
def look_before_the_timeout(net, i, f, t):
    """What the timer is for besides: nothing came back, so a probe goes; or what was late has had its time."""
    if f.probe_at <= t:
        send_probe(net, i, f, t)
    else:
        found = recovery.find_losses(net, i, f, t)
        if found > 0 and (f.phase == state.OPEN or f.recovery == state.PER_LOSS):
            recovery.begin(net, i, f, t, 1)
        send(net, i, f, t)
    wake(net, source(net, i, state.RTO_TIMER), min(f.rto_at, f.settle_at, f.probe_at))


@kernel
def send_probe(net, i, f, t):
    """A tail loss probe: something new whatever the window, or else the last segment again (RFC 8985, section 7.3).

    The retransmission timer starts anew (tcp_send_loss_probe).
    """
    f.probe_at = state.FOREVER
    application.write(net, i, f, t)
    last = f.nxt - 1
    if may_probe_with_new(f, t):
        f.probed = state.NONE
        send_new(net, i, f, t, 1)
    else:  # nothing is known of it, or no probe would go
        f.probed = last
        f.probe_twice = 0
        if t >= net.rules.warmup:
            f.resent += f.train
        transmit(net, i, f, t, last, 1)
        f.flight -= 1  # it was on the way, as far as is known
    f.probe_end = f.nxt
    recovery.restart_timer(net, i, f, t)


@kernel
def may_probe_with_new(f, t):
    """Whether there is something new for a probe: the other side's window holds, Nagle's rule does not."""
    if (f.nxt - f.una + 1) * f.train > f.max_window:
        return False
    if f.app == state.STREAM:
        return f.wrote > f.cut and 2 * (f.nxt - f.una + 1) <= f.ring_mask
    return f.nxt < f.written and t < f.stop
