"""Packets of captures: a frame's dress changes no figure, and what hides a connection is named."""

from __future__ import annotations

import gzip
import io
import struct
from collections.abc import Callable
from pathlib import Path

import dpkt
import pytest

from btflow import lines
from btflow.errors import InputError
from validation.lines.made import RECORDED

FRAMES = [*dpkt.pcap.Reader(io.BytesIO(gzip.decompress((RECORDED / "packets-up.pcap.gz").read_bytes())))]
SAME = lines.fit(RECORDED / "packets-up.pcap.gz")


def written(path: Path, changed: Callable[[bytes], bytes], link: int = 1) -> Path:
    """Write the recorded capture with changed frames; each says how long it was on the wire."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, link))
        for time, frame in FRAMES:
            new = changed(frame)
            wire = 14 + int.from_bytes(frame[16:18], "big") + len(new) - len(frame)
            file.write(struct.pack("<IIII", int(time), round(time % 1 * 1e9), len(new), wire) + new)
    return path


def udp(port: int, protocol: int = 17) -> Callable[[bytes], bytes]:
    """Return what makes a packet one of another protocol."""
    return lambda frame: frame[:23] + bytes([protocol]) + frame[24:34] + struct.pack(">HH", 4000, port) + frame[38:]


DRESSED: dict[str, tuple[Callable[[bytes], bytes], int]] = {
    "nanoseconds": (lambda frame: frame, 1),
    "VLAN in VLAN": (lambda frame: frame[:12] + b"\x88\xa8\0\1\x81\0\0\2" + frame[12:], 1),
    "PPPoE": (lambda frame: frame[:12] + b"\x88\x64\x11\0\0\1\0\0\0\x21" + frame[14:], 1),
    "cooked": (lambda frame: bytes(14) + frame[12:], 113),
    "cooked, version 2": (lambda frame: frame[12:14] + bytes(18) + frame[14:], 276),
    "loopback": (lambda frame: b"\2\0\0\0" + frame[14:], 0),
    "raw": (lambda frame: frame[14:], 101),
    "length left to the device": (lambda frame: frame[:16] + b"\0\0" + frame[18:] if len(frame) > 90 else frame, 1),
}


@pytest.mark.parametrize("what", DRESSED)
def test_what_is_around_packets_changes_no_figure(tmp_path: Path, what: str) -> None:
    found = lines.fit(written(tmp_path / "same.pcap", *DRESSED[what]))
    assert found.rtt == pytest.approx(SAME.rtt, abs=1e-5)
    for (_, uplink), (_, same) in zip(found.ways, SAME.ways, strict=True):
        assert uplink.rate == pytest.approx(same.rate, rel=1e-4)
        assert uplink.wait == pytest.approx(same.wait, rel=1e-4)


HIDDEN: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "WireGuard": (udp(51820), r"has no segment of TCP that fills it: 100% of its bytes are WireGuard's, which carries"),
    "QUIC": (udp(443), "of its bytes are QUIC's"),
    "IPsec": (udp(0, 50), "of its bytes are IPsec's"),
    "UDP": (udp(5201), "of its bytes are not TCP's"),
    "headers cut": (lambda frame: frame[:40], "of its bytes are cut before TCP's header ends"),
}


@pytest.mark.parametrize("what", HIDDEN)
def test_what_hides_a_connection_is_named(tmp_path: Path, what: str) -> None:
    file = written(tmp_path / "hidden.pcap", HIDDEN[what][0])
    with pytest.raises(InputError, match=HIDDEN[what][1]) as caught:
        lines.fit(file)
    assert len(str(caught.value)) < 300


def test_interfaces_of_a_pcapng_have_their_own_links_and_clocks(tmp_path: Path) -> None:
    blocks = [(0x0A0D0D0A, struct.pack(">IHHq", 0x1A2B3C4D, 1, 0, -1))]
    blocks += [
        (1, struct.pack(">HHI", 1, 0, 96)),
        (1, struct.pack(">HHIHHB3xHHqI", 101, 0, 96, 9, 1, 9, 14, 8, 1000, 0)),
    ]
    for number, (time, frame) in enumerate(FRAMES):
        which = number % 2
        ticks = round((time - 1000) * 1e9) if which else round(time * 1e6)
        data = frame[14:] if which else frame
        head = struct.pack(">IIIII", which, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
        blocks.append((6, head + data.ljust((len(data) + 3) // 4 * 4, b"\0")))
    sizes = [struct.pack(">I", len(body) + 12) for _, body in blocks]
    written = [struct.pack(">I", kind) + size + body + size for (kind, body), size in zip(blocks, sizes, strict=True)]
    (file := tmp_path / "two.pcapng").write_bytes(b"".join(written))
    found = lines.fit(file)
    assert found.rtt == pytest.approx(SAME.rtt, abs=1e-5)
    assert found.traces[0].begun == pytest.approx(SAME.traces[0].begun, abs=1e-3)
