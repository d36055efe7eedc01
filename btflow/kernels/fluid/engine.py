"""The main loop of a link experiment without packets: steps of one length for all flows and queues.

A step: 1. the ACKs for what arrived in the step before move the windows, losses are answered; 2. each flow offers its
window over its round trip; 3. the queues take it, one step for a queue: what leaves the first comes to the second in
the next step; 4. what their buffers do not take is lost; 5. statistics.
"""

import math

from btflow.kernels.compiler.intrinsics import by_ref
from btflow.kernels.compiler.jit import entry, kernel
from btflow.kernels.flow.windows import normal
from btflow.kernels.fluid import flows, hops
from btflow.kernels.link import sampling


@kernel
def note(s, t, dt):
    """Enter the step that ends at `t`."""
    rules = s.net.rules
    if s.time[0].counted > 0.0:
        for k in range(rules.queues):
            note_queue(s, k, s.time[0].counted, dt)
    clock, most = s.net.clock[0], s.net.queue_series.shape[0]
    while clock.sample < most and clock.sample * rules.sample_every <= t + 1e-9:
        sample(s)


@kernel
def note_queue(s, k, counted, dt):
    """Length, bytes and packets of queue `k` for the `counted` part of a step; its length is drawn from its scatter."""
    hop, q = s.hop[k], s.net.queue[k]
    hop.arrived += hop.packets * counted
    q.arrivals = int(hop.arrived)
    q.byte_seconds += waiting(hop.seen, hop) * q.rate * counted
    q.served += hop.left * (counted / dt)
    drawn = min(max(hop.queue + hop.spread * normal(s.net.rng), 0.0), hop.room)
    s.net.queue_time[k, min(packets(drawn, hop), s.net.queue_time.shape[1] - 1)] += counted


@kernel
def waiting(queue, hop):
    """Of a queue [s] what waits, without half a packet that is being sent."""
    return max(queue - 0.5 * hop.packet * hop.per_byte, 0.0)


@kernel
def packets(queue, hop):
    """How many packets that is; half a packet more, as in a full buffer, is none."""
    return int(math.ceil(waiting(queue, hop) / (hop.packet * hop.per_byte) - 0.5 - 1e-9))


@kernel
def sample(s):
    """Write down one moment."""
    n = s.net.clock[0].sample
    for i in range(s.net.rules.flows):
        f, lane = s.net.flow[i], s.lane[i]
        row = s.net.flow_series[n, i]
        sampling.write_flow(row, f)
        row[sampling.PAYLOAD] = row[sampling.IN_ORDER] = lane.got * f.mss
        row[sampling.FLIGHT] = f.flight
    for k in range(s.net.rules.queues):
        hop = s.hop[k]
        s.net.queue_series[n, k, sampling.WAITING] = packets(hop.seen, hop)
        s.net.queue_series[n, k, sampling.LOST] = s.net.queue[k].dropped
        s.net.queue_delay_series[n, k] = waiting(hop.seen, hop)
    s.net.clock[0].sample += 1


DONE, MORE = 0, 1  # why `run` returned


@entry
def run(state, most):
    """Do up to `most` steps. DONE: the experiment has reached its end."""
    s = by_ref(state)
    time, rules = s.time[0], s.net.rules
    for _ in range(most):
        before = time.steps * time.step
        if before >= rules.duration:
            return DONE
        if time.steps == 0:
            flows.measure(s)
            sample(s)
        t = min(before + time.step, rules.duration)
        time.steps += 1
        time.counted = max(t - max(before, rules.warmup), 0.0)
        s.net.clock[0].now = t
        move(s, t, t - before)
    return MORE


@kernel
def move(s, t, dt):
    """One step that ends at `t`."""
    rules = s.net.rules
    for i in range(rules.flows):
        flows.act(s, i, t, dt)
    hops.route(s)
    for k in range(rules.queues):
        hops.fill(s, k, dt)
    hops.let_through(s, t, dt)
    flows.measure(s)
    for i in range(rules.flows):
        flows.receive(s, i, t, dt)
    note(s, t, dt)
