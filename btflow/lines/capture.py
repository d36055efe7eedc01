"""Reads a capture of an upload, pcap or pcapng: rate, round-trip times and losses from its segments and ACKs.

A round-trip time is that of the newest segment that an ACK, or a block of SACK in it, covers for the first time; a
segment that was sent again gives none (Karn and Partridge, SIGCOMM 1987). A loss is a segment that was sent again; it
counts at the time it was first sent, when the queue dropped it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import IO, Any, NamedTuple

import numpy as np

from btflow.errors import InputError
from btflow.files import extra
from btflow.lines.traces import FIELD, Delays, Load, Trace, unusable

MAGIC = (b"\xa1\xb2\xc3\xd4", b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x4d\x3c\xb2\xa1", b"\x0a\x0d\x0d\x0a")
"""How captures begin: pcap in both orders of bytes, with us or ns, and pcapng."""

MOST_PACKETS, MOST_BYTES, MOST_FLOWS = 2_000_000, 4 * 2**30, 10_000
"""A capture of more takes minutes or gigabytes and is refused: its first minute says the same."""

MOST_FRAME = 2**20
"""Bytes of a packet with what the file says of it: tcpdump keeps 256 KiB of one at most."""

LEAST_SHARE = 0.05
"""Flows of less than this of the largest one's payload are not part of the load."""

LEAST_SEGMENTS = 50
"""Fewer are no upload."""

INTERVALS = 100
"""Most intervals in which the rate is counted."""
SHORTEST = 0.2
"""And the shortest of them [s]."""

_SYN, _ACK = 2, 16
_HANDSHAKE = 60
"""IP packet of a SYN over IPv4 [B]."""


class _Packet(NamedTuple):
    """What is looked at of a TCP segment; of a packet of anything else the sender, with port 0, and its size."""

    time: float
    sender: tuple[bytes, int]
    receiver: tuple[bytes, int]
    seq: int
    ack: int
    flags: int
    payload: int
    header: int
    blocks: tuple[tuple[int, int], ...]


def read(name: str, stream: IO[bytes]) -> Trace:
    """Return what a capture says of the upload in it, which was made on the uploading side.

    Raises:
        InputError: It is cut off in its first packets, holds no upload or too many packets, or the extra is missing.
    """
    senders: dict[tuple[Any, Any], _Sender] = {}
    others: list[tuple[float, bytes, int]] = []
    begun: float | None = None
    cut = ""
    try:
        for packet in _packets(name, stream):
            begun = packet.time if begun is None else begun
            if packet.sender[1] == packet.receiver[1] == 0:
                others.append((packet.time - begun, packet.sender[0], packet.payload))
                continue
            both = (packet.sender, packet.receiver)
            own = senders.setdefault(both, _Sender())
            other = senders.setdefault(both[::-1], _Sender())
            own.send(packet, packet.time - begun)
            other.answer(packet, packet.time - begun)
            if len(senders) > MOST_FLOWS or own.repeated > MOST_PACKETS:
                raise unusable(name, "is no upload", f"at most {MOST_FLOWS:,} flows, and few segments sent again")
    except _CutError as error:
        cut = str(error)
    if begun is None or not senders:
        raise unusable(name, f"has no segment of TCP{cut and f': it {cut}'}", "a capture of an upload by TCP")
    return _trace(name, begun, senders, others, [f"the capture {cut}: what is before that counts"] if cut else [])


class _Whole:
    """A capture that notes whether it ends within a packet, and is not read in pieces that no packet has."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.short, self.size = False, 0

    def read(self, size: int) -> bytes:
        """Return the next bytes."""
        if not 0 <= size <= MOST_FRAME or self.size > 2 * MOST_BYTES:
            raise ValueError("a packet of no size, or no packet in gigabytes")
        found = self._stream.read(size)
        self.short |= 0 < len(found) < size
        self.size += len(found)
        return found

    def seek(self, place: int) -> None:
        """Go back to a place."""
        self._stream.seek(place)


class _CutError(Exception):
    """A capture ends within a packet."""


def _packets(name: str, stream: IO[bytes]) -> Iterator[_Packet]:
    """Give the packets of IP in a capture."""
    try:
        import dpkt
    except ImportError:
        raise InputError(
            FIELD, name, "is a capture, and dpkt, which reads it, is not installed", extra("capture")
        ) from None
    whole = _Whole(stream)
    try:
        frames = dpkt.pcap.UniversalReader(whole)
    except (ValueError, dpkt.UnpackError, EOFError, OSError):
        raise unusable(name, "is no whole capture: its header is damaged", "a .pcap or .pcapng file") from None
    link = _links(dpkt).get(frames.datalink())
    if link is None:
        raise unusable(name, f"is of link type {frames.datalink()}", "Ethernet, Linux cooked, loopback or raw IP")
    count = 0
    while True:
        try:
            time, frame = next(frames)
        except StopIteration:
            if whole.short:
                raise _CutError(f"is cut off or damaged after {count} packets") from None
            return
        except (ValueError, dpkt.UnpackError, EOFError, OSError) as error:
            raise _CutError(f"is cut off or damaged after {count} packets") from error
        count += 1
        if count > MOST_PACKETS or whole.size > MOST_BYTES:
            most = f"{MOST_PACKETS:,} packets and {MOST_BYTES // 2**30} GiB, unpacked"
            raise unusable(name, "is too long", f"at most {most}: capture a minute, by tcpdump -s 96")
        packet = _segment(dpkt, link, float(time), frame)
        if packet is not None:
            yield packet


def _links(dpkt: Any) -> dict[int, Any]:
    """Return what reads frames, by the capture's link type (tcpdump.org/linktypes.html)."""
    raw = lambda frame: dpkt.ip6.IP6(frame) if frame[:1] and frame[0] >> 4 == 6 else dpkt.ip.IP(frame)  # noqa: E731
    ethernet, cooked, cooked2, loopback = dpkt.ethernet.Ethernet, dpkt.sll.SLL, dpkt.sll2.SLL2, dpkt.loopback.Loopback
    return {1: ethernet, 113: cooked, 276: cooked2, 0: loopback, 101: raw, 12: raw, 228: raw, 229: raw}


def _segment(dpkt: Any, link: Any, time: float, frame: bytes) -> _Packet | None:
    """Return what a frame holds; None if that is not IP, or not all of its headers."""
    try:
        ip = link(frame)
        ip = ip if isinstance(ip, dpkt.ip.IP | dpkt.ip6.IP6) else ip.data
        if not isinstance(ip, dpkt.ip.IP | dpkt.ip6.IP6):
            return None
        tcp = ip.data
        version6 = isinstance(ip, dpkt.ip6.IP6)
        before = 40 if version6 else ip.hl * 4
        total = ip.plen + 40 if version6 else ip.len
        if not isinstance(tcp, dpkt.tcp.TCP):
            return _Packet(time, (ip.src, 0), (ip.dst, 0), 0, 0, 0, total, 0, ())
        header = before + tcp.off * 4
        blocks = tuple(
            (int.from_bytes(data[i : i + 4], "big"), int.from_bytes(data[i + 4 : i + 8], "big"))
            for kind, data in dpkt.tcp.parse_opts(tcp.opts)
            if kind == dpkt.tcp.TCP_OPT_SACK
            for i in range(0, len(data) - 7, 8)
        )
    except (dpkt.UnpackError, ValueError, IndexError, AttributeError, TypeError):
        return None
    ends = (ip.src, tcp.sport), (ip.dst, tcp.dport)
    return _Packet(time, *ends, tcp.seq, tcp.ack, tcp.flags, max(total - header, 0), header, blocks)


@dataclass
class _Sender:
    """One direction of a connection: what its sender has under way, as the capture shows it."""

    ends: list[int] = field(default_factory=list)
    """Number after the last byte of each segment, in order."""
    sent: list[float] = field(default_factory=list)
    """When it was first sent [s]."""
    again: set[int] = field(default_factory=set)
    """Places of segments that were sent again."""
    repeated: int = 0  # how many were, each time
    came: list[bool] = field(default_factory=list)
    """Whether an ACK or a block of SACK has covered it."""
    sizes: list[int] = field(default_factory=list)
    head: int = 0
    """Place of the first that no ACK covers."""
    highest: int | None = None
    sacked: int = 0
    rtts: list[tuple[float, float, int]] = field(default_factory=list)
    """When a segment was sent, its round-trip time [s], and its payload [B]."""
    lost: list[float] = field(default_factory=list)
    arrived: list[tuple[float, int]] = field(default_factory=list)
    """When an ACK came, and the payload that it covers for the first time."""
    headers: list[int] = field(default_factory=list)
    syn: float | None = None
    handshake: float | None = None
    """Round-trip time of its SYN or SYN-ACK [s]."""

    def send(self, packet: _Packet, time: float) -> None:
        """Take a segment of this sender."""
        if packet.flags & _SYN:
            self.syn = None if self.syn is not None else time  # of one that was sent again it is not known
            return
        if not packet.payload:
            return
        begin = self._unwrapped(packet.seq)
        if self.highest is None or begin >= self.highest:
            self.highest = begin + packet.payload
            self.ends.append(self.highest)
            self.sent.append(time)
            self.came.append(False)
            self.sizes.append(packet.payload)
            self.headers.append(packet.header)
            return
        first, last = bisect_right(self.ends, begin), bisect_left(self.ends, begin + packet.payload)
        self.repeated += last + 1 - first
        for place in range(first, min(last + 1, len(self.ends))):
            if place not in self.again and not self.came[place]:
                self.lost.append(self.sent[place])
            self.again.add(place)

    def answer(self, packet: _Packet, time: float) -> None:
        """Take a segment of the other side: its ACK."""
        if self.syn is not None and packet.flags & _ACK and self.handshake is None:
            self.handshake = time - self.syn
        if self.highest is None or not packet.flags & _ACK:
            return
        newest, size = -1, 0
        for low, high in (*((self._unwrapped(a), self._unwrapped(b)) for a, b in packet.blocks), (None, packet.ack)):
            if low is None:
                high = min(self._unwrapped(high), self.highest)
                places = range(self.head, bisect_right(self.ends, high, self.head))
            else:
                first = bisect_right(self.ends, max(low, self.sacked), self.head)
                places = range(first, bisect_right(self.ends, high, self.head))
                self.sacked = max(self.sacked, min(high, self.highest))
            for place in places:
                if not self.came[place]:
                    self.came[place] = True
                    size += self.sizes[place]
                    newest = max(newest, place)
            if low is None and places:
                self.head = places[-1] + 1
        if size:
            self.arrived.append((time, size))
        if newest >= 0 and newest not in self.again:
            self.rtts.append((self.sent[newest], time - self.sent[newest], self.sizes[newest]))

    def _unwrapped(self, number: int) -> int:
        """Return a sequence number that goes on beyond 32 bits, near the highest."""
        if self.highest is None:
            return number
        return self.highest + ((number - self.highest + 2**31) % 2**32 - 2**31)


def _trace(
    name: str, begun: float, senders: dict[tuple[Any, Any], _Sender], others: list[Any], notes: list[str]
) -> Trace:
    """Return the largest upload, with the flows beside it that go the same way."""
    payload = {both: sum(sender.sizes) for both, sender in senders.items()}
    most = max(payload, key=lambda both: payload[both])
    source, target = most[0][0], most[1][0]
    same = [b for b in payload if b[0][0] == source and b[1][0] == target and payload[b] > LEAST_SHARE * payload[most]]
    flows = [senders[both] for both in same if senders[both].rtts and senders[both].arrived]
    if not flows or sum(len(flow.sizes) for flow in flows) < LEAST_SEGMENTS:
        raise unusable(name, "has no upload in it", f"{LEAST_SEGMENTS} segments or more, and their ACKs")
    for both in same:
        _check_side(name, senders[both], senders[both[::-1]])
    load = _load(flows)
    beside = [size for time, host, size in others if host == source and load.start <= time <= load.end]
    span = load.end - load.start
    load = replace(load, beside=(sum(beside) / span, len(beside) / span))
    full = [(sent, rtt) for flow in flows for sent, rtt, size in flow.rtts if size >= 0.9 * load.segment]
    if not full:
        raise unusable(name, "has no round-trip time of a full segment in it", "a capture of an upload by TCP")
    time, rtt = np.array(sorted(full)).T
    delays = [Delays("the flow's packets", time, rtt, load.packet, load.lost, 1e-6)]
    own = [sender for both, sender in senders.items() if both[0][0] == source]
    opened = [(s.syn, s.handshake) for s in own if s.syn is not None and s.handshake]
    if opened:
        at, took = np.array(sorted(opened), float).T
        delays.append(Delays("pings", at, took, _HANDSHAKE, np.zeros(0), 1e-6))
    return Trace(name, "capture", begun, tuple(delays), (load,), tuple(notes))


def _check_side(name: str, sender: _Sender, receiver: _Sender) -> None:
    """Refuse a capture made where the data arrive: there what the sender sends is answered at once."""
    if sender.handshake is None or receiver.handshake is None:
        return
    if sender.handshake < 0.25 * receiver.handshake:
        reason = "has no upload in it: it was captured where the data arrive, and the queue is on the other side"
        raise unusable(name, reason, "a capture made on the host that uploads")


def _load(flows: list[_Sender]) -> Load:
    """Return the rate of flows together, counted by their ACKs in equal intervals."""
    arrived = sorted(pair for flow in flows for pair in flow.arrived)
    time, size = np.array(arrived, float).T
    start, end = min(flow.sent[0] for flow in flows), float(time[-1])
    if end - start < 2 * SHORTEST:
        start = end - 2 * SHORTEST
    edges = np.linspace(start, end, 1 + int(np.clip((end - start) / SHORTEST, 2, INTERVALS)))
    total, _ = np.histogram(time, edges, weights=size)
    sizes = np.concatenate([flow.sizes for flow in flows])
    header = float(np.median(np.concatenate([flow.headers for flow in flows])))
    segment = float(np.clip(np.median(sizes), 1, 1500 - header))  # a capture may show what the device splits later
    lost = np.sort(np.concatenate([flow.lost for flow in flows]))
    return Load("up", len(flows), edges, total / np.diff(edges), "arrived", segment, header, lost)
