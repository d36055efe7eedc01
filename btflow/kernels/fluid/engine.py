"""The main loop of a link experiment without packets: steps of one length for all flows and queues.

A step: 1. the ACKs for what arrived in the step before move the windows, losses are answered; 2. each flow offers its
window over its round trip; 3. the queues take it, one step for a queue: what leaves the first comes to the second in
the next step; 4. what their buffers do not take is lost; 5. statistics.
"""

from btflow.kernels.byref import by_ref
from btflow.kernels.fluid import flows, hops, watch
from btflow.kernels.jit import entry, kernel

DONE, MORE = 0, 1  # why `run` returned


@entry
def run(state, most):
    """Do up to `most` steps. DONE: the experiment has reached its end."""
    s = by_ref(state)
    time, rules = s.time[0], s.link.rules
    for _ in range(most):
        before = time.steps * time.step
        if before >= rules.duration:
            return DONE
        if time.steps == 0:
            flows.measure(s)
            watch.sample(s)
        t = min(before + time.step, rules.duration)
        time.steps += 1
        s.link.clock[0].now = t
        move(s, t, t - before)
    return MORE


@kernel
def move(s, t, dt):
    """One step that ends at `t`."""
    rules = s.link.rules
    for i in range(rules.flows):
        flows.act(s, i, t, dt)
    hops.route(s)
    for k in range(rules.queues):
        hops.fill(s, k, dt)
    hops.let_through(s, t, dt)
    flows.measure(s)
    for i in range(rules.flows):
        flows.receive(s, i, t, dt)
    watch.note(s, t, dt)
