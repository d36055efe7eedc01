"""``python -m validation.lines.router DEVICE HOME KIND UPLINK DOWNLINK ONE_WAY``: a router that manages its queues.

Takes packets from a TUN device and puts them back after queue, link and path, as ``validation/clients/forwarder.c``
does behind queues of the kernel; it says ``ready`` on standard output and ends with its input. Not every kernel has
FQ-CoDel, so it is here, from RFC 8290 (section 4) and RFC 8289 (section 5), without ECN; ``codel`` has one flow of all
packets. It is not the one in ``btflow.kernels``: that one is tested against it.
"""

from __future__ import annotations

import fcntl
import heapq
import math
import os
import select
import struct
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

TARGET, INTERVAL, QUANTUM, MTU = 0.005, 0.1, 1514, 1514
LIMIT = {"codel": 1000, "fq-codel": 10240}
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000


@dataclass
class CoDel:
    """The queue of one flow."""

    packets: deque[tuple[float, bytes]] = field(default_factory=deque)
    size: int = 0
    first_above: float = 0.0
    drop_next: float = 0.0
    count: int = 0
    last_count: int = 0
    dropping: bool = False
    credit: int = QUANTUM

    def _take(self, now: float) -> tuple[bytes | None, bool]:
        """Return the next packet, and whether it may be dropped (RFC 8289, `dodequeue`)."""
        if not self.packets:
            self.first_above = 0.0
            return None, False
        came, packet = self.packets.popleft()
        self.size -= len(packet)
        if now - came < TARGET or self.size <= MTU:
            self.first_above = 0.0
            return packet, False
        if self.first_above == 0.0:
            self.first_above = now + INTERVAL
            return packet, False
        return packet, now >= self.first_above

    def next(self, now: float) -> bytes | None:
        """Return the packet to send (RFC 8289, `deque`)."""
        packet, droppable = self._take(now)
        if self.dropping:
            if not droppable:
                self.dropping = False
            while self.dropping and now >= self.drop_next:
                self.count += 1
                packet, droppable = self._take(now)
                if not droppable:
                    self.dropping = False
                else:
                    self.drop_next += INTERVAL / math.sqrt(self.count)
        elif droppable:
            packet, _ = self._take(now)
            self.dropping = True
            delta = self.count - self.last_count
            self.count = delta if delta > 1 and now - self.drop_next < 16 * INTERVAL else 1
            self.drop_next = now + INTERVAL / math.sqrt(self.count)
            self.last_count = self.count
        return packet


class FqCoDel:
    """Flows take turns; a flow that is new goes first (RFC 8290, section 4.2)."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.flows: dict[bytes, CoDel] = {}
        self.new: deque[bytes] = deque()
        self.old: deque[bytes] = deque()
        self.waiting = 0

    def put(self, now: float, packet: bytes) -> None:
        """Take a packet in."""
        ports = packet[20:24] if packet[9] in (6, 17) else b""
        key = packet[9:10] + packet[12:20] + ports if self.kind == "fq-codel" else b""
        flow = self.flows.setdefault(key, CoDel())
        flow.packets.append((now, packet))
        flow.size += len(packet)
        self.waiting += 1
        if key not in self.new and key not in self.old:
            flow.credit = QUANTUM
            self.new.append(key)
        if self.waiting > LIMIT[self.kind]:
            fat = max(self.flows.values(), key=lambda one: one.size)
            fat.size -= len(fat.packets.popleft()[1])
            self.waiting -= 1

    def next(self, now: float) -> bytes | None:
        """Return the packet to send; None if none waits."""
        while self.new or self.old:
            turn = self.new or self.old
            key = turn[0]
            flow = self.flows[key]
            if flow.credit <= 0:
                flow.credit += QUANTUM
                self.old.append(turn.popleft())
                continue
            before = len(flow.packets)
            packet = flow.next(now)
            self.waiting -= before - len(flow.packets)
            if packet is None:
                turn.popleft()
                if turn is self.new:
                    self.old.append(key)
                continue
            flow.credit -= len(packet)
            return packet
        return None


def opened(name: str) -> int:
    """Return a TUN device's descriptor."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return device


class Way:
    """A link in one direction, behind its queue."""

    def __init__(self, kind: str, rate: float) -> None:
        self.queue, self.rate, self.free = FqCoDel(kind), rate, 0.0

    def put(self, now: float, packet: bytes) -> None:
        """Take a packet in."""
        self.free = self.free if self.queue.waiting else max(self.free, now)
        self.queue.put(now, packet)

    def sent(self, now: float) -> Iterator[tuple[float, bytes]]:
        """Give the packets that the link takes up to now, with the time at which each has left it."""
        while self.queue.waiting and self.free <= now:
            if (packet := self.queue.next(now)) is None:
                return
            self.free += len(packet) / self.rate  # not from now on: it is the loop that is late, not an idle link
            yield self.free, packet


def run(device: int, home: bytes, kind: str, uplink: float, downlink: float, one_way: float) -> None:
    """Route packets until standard input ends."""
    ways = up, down = Way(kind, uplink), Way(kind, downlink)
    due: list[tuple[float, int, bytes]] = []
    number = 0
    while True:
        now = time.monotonic()
        times = [due[0][0]] if due else []
        times += [way.free for way in ways if way.queue.waiting]
        readable, _, _ = select.select([device, 0], [], [], max(min(times) - now, 0.0) if times else None)
        now = time.monotonic()
        if 0 in readable and not os.read(0, 1000):
            return
        while device in readable:
            try:
                packet = os.read(device, 4096)
            except BlockingIOError:
                break
            if packet[0] >> 4 == 4:
                (up if packet[12:16] == home else down).put(now, packet)
        for way in ways:
            for free, packet in way.sent(now):
                heapq.heappush(due, (free + one_way, number := number + 1, packet))
        while due and due[0][0] <= now:
            os.write(device, heapq.heappop(due)[2])


if __name__ == "__main__":
    name, address, kind, *numbers = sys.argv[1:]
    descriptor = opened(name)
    print("ready", flush=True)
    run(descriptor, bytes(map(int, address.split("."))), kind, *map(float, numbers))
