"""What another setting or another host would have written, made of a file that was recorded."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

import numpy as np

VARIANTS: tuple[str, ...] = ("snap54", "lost0.1", "ipv6-snap96", "snap68", "twice", "snap60", "middle", "lost1", "ipv6")
VARIANTS += ("snap80", "nosack", "ipv6-lost0.3", "snap64")
"""Changes of a capture: bytes kept of a frame, frames that the file lacks [%], frames that a forwarding host shows
twice, a begin in the middle of the connection, IPv6, and ACKs whose blocks of SACK are blanked."""

Record = tuple[int, int, int, bytes]
"""Seconds, their fraction, size on the wire [B], and the bytes kept."""


def changed(content: bytes, variant: str) -> bytes:
    """Return a file as one of VARIANTS, or ``windows``, has it; a pcap of Ethernet or Linux cooked (v2)."""
    if variant == "windows":
        return windows(content.decode()).encode()
    records = list(_records(content))
    at = 20 if content[20] == 20 else 14  # where IP begins; link type 276 is cooked
    for name in variant.split("-"):
        kind, number = re.findall(r"(ipv6|[a-z]+)([\d.]*)", name)[0]
        if kind == "snap":
            records = [(*record[:3], record[3][: int(number)]) for record in records]
        elif kind == "lost":
            kept = np.random.default_rng(len(records)).random(len(records)) >= float(number) / 100
            records = [record for record, keep in zip(records, kept, strict=True) if keep]
        elif kind == "twice":  # with one hop less to go
            again = [(s, f + 4, size, d[: at + 8] + bytes([d[at + 8] - 1]) + d[at + 9 :]) for s, f, size, d in records]
            records = [one for both in zip(records, again, strict=True) for one in both]
        elif kind == "middle":
            records = records[len(records) // 3 :]
        else:
            records = list((_version6 if kind == "ipv6" else _no_sack)(records, at))
    return content[:24] + b"".join(struct.pack("<4I", s, f, len(d), size) + d for s, f, size, d in records)


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


def _no_sack(records: list[Record], at: int) -> Iterator[Record]:
    for second, fraction, size, frame in records:
        tcp = bytearray(frame[at + 20 :])
        for option in _sacks(tcp) if frame[at + 9] == 6 else ():
            tcp[option] = b"\1" * len(tcp[option])
        yield second, fraction, size, frame[: at + 20] + tcp


def _version6(records: list[Record], at: int) -> Iterator[Record]:
    """Give packets of IPv6 whose full ones are as long: of each segment's payload 20 B less."""
    segment = 1480 - 4 * max(frame[at + 32] >> 4 for *_, size, frame in records if frame[at + 9] == 6 and size > 1000)
    first: dict[bytes, int] = {}

    def less(number: bytes, ports: bytes) -> bytes:
        place = int.from_bytes(number, "big")
        begin = first.setdefault(ports, place)
        gone = (place - begin + 2**31) % 2**32 - 2**31
        return ((begin + gone * (segment - 20) // segment) % 2**32).to_bytes(4, "big")

    for second, fraction, _, frame in records:
        link, ip, tcp = bytearray(frame[:at]), frame[at : at + 20], bytearray(frame[at + 20 :])
        total = int.from_bytes(ip[2:4], "big") - 20
        if ip[9] == 6:
            own, other, header = bytes(tcp[:4]), bytes(tcp[2:4] + tcp[:2]), 4 * (tcp[12] >> 4)
            end = ((int.from_bytes(tcp[4:8], "big") + total - header) % 2**32).to_bytes(4, "big")
            tcp[4:8] = less(bytes(tcp[4:8]), own)
            total = header + (int.from_bytes(less(end, own), "big") - int.from_bytes(tcp[4:8], "big")) % 2**32
            blocks = (place for sack in _sacks(tcp) for place in range(sack.start + 2, min(sack.stop, len(tcp)) - 3, 4))
            for place in (*[8] * (tcp[13] >> 4 & 1), *blocks):
                tcp[place : place + 4] = less(bytes(tcp[place : place + 4]), other)
        link[slice(0, 2) if at == 20 else slice(12, 14)] = b"\x86\xdd"
        ends = b"".join(b"\x20\x01\x0d\xb8".ljust(12, b"\0") + ip[place : place + 4] for place in (12, 16))
        six = struct.pack(">IHBB", 6 << 28, total, 58 if ip[9] == 1 else ip[9], ip[8]) + ends
        yield second, fraction, at + 40 + total, bytes(link) + six + tcp


def windows(text: str) -> str:
    """Return a log of iputils as Windows has it, which pings once a second and tells whole milliseconds."""
    found = {int(seq): float(rtt) for seq, rtt in re.findall(r"icmp_seq=(\d+) ttl=\d+ time=([\d.]+) ms", text)}
    rows = []
    for number in range(min(found), max(found) + 1, 5):
        time = "<1" if found.get(number, 1) < 1 else f"={found.get(number, 0):.0f}"
        rows.append(f"Reply from 198.18.2.2: bytes=32 time{time}ms TTL=62" if number in found else "Request timed out.")
    return "\n".join(["", "Pinging 198.18.2.2 with 32 bytes of data:", *rows, ""])
