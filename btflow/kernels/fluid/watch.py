"""What is counted of a link without packets, and its time series."""

from btflow.kernels.flow.windows import normal
from btflow.kernels.jit import kernel
from btflow.kernels.link.sampler import FLIGHT, IN_ORDER, PAYLOAD, SRTT, WINDOW


@kernel
def note(s, t, dt):
    """Enter the step that ends at `t`."""
    rules = s.link.rules
    if t > rules.warmup:
        for k in range(rules.queues):
            note_queue(s, k, dt)
    clock, most = s.link.clock[0], s.link.queue_series.shape[0]
    while clock.sample < most and clock.sample * rules.sample_every <= t + 1e-9:
        sample(s)


@kernel
def note_queue(s, k, dt):
    """Length, bytes and packets of queue `k`; its length of this moment is drawn from its scatter."""
    hop, q = s.hop[k], s.link.queue[k]
    hop.arrived += hop.packets * dt
    q.arrivals = int(hop.arrived)
    q.byte_seconds += waiting(hop.seen, hop) * q.rate * dt
    q.served += hop.left
    drawn = min(max(hop.queue + hop.spread * normal(s.link.rng), 0.0), hop.room)
    s.link.queue_time[k, min(packets(drawn, hop), s.link.queue_time.shape[1] - 1)] += dt


@kernel
def waiting(queue, hop):
    """Of a queue [s] what waits, without half a packet that is being sent."""
    return max(queue - 0.5 * hop.packet * hop.per_byte, 0.0)


@kernel
def packets(queue, hop):
    """How many packets that is."""
    return int(round(waiting(queue, hop) / (hop.packet * hop.per_byte)))


@kernel
def sample(s):
    """Write down one moment."""
    n = s.link.clock[0].sample
    for i in range(s.link.rules.flows):
        f, lane = s.link.flow[i], s.lane[i]
        row = s.link.flow_series[n, i]
        row[WINDOW] = f.cwnd
        row[PAYLOAD] = row[IN_ORDER] = lane.got * f.mss
        row[SRTT] = f.srtt
        row[FLIGHT] = f.flight
    for k in range(s.link.rules.queues):
        hop = s.hop[k]
        s.link.queue_series[n, k] = packets(hop.seen, hop)
        s.link.queue_delay_series[n, k] = waiting(hop.seen, hop)
    s.link.clock[0].sample += 1
