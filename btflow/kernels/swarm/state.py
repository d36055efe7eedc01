"""The state of one swarm as a struct of arrays, and the words the kernels share.

Two ends make a connection. `h = (peer << slot_bits) + slot` names one *end*: what `peer` knows and does about it. (A
power of two ends a peer, since a division takes longer than what is done with its result.) An end holds both roles: the
uploader's view of sending to the other side (`up_...`) and the downloader's view of fetching from it (`dn_...`).
`s.conn[h]` is the end's record and `s.wire[h]` the transport of what it sends. What every HAVE and every rechoke
touches stands apart in flat arrays, so that it stays in the cache:

    mate[h]    the other side's end of this connection
    told[h]    pieces of ours the other side was told of: the first `told` of our log
    alone[h]   HAVEs under way to the other side that travel on their own
    coming[h]  control messages under way to this end
    tally[h]   what rules other than mainline's count; of size 1 where all clients have mainline's
    dn[h]      WANTING (we said we are interested), SERVED (we are unchoked, as far as we know), LINKED (it is open)
    turns[h]   turns left of the block being sent, the one at conn.up_head; 0 none; conn.full none of it is sent yet
    watched[h] a piece the other side is known to have, `pieces` for none (whose bit in `want` is never set)
    up[h]      UNCHOKED (the choker's decision), TOLD (the other side knows), INTERESTED_IN_US, RINGED (in the limiter's
               ring), BLOCKED (its socket is full), KEPT (scratch of the choker), OPTIMISTIC (its slot is)
    mode[p]    SEEDING, ENDGAME, LEFT (the peer is gone), SUPER (it offers pieces one by one), BUSY (it has asked for a
               block twice)
    has[p]     pieces held, a bit each; want[p] pieces with blocks never requested

Where the peers have access links (`rules.linked`), what an end writes goes into the flows of `kernels/access`: the
kernels here only note in `todo` which connections were begun, closed or written to (see ends.py).

    requests   lists of requests, a row for each end that has any: entries of the blocks asked of it (limiter.entry)
    row_owner  end that has each row of `requests`, or the next free row (ends.py)
    asked      when each request of `requests` was written [s]
    offered    pieces that a super-seed has told each end of, a bit each
    fast[p]    pieces that peer p may ask for while it is choked, in the order in which others allow them
    ranks      scratch of a choker that ranks: the keys of those in scratch[3]
    session[p] what rules other than mainline's know of a peer; of size 1 where all clients have mainline's
    births     by class: the next peer that may replace one that left, and the end of its class
    rtt, loss  of paths between places (peer.place) [s]; each peer is a place of its own if `rules.apart`, else peers
               of one place are alike and one event tells all of them of a piece
"""

from collections import namedtuple

import numpy as np

from btflow.kernels.table import record

FREE, CONNECTING, OPEN = 0, 1, 2  # conn.state
INCOMING, OUTGOING, ACCEPTED = 0, 1, 2  # conn.outgoing
WANTING, SERVED, LINKED = np.uint8(1), np.uint8(2), np.uint8(4)  # bits of dn
UNCHOKED, TOLD, INTERESTED_IN_US = np.uint8(1), np.uint8(2), np.uint8(4)  # bits of up
RINGED, BLOCKED, KEPT = np.uint8(8), np.uint8(16), np.uint8(32)
OPTIMISTIC = np.uint8(64)
SEEDING, ENDGAME, LEFT, SUPER, BUSY = np.uint8(1), np.uint8(2), np.uint8(4), np.uint8(8), np.uint8(16)  # bits of mode
OPENS_TCP, OPENS_UTP = 1, 2  # bits of peer.transports (the others: access/state.py)
UNREQUESTED, MISSING = np.int64(0), np.int64(1)  # last axis of blocks: the sets of a piece's blocks (bits.py)
NIL, SINGLE = np.int64(0), np.int64(1)  # arguments
ANY = np.int32(0)  # generation of an event that belongs to no connection
EVERYWHERE = np.int32(-1)  # place of a HAVE_ALL for all neighbours
FOREVER = 1e18  # [s] "never"

# Message and timer kinds; a message names the *receiving* end, a timer names the peer.
# All whole numbers that kernels pass on are 64 bits wide: a constant or a narrower integer as an argument would make
# Numba compile one more copy of the kernel for it.
PIECE, REQUEST, CANCEL, HAVE, INTERESTED, NOT_INTERESTED, CHOKE, UNCHOKE = (np.int64(kind) for kind in range(8))
HAVE_ALL = np.int64(8)  # the HAVEs of one peer that reach its undelayed neighbours of one place (`generation`) together
SYN, REFUSED, READY, BITFIELD = (np.int64(kind) for kind in range(9, 13))  # connection set-up
FLUSHED = np.int64(13)  # the socket of an end takes data again
START, TRACKER_REPLY, TRACKER_CHECK = (
    np.int64(kind) for kind in range(14, 17)
)  # timers of a peer; limiter and choker have nodes of their own
LEAVE = np.int64(17)  # a seed leaves
OFFER = np.int64(19)  # a HAVE of one piece, from a super-seed
SAMPLE = np.int64(18)  # the uplinks' queues are looked at
HAVE_ONE = np.int64(20)  # as HAVE_ALL, to one neighbour, where each peer is a place of its own
LOOK = np.int64(21)  # flow: a peer with an access link is looked at
ALLOWED_FAST = np.int64(22)  # a choked peer may ask for one more piece of its set (BEP 6)
PULSE = np.int64(23)  # timer of a peer: it looks whether it may ask for more
WRITABLE = np.int64(24)  # the limiter lets the messages of an end go
RESUMED = np.int64(25)  # an upload limit of some connections lets an end go on
EXTENDED = np.int64(26)  # an extended message of so many bytes
RECONNECT = np.int64(27)  # timer of a peer: it tries again to reach peer `arg`, by what `generation` tells
KINDS = np.int64(28)  # their number

# Rules that a client names, in the order of client.RULES: values of fields of its record (swarm/program.py, CLIENT).
BY_LIST, BY_LAST_ROUND, BY_SALTED_RATE = 0, 1, 2  # choker
AT_TICK, AT_ONCE = 0, 1  # free_slots
LIST_HEAD, LONGEST_WAITING, AT_RANDOM = 0, 1, 2  # optimistic
UNREQUESTED_PIECES, MISSING_PIECES = 0, 1  # interest
BY_RATE, SLOW_START, BY_SECONDS = 0, 1, 2  # requests
BEGUN_FIRST, WHOLE_PIECES, FEWEST_LEFT = 0, 1, 2  # picker
NO_ENDGAME, ASK_EVERYWHERE, ASK_WHEN_IDLE, ASK_AND_KEEP = 0, 1, 2, 3  # endgame
IN_TURNS, BY_QUOTA, BY_SHARES = 0, 1, 2  # limiter
MESSAGES, PACKETS = 0, 1  # limit_counts
PREFER_TCP, PEER_PROPORTIONAL = 0, 1  # mixed_mode

# What held an unchoked connection back (conn.cause, columns of share).
BY_LIMITER, BY_WINDOW, BY_LOSS, BY_PIPELINE, IDLE = (np.int64(cause) for cause in range(5))
CAUSES = np.int64(5)  # their number; as conn.cause: choked

CONTROL_BINS = 36  # times up to 1 ms, then half octaves: of control messages since the last send on their connection
GAP_BINS = 128  # send gaps are counted by the number of connections sharing the upload limit
BURST_BINS = 64  # segments are counted by the number of 1380 B writes they carry

PEER = record("""  # three cache lines: the limiter's and the pipeline's, the choker's, and what is seldom touched
    f8 upload_limit  # upload limit [B/s]
    f8 turn  # limiter: time of the next turn [s]
    f8 bytes_up
    i4 n_ring  # limiter ring
    i4 at  # ring position served next
    i4 active  # connections of the ring that have something to send, at the last plan
    i4 planned  # turns until the next block is fully written; -1 none
    i4 klass  # index of its class, for statistics
    i4 top  # slots 0..top-1 may be in use
    i4 n_begun  # pieces started and not complete
    i4 unrequested  # blocks never requested
    i4 n_recent  # ends that brought a block within the snub time
    i4 n_unchoked
    f8 bytes_down
    i8 duplicates cancelled unchokes idle_ends
    i8 slots_seen  # a seed: unchoked peers when its choker's timer runs
    i8 slots_dry  # those of whom no request waits then
    i4 n_order  # length of the choker's list
    i4 head  # where the choker's list starts
    i4 ticks  # choker ticks so far
    i4 opened  # seed: unchokes since the last tick
    i4 upload_slots  # max_uploads
    i4 place  # row of the path matrix
    f8 start  # time the client is started [s]
    f8 done  # time its last piece is verified [s]; < 0 before
    f8 last_announce
    i4 degree  # connections, complete or not
    i4 complete  # complete connections
    i4 n_spare  # learned addresses kept for later
    i4 unit  # bytes that a turn of the limiter may write [B]
    f8 left_at  # time the client left [s]; < 0 before
    u1 registered  # known to the tracker
    u1 ever_incoming
    u1 transports  # which it opens and accepts (kernels/access/state.py)
    u1 unused:5
    f8 bytes_across  # of bytes_up, what has come to the other sides
""")

CONN = record("""
    i4 generation  # counts reuses of the slot, so late messages are recognised
    u1 state
    u1 outgoing  # INCOMING, OUTGOING; ACCEPTED is an incoming one that counts
    u1 cause  # what holds our sending back
    u1 recent  # listed in the peer's recent sources
    # -- uploader's view
    i4 full  # turns the block at `up_head` takes
    i4 up_head  # sequence number of the block being sent
    i4 up_seen  # requests that have arrived
    i4 up_round  # choker tick of the last unchoke
    i4 have_limit  # HAVEs from this one on travel on their own
    i4 out_first  # control messages waiting behind a part-sent block
    i4 out_last
    i4 row  # row of `requests` with those of the other side; -1 while there are none
    f8 cause_since
    i4 offer  # super-seed: the piece last shown
    f8 up_rate  # ends a cache line: the downloader's view has one of its own
    # -- downloader's view
    i4 dn_tail  # requests sent
    i4 dn_base  # requests before this one were dropped by a choke
    i4 dn_next  # requests before this one are answered
    i4 outstanding
    f8 dn_rate dn_since dn_last last_block
    f8 last_send  # when we last wrote the end of a block or a control message
    # -- uploader's view again
    f8 up_since up_last
""")

WIRE = record("""  # the first cache line is all that a control message touches
    f8 last_arrival last_sent
    f8 small_acked  # Nagle: when the last small segment is acknowledged
    f8 rtt loss
    i8 until_loss
    f8 round_at
    i4 quick  # acknowledgements the receiver will not delay
    f8 cwnd
    i4 in_round
    i4 falling  # lost segments the window has not fallen for yet; it falls when `recovered`
    f8 ssthresh
    f8 timeout_at  # the window falls to one segment then
    f8 buffer  # segments the socket takes
    f8 held_from  # segments sent from then on stay in the buffer for a hole before them
    f8 held_until  # ... until it is filled then
    f8 recovered  # segments sent before this belong to a loss already answered
    f8 w_max epoch
    f8 w_start  # window at the start of CUBIC's epoch; with `rules.counts_segments` Reno's line since then
    f8 resume_at  # sending goes on then after a timeout
    i4 intact  # segments of the round before the first lost
    i4 repairing  # segments sent again in this round
    f8 k  # from the epoch's start to its plateau [s]
    f8 log_passed  # logarithm of the chance that a segment is not lost
    # Nagle and delayed ACKs (nagle.py)
    f8 unit  # the limiter's writes [B]
    f8 held  # what is held back [B]
    f8 heard  # the last segment left then
    f8 ack_delay  # how long the receiver's next ACK waits
    f8 ack_due
    f8 longest  # the length of segments that the receiver expects [B]
    f8 shorter  # that of the last one if it was shorter [B]
    i4 prompt  # ACKs that do not wait, counted by segments; `quick` counts them by rounds
    u1 interactive  # the receiver has sent a message of its own since its last ACK
    u1 ends_block  # what is held back is the end of a block
    u1 ack_waits  # the receiver's timer runs, for a segment that left up to `ack_due` before
    u1 small_waits  # that segment is a small one
    f8 before  # flow: when the last of what was written before end.message_at arrives
""")

TALLY = record("""
    # the choker's: of what went to the other side, and came from it
    f8 got  # since the last round [B]
    f8 sent
    f8 sent_since  # since it was unchoked [B]
    f8 unchoked_at  # [s]
    f8 choked_at  # CHOKE was written then [s]
    f8 favoured_at  # its last optimistic slot [s]
    # requests
    f8 rate  # what comes, a mean over five seconds or so [B/s]
    f8 this_second  # what came in the second that is running [B]
    f8 last_second
    i4 second  # number of that second since the client's start
    i4 queue  # requests that are to be outstanding
    f8 asks_since  # requests are outstanding without a break from then on [s]
    f8 heard_at  # the last payload came then [s]
    f8 busy_at  # the other side asked last, or was sent payload, then [s]
    i8 counted  # of the other side's stream
    f8 wait  # the mean time between two blocks that were asked for, or from the request to the first [s]
    f8 off  # its mean deviation [s]
    f8 asked_at  # the last request was written then [s]
    f8 written_at  # the last message leaves then [s]
    f8 exchange_at  # when the other side hears next of our peers [s]; 0 before the first time
    f8 haves_due  # HAVEs wait for a message to go with until then [s]; FOREVER if there are none
    i4 begin  # pieces taken at random are those from this one on
    i4 held_from  # pieces held_from..held_to-1 are for this connection alone
    i4 held_to
    i4 failures  # attempts to connect that failed one after the other
    i4 over_utp  # that the other side takes uTP is known
    i4 answers  # an attempt to connect to whom an attempt to connect to us has failed
    i4 choke_read  # CHOKE has come with what is read: no request goes before that is read, too
    i4 allowed  # pieces of our set that we may ask for while choked
    i4 allows  # pieces of its set that the other side may ask us for
    # an upload limit in shares
    f8 block  # what the send buffer has left of a block [B]
    f8 ahead  # the block behind it, if it is there already [B]
    f8 paid  # what may be written [B]
    f8 asks  # request that waits; 0 for none [B]
    f8 given  # what it has got so far [B]
    f8 granted_at  # flow fidelity: it has it then [s]
    f8 mail  # messages that wait [B]
    f8 mail_ahead  # those before the block [B]
    f8 up_rate  # what is written, messages and headers too, a mean over five seconds or so [B/s]
    f8 up_bytes  # what was written of blocks in the second that is running [B]
    f8 up_before  # and in the one before
    f8 up_else  # messages, and headers of packets and ACKs, in the second that is running [B]
    f8 wrote_at  # the last packet was written then [s]
    f8 read_at  # and read then [s]
    i4 up_second  # number of that second since the client's start
    i4 quotas  # handed out since it waits
    i4 most  # requests that may be outstanding
    i4 waits_seen  # how many count in `wait`
    u1 slow  # the queue is growing still
    u1 idle  # there was nothing to ask for
    u1 waits  # for the upload limit of TCP
    u1 snubbed  # nothing came for too long
    u1 reached  # the other side has answered our SYN; where it calls, its SYN over uTP has come
    u1 met  # the other side was noted among our peers
""")

RANK = np.dtype([("rate", "f8"), ("done", "f8"), ("sent", "f8"), ("waits", "f8")])  # keys of a choker that ranks

SESSION = record("""
    f8 choke_due  # when its choker begins a round [s]
    f8 optimistic_due  # when others get the optimistic slots [s]
    f8 round_at  # when its choker last counted anew [s]
    f8 tcp_limit  # upload limit of its TCP connections together [B/s]; 0 for none
    f8 tcp_at  # their next block may be written then [s]
    f8 rate  # what it uploads, a mean over five seconds or so [B/s]
    f8 uploaded  # bytes_up a second ago [B]
    f8 left  # upload limit in shares: what was not given to anybody [B]; below 0 a debt
    f8 quota_at  # the next quota that something waits for [s]; 0 if nothing does
    f8 headers  # of the second that is running, which count at its end [B]
    f8 second  # number of that second since the client's start
    f8 exchange_at  # when it notes next who is new [s]
    i4 met  # peers that were noted
    i4 news  # length of the message that says who is new [B]
    i4 closed  # whether a connection was closed
    i4 opened  # connections opened ahead of their second
    i4 boosts  # that may still be
""")

NODE = record("""
    f8 time
    i8 lap  # which time round the calendar
    i8 serial  # order of posting
    i8 arg
    i4 next prev bucket target generation
    u1 kind spare:8
""")

BUCKET = np.dtype([("first", "i4"), ("last", "i4")])  # of the calendar: its nodes

CLOCK = record("""
    f8 now width
    i8 lap free n_free free_row n_free_rows lane_first lane_last
    f8 lane_delay  # how long what joins the lane takes [s]; < 0 if nothing does
    i8 serial  # events posted so far
    i8 pending unfinished events
""")

Rules = namedtuple(
    "Rules",
    "peers slots slot_bits pieces blocks block_size last_block_size last_piece_blocks "
    "segment_units mss header request_size have_size state_size announce_interval tracker_reply "
    "initial_window rto_min rto_max initial_rto send_buffer dupacks delayed_ack quick_acks push_acks "
    "cubic_c cubic_beta counts_segments nagle idle_reset window_validation "
    "ideal horizon linked split direct super_seeding stay "
    "replace handshake_size bitfield_size apart tallied",
)

Swarm = namedtuple(
    "Swarm",
    "rules client peer conn wire mate told alone coming dn dn_words up turns watched mode n_log has want "
    "have_at have_log have_time blocks copies begun seed_begun random_order order ring recent requests spare "
    "registered node bucket clock rng rtt loss scratch number share gaps control_gaps bursts "
    "todo marked asked offered offers births row_owner tally ranks session fast",
)
