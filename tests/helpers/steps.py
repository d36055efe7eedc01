"""The compiled engine, one event at a time, with what happens to every block written down."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plain

from btflow.kernels.calendar import NONE
from btflow.kernels.swarm import engine
from btflow.kernels.swarm.state import PIECE, Swarm
from btflow.swarm.program import Program
from btflow.swarm.state import build, grow, more_rows


@dataclass
class Ledger:
    """Payload of one swarm, block by block [B]."""

    received: int = 0
    dropped: int = 0
    """Arrived at a connection that was closed by then."""
    flying: dict[int, int] = field(default_factory=dict)
    """Blocks under way, by the node of their event."""
    duplicate: Counter[int] = field(default_factory=Counter)
    """Bytes of duplicates, by peer."""
    kept: Counter[tuple[int, int]] = field(default_factory=Counter)
    """How often a peer stored a block, by (peer, block)."""


def waiting(s: Swarm) -> list[int]:
    """Nodes of the events in the lane, in order."""
    nodes, n = [], int(s.clock[0].lane_first)
    while n != NONE:
        nodes.append(n)
        n = int(s.node[n].next)
    return nodes


def following(s: Swarm) -> int:
    """Node of the next event, the earliest; equal times in the order of posting, without delays the lane first.

    The times are compared at once, since most events are alone at theirs: this is asked before every event.
    """
    filed, lane, times = np.flatnonzero(s.node.bucket != NONE), int(s.clock[0].lane_first), s.node.time
    first = times[lane] if lane != NONE else np.inf
    if filed.size:
        first = min(first, times[filed].min())
    nodes = {int(n): False for n in filed[times[filed] == first]}
    if lane != NONE and times[lane] == first:
        nodes[lane] = True
    ideal = bool(s.rules.ideal)
    return min(nodes, key=lambda n: (not (ideal and nodes[n]), s.node[n].serial))


def walk(program: Program, seed: int) -> tuple[Swarm, Ledger]:
    """Run a swarm event by event; return its final state and the ledger of its blocks."""
    s, ledger = build(program, seed, 0), Ledger()
    outcome = engine.run(s, 1)
    while outcome != engine.FINISHED:
        assert outcome != engine.STUCK
        if outcome == engine.FULL:
            s = grow(s)
        elif outcome == engine.CROWDED:
            s = more_rows(s)
        outcome = step(s, ledger)
    return s, ledger


def step(s: Swarm, ledger: Ledger) -> int:
    """Handle the next event and enter it into the ledger."""
    peers, room = s.rules.peers, s.requests.shape[1]
    n = following(s)
    time = s.node[n].time
    is_piece = n >= 2 * peers and s.node[n].kind == PIECE
    h, seq, stale = int(s.node[n].target), int(s.node[n].arg), False
    if is_piece:
        stale = s.conn[h].generation != s.node[n].generation
        block = int(plain.limiter.block_number(int(s.requests[s.conn[s.mate[h]].row, seq % room])))
    before: Any = s.peer.copy()
    events = s.clock[0].events
    outcome = int(engine.run(s, 1))
    if s.clock[0].events == events:  # no room for more events, or all is done
        return outcome
    assert s.clock[0].now == time
    sent, got = s.peer.bytes_up - before.bytes_up, s.peer.bytes_down - before.bytes_down
    duplicates = s.peer.duplicates - before.duplicates
    if is_piece:
        size = ledger.flying.pop(n)
        assert got.sum() == (0 if stale else size)
        assert sent.sum() == 0
        ledger.dropped += size if stale else 0
        if not stale and not duplicates.any():
            ledger.kept[h >> s.rules.slot_bits, block] += 1
    elif sent.any():
        assert n < peers
        assert np.flatnonzero(sent).tolist() == [n]  # the peer whose limiter it is
        if s.rules.ideal:
            assert got.sum() == sent.sum()
        else:
            assert not got.any()
            ledger.flying[_new_piece(s, ledger)] = int(sent.sum())
    else:
        assert not got.any()
    ledger.received += int(got.sum())
    for p in np.flatnonzero(duplicates):
        assert duplicates[p] == 1
        ledger.duplicate[int(p)] += int(got[p])
    return outcome


def _new_piece(s: Swarm, ledger: Ledger) -> int:
    """Node of the block that was just written."""
    flying = np.flatnonzero((s.node.bucket != NONE) & (s.node.kind == PIECE))
    new = {int(n) for n in flying if n >= 2 * s.rules.peers} | {n for n in waiting(s) if s.node[n].kind == PIECE}
    (node,) = new - set(ledger.flying)
    return node
