"""uTP as libtorrent has it: variant 2 of uTP, read in utp_stream.cpp of 2.0.11 and 2.1.0, which are alike.

An ACK moves the window only if that was full before it (`saturated`). In slow start it grows by what was acknowledged,
until the delay reaches the target (ssthresh is half of the window then) or a loss is found (ssthresh is what is left);
every timeout begins slow start anew, and one that would pass ssthresh ends it. Else the window moves by
max_gain (target - delay) / target x part of the flight that is acknowledged (do_ledbat). After a timeout too early
that part is many times the whole: what the timer held lost is no more on the way, and arrives all the same.

A loss leaves `beta` of the window, at least a packet; not within `loss_gap` after the last time, nor if the packet had
left before that (experienced_loss). What is found lost goes again at once, whatever the window (resend_packet); an ACK
shows FOUND_AT_ONCE at most, those beyond the first by four packets behind them (parse_sack).

The delay is the least of the last `filter` samples, fewer at the start, at most the RTT. Where the least delay of what
comes back falls, by less than SHIFT, the base of ours rises by that: libtorrent takes it for a clock that drifts, but
it does so, too, when a queue on the way back empties (incoming_packet).

Packets are small at first. One at a time is as large as half of the way to the largest; when it has arrived all are
(update_mtu_limits). What is on the way is counted in bytes, so the first windows are seldom full.

The timer starts anew with every packet that comes, and looks every TICK. RTO = max(rto_min, mean + 2 mean deviations),
the latter over SAMPLES at least; 2**(n-1) s more after n timeouts. Each timeout with nothing on the way leaves
`decay_idle` of the window (tick, packet_timeout). The connection ends when it fires once more after the first packet
on the way has left SENDINGS times.
"""

import math

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link.laws import delay
from btflow.kernels.link.state import BULK, FOREVER, NONE, SIZED, STREAM, UTP

LIBTORRENT = 2  # the variant
SHIFT = 0.01  # [s] (incoming_packet: base_change > -10000)
SAMPLES = 16  # of round trips (utp_stream.hpp: sliding_average<int, 16>)
DEVIATIONS = 2.0  # packet_timeout
TICK = 0.5  # [s] (settings_pack.cpp, tick_interval 500; session_impl.cpp, on_tick)
MOST_TIMEOUTS = 64.0  # seven in a row, 2**6: from there on rto_max (packet_timeout)
CLOCK = 1e-6  # its resolution [s]
HEADER = 20.0  # uTP's, in m_mtu [B]
SENDINGS = 3  # settings_pack.cpp, utp_num_resends (tick counts the first one too)
FOUND_AT_ONCE = 5  # losses (utp_stream.cpp, parse_sack: resend)
SMALLEST = 528.0  # payload that every path takes [B]: 576 less the headers (packet_pool.hpp, TORRENT_INET_MIN_MTU)
PROBES_ABOVE = 3.0  # packets that the window must hold for a larger one to be tried (send_pkt)


@kernel
def rules(f):
    """Whether flow `f` has these rules."""
    return f.law == UTP and f.variant == LIBTORRENT


@kernel
def start_search(f):
    """Packets are small; a file, or the stream of a swarm, has larger ones as they are found to pass."""
    f.packet = f.mss
    f.ceiling = f.mss + 1.0
    f.probe = NONE
    f.short = f.lacked = 0.0
    if searches(f):
        f.packet = min(SMALLEST, f.mss)
        f.min_window = (HEADER + halfway(f)) / f.mss


@kernel
def searches(f):
    """Whether packets may be of any size: those of a file, or of the stream of a swarm."""
    return f.app == BULK or f.app == SIZED or f.app == STREAM


@kernel
def halfway(f):
    """Payload of the next packet that is larger than those before it [B]; at the end of the search it is as large."""
    return math.floor(0.5 * (f.packet + f.ceiling))


@kernel
def search(f):
    """The probe has arrived; and with room for it, the next segment is one."""
    if f.probe != NONE and f.una > f.probe:
        f.packet = halfway(f)
        f.probe = NONE
        f.min_window = (HEADER + halfway(f)) / f.mss
        f.cwnd = max(f.cwnd, f.min_window)
    if f.probe == NONE and f.cwnd * f.mss > PROBES_ABOVE * (f.packet + HEADER) and searches(f):
        f.probe = f.nxt


@kernel
def probe_lost(f):
    """It goes again: what is as large does not pass; if all are as large, the search starts anew."""
    f.ceiling = halfway(f) - 1.0
    if f.packet > f.ceiling:
        f.ceiling = f.packet
        f.packet = math.floor(0.5 * (SMALLEST + f.ceiling))
    f.probe = NONE


@kernel
def size(f, number):
    """Payload that segment `number` has at most [B]."""
    return halfway(f) if number == f.probe else f.packet


@kernel
def sample(net, i, f, t, acked):
    """Measure, and move the window if it was full."""
    f.last_ack = t
    flight = f.flight * f.train - f.short  # that is left
    if flight + acked + f.min_window > f.cwnd:
        f.maxed_at = t
    measure(net, i, f, t)
    steer(f, t, acked, flight)
    search(f)


@kernel
def steer(f, t, acked, flight):
    """The window; `flight` segments are left on the way."""
    if f.queueing >= f.target and f.opening == 1:
        f.opening = 0
        f.ssthresh = math.floor(0.5 * f.cwnd * f.mss) / f.mss
    before = flight + acked - f.unexpected
    if t - f.maxed_at > f.gate or before <= 0.0:
        return
    gain = f.max_gain * acked / before * (f.target - f.queueing) / f.target
    if f.opening == 1 and f.cwnd + acked > f.ssthresh:
        f.opening = 0
    if f.opening == 1:
        gain = max(gain, acked)
    most = max(f.cwnd, f.max_window + 2.0)  # the other side's buffer: a window beyond it is not full
    f.cwnd = min(max(f.cwnd + gain, f.min_window), most)


@kernel
def measure(net, i, f, t):
    """Queueing delay, above a base that shifts as the other way's falls."""
    back = t - f.stamp - f.owd
    fall = f.back_base - back
    f.back_base = min(f.back_base, back)
    if CLOCK < fall < SHIFT:
        delay.shift_base(net, i, f, fall)
    delay.note_base(net, i, f, t, f.owd)
    delay.note_sample(net, i, f, f.owd - f.base_delay)
    f.queueing = min(delay.current(net, i, f), t - f.stamp)


@kernel
def reduce(f, t):
    """A loss of what left at `f.lost_sent`."""
    if f.lost_sent > f.backed_off and t > f.until:
        f.until = t + f.loss_gap
        f.cwnd = max(f.min_window, f.beta * f.cwnd)
        fall_back(f, t)
        if f.opening == 1:
            f.opening = 0
            f.ssthresh = f.cwnd
    return f.ssthresh


@kernel
def fall_back(f, t):
    """What left before `t` moves the window no more when it is found lost."""
    f.backed_off = t


@kernel
def timeout(f, t):
    """Slow start up to the ssthresh of before."""
    f.opening = 1
    f.probe = NONE
    fall_back(f, t)
    return f.ssthresh


@kernel
def rest(f, t):
    """A packet comes or goes at `t`, with nothing on the way: each timeout since the last one took its part."""
    at = expiry(f, max(f.last_sent, f.last_ack), 1.0)
    while at < t and f.cwnd > f.min_window:
        f.cwnd = max(f.min_window, f.decay_idle * f.cwnd)
        f.ssthresh = timeout(f, at)
        at = expiry(f, at, 1.0)


@kernel
def expiry(f, t, backoff):
    """When the timer fires that starts at `t`; `backoff` is 2**n after n timeouts in a row."""
    wait = f.rto if backoff == 1.0 else f.rto + 0.5 * backoff
    if backoff > MOST_TIMEOUTS:
        wait = FOREVER
    return TICK * math.ceil((t + min(wait, f.rto_max)) / TICK - CLOCK)


@kernel
def estimate_rtt(f):
    """Take the last RTT sample into the means (sliding_average.hpp)."""
    apart = math.fabs(f.srtt - f.rtt)
    f.round_samples = min(f.round_samples + 1, SAMPLES)
    if f.round_samples == 1:
        f.srtt = f.rtt
        f.rttvar = 0.0
    else:
        f.srtt += (f.rtt - f.srtt) / f.round_samples
        f.rttvar += (apart - f.rttvar) / (f.round_samples - 1)
    f.rto = max(f.rto_min, f.srtt + DEVIATIONS * f.rttvar)
