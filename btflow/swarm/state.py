"""Program to state arrays: everything one replica needs, allocated once, and the growth of the event pool."""

from typing import TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from btflow.errors import SimulationError
from btflow.kernels import calendar
from btflow.kernels.flow.state import Flow
from btflow.kernels.swarm import state as k
from btflow.kernels.swarm.state import Swarm
from btflow.memory import Layout, arrays, size_of
from btflow.swarm.access import links_bytes
from btflow.swarm.program import Program

State = TypeVar("State", Swarm, Flow)

NOT_HELD = 65535
PATH_BYTES = 70
"""Memory that a pair of peers takes, counted in both orders, most of it while the paths are drawn [B]."""

FAST = 3
"""Which of a replica's generators draws allowed-fast sets."""

PATHS = 2
"""Which of a replica's generators draws the paths; 0 draws what the peers do, 1 what their links have."""

EVENTS_PER_BUCKET = 0.5
ROWS_PER_PEER = 12
"""Lists of requests to begin with: a peer has a few connections on which it sends. There are more when needed."""

SPAN = 12.0
"""Time that the calendar covers at once [s]: the choker's 10 s and more."""


def build(program: Program, seed: int, replica: int) -> Swarm:
    """State of one replica before its first event. All randomness comes from (seed, replica)."""
    source = np.random.SeedSequence(seed, spawn_key=(replica,))
    rules = program.rules
    n, pieces = rules.peers, rules.pieces
    random = np.random.Generator(np.random.PCG64(source.spawn(1)[0]))
    state = arrays(_layout(program))
    rtt, loss = replica_paths(program, seed, replica)
    s = Swarm(
        rules=rules,
        client=program.client.view(np.recarray),
        rng=source.generate_state(2, np.uint64),
        rtt=rtt,
        loss=loss,
        births=program.births.copy(),
        random_order=random.permuted(np.tile(np.arange(pieces, dtype=np.uint16), (n, 1)), axis=1),
        have_time=np.full((n, pieces), np.nan),
        dn_words=state["dn"].view(np.uint64),
        fast=fast_sets(program, seed, replica),
        **state,
    )
    s.have_at[:] = NOT_HELD
    s.bucket.first = s.bucket.last = calendar.NONE
    _fill_blocks(s, program)
    _fill_peers(s, program, random)
    _start_clock(s, program)
    # all rows of requests are free
    c, rows = s.clock[0], s.row_owner.size
    s.conn.row = -1
    s.row_owner[:] = -1 - np.arange(1, rows + 1)
    c.free_row, c.n_free_rows = 0, rows
    return s


def replica_paths(program: Program, seed: int, replica: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """RTT [s] and loss between the places of a replica (places, places), both symmetric.

    Drawn paths have a generator of their own: they depend on the model, the number of peers, seed and replica alone.
    """
    if program.internet is None:
        return program.rtt, np.full(program.rtt.shape, program.loss)
    from btflow.paths.generate import sample  # takes a while to import

    source = np.random.SeedSequence(seed, spawn_key=(replica, PATHS))
    return sample(program.internet, program.rules.peers, np.random.Generator(np.random.PCG64(source)))


def fast_sets(program: Program, seed: int, replica: int) -> NDArray[np.int32]:
    """Pieces that each peer may ask for though it is choked, in the order in which it is told of them (peers, pieces).

    They follow from its address (BEP 6); here they are drawn, by a generator of their own.
    """
    size = int(program.client["allowed_fast"].max())
    if size == 0:
        return np.zeros((1, 1), np.int32)
    source = np.random.SeedSequence(seed, spawn_key=(replica, FAST))
    random = np.random.Generator(np.random.PCG64(source))
    rows = [random.permutation(program.rules.pieces)[:size] for _ in range(program.rules.peers)]
    return np.array(rows, np.int32)


def state_bytes(program: Program) -> int:
    """Memory that one replica takes [B]; its events may add to it."""
    return memory_of(program, _layout(program)) + (links_bytes(program) if program.links is not None else 0)


def memory_of(program: Program, layout: Layout) -> int:
    """Memory that the arrays of one replica take, and what is drawn for each piece and path besides [B]."""
    per_piece = 8 + 2 + 2  # have_time, random_order, from which it is drawn
    paths = PATH_BYTES * program.rules.peers**2 if program.internet is not None else 0
    return size_of(layout) + int(per_piece * program.rules.peers * program.rules.pieces) + paths


def _layout(program: Program) -> dict[str, tuple[tuple[int, ...], DTypeLike]]:
    """Shape and dtype of every array of a replica that starts at zero, the most used ones first."""
    rules = program.rules
    n, pieces, slots = rules.peers, rules.pieces, rules.slots
    ends, words = n << rules.slot_bits, pieces // 64 + 1  # there is a bit for "no piece", never set
    # With access links requests keep their times, and nobody collects rows: there is one for each end.
    rows = ends if rules.linked else min(ends, ROWS_PER_PEER * n + 16 * slots)
    return {
        "clock": ((1,), k.CLOCK),
        "peer": ((n,), k.PEER),
        "mode": ((n,), np.uint8),
        "n_log": ((n,), np.int64),
        "has": ((n, words), np.uint64),
        "want": ((n, words), np.uint64),
        "ring": ((n, slots), np.int16),
        "recent": ((n, slots), np.int16),
        "order": ((n, slots), np.int16),
        "up": ((ends,), np.uint8),
        "dn": ((ends,), np.uint8),
        "turns": ((ends,), np.int16),
        "watched": ((ends,), np.uint16),
        "alone": ((ends,), np.int32),
        "coming": ((ends,), np.int32),
        "told": ((ends,), np.uint16),
        "mate": ((ends,), np.int32),
        "begun": ((n, pieces), np.uint16),
        "seed_begun": ((n, pieces), np.uint8),
        "copies": ((pieces, n), np.int16),
        "blocks": ((n, pieces, 2 * -(-rules.blocks // 64)), np.uint64),
        "have_at": ((n, pieces), np.uint16),
        "have_log": ((n, pieces), np.uint16),
        "bucket": ((_bucket_count(program),), k.BUCKET),
        "node": ((2 * n + 16 * n + 16 * slots + 4096,), k.NODE),
        "conn": ((ends,), k.CONN),
        "requests": ((rows, program.request_room), np.int32),
        "row_owner": ((rows,), np.int32),
        "wire": ((1 if rules.ideal else ends,), k.WIRE),
        "spare": ((n, int(program.client["max_initiate"].max())), np.int64),
        "registered": ((n + 1,), np.int64),
        "scratch": ((4, max(slots, pieces, program.request_room, len(program.rtt)) + 64), np.int64),
        "number": ((2 * slots,), np.float64),
        "share": ((n, int(k.CAUSES)), np.float64),
        "gaps": ((len(program.class_names), k.GAP_BINS), np.int64),
        "control_gaps": ((len(program.class_names), k.CONTROL_BINS), np.int64),
        "bursts": ((k.BURST_BINS,), np.float64),
        "todo": ((ends + 8 * slots + 64 if rules.linked else 1,), np.int64),
        "marked": ((ends if rules.linked else 1,), np.uint8),
        "asked": ((rows, program.request_room) if rules.linked else (1, 1), np.float64),
        "offered": ((ends, words) if program.super_seeding.any() else (1, 1), np.uint64),
        "offers": ((pieces,), np.int64),
        "tally": ((ends if rules.tallied else 1,), k.TALLY),
        "ranks": ((slots + 1 if rules.tallied else 1,), k.RANK),
        "session": ((n if rules.tallied else 1,), k.SESSION),
    }


def _fill_blocks(s: Swarm, program: Program) -> None:
    """All blocks of every piece are missing and were not requested, but for the initial seeds."""
    for pieces, blocks in ((slice(None), s.rules.blocks), (-1, s.rules.last_piece_blocks)):
        words = piece_set(blocks)[: s.blocks.shape[2] // 2]
        s.blocks[:, pieces] = 0
        s.blocks[:, pieces, : 2 * words.size] = np.repeat(words, 2)
    s.blocks[program.is_seed == 1] = 0


def _fill_peers(s: Swarm, program: Program, random: np.random.Generator) -> None:
    """Caps, places, start times; the seeds hold everything and start at time 0."""
    rules, peer, seeds = program.rules, s.peer, program.is_seed == 1
    peer.upload_limit, peer.klass, peer.place = program.upload_limit, program.klass, program.place
    peer.upload_slots = program.upload_slots
    peer.unit = program.unit
    s.mode[seeds] = k.SEEDING
    s.mode[program.super_seeding] = k.SEEDING | k.SUPER
    peer.start = np.where(program.waits == 1, k.FOREVER, np.where(seeds, 0.0, starts(program, random)))
    peer.done = peer.left_at = -1.0
    peer.planned = -1
    s.n_log[seeds] = rules.pieces
    peer.unrequested = np.where(seeds, 0, (rules.pieces - 1) * rules.blocks + rules.last_piece_blocks)
    s.have_at[seeds] = s.have_log[seeds] = np.arange(rules.pieces)
    everything = piece_set(rules.pieces)
    s.has[seeds] = everything
    s.want[~seeds] = everything


def starts(program: Program, random: np.random.Generator) -> NDArray[np.float64]:
    """Start of each peer [s], as if all were leechers; one after the other, they are of the classes in random order."""
    arrivals, peers = program.arrivals, program.rules.peers
    if arrivals.kind == "flash":
        return np.asarray(random.uniform(0.0, 1.0, peers) * arrivals.spread, np.float64)
    starts = np.zeros(peers)
    leechers = np.flatnonzero((program.is_seed == 0) & (program.waits == 0))
    if arrivals.kind == "trace":
        starts[random.permutation(leechers)] = arrivals.times
    else:
        starts[random.permutation(leechers)] = np.cumsum(random.exponential(arrivals.interval or 0.0, leechers.size))
    return starts


def piece_set(pieces: int) -> NDArray[np.uint64]:
    """The set of all pieces, 64 a word."""
    bits = np.zeros((pieces // 64 + 1) * 64, np.uint8)
    bits[:pieces] = 1
    return np.packbits(bits, bitorder="little").view(np.uint64)


def _bucket_count(program: Program) -> int:
    """Power of two that covers about SPAN at one event a bucket, within bounds."""
    buckets = SPAN * event_rate(program) / EVENTS_PER_BUCKET
    return 1 << int(np.clip(np.ceil(np.log2(buckets)), 8, 20))


def event_rate(program: Program) -> float:
    """Rough events per second of simulated time: blocks at the sum of the limits (thrice with delays) and chokers."""
    per_block = 1.0 if program.rules.ideal else 4.0
    limits = program.upload_limit if program.links is None else program.links.upload_rate(program.upload_limit)
    blocks = float(limits.sum()) / program.rules.block_size
    return float(per_block * blocks + program.rules.peers / program.client["choke_interval"].min())


def _start_clock(s: Swarm, program: Program) -> None:
    """Empty calendar, free list over all nodes but the timers, and the start of every client."""
    c = s.clock[0]
    free_nodes(s, 2 * program.rules.peers)
    c.lane_first = calendar.NONE
    c.lane_delay = -1.0 if program.links is not None or program.internet is not None else 0.5 * program.rtt[0, 0]
    c.width = max(EVENTS_PER_BUCKET / event_rate(program), SPAN / s.bucket.size)
    c.unfinished = program.target


def free_nodes(s: Swarm | Flow, timers: int) -> None:
    """All nodes of the calendar behind those of timers are free."""
    s.node.bucket = calendar.NONE
    s.node.next[timers:] = np.arange(timers + 1, s.node.size + 1)
    s.node.next[-1] = calendar.NONE
    s.clock[0].free, s.clock[0].n_free = timers, s.node.size - timers


def more_rows(s: Swarm) -> Swarm:
    """The same swarm with twice the rows of requests."""
    old = s.row_owner.size
    size = {"requests": ((2 * old, s.requests.shape[1]), np.int32), "row_owner": ((2 * old,), np.int32)}
    larger = arrays(size)
    for name, array in larger.items():
        array[:old] = getattr(s, name)
    larger["row_owner"][old:] = -1 - np.arange(old + 1, 2 * old + 1)
    larger["row_owner"][-1] = -1 - s.clock[0].free_row
    s.clock[0].free_row = old
    s.clock[0].n_free_rows += old
    return s._replace(**larger)


def grow(s: State) -> State:
    """The same swarm with twice the nodes; free nodes must not run out while an event is handled."""
    old = s.node.size
    node = arrays({"node": ((2 * old,), k.NODE)})["node"]
    node[:old] = s.node
    node.bucket[old:] = calendar.NONE
    node.next[old:] = np.arange(old + 1, 2 * old + 1)
    node.next[-1] = s.clock[0].free
    s.clock[0].free = old
    s.clock[0].n_free += old
    return s._replace(node=node)


def unfinished(program: Program, s: Swarm | Flow) -> SimulationError:
    """What is wrong with a swarm whose downloads do not all finish."""
    return SimulationError(
        f"{s.clock[0].unfinished} of {program.target} downloads had not finished at {s.clock[0].now:.0f} s; a run is "
        f"given up at the horizon, here {program.rules.horizon:.0f} s: to change it put a line such as "
        'horizon = "30 d" above the tables of the model file'
    )
