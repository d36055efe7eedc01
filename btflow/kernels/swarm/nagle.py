"""Nagle's rule below the limiter, and the ACK that it waits for, which the receiver may delay.

The limiter's writes are smaller than a segment. Such a segment waits while an earlier one is not acknowledged
(Minshall's variant), or until so much is written that a full one can leave. The receiver acknowledges a lone segment as
soon as its client has read it if it is shorter than the last ones; the ACK of one of their length waits 40 ms, twice as
long each time that nothing else has come meanwhile, up to the round-trip time. A message of its own, such as the
REQUEST at the end of each block, makes it wait once more and begin anew. So writes are held back from round-trip times
of half their distance on. Lengths are in writes, times in seconds.

Linux 2.6.32: tcp_output.c (tcp_nagle_test, tcp_send_delayed_ack, tcp_event_data_sent), tcp_input.c (tcp_measure_rcv_mss,
__tcp_ack_snd_check, tcp_event_data_recv), tcp.c (tcp_cleanup_rbuf), tcp_timer.c (tcp_delack_timer). Since Linux 6.7 a
segment of the same length is acknowledged at once, too (``push_acks``).
"""

from btflow.kernels.compiler.jit import kernel

INTERACTIVE = 0.2  # longest wait of an ACK after a message of the receiver's own (TCP_DELACK_MAX)
LONGEST = 0.5  # longest wait of an ACK at all (tcp_send_delayed_ack: HZ / 2)


@kernel
def reset(s, w):
    """A new connection: nothing is held back, and the receiver has not seen a segment."""
    w.small_acked = -1e9
    w.small_held = 0
    w.small_sent = -1e9
    w.held = 0.0
    w.length = 0.0
    w.other = 0.0
    w.ack_delay = s.rules.delayed_ack


@kernel
def departure(s, w, t):
    """When a small message written at `t` may leave: at once, or with the acknowledgement of the last small segment."""
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
def last_wait(s, w, begin, gap, end, units, more):
    """How long the last bytes of a block are held back that is written from `begin` to `end`, in `units` writes [s].

    `more`: another block follows, whose first write can push them out.
    """
    if s.rules.nagle == 0 or gap >= w.rtt + longest_delay(s, w):
        return 0.0
    play(s, w, begin, gap, end, units)
    w.small_held = 1 if w.held > 0.0 else 0
    if w.held == 0.0:
        return 0.0
    wait = w.small_acked - end
    return min(wait, gap) if more else wait


@kernel
def longest_delay(s, w):
    """The longest that the ACK of a lone segment waits [s]."""
    return s.rules.delayed_ack if s.rules.push_acks == 1 else max(s.rules.delayed_ack, min(w.rtt, LONGEST))


@kernel
def play(s, w, begin, gap, end, units):
    """Let the writes of a block leave. The receiver asks for another when it has the last bytes of the one before."""
    rest = w.held > 0.0
    w.lone = 0
    w.interactive = 0 if rest else 1
    for i in range(units):
        t = min(begin + i * gap, end)
        if w.held > 0.0 and w.small_acked <= t:
            small_leaves(s, w, w.small_acked)
            w.interactive, rest = 1 if rest else w.interactive, False
        w.held += 1.0 if i + 1 < units else s.rules.block_writes - (units - 1)
        while w.held >= s.rules.segment_writes:
            full_leaves(s, w, t)
            w.interactive, rest = 1 if rest else w.interactive, False
        if w.held > 0.0 and w.small_acked <= t:
            small_leaves(s, w, t)


@kernel
def full_leaves(s, w, t):
    """A full segment leaves at `t`: with it so much has come that the last small one is acknowledged at once."""
    w.held -= s.rules.segment_writes
    w.length, w.other = s.rules.segment_writes, 0.0
    if t + w.rtt < w.small_acked:
        w.small_acked = t + w.rtt
        w.ack_delay, w.interactive = w.last_delay, w.last_interactive  # the timer has not fired
    else:
        w.lone = 1


@kernel
def small_leaves(s, w, t):
    """What is held back leaves at `t`, and is acknowledged at once or after a wait."""
    timeout = w.rtt + s.rules.rto_min
    quick = t - w.small_sent > timeout or w.prompt > 0
    if t - w.small_sent > timeout:  # so long a gap makes the receiver quick
        w.prompt = s.rules.quick_acks
    w.small_sent = t
    short = is_short(w)
    w.held = 0.0
    w.last_delay, w.last_interactive = w.ack_delay, w.interactive
    w.small_acked = t + w.rtt
    if w.lone == 1 or (w.interactive == 0 and (quick or short or s.rules.push_acks == 1)):
        w.lone = 0
        w.prompt = max(0, w.prompt - 1)
        return
    wait = w.ack_delay
    if wait > s.rules.delayed_ack:
        most = INTERACTIVE if w.interactive == 1 or short else LONGEST
        wait = min(wait, most, max(w.rtt, s.rules.delayed_ack))
    w.small_acked += wait
    w.ack_delay = s.rules.delayed_ack if w.interactive == 1 else min(2.0 * w.ack_delay, timeout)
    w.interactive = 0


@kernel
def is_short(w):
    """True if the receiver takes what leaves for shorter than its segments are; two alike are its segments' length."""
    if w.held >= w.length:
        w.length, w.other = w.held, 0.0
    elif w.held == w.other:
        w.length = w.held
    else:
        w.other = w.held
        return True
    return False


@kernel
def small_ack(w, begin, end):
    """About when the small segment before the last one of a block is acknowledged: no ACK is delayed."""
    acked = w.small_acked if w.small_acked >= begin else begin + w.rtt
    while acked <= end:
        acked += w.rtt
    return acked
