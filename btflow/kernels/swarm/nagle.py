"""Nagle's rule below the limiter, and the ACK that it waits for, which the receiver may delay.

A segment that is not full, as are most writes of the limiter, waits while an earlier one is not acknowledged
(Minshall's variant), or until so much is written that a full one can leave. The receiver acknowledges a lone segment as
soon as its client has read it if it is shorter than the last ones; the ACK of one of their length waits 40 ms, twice as
long each time that nothing else has come meanwhile, up to the round-trip time. The REQUEST that follows the last bytes
of a block carries the ACK for them, makes the next one wait, and those after it begin anew. So writes are held back
from round-trip times of half their distance on. Lengths are in bytes, times in seconds.

Linux 2.6.32: tcp_output.c (tcp_nagle_test, tcp_send_delayed_ack, tcp_event_data_sent), tcp_input.c
(tcp_measure_rcv_mss, __tcp_ack_snd_check, tcp_event_data_recv), tcp.c (tcp_cleanup_rbuf), tcp_timer.c
(tcp_delack_timer). Since Linux 6.6 a segment of the same length is acknowledged at once, too (``push_acks``). Left out:
ACKs that ride on blocks or HAVEs of the receiver's own, and what a loss does beyond making it quick.
"""

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.swarm import rules

INTERACTIVE = 5.0  # longest wait of an ACK after a message of the receiver's own, in least ones: 200 ms of 40
LONGEST = 12.5  # ... and at all: 500 ms (TCP_DELACK_MAX and HZ / 2 over TCP_DELACK_MIN)
TINY = 0.37  # of a full segment: what is shorter than 536 B of 1448 never sets their length (TCP_MIN_RCVMSS)


@kernel
def reset(s, w):
    """A new connection: nothing is held back, and the receiver has seen no segment."""
    w.small_acked = -1e9
    w.held = 0.0
    w.ends_block = 0
    w.heard = -1e9
    w.longest = 0.0
    w.shorter = 0.0
    w.small_waits = 0
    w.ack_waits = 0
    w.ack_due = 0.0
    make_quick(s, w)
    w.interactive = 1  # it sends messages before anything else


@kernel
def make_quick(s, w):
    """The receiver acknowledges at once for a while (tcp_enter_quickack_mode)."""
    w.prompt = s.rules.quick_acks
    w.interactive = 0
    w.ack_delay = s.rules.delayed_ack


@kernel
def release(s, w, t):
    """Let what is held back leave if the last small segment is acknowledged by `t`."""
    if w.held > 0.0 and w.small_acked <= t:
        small_leaves(s, w, w.small_acked)


@kernel
def departure(s, w, t):
    """When a message written at `t` may leave: at once, or with what is held back. Its ACK does not wait."""
    if s.rules.nagle == 0 or w.rtt == 0.0:
        return t
    release(s, w, t)
    if w.small_acked <= t:
        message_leaves(s, w, t)
        return t
    w.held += s.rules.request_size
    return w.small_acked


@kernel
def message_leaves(s, w, t):
    """A message leaves alone at `t`."""
    leaves(s, w, t, s.rules.request_size, True)


@kernel
def have_left(w, t, more):
    """The last bytes of a block have left by `t` without Nagle's rule: the window held them back longer, or nothing."""
    w.held = 0.0
    w.heard = t
    ask(w)
    if not more:
        w.small_acked = t + w.rtt
    return 0.0


@kernel
def last_wait(s, w, begin, gap, end, units, more):
    """How long the last bytes of a block are held back that is written from `begin` to `end`, in `units` writes [s].

    `more`: another block follows, whose first write can push them out.
    """
    if s.rules.nagle == 0 or w.rtt == 0.0:
        return 0.0
    if gap >= w.rtt + longest_delay(s, w) and w.held == 0.0 and w.small_acked <= begin:  # each is acknowledged in time
        return have_left(w, end, False)
    write(s, w, begin, gap, end, units)
    if w.held == 0.0:
        return 0.0
    wait = w.small_acked - end
    return min(wait, gap) if more else wait


@kernel
def longest_delay(s, w):
    """The longest that the ACK of a lone segment waits [s]."""
    least = s.rules.delayed_ack
    return least if s.rules.push_acks == 1 else max(least, min(w.rtt, LONGEST * least))


@kernel
def write(s, w, begin, gap, end, units):
    """Let the writes of a block leave."""
    size = s.rules.block_size
    if rules.turns(s.rules, size, w.unit) != units:
        size = s.rules.last_block_size  # the file's last block may take fewer
    last = rules.last_turn(s.rules, size, units, w.unit)
    for i in range(units):
        t = min(begin + i * gap, end)
        release(s, w, t)
        w.held += w.unit if i + 1 < units else last
        while w.held >= s.rules.mss:
            full_leaves(s, w, t)
        if i + 1 == units:
            w.ends_block = 1
        if w.held > 0.0 and w.small_acked <= t:
            small_leaves(s, w, t)
    if w.held == 0.0 and w.ends_block == 1:
        ask(w)


@kernel
def full_leaves(s, w, t):
    """A full segment leaves at `t`."""
    w.held -= s.rules.mss
    leaves(s, w, t, s.rules.mss, False)
    if w.ends_block == 1:  # it has the last bytes of the block before
        ask(w)


@kernel
def small_leaves(s, w, t):
    """What is held back leaves at `t`."""
    size = w.held
    w.held = 0.0
    leaves(s, w, t, size, True)
    if w.ends_block == 1:
        w.small_acked = t + w.rtt
        ask(w)


@kernel
def leaves(s, w, t, size, small):
    """A segment leaves at `t`, and is acknowledged at once or after a wait: with the next one, or by the timer."""
    second = w.ack_waits == 1 and t < w.ack_due
    if second and w.small_waits == 1:
        w.small_acked = t + w.rtt
    if w.ack_waits == 1 and not second:
        # nothing else has come: the next ACK waits longer, or they begin anew after a message (tcp_delack_timer)
        restart = w.interactive == 1
        w.ack_delay = s.rules.delayed_ack if restart else min(2.0 * w.ack_delay, w.rtt + s.rules.rto_min)
        w.interactive = 0
    hear(s, w, t)
    short = is_short(s, w, size)
    at_once = w.interactive == 0 and (w.prompt > 0 or short or s.rules.push_acks == 1)
    wait = 0.0 if second or size < TINY * s.rules.mss or at_once else ack_wait(s, w, short)
    w.prompt = max(0, w.prompt - 1)
    w.ack_waits = 1 if wait > 0.0 else 0
    w.ack_due = t + wait
    w.small_waits = 1 if small else 0
    if small:
        w.small_acked = t + wait + w.rtt


@kernel
def ack_wait(s, w, short):
    """How long the receiver's timer waits for more (tcp_send_delayed_ack)."""
    least = s.rules.delayed_ack
    if w.ack_delay <= least:
        return w.ack_delay
    most = INTERACTIVE if w.interactive == 1 or short else LONGEST
    return min(w.ack_delay, most * least, max(w.rtt, least))


@kernel
def ask(w):
    """The receiver has a block and asks for another: that acknowledges what has come, and the next ACK waits."""
    w.ends_block = 0
    w.ack_waits = 0
    w.interactive = 1


@kernel
def hear(s, w, t):
    """A segment comes that left at `t`: its distance from the last one sets the wait (tcp_event_data_recv).

    Behind a gap above its own timeout the receiver is quick again.
    """
    gap, timeout = t - w.heard, w.rtt + s.rules.rto_min
    w.heard = t
    if gap <= 0.5 * s.rules.delayed_ack:
        w.ack_delay = 0.5 * (w.ack_delay + s.rules.delayed_ack)
    elif gap < w.ack_delay:
        w.ack_delay = min(0.5 * w.ack_delay + gap, timeout)
    elif gap > timeout:
        w.prompt = s.rules.quick_acks


@kernel
def is_short(s, w, size):
    """True if the receiver takes a segment for shorter than the sender's are: two alike set their length."""
    tiny = TINY * s.rules.mss
    if size >= max(w.longest, tiny):
        w.longest, w.shorter = size, 0.0
    elif size >= tiny and size == w.shorter:
        w.longest = size
    else:
        w.shorter = size if size >= tiny else 0.0
        return True
    return False


@kernel
def small_ack(w, begin, end):
    """About when the small segment before the last one of a block is acknowledged: no ACK is delayed."""
    acked = w.small_acked if w.small_acked >= begin else begin + w.rtt
    while acked <= end:
        acked += w.rtt
    return acked
