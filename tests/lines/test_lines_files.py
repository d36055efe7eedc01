"""Files that are measured on a line: other programs and units, and what is wrong with a file in one sentence."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import dpkt
import numpy as np
import pytest

from btflow import lines
from btflow.errors import InputError
from btflow.lines import capture, files, frames, ping
from validation.lines.made import RECORDED


def content(name: str) -> bytes:
    return gzip.decompress((RECORDED / f"{name}.gz").read_bytes())


LOGS = {
    "iputils": "64 bytes from 192.0.2.1: icmp_seq={n} ttl=57 time={t} ms",
    "iputils, a name": "64 bytes from a.example (192.0.2.1): icmp_seq={n} ttl=57 time={t} ms",
    "macOS": "64 bytes from 192.0.2.1: icmp_seq={n} ttl=57 time={t} ms",
    "BusyBox": "64 bytes from 192.0.2.1: seq={n} ttl=57 time={t} ms",
    "Windows": "Reply from 192.0.2.1: bytes=32 time={t}ms TTL=57",
}


@pytest.mark.parametrize("form", LOGS)
def test_logs_of_many_pings_are_read(form: str) -> None:
    text = "\n".join(LOGS[form].format(n=n, t=t) for n, t in enumerate((20, 30, 40)))
    delays = ping.read("log", text).delays[0]
    assert delays.rtt.tolist() == [0.02, 0.03, 0.04]
    assert delays.time.tolist() == [0, 1, 2]
    assert delays.size == (60 if form == "Windows" else 84)
    assert files._format(text.encode()) == "ping"


@pytest.mark.parametrize(
    ("shown", "seconds"), [("900 us", 9e-4), ("0.9 ms", 9e-4), ("<1 ms", 1e-3), ("1.2 s", 1.2), ("1203 ms", 1.203)]
)
def test_times_are_read_in_their_unit(shown: str, seconds: float) -> None:
    sign = "" if shown.startswith("<") else "="
    text = f"64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time{sign}{shown}"
    assert ping.read("log", text).delays[0].rtt[0] == pytest.approx(seconds)


def test_pings_that_are_lost_or_come_twice() -> None:
    reply = LOGS["iputils"]
    rows = [reply.format(n=n, t=20) for n in (1, 2, 5, 6)] + [reply.format(n=6, t=21) + " (DUP!)"]
    rows += ["", "8 packets transmitted, 4 received, +1 duplicates, 50% packet loss, time 1400ms"]
    trace = ping.read("log", "\n".join(rows))
    assert trace.delays[0].time == pytest.approx([0, 0.2, 0.8, 1.0])  # 1.4 s for 7 periods
    assert trace.delays[0].lost == pytest.approx([0.4, 0.6])
    assert any("1 replies came a second time" in note for note in trace.notes)
    windows = "\n".join([LOGS["Windows"].format(t=20), "Request timed out.", LOGS["Windows"].format(t=21)])
    assert ping.read("log", windows).delays[0].lost.tolist() == [1]


def test_flent_files_without_single_values_are_read_at_their_times(tmp_path: Path) -> None:
    (file := tmp_path / "plain.flent").write_bytes(changed("packets-flent.flent", raw_values={}))
    plain, known = lines.fit(file), lines.fit(RECORDED / "packets-flent.flent.gz")
    assert plain.rtt.value == pytest.approx(known.rtt.value, abs=1e-3)
    assert plain.uplink is not None
    assert known.uplink is not None
    assert plain.uplink.rate.value == pytest.approx(known.uplink.rate.value, rel=0.05)


def test_iperf3_both_ways_at_once_is_two_loads(tmp_path: Path) -> None:
    tree = json.loads(content("packets-up.json"))
    tree["start"]["test_start"]["bidir"] = 1
    tree["end"]["sum_received_bidir_reverse"] = {"seconds": 20, "bytes": 20_000_000}
    for interval in tree["intervals"]:
        interval["streams"].append({**interval["streams"][0], "sender": False, "bytes": 200_000, "rtt": 0})
    (file := tmp_path / "both.json").write_text(json.dumps(tree))
    trace = lines.read(file)
    assert [load.way for load in trace.loads] == ["up", "down"]
    assert trace.loads[1].counted == "arrived"
    line = lines.fit(file, rtt="30 ms")
    assert all(queue.wait is None and queue.rate.high == np.inf for _, queue in line.ways)


def changed(name: str, **values: Any) -> bytes:
    tree = json.loads(content(name))
    for path, value in values.items():
        place = tree
        *parts, last = path.split("__")
        for part in parts:
            place = place[part]
        place[last] = value
    return json.dumps(tree).encode()


PCAP = content("packets-up.pcap")
LOG = b"".join(b"64 bytes from 192.0.2.1: icmp_seq=%d ttl=57 time=20 ms\n" % number for number in (1, 5))
BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty"),
    "blank": (b" \n\n", "is empty"),
    "words": (b"a letter to nobody\n" * 20, "is of no kind that a line can be fitted to"),
    "picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "is of no kind"),
    "no reply": (b"PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n", "has no reply in it"),
    "unit": (b"64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=20 h\n", "line 1 has a time in 'h'"),
    "hours": (b"64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=9999 s\n", "line 1 has a round-trip time of 9999 s"),
    "number": (LOG.replace(b"=5 ", b"=9000000 "), "has pings of the numbers 1 to 9000000"),
    "line": (LOG + b"1 bytes from " * 100, "line 3 has 1,300 characters; allowed: at most 500"),
    "bytes": (LOG.replace(b"64", b"70000"), "line 1 has a ping of 70000 B"),
    "year 33658": (
        b"[999999999999.5] " + LOG[: LOG.index(b"\n")],
        "begins 1e+12 s after 1970; allowed: a time of day",
    ),
    "not UTF-8": (b"PING \xff\xfe\n64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=20 ms\n", "byte 5 is not UTF-8"),
    "iperf3 with an error": (
        changed("packets-up.json", error="error - unable to connect to server"),
        "has an error of iperf3's: error - unable to connect to server",
    ),
    "UDP": (changed("packets-up.json", start__test_start__protocol="UDP"), "is a test of UDP"),
    "server's": (changed("packets-up.json", start__accepted_connection={}), "was written by iperf3's server"),
    "no intervals": (changed("packets-up.json", intervals=[]), "has no intervals"),
    "idle": (re.sub(rb'"bytes":\s*\d+', b'"bytes": 0', content("packets-up.json")), "has no byte that was sent up"),
    "cut JSON": (content("packets-up.json")[:5000], "is no whole iperf3 result: its JSON: "),
    "negative bytes": (
        changed("packets-up.json", intervals=[{"streams": [{"start": 0, "end": 1, "bytes": -5}]}]),
        "intervals.0.streams.0.bytes: Input should be greater than or equal to 0",
    ),
    "flent of pings in furlongs": (
        changed("packets-flent.flent", metadata__SERIES_META={"TCP upload": {"UNITS": "furlongs"}}),
        "has TCP upload in 'furlongs'",
    ),
    "flent at the end of the calendar": (
        changed("packets-flent.flent", metadata__T0="9999-12-31T23:59:59-14:00"),
        "metadata.T0: Value error, should be from 1970 to 2241",
    ),
    "flent without a load": (changed("packets-flent.flent", results={"qdisc": [0] * 10}), "go with its times"),
    "cut flent": (content("packets-flent.flent")[:9000], "is no whole flent file: its JSON: "),
    "head of a pcap": (PCAP[:24], "has no segment of TCP"),
    "half a head": (PCAP[:20], "is no whole capture"),
    "pcap without an upload": (PCAP[:12000], "has no upload in it"),
    "link type": (PCAP[:20] + (147).to_bytes(4, "little") + PCAP[24:], "is of link type 147"),
    "cut gzip": ((RECORDED / "packets-up.json.gz").read_bytes()[:3000], "is no whole gzip file"),
    "damaged gzip": (b"\x1f\x8b" + b"x" * 100, "is no whole gzip file"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_is_refused_in_one_sentence(tmp_path: Path, what: str) -> None:
    file = tmp_path / "mine.dat"
    file.write_bytes(BAD[what][0])
    with pytest.raises(InputError) as caught:
        lines.fit(file)
    said = str(caught.value)
    assert said.startswith("file = 'mine.dat': ")
    assert BAD[what][1] in said
    assert "\n" not in said
    assert caught.value.allowed


def test_folders_missing_files_and_wrong_formats(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        lines.fit(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="it is a pipe, not a file"):
        lines.fit(tmp_path / "pipe")
    with pytest.raises(InputError, match="cannot be read: No such file"):
        lines.fit(tmp_path / "none.log")
    with pytest.raises(InputError, match="file: is not given"):
        lines.fit()
    with pytest.raises(InputError, match="format = 'pdf': is unknown; allowed: flent, ping, iperf3, capture"):
        lines.fit(RECORDED / "adsl-up.log.gz", format="pdf")
    with pytest.raises(InputError, match="is no whole iperf3 result"):
        lines.fit(RECORDED / "adsl-up.log.gz", format="iperf3")
    with pytest.raises(InputError, match="way = 'left': is unknown"):
        lines.fit(RECORDED / "adsl-up.log.gz", way="left")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="rate = '3 m': "):
        lines.fit(RECORDED / "adsl-up.log.gz", rate="3 m")


def test_what_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGEST", 10_000)
    with pytest.raises(InputError, match="is too large; allowed: at most 0 MiB, unpacked"):
        lines.fit(RECORDED / "packets-up.json.gz")
    monkeypatch.setattr(files, "LARGEST", 2**24)
    monkeypatch.setattr(files, "_MOST", 100)
    with pytest.raises(InputError, match="is too large; allowed: at most 16 MiB, unpacked, and 100 values"):
        lines.fit(RECORDED / "packets-up.json.gz")
    monkeypatch.setattr(frames, "MOST_PACKETS", 100)
    monkeypatch.setattr(frames, "MOST_BYTES", 10_000)
    for _ in range(2):
        with pytest.raises(InputError, match=r"is too long; allowed: at most [012,]+ packets and 0 GiB, unpacked"):
            lines.fit(RECORDED / "packets-up.pcap.gz")
        monkeypatch.setattr(frames, "MOST_PACKETS", 2_000_000)
    monkeypatch.setattr(frames, "MOST_BYTES", 2**32)
    monkeypatch.setattr(capture, "MOST_FLOWS", 1)
    with pytest.raises(InputError, match="is no upload; allowed: at most 1 flows, and few segments sent again"):
        lines.fit(RECORDED / "packets-up.pcap.gz")


def test_files_that_do_not_go_together(tmp_path: Path) -> None:
    (tmp_path / "again.gz").symlink_to(RECORDED / "packets-up.json.gz")
    with pytest.raises(InputError, match="is given twice"):
        lines.fit(RECORDED / "packets-up.json.gz", tmp_path / "again.gz")
    with pytest.raises(InputError, match=r"managed-up4.json.gz': say [01.]+\d* Mbit/s and 9\.\d+ Mbit/s up, which"):
        lines.fit(RECORDED / "packets-up4.json.gz", RECORDED / "managed-up4.json.gz")
    (plain := tmp_path / "plain.log").write_text("64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=20 ms\n" * 3)
    with pytest.raises(InputError, match=r"plain.log': has no times of day.*allowed: a log of ping -D"):
        lines.fit(RECORDED / "packets-up4.json.gz", plain)


def test_a_capture_that_is_cut_off_counts_up_to_there(tmp_path: Path) -> None:
    (file := tmp_path / "cut.pcap").write_bytes(PCAP[: len(PCAP) // 2 + 7])
    line = lines.fit(file)
    assert any("is cut off or damaged after" in note for note in line.notes)
    assert line.uplink is not None
    assert line.uplink.rate.low < 125_000 < line.uplink.rate.high


def test_pcapng_says_the_same(tmp_path: Path) -> None:
    with (tmp_path / "same.pcapng").open("wb") as file:
        writer = dpkt.pcapng.Writer(file, snaplen=96)
        for time, frame in dpkt.pcap.Reader(io.BytesIO(PCAP)):
            writer.writepkt(frame, time)
    same, known = lines.fit(tmp_path / "same.pcapng"), lines.fit(RECORDED / "packets-up.pcap.gz")
    assert same.uplink is not None
    assert known.uplink is not None
    assert same.uplink.rate.value == pytest.approx(known.uplink.rate.value, rel=1e-3)
    assert same.rtt.value == pytest.approx(known.rtt.value, abs=1e-5)


def test_a_capture_where_the_data_arrive_is_refused() -> None:
    far, near = capture._Sender(handshake=0.03), capture._Sender(handshake=0.0001)
    capture._check_side("x", far, near)
    with pytest.raises(InputError, match="captured where the data arrive"):
        capture._check_side("x", near, far)
