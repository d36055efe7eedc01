"""The main loop of a swarm on access links: client events from the calendar, packets and timers from the heap.

Of two events of one instant the calendar's comes first. After each event what it leaves to do for the flows is done,
in order: connections are closed and opened, messages written.
"""

import numpy as np

from btflow.kernels import calendar
from btflow.kernels.access import connections, sampling, stream, uploads
from btflow.kernels.access.state import SMALLEST_RING, TOP, UTP
from btflow.kernels.compiler.intrinsics import by_ref
from btflow.kernels.compiler.jit import entry, kernel
from btflow.kernels.link import parcels, path, queue, receiver, sender, state
from btflow.kernels.link.events import next_time
from btflow.kernels.link.laws import utp_libtorrent
from btflow.kernels.swarm import choking, ends, engine, limiter_shares, messages
from btflow.kernels.swarm.state import ANY, NIL, PEER_PROPORTIONAL, PULSE, RESUMED, SAMPLE, SYN as HANDSHAKE

CRAMPED = 4  # why `run` returned: the pool of rings is nearly used up


@entry
def run(swarm, max_events):
    """Handle up to `max_events` events; as `kernels.engine.run`. CRAMPED: the pool of rings must grow."""
    x = by_ref(swarm)
    s, net = x.swarm, x.net
    c = s.clock[0]
    if c.events == 0 and c.pending == 0:
        engine.start_all(s)
        calendar.post(s, 0.0, SAMPLE, NIL, NIL, ANY)
    # Each message takes a node: at most a HAVE or a few REQUESTs for every connection in one event, and as much again
    # for each neighbour of a peer that leaves.
    reserve = 4 * s.rules.peers + s.rules.slots * (s.rules.slots + s.requests.shape[1]) + 64
    for _ in range(max_events):
        if c.unfinished == 0:
            return engine.FINISHED
        if c.n_free < reserve:
            return engine.FULL
        if 2 * (x.rings[TOP] + (s.rules.slots << (SMALLEST_RING + 2))) > net.log.size:
            return CRAMPED
        t = next_time(net)
        n = calendar.pop_until(s, t)
        if n == calendar.NONE:
            c.now = t
        if c.now > s.rules.horizon:
            return engine.STUCK
        c.events += 1
        if n == calendar.NONE:
            act(x, net.heap[0].source, t)
            follow_up(x, t)
        else:
            client_event(x, n, c.now)
        do_todo(x, c.now)
    return engine.MORE


@kernel
def client_event(x, n, t):
    """A node of the calendar: a turn of the limiter, a tick of the choker, a sample, or something posted."""
    s = x.swarm
    peers = s.rules.peers
    if n < peers:
        uploads.turn(x, n, t)
    elif n < 2 * peers:
        choking.tick(s, n - peers, t)
    elif s.node[n].kind == SAMPLE:
        calendar.give_node(s, n)
        sampling.sample(x, t)
    elif s.node[n].kind == RESUMED:
        h, generation = np.int64(s.node[n].target), s.node[n].generation
        calendar.give_node(s, n)
        if s.conn[h].generation == generation:
            s.tally[h].waits = 0
            stream.drained(x, h, t)
    else:
        p = np.int64(s.node[n].target)
        if s.node[n].kind == PULSE and ends.client_of(s, p).mixed_mode == PEER_PROPORTIONAL:
            uploads.proportion(x, p)
        engine.take(s, n, t)


@kernel
def act(x, a, t):
    """Source `a` of the network: a flow's timer, the end of a pipe, a queue that is served by event."""
    net = x.net
    net.clock[0].delivered = calendar.NONE
    net.clock[0].acked = calendar.NONE
    net.clock[0].cramped = calendar.NONE
    first_pipe = net.rules.flows * state.TIMERS
    if a < first_pipe:
        i = a // state.TIMERS
        flow_timer(x, i, a - i * state.TIMERS + state.RTO_TIMER, t)
    elif a < net.rules.first_queue:
        arrive(x, a - first_pipe, t)
    else:
        k = a - net.rules.first_queue
        queue.serve(net, k, net.queue[k], t)


@kernel
def flow_timer(x, i, what, t):
    """A timer of flow `i`."""
    net = x.net
    if what == state.RTO_TIMER:
        connections.timer(x, i, t)
        net.clock[0].acked = i
    elif what == state.ACK_TIMER:
        receiver.ack_timer(net, i, net.flow[i], t)
    else:
        sender.send_timer(net, i, net.flow[i], t)
        net.clock[0].acked = i


@kernel
def arrive(x, p, t):
    """A parcel has come through pipe `p`: from an uplink into the next downlink, or from there to its peer."""
    net = x.net
    parcel = net.parcel[parcels.take_from_pipe(net, p)]
    i, way = parcel.owner >> 1, (state.ACKS if parcel.owner & 1 else state.DATA)
    f = net.flow[i]
    if p & 1 == 0:
        if p < net.rules.queues:  # the ways past the queues come behind the others
            sampling.note_crossing(x, p >> 1, parcel.owner, parcel.bytes)
        if parcel.generation == f.generation:
            path.pass_on(net, f, way, 1, t, parcel)
    elif parcel.generation == f.generation and not path.lost(net, f.data_loss):
        if way == state.ACKS:
            acknowledged(x, i, parcel.number, parcel.stamp, parcel.owd, t)
        else:
            number, stamp = parcel.number, parcel.stamp
            ack, ack_stamp, ack_owd = parcel.ack, parcel.ack_stamp, parcel.ack_owd
            defers = 1 if number >= 0 and utp_libtorrent.rules(f) else 0
            if defers == 1:
                data(x, i, number, stamp, defers, t)
            if ack != calendar.NONE:
                acknowledged(x, f.reverse, ack, ack_stamp, ack_owd, t)
            if defers == 0:
                data(x, i, number, stamp, defers, t)
            elif f.unacked > 0:
                answer(net, i, f, t)


@kernel
def answer(net, i, f, t):
    """An ACK of flow `i` is due: data that Nagle's rule holds back leaves with it (uTP of libtorrent, send_pkt)."""
    if f.reverse != calendar.NONE and net.flow[f.reverse].running == state.CONNECTED:
        back = net.flow[f.reverse]
        back.small_end = 0
        sender.send(net, np.int64(f.reverse), back, t)
        net.clock[0].acked = f.reverse
    if f.unacked > 0:
        receiver.acknowledge(net, i, f, t)


@kernel
def acknowledged(x, i, number, stamp, owd, t):
    """An ACK comes back to flow `i`, alone or on data."""
    net = x.net
    f = net.flow[i]
    was = f.running
    sender.ack_arrives(net, i, f, t, number, stamp, owd)
    net.clock[0].acked = i
    if was == state.CONNECTING and f.running == state.CONNECTED:
        # the other side has answered the SYN of flow `i`: the handshake follows, if this is what it is for
        s = x.swarm
        h = connections.end_of(s, i)
        if s.rules.tallied == 1:
            s.tally[h].reached = 1
            s.tally[h].over_utp = 1 if x.protocol[h] == UTP else 0
            s.tally[h].heard_at = t  # the handshake has a time of its own
        if i == connections.control_flow(s, h):
            if limiter_shares.by_shares(s, h >> s.rules.slot_bits):
                messages.transmit_paid(s, h, HANDSHAKE, NIL, t)
                return
            stream.write(x, i, HANDSHAKE, NIL, s.rules.handshake_size, t, t)
            stream.push(x, i, t)


@kernel
def data(x, i, number, stamp, defers, t):
    """A segment of flow `i` comes to the other side; who does not take the transport does not answer its SYN.

    uTP of libtorrent `defers` the ACK until what it brought is dealt with: data that may go then take it along
    (utp_stream.cpp, defer_ack).
    """
    s, net = x.swarm, x.net
    if number == state.SYN:
        h = connections.end_of(s, i)
        g = ends.mate(s, h)
        if ends.mate(s, g) != h:  # it has been given up there
            return
        if i < s.rules.peers << s.rules.slot_bits and not connections.accepts(s, g >> s.rules.slot_bits, x.protocol[h]):
            return
        net.flow[connections.control_flow(s, g)].opened = t
        if s.rules.tallied == 1 and x.protocol[h] == UTP:
            s.tally[g].reached = 1
    if defers == 1 and net.flow[i].reverse != calendar.NONE:
        back = np.int64(net.flow[i].reverse)
        if net.flow[back].running == state.CONNECTED:
            sender.heard(net, back, net.flow[back], t)
    receiver.receive(net, i, net.flow[i], t, number, stamp, defers)


@kernel
def follow_up(x, t):
    """What an event of the network means for the clients: messages that came, sockets that take data again."""
    c = x.net.clock[0]
    if c.cramped != calendar.NONE:
        stream.push(x, c.cramped, t)
    acked = c.acked
    if c.delivered != calendar.NONE:
        stream.deliver(x, c.delivered, t)
    if acked != calendar.NONE:
        stream.drained(x, acked, t)


@kernel
def do_todo(x, t):
    """Do for the flows what the event has left to do."""
    s = x.swarm
    i = 1
    while i <= s.todo[0]:
        h, what = s.todo[i] >> 2, s.todo[i] & 3
        if what == ends.OPENED:
            connections.begin(x, h, t)
        elif what == ends.CLOSED:
            connections.end(x, h)
        else:
            s.marked[h] = 0
            stream.flush(x, h, t)
        i += 1
    s.todo[0] = 0
