"""The main loop of a link experiment: one source at a time, each handled by the end or hop that owns it.

Within one event the order is: the parcel leaves its pipe; it joins the next queue (which first takes off what has
started service), or its end reads it, changes its own state, and puts what it sends into the first queue or pipe.
"""

from btflow.kernels.compiler.byref import by_ref
from btflow.kernels.compiler.jit import entry, kernel
from btflow.kernels.link import path, pipe, queue, receiver, sampling, sender
from btflow.kernels.link.events import next_time, schedule
from btflow.kernels.link.state import (
    ACK_TIMER,
    ACKS,
    DATA,
    PIPES,
    RTO_TIMER,
    SEND_TIMER,
    SOURCES,
)

DONE, MORE = 0, 1  # why `run` returned


@entry
def run(state, max_events):
    """Handle up to `max_events` events. DONE: the experiment has reached its end."""
    s = by_ref(state)
    c = s.clock[0]
    if c.events == 0:
        begin(s)
    for _ in range(max_events):
        t = next_time(s)
        if t > s.rules.duration:
            for k in range(s.rules.queues):
                queue.close(s, k, s.rules.duration)
            return DONE
        c.now = t
        c.events += 1
        handle(s, s.heap[0].source, t)
    return MORE


@kernel
def begin(s):
    """Every flow is woken at its start; the first sample is at 0."""
    for i in range(s.rules.flows):
        schedule(s, i * SOURCES + SEND_TIMER, s.flow[i].start)
    schedule(s, sampling.source_of(s), 0.0)


@kernel
def handle(s, a, t):
    """Let source `a` act."""
    i = a // SOURCES
    if i >= s.rules.flows:
        k = a - s.rules.first_queue
        if k < s.rules.queues:
            queue.serve(s, k, s.queue[k], t)
        else:
            sampling.sample(s, t)
        return
    what = a - i * SOURCES
    f = s.flow[i]
    if what < ACKS:
        data_arrives(s, i, f, what, t)
    elif what < PIPES:
        ack_passes(s, i, f, what - ACKS, t)
    elif what == RTO_TIMER:
        sender.rto_timer(s, i, f, t)
    elif what == ACK_TIMER:
        receiver.ack_timer(s, i, f, t)
    else:
        sender.send_timer(s, i, f, t)


@kernel
def data_arrives(s, i, f, hop, t):
    """Data at the end of a pipe: the next queue, random loss, or the receiver."""
    parcel = s.parcel[pipe.take(s, i * PIPES + DATA + hop)]
    if path.pass_on(s, f, DATA, hop, t, parcel) and not path.lost(s, f.data_loss):
        receiver.receive(s, i, f, t, parcel.number, parcel.stamp)


@kernel
def ack_passes(s, i, f, hop, t):
    """An ACK at the end of a pipe: the next queue, random loss, or the sender."""
    parcel = s.parcel[pipe.take(s, i * PIPES + ACKS + hop)]
    if path.pass_on(s, f, ACKS, hop, t, parcel) and not path.lost(s, f.ack_loss):
        sender.ack_arrives(s, i, f, t, parcel.number, parcel.stamp, parcel.owd)
