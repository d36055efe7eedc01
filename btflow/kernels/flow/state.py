"""The state of one swarm at flow fidelity.

`h = (peer << slot_bits) + slot` names an *end* of a connection as in `swarm/state.py`; `s.end[h]` is what its peer
knows of the other side as a source. A peer serves few neighbours at once: `u = peer * lanes + i` names one of its
*lanes*, the unchoked connections and those whose last block is being finished after a choke. What is asked on lane `u`
lies in `s.run[u, :]`, a row for each piece and refill, in the order in which it is sent.

    finish[u]  work at which the block of lane u is written; FOREVER while none is being sent
    ready[u]   time at which the lane's next block may begin, or news of its downloader arrives [s]; FOREVER for never
    want[p]    pieces that p needs: with unrequested blocks, in endgame with missing ones
    has[p]     pieces of p that its neighbours are told of
    shown[p]   those whose neighbours' interest p has been told of: a round trip later
    begun[p]   pieces that are being fetched: 1 << part_bits records for each, its *parts* of 64 blocks;
               the bits of peer.taken say which pieces are in use. `entry` is the number of a part
    row[p]     which of these pieces a begun piece is; its first part is row << part_bits
    open[p]    begun pieces that have blocks which were never requested
    seeded[p]  pieces that were begun on a seed
    listed[h]  how often the choker had run (peer.rechokes) when end `h` got into its list

What a super-seed shows differs by connection: row peers + h of `has` and `shown` is that of its end `h`
(interest.row_of).

    heard[h]   pieces that the other side of end `h` of a super-seed has reported
    latest[h]  the piece that end `h` of a super-seed showed last
    offers     how often each piece was shown, by any super-seed

What rules other than mainline's take is of size 1 where all clients have mainline's (`rules.tallied`):

    lacks[p]   pieces in which p is interested: those that it lacks, or, in clients that say so, `want` (the same array
               where all do)
    tally[h]   as at full fidelity, and session[p], fast[p], ranks
    up[h]      UNCHOKED, OPTIMISTIC, KEPT of the other side; LOOKS_AGAIN: we asked it for nothing, and will try again;
               WATCHED: we asked it for something, and will see whether it comes

    neighbours how many a peer has at most
    fast_lanes how many lanes of a peer may serve allowed-fast sets
    alike      1 if all blocks of the file have the same size
    delay      how long a block takes to arrive, and how long its socket is full [s], by class, active lanes, place in a
               stream, and whether another block follows; empty if not all paths are alike (transport.py)
    drawn      writes that leave together in them; 0 for those that are not there
    repeats    1 for the classes of peers that use them

*Work* of a peer is the payload and headers each of its active lanes has been given since the start [B]: with n active
lanes it grows by upload_limit / n a second (processor sharing; the limiter's turns of 1380 B are a round robin).
"""

from collections import namedtuple

import numpy as np

from btflow.kernels.table import record

FREE_LANE, SERVING, CLOSING, FAST = 0, 1, 2, 3  # lane.state; FAST: the other side is choked and asks for its set
LEAVES, GONE = 1, 2  # lane.leaving: news of it is on its way, is here
MOST_BEGUN = 64  # pieces that a peer fetches at once: the bits of `taken`
BUSY = 2  # peer.endgame: it has asked for a block twice
LOOKS_AGAIN, WATCHED = np.uint8(8), np.uint8(16)  # bits of up
NO_LANE = np.uint8(255)  # so a peer has 255 lanes at most
UNUSED = np.int16(-1)  # end.sample: nothing was sent yet

PEER = record("""  # cache line 1: uploading
    f8 upload_limit  # upload limit [B/s]
    f8 per_byte  # what a byte takes at that rate [s/B]
    f8 now  # until when its uploads are known [s]
    f8 work
    f8 known_at  # its next piece is told to its neighbours then [s]
    f8 shown_at  # the interest in its next piece is back then [s]
    i4 top  # lanes 0..top-1 may be in use
    i4 active  # lanes that are sending
    f8 due_at  # the choker is to run then [s]
    # cache line 2: downloading
    u8 taken  # pieces of `begun` in use
    f8 last_have
    i4 unrequested  # blocks never requested
    i4 n_log  # pieces it has verified, whether told or not
    i4 n_known n_shown n_recent
    i4 n_served  # lanes of others that serve it
    i4 endgame unit
    i4 turns  # of a whole block
    i4 n_order
    i4 head  # where the choker's list starts
    f8 rtt  # mean round-trip time to the others [s]
    # cache line 3
    f8 free_at  # the limiter's debt is worked off then [s]
    i4 reach  # the first so many of the choker's list are unchoked, interested or not
    i4 ticks opened upload_slots
    f8 step  # time between two looks at it [s]
    f8 tick_at visit_at
    f8 next_at  # nothing happens in its uploads before [s]
    f8 bytes_up bytes_down
    i4 klass
    i4 ending  # its lane whose block is written next, if known
    # the rest
    i8 duplicates cancelled unchokes idle_ends
    f8 start done left_at last_announce
    i4 degree complete n_spare
    i4 end_top  # ends 0..end_top-1 may be in use
    i4 place
    i4 rechokes  # of a leecher
    u1 registered ever_incoming
    u1 present  # started and not left
    u1 shows  # it is a super-seed
    u1 transports  # that it opens and accepts, as bits
""")

END = record("""
    f8 rate  # what comes from the other side, as the client measures it [B/s]
    f8 since last last_block
    f8 free  # the socket of what is sent takes data again then [s]
    i4 generation mate
    u1 state outgoing recent
    u1 lane  # on which we serve the other side; NO_LANE
    i2 at  # where it stands in `order`
    i2 sample  # the block of the streams of `delay` that is next
    f8 message_at  # the last message on it that was ahead of our uploads was written then [s]
""")

LANE = record("""
    i4 h  # our end
    i4 g  # the downloader's end
    i4 runs
    i4 outstanding  # blocks asked for and not arrived, as the downloader counts them
    i4 unchoked_at  # tick of the choker
    i4 units  # turns that the block being sent takes
    u1 state
    u1 leaving  # the downloader has lost interest: news of it arrives at `ready`
    u1 kept  # scratch of the choker
    u1 use  # how often it was taken, modulo 256
    u1 awaited  # blocks under way to who is in endgame: the last rows of its requests
    u1 spare:3
    f8 began  # work at which the block has its first turn
    f8 since  # when it joined the others [s]
    f8 behind  # when the messages arrive that wait for it to be written [s]; 0 if there are none
    f8 rest
""")

RUN = record("""
    u8 blocks  # of one part of a piece, asked for together, sent in rising order
    f8 at  # when the first of them may begin [s]
    f8 later  # when the others may
    i4 entry  # of `begun`
    i4 behind  # with which block of the lane the other way they come; `later` is when they were written
    u8 cancelled  # those of them that are no longer wanted,
    f8 cancel_at  # and are not sent if their turn comes after this [s]
""")

BEGUN = record("""
    u8 unrequested missing
    i4 piece spare
    f8 last  # when the last block so far arrives [s]
""")

LINK = record("""  # of a peer with an access link
    f8 per_byte  # what a byte takes on the uplink [s/B], 0 for no limit
    f8 per_byte_down
    f8 delay  # propagation, one way, half of what lies between two links included [s]
    f8 framing  # bytes that the link layer adds to each packet
    f8 queue  # of the uplink, the mean before it is cut off [s]
    f8 seen  # what a packet waits there in the mean [s]
    f8 inflow  # what uplinks send to it, headers included [B/s]
    f8 acks  # what ACKs for its downloads take [B/s]
    # cache line 2
    f8 down_queue
    f8 spread  # standard deviation of the queue [s]
    f8 full  # chance that its buffer is full
    f8 empty  # chance that it is empty
    f8 room  # its buffer [s]
    f8 control  # bytes of messages since the last look
    f8 at  # until when it is known [s]
    f8 look_at  # when it is looked at next [s]; FOREVER for not before something happens
    i8 capped  # the upload limit is below what the windows would send
    # cache line 3
    f8 room_bytes  # buffer of the uplink, in bytes or packets
    f8 room_packets
    f8 down_room  # of the downlink [s]
    f8 drops  # part of a packet that is too much
    f8 down_drops dropped dropped_down
    f8 step  # until the next look at it [s]
    f8 bare  # an ACK [B]
    f8 down_at  # until when the downlink's queue is known [s]
    f8 offered  # what lanes bring to the uplink [B/s]
""")

STALLED = 1e17  # time at which a lane that sends, but brings nothing now, has brought its block [s]

PULL = record("""  # of a lane of a peer with an access link
    f8 rate  # payload that comes [B/s]
    f8 rest  # of the block that is coming, at `at` [B]
    f8 at
    f8 hold  # its first byte comes then [s]
    f8 window  # segments that are on the way
    f8 base  # round trip but for the uplink's queue [s]
    f8 most  # segments a second that a paced flow sends
    f8 bytes  # a segment on the wire [B]
    # cache line 2
    f8 wants  # payload that its window allows [B/s]
    f8 mss
    f8 sent  # payload that leaves the uplink [B/s]
    f8 acks  # what its ACKs take on the receiver's uplink [B/s]
    f8 per_ack  # the same for a byte of payload
    f8 offers  # what comes to the uplink [B/s]
    f8 primed  # the first ACK is back then [s]: before, nothing follows the burst that it began with
    i4 to  # its downloader
    i4 blocks  # that it was asked for
    # cache line 3
    f8 credit  # segments that are not acknowledged yet
    f8 answer  # its sender answers a loss then [s]; FOREVER if there is none
    f8 repaired  # the recovery is over then [s]
    f8 hole  # what comes from then on waits for a lost segment [s]; FOREVER if none is missing
    f8 whole  # until it is there [s]
    f8 silent  # nothing more comes then until the timer fires [s]
    f8 noise  # of the last delay, in standard deviations of the queue
    i4 lost  # segments of the window that were dropped
    i4 timer  # the loss is found by the timer
    f8 hole_before  # the same of the loss before that
    f8 whole_before
    f8 lost_at  # the first loss that is not answered [s],
    f8 latest  # and the last of those on the way
    f8 fires  # its timer fires then [s]
    i8 left  # blocks that are still sent after a choke
    f8 stopped  # when its last block had come [s]
    f8 per_mss  # 1 / mss
    i4 came  # blocks that have come on it
    i4 riders  # 1 if requests may come behind some of them
""")

LINE = record("""  # of an end: its control messages
    f8 leaves  # the small segment that waits leaves then [s]
    f8 acked  # the last small segment is acknowledged then [s]
    f8 arrival  # of the last message [s]
    f8 known  # HAVEs up to then are in `leaves` and `acked` [s]
""")

LINK_WATCH = record("""
    f8 width
    i8 begin free_acks
    f8 queue delay
""")

# What peers with access links have beside. flow: a record of kernels/link/state.py for each end that has sent data;
# history, recent: what its law keeps; template: flows by class and by TCP, UTP or CONTROL; protocol: of each end.
Net = namedtuple(
    "Net",
    "rng flow history recent template protocol link pull line watch queue_packets queue_delay control control_sum "
    "latency latency_sum crossed slots wins",
)

ROUND = np.dtype([("first", "i8"), ("count", "i8")])  # peers that are looked at one after the other, equally often

Flow = namedtuple(
    "Flow",
    "rules client alike neighbours lanes lane_bits runs peer end wire order recent served has shown want open "
    "seeded row lane finish ready run begun copies have_log have_time random_order round queue registered spare "
    "births node bucket clock rng rtt loss scratch number gaps bursts soonest delay drawn repeats heard latest "
    "offers listed net lacks tally session ranks up fast fast_lanes part_bits",
)
