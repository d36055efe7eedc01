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

FREE, CONNECTING, OPEN = 0, 1, 2  # conn.state
INCOMING, OUTGOING, ACCEPTED = 0, 1, 2  # conn.outgoing
WANTING, SERVED, LINKED = np.uint8(1), np.uint8(2), np.uint8(4)  # bits of dn
UNCHOKED, TOLD, INTERESTED_IN_US = np.uint8(1), np.uint8(2), np.uint8(4)  # bits of up
RINGED, BLOCKED, KEPT = np.uint8(8), np.uint8(16), np.uint8(32)
OPTIMISTIC = np.uint8(64)
SEEDING, ENDGAME, LEFT, SUPER, BUSY = np.uint8(1), np.uint8(2), np.uint8(4), np.uint8(8), np.uint8(16)  # bits of mode
OPENS_TCP, OPENS_UTP = 1, 2  # bits of peer.transports (the others: access/state.py)
UNREQUESTED, MISSING = 0, 1  # last axis of blocks: masks of one piece's blocks
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
KINDS = np.int64(26)  # their number

# Rules that a client names, in the order of client.RULES: values of fields of its record (swarm/program.py, CLIENT).
BY_LIST, BY_LAST_ROUND, BY_SALTED_RATE = 0, 1, 2  # choker
AT_TICK, AT_ONCE = 0, 1  # free_slots
LIST_HEAD, LONGEST_WAITING, AT_RANDOM = 0, 1, 2  # optimistic
UNREQUESTED_PIECES, MISSING_PIECES = 0, 1  # interest
BY_RATE, SLOW_START, BY_SECONDS = 0, 1, 2  # requests
BEGUN_FIRST, WHOLE_PIECES, FEWEST_LEFT = 0, 1, 2  # picker
NO_ENDGAME, ASK_EVERYWHERE, ASK_WHEN_IDLE = 0, 1, 2  # endgame
IN_TURNS, BY_QUOTA, BY_SHARES = 0, 1, 2  # limiter
MESSAGES, PACKETS = 0, 1  # limit_counts
PREFER_TCP, PEER_PROPORTIONAL = 0, 1  # mixed_mode

# What held an unchoked connection back (conn.cause, columns of share).
BY_LIMITER, BY_WINDOW, BY_LOSS, BY_PIPELINE, IDLE = (np.int64(cause) for cause in range(5))
CAUSES = np.int64(5)  # their number; as conn.cause: choked

CONTROL_BINS = 36  # times up to 1 ms, then half octaves: of control messages since the last send on their connection
GAP_BINS = 128  # send gaps are counted by the number of connections sharing the upload limit
BURST_BINS = 64  # segments are counted by the number of 1380 B writes they carry

PEER = np.dtype(
    [  # three cache lines: the limiter's and the pipeline's, the choker's, and what is seldom touched
        ("upload_limit", "f8"),  # upload limit [B/s]
        ("turn", "f8"),  # limiter: time of the next turn [s]
        ("bytes_up", "f8"),
        ("n_ring", "i4"),  # limiter ring
        ("at", "i4"),  # ring position served next
        ("active", "i4"),  # connections of the ring that have something to send, at the last plan
        ("planned", "i4"),  # turns until the next block is fully written; -1 none
        ("klass", "i4"),  # index of its class, for statistics
        ("top", "i4"),  # slots 0..top-1 may be in use
        ("n_begun", "i4"),  # pieces started and not complete
        ("unrequested", "i4"),  # blocks never requested
        ("n_recent", "i4"),  # ends that brought a block within the snub time
        ("n_unchoked", "i4"),
        ("bytes_down", "f8"),
        ("duplicates", "i8"),
        ("cancelled", "i8"),
        ("unchokes", "i8"),
        ("idle_ends", "i8"),
        ("slots_seen", "i8"),  # a seed: unchoked peers when its choker's timer runs
        ("slots_dry", "i8"),  # those of whom no request waits then
        ("n_order", "i4"),  # length of the choker's list
        ("head", "i4"),  # where the choker's list starts
        ("ticks", "i4"),  # choker ticks so far
        ("opened", "i4"),  # seed: unchokes since the last tick
        ("upload_slots", "i4"),  # max_uploads
        ("place", "i4"),  # row of the path matrix
        ("start", "f8"),  # time the client is started [s]
        ("done", "f8"),  # time its last piece is verified [s]; < 0 before
        ("last_announce", "f8"),
        ("degree", "i4"),  # connections, complete or not
        ("complete", "i4"),  # complete connections
        ("n_spare", "i4"),  # learned addresses kept for later
        ("unit", "i4"),  # bytes that a turn of the limiter may write [B]
        ("left_at", "f8"),  # time the client left [s]; < 0 before
        ("was_seed", "u1"),  # a seed from the start
        ("registered", "u1"),  # known to the tracker
        ("ever_incoming", "u1"),
        ("transports", "u1"),  # which it opens and accepts (kernels/access/state.py)
        ("unused", "u1", 4),
        ("bytes_across", "f8"),  # of bytes_up, what has come to the other sides
    ],
    align=True,
)

CONN = np.dtype(
    [
        ("generation", "i4"),  # counts reuses of the slot, so late messages are recognised
        ("state", "u1"),
        ("outgoing", "u1"),  # INCOMING, OUTGOING; ACCEPTED is an incoming one that counts
        ("cause", "u1"),  # what holds our sending back
        ("recent", "u1"),  # listed in the peer's recent sources
        # -- uploader's view
        ("full", "i4"),  # turns the block at `up_head` takes
        ("up_head", "i4"),  # sequence number of the block being sent
        ("up_seen", "i4"),  # requests that have arrived
        ("up_round", "i4"),  # choker tick of the last unchoke
        ("have_limit", "i4"),  # HAVEs from this one on travel on their own
        ("out_first", "i4"),  # control messages waiting behind a part-sent block
        ("out_last", "i4"),
        ("row", "i4"),  # row of `requests` with those of the other side; -1 while there are none
        ("cause_since", "f8"),
        ("offer", "i4"),  # super-seed: the piece last shown
        ("up_rate", "f8"),  # ends a cache line: the downloader's view has one of its own
        # -- downloader's view
        ("dn_tail", "i4"),  # requests sent
        ("dn_base", "i4"),  # requests before this one were dropped by a choke
        ("dn_next", "i4"),  # requests before this one are answered
        ("outstanding", "i4"),
        ("dn_rate", "f8"),
        ("dn_since", "f8"),
        ("dn_last", "f8"),
        ("last_block", "f8"),
        ("last_send", "f8"),  # when we last wrote the end of a block or a control message
        # -- uploader's view again
        ("up_since", "f8"),
        ("up_last", "f8"),
    ],
    align=True,
)

WIRE = np.dtype(
    [  # the first cache line is all that a control message touches
        ("last_arrival", "f8"),
        ("last_sent", "f8"),
        ("small_acked", "f8"),  # Nagle: when the last small segment is acknowledged
        ("rtt", "f8"),
        ("loss", "f8"),
        ("until_loss", "i8"),
        ("round_at", "f8"),
        ("quick", "i4"),  # acknowledgements the receiver will not delay
        ("cwnd", "f8"),
        ("in_round", "i4"),
        ("falling", "i4"),  # lost segments the window has not fallen for yet; it falls when `recovered`
        ("ssthresh", "f8"),
        ("timeout_at", "f8"),  # the window falls to one segment then
        ("buffer", "f8"),  # segments the socket takes
        ("held_from", "f8"),  # segments sent from then on stay in the buffer for a hole before them
        ("held_until", "f8"),  # ... until it is filled then
        ("recovered", "f8"),  # segments sent before this belong to a loss already answered
        ("w_max", "f8"),
        ("epoch", "f8"),
        ("w_start", "f8"),  # window at the start of CUBIC's epoch
        ("resume_at", "f8"),  # sending goes on then after a timeout
        ("intact", "i4"),  # segments of the round before the first lost
        ("repairing", "i4"),  # segments sent again in this round
        ("k", "f8"),  # from the epoch's start to its plateau [s]
        ("log_passed", "f8"),  # logarithm of the chance that a segment is not lost
        # Nagle and delayed ACKs (nagle.py)
        ("unit", "f8"),  # the limiter's writes [B]
        ("held", "f8"),  # what is held back [B]
        ("heard", "f8"),  # the last segment left then
        ("ack_delay", "f8"),  # how long the receiver's next ACK waits
        ("ack_due", "f8"),
        ("longest", "f8"),  # the length of segments that the receiver expects [B]
        ("shorter", "f8"),  # that of the last one if it was shorter [B]
        ("prompt", "i4"),  # ACKs that do not wait, counted by segments; `quick` counts them by rounds
        ("interactive", "u1"),  # the receiver has sent a message of its own since its last ACK
        ("ends_block", "u1"),  # what is held back is the end of a block
        ("ack_waits", "u1"),  # the receiver's timer runs, for a segment that left up to `ack_due` before
        ("small_waits", "u1"),  # that segment is a small one
        ("before", "f8"),  # flow: when the last of what was written before end.message_at arrives
    ],
    align=True,
)

TALLY = np.dtype(
    [
        # the choker's: of what went to the other side, and came from it
        ("got", "f8"),  # since the last round [B]
        ("sent", "f8"),
        ("sent_since", "f8"),  # since it was unchoked [B]
        ("unchoked_at", "f8"),  # [s]
        ("favoured_at", "f8"),  # its last optimistic slot [s]
        # requests
        ("rate", "f8"),  # what comes, a mean over five seconds or so [B/s]
        ("this_second", "f8"),  # what came in the second that is running [B]
        ("last_second", "f8"),
        ("second", "i4"),  # number of that second since the client's start
        ("queue", "i4"),  # requests that are to be outstanding
        ("asks_since", "f8"),  # requests are outstanding without a break from then on [s]
        ("asked_at", "f8"),  # the last request was written then [s]
        ("written_at", "f8"),  # the last message leaves then [s]
        ("haves_due", "f8"),  # HAVEs wait for a message to go with until then [s]; FOREVER if there are none
        ("held_from", "i4"),  # pieces held_from..held_to-1 are for this connection alone
        ("held_to", "i4"),
        ("allowed", "i4"),  # pieces of our set that we may ask for while choked
        ("allows", "i4"),  # pieces of its set that the other side may ask us for
        # an upload limit in shares
        ("block", "f8"),  # what the send buffer has left of a block [B]
        ("ahead", "f8"),  # the block behind it, if it is there already [B]
        ("paid", "f8"),  # what may be written [B]
        ("asks", "f8"),  # request that waits; 0 for none [B]
        ("given", "f8"),  # what it has got so far [B]
        ("up_rate", "f8"),  # what is written, a mean over five seconds or so [B/s]
        ("up_bytes", "f8"),  # what was written in the second that is running [B]
        ("up_before", "f8"),  # and in the one before
        ("up_second", "i4"),  # number of that second since the client's start
        ("quotas", "i4"),  # handed out since it waits
        ("slow", "u1"),  # the queue is growing still
        ("idle", "u1"),  # there was nothing to ask for
        ("waits", "u1"),  # for the upload limit of TCP
        ("spare", "u1", 5),
    ],
    align=True,
)

RANK = np.dtype([("rate", "f8"), ("done", "f8"), ("sent", "f8"), ("waits", "f8")])  # keys of a choker that ranks

SESSION = np.dtype(
    [
        ("optimistic_due", "f8"),  # when others get the optimistic slots [s]
        ("round_at", "f8"),  # when its choker last counted anew [s]
        ("tcp_limit", "f8"),  # upload limit of its TCP connections together [B/s]; 0 for none
        ("tcp_at", "f8"),  # their next block may be written then [s]
        ("rate", "f8"),  # what it uploads, a mean over five seconds or so [B/s]
        ("uploaded", "f8"),  # bytes_up a second ago [B]
        ("left", "f8"),  # upload limit in shares: what was not given to anybody [B]; below 0 a debt
        ("quota_at", "f8"),  # the next quota that something waits for [s]; 0 if nothing does
    ],
    align=True,
)

NODE = np.dtype(
    [
        ("time", "f8"),
        ("lap", "i8"),  # which time round the calendar
        ("serial", "i8"),  # order of posting
        ("next", "i4"),
        ("prev", "i4"),
        ("bucket", "i4"),
        ("target", "i4"),
        ("arg", "i4"),
        ("generation", "i4"),
        ("kind", "u1"),
        ("spare", "u1", 8),
    ],
    align=True,
)

BUCKET = np.dtype([("first", "i4"), ("last", "i4")])  # of the calendar: its nodes

CLOCK = np.dtype(
    [
        ("now", "f8"),
        ("width", "f8"),
        ("lap", "i8"),
        ("free", "i8"),
        ("n_free", "i8"),
        ("free_row", "i8"),
        ("n_free_rows", "i8"),
        ("lane_first", "i8"),
        ("lane_last", "i8"),
        ("lane_delay", "f8"),  # how long what joins the lane takes [s]; < 0 if nothing does
        ("serial", "i8"),  # events posted so far
        ("pending", "i8"),
        ("unfinished", "i8"),
        ("events", "i8"),
    ],
    align=True,
)

Rules = namedtuple(
    "Rules",
    "peers slots slot_bits pieces blocks block_size last_block_size last_piece_blocks "
    "segment_units mss header request_size have_size state_size announce_interval tracker_reply "
    "initial_window rto_min rto_max initial_rto send_buffer dupacks delayed_ack quick_acks push_acks "
    "cubic_c cubic_beta nagle idle_reset window_validation ideal horizon linked split direct super_seeding stay "
    "replace handshake_size bitfield_size apart tallied",
)

Swarm = namedtuple(
    "Swarm",
    "rules client peer conn wire mate told alone coming dn dn_words up turns watched mode n_log has want "
    "have_at have_log have_time blocks copies begun seed_begun random_order order ring recent requests spare "
    "registered node bucket clock rng rtt loss scratch number share gaps control_gaps bursts "
    "todo marked asked offered offers births row_owner tally ranks session fast",
)
