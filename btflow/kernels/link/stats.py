"""What is counted while the link runs, from the warm-up on: time by queue length, RTT samples by size."""

import math

from btflow.kernels.compiler.jit import kernel

BINS_PER_OCTAVE = 256  # of the RTT: steps of 0.2 to 0.4 %
LOWEST_EXPONENT = -20  # 2**-20 s, a microsecond
RTT_BINS = 32 * BINS_PER_OCTAVE  # up to 2**12 s


@kernel
def note(net, k, q, t):
    """Queue `k` changes at `t`: its length so far has lasted since the last change. Call before every change."""
    since = max(q.counted_to, net.rules.warmup)
    if t > since:
        net.queue_time[k, min(q.packets, net.queue_time.shape[1] - 1)] += t - since
        q.byte_seconds += q.bytes * (t - since)
    q.counted_to = t


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
