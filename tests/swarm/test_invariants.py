"""What must hold of any swarm: bytes are accounted for, caps and bounds are kept, everybody gets everything once."""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import plain
import pytest
import states
from completion import check_completion, forwarding_bound
from hypothesis import HealthCheck, assume, event, given, settings, strategies as st
from numpy.typing import NDArray
from steps import walk
from strategies import clients, ruled_clients, transports

from btflow.analytic import kumar_ross_bound, mundinger_bound
from btflow.kernels.swarm.state import BY_QUOTA, Swarm
from btflow.swarm.program import Program, compile_scenario
from btflow.swarm.run import run_swarm, simulate
from btflow.swarm.scenario import Scenario

ASES = ("AS1", "AS2", "AS3", "AS4", "AS5")


@st.composite
def scenarios(
    draw: st.DrawFn,
    most: int = 6_000_000,
    plain_kernels: bool = False,
    of: st.SearchStrategy[dict[str, Any]] | None = None,
) -> Scenario:
    """Any small swarm; at most about `most` bytes are received in all, by clients `of` some constants."""
    leechers = draw(st.integers(2, 4 if plain_kernels else 25))
    file_size = draw(st.integers(100_000, max(150_000, min(3_000_000, most // leechers))))
    values: dict[str, Any] = {}
    if draw(st.booleans()):
        values |= {"rtt": f"{draw(st.integers(0, 1000))} ms"}
    elif draw(st.booleans()):
        values |= {"leecher_as": draw(st.lists(st.sampled_from(ASES), min_size=1, unique=True)), "seed_as": ["AS1"]}
    if draw(st.booleans()):
        values |= {"loss": draw(st.floats(0, 0.1))}
    if of is not None:
        values |= {"client": draw(of), "transport": draw(transports())}
    else:
        values |= {"initial_window": draw(st.sampled_from([3, 10]))}
    return states.scenario(
        seeds=draw(st.integers(1, 3)),
        leechers=leechers,
        file_size=f"{file_size} B",
        piece_size=f"{draw(st.sampled_from([32, 64, 128, 256, 512, 2048]))} KiB",
        upload_limit=f"{draw(st.floats(5, 200))} kB/s",
        seed_upload_limit=f"{draw(st.floats(5, 200))} kB/s",
        tso=draw(st.booleans()),
        arrival_spread=f"{draw(st.sampled_from([0, 0, 30]))} s",
        **values,
    )


def check_caps(program: Program, s: Swarm) -> None:
    """Nobody sends more than its cap allows from its start: PIECE messages, but for the unit just written."""
    rules = program.rules
    messages = s.peer.bytes_up * (1 + rules.header / rules.block_size)
    since = s.clock[0].now - s.peer.start + quota_ahead(program)
    assert (messages <= program.upload_limit * since + program.unit + 1e-3).all()


def quota_ahead(program: Program) -> NDArray[np.float64]:
    """Time for which a peer may have been paid already: a quota is for all of its interval [s]."""
    client = program.client[program.klass]
    return np.where(client["limiter"] == BY_QUOTA, client["limiter_interval"], 0.0)


class Caps:
    """Whether an uploader exceeds its cap between any two moments at which it has written a block.

    A unit is written at once and paid for afterwards, at the cap: between two ends of blocks no more than the cap times
    the time, plus the unit written at the second end, less that at the first, which is paid for in between. With
    S(t) bytes written until t and a last unit of l bytes, S(t) - cap t - l must never rise from one end to the next.
    Nor may it after a time without anything to send, from the request that ends that time on, with l = 0.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.whole = np.zeros(program.rules.peers)
        self.level = np.zeros(program.rules.peers)
        self.excess: list[float] = []
        """By how much it rose [B]."""

    def resumed(self, p: int, t: float) -> None:
        """Peer `p` has something to send again at `t`."""
        paid = self.whole[p] - float(self.program.upload_limit[p]) * t
        self.level[p] = min(self.level[p], paid)

    def written(self, s: Any, p: int, h: int, t: float) -> None:
        """Peer `p` has written the block of end `h` at `t`."""
        unit, cap = int(s.peer[p].unit), float(self.program.upload_limit[p])
        block = plain.limiter.block_number(plain.limiter.entry(s, h, s.conn[h].up_head))
        message = int(plain.rules.block_bytes(s.rules, block)) + s.rules.header
        self.whole[p] += message
        ring = ((p << s.rules.slot_bits) + int(slot) for slot in s.ring[p, : s.peer[p].n_ring])
        begun = sum(int(s.conn[e].full - s.turns[e]) * unit for e in ring if s.turns[e] > 0)
        level = self.whole[p] + begun - cap * t - ((message - 1) % unit + 1)
        self.excess.append(level - self.level[p])
        self.level[p] = level

    def shared(self, s: Any, p: int, h: int, t: float) -> None:
        """As `written`, where a limit is kept in shares: all that was ever handed out, and is left, is of quotas."""
        self.whole[p] += s.tally[h].block
        ends = slice(p << s.rules.slot_bits, (p + 1) << s.rules.slot_bits)
        handed = self.whole[p] + s.session[p].left + (s.tally.paid + s.tally.given * (s.tally.asks > 0.0))[ends].sum()
        self.excess.append(handed - self.program.upload_limit[p] * (t - s.peer[p].start))


def check_bounds(scenario: Scenario, program: Program, s: Swarm) -> None:
    """Nobody is done before the seeds can have sent each byte once, nor the last before any schedule can be."""
    size, leechers = scenario.swarm.file_size, program.is_seed == 0
    seed_rate, rates = float(program.upload_limit[~leechers].sum()), program.upload_limit[leechers]
    done = s.peer.done[leechers]
    assert done.min() >= size / seed_rate
    assert done.max() >= kumar_ross_bound(size, seed_rate, rates)
    assert done.max() >= forwarding_bound(size, scenario.swarm.piece_size, seed_rate, rates)
    if scenario.seeds == 1 and seed_rate == rates[0]:
        # The last block may be short: count the others. A block comes from one peer, which holds it when it starts.
        blocks = size // program.rules.block_size
        sent = blocks * program.rules.block_size
        assert done.max() >= mundinger_bound(sent, seed_rate, len(rates), blocks)


def check(scenario: Scenario, program: Program, s: Swarm) -> None:
    check_completion(program, s)
    check_caps(program, s)
    check_bounds(scenario, program, s)


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(scenarios(most=60_000_000), st.integers(0, 2**32))
def test_random_swarms_end_as_they_must(scenario: Scenario, seed: int) -> None:
    program = compile_scenario(scenario)
    s = run_swarm(program, seed, 0)
    check(scenario, program, s)
    size, block = scenario.swarm.file_size, program.rules.block_size
    extra = s.peer.bytes_down[program.is_seed == 0] - size
    short = block - program.rules.last_block_size
    missing = s.peer.duplicates[program.is_seed == 0] * block - extra  # of duplicates of the short last block
    assert (missing >= 0).all()
    assert (missing == 0).all() if short == 0 else (missing % short == 0).all()
    assert s.peer.bytes_up.sum() >= s.peer.bytes_down.sum()
    event("no delay" if program.rules.ideal else f"loss: {program.loss > 0}")
    event(f"endgame duplicates: {bool(s.peer.duplicates.any())}")


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(scenarios(most=30_000_000, of=clients() | ruled_clients()), st.integers(0, 2**32))
def test_swarms_end_as_they_must_whatever_the_constants_of_client_and_transport(scenario: Scenario, seed: int) -> None:
    program = compile_scenario(scenario)
    # Who is choked again before its request arrives gets nothing: such swarms may go on for ever. A client that asks by
    # its clock asks that much later.
    wait = 3.0 * scenario.longest_rtt + 2.0 * program.client["request_interval"].max()
    assume(program.client["choke_interval"].min() > wait)
    with stopped_after(120.0):
        s = run_swarm(program, seed, 0)
    check(scenario, program, s)
    event(f"choker {program.client['choker'][0]}, picker {program.client['picker'][0]}")


@contextmanager
def stopped_after(seconds: float) -> Iterator[None]:
    """Let this process end if the block does not: compiled code cannot be interrupted."""
    faulthandler.dump_traceback_later(seconds, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.mark.slow
@settings(max_examples=14, suppress_health_check=[HealthCheck.too_slow])
@given(scenarios(most=4_000_000), st.integers(0, 2**32))
def test_bytes_sent_are_bytes_received(scenario: Scenario, seed: int) -> None:
    program = compile_scenario(scenario)
    s, ledger = walk(program, seed)
    check(scenario, program, s)
    assert s.peer.bytes_up.sum() == ledger.received + ledger.dropped + sum(ledger.flying.values())
    assert s.peer.bytes_down.sum() == ledger.received
    for p in np.flatnonzero(program.is_seed == 0):
        assert s.peer.bytes_down[p] == scenario.swarm.file_size + ledger.duplicate[int(p)]
    if not program.rules.ideal:
        blocks = (program.rules.pieces - 1) * program.rules.blocks + program.rules.last_piece_blocks
        leechers = np.flatnonzero(program.is_seed == 0)
        assert set(ledger.kept) == {(int(p), block) for p in leechers for block in range(blocks)}
        assert set(ledger.kept.values()) == {1}


@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(scenarios(most=600_000, plain_kernels=True), st.integers(0, 2**32))
def test_nobody_serves_or_is_asked_for_what_it_does_not_hold_or_exceeds_its_cap(scenario: Scenario, seed: int) -> None:
    program = compile_scenario(scenario)
    asked: list[bool] = []
    served: list[bool] = []
    caps = Caps(program)

    def enter(s: Any, h: int, block: int) -> None:
        asked.append(plain.bits.has_piece(s.has, states.other(s, h), int(block) // s.rules.blocks))
        requests(s, h, block)

    def finish(s: Any, p: int, t: float) -> int:
        h = int(written(s, p, t))
        block = plain.limiter.block_number(plain.limiter.entry(s, h, s.conn[h].up_head))
        receiver = states.other(s, h)
        served.append(plain.bits.has_piece(s.has, p, block // s.rules.blocks) and receiver >= 0)
        caps.written(s, p, h, t)
        return h

    def pay(s: Any, h: int, t: float) -> None:
        p = h >> s.rules.slot_bits
        block = plain.limiter.block_number(plain.limiter.entry(s, h, s.conn[h].up_head))
        served.append(plain.bits.has_piece(s.has, p, block // s.rules.blocks))
        assert s.tally[h].block == plain.rules.block_bytes(s.rules, block) + s.rules.header
        paid(s, h, t)
        caps.shared(s, p, h, t)

    def join(s: Any, h: int, t: float) -> None:
        if s.peer[h >> s.rules.slot_bits].n_ring == 0:
            caps.resumed(h >> s.rules.slot_bits, t)
        joined(s, h, t)

    requests, written, joined = plain.requests.enter, plain.limiter.finish, plain.limiter.join
    paid = plain.limiter.pay
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain.requests, "enter", enter)
        patch.setattr(plain.limiter, "finish", finish)
        patch.setattr(plain.limiter, "join", join)
        patch.setattr(plain.limiter, "pay", pay)
        s = plain.simulate.run_swarm(program, seed, 0)
    check(scenario, program, s)
    blocks = -(-scenario.swarm.file_size // program.rules.block_size)
    assert len(asked) >= scenario.leechers * blocks
    assert len(served) >= scenario.leechers * blocks
    assert all(asked)
    assert all(served)
    assert caps.excess
    assert max(caps.excess) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("rtt", ["0 ms", "1 ms", "80 ms"])
@pytest.mark.parametrize("client", ["mainline-4.0", "libtorrent-2", "transmission-3"])
def test_messages_of_a_connection_arrive_in_the_order_they_were_sent(client: str, rtt: str, seed: int) -> None:
    program = compile_scenario(
        states.scenario(
            seeds=2,
            leechers=10,
            file_size="400 kB",
            piece_size="32 KiB",
            upload_limit="150 kB/s",
            rtt=rtt,
            loss=0.07,
            arrival_spread="0 s",
            client={"base": client},
        )
    )
    waiting: dict[tuple[int, int], list[tuple[int, int]]] = {}
    kinds = {int(kind) for kind in (*range(int(plain.state.UNCHOKE) + 1), plain.state.BITFIELD)}
    out_of_order = []

    def post(s: Any, time: float, kind: int, target: int, arg: int, generation: int) -> None:
        if int(kind) in kinds:
            waiting.setdefault((int(target), int(generation)), []).append((int(kind), int(arg)))
        original["post"](s, time, kind, target, arg, generation)

    def receive(s: Any, kind: int, h: int, arg: int, t: float) -> None:
        if int(kind) in kinds:
            sent = waiting[int(h), int(s.conn[h].generation)]
            if sent[0] != (int(kind), int(arg)):
                out_of_order.append((t, kind, arg, sent[0]))
            sent.remove((int(kind), int(arg)))
        original["receive"](s, kind, h, arg, t)

    original = {"post": plain.messages.post, "receive": plain.engine.receive}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain.messages, "post", post)
        patch.setattr(plain.engine.calendar, "post", post)
        patch.setattr(plain.engine, "receive", receive)
        plain.simulate.run_swarm(program, seed, 0)
    assert len(waiting) > 100
    assert not out_of_order


def test_a_dataset_says_the_same_as_the_state() -> None:
    scenario = states.scenario(leechers=8, file_size="700 kB", rtt="80 ms", loss=0.03)
    result = simulate(scenario, seed=5, replicas=2)
    s = run_swarm(compile_scenario(scenario), 5, 1)
    assert (result.bytes_sent[1] == s.peer.bytes_up).all()
    assert (result.bytes_received[1] == s.peer.bytes_down).all()
    assert (result.completion_time[1, 1:] == s.peer.done[1:] - s.peer.start[1:]).all()
