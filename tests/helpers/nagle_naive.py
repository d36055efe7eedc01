"""Nagle's rule and delayed ACKs segment by segment and byte by byte, as Linux 2.6.32 has them: an oracle.

One event after the other, with the kernel's own variables. Read from net/ipv4: tcp_output.c (tcp_nagle_check,
tcp_minshall_check, tcp_event_data_sent, tcp_send_delayed_ack), tcp_input.c (tcp_event_data_recv, tcp_measure_rcv_mss,
__tcp_ack_snd_check), tcp.c (tcp_cleanup_rbuf) and tcp_timer.c (tcp_delack_timer). The window is no limit.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

MSS = 1448
ATO_MIN, DELACK_MIN, DELACK_MAX, HALF_SECOND, RTO_MIN = 0.04, 0.04, 0.2, 0.5, 0.2
QUICK = 16


@dataclass
class Connection:
    """A sender that writes, and a receiver that reads at once and asks for the next block when it has one."""

    rtt: float
    block: int
    """Bytes of a block; a REQUEST goes back when so many have come."""
    departures: list[tuple[float, int]] = field(default_factory=list)
    """When each segment left [s], and the byte behind its last."""
    now: float = 0.0
    written: int = 0
    sent: int = 0
    acked: int = 0
    small_end: int = 0
    arrived: int = 0
    acknowledged: int = 0
    rcv_mss: int = 536
    last_size: int = 0
    pushed: bool = False
    quick: int = 0
    pingpong: bool = False
    ato: float = 0.0
    heard_at: float = -1e9
    timer: float | None = None
    requested: int = 0
    events: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    order: int = 0

    def at(self, t: float, what: Callable[[], None]) -> None:
        """Do something at a time."""
        heapq.heappush(self.events, (t, self.order, what))
        self.order += 1

    def run(self) -> None:
        """Let everything happen."""
        while self.events:
            self.now, _, what = heapq.heappop(self.events)
            what()

    def write(self, size: int) -> None:
        """The client writes."""
        self.written += size
        self.push()

    def push(self) -> None:
        """Send what may leave: full segments, and a small one if none is under way."""
        while self.written - self.sent >= MSS:
            self.leave(MSS)
        if self.written > self.sent and self.small_end <= self.acked:
            self.leave(self.written - self.sent)
            self.small_end = self.sent

    def leave(self, size: int) -> None:
        """A segment leaves."""
        self.sent += size
        self.departures.append((self.now, self.sent))
        self.at(self.now + self.rtt / 2, lambda: self.receive(size))

    def receive(self, size: int) -> None:
        """A segment arrives; the client reads it at once."""
        rto = self.rtt + RTO_MIN
        self.measure(size)
        if self.ato == 0.0:
            self.quick, self.ato = QUICK, ATO_MIN
        else:
            gap = self.now - self.heard_at
            if gap <= ATO_MIN / 2:
                self.ato = self.ato / 2 + ATO_MIN / 2
            elif gap < self.ato:
                self.ato = min(self.ato / 2 + gap, rto)
            elif gap > rto:
                self.quick = QUICK
        self.heard_at = self.now
        self.arrived += size
        much = self.arrived - self.acknowledged > self.rcv_mss
        if much or (self.quick > 0 and not self.pingpong) or (self.pushed and not self.pingpong):
            self.acknowledge()
        else:
            self.delay()
        if self.arrived // self.block > self.requested:
            self.requested = self.arrived // self.block
            if self.now - self.heard_at < self.ato:
                self.pingpong = True
            self.acknowledge()  # with the REQUEST

    def measure(self, size: int) -> None:
        """Estimate the sender's segments, and note what is shorter."""
        last, self.last_size = self.last_size, 0
        if size >= self.rcv_mss:
            self.rcv_mss = size
            return
        if size >= 536:
            self.last_size = size
            if size == last:
                self.rcv_mss = size
                return
        self.pushed = True

    def delay(self) -> None:
        """Start the timer of the delayed ACK."""
        wait = self.ato
        if wait > DELACK_MIN:
            most = DELACK_MAX if self.pingpong or self.pushed else HALF_SECOND
            wait = min(wait, most, max(self.rtt, DELACK_MIN))
        due = self.now + wait
        if self.timer is None or due < self.timer:
            self.timer = due
            self.at(due, lambda: self.fire(due))

    def fire(self, due: float) -> None:
        """The timer fires, if it has not been stopped."""
        if self.timer != due:
            return
        if self.pingpong:
            self.pingpong, self.ato = False, ATO_MIN
        else:
            self.ato = min(2 * self.ato, self.rtt + RTO_MIN)
        self.acknowledge()

    def acknowledge(self) -> None:
        """Send an ACK for all that has come."""
        if self.acknowledged == self.arrived:
            return
        upto = self.acknowledged = self.arrived
        self.timer, self.pushed = None, False
        self.quick = max(0, self.quick - 1)
        self.at(self.now + self.rtt / 2, lambda: self.heard(upto))

    def heard(self, upto: int) -> None:
        """An ACK reaches the sender."""
        self.acked = max(self.acked, upto)
        self.push()


def last_departures(rtt: float, gap: float, unit: int, block: int, blocks: int) -> list[float]:
    """Return when the last byte of each of some blocks leaves, which are written without a pause [s]."""
    made = Connection(rtt, block)
    writes = -(-block // unit)
    for i in range(blocks * writes):
        size = unit if (i + 1) % writes else block - (writes - 1) * unit
        made.at(i * gap, partial(made.write, size))
    made.run()
    return [next(t for t, end in made.departures if end >= (b + 1) * block) for b in range(blocks)]
