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
    begun[p]   pieces that are being fetched, with their blocks; the bits of peer.taken say which rows are in use
    row[p]     the row of a begun piece
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
    up[h]      UNCHOKED, OPTIMISTIC, KEPT of the other side; LOOKS_AGAIN: we asked it for nothing, and will try again

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

FREE_LANE, SERVING, CLOSING, FAST = 0, 1, 2, 3  # lane.state; FAST: the other side is choked and asks for its set
LEAVES, GONE = 1, 2  # lane.leaving: news of it is on its way, is here
MOST_BEGUN = 64  # pieces that a peer fetches at once: the bits of `taken`
BUSY = 2  # peer.endgame: it has asked for a block twice
LOOKS_AGAIN = np.uint8(8)  # bit of up
NO_LANE = np.uint8(255)  # so a peer has 255 lanes at most
UNUSED = np.int16(-1)  # end.sample: nothing was sent yet

PEER = np.dtype(
    [  # cache line 1: uploading
        ("upload_limit", "f8"),  # upload limit [B/s]
        ("per_byte", "f8"),  # what a byte takes at that rate [s/B]
        ("now", "f8"),  # until when its uploads are known [s]
        ("work", "f8"),
        ("known_at", "f8"),  # its next piece is told to its neighbours then [s]
        ("shown_at", "f8"),  # the interest in its next piece is back then [s]
        ("top", "i4"),  # lanes 0..top-1 may be in use
        ("active", "i4"),  # lanes that are sending
        ("due_at", "f8"),  # the choker is to run then [s]
        # cache line 2: downloading
        ("taken", "u8"),  # rows of `begun` in use
        ("last_have", "f8"),
        ("unrequested", "i4"),  # blocks never requested
        ("n_log", "i4"),  # pieces it has verified, whether told or not
        ("n_known", "i4"),
        ("n_shown", "i4"),
        ("n_recent", "i4"),
        ("n_served", "i4"),  # lanes of others that serve it
        ("endgame", "i4"),
        ("unit", "i4"),
        ("turns", "i4"),  # of a whole block
        ("n_order", "i4"),
        ("head", "i4"),  # where the choker's list starts
        ("rtt", "f8"),  # mean round-trip time to the others [s]
        # cache line 3
        ("free_at", "f8"),  # the limiter's debt is worked off then [s]
        ("reach", "i4"),  # the first so many of the choker's list are unchoked, interested or not
        ("ticks", "i4"),
        ("opened", "i4"),
        ("upload_slots", "i4"),
        ("step", "f8"),  # time between two looks at it [s]
        ("tick_at", "f8"),
        ("visit_at", "f8"),
        ("next_at", "f8"),  # nothing happens in its uploads before [s]
        ("bytes_up", "f8"),
        ("bytes_down", "f8"),
        ("klass", "i4"),
        ("ending", "i4"),  # its lane whose block is written next, if known
        # the rest
        ("duplicates", "i8"),
        ("cancelled", "i8"),
        ("unchokes", "i8"),
        ("idle_ends", "i8"),
        ("start", "f8"),
        ("done", "f8"),
        ("left_at", "f8"),
        ("last_announce", "f8"),
        ("degree", "i4"),
        ("complete", "i4"),
        ("n_spare", "i4"),
        ("end_top", "i4"),  # ends 0..end_top-1 may be in use
        ("place", "i4"),
        ("rechokes", "i4"),  # of a leecher
        ("registered", "u1"),
        ("ever_incoming", "u1"),
        ("present", "u1"),  # started and not left
        ("shows", "u1"),  # it is a super-seed
        ("transports", "u1"),  # that it opens and accepts, as bits
    ],
    align=True,
)

END = np.dtype(
    [
        ("rate", "f8"),  # what comes from the other side, as the client measures it [B/s]
        ("since", "f8"),
        ("last", "f8"),
        ("last_block", "f8"),
        ("free", "f8"),  # the socket of what is sent takes data again then [s]
        ("generation", "i4"),
        ("mate", "i4"),
        ("state", "u1"),
        ("outgoing", "u1"),
        ("recent", "u1"),
        ("lane", "u1"),  # on which we serve the other side; NO_LANE
        ("at", "i2"),  # where it stands in `order`
        ("sample", "i2"),  # the block of the streams of `delay` that is next
        ("message_at", "f8"),  # the last message on it that was ahead of our uploads was written then [s]
    ],
    align=True,
)

LANE = np.dtype(
    [
        ("h", "i4"),  # our end
        ("g", "i4"),  # the downloader's end
        ("runs", "i4"),
        ("outstanding", "i4"),  # blocks asked for and not arrived, as the downloader counts them
        ("unchoked_at", "i4"),  # tick of the choker
        ("units", "i4"),  # turns that the block being sent takes
        ("state", "u1"),
        ("leaving", "u1"),  # the downloader has lost interest: news of it arrives at `ready`
        ("kept", "u1"),  # scratch of the choker
        ("use", "u1"),  # how often it was taken, modulo 256
        ("awaited", "u1"),  # blocks under way to who is in endgame: the last rows of its requests
        ("spare", "u1", 3),
        ("began", "f8"),  # work at which the block has its first turn
        ("since", "f8"),  # when it joined the others [s]
        ("behind", "f8"),  # when the messages arrive that wait for it to be written [s]; 0 if there are none
        ("rest", "f8"),
    ],
    align=True,
)

RUN = np.dtype(
    [
        ("blocks", "u8"),  # of one piece, asked for together, sent in rising order
        ("at", "f8"),  # when the first of them may begin [s]
        ("later", "f8"),  # when the others may
        ("entry", "i4"),  # of `begun`
        ("behind", "i4"),  # with which block of the lane the other way they come; `later` is when they were written
        ("cancelled", "u8"),  # those of them that are no longer wanted,
        ("cancel_at", "f8"),  # and are not sent if their turn comes after this [s]
    ],
    align=True,
)

BEGUN = np.dtype(
    [
        ("unrequested", "u8"),
        ("missing", "u8"),
        ("piece", "i4"),
        ("spare", "i4"),
        ("last", "f8"),  # when the last block so far arrives [s]
    ],
    align=True,
)

LINK = np.dtype(  # of a peer with an access link
    [
        ("per_byte", "f8"),  # what a byte takes on the uplink [s/B], 0 for no limit
        ("per_byte_down", "f8"),
        ("delay", "f8"),  # propagation, one way, half of what lies between two links included [s]
        ("framing", "f8"),  # bytes that the link layer adds to each packet
        ("queue", "f8"),  # of the uplink, the mean before it is cut off [s]
        ("seen", "f8"),  # what a packet waits there in the mean [s]
        ("inflow", "f8"),  # what uplinks send to it, headers included [B/s]
        ("acks", "f8"),  # what ACKs for its downloads take [B/s]
        # cache line 2
        ("down_queue", "f8"),
        ("spread", "f8"),  # standard deviation of the queue [s]
        ("full", "f8"),  # chance that its buffer is full
        ("empty", "f8"),  # chance that it is empty
        ("room", "f8"),  # its buffer [s]
        ("control", "f8"),  # bytes of messages since the last look
        ("at", "f8"),  # until when it is known [s]
        ("look_at", "f8"),  # when it is looked at next [s]; FOREVER for not before something happens
        ("capped", "i8"),  # the upload limit is below what the windows would send
        # cache line 3
        ("room_bytes", "f8"),  # buffer of the uplink, in bytes or packets
        ("room_packets", "f8"),
        ("down_room", "f8"),  # of the downlink [s]
        ("drops", "f8"),  # part of a packet that is too much
        ("down_drops", "f8"),
        ("dropped", "f8"),
        ("dropped_down", "f8"),
        ("step", "f8"),  # until the next look at it [s]
        ("bare", "f8"),  # an ACK [B]
        ("down_at", "f8"),  # until when the downlink's queue is known [s]
        ("offered", "f8"),  # what lanes bring to the uplink [B/s]
    ],
    align=True,
)

STALLED = 1e17  # time at which a lane that sends, but brings nothing now, has brought its block [s]

PULL = np.dtype(  # of a lane of a peer with an access link
    [
        ("rate", "f8"),  # payload that comes [B/s]
        ("rest", "f8"),  # of the block that is coming, at `at` [B]
        ("at", "f8"),
        ("hold", "f8"),  # its first byte comes then [s]
        ("window", "f8"),  # segments that are on the way
        ("base", "f8"),  # round trip but for the uplink's queue [s]
        ("most", "f8"),  # segments a second that a paced flow sends
        ("bytes", "f8"),  # a segment on the wire [B]
        # cache line 2
        ("wants", "f8"),  # payload that its window allows [B/s]
        ("mss", "f8"),
        ("sent", "f8"),  # payload that leaves the uplink [B/s]
        ("acks", "f8"),  # what its ACKs take on the receiver's uplink [B/s]
        ("per_ack", "f8"),  # the same for a byte of payload
        ("offers", "f8"),  # what comes to the uplink [B/s]
        ("primed", "f8"),  # the first ACK is back then [s]: before, nothing follows the burst that it began with
        ("to", "i4"),  # its downloader
        ("blocks", "i4"),  # that it was asked for
        # cache line 3
        ("credit", "f8"),  # segments that are not acknowledged yet
        ("answer", "f8"),  # its sender answers a loss then [s]; FOREVER if there is none
        ("repaired", "f8"),  # the recovery is over then [s]
        ("hole", "f8"),  # what comes from then on waits for a lost segment [s]; FOREVER if none is missing
        ("whole", "f8"),  # until it is there [s]
        ("silent", "f8"),  # nothing more comes then until the timer fires [s]
        ("noise", "f8"),  # of the last delay, in standard deviations of the queue
        ("lost", "i4"),  # segments of the window that were dropped
        ("timer", "i4"),  # the loss is found by the timer
        ("hole_before", "f8"),  # the same of the loss before that
        ("whole_before", "f8"),
        ("lost_at", "f8"),  # the first loss that is not answered [s],
        ("latest", "f8"),  # and the last of those on the way
        ("fires", "f8"),  # its timer fires then [s]
        ("left", "i8"),  # blocks that are still sent after a choke
        ("stopped", "f8"),  # when its last block had come [s]
        ("per_mss", "f8"),  # 1 / mss
        ("came", "i4"),  # blocks that have come on it
        ("riders", "i4"),  # 1 if requests may come behind some of them
    ],
    align=True,
)

LINE = np.dtype(  # of an end: its control messages
    [
        ("leaves", "f8"),  # the small segment that waits leaves then [s]
        ("acked", "f8"),  # the last small segment is acknowledged then [s]
        ("arrival", "f8"),  # of the last message [s]
        ("known", "f8"),  # HAVEs up to then are in `leaves` and `acked` [s]
    ],
    align=True,
)

LINK_WATCH = np.dtype(
    [("width", "f8"), ("begin", "i8"), ("free_acks", "i8"), ("queue", "f8"), ("delay", "f8")], align=True
)

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
    "offers listed net lacks tally session ranks up fast fast_lanes",
)
