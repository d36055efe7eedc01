"""Reads a capture made at an uploading host: rate, round-trip times and losses of its upload, and its downloads.

A round-trip time is that of the newest segment that an ACK, or the first block of SACK in it, covers for the first time
(RFC 2018: the first block holds the segment that caused the ACK). A segment that was sent again gives none (Karn and
Partridge, SIGCOMM 1987). Nor does an ACK's number while a hole is open, and until all has come that was under way then
(RFC 6582): the segment that filled the hole caused that ACK. A loss is a segment that was sent again; it counts at the
time it was first sent, when the queue dropped it. Without SACK each duplicate ACK counts as one segment that came
(RFC 5681), not only the ACK that closes the hole.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import IO

import numpy as np

from btflow.lines import frames
from btflow.lines.traces import DELAYED, HEADER, SEGMENT, Delays, Load, Trace, Way, unusable

MOST_FLOWS, MOST_REPEATED = 10_000, 2_000_000
"""A capture of more flows, or in which more segments were sent again, is no upload."""

LEAST_SHARE = 0.05
"""Flows of less than this of the largest one's payload are not part of the load."""

LEAST_SEGMENTS = 50
"""Fewer are no upload."""

INTERVALS = 100
"""Most intervals in which the rate is counted."""
SHORTEST = 0.2
"""And the shortest of them [s]."""

COPY = 1e-3
"""A segment that is seen again within this time [s] was not sent again: no sender learns of a loss so soon."""
MOST_COPIES = 0.1
"""Share of such segments from which on the file has packets twice."""
MISSING = 1e-3
"""Share of the payload that may be missing from the file without a note."""

_SYN, _ACK, _FIN = 2, 16, 1
_DUPLICATES = 3
"""Duplicate ACKs that open a hole (RFC 5681)."""
_HANDSHAKE = 60
"""IP packet of a SYN over IPv4 [B]."""

_HIDES = {"UDP": "not TCP's", "other": "not TCP's", frames.SHORT: "cut before TCP's header ends (tcpdump -s 128)"}
FAR = "it was captured where the data arrive, and the queue is on the other side"
UPLOAD = "a capture of an upload by TCP, made on the host that uploads"


def read(name: str, stream: IO[bytes], told: Callable[[], None] | None = None) -> Trace:
    """Return the loads in a capture that was made on the uploading side; told is called while it is read.

    Raises:
        InputError: It is cut off in its first packets, holds no upload, or too many packets.
    """
    seen, cut = _Seen(), ""
    try:
        for packet in frames.packets(name, stream, told):
            seen.take(packet)
            if len(seen.senders) > MOST_FLOWS or seen.repeated > MOST_REPEATED:
                raise unusable(name, "is no upload", f"at most {MOST_FLOWS:,} flows, and few segments sent again")
    except frames.CutError as error:
        cut = str(error)
    if not seen.senders:
        raise unusable(name, f"has no segment of TCP{seen.instead()}{cut and f': it {cut}'}", UPLOAD)
    return _trace(name, seen, [f"the capture {cut}: the packets before count"] if cut else [])


class _Seen:
    """All that was seen in a capture."""

    def __init__(self) -> None:
        self.begun: float | None = None
        self.senders: dict[bytes, _Sender] = {}
        """By addresses and ports, as the packets have them."""
        self.others: dict[bytes, tuple[array[float], array[float]]] = {}
        """When a host sent ACKs alone and packets of other protocols [s], and how large they are [B]."""
        self.size: Counter[str] = Counter()
        """Bytes of each protocol."""
        self.repeated = 0
        self._pairs: dict[bytes, tuple[_Sender, _Sender]] = {}

    def take(self, packet: frames.Packet) -> None:
        """Take the next packet."""
        if self.begun is None:
            self.begun = packet.time
        time = packet.time - self.begun
        self.size[packet.protocol] += packet.payload
        if packet.protocol != "TCP":
            self._beside(packet.ends, time, packet.payload)
            return
        pair = self._pairs.get(packet.ends)
        if pair is None:
            back = _reversed(packet.ends)
            pair = self.senders.setdefault(packet.ends, _Sender()), self.senders.setdefault(back, _Sender())
            self._pairs[packet.ends] = pair
        own, other = pair
        if packet.payload or packet.flags & _SYN:
            self.repeated += own.send(packet, time)
        else:
            self._beside(packet.ends[: len(packet.ends) // 2 - 2], time, packet.header)
        if packet.flags & _ACK:
            other.answer(packet, time)

    def _beside(self, host: bytes, time: float, size: int) -> None:
        times, sizes = self.others.setdefault(host, (array("d"), array("d")))
        times.append(time)
        sizes.append(size)

    def instead(self) -> str:
        """Return which protocol carries most of the bytes where that is not TCP, for people."""
        most, size = self.size.most_common(1)[0] if self.size else ("", 0)
        if most in ("", "TCP") or 2 * size < sum(self.size.values()):
            return ""
        named = _HIDES.get(most, f"{most}'s, which carries connections")
        return f" that fills it: {size / sum(self.size.values()):.0%} of its bytes are {named}"


def _reversed(ends: bytes) -> bytes:
    """Return the addresses and ports of the other direction."""
    half = (len(ends) - 4) // 2
    return ends[half:-4] + ends[:half] + ends[-2:] + ends[-4:-2]


@dataclass
class _Sender:
    """One direction of a connection: what its sender has under way, as the capture shows it.

    Places number its segments in the order of their bytes. A place may stand for segments that are missing from the
    file: it has no round-trip time.
    """

    ends: array[int] = field(default_factory=lambda: array("q"))
    """Number after the last byte of each place."""
    sent: array[float] = field(default_factory=lambda: array("d"))
    """When it was first sent [s]."""
    sizes: array[int] = field(default_factory=lambda: array("q"))
    again: bytearray = field(default_factory=bytearray)
    """Whether it was sent again, or is missing from the file."""
    came: bytearray = field(default_factory=bytearray)
    """Whether an ACK or a block of SACK has covered it."""
    head: int = 0
    """First place that no ACK covers."""
    highest: int | None = None
    acked: int | None = None
    sacked: int = 0
    duplicates: int = 0
    early: int = 0
    """Bytes that duplicate ACKs tell of and no ACK has covered yet."""
    recover: int = 0
    """The hole is closed when an ACK has reached this."""
    missing: int = 0
    """Bytes that are missing from the file."""
    copies: int = 0
    """Segments that the file has twice."""
    rtts: array[float] = field(default_factory=lambda: array("d"))
    """In turns: when a segment was sent, its round-trip time [s], its payload, and that which the ACK adds [B]."""
    lost: array[float] = field(default_factory=lambda: array("d"))
    arrived: array[float] = field(default_factory=lambda: array("d"))
    """In turns: when an ACK came, and the payload that it covers for the first time."""
    headers: Counter[int] = field(default_factory=Counter)
    syn: float | None = None
    handshake: float | None = None
    """Round-trip time of its SYN or SYN-ACK [s]."""

    def send(self, packet: frames.Packet, time: float) -> int:
        """Take a segment of this sender; return how many places it sends again."""
        if packet.flags & _SYN:
            self.syn = None if self.syn is not None else time  # of one that was sent again it is not known
            return 0
        highest = self.highest
        begin = packet.seq if highest is None else self._unwrapped(packet.seq)
        end = begin + packet.payload
        if highest is None or begin >= highest:
            if highest is not None and begin > highest:
                self.missing += begin - highest
                self._append(begin, time, begin - highest, True)
            self._append(end, time, packet.payload, False)
            self.headers[packet.header] += 1
            return 0
        first = bisect_right(self.ends, begin)
        if time - self.sent[first] < COPY and not self.again[first]:
            self.copies += 1
            return 0
        last = bisect_left(self.ends, min(end, highest), first)
        for place in range(first, last + 1):
            if not self.again[place] and not self.came[place]:
                self.lost.append(self.sent[place])
            self.again[place] = True
        if end > highest:
            self._append(end, time, end - highest, True)
        self.recover = max(self.recover, highest, end)
        return last + 1 - first

    def _append(self, end: int, time: float, size: int, again: bool) -> None:
        self.highest = end
        self.ends.append(end)
        self.sent.append(time)
        self.sizes.append(size)
        self.again.append(again)
        self.came.append(False)

    def answer(self, packet: frames.Packet, time: float) -> None:
        """Take a segment of the other side: its ACK."""
        if self.syn is not None and self.handshake is None:
            self.handshake = time - self.syn
        if self.highest is None:
            return
        ack = min(self._unwrapped(packet.ack), self.highest)
        newest, size = self._sack(packet.blocks, ack) if packet.blocks else (-1, 0)
        known = 0
        if self.acked is None or ack > self.acked:
            closed = not self.duplicates and (self.acked or ack) >= self.recover
            self.acked, self.duplicates = ack, 0
            reached = bisect_right(self.ends, ack, self.head)
            for place in range(self.head, reached):
                if not self.came[place]:
                    self.came[place] = True
                    size += self.sizes[place]
                    closed = closed and not self.again[place]
                    newest = max(newest, place) if closed else newest
            self.head = reached
            known = min(self.early, size)
            self.early -= known
        elif ack == self.acked and not packet.payload and not packet.flags & _FIN and self.head < len(self.ends):
            self.duplicates += 1
            if self.duplicates == _DUPLICATES and self.acked >= self.recover:
                self.recover = self.highest
            if not packet.blocks:
                beyond = self.highest - ack - self.sizes[self.head] - self.early
                known = -max(min(self.sizes[self.head], SEGMENT, beyond), 0)
                self.early -= known
        if size - known:
            self.arrived.extend((time, size - known))
        if newest >= 0 and not self.again[newest]:
            added = max(size, 2 * self.sizes[newest] * bool(packet.blocks))  # an ACK with SACK is never held back
            self.rtts.extend((self.sent[newest], time - self.sent[newest], self.sizes[newest], added))

    def _sack(self, blocks: Iterable[tuple[int, int]], ack: int) -> tuple[int, int]:
        """Take blocks of SACK; return the newest place that the first one adds, or -1, and the payload all add [B]."""
        newest, size = -1, 0
        for number, block in enumerate(blocks):
            low, high = self._unwrapped(block[0]), min(self._unwrapped(block[1]), self.highest or 0)
            reached = bisect_right(self.ends, high, self.head)
            for place in range(bisect_right(self.ends, max(low, self.sacked, ack), self.head), reached):
                if not self.came[place]:
                    self.came[place] = True
                    size += self.sizes[place]
                    newest = place if number == 0 else newest
            self.sacked = max(self.sacked, high)
        return newest, size

    def _unwrapped(self, number: int) -> int:
        """Return a sequence number that goes on beyond 32 bits, near the highest."""
        assert self.highest is not None
        return self.highest + ((number - self.highest + 2**31) % 2**32 - 2**31)


def _trace(name: str, seen: _Seen, notes: list[str]) -> Trace:
    """Return the largest upload with the flows beside it that go the same way, and the downloads of its host."""
    sizes = {ends: sum(sender.sizes) for ends, sender in seen.senders.items()}
    payload = {ends: 0 if _arrives(seen, ends) else size for ends, size in sizes.items()}
    most = max(payload, key=lambda ends: payload[ends])
    hosts, host = most[:-4], most[: len(most) // 2 - 2]
    same = {e: one for e, one in seen.senders.items() if e[:-4] == hosts and payload[e] > LEAST_SHARE * payload[most]}
    flows = [one for one in same.values() if one.rtts and one.arrived]
    copies, count = sum(one.copies for one in same.values()), sum(len(one.sizes) for one in same.values())
    if copies > MOST_COPIES * count:
        reason = f"shows packets twice, {copies:,} of {count:,} segments, as a capture of two interfaces does"
        raise unusable(name, reason, "a capture of one interface, such as tcpdump -i eth0")
    if not flows or count < LEAST_SEGMENTS:
        far = f" in it: {FAR}" if max(sizes.values()) > max(payload.values()) else " in it"
        reason = f"has no upload{seen.instead() or far}"
        raise unusable(name, reason, f"{LEAST_SEGMENTS} segments or more, and their ACKs")
    load = _load("up", flows)
    own = {ends: sender for ends, sender in seen.senders.items() if ends.startswith(host)}
    more = (np.stack([one.sent, np.array(one.sizes) + HEADER]) for e, one in own.items() if e not in same)
    time, size = np.concatenate([np.array(seen.others.get(host, ((), ()))), *more], axis=1)
    beside, span = size[(time >= load.start) & (time <= load.end)], load.end - load.start
    load = replace(load, beside=(float(beside.sum()) / span, len(beside) / span))
    full = np.concatenate([np.array(flow.rtts).reshape(-1, 4) for flow in flows])
    full = full[full[:, 2] >= 0.9 * load.segment]
    lone = full[:, 3] < 1.5 * load.segment  # its ACK may have been held back (RFC 5681)
    late = DELAYED if 2 * lone.sum() >= len(full) else 0.0
    full = full if late else full[~lone]
    if not len(full):
        raise unusable(name, "has no round-trip time of a full segment in it", UPLOAD)
    if np.median(full[:, 1]) < COPY:
        raise unusable(name, f"has round trips of {1e3 * np.median(full[:, 1]):.2g} ms: {FAR}", UPLOAD)
    time, rtt = full[np.argsort(full[:, 0], kind="stable"), :2].T
    delays = [Delays("the flow's packets", time, rtt, load.packet, load.lost, 1e-6, late)]
    if opened := [(s.syn, s.handshake) for s in own.values() if s.syn is not None and s.handshake]:
        at, took = np.array(sorted(opened), float).T
        delays.append(Delays("pings", at, took, _HANDSHAKE, np.zeros(0), 1e-6))
    least = LEAST_SHARE * sum(payload[ends] for ends in same)
    coming = [one for e, one in seen.senders.items() if e[len(host) : -4] == host and sizes[e] > least]
    loads = [load, *([replace(_load("down", coming), beside=(0.0, 0.0))] if coming else [])]
    missing = sum(flow.missing for flow in flows) / sum(payload[ends] for ends in same)
    if missing > MISSING:
        notes = [*notes, f"{missing:.1%} of the payload was not captured"]
    return Trace(name, "capture", seen.begun, tuple(delays), tuple(loads), tuple(notes))


def _arrives(seen: _Seen, ends: bytes) -> bool:
    """Return whether a sender's data arrive where they were captured: there its segments are answered at once."""
    near, far = (seen.senders[one].handshake for one in (ends, _reversed(ends)))
    if near is None or far is None:
        rtts = seen.senders[ends].rtts[1::4]
        return bool(rtts) and float(np.median(rtts)) < COPY
    return near < 0.25 * far


def _load(way: Way, flows: list[_Sender]) -> Load:
    """Return the rate of flows together in equal intervals: of uploads by their ACKs, of downloads as they came."""
    came = (flow.arrived if way == "up" else np.stack([flow.sent, flow.sizes], axis=1) for flow in flows)
    arrived = np.concatenate([np.array(one).reshape(-1, 2) for one in came])
    time, size = arrived[np.argsort(arrived[:, 0], kind="stable")].T
    start, end = min(flow.sent[0] for flow in flows), float(time[-1])
    if end - start < 2 * SHORTEST:
        start = end - 2 * SHORTEST
    edges = np.linspace(start, end, 1 + int(np.clip((end - start) / SHORTEST, 2, INTERVALS)))
    total, _ = np.histogram(time, edges, weights=size)
    sizes = np.concatenate([np.array(flow.sizes) for flow in flows])
    header = float(sum((flow.headers for flow in flows), Counter()).most_common(1)[0][0])
    segment = float(np.clip(np.median(sizes), 1, 1500 - header))  # the device may split larger ones
    lost = np.sort(np.concatenate([np.array(flow.lost if way == "up" else ()) for flow in flows]))
    return Load(way, len(flows), edges, total / np.diff(edges), "arrived", segment, header, lost)
