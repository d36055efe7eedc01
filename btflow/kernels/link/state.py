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

from btflow.kernels.table import record

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

# Their rates (queue.course).
CONSTANT, STEPS, TRACE = (np.int64(k) for k in range(3))

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
FLOW = record("""
    # -- of every parcel and of a segment that comes
    i8 generation  # of the connection; what an older one has under way is thrown away
    i8 data_queue1 ack_queue1 data_pipe2 ack_pipe2
    f8 data_loss  # chance that a segment is lost behind the last queue
    f8 ack_loss
    i8 reverse  # the flow in the other direction, whose ACKs ride on our data; NONE there is none
    i8 law app
    i8 train  # segments that travel as one
    i8 running  # IDLE, CONNECTING, CONNECTED
    i8 ring_at  # its ring in segment, again, log and got begins there
    i8 ring_mask  # its length less one
    i8 ack_queue0 ack_pipe1
    i8 log  # arrivals so far
    i8 expected  # first segment it lacks
    i8 holes  # trains that came beyond it
    i8 unacked  # segments since the last ACK
    i8 unacked_bytes  # STREAM: their payload
    f8 first_stamp  # sending time of the first segment since the last ACK, and of the newest in order
    f8 last_stamp
    f8 last_owd  # one-way delay of the newest
    f8 ack_at  # when the delayed ACK goes; FOREVER none
    i8 quick
    i8 arrived  # trains that came, each once; from the start on
    f8 goodput  # payload that came, each byte once [B]
    i8 in_order  # bytes delivered in order to the other side
    i8 first_message  # messages written and not delivered: nodes of the swarm
    i8 ack_bytes  # STREAM: payload that makes an ACK due [B]; 0: ack_every does
    f8 ack_delay  # longest wait of a delayed ACK [s]
    f8 ack_size  # [B]
    i8 times_newest  # the RTT is that of the newest segment an ACK covers, not of the first (RFC 7323)
    i8 ack_every  # segments per ACK
    i8 last_message
    # -- of an ACK that comes
    i8 seen  # arrivals known from ACKs: position in the receiver's log
    i8 una  # first segment not acknowledged
    i8 nxt  # first segment never sent
    i8 flight  # segments believed to be on the way ("pipe" of RFC 6675)
    i8 waiting_retransmit  # segments found lost, not sent again
    i8 top  # highest segment known to have arrived
    i8 top2  # and those before it, in order
    i8 top3
    i8 top4
    i8 judged  # segments before it have been judged lost or not
    f8 delivered  # segments known to have arrived, in all
    f8 delivered_at first_sent
    f8 sample_rate  # delivery rate of the last ACK [segments/s]; 0 none
    i8 sample_limited  # it was limited by the application
    i8 app_limited  # segments delivered before this one are application-limited
    i8 acks  # ACKs that came
    f8 owd  # last one-way delay, sender to receiver [s]
    f8 stamp  # when the segment left that the last ACK echoes, as far as its one-way delay goes
    i8 acked  # bytes acknowledged in order
    i8 phase
    f8 rtt  # last sample [s]
    f8 srtt  # < 0 before the first sample
    f8 rttvar rto
    f8 min_rtt  # least sample so far
    f8 rto_min  # RTO = max(rto_min, SRTT + max(rto_slack, 4 RTTVAR))
    f8 rto_slack
    i8 smoothed_rtt  # the law sees SRTT, not the last sample
    f8 rtt_sum
    i8 rtt_count
    i8 sack  # 0: without SACK one hole is known at a time
    i8 lost_retransmit  # whether a lost retransmission is found without a timeout
    i8 detection  # DUPACKS, RACK
    i8 tail_probe  # a probe goes when nothing comes back for two round trips
    i8 again_first  # of the trains sent again, in this order: those not known to have arrived
    i8 again_last
    f8 cwnd ssthresh
    i8 limited  # the window was the limit when data was last sent
    i8 validate  # grow only while the window is the limit (RFC 7661, tcp_is_cwnd_limited)
    i8 recalls_use  # `limited` holds for a window of data, and half of it is enough in slow start
    i8 most_out  # segments that were out at most in the window of data
    i8 use_until  # which ends when this segment is acknowledged
    i8 counts_repaired  # the ACK that ends a recovery grows the window by all it acknowledges
    f8 min_window backoff rto_max rto_at
    i8 recover  # the phase ends when this is acknowledged
    # -- of a segment that is sent
    i8 wrote  # bytes the application has written
    i8 cut  # bytes that segments were made of
    f8 mss  # payload of a segment [B]
    i8 nagle  # STREAM: a small segment waits while an earlier one is not acknowledged
    i8 small_end  # end of the last small segment (Nagle)
    f8 weight  # full segments that a train takes of the window: less than one for small messages
    i8 forced  # one segment may go whatever the window
    f8 max_window  # receiver's or sender's buffer [segments]
    f8 pacing  # [segments/s]; 0: sends as ACKs arrive
    f8 pace_at  # earliest time of the next paced segment
    f8 last_sent
    f8 sent  # segments sent
    f8 header  # of each packet, all layers [B]
    i8 data_queue0
    i8 data_pipe1  # the pipes behind these queues
    i8 recovery
    i8 bundled  # segments, at least, that leave as one super-packet (Linux' GSO); 0: each on its own
    # -- of the laws that BitTorrent has used most
    i8 variant  # of the law, see its module
    i8 opening  # LEDBAT, uTP: in slow start
    f8 base_delay  # least delay: base RTT of Vegas and Nice, base one-way delay of LEDBAT and LP
    f8 queueing  # queueing delay the law sees [s]
    f8 target  # queueing delay aimed at [s]
    f8 max_gain  # uTP: growth per round trip [segments]
    f8 gate  # uTP: it grows only if the window was the limit within this time [s]
    f8 maxed_at  # uTP: when the window was last the limit
    i8 slots  # LEDBAT: history slots and samples in use
    f8 slot_at
    i8 samples
    i8 history  # LEDBAT: minutes of base-delay history
    f8 history_step  # [s], a minute
    i8 filter  # LEDBAT: delay samples of which the least counts
    f8 initial_window
    i8 idle_reset  # restart from the initial window after an RTO without sending
    i8 hystart  # leave slow start by HyStart
    f8 epoch
    f8 w_max  # CUBIC
    f8 c  # CUBIC's C [segments/s^3]
    f8 k w_est prior
    f8 count  # segments acknowledged towards the next one
    f8 hs_share  # HyStart's constants: rise of the delay that ends slow start, as a share of the least
    f8 hs_least  # ... and its limits [s]
    f8 hs_most
    f8 hs_train  # length of an ACK train that does, as a share of the least delay
    i8 hs_round_end  # HyStart's state
    f8 hs_start hs_last hs_delay
    i8 hs_samples
    f8 w_start
    f8 beta  # what a loss leaves of the window
    i8 counts_segments  # Reno's growth counts segments, not ACKs
    # -- what else it is (constant)
    i8 halves
    i8 quick_acks  # ACKs not delayed at the start
    f8 rto_initial start stop
    f8 last_payload  # SIZED: of the last segment [B]
    f8 total  # SIZED: segments to send; MESSAGES: segments of a message
    f8 app_rate  # RATE, CBR: segments per second
    f8 on  # ON_OFF: mean length of the periods [s]
    f8 off
    f8 period  # MESSAGES: time between two [s]
    i8 exponential  # ON_OFF: the lengths are exponentially distributed
    i8 told  # in a swarm: the first queue is the host's own, and tells the sender what it refuses
    i8 other  # in a swarm: the flow of the same kind in the other direction
    f8 socket  # STREAM: bytes that the socket takes, unsent or unacknowledged [B] ...
    f8 socket_windows  # ... or so many congestion windows, if that is more
    f8 socket_free  # STREAM: a full socket takes data again when so much of it is free
    f8 data_delay  # propagation, all of it between the first queue (or the sender) and what follows [s]
    f8 ack_delay_path
    i8 delay_steps  # of both, which are the first in `net.course`
    # -- the laws' other constants (which are used is said in the law's module)
    f8 gain
    f8 alpha  # Vegas
    f8 beta_delay gamma
    i8 slow_start  # whether it starts with slow start
    f8 loss_gap  # uTP: least time between two answers to a loss [s]
    f8 decay_idle  # uTP: what a timeout without data in flight leaves of the window
    f8 threshold  # Nice, LP: part of the range of delays above which there is congestion
    f8 clock_difference  # LP: how far the receiver's clock is ahead [s]
    f8 fraction  # Nice: part of a round's segments that must have met it
    # -- the sender, too
    i8 written  # segments the application has written
    i8 repair  # where to look for the first of them
    f8 prr_delivered prr_out prr_flight
    f8 budget_at  # RATE, ON_OFF: since when `written` counts
    f8 on_until
    i8 round_end  # a round trip is over when this is acknowledged (sender.round_over)
    # -- the laws' other state
    f8 highest  # greatest delay seen
    f8 round_min  # least RTT of this round trip
    i8 round_samples  # ... of the round; of all, with uTP of libtorrent
    i8 round_late  # samples above the threshold
    f8 smooth
    f8 until  # time before which the law does not react again
    i8 early  # LP: in the inference phase
    i8 slowing  # LEDBAT++: phase of the slowdown
    f8 slow_at slow_until slow_window
    i8 mode  # BBR
    f8 bandwidth  # [segments/s]
    i8 rounds
    f8 full_bandwidth
    i8 full_rounds full cycle
    f8 cycle_at min_rtt_at probe_done
    i8 probe_round  # PROBE_RTT has lasted a round
    i8 repairing  # 1: first round after a loss, 2: after a timeout
    i8 repair_end  # that round is over when this is acknowledged
    i8 lossy  # a loss was found since the last ACK
    i8 restarted  # the application had been silent
    f8 epoch_acked epoch_at  # segments acknowledged since the last silence of ACKs
    f8 extra extra_before  # most of them beyond the bandwidth, lately
    i8 extra_rounds
    i8 idle  # Vegas: nothing was in flight, the next sample starts anew
    f8 reserve  # LP: greatest delay but one
    f8 backed_off  # LP: time of the last early back-off; uTP of libtorrent: of the last fall of the window
    f8 last_ack  # LEDBAT: time of the last ACK; uTP of libtorrent: of the last packet that came
    # -- uTP of libtorrent
    f8 lost_sent  # when the packet left that is found lost
    f8 back_base  # least one-way delay of what comes back [s]
    f8 packet  # payload of its packets, as large as is known to pass [B]
    f8 ceiling  # more than that does not [B]
    i8 probe  # the segment of which that is to be known next; NONE: none
    f8 short  # what segments on the way lack to full ones,
    f8 came_short  # ... those newly known to have arrived
    f8 lacked  # ... and all that arrived [segments]
    f8 unexpected  # newly known to have arrived, though held lost and not sent again [segments]
    # -- counted from the warm-up on, as goodput, sent and rtt_sum
    f8 resent
    i8 timeouts
    i8 losses  # falls of the window
    f8 finish  # SIZED: time the last segment was delivered; < 0 before
    i8 message  # MESSAGES and CBR: records written
    # -- STREAM: the socket
    i8 socket_unsent  # STREAM: the socket's limits count unsent bytes only
    i8 socket_full  # the socket has refused more
    f8 opened  # when the connection was begun
    i8 tries  # SYNs sent
    # -- RACK and tail loss probes
    f8 rack_sent  # of what is known to have arrived, the segment that left last: when, which, and how long
    i8 rack_number  # before that was known
    f8 rack_rtt
    f8 settle_at  # what may only be late is lost then; FOREVER nothing is
    f8 probe_at  # when the probe goes; FOREVER none will
    i8 probe_end  # `nxt` when the last probe left, until it is answered; NONE there is none
    i8 probed  # what it sent again; NONE something new
    i8 probe_twice  # that has come twice: nothing was lost
    f8 expired_at  # when the timer fired, and what the window and its threshold were before
    f8 before_window before_ssthresh
    # -- counted from the start on, for the time series
    i8 falls  # as losses
    i8 expired  # as timeouts
    i8 dropped  # packets of data that queues dropped
""")

SEGMENT = record("""  # of one train of the window, by number modulo the ring
    i4 bits
    i4 sendings  # how often it left
    f8 sent  # last time it left
    i8 mark  # a retransmission: the highest new segment sent by then
    f8 delivered  # what had been delivered when it left, when that was known, and the sending time of
    f8 delivered_at  # the segment that said so (BBR's rate samples)
    f8 first_sent
    i8 end  # STREAM, and uTP of libtorrent: where the segment ends in the stream of bytes
    i8 bytes  # its payload
""")

PARCEL = record("""  # a train or an ACK in a pipe or a queue
    f8 at  # pipe: time of arrival; queue: time it came
    i8 number  # data: first segment; ACK: position in the receiver's log
    f8 stamp  # data: time it was sent; ACK: the stamp it echoes
    f8 owd  # ACK: one-way delay of the data it echoes
    f8 bytes  # [B], headers included
    i8 packets
    i8 segments  # of a super-packet, which is one packet to a queue
    i8 pipe  # queue: the pipe it goes on into
    i8 next  # the one behind it in its pipe or queue
    i8 owner  # the flow, times 2, and 1 for an ACK
    i8 generation  # of the flow's connection
    i8 ack  # data: the ACK of the reverse flow that rides on it, as `number`, `stamp` and `owd`; NONE none
    f8 ack_stamp ack_owd
    f8 plain  # queue: `bytes` without framing
""")

SERVICE = record("""  # what waits in a first-in first-out queue
    f8 at  # start of its service
    f8 bytes  # [B], framing included
    i8 packets
""")

PIPE = record("""
    i8 first  # parcels under way: the one that arrives next, the last one, and how many
    i8 last count
    i8 room  # most parcels that it takes
    f8 delay
    i8 source  # its number among the sources
    i8 steps  # of the delay, which are the first in `net.course`; 0 it does not change
""")

QUEUE = record("""
    i8 kind
    f8 rate  # [B/s]; of one that changes the first, of a trace the mean
    i8 course  # CONSTANT, STEPS, TRACE: where it is in `net.course`
    i8 course_first course_end
    i8 slot  # TRACE: the next opportunity, and what is left of it [B]
    f8 spare opportunity  # TRACE: bytes that one lets pass
    i8 limit_packets  # waiting, the packet in service not counted
    f8 limit_bytes
    f8 framing  # bytes the link layer adds to each packet
    i8 early  # a packet leaves when its service begins, as with Linux' HTB
    i8 cells  # whether these go in cells of ATM
    f8 free_at  # when the packet in service has left
    i8 packets  # waiting
    f8 bytes
    i8 first  # DROP_TAIL, PIE: ring of service starts
    i8 last offset mask
    i8 head  # CODEL: list of parcels waiting
    i8 tail
    # AQM constants
    f8 target interval
    f8 mtu  # largest packet (or train): a backlog this small is not dropped from; PIE: twice as much [B];
    # in a program 0 for that of its flows
    f8 quantum  # FQ-CoDel, CAKE [B]
    i8 fair_to_hosts  # CAKE: whether the quantum is divided among the flows of a host
    f8 update  # PIE: period of the drop probability [s]
    f8 alpha  # PIE: weights of the delay's distance from the target and of its change [1/s]
    f8 beta
    f8 burst  # PIE: burst allowance [s]
    # AQM state
    f8 first_above drop_next
    i8 drops_since last_count dropping
    f8 drop_chance old_delay burst_left update_at accumulated
    i8 new_first  # FQ-CoDel, CAKE: lists of subqueues
    i8 new_last old_first old_last
    # counted from the warm-up on
    f8 counted_to byte_seconds
    f8 served  # bytes, framing included
    i8 arrivals
    i8 drops  # of these arrivals
    i8 dropped  # all from the start on
""")

SUBQUEUE = record("""  # FQ-CoDel, CAKE: one per pipe that leads into the queue
    i8 head tail
    f8 bytes deficit
    i8 next
    i8 listed  # 0 no list, 1 new, 2 old
    f8 first_above drop_next
    i8 drops_since last_count dropping
    i8 bulk  # CAKE: whether it counts as a bulk flow of its host; number of the subqueue that counts them
    i8 host
    i8 bulk_flows  # of the host that is counted here
    f8 drop_chance  # BLUE's, and when it changed
    f8 blue_at
""")

COURSE = record("""  # of a rate or a round-trip time that changes (course.py)
    f8 at
    f8 value
""")

CLOCK = record("""
    f8 now
    i8 events
    i8 free  # of the nodes `waiting`
    i8 free_parcel  # first place of `parcel` that is free again, and how many were ever used
    i8 used_parcels sample
    i8 scheduled  # sources in the heap
    i8 delivered  # STREAM: flow whose receiver got something in order in this event, NONE none
    i8 acked  # STREAM: flow whose sender got an ACK in this event, NONE none
    i8 cramped  # STREAM: flow whose ring has become too small, NONE none
""")

HEAP = np.dtype([("time", "f8"), ("source", "i8")])  # of the sources that have something to do (events.py)

Rules = namedtuple(
    "Rules", "flows queues sources duration warmup sample_every history_slots filter_slots per_flow skipped first_queue"
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
# queues): the time that waiting packets take [s]; course: steps of the delay, then rates that change.
State = namedtuple(
    "State",
    "rules rng clock flow queue pipe subqueue hand parcel waiting service segment again log got key heap pos history "
    "recent queue_time rtt_bins record_delay flow_series queue_series queue_delay_series course",
)
