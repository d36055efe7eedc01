"""BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00): paced at the bandwidth that was measured.

The model of the path is the greatest delivery rate of ten rounds, `bandwidth`, and the least round trip of ten
seconds, `base`; what the flow sends is `bandwidth` times a gain, up to a window of `bandwidth * base` times another.
The gains go by `mode`. STARTUP doubles the rate each round until three rounds brought less than a quarter more; DRAIN
empties the queue that this made; PROBE_BW takes a quarter more, a quarter less, and six times just the bandwidth, for
about a round trip each, from a random phase on; PROBE_RTT holds the window at four packets for 200 ms and a round when
`base` is ten seconds old.

A loss does not touch the model. Modelled of loss recovery is the draft's packet conservation: for one round what is
sent is what arrives, then the window is what it was. After a timeout it grows from 1 by what arrives, and is restored
when the sender leaves the phase LOSS. Not modelled: the draft's later rounds of recovery, in which the window is less
by each loss; and Linux' long-term sampling against policers. What else Linux added is here with super-packets
(`bundled`): ACK aggregation, even windows and the margin of the pacing rate.

All is done in `sample`, so flows with this law have recovery = PER_LOSS and no slow start; ssthresh stays as it is. A
round is over when a segment sent after its start is known to have arrived. `net.recent[i]` holds the greatest rate of
each of the last ten rounds. The sender may call `restart` when it sends after a silence of the application.
"""

import math

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link.state import FOREVER, LOSS
from btflow.kernels.random import below

STARTUP, DRAIN, PROBE_BW, PROBE_RTT = 0, 1, 2, 3  # flow.mode

# The draft's section is beside each.
_HIGH_GAIN = 2.885  # 4.3.2.1: 2 / ln 2
_CRUISE_WINDOW = 2.0  # 4.3.4.1: window gain of PROBE_BW
_UP, _DOWN = 1.25, 0.75  # 4.3.4.1: gains of the phases 0 and 1 of the cycle; those that follow have 1
_PHASES = 8
_FILTER_ROUNDS = 10  # 4.1.1.3: of the bandwidth
_FILTER_TIME = 10.0  # [s] 4.3.5: of the round trip, and the time between two PROBE_RTT
_PROBE_TIME = 0.2  # [s] 4.3.5
_MIN_WINDOW = 4.0  # [segments] 4.2.3.3
# Linux tcp_bbr.c, bbr_pacing_margin_percent, bbr_extra_acked_win_rtts, bbr_extra_acked_max_us
_MARGIN, _EXTRA_ROUNDS, _EXTRA_TIME = 0.99, 5, 0.1
_GROWTH, _FULL_ROUNDS = 1.25, 3  # 4.3.2.2
_FIRST_RTT = 0.001  # [s] 4.2.1: taken before one is known
_SLOW, _MEDIUM = 1.2e6 / 8.0, 24e6 / 8.0  # [B/s] 4.2.2: pacing rates below which 1 and 2 segments are sent at once,
_QUANTUM_TIME, _QUANTUM_SIZE = 0.001, 65536.0  # [s], [B] and from which what takes 1 ms, at most 64 KiB
_QUANTA = 3.0  # 4.2.3.2: more in flight than the model says, for what is sent and acknowledged at once
_CONSERVING, _TIMED_OUT, _REPAIRING = 1, 2, 3  # flow.repairing


@kernel
def start(net, i, f, t):
    """Nothing is known: STARTUP, with the initial window sent at once."""
    f.base_delay = FOREVER
    f.min_rtt_at = t
    f.bandwidth = 0.0
    f.full_bandwidth = 0.0
    f.full_rounds = 0
    f.full = 0
    f.rounds = 0
    f.round_end = f.nxt
    f.repairing = 0
    f.lossy = 0
    f.restarted = 0
    for j in range(_FILTER_ROUNDS):
        net.recent[i, j] = 0.0
    f.mode = STARTUP
    f.pacing = _HIGH_GAIN * f.cwnd / _FIRST_RTT


@kernel
def sample(net, i, f, t, acked):
    """An ACK: the model, the mode, and then the rate and the window."""
    new_round = _round_over(net, i, f)
    _measure_bandwidth(net, i, f)
    if f.bundled > 0:
        _measure_aggregation(f, t, acked, new_round)
    _cycle(f, t, acked)
    if new_round:
        _look_for_plateau(f)
    _drain(net, f, t)
    expired = measure_rtt(f, t)
    _probe_rtt(net, f, t, expired, new_round)
    _set_pacing(f)
    _set_window(f, acked)
    f.lossy = 0
    f.restarted = 0


@kernel
def grow(net, i, f, t, acked):
    """All is done in `sample`."""


@kernel
def reduce(net, i, f, t):
    """A loss: a round of packet conservation, unless one is on."""
    f.lossy = 1
    flight = _in_flight(f) + f.train
    if f.repairing == 0:
        _save_window(f)
        f.repairing = _CONSERVING
        f.repair_end = f.nxt
        f.cwnd = flight
    elif f.repairing == _CONSERVING:
        f.cwnd = max(f.cwnd - f.train, flight)
    return f.ssthresh


@kernel
def timeout(net, i, f, t):
    """The timer fired: the window, which the sender sets to 1, is to be restored."""
    f.lossy = 1
    _save_window(f)
    f.repairing = _TIMED_OUT
    return f.ssthresh


@kernel
def restart(net, i, f, t):
    """The sender goes on after a silence of the application with nothing in flight: at the bandwidth, not above it."""
    f.restarted = 1
    if f.mode == PROBE_BW:
        f.pacing = f.bandwidth


# The model.


@kernel
def _newest(f):
    """Highest segment known to have arrived."""
    return max(f.una - 1, f.top)


@kernel
def _round_over(net, i, f):
    """True if a round ended with this ACK; the next one then begins, and the filter forgets the oldest."""
    if _newest(f) < f.round_end:
        return False
    f.round_end = f.nxt
    f.rounds += 1
    net.recent[i, f.rounds % _FILTER_ROUNDS] = 0.0
    return True


@kernel
def _measure_bandwidth(net, i, f):
    """Enter the delivery rate; one that the application limited counts only if it is higher."""
    if f.sample_rate > 0.0 and (f.sample_rate >= f.bandwidth or f.sample_limited == 0):
        j = f.rounds % _FILTER_ROUNDS
        net.recent[i, j] = max(net.recent[i, j], f.sample_rate)
    f.bandwidth = 0.0
    for j in range(_FILTER_ROUNDS):
        f.bandwidth = max(f.bandwidth, net.recent[i, j])


@kernel
def _measure_aggregation(f, t, acked, new_round):
    """Enter what ACKs that come together say beyond the bandwidth; silence follows (bbr_update_ack_aggregation)."""
    if new_round:
        f.extra_rounds += 1
        if f.extra_rounds >= _EXTRA_ROUNDS:
            f.extra_rounds = 0
            f.extra_before = f.extra
            f.extra = 0.0
    if f.epoch_acked <= f.bandwidth * (t - f.epoch_at):
        f.epoch_acked = 0.0
        f.epoch_at = t
    f.epoch_acked += acked
    f.extra = max(f.extra, min(f.epoch_acked - f.bandwidth * (t - f.epoch_at), f.cwnd))


@kernel
def measure_rtt(f, t):
    """Enter the round trip; True if the least one was too old."""
    if f.base_delay == FOREVER:
        f.pacing = _HIGH_GAIN * f.initial_window / f.rtt
    expired = t > f.min_rtt_at + _FILTER_TIME
    if f.rtt <= f.base_delay or expired:
        f.base_delay = f.rtt
        f.min_rtt_at = t
    return expired


@kernel
def _in_flight(f):
    """Segments in flight."""
    return float(f.flight * f.train)


@kernel
def _inflight_for(f, gain, more):
    """Segments that `gain` times the path of the model holds, `more`, and some for both ends."""
    if f.base_delay == FOREVER:
        return f.initial_window
    return _budget(f, gain * f.bandwidth * f.base_delay + more)


@kernel
def _budget(f, segments):
    """These and what is sent or acknowledged at once; in Linux even, two more to probe (bbr_quantization_budget)."""
    if f.bundled == 0:
        return segments + _QUANTA * quantum(f)
    even = 2.0 * math.ceil(0.5 * (math.ceil(segments) + _QUANTA * quantum(f)))
    return even + 2.0 if f.mode == PROBE_BW and f.cycle == 0 else even


@kernel
def quantum(f):
    """Segments that are sent at once."""
    rate = f.pacing * f.mss
    if rate < _SLOW:
        quantum = 1.0
    elif rate < _MEDIUM:
        quantum = 2.0
    else:
        quantum = min(rate * _QUANTUM_TIME, _QUANTUM_SIZE) / f.mss
    return max(quantum, float(f.train))


# The modes.


@kernel
def _look_for_plateau(f):
    """At the end of a round: is the path full?"""
    if f.full == 1 or f.sample_limited == 1:
        return
    if f.bandwidth >= _GROWTH * f.full_bandwidth:
        f.full_bandwidth = f.bandwidth
        f.full_rounds = 0
        return
    f.full_rounds += 1
    if f.full_rounds >= _FULL_ROUNDS:
        f.full = 1


@kernel
def _drain(net, f, t):
    """From STARTUP to DRAIN when the path is full, to PROBE_BW when the queue is empty."""
    if f.mode == STARTUP and f.full == 1:
        f.mode = DRAIN
    if f.mode == DRAIN and _in_flight(f) <= _inflight_for(f, 1.0, 0.0):
        _enter_probe_bw(net, f, t)


@kernel
def _enter_probe_bw(net, f, t):
    """Begin with any phase but that of the lower rate, since there is no queue (4.3.4.2)."""
    f.mode = PROBE_BW
    f.cycle = (_PHASES - below(net.rng, _PHASES - 1)) % _PHASES
    f.cycle_at = t


@kernel
def _cycle(f, t, acked):
    """On to the next phase when it is time."""
    if f.mode == PROBE_BW and _phase_over(f, t, _in_flight(f) + acked):
        f.cycle = (f.cycle + 1) % _PHASES
        f.cycle_at = t


@kernel
def _phase_over(f, t, before):
    """Phases last a round trip, but the first fills the path or loses, and the second ends when the queue is empty.

    `before` are the segments that were in flight before this ACK.
    """
    over = t - f.cycle_at > f.base_delay
    if f.cycle == 0:
        return over and (f.lossy == 1 or before >= _inflight_for(f, _UP, 0.0))
    if f.cycle == 1:
        return over or before <= _inflight_for(f, 1.0, 0.0)
    return over


@kernel
def _probe_rtt(net, f, t, expired, new_round):
    """Begin, and go on with, the search for the least round trip."""
    if f.mode != PROBE_RTT and expired and f.restarted == 0:
        _save_window(f)
        f.mode = PROBE_RTT
        f.probe_done = 0.0
    if f.mode != PROBE_RTT:
        return
    f.app_limited = max(int(f.delivered + _in_flight(f)), 1)  # low rates are meant
    if f.probe_done == 0.0:
        if _in_flight(f) <= _min_window(f):
            f.probe_done = t + _PROBE_TIME
            f.probe_round = 0
            f.round_end = f.nxt
        return
    if new_round:
        f.probe_round = 1
    if f.probe_round == 1 and t > f.probe_done:
        f.min_rtt_at = t
        _leave_probe_rtt(net, f, t)


@kernel
def _leave_probe_rtt(net, f, t):
    """Back to where the flow was."""
    f.cwnd = max(f.cwnd, f.prior)
    if f.full == 1:
        _enter_probe_bw(net, f, t)
    else:
        f.mode = STARTUP


# What the sender goes by.


@kernel
def pacing_gain(f):
    """What the bandwidth is multiplied with."""
    if f.mode == STARTUP:
        return _HIGH_GAIN
    if f.mode == DRAIN:
        return 1.0 / _HIGH_GAIN
    if f.mode == PROBE_BW and f.cycle == 0:
        return _UP
    if f.mode == PROBE_BW and f.cycle == 1:
        return _DOWN
    return 1.0


@kernel
def window_gain(f):
    """What the path's content is multiplied with."""
    if f.mode == PROBE_BW:
        return _CRUISE_WINDOW
    return 1.0 if f.mode == PROBE_RTT else _HIGH_GAIN


@kernel
def _set_pacing(f):
    """Before the path was full the rate does not fall."""
    rate = (_MARGIN if f.bundled > 0 else 1.0) * pacing_gain(f) * f.bandwidth
    if rate > 0.0 and (f.full == 1 or rate > f.pacing):
        f.pacing = rate


@kernel
def _min_window(f):
    """Four segments, or a train."""
    return max(_MIN_WINDOW, float(f.train))


@kernel
def _set_window(f, acked):
    """Towards the target by what arrived, down to it at once; then what a loss or PROBE_RTT asks for."""
    if f.repairing == _CONSERVING:
        if max(f.top, f.una) >= f.repair_end:  # one sent since then arrived, or all that were before
            f.repairing = _REPAIRING
        else:
            f.cwnd = max(f.cwnd, _in_flight(f) + acked)
    if f.repairing == _REPAIRING and f.una >= f.repair_end:
        _restore_window(f)
    if f.repairing == _TIMED_OUT and f.phase != LOSS:
        _restore_window(f)
    if f.repairing != _CONSERVING:
        _follow_target(f, acked)
    if f.mode == PROBE_RTT:
        f.cwnd = min(f.cwnd, _min_window(f))
    f.cwnd = max(f.cwnd, f.min_window)


@kernel
def _follow_target(f, acked):
    """The window without any loss; before the path was full it does not fall."""
    more = 0.0
    if f.full == 1 and f.bundled > 0:
        more = min(max(f.extra, f.extra_before), f.bandwidth * _EXTRA_TIME)
    target = _inflight_for(f, window_gain(f), more)
    if f.full == 1:
        f.cwnd = min(f.cwnd + acked, target)
    elif f.cwnd < target or f.delivered < f.initial_window:
        f.cwnd += acked
    f.cwnd = max(f.cwnd, _min_window(f))


@kernel
def _save_window(f):
    """Remember the window before a loss or PROBE_RTT lowers it."""
    if f.repairing == 0 and f.mode != PROBE_RTT:
        f.prior = f.cwnd
    else:
        f.prior = max(f.prior, f.cwnd)


@kernel
def _restore_window(f):
    """The loss is repaired."""
    f.repairing = 0
    f.cwnd = max(f.cwnd, f.prior)
