"""The client's rules as functions of plain values, for both fidelities (mainline 4.0.2 unless a model file says else).

What a peer knows, and when, is kept in two ways: every message an event (`engine.py` and its neighbours), or uploads
advanced between ticks (`flow/`). What it decides is here, once: whom to unchoke, how many blocks to ask for, which piece
first, when to look for more peers. `rate.py` has how rates are measured. `r` is a `state.Rules`.
"""

import math

import numpy as np

from btflow.kernels.jit import kernel

_MIX = np.uint64(0xD6E8FEB86659FD93)


# -- choker (Choker.py) -----------------------------------------------------------------------------------------------


@kernel
def reciprocal_slots(candidates, upload_slots):
    """How many of a leecher's interested, unsnubbed sources keep a slot by their rate: all slots but one."""
    return min(candidates, upload_slots - 1)


@kernel
def optimistic_slots(r, kept):
    """How many more a leecher unchokes in the order of its list: one, or more while `min_uploads` are not reached."""
    return max(1, r.min_uploads - kept)


@kernel
def snubbed(r, last_block, t):
    """True if a source that sent its last block at `last_block` [s] is no longer thanked for it at `t`."""
    return t - last_block > r.snub_time


@kernel
def forced_unchokes(slots, round_number, opened):
    """New unchokes a seed forces this round: about (slots + 2) / 3 each 30 s, less those opened since the last tick."""
    return max(0, ((slots + 2) // 3 + round_number % 3) // 3 - opened)


@kernel
def seed_rank(r, unchoked_at, ticks, pending):
    """Order in which a seed keeps peers: those unchoked in the last rounds or with requests pending, latest first.

    `unchoked_at` and `ticks` count the rounds of the choker.
    """
    return float(-unchoked_at) if unchoked_at > ticks - r.recent_rounds or pending else 1.0


@kernel
def insert_kept(number, chosen, h, rank, rate, n):
    """Insert `h` into chosen[:n], ascending by (rank, rate), whose keys are in the halves of `number`; ties stay."""
    half = number.size // 2
    j = n
    while j > 0 and (number[j - 1] > rank or (number[j - 1] == rank and number[half + j - 1] > rate)):
        number[j] = number[j - 1]
        number[half + j] = number[half + j - 1]
        chosen[j] = chosen[j - 1]
        j -= 1
    number[j] = rank
    number[half + j] = rate
    chosen[j] = h


@kernel
def is_optimistic_round(r, ticks):
    """True if a leecher's list is rotated at this tick of its choker."""
    return ticks % r.optimistic_rounds == 0


# -- request pipeline (Downloader.py) ---------------------------------------------------------------------------------


@kernel
def pipeline(r, rate, most):
    """Requests below which a connection of this rate [B/s] asks for more: 2 and 4 s of data, flattening above 50."""
    b = r.pipeline_floor + int(r.pipeline_seconds * rate / r.block_size)
    if b > r.pipeline_cap:
        b = max(r.pipeline_cap, int(r.pipeline_slope * b))
    return min(b, most)


@kernel
def refill_level(r, b):
    """How far a refill of the pipeline goes whose floor is `b`."""
    return max(b, (b - r.pipeline_floor) * r.pipeline_refill + r.pipeline_floor)


# -- order of pieces (PiecePicker.py) ---------------------------------------------------------------------------------


@kernel
def picks_at_random(r, held):
    """True while a client with `held` pieces takes new ones in its random order, not the rarest."""
    return held < r.random_first


@kernel
def tie_rank(key, p, piece, copies):
    """Rank of a piece within its rarity class: random, differs between clients, persists until the class changes."""
    z = key ^ (np.uint64(p) << np.uint64(40)) ^ (np.uint64(copies) << np.uint64(24)) ^ np.uint64(piece)
    z = (z ^ (z >> np.uint64(32))) * _MIX
    z = (z ^ (z >> np.uint64(32))) * _MIX
    return z ^ (z >> np.uint64(32))


# -- peer set (Encoder.py, Rerequester.py) ----------------------------------------------------------------------------


@kernel
def may_initiate(r, degree):
    """True if a client with `degree` connections opens one more."""
    return degree < r.max_initiate


@kernel
def may_accept(r, degree):
    """True if a client with `degree` connections accepts one more."""
    return degree < r.max_allow_in


@kernel
def announces_again(r, complete, ever_incoming, since):
    """True if a client asks the tracker again, `since` seconds after the last time: short of peers, or it is time."""
    few = complete <= r.min_peers_incoming if ever_incoming else complete < r.min_peers
    return (few and since >= r.reannounce) or since >= r.announce_interval


@kernel
def peers_wanted(r, complete):
    """How many addresses a client takes from the tracker's reply."""
    return 0 if complete >= r.max_initiate else r.tracker_reply


# -- departures -------------------------------------------------------------------------------------------------------


@kernel
def stay(r, download_time, u):
    """How long a peer stays once it has everything [s]: exponentially distributed, its mean in download times."""
    mean = r.stay * download_time
    return -mean * math.log(1.0 - u) if mean > 0.0 else 0.0
