"""The upload limiter: the same blocks at the same times as a loop that takes every 1380 B turn by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import plain
import pytest
import states
from hypothesis import assume, event, given, reject, settings, strategies as st
from naive import UnitLimiter

CONNECTIONS = 6
TICK = Fraction(1, 997)
"""Arrival times are multiples of this [s], so that they seldom fall on a turn."""
HAVE, HAVE_BYTES = plain.state.HAVE, 9
HEADER, UNIT = 13, 1380

PROGRAM = states.program(
    leechers=CONNECTIONS,
    file_size="1000000 B",
    rules={"ideal": 0, "nagle": 0},
    client={"max_uploads": CONNECTIONS},
)
RULES = PROGRAM.rules
LAST = (RULES.pieces - 1) * RULES.blocks + RULES.last_piece_blocks - 1


def message_size(block: int) -> int:
    return HEADER + int(RULES.last_block_size if block == LAST else RULES.block_size)


@dataclass
class Op:
    """Something that happens to a connection of the uploader."""

    at: Fraction
    """[s]"""
    kind: str
    connection: int
    block: int = 0


class Engine:
    """The engine's limiter of one seed, driven by hand; records (time, connection, block) as blocks are written."""

    def __init__(self, cap: float, stalls: dict[int, Fraction]) -> None:
        s = self.s = states.connected(PROGRAM)
        s.peer[0].upload_limit = cap
        self.ends = [states.end(s, 0, q) for q in range(1, CONNECTIONS + 1)]
        for h in self.ends:
            s.up[h] = states.UNCHOKED | states.TOLD | states.INTERESTED
        s.peer[0].n_unchoked = CONNECTIONS
        self.stalls = stalls
        self.flushes: list[tuple[float, int]] = []
        self.written: list[tuple[float, int, int]] = []

    def advance(self, t: float) -> None:
        """Handle the timer and the flushes that are due before `t`."""
        s = self.s
        while True:
            timer = s.node[0].time if s.node[0].bucket != plain.calendar.NONE else t
            flush = min(self.flushes, default=(t, 0))
            if min(timer, flush[0]) >= t:
                return
            if timer < flush[0]:
                plain.calendar.remove(s, 0)
                self._write(float(timer))
            else:
                self.flushes.remove(flush)
                s.clock[0].now = flush[0]
                plain.engine.flushed(s, flush[1], flush[0])

    def _write(self, t: float) -> None:
        heads = [int(self.s.conn[h].up_head) for h in self.ends]
        blocks = [int(plain.limiter.entry(self.s, h, seq)) for h, seq in zip(self.ends, heads, strict=True)]
        self.s.clock[0].now = t
        before = self.s.peer[0].bytes_up
        plain.engine.block_written(self.s, 0, t)
        i = next(i for i, h in enumerate(self.ends) if h == self.sent_by)
        self.written.append((t, i, blocks[i]))
        assert self.s.peer[0].bytes_up - before == message_size(blocks[i]) - HEADER

    def deliver(self, s: Any, h: int, seq: int, gap: float, units: int, t: float) -> None:
        """Stand in for TCP: the socket takes data again when the script says."""
        del gap
        self.sent_by = h
        block = int(plain.limiter.entry(s, h, seq))
        assert units == -(-message_size(block) // UNIT)
        if block in self.stalls:
            plain.ends.raise_flag(s.up, h, plain.state.BLOCKED)
            plain.peer_set.leave_ring(s, h)
            self.flushes.append((t + float(self.stalls[block]), h))

    def do(self, op: Op) -> None:
        s, h, t = self.s, self.ends[op.connection], float(op.at)
        self.advance(t)
        s.clock[0].now = t
        if op.kind == "request":
            states.requests(s, h)[s.conn[h].up_seen & (s.requests.shape[1] - 1)] = op.block
            plain.limiter.got_request(s, h, 1, t)
        elif op.kind == "cancel":
            seqs = range(s.conn[h].up_head, s.conn[h].up_seen)
            for seq in (q for q in seqs if plain.limiter.entry(s, h, q) == op.block):
                plain.limiter.got_cancel(s, h, seq, t)
        elif op.kind == "choke":
            plain.choking.choke(s, h, t)
        elif op.kind == "unchoke":
            plain.choking.unchoke(s, h, t)
        elif op.kind == "have":
            plain.messages.send(s, h, HAVE, 1, t)


def loop(ops: list[Op], cap: Fraction, stalls: dict[int, Fraction]) -> UnitLimiter:
    """Return the unit-by-unit limiter after the same operations."""
    naive = UnitLimiter(cap, CONNECTIONS, UNIT)
    naive.stalls = stalls
    actions: dict[str, Callable[[Op], None]] = {
        "request": lambda op: naive.request(op.connection, op.block, message_size(op.block), op.at),
        "cancel": lambda op: naive.cancel(op.connection, op.block, op.at),
        "choke": lambda op: naive.choke(op.connection, op.at),
        "unchoke": lambda op: naive.unchoke(op.connection, op.at),
        "have": lambda op: naive.control(op.connection, HAVE_BYTES, op.at),
    }
    for op in ops:
        actions[op.kind](op)
    naive.advance(Fraction(10**6))
    return naive


def compare(ops: list[Op], cap: Fraction, stalls: dict[int, Fraction] | None = None) -> UnitLimiter:
    """Run both limiters and compare what is written when."""
    ops = sorted(ops, key=lambda op: op.at)
    naive = loop(ops, cap, stalls or {})
    ends = {t + (stalls or {}).get(block, Fraction(0)) for t, _, block in naive.written}
    moments = sorted([*naive.turns, *(op.at for op in ops), *(ends - set(naive.turns))])
    if any(a < b < a + Fraction(1, 10**8) for a, b in pairwise(moments)):
        reject()  # too close to call in floating point
    if set(naive.turns) & {op.at for op in ops if op.kind != "request"}:
        reject()
    engine = Engine(float(cap), stalls or {})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain.engine, "deliver", engine.deliver)
        for op in ops:
            engine.do(op)
        engine.advance(1e6)
    expected = naive.written
    assert [(c, block) for _, c, block in engine.written] == [(c, block) for _, c, block in expected]
    assert [t for t, _, _ in engine.written] == pytest.approx([float(t) for t, _, _ in expected], rel=1e-9)
    return naive


CAPS = st.integers(5_000, 200_000).map(Fraction)
MOMENTS = st.integers(1, 60_000).map(lambda n: n * TICK)
NUMBERS = st.integers(0, CONNECTIONS - 1)


@st.composite
def requests(draw: st.DrawFn) -> list[Op]:
    """Requests in bursts on up to six connections, each block at most once."""
    ops: list[Op] = []
    blocks = draw(st.permutations(range(LAST + 1)))
    for at, c, n in draw(st.lists(st.tuples(MOMENTS, NUMBERS, st.integers(1, 5)), min_size=1, max_size=9)):
        ops += [Op(at, "request", c, blocks.pop()) for _ in range(n)]
    if draw(st.booleans()) and all(op.block != LAST for op in ops):
        draw(st.sampled_from(ops)).block = LAST
    # A block of one turn is sent in the instant it is asked for: no other request may share that instant.
    short = next((op for op in ops if op.block == LAST), None)
    assume(short is None or not any(op.at == short.at and op.connection != short.connection for op in ops))
    return sorted(ops, key=lambda op: op.at)


@pytest.mark.slow
@settings(max_examples=150)
@given(requests(), CAPS)
def test_blocks_are_written_when_the_loop_over_units_writes_them(ops: list[Op], cap: Fraction) -> None:
    naive = compare(ops, cap)
    assert len(naive.written) == len(ops)
    event(f"{len({op.connection for op in ops})} connections")


@pytest.mark.slow
@settings(max_examples=150)
@given(
    requests(),
    st.lists(st.tuples(MOMENTS, st.sampled_from(["choke", "unchoke", "have", "cancel"]), NUMBERS), max_size=10),
    CAPS,
    st.randoms(use_true_random=False),
)
def test_chokes_cancels_and_waiting_messages(
    ops: list[Op], others: list[tuple[Fraction, str, int]], cap: Fraction, random: Any
) -> None:
    for at, kind, connection in others:
        block = random.choice([op.block for op in ops])
        asked = next(op.connection for op in ops if op.block == block)
        ops.append(Op(at, kind, asked if kind == "cancel" else connection, block))
    naive = compare(ops, cap)
    event(f"{min(3, len(ops) - len(others) - len(naive.written))} blocks not sent")


@settings(max_examples=100)
@given(requests(), CAPS, st.lists(st.tuples(st.integers(0, LAST), st.integers(1, 20_000)), max_size=8))
def test_a_full_socket_gives_its_turns_to_the_others(
    ops: list[Op], cap: Fraction, stalls: list[tuple[int, int]]
) -> None:
    compare(ops, cap, {block: n * Fraction(1, 1009) for block, n in stalls})


def test_a_part_sent_block_is_finished_before_choke() -> None:
    ops = [Op(Fraction(0), "request", 0, 0), Op(Fraction(0), "request", 0, 1), Op(Fraction(1), "choke", 0)]
    naive = compare(ops, Fraction(5000))
    # 12 turns, the first at once: the last unit leaves when the eleven before it are paid for.
    assert [(float(t), c, block) for t, c, block in naive.written] == [(11 * 1380 / 5000, 0, 0)]


def test_a_lone_connection_gets_the_whole_cap() -> None:
    ops = [Op(Fraction(0), "request", 0, block) for block in range(10)]
    naive = compare(ops, Fraction(20_000))
    assert float(naive.written[-1][0]) == pytest.approx((10 * 16397 - 1217) / 20_000)


def test_an_idle_ring_saves_no_credit() -> None:
    ops = [Op(Fraction(0), "request", 0, 0), Op(Fraction(100), "request", 1, 1)]
    times = [t for t, _, _ in compare(ops, Fraction(10_000)).written]
    assert float(times[1] - 100) == pytest.approx(float(times[0]))
