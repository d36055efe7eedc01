"""Brute-force oracles of queue disciplines: rules of RFCs and Linux, a deque of packets, as slow as they like.

Nothing here is shared with the kernels. Times are seconds, sizes bytes.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

ARRIVAL, SERVICE = 0, 1


@dataclass(frozen=True)
class Packet:
    """One packet, and when it came."""

    number: int
    flow: int
    size: float
    at: float


@dataclass
class Settings:
    """Constants of a queue; the defaults are the RFCs'."""

    rate: float = 125_000.0
    limit_packets: float = math.inf
    limit_bytes: float = math.inf
    target: float = 0.005
    interval: float = 0.1
    mtu: float = 1500.0
    quantum: float = 1514.0
    update: float = 0.015
    burst: float = 0.15
    fair_to_hosts: bool = True


@dataclass
class Line:
    """A CoDel queue (RFC 8289): packets, and its control loop."""

    settings: Settings
    packets: deque[Packet] = field(default_factory=deque)
    dropped: list[Packet] = field(default_factory=list)
    late_until: float | None = None
    """When the interval that the first late packet began is over."""
    dropping: bool = False
    next_drop: float = 0.0
    count: int = 0
    last_count: int = 0
    size: float = 0.0
    """Bytes waiting."""

    def append(self, packet: Packet) -> None:
        """Let a packet wait."""
        self.packets.append(packet)
        self.size += packet.size

    def pop(self) -> Packet:
        """Take the first packet."""
        packet = self.packets.popleft()
        self.size -= packet.size
        return packet

    def take(self, t: float) -> tuple[Packet | None, bool]:
        """Take a packet, and say whether delays have been too long for an interval."""
        if not self.packets:
            self.late_until = None
            return None, False
        packet = self.pop()
        if t - packet.at < self.settings.target or self.size <= self.settings.mtu:
            self.late_until = None
            return packet, False
        if self.late_until is None:
            self.late_until = t + self.settings.interval
            return packet, False
        return packet, t >= self.late_until

    def after(self, t: float) -> float:
        """Return when a drop follows one at `t`."""
        return t + self.settings.interval / math.sqrt(self.count)

    def drop(self, packet: Packet | None) -> None:
        """Drop a packet."""
        assert packet is not None
        self.dropped.append(packet)

    def serve(self, t: float) -> Packet | None:
        """Return the packet that goes out."""
        packet, drop = self.take(t)
        if self.dropping and not drop:
            self.dropping = False
        elif self.dropping:
            while self.dropping and t >= self.next_drop:
                self.drop(packet)
                self.count += 1
                packet, drop = self.take(t)
                if drop:
                    self.next_drop = self.after(self.next_drop)
                else:
                    self.dropping = False
        elif drop:
            self.drop(packet)
            packet, _ = self.take(t)
            self.dropping = True
            delta, self.count = self.count - self.last_count, 1
            if delta > 1 and t - self.next_drop < 16 * self.settings.interval:
                self.count = delta
            self.next_drop = self.after(t)
            self.last_count = self.count
        return packet


class CoDel:
    """One such queue with a limit."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.line, self.refused = settings, Line(settings), 0

    def enqueue(self, packet: Packet) -> bool:
        """Let a packet wait if there is room."""
        full = len(self.line.packets) >= self.settings.limit_packets
        if full or self.line.size + packet.size > self.settings.limit_bytes:
            self.refused += 1
            return False
        self.line.append(packet)
        return True

    def dequeue(self, t: float) -> Packet | None:
        """Return the packet that goes out."""
        return self.line.serve(t)

    def waiting(self) -> tuple[int, float]:
        """Return the packets and bytes that wait."""
        return len(self.line.packets), self.line.size

    def drops(self) -> int:
        """Return how many packets were dropped."""
        return self.refused + len(self.line.dropped)


class FqCoDel:
    """RFC 8290 without collisions of the hash."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.lines: dict[int, Line] = defaultdict(lambda: Line(settings))
        self.credit: dict[int, float] = {}
        self.new: list[int] = []
        self.old: list[int] = []
        self.overflow = 0

    def enqueue(self, packet: Packet) -> bool:
        """Let a packet wait, and drop from the longest line while there are too many."""
        flow = packet.flow
        self.lines[flow].append(packet)
        if flow not in self.new + self.old:
            self.new.append(flow)
            self.credit[flow] = self.settings.quantum
        while self.too_many():
            self.relieve()
        return packet in self.lines[flow].packets

    def too_many(self) -> bool:
        """Return whether a limit is exceeded."""
        packets, size = self.waiting()
        return packets > self.settings.limit_packets or size > self.settings.limit_bytes

    def relieve(self) -> None:
        """Drop half of the longest line, at most 64 packets."""
        longest = min(self.lines, key=lambda flow: (-self.lines[flow].size, flow))
        line, before, count = self.lines[longest], self.lines[longest].size, 0
        while line.size > before / 2 and count < 64:
            line.pop()
            count += 1
        self.overflow += count

    def dequeue(self, t: float) -> Packet | None:
        """Return the packet of the line whose turn it is."""
        while self.new or self.old:
            turn = self.new or self.old
            flow = turn[0]
            if self.credit[flow] <= 0:
                self.credit[flow] += self.settings.quantum
                self.old.append(turn.pop(0))
                continue
            packet = self.lines[flow].serve(t)
            if packet is not None:
                self.credit[flow] -= packet.size
                return packet
            turn.pop(0)
            if turn is self.new:
                self.old.append(flow)
        return None

    def waiting(self) -> tuple[int, float]:
        """Return the packets and bytes that wait."""
        lines = self.lines.values()
        return sum(len(line.packets) for line in lines), sum(line.size for line in lines)

    def drops(self) -> int:
        """Return how many packets were dropped."""
        return self.overflow + sum(len(line.dropped) for line in self.lines.values())


HOSTS = ("a", "a", "a", "b")
"""CAKE: the host of each flow."""


@dataclass
class CakeFlow:
    """A flow of CAKE (Linux sch_cake.c): packets, its credit and COBALT, which drops."""

    settings: Settings
    uniform: Callable[[], float]
    packets: deque[Packet] = field(default_factory=deque)
    dropped: int = 0
    credit: float = 0.0
    place: str = "none"
    """Which round it is in: none, sparse (the new one), waiting (the old one, but it was empty by then) or bulk."""
    count: int = 0
    due: float = 0.0
    """When the count changes next."""
    dropping: bool = False
    chance: float = 0.0
    changed: float = 0.0
    """When the chance changed last."""

    @property
    def size(self) -> float:
        """Bytes waiting."""
        return sum(packet.size for packet in self.packets)

    def put_off(self) -> None:
        """Let the count change an interval, divided by its root, later."""
        self.due = self.due + self.settings.interval / math.sqrt(max(self.count, 1))

    def count_down(self, t: float) -> bool:
        """Take back what is due; return whether anything was."""
        before = self.count
        while self.count and self.due <= t:
            self.count -= 1
            self.put_off()
        return self.count < before

    def wake(self, t: float) -> None:
        """A packet comes after a time without: what would have changed in that time."""
        self.count_down(t)
        times = math.floor((t - self.changed) / self.settings.target) if self.chance else 0
        self.chance = max(self.chance - times / 4096, 0.0)
        self.changed += times * self.settings.target

    def sleep(self, t: float) -> None:
        """There is nothing to send."""
        self.dropping, self.place = False, "none"
        if self.chance and t - self.changed > self.settings.target:
            self.chance, self.changed = max(self.chance - 1 / 4096, 0.0), t

    def overflow(self, t: float) -> None:
        """Lose the first packet, since the queue is full."""
        self.packets.popleft()
        self.dropped += 1
        if t - self.changed > self.settings.target:
            self.chance, self.changed = min(self.chance + 1 / 256, 1.0), t
        self.dropping, self.due, self.count = True, t, self.count or 1

    def judge(self, packet: Packet, t: float) -> bool:
        """Return whether a packet that would leave now is dropped."""
        wait = t - packet.at
        late = wait > self.settings.target and wait > 4.0 * self.settings.mtu / self.settings.rate
        idle = t - self.due
        due = self.count > 0 and self.due <= t
        if late and not self.dropping:
            self.due = t
            self.put_off()
        self.count = (self.count or 1) if late else self.count
        self.dropping = late
        drop = late and due
        if drop:
            self.count += 1
            self.put_off()
            idle = t - self.due
        elif due and self.count_down(t):
            idle = t - self.due
        drop |= bool(self.chance) and self.uniform() < self.chance
        if self.count == 0:
            self.due = t + self.settings.interval
        elif idle > 0.0 and not drop:
            self.due = t
        return drop

    def serve(self, t: float) -> Packet | None:
        """Return the packet that goes out; the last one is never dropped."""
        while self.packets:
            packet = self.packets.popleft()
            if not self.judge(packet, t) or not self.packets:
                return packet
            self.dropped += 1
        return None


class Cake:
    """CAKE with one tin and hosts, without collisions of the hash; the settings are those by its rate."""

    def __init__(self, settings: Settings, uniform: Callable[[], float]) -> None:
        self.settings = settings
        self.flows = [CakeFlow(settings, uniform) for _ in HOSTS]
        self.new: list[int] = []
        self.old: list[int] = []

    def turn(self, flow: int) -> float:
        """Return what a flow gets for its turn."""
        bulk = sum(f.place == "bulk" for f, host in zip(self.flows, HOSTS, strict=True) if host == HOSTS[flow])
        return self.settings.quantum / max(bulk, 1) if self.settings.fair_to_hosts else self.settings.quantum

    def enqueue(self, packet: Packet) -> bool:
        """Let a packet wait, and drop from the longest flow while there is too much."""
        number, flow = packet.flow, self.flows[packet.flow]
        flow.packets.append(packet)
        if flow.place == "none":
            flow.wake(packet.at)
            flow.credit = self.turn(number)
            flow.place = "sparse"
            self.new.append(number)
        elif flow.place == "waiting":
            flow.place = "bulk"
        while self.waiting()[0] > self.settings.limit_packets or self.waiting()[1] > self.settings.limit_bytes:
            max(self.flows, key=lambda f: f.size).overflow(packet.at)
        return packet in flow.packets

    def dequeue(self, t: float) -> Packet | None:
        """Return the packet of the flow whose turn it is."""
        while self.new or self.old:
            round_ = self.new or self.old
            flow = self.flows[round_[0]]
            if flow.credit <= 0:
                if flow.place == "sparse":
                    flow.place = "bulk" if flow.packets else "waiting"
                flow.credit += self.turn(round_[0])
                self.old.append(round_.pop(0))
                continue
            packet = flow.serve(t)
            if packet is not None:
                flow.credit -= packet.size
                return packet
            flow.sleep(t)
            round_.pop(0)
        return None

    def waiting(self) -> tuple[int, float]:
        """Return the packets and bytes that wait."""
        return sum(len(flow.packets) for flow in self.flows), sum(flow.size for flow in self.flows)

    def drops(self) -> int:
        """Return how many packets were dropped."""
        return sum(flow.dropped for flow in self.flows)


Row = tuple[float, int, int, int, int, float]


def drive(queue: CoDel | FqCoDel | Cake, packets: Sequence[Packet]) -> list[Row]:
    """Serve a queue at its rate; a row per arrival and service, as in link_bare."""
    rows: list[Row] = []
    free_at = 0.0

    def note(t: float, kind: int, number: int) -> None:
        rows.append((t, kind, number, queue.drops(), *queue.waiting()))

    def serve(t: float) -> None:
        nonlocal free_at
        packet = queue.dequeue(t)
        if packet is not None:
            free_at = t + packet.size / queue.settings.rate
        note(t, SERVICE, -1 if packet is None else packet.number)

    for packet in packets:
        while queue.waiting()[0] and free_at <= packet.at:
            serve(free_at)
        note(packet.at, ARRIVAL, int(queue.enqueue(packet)))
        if queue.waiting()[0] and free_at <= packet.at:
            serve(packet.at)
    while queue.waiting()[0]:
        serve(free_at)
    return rows


STEPS = [(1e-6, 2048), (1e-5, 512), (1e-4, 128), (1e-3, 32), (1e-2, 8), (1e-1, 2), (math.inf, 1)]


class Pie:
    """RFC 8033: a queue in order, `uniform` draws from [0, 1)."""

    def __init__(self, settings: Settings, uniform: Callable[[], float]) -> None:
        self.settings, self.uniform = settings, uniform
        self.starts: list[tuple[float, float]] = []
        """When each packet admitted enters service, and its size."""
        self.busy_until = 0.0
        self.updates = 0
        self.chance = self.old_delay = self.sum = 0.0
        self.grace = 0
        """Updates until the burst is over."""

    def delay(self, t: float) -> float:
        """Return how long a packet would wait."""
        return max(0.0, self.busy_until - t)

    def update(self, t: float) -> None:
        """Change the probability by the delay at `t`."""
        delay, half = self.delay(t), self.settings.target
        change = 0.125 * (delay - half) + 1.25 * (delay - self.old_delay)
        change /= next(divisor for below, divisor in STEPS if self.chance < below)
        if self.chance >= 0.1 and change > 0.02:
            change = 0.02
        self.chance += change
        if delay == self.old_delay == 0.0:
            self.chance *= 0.98
        self.chance = min(max(self.chance, 0.0), 1.0)
        self.old_delay = delay
        self.grace = max(self.grace - 1, 0)

    def drops_early(self, waiting: float) -> bool:
        """Return whether a packet is dropped by chance."""
        if self.old_delay < self.settings.target / 2 and self.chance < 0.2:
            return False
        if waiting <= 2 * self.settings.mtu:
            return False
        self.sum = self.sum + self.chance if self.chance > 0.0 else 0.0
        if self.sum < 0.85:
            return False
        return True if self.sum >= 8.5 else self.uniform() < self.chance

    def arrive(self, t: float, size: float) -> bool:
        """Return whether a packet is admitted."""
        while self.updates * self.settings.update <= t:
            self.update(self.updates * self.settings.update)
            self.updates += 1
        waiting = [s for start, s in self.starts if start > t]
        full = len(waiting) + 1 > self.settings.limit_packets or sum(waiting) + size > self.settings.limit_bytes
        if (full and self.busy_until > t) or (self.grace == 0 and self.drops_early(sum(waiting))):
            self.sum = 0.0
            return False
        if (
            self.chance == 0.0
            and self.delay(t) < self.settings.target / 2
            and self.old_delay < self.settings.target / 2
        ):
            self.grace = math.ceil(self.settings.burst / self.settings.update - 1e-6)
        start = max(self.busy_until, t)
        self.starts.append((start, size))
        self.busy_until = start + size / self.settings.rate
        return True
