"""Records a swarm: which peer has which piece from when on, and looks at who sends to whom.

Columns of the trace, times in seconds:

    have                      (peers, pieces): when a peer has a piece, in parts of the trace's length; ALWAYS, NEVER
    start, done, left         (peers,): of the client; NaN if it does not
    limit, class, seed        (peers,): what it may send [B/s]; place among ``about["classes"]``; whether it had it all
    time                      (looks,): when peers were looked at
    sent, queue               (looks, peers): what it sent since the look before [B]; wait in the uplink's queue [s].
                              On access links what went over the uplink, headers and ACKs included: a client writes
                              blocks into sockets faster than they leave. Payload elsewhere
    unchoked, interested      (looks, peers): connections on which it serves; others that want pieces from it
    rounds                    (looks,): how often the first seed's choker has run
    pairs                     (looks + 1,): where those of a look begin in the following, the strongest first
    source, sink, share       (pairs,): who sent to whom since the look before, in units of ``about["unit"]`` [B]
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from btflow.errors import InputError
from btflow.kernels.flow.state import FREE_LANE, Flow as FlowState
from btflow.kernels.link import state as link
from btflow.kernels.swarm import state as k
from btflow.motion.trace import Trace, pace
from btflow.options import Fidelity
from btflow.swarm import run
from btflow.swarm.program import Program, compile_scenario
from btflow.swarm.replica import sending_rate

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from btflow.kernels.access.state import Access
    from btflow.kernels.swarm.state import Swarm
    from btflow.swarm.scenario import Scenario

MOST_CELLS = 300_000
"""Peers times pieces at most, 2 B each."""

MOST_STATES, MOST_LOOKS, MOST_PEERS = 60_000, 300, 1500
"""Peers times looks at them, 12 B each; looks and peers at most."""

MOST_PAIRS = 100_000
"""Pairs that are sending, in all looks together, 6 B each: of a look with more the strongest are kept."""

STEPS, ALWAYS, NEVER = 65_000, 65_534, 65_535
"""Parts of the trace's length in which times of pieces are given; of a seed's; of who never has it."""

_FIRST_STEP = 0.05
"""Time between two looks at first [s]; when there are too many, every other one is taken into the next."""


_IDLE = 1e-6
"""Weight of a connection that has nothing to send just now: it counts where a peer sent and has no other."""


class _Look(NamedTuple):
    """What peers were at, and what they sent since the look before."""

    time: float
    sent: NDArray[np.float64]
    """[B] (peers,)"""
    queue: NDArray[np.float64]
    """[s] (peers,)"""
    unchoked: NDArray[np.int64]
    interested: NDArray[np.int64]
    rounds: int
    pairs: NDArray[np.int64]
    """Source times peers, plus sink, ascending (pairs,)"""
    shares: NDArray[np.float64]
    """[B] (pairs,)"""


def record(
    scenario: Scenario, seed: int, fidelity: Fidelity = "full", progress: Callable[[float], None] | None = None
) -> Trace:
    """Run a swarm to its end and return what moved, of its first replica; see the module.

    What is recorded is read between events, in larger and smaller chunks of which the results do not depend.

    Raises:
        SimulationError: The swarm does not finish.
    """
    program = compile_scenario(scenario, fidelity)
    run.check_memory(scenario, run.swarm_bytes(program))
    run.load_kernels(program)
    watch = _Watch(program, progress)
    state, links = run.run_with_links(program, seed, 0, watch)
    watch.take(state, links)
    return _trace(scenario, program, seed, state, watch)


def check(scenario: Scenario) -> None:
    """Raise an InputError if a trace would be too large."""
    rules = compile_scenario(scenario).rules
    most = min(MOST_PEERS, MOST_CELLS // rules.pieces)
    if rules.peers > most:
        reason = f"makes {rules.peers:,} peers of {rules.pieces:,} pieces, too many for a trace"
        allowed = f"at most {most:,} peers with so many pieces: fewer leechers, or fewer and larger pieces"
        raise InputError("leechers", scenario.leechers, reason, allowed)


class _Watch:
    """Looks at a swarm while it runs; a `run.Watch`."""

    def __init__(self, program: Program, progress: Callable[[float], None] | None) -> None:
        self._program, self._progress = program, progress
        self._most = _most_looks(program)
        self._step, self._due, self._events, self._before = _FIRST_STEP, 0.0, 1, 0.0
        self._sent = np.zeros(program.rules.peers)
        self._done: NDArray[np.int64] | None = None
        self.looks: list[_Look] = []

    def __call__(self, s: Swarm | FlowState, x: Access | None) -> int:
        """Look if it is time to; return how many events to handle before the next call."""
        now = _now(s)
        if now >= self._due:
            self.take(s, x)
            self._due = now + self._step
            if self._progress is not None:
                leechers = self._program.is_seed == 0
                pieces = self._program.target * self._program.rules.pieces
                self._progress(min(1.0, int(run.held(s)[leechers].sum()) / pieces))
        passed, wanted = now - self._before, self._due - now
        grown = 2.0 if passed <= 0.0 else min(2.0, wanted / passed)
        self._events, self._before = max(1, int(self._events * grown)), now
        return self._events

    def take(self, s: Swarm | FlowState, x: Access | None) -> None:
        """Look at all peers."""
        n, sent = self._program.rules.peers, _sent(s, x)
        passed = sent - self._sent
        self._sent = sent
        if isinstance(s, FlowState):
            unchoked, interested, pairs, weights = _flow_pairs(s)
        else:
            unchoked, interested, pairs, weights = self._full_pairs(s)
        total = np.bincount(pairs // n, weights, n)
        shares = weights * (passed / np.where(total > 0.0, total, 1.0))[pairs // n]
        queue, rounds = _queue(s, x), int(s.peer.ticks[0])
        self.looks.append(_Look(_now(s), passed, queue, unchoked, interested, rounds, pairs, shares))
        if len(self.looks) > self._most:
            self._thin()

    def _full_pairs(self, s: Swarm) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
        """Who serves whom, weighted by the requests done since the last look; and who is unchoked, or wants."""
        n, bits = s.rules.peers, s.rules.slot_bits
        done = s.conn.up_head.astype(np.int64) + (s.conn.generation.astype(np.int64) << 32)
        before = np.zeros_like(done) if self._done is None else self._done
        again = done >> 32 != before >> 32
        count = np.where(again, done & 0xFFFFFFFF, done - before)
        self._done = done
        ends = np.arange(done.size)
        served = (s.up & k.UNCHOKED) != 0
        begun = served & (s.turns > 0)  # a block is being sent
        weight = count + 0.5 * begun + _IDLE * served
        open_ = (s.conn.state == k.OPEN) & (weight > 0)
        pairs = (ends[open_] >> bits) * n + (s.mate[open_] >> bits)
        owner = ends >> bits
        unchoked = np.bincount(owner[served], minlength=n)
        interested = np.bincount(owner[(s.up & k.INTERESTED_IN_US) != 0], minlength=n)
        pairs, weights = _summed(pairs, weight[open_])
        return unchoked, interested, pairs, weights

    def _thin(self) -> None:
        """Take every other look into the next, and look half as often from now on."""
        self._step *= 2.0
        kept = [self.looks[0]]
        for first, second in zip(self.looks[1::2], self.looks[2::2], strict=False):
            both = np.concatenate([first.pairs, second.pairs]), np.concatenate([first.shares, second.shares])
            pairs, shares = _summed(*both)
            kept.append(second._replace(sent=first.sent + second.sent, pairs=pairs, shares=shares))
        rest = self.looks[1 + 2 * (len(kept) - 1) :]
        self.looks = kept + rest


def _sent(s: Swarm | FlowState, x: Access | None) -> NDArray[np.float64]:
    """Return what each peer has sent up to now [B] (peers,); see the module."""
    if x is None:
        return np.array(s.peer.bytes_up, np.float64)
    uplink = x.net.queue[0::2]
    entered = uplink["served"] + np.where(np.isin(uplink["kind"], link.BY_EVENT), 0.0, uplink["bytes"])
    return np.asarray(entered - np.maximum(0.0, uplink["free_at"] - float(s.clock[0].now)) * uplink["rate"], np.float64)


def _now(s: Swarm | FlowState) -> float:
    """Return the simulated time [s]; in flow that of the peer that was looked at last."""
    now = float(s.clock[0].now)
    return max(now, float(s.peer.now.max())) if isinstance(s, FlowState) else now


def _summed(pairs: NDArray[np.int64], values: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return each pair once, with the sum of its values."""
    unique, place = np.unique(pairs, return_inverse=True)
    return unique, np.bincount(place, values, unique.size).astype(np.float64)


def _flow_pairs(s: FlowState) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """At flow fidelity the lanes that serve; they share evenly what a peer sends. It knows no interest by itself."""
    n, bits = s.rules.peers, s.rules.slot_bits
    serving = np.flatnonzero(s.lane.state != FREE_LANE)
    owner = serving >> s.lane_bits
    unchoked = np.bincount(owner, minlength=n)
    pairs, weights = _summed(owner * n + (s.lane.g[serving] >> bits), np.where(s.lane.runs[serving] > 0, 1.0, _IDLE))
    return unchoked, unchoked, pairs, weights


def _queue(s: Swarm | FlowState, x: Access | None) -> NDArray[np.float64]:
    """Return the wait in each peer's uplink [s] (peers,); 0 if they have none."""
    if isinstance(s, FlowState):
        seen = np.asarray(s.net.link.seen, np.float64)
        return seen.copy() if seen.size == s.rules.peers else np.zeros(s.rules.peers)
    if x is None:
        return np.zeros(s.rules.peers)
    uplink = x.net.queue[0::2]
    by_event = np.isin(uplink["kind"], link.BY_EVENT)
    now = float(s.clock[0].now)
    waits = np.where(by_event, uplink["bytes"] / uplink["rate"], np.maximum(0.0, uplink["free_at"] - now))
    return np.asarray(waits, np.float64)


def _trace(scenario: Scenario, program: Program, seed: int, s: Swarm | FlowState, watch: _Watch) -> Trace:
    """Return the columns of what was seen, and of the state at the end."""
    peer, looks = s.peer, watch.looks
    end = max(_now(s), float(peer.done.max()))  # flow knows of what is on its way
    started = peer.start < k.FOREVER
    seeds = program.is_seed == 1
    parts = np.ceil(s.have_time * (STEPS / end))
    times = np.where(np.isnan(parts), NEVER, np.minimum(np.nan_to_num(parts), STEPS)).astype(np.uint16)
    have, (owner, place) = np.full_like(times, NEVER), np.nonzero(times != NEVER)
    have[owner, s.have_log[owner, place]] = times[owner, place]  # they are in the order in which a peer had them
    have[seeds] = ALWAYS
    strongest = MOST_PAIRS // _most_looks(program)
    pairs, unit = _pairs(looks, program.rules.peers, strongest)
    carried = float(pairs["share"].sum(dtype=float) * unit / max(1.0, sum(look.sent.sum() for look in looks)))
    about = {
        "kind": "swarm",
        "title": scenario.title,
        "model": scenario.name,
        "seed": seed,
        "fidelity": program.fidelity,
        "start": 0.0,
        "length": end,
        "pace": pace(end),
        "classes": list(program.class_names),
        "linked": program.links is not None,
        "steps": STEPS,
        "unit": unit,
        "strongest": strongest,
        "carried": carried,
    }
    columns: dict[str, NDArray[Any]] = {
        "have": have,
        "start": np.where(started, peer.start, math.nan).astype(np.float32),
        "done": np.where((peer.done >= 0.0) & ~seeds, peer.done, math.nan).astype(np.float32),
        "left": np.where(peer.left_at >= 0.0, peer.left_at, math.nan).astype(np.float32),
        "limit": sending_rate(program).astype(np.float32),
        "class": program.klass.astype(np.uint8),
        "seed": seeds.astype(np.uint8),
        "time": np.array([look.time for look in looks], np.float32),
        "sent": np.array([look.sent for look in looks], np.float32),
        "queue": np.array([look.queue for look in looks], np.float32),
        "unchoked": np.array([look.unchoked for look in looks], np.uint16),
        "interested": np.array([look.interested for look in looks], np.uint16),
        "rounds": np.array([look.rounds for look in looks], np.uint32),
    }
    return Trace(about, columns | pairs)


def _most_looks(program: Program) -> int:
    return min(MOST_LOOKS, MOST_STATES // int(program.rules.peers))


def _pairs(looks: list[_Look], peers: int, most: int) -> tuple[dict[str, NDArray[Any]], float]:
    """Return the columns of who sent to whom, the strongest of each look, and their unit [B]."""
    unit = max((float(look.shares.max(initial=0.0)) for look in looks), default=0.0) / 65535 or 1.0
    starts, found = [0], []
    for look in looks:
        order = np.argsort(-look.shares, kind="stable")[:most]
        order = order[look.shares[order] >= 0.5 * unit]
        found.append((look.pairs[order], look.shares[order]))
        starts.append(starts[-1] + order.size)
    pairs = np.concatenate([pair for pair, _ in found]) if found else np.zeros(0, np.int64)
    shares = np.concatenate([share for _, share in found]) if found else np.zeros(0)
    return {
        "pairs": np.array(starts, np.uint32),
        "source": (pairs // peers).astype(np.uint16),
        "sink": (pairs % peers).astype(np.uint16),
        "share": np.rint(shares / unit).astype(np.uint16),
    }, unit
