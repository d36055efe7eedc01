"""The main loop of a link experiment: one source at a time, each handled by the end or hop that owns it.

Within one event the order is: the parcel leaves its pipe; it joins the next queue (which first takes off what has
started service), or its end reads it, changes its own state, and puts what it sends into the first queue or pipe.
"""

from btflow.kernels.compiler.intrinsics import by_ref
from btflow.kernels.compiler.jit import entry, kernel
from btflow.kernels.link import parcels, path, queue, receiver, sampling, sender, state
from btflow.kernels.link.events import next_time, schedule

DONE, MORE = 0, 1  # why `run` returned


@entry
def run(experiment, max_events):
    """Handle up to `max_events` events. DONE: the experiment has reached its end."""
    net = by_ref(experiment)
    c = net.clock[0]
    if c.events == 0:
        begin(net)
    for _ in range(max_events):
        t = next_time(net)
        if t > net.rules.duration:
            for k in range(net.rules.queues):
                queue.close(net, k, net.rules.duration)
            return DONE
        c.now = t
        c.events += 1
        handle(net, net.heap[0].source, t)
    return MORE


@kernel
def begin(net):
    """Every flow is woken at its start; the first sample is at 0."""
    for i in range(net.rules.flows):
        schedule(net, i * state.SOURCES + state.SEND_TIMER, net.flow[i].start)
    schedule(net, sampling.source_of(net), 0.0)


@kernel
def handle(net, a, t):
    """Let source `a` act."""
    i = a // state.SOURCES
    if i >= net.rules.flows:
        k = a - net.rules.first_queue
        if k < net.rules.queues:
            queue.serve(net, k, net.queue[k], t)
        else:
            sampling.sample(net, t)
        return
    what = a - i * state.SOURCES
    f = net.flow[i]
    if what < state.ACKS:
        data_arrives(net, i, f, what, t)
    elif what < state.PIPES:
        ack_passes(net, i, f, what - state.ACKS, t)
    elif what == state.RTO_TIMER:
        sender.rto_timer(net, i, f, t)
    elif what == state.ACK_TIMER:
        receiver.ack_timer(net, i, f, t)
    else:
        sender.send_timer(net, i, f, t)


@kernel
def data_arrives(net, i, f, hop, t):
    """Data at the end of a pipe: the next queue, random loss, or the receiver."""
    parcel = net.parcel[parcels.take_from_pipe(net, i * state.PIPES + state.DATA + hop)]
    if path.pass_on(net, f, state.DATA, hop, t, parcel):
        for more in range(parcel.segments - 1, -1, -1):
            if not path.lost(net, f.data_loss):
                receiver.receive(net, i, f, t, parcel.number + parcel.segments - 1 - more, parcel.stamp, more)


@kernel
def ack_passes(net, i, f, hop, t):
    """An ACK at the end of a pipe: the next queue, random loss, or the sender."""
    parcel = net.parcel[parcels.take_from_pipe(net, i * state.PIPES + state.ACKS + hop)]
    if path.pass_on(net, f, state.ACKS, hop, t, parcel) and not path.lost(net, f.ack_loss):
        sender.ack_arrives(net, i, f, t, parcel.number, parcel.stamp, parcel.owd)
