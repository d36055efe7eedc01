"""The state of one swarm as a struct of arrays, and the words the kernels share.

Two ends make a connection. `h = peer * slots + slot` names one *end*: what `peer` knows and does about it. An end holds
both roles: the uploader's view of sending to the other side (`up_...`) and the downloader's view of fetching from it
(`dn_...`). Besides the record `conn[h]` there are flat arrays for what every HAVE touches:

    other[h]  the peer on the other side, -1 while the connection is not open
    mate[h]   the other side's end of this connection
    told[h]   pieces of ours the other side was told of: the first `told` of our log
    alone[h]  HAVEs under way to the other side that travel on their own
    dn[h]     WANTING (we said we are interested) and SERVED (we are unchoked)
"""

from collections import namedtuple

import numpy as np

FREE, CONNECTING, OPEN = 0, 1, 2  # conn.state
WANTING, SERVED = 1, 2  # bits of dn
FOREVER = 1e18  # [s] "never"

# Message and timer kinds; a message names the *receiving* end, a timer names the peer.
PIECE, REQUEST, CANCEL, HAVE, INTERESTED, NOT_INTERESTED, CHOKE, UNCHOKE = 0, 1, 2, 3, 4, 5, 6, 7
HAVE_ALL = 8  # the HAVEs of one peer that reach all its undelayed neighbours of one round-trip time together
SYN, REFUSED, READY, BITFIELD = 9, 10, 11, 12  # connection set-up
FLUSHED = 14  # the socket of an end takes data again
START, TRACKER_REPLY, TRACKER_CHECK = 15, 16, 17  # timers of a peer; limiter and choker have nodes of their own

# What held an unchoked connection back (conn.cause, columns of share).
BY_LIMITER, BY_WINDOW, BY_LOSS, BY_PIPELINE, IDLE = 0, 1, 2, 3, 4
CAUSES = 5

GAP_BINS = 128  # send gaps are counted by the number of connections sharing the cap
BURST_BINS = 64  # segments are counted by the number of 1380 B writes they carry

PEER = np.dtype(
    [
        ("cap", "f8"),  # upload limit [B/s]
        ("start", "f8"),  # time the client is started [s]
        ("done", "f8"),  # time its last piece is verified [s]; < 0 before
        ("turn", "f8"),  # limiter: time of the next turn [s]
        ("upload_slots", "i4"),  # max_uploads
        ("klass", "i4"),  # index of its class, for statistics
        ("place", "i4"),  # row of the path matrix
        ("is_seed", "u1"),
        ("was_seed", "u1"),  # a seed from the start
        ("endgame", "u1"),
        ("registered", "u1"),  # known to the tracker
        ("ever_incoming", "u1"),
        ("degree", "i4"),  # connections, complete or not
        ("complete", "i4"),  # complete connections
        ("top", "i4"),  # slots 0..top-1 may be in use
        ("n_order", "i4"),  # length of the choker's list
        ("head", "i4"),  # where the choker's list starts
        ("ticks", "i4"),  # choker ticks so far
        ("opened", "i4"),  # seed: unchokes since the last tick
        ("n_ring", "i4"),  # limiter ring
        ("at", "i4"),  # ring position served next
        ("planned", "i4"),  # turns until the next block is fully written; -1 none
        ("n_recent", "i4"),  # ends that brought a block within the snub time
        ("n_log", "i4"),  # pieces held
        ("n_begun", "i4"),  # pieces started and not complete
        ("unrequested", "i4"),  # blocks never requested
        ("n_spare", "i4"),  # learned addresses kept for later
        ("last_announce", "f8"),
        ("bytes_up", "f8"),
        ("bytes_down", "f8"),
        ("duplicates", "i8"),
        ("cancelled", "i8"),
        ("unchokes", "i8"),
        ("idle_ends", "i8"),
    ],
    align=True,
)

CONN = np.dtype(
    [
        ("state", "u1"),
        ("outgoing", "u1"),  # we opened it
        ("generation", "i4"),  # counts reuses of the slot, so late messages are recognised
        # -- uploader's view
        ("up_choked", "u1"),  # the choker's decision
        ("up_choke_sent", "u1"),  # what the other side was told
        ("up_interested", "u1"),  # the other side said it is interested
        ("in_ring", "u1"),
        ("flushed", "u1"),
        ("mark", "u1"),  # scratch of the choker
        ("cause", "u1"),
        ("up_round", "i4"),  # round of the last unchoke
        ("turns", "i4"),  # turns left of the block at `up_head`; 0 none; `full` none of it is sent yet
        ("full", "i4"),
        ("up_head", "i4"),  # sequence number of the block being sent
        ("up_seen", "i4"),  # requests that have arrived
        ("cause_since", "f8"),
        ("up_rate", "f8"),
        ("up_since", "f8"),
        ("up_last", "f8"),
        ("out_first", "i4"),  # control messages waiting behind a part-sent block
        ("out_last", "i4"),
        ("have_limit", "i4"),  # HAVEs from this one on travel on their own
        # -- downloader's view
        ("recent", "u1"),  # listed in the peer's recent sources
        ("dn_tail", "i4"),  # requests sent
        ("dn_base", "i4"),  # requests before this one were dropped by a choke
        ("dn_next", "i4"),  # requests before this one are answered
        ("outstanding", "i4"),
        ("example", "i4"),  # a piece that made us interested
        ("dn_rate", "f8"),
        ("dn_since", "f8"),
        ("dn_last", "f8"),
        ("last_block", "f8"),
        # -- transport of what we send
        ("rtt", "f8"),
        ("loss", "f8"),
        ("last_arrival", "f8"),
        ("small_acked", "f8"),  # Nagle: when the last small segment is acknowledged
        ("small_held", "u1"),  # Nagle: another one leaves at that time
        ("cwnd", "f8"),
        ("ssthresh", "f8"),
        ("w_max", "f8"),
        ("epoch", "f8"),
        ("round_at", "f8"),
        ("in_round", "i4"),
        ("last_sent", "f8"),
        ("until_loss", "i8"),
    ],
    align=True,
)

NODE = np.dtype(
    [
        ("time", "f8"),
        ("seq", "i8"),
        ("next", "i4"),
        ("prev", "i4"),
        ("bucket", "i4"),
        ("target", "i4"),
        ("arg", "i4"),
        ("generation", "i4"),
        ("kind", "u1"),
    ],
    align=True,
)

CLOCK = np.dtype(
    [
        ("now", "f8"),
        ("width", "f8"),
        ("lap", "i8"),
        ("seq", "i8"),
        ("free", "i4"),
        ("n_free", "i4"),
        ("fifo_first", "i4"),
        ("fifo_last", "i4"),
        ("pending", "i8"),
        ("unfinished", "i8"),
        ("events", "i8"),
    ],
    align=True,
)

Rules = namedtuple(
    "Rules",
    "peers slots pieces blocks block_size last_block_size last_piece_blocks "
    "choke_interval optimistic_rounds min_uploads snub_time recent_rounds rate_window rate_fudge "
    "pipeline_floor pipeline_seconds pipeline_refill pipeline_cap pipeline_slope random_first endgame "
    "unit header max_initiate max_allow_in min_peers min_peers_incoming reannounce check_interval tracker_reply "
    "initial_window rto_min rto_max initial_rto send_buffer dupacks cubic_c cubic_beta nagle idle_reset ideal horizon",
)

Swarm = namedtuple(
    "Swarm",
    "rules peer conn other mate told alone dn have_at have_log wantable unrequested missing copies begun seed_begun "
    "random_order order ring recent requests spare registered node bucket clock rng rtt loss scratch number "
    "share gaps bursts have_time",
)
