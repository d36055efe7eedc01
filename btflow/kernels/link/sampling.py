"""The time series: windows, payload, delays and queues at regular times."""

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link import queue
from btflow.kernels.link.events import schedule
from btflow.kernels.link.state import DROP_TAIL, FOREVER, PIE

WINDOW, PAYLOAD, SRTT, FLIGHT, IN_ORDER = range(5)  # last axis of flow_series
COLUMNS = 5


@kernel
def source_of(s):
    """The sampler's source: the last."""
    return s.rules.first_queue + s.rules.queues


@kernel
def sample(s, t):
    """Write down one moment, and ask for the next."""
    n = s.clock[0].sample
    for i in range(s.rules.flows):
        f = s.flow[i]
        row = s.flow_series[n, i]
        row[WINDOW] = f.cwnd
        row[PAYLOAD] = f.arrived * f.train * f.mss
        row[SRTT] = f.srtt
        row[FLIGHT] = f.flight * f.train
        row[IN_ORDER] = f.expected * f.train * f.mss
    for k in range(s.rules.queues):
        q = s.queue[k]
        if q.kind == DROP_TAIL or q.kind == PIE:
            queue.advance(s, k, q, t)
        s.queue_series[n, k] = q.packets
        s.queue_delay_series[n, k] = q.bytes / q.rate
    s.clock[0].sample += 1
    following = FOREVER
    if n + 1 < s.queue_series.shape[0]:
        following = (n + 1) * s.rules.sample_every
    schedule(s, source_of(s), following)
