"""What is measured while a link runs: a time series at regular times and, from the warm-up on, RTT samples by size."""

import math

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link import course, queue, scoreboard, state
from btflow.kernels.link.events import schedule
from btflow.kernels.link.laws import bbr, ledbatpp, utp
from btflow.kernels.link.state import DROP_TAIL, FOREVER, PIE

BINS_PER_OCTAVE = 256  # of the RTT: steps of 0.2 to 0.4 %
LOWEST_EXPONENT = -20  # 2**-20 s, a microsecond
RTT_BINS = 32 * BINS_PER_OCTAVE  # up to 2**12 s


@kernel
def rtt_bin(rtt):
    """Bin of a round-trip time: 256 equal steps to an octave."""
    mantissa, exponent = math.frexp(rtt)
    place = (exponent - LOWEST_EXPONENT) * BINS_PER_OCTAVE + int((mantissa - 0.5) * (2 * BINS_PER_OCTAVE))
    return min(max(place, 0), RTT_BINS - 1)


@kernel
def note_rtt(net, i, f, t):
    """A sample of the round-trip time of flow `i`."""
    if t >= net.rules.warmup and net.rtt_bins.shape[1] == RTT_BINS:
        net.rtt_bins[i, rtt_bin(f.rtt)] += 1
        f.rtt_sum += f.rtt
        f.rtt_count += 1


# last axis of flow_series; THRESHOLD is ssthresh, and of what is counted it is how much since the start
WINDOW, PAYLOAD, SRTT, FLIGHT, IN_ORDER, THRESHOLD, PHASE, FALLS, TIMEOUTS, DROPPED = range(10)
COLUMNS = 10
WAITING, LOST = range(2)  # last axis of queue_series: packets that wait, and that were dropped since the start
QUEUE_COLUMNS = 2

# What a sender is doing (column PHASE).
NO_PHASE, SLOW_START, AVOIDANCE, RECOVERY, TIMEOUT = range(5)


@kernel
def phase(f):
    """What the sender of a flow is doing."""
    if f.law == state.CBR or f.running != state.CONNECTED:
        return NO_PHASE
    if f.phase == state.LOSS:
        return TIMEOUT
    if f.phase == state.RECOVERY:
        return RECOVERY
    return SLOW_START if opens(f) else AVOIDANCE


@kernel
def opens(f):
    """Whether the window is in slow start, or what its law has in place of it."""
    if f.law == state.LEDBAT:
        return f.slow_start > 0 and f.opening == 1
    if f.law == state.UTP:
        return f.variant != utp.FIRST and f.opening == 1
    if f.law == state.LEDBATPP:
        return f.slowing == ledbatpp.OPENING
    if f.law == state.BBR:
        return f.mode == bbr.STARTUP
    return f.cwnd < f.ssthresh


@kernel
def write_flow(row, f):
    """Write down what a flow is doing, and what was counted of it since the start."""
    row[WINDOW] = f.cwnd
    row[SRTT] = f.srtt
    row[THRESHOLD] = f.ssthresh
    row[PHASE] = phase(f)
    row[FALLS] = f.falls
    row[TIMEOUTS] = f.expired
    row[DROPPED] = f.dropped


@kernel
def source_of(net):
    """The sampler's source: the last."""
    return net.rules.first_queue + net.rules.queues


@kernel
def sample(net, t):
    """Write down one moment, and ask for the next."""
    n = net.clock[0].sample
    for i in range(net.rules.flows):
        f = net.flow[i]
        row = net.flow_series[n, i]
        write_flow(row, f)
        row[PAYLOAD] = (f.arrived * f.train - f.lacked) * f.mss
        row[FLIGHT] = f.flight * f.train
        row[IN_ORDER] = f.in_order if scoreboard.counts_bytes(f) else f.expected * f.train * f.mss
    for k in range(net.rules.queues):
        q = net.queue[k]
        if q.kind == DROP_TAIL or q.kind == PIE:
            queue.advance(net, k, q, t)
        net.queue_series[n, k, WAITING] = q.packets
        net.queue_series[n, k, LOST] = q.dropped
        net.queue_delay_series[n, k] = q.bytes / q.rate if q.course == state.CONSTANT else course.delay(net, q, t)
    net.clock[0].sample += 1
    following = FOREVER
    if n + 1 < net.queue_series.shape[0]:
        following = (n + 1) * net.rules.sample_every
    schedule(net, source_of(net), following)
