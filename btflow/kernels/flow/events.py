"""What is not part of a peer's uploads waits in the calendar: clients start or leave, the tracker, connections."""

from btflow.kernels import clock
from btflow.kernels.jit import kernel


@kernel
def post(s, time, kind, target, arg, generation):
    """Schedule an event, not before the last one taken."""
    n = clock.take_node(s)
    node = s.node[n]
    node.kind = kind
    node.target = target
    node.arg = arg
    node.generation = generation
    clock.insert(s, n, max(time, s.clock[0].now))
    s.soonest[0] = min(s.soonest[0], node.time)
