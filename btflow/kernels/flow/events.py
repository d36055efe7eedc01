"""What is not part of a peer's uploads waits in the calendar: clients start or leave, the tracker, connections."""

from btflow.kernels import calendar
from btflow.kernels.compiler.jit import kernel


@kernel
def post(s, time, kind, target, arg, generation):
    """Schedule an event, not before the last one taken."""
    n = calendar.take_node(s)
    node = s.node[n]
    node.kind = kind
    node.target = target
    node.arg = arg
    node.generation = generation
    calendar.insert(s, n, max(time, s.clock[0].now))
    s.soonest[0] = min(s.soonest[0], node.time)
