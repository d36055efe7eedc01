"""An upload limit in shares: the same blocks at the same times as libtorrent's bandwidth manager, in plain words."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import plain
import pytest
import states
from hypothesis import event, example, given, settings, strategies as st

CONNECTIONS = 5
HEADER = 13
START = 0.3
PROGRAMS = {
    counts: states.program(
        leechers=CONNECTIONS,
        file_size="1000000 B",
        rules={"ideal": 0},
        client={"base": "libtorrent-2", "limit_counts": counts},
    )
    for counts in ("messages", "packets")
}
PROGRAM = PROGRAMS["messages"]
CLIENT = PROGRAM.client[0]
MESSAGE = int(PROGRAM.rules.state_size)
INTERVAL, KEPT, SPARE = (float(CLIENT[name]) for name in ("limiter_interval", "quota_kept", "quota_spare"))
BLOCK = int(PROGRAM.rules.block_size) + HEADER

Histories = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.01, 0.13, 0.4, 1.1, 2.9, 8.3]),
        st.integers(0, CONNECTIONS - 1),
        st.sampled_from([0, 0, 1, 2, 3, 4, 6]),
        st.sampled_from([0.0, 0.0, 0.0, 0.7, 3.1]),
    ),
    min_size=1,
    max_size=25,
)
"""Sequences of (wait [s], connection, blocks it asks for, time for which its socket is full after the first [s]).

No blocks stand for a message.
"""


@dataclass(eq=False)
class Connection:
    """What libtorrent keeps of one."""

    front: list[int] = field(default_factory=list)
    """Messages before the blocks in its send buffer, and those behind the first one."""
    behind: list[int] = field(default_factory=list)
    wrote_at: float = -1.0
    others: Counter[int] = field(default_factory=Counter)
    """Messages and headers in each second of the session [B]."""
    requests: int = 0
    """Blocks that were asked of it and are not in its send buffer."""
    buffer: list[int] = field(default_factory=list)
    """What is not written yet of the blocks in its send buffer: at most one, and one behind it."""
    quota: float = 0.0
    waits: list[float] = field(default_factory=list)
    """Size of its request, what it has got of it, and in how many quotas."""
    sent: Counter[int] = field(default_factory=Counter)
    """Bytes in each second of the session."""
    full_until: float = 0.0

    def rate(self, t: float) -> float:
        """stat.cpp: a second counts a fifth."""
        mean = 0.0
        for second in range(seconds(t)):
            mean = 0.8 * mean + 0.2 * (self.sent[second] + self.others[second])
        return mean

    def wrote(self, size: int, t: float) -> int:
        """stat.hpp, trancieve_ip_packet: headers of a write; small ones of an instant are one. Returns the headers."""
        headers = 40 * math.ceil(size / 1460) if size > 1460 or self.wrote_at != t else 0
        self.others[seconds(t)] += headers
        self.wrote_at = t
        return headers


class Manager:
    """bandwidth_manager.cpp for one session with a limit; records (time, connection) as blocks are written."""

    def __init__(self, limit: float, counts: str) -> None:
        self.limit, self.left, self.counts, self.headers = limit, 0.0, counts, 0.0
        self.connections = [Connection() for _ in range(CONNECTIONS)]
        self.order: list[int] = []
        """Connections with a block to send, as they came."""
        self.written: list[tuple[float, int]] = []

    def request(self, i: int, size: int, t: float) -> None:
        """peer_connection.cpp, request_bandwidth."""
        c = self.connections[i]
        size = max(size, sum(c.buffer) + sum(c.front) + sum(c.behind))
        wanted = math.ceil(max(size, 2.0 * INTERVAL * c.rate(t)) - c.quota)
        if c.waits or wanted <= 0:
            return
        if self.left - wanted >= SPARE * self.limit:
            self.left -= wanted
            c.quota += wanted
        else:
            c.waits = [wanted, 0.0, 0]

    def update_quotas(self, t: float) -> None:
        """What the limit gives in an interval, and what is left, for all that wait in equal parts."""
        waiting = [c for c in self.connections if c.waits]
        if not waiting:
            return
        self.left = min(self.left + self.limit * INTERVAL, KEPT * self.limit)
        part = self.left / len(waiting)
        for c in waiting:
            given = min(part, c.waits[0] - c.waits[1])
            self.left -= given
            c.waits[1] += given
            c.waits[2] += 1
            if c.waits[1] > c.waits[0] - 1e-3:
                c.quota += c.waits[0]
                c.waits = []
            elif c.waits[2] >= 20 and c.waits[1] >= 1.0:
                c.quota += int(c.waits[1])
                c.waits = []
        for i, c in enumerate(self.connections):
            if c in waiting and not c.waits and (c.buffer or c.front):
                self.request(i, 0, t)

    def second_tick(self) -> None:
        """peer_connection.cpp: what headers took in a second is taken from what is left, if packets count."""
        self.left -= self.headers if self.counts == "packets" else 0.0
        self.headers = 0.0

    def say(self, i: int, t: float) -> None:
        """A message comes into the send buffer."""
        c = self.connections[i]
        (c.behind if c.buffer else c.front).append(MESSAGE)
        self.request(i, 0, t)
        self.write_messages(i, t)

    def write_messages(self, i: int, t: float) -> None:
        """Those that are next and paid for are written."""
        c = self.connections[i]
        while c.front and c.quota >= c.front[0]:
            size = c.front.pop(0)
            c.quota -= size
            self.headers += c.wrote(size, t)
            c.others[seconds(t)] += size
        if c.front or c.behind:
            self.request(i, 0, t)

    def fill(self, i: int, t: float) -> None:
        """peer_connection.cpp, fill_send_buffer, and write_piece once the block is read: first its header asks."""
        c = self.connections[i]
        little = max(10240.0, 0.5 * c.sent[seconds(t) - 1])
        reads = c.requests > 0 and len(c.buffer) < 2 and sum(c.buffer) < little
        if c.buffer:
            self.request(i, max(16384 if reads else 0, sum(c.buffer)), t)
        elif reads:
            self.request(i, HEADER, t)
        if reads:
            c.requests -= 1
            c.buffer.append(BLOCK)
            self.request(i, sum(c.buffer), t)

    def send(self, t: float, stalls: dict[int, float]) -> None:
        """Write what is paid for."""
        for i in list(self.order):
            c = self.connections[i]
            while c.buffer and c.full_until <= t and c.quota > 0 and not c.front:
                size = int(min(c.buffer[0], c.quota))
                c.quota -= size
                c.buffer[0] -= size
                self.headers += c.wrote(size, t)
                c.sent[seconds(t)] += size
                if not c.buffer[0]:
                    self.written.append((t, i))
                    del c.buffer[0]
                    c.front, c.behind = c.front + c.behind, []
                    self.write_messages(i, t)
                    c.full_until = t + stalls.pop(i, 0.0)
                    if c.buffer and c.quota and c.full_until <= t:
                        self.request(i, sum(c.buffer), t)
                        continue  # in one go
                self.fill(i, t)
        self.order = [i for i in self.order if self.connections[i].buffer and self.connections[i].full_until <= t]


class Engine:
    """The engine's limiter of one seed, driven by hand."""

    def __init__(self, limit: float, counts: str) -> None:
        s = self.s = states.connected(PROGRAMS[counts])
        s.peer[0].upload_limit, s.peer[0].start = limit, START
        self.ends = [states.end(s, 0, q) for q in range(1, CONNECTIONS + 1)]
        for h in self.ends:
            s.up[h] = states.UNCHOKED | states.TOLD | states.INTERESTED
        self.stalls: dict[int, float] = {}
        self.flushes: list[tuple[float, int]] = []
        self.written: list[tuple[float, int]] = []

    def deliver(self, s: Any, h: int, seq: int, gap: float, units: int, t: float) -> None:
        """Stand in for TCP."""
        del seq, gap, units
        i = self.ends.index(h)
        self.written.append((t, i))
        if i in self.stalls:
            plain.ends.raise_flag(s.up, h, plain.state.BLOCKED)
            plain.peer_set.leave_ring(s, h)
            self.flushes.append((t + self.stalls.pop(i), h))

    def due(self) -> float:
        timer = float(self.s.node[0].time) if self.s.node[0].bucket != plain.calendar.NONE else math.inf
        return min(timer, min(self.flushes, default=(math.inf, 0))[0])

    def act(self) -> float:
        """Handle what is due first, and return when that is."""
        s, t = self.s, self.due()
        s.clock[0].now = t
        if s.node[0].bucket != plain.calendar.NONE and s.node[0].time == t:
            plain.calendar.remove(s, 0)
            plain.engine.write_paid(s, 0, t)
        else:
            self.flushes.sort()
            plain.engine.flushed(s, self.flushes.pop(0)[1], t)
        return t

    def say(self, i: int, t: float) -> None:
        self.s.clock[0].now = t
        plain.messages.write(self.s, self.ends[i], plain.state.INTERESTED, plain.state.NIL, t)

    def request(self, i: int, blocks: int, t: float) -> None:
        s, h = self.s, self.ends[i]
        s.clock[0].now = t
        for _ in range(blocks):
            states.requests(s, h)[s.conn[h].up_seen & (s.requests.shape[1] - 1)] = 0
            plain.limiter.got_request(s, h, 1, t)


def tick_after(t: float) -> float:
    """Return the first tick of the session after a time."""
    return START + INTERVAL * (math.floor((t - START) / INTERVAL + 1e-9) + 1)


def seconds(t: float) -> int:
    """session_impl.cpp: the last one was 0.9 s before the start, so the first ends with the first tick."""
    return math.floor(t - START - INTERVAL + 1e-9) + 1


def close(mine: list[tuple[float, int]], other: list[tuple[float, int]]) -> bool:
    """Return whether both are the same blocks at the same times, in any order within an instant."""
    first, second = (sorted((round(t, 6), i) for t, i in written) for written in (mine, other))
    return first == second


@pytest.mark.slow
@given(Histories, st.sampled_from([3_000.0, 30_000.0, 80_000.0, 200_000.0, 1_000_000.0]), st.sampled_from([*PROGRAMS]))
@example([(0.0, 0, 6, 0.0), (0.0, 0, 6, 0.0)], 30_000.0, "messages")  # the buffer was not filled up between two blocks
@example(
    [(0.0, 0, 4, 0.0), (0.0, 4, 4, 3.1), (0.0, 0, 3, 0.0), (2.9, 3, 6, 0.7), (0.4, 4, 3, 0.0), (1.1, 4, 3, 0.7)],
    80_000.0,
    "messages",
)
@settings(max_examples=60)
def test_blocks_are_written_when_the_bandwidth_manager_pays(
    history: list[tuple[float, int, int, float]], limit: float, counts: str
) -> None:
    engine, manager = Engine(limit, counts), Manager(limit, counts)
    stalls: dict[int, float] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain.engine, "deliver", engine.deliver)
        t = 1.0713  # never a tick: those are at 0.3 s and 0.8 s
        for wait, i, blocks, stall in [*history, (60.0, 0, 1, 0.0)]:
            follow(engine, manager, stalls, t, t + wait)
            t += wait
            c = manager.connections[i]
            if not blocks:
                manager.say(i, t)
                engine.say(i, t)
                check(engine, manager)
                continue
            if stall:
                engine.stalls[i] = stalls[i] = stall
            c.requests += blocks
            if not c.buffer:
                manager.fill(i, t)
            if i not in manager.order and c.full_until <= t:
                manager.order.append(i)
            manager.send(t, stalls)
            engine.request(i, blocks, t)
            while engine.due() <= t:
                engine.act()
            assert close(engine.written, manager.written)
            check(engine, manager)
    event(f"{len(engine.written) // 20 * 20} blocks or more")


def follow(engine: Engine, manager: Manager, stalls: dict[int, float], begin: float, end: float) -> None:
    """Let both do what is due until `end`."""
    now = begin
    while True:
        freed = [(c.full_until, i) for i, c in enumerate(manager.connections) if c.full_until > now]
        now = min(tick_after(now), min(freed, default=(math.inf, 0))[0])
        if now > end:
            break
        for at, i in freed:
            if at <= now and manager.connections[i].buffer and i not in manager.order:
                manager.order.append(i)
        if abs(now - tick_after(now - 1e-6)) < 1e-9:
            manager.update_quotas(now)
            if seconds(now) > seconds(now - 1e-6):
                manager.second_tick()
            for i, c in enumerate(manager.connections):
                if c.front and c.quota:
                    manager.write_messages(i, now)
        manager.send(now, stalls)
    while engine.due() <= end:
        engine.act()


def check(engine: Engine, manager: Manager) -> None:
    """Shares, requests and what is left are the manager's."""
    s = engine.s
    plain.limiter_shares.settle(s, 0, s.clock[0].now)
    assert s.session[0].left == pytest.approx(manager.left, abs=1e-3)
    for h, c in zip(engine.ends, manager.connections, strict=True):
        assert s.tally[h].mail == sum(c.front) + sum(c.behind)
        assert s.tally[h].paid == pytest.approx(c.quota, abs=1e-3)
        assert s.tally[h].asks == pytest.approx(c.waits[0] if c.waits else 0.0, abs=1e-3)
        assert (s.tally[h].asks == 0.0) == (not c.waits)
