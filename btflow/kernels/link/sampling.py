"""The time series: windows, payload, delays and queues at regular times."""

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link import queue
from btflow.kernels.link.events import schedule
from btflow.kernels.link.state import DROP_TAIL, FOREVER, PIE

WINDOW, PAYLOAD, SRTT, FLIGHT, IN_ORDER = range(5)  # last axis of flow_series
COLUMNS = 5


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
        row[WINDOW] = f.cwnd
        row[PAYLOAD] = f.arrived * f.train * f.mss
        row[SRTT] = f.srtt
        row[FLIGHT] = f.flight * f.train
        row[IN_ORDER] = f.expected * f.train * f.mss
    for k in range(net.rules.queues):
        q = net.queue[k]
        if q.kind == DROP_TAIL or q.kind == PIE:
            queue.advance(net, k, q, t)
        net.queue_series[n, k] = q.packets
        net.queue_delay_series[n, k] = q.bytes / q.rate
    net.clock[0].sample += 1
    following = FOREVER
    if n + 1 < net.queue_series.shape[0]:
        following = (n + 1) * net.rules.sample_every
    schedule(net, source_of(net), following)
