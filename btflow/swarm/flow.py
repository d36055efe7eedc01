"""Swarms at flow fidelity: program to state arrays, and one replica to its end."""

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import DTypeLike

from btflow import termination
from btflow.kernels import calendar
from btflow.kernels.flow import engine
from btflow.kernels.flow.state import BEGUN, END, LANE, MOST_BEGUN, NO_LANE, PEER, ROUND, RUN, Flow
from btflow.kernels.flow.transport import FRESH, SAMPLES, STRETCH
from btflow.kernels.swarm import state as k
from btflow.memory import arrays
from btflow.swarm import access, state as swarm_state
from btflow.swarm.program import Program

STEP_BYTES = 57344.0
"""What a peer uploads between two looks at it [B]: three and a half blocks."""

MOST_RUNS = 64
"""Rows of requests of a lane, at most."""

SPARE_LANES = 8
"""Lanes for connections that were choked with a block under way."""


def run(program: Program, seed: int, replica: int, watch: Callable[[Flow, None], int | None] | None = None) -> Flow:
    """Run one replica to the end and return its final state; SimulationError if it cannot finish."""
    s = build(program, seed, replica)
    looks = (watch and watch(s, None)) or termination.FIRST_CHUNK
    while True:
        begun = time.perf_counter()
        outcome = engine.run(s, looks)
        looks = termination.next_chunk(looks, time.perf_counter() - begun)
        if outcome == engine.FINISHED:
            return s
        if outcome == engine.FULL:
            s = swarm_state.grow(s)
        elif outcome == engine.STUCK:
            raise swarm_state.unfinished(program, s)
        looks = (watch and watch(s, None)) or looks


def load_kernels(program: Program) -> None:
    """Load or compile the kernels."""
    termination.in_thread(lambda: engine.run(build(program, 0, 0), 0))


def build(program: Program, seed: int, replica: int) -> Flow:
    """State of one replica before its first event. All randomness comes from (seed, replica)."""
    source = np.random.SeedSequence(seed, spawn_key=(replica,))
    rules = program.rules
    n, pieces = rules.peers, rules.pieces
    random = np.random.Generator(np.random.PCG64(source.spawn(1)[0]))
    rtt, loss = swarm_state.replica_paths(program, seed, replica)
    order = random.permuted(np.tile(np.arange(pieces, dtype=np.uint16), (n, 1)), axis=1)
    state = arrays(_layout(program))
    lacks = state.pop("lacks")
    s = Flow(
        rules=rules,
        client=program.client.view(np.recarray),
        alike=int(rules.last_block_size == rules.block_size),
        neighbours=neighbours(program),
        lanes=1 << lane_bits(program),
        lane_bits=lane_bits(program),
        runs=runs(program),
        rng=source.generate_state(2, np.uint64),
        rtt=rtt,
        loss=loss,
        births=program.births.copy(),
        random_order=order,
        have_time=np.full((n, pieces), np.nan),
        net=access.build_net(program, seed, replica, served=n << lane_bits(program)),
        lacks=lacks if lacks.size else state["want"],
        fast=swarm_state.fast_sets(program, seed, replica),
        fast_lanes=fast_lanes(program),
        part_bits=part_bits(program),
        **state,
    )
    s.finish[:] = s.ready[:] = k.FOREVER
    s.end.lane = NO_LANE
    _fill_peers(s, program, random)
    _start_clock(s, program)
    return s


def lane_bits(program: Program) -> int:
    """Lanes of each peer, as a power of two: its slots, some for blocks that outlast a choke, some for fast sets."""
    lanes = int(program.upload_slots.max()) + SPARE_LANES
    if program.client["allowed_fast"].any():
        lanes += neighbours(program)
    return min((lanes - 1).bit_length(), 8)


def fast_lanes(program: Program) -> int:
    """Lanes of each peer that serve allowed-fast sets at most."""
    lanes = min(1 << lane_bits(program), int(NO_LANE))
    return max(0, lanes - int(program.upload_slots.max()) - SPARE_LANES)


def neighbours(program: Program) -> int:
    """Neighbours that a peer has at most."""
    return int(min(program.rules.peers - 1, program.client["max_allow_in"].max()))


def runs(program: Program) -> int:
    """Rows of requests of a lane: a pipeline as full as it gets, in whole pieces, and some for those in between.

    Who asks for one block after the other needs a row for each.
    """
    if (program.client["requests"] != k.BY_RATE).any():
        return MOST_RUNS
    return int(min(MOST_RUNS, program.request_room // min(program.rules.blocks, 64) + 8))


def part_bits(program: Program) -> int:
    """Parts of a piece, with at most 64 blocks each, as a power of two."""
    return int((program.rules.blocks - 1) >> 6).bit_length()


def super_ends(program: Program) -> int:
    """Ends up to those of the last super-seed, whose connections differ in what they show; 0 if there is none."""
    return int(np.flatnonzero(program.is_seed)[-1] + 1) << program.rules.slot_bits if program.super_seeding.any() else 0


def _layout(program: Program) -> dict[str, tuple[tuple[int, ...], DTypeLike]]:
    """Shape and dtype of every array of a replica that starts at zero, the most used ones first."""
    rules = program.rules
    n, pieces, slots = rules.peers, rules.pieces, rules.slots
    sampled = program.links is None and not rules.ideal and program.rtt.size == 1 and program.internet is None
    ends, words, served = n << rules.slot_bits, 4 * -(-pieces // 256), n << lane_bits(program)
    showing, tallied = super_ends(program), bool(rules.tallied)
    differs = bool((program.client["interest"] == k.MISSING_PIECES).any())
    return {
        "clock": ((1,), k.CLOCK),
        "round": ((len(program.class_names),), ROUND),
        "queue": ((len(program.class_names), n), np.int32),
        "peer": ((n,), PEER),
        "has": ((n + showing, words), np.uint64),
        "shown": ((n + showing, words), np.uint64),
        "want": ((n + 1, words), np.uint64),  # and of one who wants nothing, a stranger to all
        "lacks": ((n + 1 if differs else 0, words), np.uint64),
        "open": ((n, words), np.uint64),
        "seeded": ((n, words), np.uint64),
        "row": ((n, pieces), np.uint8),
        "finish": ((served,), np.float64),
        "ready": ((served,), np.float64),
        "lane": ((served,), LANE),
        "run": ((served, runs(program)), RUN),
        "begun": ((n, MOST_BEGUN << part_bits(program)), BEGUN),
        "order": ((n, slots), np.int64),
        "served": ((n, slots), np.int32),
        "recent": ((n, slots), np.int16),
        "end": ((ends,), END),
        "wire": ((1 if rules.ideal or rules.linked else ends + 2,), k.WIRE),  # and two for `transport.draw`
        "copies": ((pieces, n + 1), np.uint16),
        "have_log": ((n, pieces), np.uint16),
        "bucket": ((1024,), k.BUCKET),
        "node": ((2 * n + 16 * n + 16 * slots + 4096,), k.NODE),
        "spare": ((n, int(program.client["max_initiate"].max())), np.int32),
        "registered": ((n + 1,), np.int64),
        "scratch": ((4, max(slots, pieces, 64 * rules.blocks) + 64), np.int64),
        "number": ((2 * slots,), np.float64),
        "gaps": ((len(program.class_names), k.GAP_BINS), np.int64),
        "bursts": ((k.BURST_BINS,), np.float64),
        "soonest": ((1,), np.float64),
        "delay": (
            (
                len(program.class_names) if sampled else 0,
                1 + (1 << lane_bits(program)),
                SAMPLES + FRESH * STRETCH,
                2,
                2,
            ),
            np.float32,
        ),
        "repeats": ((len(program.class_names),), np.uint8),
        "heard": ((max(showing, 1), words), np.uint64),
        "latest": ((max(showing, 1),), np.int32),
        "offers": ((pieces,), np.int64),
        "listed": ((ends,), np.int32),
        "tally": ((ends if tallied else 1,), k.TALLY),
        "session": ((n if tallied else 1,), k.SESSION),
        "ranks": ((slots + 1 if tallied else 1,), k.RANK),
        "up": ((ends if tallied else 1,), np.uint8),
        "drawn": ((len(program.class_names), 1 + (1 << lane_bits(program))), np.uint8),
    }


def _fill_peers(s: Flow, program: Program, random: np.random.Generator) -> None:
    """Caps, places, start times; the seeds hold everything and start at time 0."""
    rules, peer, seeds, n = program.rules, s.peer, program.is_seed == 1, program.rules.peers
    peer.upload_limit, peer.klass, peer.place, peer.unit = (
        program.upload_limit,
        program.klass,
        program.place,
        program.unit,
    )
    peer.per_byte = 1.0 / program.upload_limit
    peer.upload_slots = program.upload_slots
    interval = program.client["choke_interval"][program.klass]
    peer.turns = -(-(rules.block_size + rules.header) // program.unit)
    if program.links is None:
        looks = np.maximum(1.0, np.ceil(interval * program.upload_limit / STEP_BYTES))
    else:
        looks = np.ones(n)  # and when something moves: queues.look_again
        peer.transports = program.links.transports
    peer.step = interval / looks
    peer.start = np.where(program.waits == 1, k.FOREVER, np.where(seeds, 0.0, swarm_state.starts(program, random)))
    peer.done = peer.left_at = -1.0
    peer.known_at = peer.shown_at = peer.due_at = k.FOREVER
    peer.last_have = -1e9
    peer.next_at = k.FOREVER
    peer.ending = -1
    # mean round-trip time of each peer to all others [s]
    there = np.bincount(program.place, minlength=len(s.rtt)) * 1.0
    total = (s.rtt * there).sum(axis=1) - s.rtt.diagonal()  # no matrix product, whose rounding differs by machine
    peer.rtt = np.asarray((total / max(1, len(program.place) - 1))[program.place], np.float64)
    peer.unrequested = np.where(seeds, 0, (rules.pieces - 1) * rules.blocks + rules.last_piece_blocks)
    peer.n_log[seeds] = rules.pieces
    shows, plain = program.super_seeding, seeds & ~program.super_seeding
    peer.shows[shows] = 1  # it has told nobody of anything
    peer.n_known[plain] = peer.n_shown[plain] = rules.pieces
    s.have_log[seeds] = np.arange(rules.pieces)
    everything = np.resize(swarm_state.piece_set(rules.pieces), s.has.shape[1])
    everything[-(-rules.pieces // 64) :] = 0
    s.has[: rules.peers][plain] = s.shown[: rules.peers][plain] = everything
    s.want[: rules.peers][~seeds] = s.lacks[: rules.peers][~seeds] = everything


def _start_clock(s: Flow, program: Program) -> None:
    """Empty calendar, free list over all nodes but those of timers."""
    c = s.clock[0]
    s.bucket.first = s.bucket.last = calendar.NONE
    swarm_state.free_nodes(s, 2 * program.rules.peers)
    c.width = 0.005
    c.unfinished = program.target
    s.soonest[0] = k.FOREVER


def state_bytes(program: Program) -> int:
    """Memory that one replica takes [B]; its events may add to it."""
    net = access.net_bytes(program, program.rules.peers << lane_bits(program))
    return swarm_state.memory_of(program, _layout(program)) + net
