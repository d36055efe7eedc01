"""Program to state arrays: everything one replica needs, allocated once, and the growth of the event pool."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from btflow.kernels import clock
from btflow.kernels.state import BURST_BINS, CAUSES, CLOCK, CONN, GAP_BINS, NODE, PEER, START, Swarm
from btflow.program import Program

NOT_HELD = np.int32(1 << 30)
EVENTS_PER_BUCKET = 1.0


def records(n: int, dtype: np.dtype[Any]) -> Any:
    """`n` zeroed records that kernels address as `a[i].field`."""
    return np.zeros(n, dtype).view(np.recarray)


def build(program: Program, seed: int, replica: int) -> Swarm:
    """State of one replica before its first event. All randomness comes from (seed, replica)."""
    source = np.random.SeedSequence(seed, spawn_key=(replica,))
    rules = program.rules
    n, ends, pieces = rules.peers, rules.peers * rules.slots, rules.pieces
    random = np.random.Generator(np.random.PCG64(source.spawn(1)[0]))
    s = Swarm(
        rules=rules,
        peer=records(n, PEER),
        conn=records(ends, CONN),
        other=np.full(ends, -1, np.int32),
        mate=np.zeros(ends, np.int32),
        told=np.zeros(ends, np.int32),
        alone=np.zeros(ends, np.int32),
        dn=np.zeros(ends, np.uint8),
        have_at=np.full((n, pieces), NOT_HELD, np.int32),
        have_log=np.zeros((n, pieces), np.int32),
        have_time=np.full((n, pieces), np.nan),
        wantable=np.ones((n, pieces), np.uint8),
        unrequested=_block_masks(program),
        missing=_block_masks(program),
        copies=np.zeros((pieces, n), np.int16),
        begun=np.zeros((n, pieces), np.int32),
        seed_begun=np.zeros((n, pieces), np.uint8),
        random_order=random.permuted(np.tile(np.arange(pieces, dtype=np.int32), (n, 1)), axis=1),
        order=np.zeros((n, rules.slots), np.int32),
        ring=np.zeros((n, rules.slots), np.int32),
        recent=np.zeros((n, rules.slots), np.int32),
        requests=np.zeros((ends, program.request_room), np.int32),
        spare=np.zeros((n, rules.max_initiate), np.int32),
        registered=np.zeros(n + 1, np.int32),
        node=records(2 * n + 16 * n + 16 * rules.slots + 4096, NODE),
        bucket=np.full(_bucket_count(program), clock.NONE, np.int32),
        clock=records(1, CLOCK),
        rng=source.generate_state(2, np.uint64),
        rtt=program.rtt,
        loss=np.array([program.loss]),
        scratch=np.zeros((4, max(rules.slots, pieces, program.request_room) + 64), np.int32),
        number=np.zeros(2 * rules.slots),
        share=np.zeros((n, CAUSES)),
        gaps=np.zeros((len(program.class_names), GAP_BINS), np.int64),
        bursts=np.zeros(BURST_BINS),
    )
    _fill_peers(s, program, random)
    _start_clock(s, program)
    return s


def _block_masks(program: Program) -> NDArray[np.uint64]:
    """All blocks of every piece, nothing for the initial seeds (peers, pieces)."""
    rules = program.rules
    masks = np.full((rules.peers, rules.pieces), (1 << rules.blocks) - 1, np.uint64)
    masks[:, -1] = (1 << rules.last_piece_blocks) - 1
    masks[program.is_seed == 1] = 0
    return masks


def _fill_peers(s: Swarm, program: Program, random: np.random.Generator) -> None:
    """Caps, places, start times; the seeds hold everything and start at time 0."""
    rules, peer, seeds = program.rules, s.peer, program.is_seed == 1
    peer.cap, peer.klass, peer.place = program.upload_limit, program.klass, program.place
    peer.upload_slots = program.upload_slots
    peer.is_seed = peer.was_seed = program.is_seed
    peer.start = np.where(seeds, 0.0, random.uniform(0.0, 1.0, rules.peers) * program.spread)
    peer.done = -1.0
    peer.planned = -1
    peer.n_log = np.where(seeds, rules.pieces, 0)
    peer.unrequested = np.where(seeds, 0, (rules.pieces - 1) * rules.blocks + rules.last_piece_blocks)
    s.have_at[seeds] = s.have_log[seeds] = np.arange(rules.pieces)
    s.wantable[seeds] = 0


def _bucket_count(program: Program) -> int:
    """Power of two that covers about 12 s (the choker's 10 s and more) at one event a bucket."""
    buckets = 12.0 * event_rate(program) / EVENTS_PER_BUCKET
    return 1 << int(np.clip(np.ceil(np.log2(buckets)), 8, 20))


def event_rate(program: Program) -> float:
    """Rough events per second of simulated time: blocks at the sum of the caps (three each with delays) and chokers."""
    per_block = 1.0 if program.rules.ideal else 4.0
    blocks = float(program.upload_limit.sum()) / program.rules.block_size
    return per_block * blocks + program.rules.peers / program.rules.choke_interval


def _start_clock(s: Swarm, program: Program) -> None:
    """Empty calendar, free list over all nodes but the timers, and the start of every client."""
    c, timers = s.clock[0], 2 * program.rules.peers
    s.node.bucket = clock.NONE
    s.node.next[timers:] = np.arange(timers + 1, s.node.size + 1)
    s.node.next[-1] = clock.NONE
    c.free, c.n_free = timers, s.node.size - timers
    c.fifo_first = clock.NONE
    c.width = EVENTS_PER_BUCKET / event_rate(program)
    c.unfinished = int((program.is_seed == 0).sum())
    for p in np.argsort(s.peer.start, kind="stable"):
        clock.post(s, float(s.peer.start[p]), START, int(p), 0, 0)


def grow(s: Swarm) -> Swarm:
    """The same swarm with twice the nodes; free nodes must not run out while an event is handled."""
    old = s.node.size
    node = records(2 * old, NODE)
    node[:old] = s.node
    node.bucket[old:] = clock.NONE
    node.next[old:] = np.arange(old + 1, 2 * old + 1)
    node.next[-1] = s.clock[0].free
    s.clock[0].free = old
    s.clock[0].n_free += old
    return s._replace(node=node)
