"""What another setting or another host would have written, made of a file that was recorded."""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator

import dpkt
import numpy as np

VARIANTS = ("snap54", "lost0.1", "ipv6-snap96", "snap68", "twice", "pcapng", "snap60", "middle", "lost1", "ipv6")
VARIANTS += ("snap80", "nosack", "ipv6-lost0.3", "snap64")
"""Changes of a capture: bytes kept of a frame, frames that the file lacks [%], frames that a forwarding host shows
twice, a begin in the middle of the connection, IPv6, ACKs whose blocks of SACK are blanked, and the file's format."""

Record = tuple[int, int, int, bytes]
"""Seconds, their fraction, size on the wire [B], and the bytes kept."""


def changed(content: bytes, variant: str) -> bytes:
    """Return a file as one of VARIANTS, or ``windows``, has it; a pcap of Ethernet or Linux cooked (v2)."""
    if variant == "windows":
        return windows(content.decode()).encode()
    records = list(_records(content))
    at = 20 if struct.unpack("<I", content[20:24])[0] == 276 else 14
    for name in variant.split("-"):
        match = re.fullmatch(r"([a-z]+|ipv6)([\d.]*)", name)
        assert match is not None, name
        number = float(match[2] or 0)
        if match[1] == "snap":
            records = [(*record[:3], record[3][: int(number)]) for record in records]
        elif match[1] == "lost":
            kept = np.random.default_rng(len(records)).random(len(records)) >= number / 100
            records = [record for record, keep in zip(records, kept, strict=True) if keep]
        elif match[1] == "twice":
            again = [
                (s, f + 4, size, b"%b%c%b" % (d[: at + 8], d[at + 8] - 1, d[at + 9 :])) for s, f, size, d in records
            ]
            records = [one for both in zip(records, again, strict=True) for one in both]
        elif match[1] == "middle":
            records = records[len(records) // 3 :]
        elif match[1] == "nosack":
            records = [(*record[:3], _no_sack(record[3], at)) for record in records]
        elif match[1] == "ipv6":
            records = list(_version6(records, at))
    if variant == "pcapng":
        writer = dpkt.pcapng.Writer(packed := io.BytesIO(), snaplen=262144, linktype=content[20] + 256 * content[21])
        for second, fraction, _, frame in records:
            writer.writepkt(frame, second + fraction * _unit(content))
        return packed.getvalue()
    return content[:24] + b"".join(struct.pack("<4I", s, f, len(d), size) + d for s, f, size, d in records)


def _unit(content: bytes) -> float:
    return 1e-9 if content.startswith(b"\x4d\x3c\xb2\xa1") else 1e-6


def _records(content: bytes) -> Iterator[Record]:
    place = 24
    while place + 16 <= len(content):
        second, fraction, kept, size = struct.unpack_from("<4I", content, place)
        yield second, fraction, size, content[place + 16 : (place := place + 16 + kept)]


def _sacks(tcp: bytearray) -> Iterator[slice]:
    """Give where the options of SACK's blocks are."""
    place, end = 20, min(4 * (tcp[12] >> 4), len(tcp))
    while place + 1 < end and tcp[place]:
        size = max(tcp[place + 1], 1) if tcp[place] != 1 else 1
        if tcp[place] == 5:
            yield slice(place, place + size)
        place += size


def _no_sack(frame: bytes, at: int) -> bytes:
    tcp = bytearray(frame[at + 20 :])
    if frame[at + 9] == 6:
        for option in _sacks(tcp):
            tcp[option] = b"\1" * len(tcp[option])
    return frame[: at + 20] + tcp


def _version6(records: list[Record], at: int) -> Iterator[Record]:
    """Give packets of IPv6 whose full ones are as long: each segment carries 20 B less of every one's payload."""
    header = 4 * max(frame[at + 32] >> 4 for *_, size, frame in records if frame[at + 9] == 6 and size > 1000)
    segment, first = 1480 - header, dict[bytes, int]()
    kind = slice(0, 2) if at == 20 else slice(12, 14)

    def less(number: int, ports: bytes) -> int:
        begin = first.setdefault(ports, number)
        gone = (number - begin + 2**31) % 2**32 - 2**31
        return (begin + gone * (segment - 20) // segment) % 2**32

    for second, fraction, size, frame in records:
        link, ip, tcp = bytearray(frame[:at]), frame[at : at + 20], bytearray(frame[at + 20 :])
        total = ip[2] * 256 + ip[3] - 20
        if ip[9] == 6:
            own, other = bytes(tcp[:4]), bytes(tcp[2:4] + tcp[:2])
            payload, seq = total - 4 * (tcp[12] >> 4), int.from_bytes(tcp[4:8], "big")
            total += (less(seq + payload, own) - less(seq, own)) % 2**32 - payload if payload else 0
            tcp[4:8] = less(seq, own).to_bytes(4, "big")
            for place in (8, *(p for o in _sacks(tcp) for p in range(o.start + 2, min(o.stop, len(tcp)) - 3, 4))):
                tcp[place : place + 4] = less(int.from_bytes(tcp[place : place + 4], "big"), other).to_bytes(4, "big")
        link[kind] = b"\x86\xdd"
        ends = b"".join(b"\x20\x01\x0d\xb8".ljust(12, b"\0") + ip[place : place + 4] for place in (12, 16))
        six = struct.pack(">IHBB", 6 << 28, total, 58 if ip[9] == 1 else ip[9], ip[8]) + ends
        yield second, fraction, at + 40 + total, bytes(link) + six + bytes(tcp)


def windows(text: str) -> str:
    """Return a log of iputils as Windows has it, which pings once a second and tells whole milliseconds."""
    found = {int(seq): float(rtt) for seq, rtt in re.findall(r"icmp_seq=(\d+) ttl=\d+ time=([\d.]+) ms", text)}
    rows = []
    for number in range(min(found), max(found) + 1, 5):
        time = "<1" if found.get(number, 1) < 1 else f"={found.get(number, 0):.0f}"
        rows.append(f"Reply from 198.18.2.2: bytes=32 time{time}ms TTL=62" if number in found else "Request timed out.")
    return "\n".join(["", "Pinging 198.18.2.2 with 32 bytes of data:", *rows, ""])
