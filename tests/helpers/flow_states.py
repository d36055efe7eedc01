"""What must hold of the state of a swarm at flow fidelity after any number of looks, said in sets and lists."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from btflow.kernels.calendar import NONE
from btflow.kernels.flow.state import CLOSING, FAST, FREE_LANE, MOST_BEGUN, NO_LANE, SERVING, Flow
from btflow.kernels.swarm.state import FOREVER, FREE, MISSING_PIECES, OPEN, PIECE

COUNTS = (
    *("top", "active", "unrequested", "reach", "ticks", "opened", "bytes_up", "bytes_down", "degree", "complete"),
    *("n_log", "n_known", "n_shown", "n_recent", "n_served", "n_order", "n_spare", "head"),
    *("duplicates", "cancelled", "unchokes", "idle_ends"),
)
"""Fields of a peer that are never negative."""

Blocks = set[tuple[int, int]]
"""Blocks as (piece, number in it)."""


def bits(mask: Any) -> set[int]:
    """Return the numbers of the bits of a word, or of a set of any size, that are set."""
    word = int(mask)
    return {b for b in range(word.bit_length()) if word >> b & 1}


def pieces(row: Any) -> set[int]:
    """Return the pieces of a row of words."""
    return {64 * w + b for w, word in enumerate(row) for b in bits(word)}


def log(s: Flow, p: int, count: int) -> list[int]:
    """Return the first so many pieces that a peer got."""
    return [int(piece) for piece in s.have_log[p, :count]]


def ends_of(s: Flow, p: int) -> range:
    """Return the ends of a peer that may be in use."""
    return range(p << s.rules.slot_bits, (p << s.rules.slot_bits) + int(s.peer.end_top[p]))


def lanes_of(s: Flow, p: int) -> range:
    return range(p << s.lane_bits, (p + 1) << s.lane_bits)


def blocks_of(s: Flow, piece: int) -> int:
    """Return the number of blocks of a piece."""
    return int(s.rules.last_piece_blocks if piece == s.rules.pieces - 1 else s.rules.blocks)


class Begun(NamedTuple):
    """A piece that a peer fetches, and its blocks as the bits of a whole number."""

    piece: int
    missing: int
    unrequested: int


def begun_rows(s: Flow, y: int) -> dict[int, Begun]:
    """Return the pieces that a peer fetches, by row: what their parts say together."""
    found = {}
    for row in bits(s.peer[y].taken):
        parts = s.begun[y, row << s.part_bits : (row + 1) << s.part_bits]
        (piece,) = set(parts.piece.tolist())
        whole = [sum(int(part) << 64 * i for i, part in enumerate(parts[of])) for of in ("missing", "unrequested")]
        found[row] = Begun(piece, *whole)
    return found


def in_piece(s: Flow, entry: int, numbers: set[int]) -> set[int]:
    """Return which blocks of its piece the blocks of a part are."""
    return {b + 64 * (entry % (1 << s.part_bits)) for b in numbers}


def arrives(s: Flow, arg: int) -> tuple[int, int]:
    """Return the block that an event of one under way is about."""
    return arg >> 14 + s.part_bits, (arg >> 8) % (64 << s.part_bits)


def asked(s: Flow, u: int) -> Blocks:
    """Return what is asked on a lane; blocks that are no longer wanted are left out."""
    y, lane = int(s.lane.g[u]) >> s.rules.slot_bits, s.lane[u]
    found: Blocks = set()
    for i in range(lane.runs):
        run = s.run[u, i]
        assert bits(run.blocks), "an empty row of requests"
        numbers = bits(run.blocks) - bits(run.cancelled)
        own = {(int(s.begun[y, run.entry].piece), b) for b in in_piece(s, int(run.entry), numbers)}
        assert not found & own, "a block asked for twice on a lane"
        found |= own
    return found


def awaited(s: Flow) -> list[Any]:
    """Return the events of blocks that are under way to who is in endgame."""
    blocks = s.node[(s.node.bucket != NONE) & (s.node.kind == PIECE)]
    return [node for node in blocks if s.end.generation[node.target] == node.generation]


def awaited_bytes(s: Flow) -> int:
    """Return the payload of these [B]."""
    last = (s.rules.pieces - 1) * s.rules.blocks + s.rules.last_piece_blocks - 1
    blocks = [piece * s.rules.blocks + b for piece, b in (arrives(s, int(node.arg)) for node in awaited(s))]
    return sum(int(s.rules.last_block_size if block == last else s.rules.block_size) for block in blocks)


def awaited_on(s: Flow) -> Counter[int]:
    """Return how many of these were sent on each lane, for who has it now."""
    found: Counter[int] = Counter()
    for node in awaited(s):
        h = int(s.end.mate[node.target])
        u = ((h >> s.rules.slot_bits) << s.lane_bits) + int(s.end.lane[h])
        if s.end.lane[h] != NO_LANE and s.lane.use[u] == node.arg & 255:
            found[u] += 1
    return found


def check(s: Flow) -> None:
    """Check the whole state."""
    for p in range(s.rules.peers):
        check_counts(s, p)
        check_pieces(s, p)
        check_list(s, p)
        check_lanes(s, p)
        check_sources(s, p)
        check_fetched(s, p)
        check_copies(s, p)
    check_lines(s)
    check_shown(s)


def check_counts(s: Flow, p: int) -> None:
    """No count is negative, and those of connections agree with them."""
    for name in COUNTS:
        assert s.peer[name][p] >= 0, name
    base = p << s.rules.slot_bits
    states = s.end.state[base : base + s.rules.slots]
    assert s.peer.complete[p] == (states == OPEN).sum()
    assert (states[s.peer.end_top[p] :] == FREE).all()
    assert s.peer.present[p] or (states == FREE).all()


def check_pieces(s: Flow, p: int) -> None:
    """What is held, told and shown is the log, and what is wanted is what is left of it."""
    peer = s.peer[p]
    assert peer.n_shown <= peer.n_known <= peer.n_log <= s.rules.pieces
    held = log(s, p, peer.n_log)
    assert len(set(held)) == len(held)
    assert pieces(s.has[p]) == set(log(s, p, peer.n_known))
    assert pieces(s.shown[p]) == set(log(s, p, peer.n_shown))
    rows = {int(row.piece): row for row in begun_rows(s, p).values()}
    assert not set(rows) & set(held)
    missing = set(range(s.rules.pieces)) - set(held)
    free = {piece for piece in missing if piece not in rows or rows[piece].unrequested}
    if peer.endgame == 1:
        assert pieces(s.want[p]) == missing == set(rows)
    else:
        assert pieces(s.want[p]) == free - taken_alone(s, p)
    interest = missing if client_of(s, p).interest == MISSING_PIECES else pieces(s.want[p])
    assert pieces(s.lacks[p]) == interest
    fresh = sum(blocks_of(s, piece) for piece in missing - set(rows))
    assert peer.unrequested == fresh + sum(len(bits(row.unrequested)) for row in rows.values())
    assert (peer.endgame == 1) <= (peer.unrequested == 0)


def client_of(s: Flow, p: int) -> Any:
    """Return the record of a peer's client."""
    return s.client[s.peer.klass[p]]


def taken_alone(s: Flow, p: int) -> set[int]:
    """Return the pieces that connections of a peer have for themselves; none is two connections'."""
    if not s.rules.tallied:
        return set()
    taken: Counter[int] = Counter()
    for g in ends_of(s, p):
        if s.end.state[g] == OPEN:
            taken.update(range(int(s.tally.held_from[g]), int(s.tally.held_to[g])))
    assert set(taken.values()) <= {1}
    return set(taken)


def entry_end(s: Flow, p: int, entry: int) -> int:
    """Return the end of a peer that an entry of its list stands for; its other side is checked."""
    plain = entry if entry >= 0 else -1 - entry
    h = (p << int(s.rules.slot_bits)) + (plain & (int(s.rules.slots) - 1))
    assert plain >> s.rules.slot_bits in (s.end.mate[h], s.rules.peers << s.rules.slot_bits)
    return h


def introduced(s: Flow, h: int) -> bool:
    """Return True for an open end whose bitfield was answered."""
    entry = int(s.order[h >> s.rules.slot_bits, s.end.at[h]])
    return bool((entry if entry >= 0 else -1 - entry) >> s.rules.slot_bits == s.end.mate[h])


def check_list(s: Flow, p: int) -> None:
    """The choker's list has each open connection once; entries below zero are those with a lane."""
    n = int(s.peer.n_order[p])
    ends = [entry_end(s, p, int(entry)) for entry in s.order[p, :n]]
    assert sorted(ends) == [h for h in ends_of(s, p) if s.end.state[h] == OPEN]
    assert [int(s.end.at[h]) for h in ends] == list(range(n))
    assert 0 <= s.peer.head[p] < max(n, 1)
    for h, entry in zip(ends, s.order[p, :n], strict=True):
        assert (entry < 0) == (s.end.lane[h] != NO_LANE)
        assert s.end.mate[s.end.mate[h]] == h
        assert s.end.state[s.end.mate[h]] == OPEN


def check_lanes(s: Flow, p: int) -> None:
    """A lane belongs to an open end; a free one has nothing; as many are active as have a block that is being sent."""
    lanes, under_way = lanes_of(s, p), awaited_on(s)
    assert s.peer.active[p] == sum(s.finish[u] < FOREVER for u in lanes)
    slots = int(s.peer.upload_slots[p])
    assert sum(s.lane.state[u] == SERVING for u in lanes) <= slots
    assert sum(s.lane.state[u] == FAST for u in lanes) <= s.fast_lanes
    for i, u in enumerate(lanes):
        lane = s.lane[u]
        if lane.state == FREE_LANE:
            assert s.finish[u] == s.ready[u] == FOREVER
            assert lane.runs == lane.outstanding == 0
            continue
        assert i < s.peer.top[p]
        assert lane.kept == 0
        assert lane.h >> s.rules.slot_bits == p
        assert s.end.lane[lane.h] == i
        assert s.end.mate[lane.h] == lane.g
        assert lane.awaited <= under_way[u]  # some are cancelled
        assert lane.outstanding == len(asked(s, u)) + lane.awaited
        if s.finish[u] < FOREVER:
            assert lane.runs > 0
            assert s.ready[u] == FOREVER
            assert s.finish[u] >= s.peer.work[p] - 1e-6, (s.finish[u] - s.peer.work[p], s.peer.work[p])
        if lane.state == CLOSING:
            assert s.finish[u] < FOREVER
        if lane.leaving:  # what is asked for since comes later
            assert s.ready[u] < FOREVER
        if lane.state == FAST:
            check_fast(s, int(u))
        if not lane.leaving and lane.runs > 0:
            assert (s.finish[u] < FOREVER) != (s.ready[u] < FOREVER)  # what is asked will be sent


def check_fast(s: Flow, u: int) -> None:
    """A lane of who is choked has requests, all of its set but for a block that was begun before."""
    lane = s.lane[u]
    y = int(lane.g) >> s.rules.slot_bits
    assert lane.outstanding > 0 or s.finish[u] < FOREVER
    assert s.tally.allows[lane.h] == s.tally.allowed[lane.g] > 0
    others = {piece for piece, _ in asked(s, u)} - set(s.fast[y, : s.tally.allowed[lane.g]].tolist())
    assert len(others) <= 1


def told_on(s: Flow, h: int) -> set[int]:
    """Return the pieces that the owner of an end has told its other side of."""
    p = h >> s.rules.slot_bits
    return pieces(s.has[s.rules.peers + h]) if s.peer.shows[p] else pieces(s.has[p])


def check_sources(s: Flow, y: int) -> None:
    """The lanes that serve a peer are those of others that say so; recent sources are marked, each once."""
    served = [int(u) for u in s.served[y, : s.peer.n_served[y]]]
    own = [u for u in np.flatnonzero(s.lane.state != FREE_LANE) if s.lane.g[u] >> s.rules.slot_bits == y]
    assert sorted(served) == own
    recent = [int(slot) for slot in s.recent[y, : s.peer.n_recent[y]]]
    marked = [h - (y << s.rules.slot_bits) for h in ends_of(s, y) if s.end.recent[h]]
    assert sorted(recent) == marked


def check_fetched(s: Flow, y: int) -> None:
    """Begun pieces are each in one row; what is missing and was requested is on one lane, in endgame on any."""
    rows = begun_rows(s, y)
    peer = s.peer[y]
    assert len(rows) <= MOST_BEGUN
    assert len({int(row.piece) for row in rows.values()}) == len(rows)
    for row in rows.values():
        assert bits(row.missing) <= set(range(blocks_of(s, int(row.piece))))
        assert bits(row.missing)
        assert bits(row.unrequested) <= bits(row.missing)
    assert pieces(s.open[y]) == {int(row.piece) for row in rows.values() if row.unrequested}
    assert all(s.row[y, row.piece] == entry for entry, row in rows.items())
    missing = {(int(row.piece), b) for row in rows.values() for b in bits(row.missing)}
    fresh = {(int(row.piece), b) for row in rows.values() for b in bits(row.unrequested)}
    wanted: Counter[tuple[int, int]] = Counter()
    for u in s.served[y, : peer.n_served]:
        for i in range(s.lane.runs[u]):
            assert s.run[u, i].entry >> s.part_bits in rows or bits(s.run[u, i].blocks) <= bits(s.run[u, i].cancelled)
        own = asked(s, int(u))
        wanted.update(own)
        assert {piece for piece, _ in own} <= told_on(s, int(s.lane.h[u])), "asked of one that does not have it"
    if peer.endgame == 1:
        assert set(wanted) <= missing
    elif peer.endgame:  # some are asked for twice, or though another lane has them for itself
        assert missing - fresh <= set(wanted) | under_way_to(s, y)
    else:
        assert wanted == Counter(missing - fresh)


def under_way_to(s: Flow, y: int) -> Blocks:
    """Return the blocks that are on their way to a peer, or were when their connection closed."""
    blocks = s.node[(s.node.bucket != NONE) & (s.node.kind == PIECE)]
    found = [int(node.arg) for node in blocks if node.target >> s.rules.slot_bits == y]
    return {arrives(s, arg) for arg in found}


def check_copies(s: Flow, p: int) -> None:
    """A peer counts the copies of a piece among its neighbours that have told of it."""
    if s.peer.n_log[p] == s.rules.pieces or not s.peer.present[p]:
        return
    found = np.zeros(s.rules.pieces, np.int64)
    for h in ends_of(s, p):
        g = int(s.end.mate[h])
        if s.end.state[h] == OPEN and (introduced(s, g) or s.peer.shows[g >> s.rules.slot_bits]):
            found[list(told_on(s, g))] += 1
    assert (s.copies[:, p] == found).all()


def check_shown(s: Flow) -> None:
    """Interest in a piece comes back after it is known; who heard of a piece heard of one that is there."""
    for p in np.flatnonzero(s.peer.shows):
        assert s.peer.n_log[p] == s.rules.pieces
        assert s.peer.n_known[p] == s.peer.n_shown[p] == 0
        for h in ends_of(s, int(p)):
            if s.end.state[h] != OPEN:
                continue
            row, q = s.rules.peers + h, int(s.end.mate[h]) >> s.rules.slot_bits
            known = pieces(s.has[row])
            assert pieces(s.shown[row]) <= known
            assert pieces(s.heard[h]) <= set(log(s, q, int(s.peer.n_log[q])))
            assert -1 <= s.latest[h] < s.rules.pieces
            assert (s.offers[list(known)] > 0).all()


def check_lines(s: Flow) -> None:
    """Who is there waits for its next look in the line of its class, the earliest first."""
    waiting: list[int] = []
    for row, line in zip(s.queue, s.round, strict=True):
        places = (int(line.first) + np.arange(int(line.count))) % len(row)
        times = s.peer.visit_at[row[places]]
        assert (np.diff(times) >= -1e-9).all()
        waiting += [int(p) for p in row[places]]
    present = set(np.flatnonzero(s.peer.present))
    assert present <= set(waiting)
    assert len(set(waiting)) == len(waiting)
