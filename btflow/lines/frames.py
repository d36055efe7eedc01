"""Reads the packets of a capture, pcap or pcapng: the headers of IP and TCP, and as much of TCP's options as was kept.

Formats: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng; link types: tcpdump.org/linktypes.html.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import IO, NamedTuple

from btflow.lines.traces import unusable

PCAP = {  # how it begins: order of bytes, seconds of a fraction's step
    b"\xa1\xb2\xc3\xd4": (">", 1e-6),
    b"\xd4\xc3\xb2\xa1": ("<", 1e-6),
    b"\xa1\xb2\x3c\x4d": (">", 1e-9),
    b"\x4d\x3c\xb2\xa1": ("<", 1e-9),
}
PCAPNG = b"\x0a\x0d\x0d\x0a"
MAGIC = (*PCAP, PCAPNG)
"""How captures begin."""

MOST_PACKETS, MOST_BYTES = 2_000_000, 4 * 2**30
"""A capture of more takes a minute or gigabytes and is refused: its first minute says the same."""

MOST_FRAME = 2**20
"""Bytes of a packet with what the file says of it: tcpdump keeps 256 KiB of one at most."""

_RAW, _LOOPBACK, _ETHERNET, _COOKED, _COOKED2 = (12, 14, 101, 228, 229), (0, 108), 1, 113, 276
_LINKS = "Ethernet, Linux cooked, loopback or raw IP"
_LONGER = {b"\x81\x00": 4, b"\x88\xa8": 4, b"\x91\x00": 4, b"\x88\x64": 8}
"""Types of a VLAN's tag and of PPPoE, and the bytes to the type behind it."""
_IP = (b"\x08\x00", b"\x86\xdd", b"\x00\x21", b"\x00\x57")
"""Types of IP, and PPP's numbers for it."""
_TCP, _UDP, _NEXT = 6, 17, (0, 43, 60)
_SACK, _TIMES = 5, b"\x01\x01\x08\x0a"
"""SACK's kind, and how time stamps begin where nothing is beside them."""

SHORT = "TCP, cut off"
TUNNELS = {4: "IP in IP", 41: "IPv6 in IPv4", 47: "GRE", 50: "IPsec"}
PORTS = {b"\xca\x6c": "WireGuard", b"\x04\xaa": "OpenVPN", b"\x11\x94": "IPsec", b"\x01\xbb": "QUIC"}
"""Protocols, and ports of UDP, that carry other connections."""


class Packet(NamedTuple):
    """The headers of a segment of TCP; of other packets of IP the protocol, its sender, and how large it is."""

    time: float
    protocol: str
    """``TCP``, or the name of another protocol."""
    ends: bytes
    """Addresses and ports of sender and receiver; of other packets than TCP's the sender's address."""
    seq: int
    ack: int
    flags: int
    payload: int
    """[B]; of other packets the whole [B]."""
    header: int
    """Of IP and TCP [B]."""
    blocks: tuple[tuple[int, int], ...]
    """SACK's blocks that the file has whole, in the packet's order."""


class CutError(Exception):
    """A capture ends within a packet, or is damaged from there on."""


def packets(name: str, stream: IO[bytes], told: Callable[[], None] | None = None) -> Iterator[Packet]:
    """Give the packets of IP in a capture, and tell after some thousands.

    Raises:
        InputError: It is of a link that is not known, or too long.
        CutError: The packets before are all that can be read.
    """
    count = size = 0
    try:
        for time, link, wire, frame in _frames(name, stream):
            count, size = count + 1, size + len(frame)
            if told is not None and count % 2**14 == 0:
                told()
            if count > MOST_PACKETS or size > MOST_BYTES:
                most = f"{MOST_PACKETS:,} packets and {MOST_BYTES // 2**30} GiB, unpacked"
                raise unusable(name, "is too long", f"at most {most}: capture a minute, by tcpdump -s 128")
            try:
                at = _ip(link, frame)
                found = None if at is None else _packet(time, frame, at, wire)
            except IndexError:  # cut before IP's header ends
                continue
            if found is not None:
                yield found
    except CutError:
        raise CutError(f"is cut off or damaged after {count} packets") from None


def _frames(name: str, stream: IO[bytes]) -> Iterator[tuple[float, int, int, bytes]]:
    """Give when each frame was captured [s], its link type, its length on the wire [B], and what was kept of it."""
    magic = _exactly(stream, 4)
    if magic == PCAPNG:
        stream.seek(0)
        yield from _blocks(name, stream)
        return
    order, step = PCAP[magic]
    rest = stream.read(20)
    if len(rest) < 20:
        raise unusable(name, "is no whole capture: its header is damaged", "a .pcap or .pcapng file")
    link = _known(name, Struct(order + "I").unpack(rest[16:])[0] & 0xFFFF)
    record = Struct(order + "IIII").unpack
    while head := stream.read(16):
        if len(head) < 16:
            raise CutError
        seconds, fraction, kept, wire = record(head)
        yield seconds + step * fraction, link, wire, _exactly(stream, kept)


def _exactly(stream: IO[bytes], size: int) -> bytes:
    """Return so many bytes; a CutError if there are fewer."""
    found = stream.read(size) if 0 <= size <= MOST_FRAME else b""
    if len(found) != size:
        raise CutError
    return found


def _blocks(name: str, stream: IO[bytes]) -> Iterator[tuple[float, int, int, bytes]]:
    """Give the frames of a pcapng; those of its simple blocks have no time and are left out."""
    links: list[tuple[int, float, int]] = []
    order = "<"
    while head := stream.read(8):
        if head[:4] == PCAPNG:
            order, links = (">" if _exactly(stream, 4) == b"\x1a\x2b\x3c\x4d" else "<"), []
            size = Struct(order + "I").unpack(head[4:].ljust(4))[0]
            _exactly(stream, size - 12)
            continue
        kind, size = Struct(order + "II").unpack(head.ljust(8))
        body = _exactly(stream, size - 8)
        if kind == 1:
            links.append(_interface(name, order, body))
        elif kind in (2, 6) and len(body) >= 24:  # of the obsolete kind, 2, the interface has half of the bytes
            which, high, low, kept, wire = Struct(order + "IIIII").unpack(body[:20])
            which = which if kind == 6 else Struct(order + "H").unpack(body[:2])[0]
            if which >= len(links) or kept > len(body) - 24:
                raise CutError
            link, step, offset = links[which]
            yield offset + step * (high << 32 | low), link, wire, body[20 : 20 + kept]


def _interface(name: str, order: str, body: bytes) -> tuple[int, float, int]:
    """Return an interface's link type, the step of its times [s], and what is added to them [s]."""
    link = _known(name, Struct(order + "H").unpack(body[:2].ljust(2))[0])
    step, offset, at = 1e-6, 0, 8
    while at + 4 <= len(body):
        code, size = Struct(order + "HH").unpack(body[at : at + 4])
        value = body[at + 4 : at + 4 + size]
        if code == 9 and value:
            step = 2.0 ** -(value[0] & 127) if value[0] & 128 else 10.0 ** -value[0]
        elif code == 14 and len(value) == 8:
            offset = Struct(order + "q").unpack(value)[0]
        at += 4 + (size + 3) // 4 * 4
    return link, step, offset


def _known(name: str, link: int) -> int:
    if link not in (_ETHERNET, _COOKED, _COOKED2, *_LOOPBACK, *_RAW):
        raise unusable(name, f"is of link type {link}", _LINKS)
    return link


def _ip(link: int, frame: bytes) -> int | None:
    """Return where IP's header begins in a frame; None if there is none."""
    if link in _RAW or link in _LOOPBACK:
        return 0 if link in _RAW else 4
    at = {_ETHERNET: 12, _COOKED: 14, _COOKED2: 0}[link]
    while (kind := frame[at : at + 2]) in _LONGER:
        at += _LONGER[kind]
    return None if kind not in _IP else 20 if link == _COOKED2 else at + 2


_SEGMENT = Struct(">IIBB").unpack_from


def _packet(time: float, frame: bytes, at: int, wire: int) -> Packet | None:
    """Return the packet of IP whose header begins at a place in a frame; None if it is a fragment."""
    if frame[at] >> 4 == 6:
        begin, protocol, total = at + 40, frame[at + 6], (frame[at + 4] << 8 | frame[at + 5]) + 40
        source, target = frame[at + 8 : at + 24], frame[at + 24 : at + 40]
        empty = total == 40
        while protocol in _NEXT:
            protocol, begin = frame[begin], begin + 8 * (frame[begin + 1] + 1)
    else:
        begin, protocol, total = at + 4 * (frame[at] & 15), frame[at + 9], frame[at + 2] << 8 | frame[at + 3]
        source, target = frame[at + 12 : at + 16], frame[at + 16 : at + 20]
        empty = total == 0
        if (frame[at + 6] & 31) << 8 | frame[at + 7]:
            return None
    if empty:  # the device fills it in, when it has split what it was given
        total = wire - at
    ports = frame[begin : begin + 4]
    if protocol != _TCP or len(frame) < begin + 14:
        said = {_TCP: SHORT, _UDP: PORTS.get(ports[2:], PORTS.get(ports[:2], "UDP")), **TUNNELS}.get(protocol, "other")
        return Packet(time, said, source, 0, 0, 0, total, 0, ())
    seq, ack, offset, flags = _SEGMENT(frame, begin + 4)
    header = begin - at + 4 * (offset >> 4)
    options = frame[begin + 20 : at + header]
    blocks = () if len(options) < 10 or (options[:4] == _TIMES and len(options) <= 12) else _sacked(options)
    return Packet(time, "TCP", source + target + ports, seq, ack, flags, max(total - header, 0), header, blocks)


def _sacked(options: bytes) -> tuple[tuple[int, int], ...]:
    """Return the blocks of SACK that are whole in TCP's options (RFC 2018)."""
    at = 0
    while at + 1 < len(options) and options[at]:
        if options[at] == 1:
            at += 1
            continue
        size = options[at + 1]
        if options[at] == _SACK:
            held = options[at + 2 : at + size]
            edges = [int.from_bytes(held[i : i + 4], "big") for i in range(0, len(held) - len(held) % 8, 4)]
            return tuple(zip(edges[::2], edges[1::2], strict=True))
        at += max(size, 2)
    return ()
