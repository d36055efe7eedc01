"""A link, packet by packet, in plain Python: what the kernels do, from the rules alone and in no hurry.

Flows of NewReno share one drop-tail queue; ACKs come back over a path without one. Every packet is an object, every
departure an event, the scoreboard is three sets, and what is in flight is counted anew each time it is asked for.
RFC 5681 (windows, ACKs), RFC 6298 (timeout), RFC 6675 (recovery with SACK), RFC 7323 (round-trip times), RFC 7661
(no growth of a window that is not the limit), RFC 8985 (RACK-TLP).
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

NEVER = float("inf")
SYN = -1  # its number


@dataclass
class Rules:
    """One flow's constants; times in seconds, windows in segments."""

    rtt: float
    start: float = 0.0
    segments: int = 10**9
    ack_every: int = 2
    ack_delay: float = 0.04
    quick_acks: int = 16
    times_newest: bool = True
    initial_window: float = 10.0
    rto_min: float = 0.2
    rto_slack: float = 0.2
    rto_initial: float = 1.0
    rto_max: float = 120.0
    bytes_counted: bool = False
    beta: float = 0.5
    loss: float = 0.0
    syn: float = 52.0
    rack: bool = False
    tail_probe: bool = False


@dataclass
class Trace:
    """What is compared: (time, flow, ...) of every delivery, drop and change of a window."""

    delivered: list[tuple[float, int, int]] = field(default_factory=list)
    dropped: list[tuple[float, int, int]] = field(default_factory=list)
    windows: list[tuple[float, int, float, float]] = field(default_factory=list)


class Link:
    """The clock, the queue and the flows."""

    def __init__(
        self, rate: float, limit: int, packet: float, flows: list[Rules], dice: Callable[[], float] = lambda: 1.0
    ) -> None:
        self.rate, self.packet = rate, packet
        self.limit = limit
        self.dice = dice
        self.trace = Trace()
        self.now = 0.0
        self.tied = NEVER  # first time that two flows acted in one instant: their order is nobody's rule
        self.agenda: list[tuple[float, int, int, Callable[..., None], tuple[Any, ...]]] = []
        self.order = itertools.count()
        self.waiting: deque[tuple[Flow, int, float]] = deque()
        self.busy = False
        self.flows = [Flow(self, number, rules) for number, rules in enumerate(flows)]
        for flow in self.flows:
            self.at(flow.rules.start, flow.connect)

    def at(self, time: float, what: Callable[..., None], *args: Any, rank: int = 1) -> None:
        """Have something done later; within an instant departures (rank 0) come first and timers (2 and 3) last."""
        heapq.heappush(self.agenda, (time, rank, next(self.order), what, args))

    def run(self, until: float) -> Trace:
        """Go on up to a time."""
        before: tuple[float, Any] = (-1.0, None)
        while self.agenda and self.agenda[0][0] <= until:
            self.now, rank, _, what, args = heapq.heappop(self.agenda)
            if rank > 0:
                who = what.__self__  # type: ignore[attr-defined]  # a bound method
                if self.now - before[0] < 1e-9 and who is not before[1]:
                    self.tied = min(self.tied, before[0])
                before = (self.now, who)
            what(*args)
        return self.trace

    def arrive(self, flow: Flow, number: int, sent: float) -> None:
        """A packet comes to the queue."""
        if not self.busy:
            self.serve(flow, number, sent)
        elif len(self.waiting) < self.limit:
            self.waiting.append((flow, number, sent))
        else:
            self.trace.dropped.append((self.now, flow.number, number))

    def serve(self, flow: Flow, number: int, sent: float) -> None:
        """Its transmission begins."""
        self.busy = True
        size = self.packet if number >= 0 else flow.rules.syn
        self.at(self.now + size / self.rate, self.depart, flow, number, sent, rank=0)

    def depart(self, flow: Flow, number: int, sent: float) -> None:
        """It has left: the path carries it to the receiver, unless it loses it at the far end."""
        self.busy = False
        self.at(self.now + flow.rules.rtt / 2, flow.reach, number, sent)
        if self.waiting:
            self.serve(*self.waiting.popleft())


class Flow:
    """Sender and receiver of one flow."""

    def __init__(self, link: Link, number: int, rules: Rules) -> None:
        self.link, self.number, self.rules = link, number, rules
        # Receiver.
        self.got: set[int] = set()
        self.expected = 0
        self.unacked = 0
        self.quick = rules.quick_acks
        self.ack_due = NEVER
        self.echo = 0.0
        self.came: list[int] = []
        # Sender.
        self.cwnd, self.ssthresh = rules.initial_window, NEVER
        self.una = self.nxt = 0
        self.sacked: set[int] = set()
        self.lost: set[int] = set()
        self.again: set[int] = set()
        self.open = False
        self.phase = "open"
        self.limited = False
        self.recover = 0
        self.srtt = self.rttvar = -1.0
        self.rto, self.backoff, self.rto_due = rules.rto_initial, 1.0, NEVER
        # RACK-TLP: sending times, the newest of what has arrived, and the probe that was sent.
        self.seen = 0
        self.sent: dict[int, float] = {}
        self.twice: set[int] = set()  # sent more than once
        self.least = NEVER
        self.newest, self.trip = (-1.0, -1), 0.0
        self.repeated: set[int] = set()
        self.late_due = self.probe_due = NEVER
        self.probe: tuple[int, int | None] | None = None  # the end when it left, and what it sent again

    # -- the receiver

    def reach(self, number: int, sent: float) -> None:
        """A packet at the end of the path."""
        if self.rules.loss and self.link.dice() < self.rules.loss:
            return
        if number == SYN:
            self.link.at(self.link.now + self.rules.rtt / 2, self.connected, sent)
            return
        self.link.trace.delivered.append((self.link.now, self.number, number))
        self.came.append(number)
        in_order = number == self.expected and not any(n > number for n in self.got)
        if self.unacked == 0 or (self.rules.times_newest and number == self.expected):
            self.echo = sent
        if number >= self.expected:
            self.got.add(number)
        while self.expected in self.got:
            self.got.remove(self.expected)
            self.expected += 1
        self.unacked += 1
        if not in_order or self.quick > 0 or self.unacked >= self.rules.ack_every:
            self.quick = max(0, self.quick - 1)
            self.acknowledge()
        elif self.ack_due == NEVER:
            self.ack_due = self.link.now + self.rules.ack_delay
            self.link.at(self.ack_due, self.ack_timer, self.ack_due, rank=3)

    def ack_timer(self, due: float) -> None:
        """The delayed ACK goes, if it has not gone."""
        if self.ack_due == due:
            self.acknowledge()

    def acknowledge(self) -> None:
        """An ACK with all that the receiver has."""
        self.unacked, self.ack_due = 0, NEVER
        ack = (self.expected, frozenset(self.got), self.echo, len(self.came))
        self.link.at(self.link.now + self.rules.rtt / 2, self.acked, *ack)

    # -- the sender

    def connect(self) -> None:
        """A SYN, sent again after each timeout until it is answered (RFC 9293, RFC 6298)."""
        if self.open:
            return
        self.link.at(self.link.now + self.rto * self.backoff, self.connect, rank=2)
        self.backoff *= 2
        self.link.arrive(self, SYN, self.link.now)

    def connected(self, echo: float) -> None:
        """The SYN is answered."""
        if not self.open:
            self.open = True
            self.backoff = 1.0
            self.estimate(self.link.now - echo)
            self.send()

    def outstanding(self) -> list[int]:
        """Numbers of the segments sent and not known to have arrived."""
        return [n for n in range(self.una, self.nxt) if n not in self.sacked]

    def pipe(self) -> int:
        """RFC 6675, SetPipe."""
        return sum(n not in self.lost or n in self.again for n in self.outstanding())

    def acked(self, cumulative: int, selective: frozenset[int], echo: float, came: int) -> None:
        """An ACK comes."""
        known = self.sacked | set(range(self.una))
        arrived = set(selective | set(range(self.una, cumulative))) - known
        self.repeated |= self.advance(self.came[self.seen : came], arrived)
        self.seen = max(self.seen, came)
        if not arrived:
            self.answer()
            return
        news = max(0, cumulative - self.una)
        self.sacked |= selective
        self.una = max(self.una, cumulative)
        if news or self.rules.rack:  # Linux tcp_ack_update_rtt: of what is selectively acknowledged, too
            self.estimate(self.link.now - echo)
        self.answer()
        found = self.look_for_late_ones() if self.rules.rack else self.look_for_losses()
        if news and self.limited and self.phase != "recovery" and not found:
            self.grow(len(arrived))
        left = False
        if self.phase != "open" and self.una >= self.recover:
            if self.phase == "recovery":
                self.cwnd = self.ssthresh
            self.phase = "open"
            left = any(n in self.lost and n not in self.again for n in self.outstanding())
        at_once = (bool(found) or left) and self.phase == "open"
        if at_once:
            self.halve()
            self.enter_recovery()
        if self.phase != "loss":
            self.cwnd = max(self.cwnd, 2.0)
        if news:
            self.backoff = 1.0
            self.set_timer()
            self.probe_due = NEVER
            self.set_probe()
        elif self.rules.rack and echo < self.sent[self.una]:  # Linux tcp_clean_rtx_queue
            self.set_timer()
        self.send(at_once)
        self.link.trace.windows.append((self.link.now, self.number, self.cwnd, self.ssthresh))

    def look_for_losses(self) -> bool:
        """RFC 6675, IsLost: three that were sent later have arrived."""
        above = max(self.sacked, default=-1)
        arrived = sorted(set(range(max(0, self.una - 3), self.una)) | {n for n in self.sacked if n >= self.una})
        found = {
            n
            for n in self.outstanding()
            if n < above and n not in self.lost and sum(later > n for later in arrived) >= 3
        }
        self.lost |= found
        return bool(found)

    def estimate(self, rtt: float) -> None:
        """RFC 6298, section 2."""
        if self.srtt < 0:
            self.srtt, self.rttvar = rtt, rtt / 2
        else:
            self.rttvar += (abs(self.srtt - rtt) - self.rttvar) / 4
            self.srtt += (rtt - self.srtt) / 8
        self.least = min(self.least, rtt)
        self.rto = max(self.rules.rto_min, self.srtt + max(self.rules.rto_slack, 4 * self.rttvar))

    def grow(self, news: int) -> None:
        """RFC 5681, section 3.1; as in ns-3, what an ACK does not use up in slow start counts as one more ACK."""
        if self.cwnd < self.ssthresh:
            step = min(float(news), max(self.ssthresh - self.cwnd, 1.0)) if self.rules.bytes_counted else 1.0
            self.cwnd += step
            left = news - step
        else:
            left = float(news)
        if self.cwnd >= self.ssthresh and left > 0:
            self.cwnd += (left if self.rules.bytes_counted else 1.0) / self.cwnd

    def halve(self) -> None:
        """RFC 5681, equation 4: FlightSize is what was sent and is not acknowledged in order."""
        self.ssthresh = max(2.0, self.rules.beta * min(self.cwnd, float(self.nxt - self.una)))

    def set_timer(self) -> None:
        """The retransmission timer from now on, if anything is outstanding (RFC 6298, 5.2 and 5.3)."""
        self.rto_due = NEVER
        if self.una < self.nxt:
            self.rto_due = self.link.now + min(self.rto * self.backoff, self.rules.rto_max)
            self.link.at(self.rto_due, self.timeout, self.rto_due, rank=2)

    def timeout(self, due: float) -> None:
        """RFC 6298, section 5.4 to 5.7: all that is not known to have arrived is lost."""
        if due != self.rto_due:
            return
        if self.phase != "loss":
            self.halve()
        self.cwnd, self.phase, self.recover = 1.0, "loss", self.nxt
        self.give_up()
        self.cwnd += self.pipe()
        self.probe, self.probe_due, self.late_due = None, NEVER, NEVER
        self.backoff *= 2
        self.set_timer()
        self.send()
        self.link.trace.windows.append((self.link.now, self.number, self.cwnd, self.ssthresh))

    def send(self, at_once: bool = False) -> None:
        """RFC 6675, section 5 (C): as long as the window has room, first what is lost; one lost segment `at_once`."""
        while True:
            wanted = [n for n in self.outstanding() if n in self.lost and n not in self.again]
            self.limited = bool(wanted) or self.nxt < self.rules.segments
            if not self.limited:
                return
            in_flight = self.pipe()
            if in_flight > 0 and in_flight + 1 > self.cwnd + 1e-9 and not at_once:
                return
            at_once = False
            if wanted:
                number = wanted[0]
                self.again.add(number)
            else:
                number = self.nxt
                self.nxt += 1
            self.put(number)
            if self.rto_due == NEVER or (wanted and number == self.una):  # as Linux, for the first segment sent again
                self.set_timer()
            if not wanted:
                self.set_probe()
            self.link.arrive(self, number, self.link.now)

    # -- RACK-TLP

    def put(self, number: int) -> None:
        """Remember when a segment leaves."""
        if number in self.sent:
            self.twice.add(number)
        self.sent[number] = self.link.now

    def advance(self, came: list[int], arrived: set[int]) -> set[int]:
        """RFC 8985, section 6.2, steps 1 and 2; what has come once more (a D-SACK)."""
        repeated = {n for i, n in enumerate(came) if n not in arrived or n in came[:i]}
        for number in came:
            trip = self.link.now - self.sent[number]
            if number in arrived and not (trip < self.least and number in self.twice):
                self.trip = trip
                self.newest = max(self.newest, (self.sent[number], number))
        return repeated

    def look_for_late_ones(self) -> bool:
        """RFC 8985, section 6.2, steps 4 and 5; three that have arrived make it sure, and so does a recovery."""
        held = [n for n in self.sacked if n >= self.una]
        sure = len(held) >= 3 or (self.phase != "open" and self.una < self.recover)
        window = 0.0 if sure else min(self.least / 4, self.srtt)
        out = [n for n in self.outstanding() if n not in self.lost or n in self.again]
        before = [n for n in out if (self.sent[n], n) < self.newest]
        wait = {n: self.sent[n] + self.trip + window - self.link.now for n in before}
        found = {n for n in before if wait[n] <= 1e-9}
        self.lost |= found
        self.again -= found
        self.late_due = NEVER
        if rest := [wait[n] for n in before if n not in found]:
            self.late_due = self.link.now + max(rest) + 2e-3
            self.probe_due = NEVER
            self.link.at(self.late_due, self.late, self.late_due)
        return bool(found)

    def late(self, due: float) -> None:
        """What may only have been late has had its time."""
        if due != self.late_due:
            return
        found = self.look_for_late_ones()
        at_once = found and self.phase == "open"
        if at_once:
            self.halve()
            self.enter_recovery()
        self.send(at_once)

    def enter_recovery(self) -> None:
        """RFC 6675, section 5; a probe has done its work."""
        self.cwnd, self.phase, self.recover = self.ssthresh, "recovery", self.nxt
        self.probe, self.probe_due = None, NEVER

    def give_up(self) -> None:
        """The timer fired: all is lost, but with RACK what left less than a round trip ago."""
        out = self.outstanding()
        kept = {n for n in out if n != self.una and (n not in self.lost or n in self.again)}
        kept = {n for n in kept if self.rules.rack and self.sent[n] + self.trip > self.link.now}
        self.again &= kept
        self.lost = (self.lost & kept) | (set(out) - kept)

    def set_probe(self) -> None:
        """RFC 8985, section 7.2: two round trips from now, and the time of a delayed ACK if there is one segment."""
        out = self.outstanding()
        whole = len(out) == self.nxt - self.una and not any(n in self.lost for n in out)
        if not self.rules.tail_probe or self.probe is not None or self.phase != "open" or not out or not whole:
            return
        wait = 2 * self.srtt + (self.rules.rto_min if len(out) == 1 else 2e-3)
        self.probe_due = min(self.link.now + wait, self.rto_due)
        self.link.at(self.probe_due, self.probe_timer, self.probe_due)

    def probe_timer(self, due: float) -> None:
        """RFC 8985, section 7.3: something new, or the last segment again."""
        if due != self.probe_due:
            return
        self.probe_due = NEVER
        new = self.nxt < self.rules.segments
        number = self.nxt if new else self.nxt - 1
        self.nxt = number + 1
        self.probe = (self.nxt, None if new else number)
        self.repeated = set()
        self.put(number)
        self.link.arrive(self, number, self.link.now)
        self.set_timer()

    def answer(self) -> None:
        """RFC 8985, section 7.4.2."""
        if self.probe is None or self.una < self.probe[0]:
            return
        end, again = self.probe
        if again is None or again in self.repeated:
            self.probe = None
        elif self.una > end:
            self.probe = None
            self.halve()
            self.cwnd = self.ssthresh
