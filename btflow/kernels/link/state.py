"""The state of a link experiment as a struct of arrays.

Data moves in *trains*: `flow.train` segments of one flow that are sent, queued, lost and acknowledged as one. A train
of one segment is the packet itself; longer trains make fast links cheap. Windows, ssthresh and `acked` are in segments;
`una`, `nxt`, `flight` and what else numbers or counts what was sent are in trains. Times are in seconds, sizes in
bytes, rates in bytes per second.

A *pipe* is the way from one hop to the next: a first-in first-out list of trains (or ACKs) under way, each with the
time it arrives. Here every flow has PIPES of them: data from the sender to the first queue (DATA), on to the second and
to the receiver, and ACKs back (ACKS) in the same way. Queues write into pipes, senders and receivers into the first
one. In a swarm whose peers have access links the pipes belong to the peers: what left an uplink is on its way to the
downlinks in one pipe, what left a downlink on its way to the peer in another, and only the timers are a flow's own.

Order within one instant: sources (pipes, timers, queues) are served by time, then by number.
"""

from collections import namedtuple

import numpy as np

FOREVER = 1e18  # [s] "never"
NONE = np.int64(-1)
PAST = np.int64(-2)  # in place of a queue: parcels go past it

# Pipes of a flow: DATA + hop and ACKS + hop; hop 0 leads to the first queue, hop `hops` to the other end.
DATA, ACKS = np.int64(0), np.int64(3)
PIPES = np.int64(6)
# Timers of a flow, sources after its pipes.
RTO_TIMER, ACK_TIMER, SEND_TIMER = np.int64(6), np.int64(7), np.int64(8)
SOURCES = np.int64(9)  # per flow; then one per queue; then the sampler
TIMERS = np.int64(3)  # sources per flow in a swarm; then one per pipe; then one per queue

# Queue disciplines (queue.kind).
DROP_TAIL, CODEL, FQ_CODEL, PIE, CAKE = (np.int64(k) for k in range(5))
BY_EVENT = (CODEL, FQ_CODEL, CAKE)  # those that decide what leaves when the link is free

# Congestion control (flow.law).
NEWRENO, CUBIC, VEGAS, LP, NICE, LEDBAT, UTP, LEDBATPP, BBR, CBR = (np.int64(k) for k in range(10))

# What the application gives the sender (flow.app).
BULK, SIZED, RATE, ON_OFF, MESSAGES = (np.int64(k) for k in range(5))
STREAM = np.int64(5)  # bytes that a BitTorrent client writes; segments are cut when they are sent

# Nagle's rule (flow.nagle): what a small segment waits for.
NO_NAGLE = np.int64(0)
SMALL_DATA = np.int64(1)  # the ACK of the last small one (Minshall; Linux)
ANY_DATA = np.int64(2)  # the ACK of all there is (RFC 9293; ns-2)

# How a fast retransmit repairs (flow.recovery).
CLASSIC = np.int64(0)  # RFC 6675: the window falls at once and the sender waits until the flight fits
PRR = np.int64(1)  # RFC 6937: sends in proportion to what is delivered
TAHOE = np.int64(2)  # no fast recovery: window 1 and slow start after the fast retransmit
PER_LOSS = np.int64(3)  # uTP: the law answers each loss itself, there is no recovery phase
PRR_SAFE = np.int64(4)  # RFC 6937bis: as PRR, but a segment more than is delivered only while nothing new is lost

# How a loss is found (flow.detection).
DUPACKS = np.int64(0)  # three that were sent later have arrived (RFC 6675)
RACK = np.int64(1)  # one that was sent later has arrived, and some time has passed (RFC 8985)

# What a loss leaves a part of, with Reno (flow.halves).
OUTSTANDING = np.int64(0)  # FlightSize: sent and not acknowledged in order (RFC 5681)
WINDOW = np.int64(1)  # cwnd (Linux)
IN_PIPE = np.int64(2)  # sent and not known to have arrived (ns-3's BytesInFlight)

# State of the sender (flow.phase).
OPEN, RECOVERY, LOSS = np.int64(0), np.int64(1), np.int64(2)
REFUSED = np.int64(3)  # the queue of the host took no more: the window falls, but nothing is lost

# Of the connection (flow.running).
IDLE, CONNECTING, CONNECTED = np.int64(0), np.int64(1), np.int64(2)
SYN, SYN_ACK = np.int64(-2), np.int64(-1)  # numbers of the parcels that open it

# Bits of a segment (segment.bits).
SACKED, LOST, RETRANSMITTED = np.int64(1), np.int64(2), np.int64(4)

# In order of use: a swarm has thousands of flows, and what one event reads of one of them shall be in few cache lines.
FLOW = np.dtype(
    [
        # -- of every parcel and of a segment that comes
        ("generation", "i8"),  # of the connection; what an older one has under way is thrown away
        ("data_queue1", "i8"),
        ("ack_queue1", "i8"),
        ("data_pipe2", "i8"),
        ("ack_pipe2", "i8"),
        ("data_loss", "f8"),  # chance that a segment is lost behind the last queue
        ("ack_loss", "f8"),
        ("reverse", "i8"),  # the flow in the other direction, whose ACKs ride on our data; NONE there is none
        ("law", "i8"),
        ("app", "i8"),
        ("train", "i8"),  # segments that travel as one
        ("running", "i8"),  # IDLE, CONNECTING, CONNECTED
        ("ring_at", "i8"),  # its ring in segment, again, log and got begins there
        ("ring_mask", "i8"),  # its length less one
        ("ack_queue0", "i8"),
        ("ack_pipe1", "i8"),
        ("log", "i8"),  # arrivals so far
        ("expected", "i8"),  # first segment it lacks
        ("holes", "i8"),  # trains that came beyond it
        ("unacked", "i8"),  # segments since the last ACK
        ("unacked_bytes", "i8"),  # STREAM: their payload
        ("first_stamp", "f8"),  # sending time of the first segment since the last ACK, and of the newest in order
        ("last_stamp", "f8"),
        ("last_owd", "f8"),  # one-way delay of the newest
        ("ack_at", "f8"),  # when the delayed ACK goes; FOREVER none
        ("quick", "i8"),
        ("arrived", "i8"),  # trains that came, each once; from the start on
        ("goodput", "f8"),  # payload that came, each byte once [B]
        ("in_order", "i8"),  # bytes delivered in order to the other side
        ("first_message", "i8"),  # messages written and not delivered: nodes of the swarm
        ("ack_bytes", "i8"),  # STREAM: payload that makes an ACK due [B]; 0: ack_every does
        ("ack_delay", "f8"),  # longest wait of a delayed ACK [s]
        ("ack_size", "f8"),  # [B]
        ("times_newest", "i8"),  # the RTT is that of the newest segment an ACK covers, not of the first (RFC 7323)
        ("ack_every", "i8"),  # segments per ACK
        ("last_message", "i8"),
        # -- of an ACK that comes
        ("seen", "i8"),  # arrivals known from ACKs: position in the receiver's log
        ("una", "i8"),  # first segment not acknowledged
        ("nxt", "i8"),  # first segment never sent
        ("flight", "i8"),  # segments believed to be on the way ("pipe" of RFC 6675)
        ("waiting_retransmit", "i8"),  # segments found lost, not sent again
        ("top", "i8"),  # highest segment known to have arrived
        ("top2", "i8"),  # and those before it, in order
        ("top3", "i8"),
        ("judged", "i8"),  # segments before it have been judged lost or not
        ("delivered", "f8"),  # segments known to have arrived, in all
        ("delivered_at", "f8"),
        ("first_sent", "f8"),
        ("sample_rate", "f8"),  # delivery rate of the last ACK [segments/s]; 0 none
        ("sample_limited", "i8"),  # it was limited by the application
        ("app_limited", "i8"),  # segments delivered before this one are application-limited
        ("acks", "i8"),  # ACKs that came
        ("owd", "f8"),  # last one-way delay, sender to receiver [s]
        ("stamp", "f8"),  # when the segment left that the last ACK echoes, as far as its one-way delay goes
        ("acked", "i8"),  # bytes acknowledged in order
        ("phase", "i8"),
        ("rtt", "f8"),  # last sample [s]
        ("srtt", "f8"),  # < 0 before the first sample
        ("rttvar", "f8"),
        ("rto", "f8"),
        ("min_rtt", "f8"),  # least sample so far
        ("rto_min", "f8"),  # RTO = max(rto_min, SRTT + max(rto_slack, 4 RTTVAR))
        ("rto_slack", "f8"),
        ("smoothed_rtt", "i8"),  # the law sees SRTT, not the last sample
        ("rtt_sum", "f8"),
        ("rtt_count", "i8"),
        ("sack", "i8"),  # 0: without SACK one hole is known at a time
        ("lost_retransmit", "i8"),  # whether a lost retransmission is found without a timeout
        ("detection", "i8"),  # DUPACKS, RACK
        ("tail_probe", "i8"),  # a probe goes when nothing comes back for two round trips
        ("again_first", "i8"),  # of the trains sent again, in this order: those not known to have arrived
        ("again_last", "i8"),
        ("cwnd", "f8"),
        ("ssthresh", "f8"),
        ("limited", "i8"),  # the window was the limit when data was last sent
        ("validate", "i8"),  # grow only while the window is the limit (RFC 7661, tcp_is_cwnd_limited)
        ("counts_repaired", "i8"),  # the ACK that ends a recovery grows the window by all it acknowledges
        ("min_window", "f8"),
        ("backoff", "f8"),
        ("rto_max", "f8"),
        ("rto_at", "f8"),
        ("recover", "i8"),  # the phase ends when this is acknowledged
        # -- of a segment that is sent
        ("wrote", "i8"),  # bytes the application has written
        ("cut", "i8"),  # bytes that segments were made of
        ("mss", "f8"),  # payload of a segment [B]
        ("nagle", "i8"),  # STREAM: a small segment waits while an earlier one is not acknowledged
        ("small_end", "i8"),  # end of the last small segment (Nagle)
        ("weight", "f8"),  # full segments that a train takes of the window: less than one for small messages
        ("forced", "i8"),  # one segment may go whatever the window
        ("max_window", "f8"),  # receiver's or sender's buffer [segments]
        ("pacing", "f8"),  # [segments/s]; 0: sends as ACKs arrive
        ("pace_at", "f8"),  # earliest time of the next paced segment
        ("last_sent", "f8"),
        ("sent", "f8"),  # segments sent
        ("header", "f8"),  # of each packet, all layers [B]
        ("data_queue0", "i8"),
        ("data_pipe1", "i8"),  # the pipes behind these queues
        ("recovery", "i8"),
        # -- of the laws that BitTorrent has used most
        ("variant", "i8"),  # of the law, see its module
        ("opening", "i8"),  # LEDBAT, uTP: in slow start
        ("base_delay", "f8"),  # least delay: base RTT of Vegas and Nice, base one-way delay of LEDBAT and LP
        ("queueing", "f8"),  # queueing delay the law sees [s]
        ("target", "f8"),  # queueing delay aimed at [s]
        ("max_gain", "f8"),  # uTP: growth per round trip [segments]
        ("gate", "f8"),  # uTP: it grows only if the window was the limit within this time [s]
        ("maxed_at", "f8"),  # uTP: when the window was last the limit
        ("slots", "i8"),  # LEDBAT: history slots and samples in use
        ("slot_at", "f8"),
        ("samples", "i8"),
        ("history", "i8"),  # LEDBAT: minutes of base-delay history
        ("history_step", "f8"),  # [s], a minute
        ("filter", "i8"),  # LEDBAT: delay samples of which the least counts
        ("initial_window", "f8"),
        ("idle_reset", "i8"),  # restart from the initial window after an RTO without sending
        ("hystart", "i8"),  # leave slow start by HyStart
        ("epoch", "f8"),
        ("w_max", "f8"),  # CUBIC
        ("c", "f8"),  # CUBIC's C [segments/s^3]
        ("k", "f8"),
        ("w_est", "f8"),
        ("prior", "f8"),
        ("count", "f8"),  # segments acknowledged towards the next one
        ("hs_share", "f8"),  # HyStart's constants: rise of the delay that ends slow start, as a share of the least
        ("hs_least", "f8"),  # ... and its limits [s]
        ("hs_most", "f8"),
        ("hs_train", "f8"),  # length of an ACK train that does, as a share of the least delay
        ("hs_round_end", "i8"),  # HyStart's state
        ("hs_start", "f8"),
        ("hs_last", "f8"),
        ("hs_delay", "f8"),
        ("hs_samples", "i8"),
        ("w_start", "f8"),
        ("beta", "f8"),  # what a loss leaves of the window
        ("counts_segments", "i8"),  # Reno's growth counts segments, not ACKs
        # -- what else it is (constant)
        ("halves", "i8"),
        ("quick_acks", "i8"),  # ACKs not delayed at the start
        ("rto_initial", "f8"),
        ("start", "f8"),
        ("stop", "f8"),
        ("last_payload", "f8"),  # SIZED: of the last segment [B]
        ("total", "f8"),  # SIZED: segments to send; MESSAGES: segments of a message
        ("app_rate", "f8"),  # RATE, CBR: segments per second
        ("on", "f8"),  # ON_OFF: mean length of the periods [s]
        ("off", "f8"),
        ("period", "f8"),  # MESSAGES: time between two [s]
        ("exponential", "i8"),  # ON_OFF: the lengths are exponentially distributed
        ("told", "i8"),  # in a swarm: the first queue is the host's own, and tells the sender what it refuses
        ("other", "i8"),  # in a swarm: the flow of the same kind in the other direction
        ("socket", "f8"),  # STREAM: bytes that the socket takes, unsent or unacknowledged [B] ...
        ("socket_windows", "f8"),  # ... or so many congestion windows, if that is more
        ("socket_free", "f8"),  # STREAM: a full socket takes data again when so much of it is free
        ("data_delay", "f8"),  # propagation, all of it between the first queue (or the sender) and what follows [s]
        ("ack_delay_path", "f8"),
        # -- the laws' other constants (which are used is said in the law's module)
        ("gain", "f8"),
        ("alpha", "f8"),  # Vegas
        ("beta_delay", "f8"),
        ("gamma", "f8"),
        ("slow_start", "i8"),  # whether it starts with slow start
        ("loss_gap", "f8"),  # uTP: least time between two answers to a loss [s]
        ("decay_idle", "f8"),  # uTP: what a timeout without data in flight leaves of the window
        ("threshold", "f8"),  # Nice, LP: part of the range of delays above which there is congestion
        ("clock_difference", "f8"),  # LP: how far the receiver's clock is ahead [s]
        ("fraction", "f8"),  # Nice: part of a round's segments that must have met it
        # -- the sender, too
        ("written", "i8"),  # segments the application has written
        ("repair", "i8"),  # where to look for the first of them
        ("prr_delivered", "f8"),
        ("prr_out", "f8"),
        ("prr_flight", "f8"),
        ("budget_at", "f8"),  # RATE, ON_OFF: since when `written` counts
        ("on_until", "f8"),
        ("round_end", "i8"),  # a round trip is over when this is acknowledged (sender.round_over)
        # -- the laws' other state
        ("highest", "f8"),  # greatest delay seen
        ("round_min", "f8"),  # least RTT of this round trip
        ("round_samples", "i8"),
        ("round_late", "i8"),  # samples above the threshold
        ("smooth", "f8"),
        ("until", "f8"),  # time before which the law does not react again
        ("early", "i8"),  # LP: in the inference phase
        ("slowing", "i8"),  # LEDBAT++: phase of the slowdown
        ("slow_at", "f8"),
        ("slow_until", "f8"),
        ("slow_window", "f8"),
        ("mode", "i8"),  # BBR
        ("bandwidth", "f8"),  # [segments/s]
        ("rounds", "i8"),
        ("full_bandwidth", "f8"),
        ("full_rounds", "i8"),
        ("full", "i8"),
        ("cycle", "i8"),
        ("cycle_at", "f8"),
        ("min_rtt_at", "f8"),
        ("probe_done", "f8"),
        ("probe_round", "i8"),  # PROBE_RTT has lasted a round
        ("repairing", "i8"),  # 1: first round after a loss, 2: after a timeout
        ("repair_end", "i8"),  # that round is over when this is acknowledged
        ("lossy", "i8"),  # a loss was found since the last ACK
        ("restarted", "i8"),  # the application had been silent
        ("idle", "i8"),  # Vegas: nothing was in flight, the next sample starts anew
        ("reserve", "f8"),  # LP: greatest delay but one
        ("backed_off", "f8"),  # LP: time of the last early back-off
        ("last_ack", "f8"),  # LEDBAT: time of the last ACK
        # -- counted from the warm-up on, as goodput, sent and rtt_sum
        ("resent", "f8"),
        ("timeouts", "i8"),
        ("losses", "i8"),  # falls of the window
        ("finish", "f8"),  # SIZED: time the last segment was delivered; < 0 before
        ("message", "i8"),  # MESSAGES and CBR: records written
        # -- STREAM: the socket
        ("socket_unsent", "i8"),  # STREAM: the socket's limits count unsent bytes only
        ("socket_full", "i8"),  # the socket has refused more
        ("opened", "f8"),  # when the connection was begun
        ("tries", "i8"),  # SYNs sent
        # -- RACK and tail loss probes
        ("rack_sent", "f8"),  # of what is known to have arrived, the segment that left last: when, which, and how long
        ("rack_number", "i8"),  # before that was known
        ("rack_rtt", "f8"),
        ("settle_at", "f8"),  # what may only be late is lost then; FOREVER nothing is
        ("probe_at", "f8"),  # when the probe goes; FOREVER none will
        ("probe_end", "i8"),  # `nxt` when the last probe left, until it is answered; NONE there is none
        ("probed", "i8"),  # what it sent again; NONE something new
        ("probe_twice", "i8"),  # that has come twice: nothing was lost
        # -- counted from the start on, for the time series
        ("falls", "i8"),  # as losses
        ("expired", "i8"),  # as timeouts
        ("dropped", "i8"),  # packets of data that queues dropped
    ],
    align=True,
)

SEGMENT = np.dtype(  # of one train of the window, by number modulo the ring
    [
        ("bits", "i8"),
        ("sent", "f8"),  # last time it left
        ("mark", "i8"),  # a retransmission: the highest new segment sent by then
        ("delivered", "f8"),  # what had been delivered when it left, when that was known, and the sending time of
        ("delivered_at", "f8"),  # the segment that said so (BBR's rate samples)
        ("first_sent", "f8"),
        ("end", "i8"),  # STREAM: where the segment ends in the stream of bytes
        ("bytes", "i8"),  # STREAM: its payload
    ],
    align=True,
)

PARCEL = np.dtype(  # a train or an ACK in a pipe or a queue
    [
        ("at", "f8"),  # pipe: time of arrival; queue: time it came
        ("number", "i8"),  # data: first segment; ACK: position in the receiver's log
        ("stamp", "f8"),  # data: time it was sent; ACK: the stamp it echoes
        ("owd", "f8"),  # ACK: one-way delay of the data it echoes
        ("bytes", "f8"),  # [B], headers included
        ("packets", "i8"),
        ("pipe", "i8"),  # queue: the pipe it goes on into
        ("next", "i8"),  # the one behind it in its pipe or queue
        ("owner", "i8"),  # the flow, times 2, and 1 for an ACK
        ("generation", "i8"),  # of the flow's connection
        ("ack", "i8"),  # data: the ACK of the reverse flow that rides on it, as `number`, `stamp` and `owd`; NONE none
        ("ack_stamp", "f8"),
        ("ack_owd", "f8"),
    ],
    align=True,
)

SERVICE = np.dtype(  # what waits in a first-in first-out queue
    [
        ("at", "f8"),  # start of its service
        ("bytes", "f8"),  # [B], framing included
        ("packets", "i8"),
    ],
    align=True,
)

PIPE = np.dtype(
    [
        ("first", "i8"),  # parcels under way: the one that arrives next, the last one, and how many
        ("last", "i8"),
        ("count", "i8"),
        ("room", "i8"),  # most parcels that it takes
        ("delay", "f8"),
        ("source", "i8"),  # its number among the sources
    ],
    align=True,
)

QUEUE = np.dtype(
    [
        ("kind", "i8"),
        ("rate", "f8"),  # [B/s]
        ("limit_packets", "i8"),  # waiting, the packet in service not counted
        ("limit_bytes", "f8"),
        ("framing", "f8"),  # bytes the link layer adds to each packet
        ("free_at", "f8"),  # when the packet in service has left
        ("packets", "i8"),  # waiting
        ("bytes", "f8"),
        ("first", "i8"),  # DROP_TAIL, PIE: ring of service starts
        ("last", "i8"),
        ("offset", "i8"),
        ("mask", "i8"),
        ("head", "i8"),  # CODEL: list of parcels waiting
        ("tail", "i8"),
        # AQM constants
        ("target", "f8"),
        ("interval", "f8"),
        ("mtu", "f8"),  # largest packet (or train): a backlog this small is not dropped from; PIE: twice as much [B];
        # in a program 0 for that of its flows
        ("quantum", "f8"),  # FQ-CoDel, CAKE [B]
        ("fair_to_hosts", "i8"),  # CAKE: whether the quantum is divided among the flows of a host
        ("update", "f8"),  # PIE: period of the drop probability [s]
        ("alpha", "f8"),  # PIE: weights of the delay's distance from the target and of its change [1/s]
        ("beta", "f8"),
        ("burst", "f8"),  # PIE: burst allowance [s]
        # AQM state
        ("first_above", "f8"),
        ("drop_next", "f8"),
        ("drops_since", "i8"),
        ("last_count", "i8"),
        ("dropping", "i8"),
        ("drop_chance", "f8"),
        ("old_delay", "f8"),
        ("burst_left", "f8"),
        ("update_at", "f8"),
        ("accumulated", "f8"),
        ("new_first", "i8"),  # FQ-CoDel, CAKE: lists of subqueues
        ("new_last", "i8"),
        ("old_first", "i8"),
        ("old_last", "i8"),
        # counted from the warm-up on
        ("counted_to", "f8"),
        ("byte_seconds", "f8"),
        ("served", "f8"),  # bytes, framing included
        ("arrivals", "i8"),
        ("drops", "i8"),  # of these arrivals
        ("dropped", "i8"),  # all from the start on
    ],
    align=True,
)

SUBQUEUE = np.dtype(  # FQ-CoDel, CAKE: one per pipe that leads into the queue
    [
        ("head", "i8"),
        ("tail", "i8"),
        ("bytes", "f8"),
        ("deficit", "f8"),
        ("next", "i8"),
        ("listed", "i8"),  # 0 no list, 1 new, 2 old
        ("first_above", "f8"),
        ("drop_next", "f8"),
        ("drops_since", "i8"),
        ("last_count", "i8"),
        ("dropping", "i8"),
        ("bulk", "i8"),  # CAKE: whether it counts as a bulk flow of its host; number of the subqueue that counts them
        ("host", "i8"),
        ("bulk_flows", "i8"),  # of the host that is counted here
        ("drop_chance", "f8"),  # BLUE's, and when it changed
        ("blue_at", "f8"),
    ],
    align=True,
)

CLOCK = np.dtype(
    [
        ("now", "f8"),
        ("events", "i8"),
        ("free", "i8"),  # of the nodes `waiting`
        ("free_parcel", "i8"),  # first place of `parcel` that is free again, and how many were ever used
        ("used_parcels", "i8"),
        ("sample", "i8"),
        ("scheduled", "i8"),  # sources in the heap
        ("delivered", "i8"),  # STREAM: flow whose receiver got something in order in this event, NONE none
        ("acked", "i8"),  # STREAM: flow whose sender got an ACK in this event, NONE none
        ("cramped", "i8"),  # STREAM: flow whose ring has become too small, NONE none
    ],
    align=True,
)

HEAP = np.dtype([("time", "f8"), ("source", "i8")])  # of the sources that have something to do (events.py)

Rules = namedtuple(
    "Rules",
    "flows queues sources duration warmup sample_every history_slots filter_slots per_flow skipped first_queue",
)
# per_flow, skipped: sources of a flow, and how many of the SOURCES it has not, from the first on; first_queue: source
# of queue 0

# hand: the parcel that is about to be sent; parcel: what is under way in the pipes (parcels.py); waiting: parcels in
# queues served by event (BY_EVENT), a free list from clock.free; service: a ring for each other queue; segment, again,
# log, got: a ring for each flow, with the sender's window, the numbers of the trains sent again, the numbers of the
# trains in the order they came, the train last seen at this place, plus 1; key, heap, pos: sources by time
# (events.py); history (flows, history_slots): LEDBAT's base delays; recent (flows, filter_slots): last delay samples,
# BBR: bandwidths by round; queue_time (queues, bins): seconds with so many packets waiting; rtt_bins (flows, bins);
# record_delay (flows, records): delays of messages and voice packets [s], NaN not delivered; flow_series (samples,
# flows, columns) and queue_series (samples, queues, columns): the sampler's columns; queue_delay_series (samples,
# queues): the time that waiting packets take [s].
State = namedtuple(
    "State",
    "rules rng clock flow queue pipe subqueue hand parcel waiting service segment again log got key heap pos history "
    "recent queue_time rtt_bins record_delay flow_series queue_series queue_delay_series",
)
