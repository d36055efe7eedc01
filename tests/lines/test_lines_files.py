"""Files that are measured on a line: other programs and units, and what is wrong with a file in one sentence."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import dpkt
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from btflow import lines
from btflow.errors import InputError
from btflow.lines import capture, files, frames, ping
from btflow.lines.line import Estimate, Line
from btflow.paths import read_csv
from validation.lines.made import LINES, RECORDED


def content(name: str) -> bytes:
    return gzip.decompress((RECORDED / f"{name}.gz").read_bytes())


def rate_up(line: Line) -> Estimate:
    return dict(line.ways)["up"].rate


LOGS = {
    "iputils": "64 bytes from 192.0.2.1: icmp_seq={n} ttl=57 time={t} ms",
    "iputils, a name": "64 bytes from a.example (192.0.2.1): icmp_seq={n} ttl=57 time={t} ms",
    "iputils, German": "64 Bytes von 192.0.2.1: icmp_seq={n} ttl=57 Zeit={t} ms",
    "iputils, Czech": "64 bajtů od 192.0.2.1: pořadí={n} TTL=57 čas={t} ms",
    "iputils, Japanese": "64 データ長(byte)\n 送信元 192.0.2.1 icmp_seq={n} ttl=57 時間={t} ミリ秒",
    "inetutils, decimal comma": "64 bytes from 192.0.2.1: icmp_seq={n} ttl=57 time={t},000 ms",
    "macOS": "64 bytes from 192.0.2.1: icmp_seq={n} ttl=57 time={t} ms",
    "BusyBox": "64 bytes from 192.0.2.1: seq={n} ttl=57 time={t} ms",
    "fping": "192.0.2.1 : [{n}], 64 bytes, {t} ms ({t} avg, 0% loss)",
    "Windows": "Reply from 192.0.2.1: bytes=32 time={t}ms TTL=57",
    "Windows, German": "Antwort von 192.0.2.1: Bytes=32 Zeit={t}ms TTL=57",
    "Windows, French": "Réponse de 192.0.2.1 : octets=32 temps={t} ms TTL=57",
    "Windows, Spanish": "Respuesta desde 192.0.2.1: bytes=32 tiempo={t}ms TTL=57",
    "Windows, Italian": "Risposta da 192.0.2.1: byte=32 durata={t}ms TTL=57",
    "Windows, Portuguese": "Resposta de 192.0.2.1: bytes=32 tempo={t}ms TTL=57",
    "Windows, Dutch": "Antwoord van 192.0.2.1: bytes=32 tijd={t}ms TTL=57",
    "Windows, Polish": "Odpowiedź z 192.0.2.1: bajtów=32 czas={t}ms TTL=57",
    "Windows, Swedish": "Svar från 192.0.2.1: byte=32 tid={t}ms TTL=57",
    "Windows, Russian": "Ответ от 192.0.2.1: число байт=32 время={t}мс TTL=57",
    "Windows, Japanese": "192.0.2.1 からの応答: バイト数 =32 時間 ={t}ms TTL=57",
    "Windows, Chinese": "来自 192.0.2.1 的回复: 字节=32 时间={t}ms TTL=57",
    "Windows, IPv6": "Antwort von 2001:db8::1: Zeit={t}ms ",
}
SIZES = {"Windows": 60, "Windows, IPv6": 80}
"""Of the IP packet; of a ping of 32 bytes, where its log says no size."""
CODES = {
    "Windows, German": "cp850",
    "Windows, Russian": "cp866",
    "Windows, Japanese": "cp932",
    "Windows, Chinese": "gbk",
}


@pytest.mark.parametrize("form", LOGS)
@pytest.mark.parametrize("code", ["utf-8", "utf-16", "utf-16-le", "utf-16-be", "as the console"])
def test_logs_of_many_pings_are_read(tmp_path: Path, form: str, code: str) -> None:
    text = "\r\n".join(["", *(LOGS[form].format(n=n, t=t) for n, t in enumerate((20, 30, 40)))])
    code = CODES.get(form, "utf-8") if code == "as the console" else code
    (file := tmp_path / "log").write_bytes(text.encode(code))
    delays = lines.read(file).delays[0]
    assert delays.rtt.tolist() == [0.02, 0.03, 0.04]
    assert delays.time.tolist() == [0, 1, 2]
    assert delays.size == SIZES.get(form, SIZES["Windows"] if "Windows" in form else 84)


LINUX, WINDOWS, ENGLISH = LOGS["iputils"], LOGS["Windows, German"].format(t=20), LOGS["Windows"].format(t=20)
FPING = "[1699999999.{n}] 192.0.2.1 : [{n}], 64 bytes, 20 ms (20 avg, 0% loss)"
SUMMARY = "\n--- a ping statistics ---\n8 packets transmitted, {n} received, 50% packet loss, time {t}ms\n"


def numbered(*numbers: int) -> str:
    return "\n".join(LINUX.format(n=n, t=20) for n in numbers) + "\n"


TWICE = numbered(1, 2, 5, 6) + numbered(6)[:-1] + " (DUP!)\n" + SUMMARY.format(n=4, t=1400)
PLACED: dict[str, tuple[str, list[float], list[float], str]] = {
    "lost and twice": (TWICE, [0, 0.2, 0.8, 1.0], [0.4, 0.6], "1 reply came a second time"),  # 1.4 s for 7 periods
    "wrap": (numbered(65534, 65535, 0, 2), [0, 1, 2, 4], [3], "sent one a second"),
    "late over the wrap": (numbered(65534, 0, 65535, 1), [0, 1, 2, 3], [], ""),
    "late": (numbered(1, 2, 5, 4, 6), [0, 1, 3, 4, 5], [2], ""),
    "two runs": (numbered(1, 2, 3) + numbered(1, 3), [0, 1, 2, 3, 5], [4], "has 2 runs, whose numbers begin again"),
    "two runs after a long one": (numbered(*range(1, 1500)) + numbered(1), [*range(1500)], [], "has 2 runs"),
    "two summaries": (2 * (numbered(1, 2) + SUMMARY.format(n=2, t=3500)), [0, 0.5, 1, 1.5], [], "has 2 runs"),
    "runs of one ping": (3 * ("PING a\n" + numbered(1)), [0, 1, 2], [], "has 3 runs"),
    "Windows, lost": (f"{ENGLISH}\nRequest timed out.\n{ENGLISH}", [0, 2], [1], "1 line between replies, such as"),
    "Windows, German, lost": (f"{WINDOWS}\nZeitüberschreitung.\nFehler.\n{WINDOWS}", [0, 3], [1, 2], "2 lines between"),
    "Windows, two runs": (2 * f"Ping für a mit 32 Bytes Daten:\nfort\n{WINDOWS}\n\nPing-Statistik für 192.0.2.1:\n"
                          "    Pakete: Gesendet = 1, Empfangen = 1, Verloren = 0\nZeiten:\n", [0, 1], [], "has 2 runs"),
    "fping -D": ("\n".join(FPING.format(n=n) for n in (1, 2, 5)), [0, 0.1, 0.4], [0.2, 0.3], ""),
}  # fmt: skip


@pytest.mark.parametrize("what", PLACED)
def test_pings_are_placed_by_their_numbers(what: str) -> None:
    text, sent, lost, said = PLACED[what]
    trace = ping.read("log", text)
    assert trace.delays[0].time == pytest.approx(sent, abs=1e-6)
    assert trace.delays[0].lost == pytest.approx(lost, abs=1e-6)
    assert said in "\n".join(trace.notes)


@pytest.mark.parametrize(
    ("shown", "seconds"), [("900 us", 9e-4), ("0.9 ms", 9e-4), ("<1 ms", 1e-3), ("1.2 s", 1.2), ("1203 ms", 1.203)]
)
def test_times_are_read_in_their_unit(shown: str, seconds: float) -> None:
    sign = "" if shown.startswith("<") else "="
    text = f"64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time{sign}{shown}"
    assert ping.read("log", text).delays[0].rtt[0] == pytest.approx(seconds)


def test_flent_files_without_single_values_are_read_at_their_times(tmp_path: Path) -> None:
    (file := tmp_path / "plain.flent").write_bytes(changed("packets-flent.flent", raw_values={}))
    plain, known = lines.fit(file), lines.fit(RECORDED / "packets-flent.flent.gz")
    assert plain.rtt.value == pytest.approx(known.rtt.value, abs=1e-3)
    assert rate_up(plain).value == pytest.approx(rate_up(known).value, rel=0.05)


FLENT: dict[str, tuple[list[str], str, int, int, str]] = {
    "tcp_nup": (["TCP upload::1", "TCP upload::2", "TCP upload sum", "TCP upload::tcp_rt"], "Ping (ms) ICMP", 2, 0, ""),
    "rrul": ([f"TCP {way}load {mark}" for way in ("up", "down") for mark in ("BE", "CS5", "avg")] + ["TCP totals"],
             "Ping (ms) UDP BE", 2, 2, "tells neither buffer: tcp_upload and tcp_download, one by one"),
    "rrul_var": (["TCP upload::1,BE", "TCP download::2,BE"], "Ping (ms)::ICMP", 1, 1, "those of Ping (ms)::ICMP"),
    "rtt_fair": (["TCP upload BE1 2001:db8::1", "TCP upload fairness"], "Ping (ms) ICMP1 2001:db8::1", 1, 0, ""),
    "tcp_2up_square": (["TCP cubic", "TCP reno"], "Ping (ms) ICMP", 2, 0, "TCP cubic, TCP reno: taken for uploads"),
    "voip-rrul": (["TCP download", "VoIP", "VoIP::delay"], "Ping (ms) ICMP", 0, 1, "VoIP went beside TCP"),
    "ping": ([], "Ping (ms) ICMP", 0, 0, ""),
}  # fmt: skip
"""Series of tests, the series of its pings, flows up and down, and some of the notes."""


@pytest.mark.parametrize("test", FLENT)
def test_flows_of_many_flent_tests_are_counted(tmp_path: Path, test: str) -> None:
    series, pings, up, down, said = FLENT[test]
    tree = json.loads(content("packets-flent.flent"))
    tree["metadata"] |= {"NAME": test, "SERIES_META": {one: {"UNITS": "Kbits/s"} for one in series}}
    tree |= {"raw_values": {}, "results": {pings: tree["results"]["Ping (ms) ICMP"]}}
    tree["results"] |= {one: [8.0] * len(tree["x_values"]) for one in series}
    (file := tmp_path / "a.flent").write_text(json.dumps(tree))
    trace = lines.read(file)
    assert {load.way: load.flows for load in trace.loads} == {way: n for way, n in (("up", up), ("down", down)) if n}
    assert all(load.goodput == pytest.approx(1e3 * load.flows) for load in trace.loads)
    assert len(trace.delays[0].rtt) > 20
    assert said in "\n".join(trace.notes)
    tree["results"]["UDP upload 192.0.2.1"] = [8.0] * len(tree["x_values"])
    file.write_text(json.dumps(tree))
    with pytest.raises(InputError, match=r"loads the line by UDP upload 192\.0\.2\.1, too"):
        lines.read(file)


def test_a_stream_of_iperf3_says_the_same(tmp_path: Path) -> None:
    tree = json.loads(content("packets-up.json"))
    parts = [("start", tree["start"]), *(("interval", one) for one in tree["intervals"]), ("end", tree["end"])]
    events = [json.dumps({"event": event, "data": data}, separators=(",", ":")) for event, data in parts]
    whole = "warning: of something\n" + json.dumps(tree, indent=1)
    for text in ("\n".join([*events, json.dumps(tree, indent=1)]), whole):
        (file := tmp_path / "same.json").write_text(text, encoding="utf-16")
        same, known = (lines.read(path).loads[0] for path in (file, RECORDED / "packets-up.json.gz"))
        assert same.goodput.tolist() == known.goodput.tolist()
        assert same.arrived == known.arrived


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


PCAP, IPERF3, FLENT_FILE = content("packets-up.pcap"), "packets-up.json", "packets-flent.flent"
LOG = b"".join(b"64 bytes from 192.0.2.1: icmp_seq=%d ttl=57 time=20 ms\n" % number for number in (1, 5))
BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty"),
    "blank": (b" \n\n", "is empty"),
    "words": (b"a letter to nobody\n" * 20, "is of no kind that a line can be fitted to"),
    "picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "is of no kind"),
    "no reply": (b"PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n", "has no reply in it"),
    "unit": (b"64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=20 h\n", "line 1 has a time in 'h'"),
    "hours": (b"64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=9999 s\n", "line 1 has a round-trip time of 9999 s"),
    "number": (LOG.replace(b"=5 ", b"=9000000 "), "has pings of numbers up to 9000000"),
    "line": (LOG + b"1 bytes from " * 100, "line 3 has 1,300 characters; allowed: at most 500"),
    "bytes": (LOG.replace(b"64", b"70000"), "line 1 has a ping of 70000 B"),
    "year 33658": (b"[999999999999.5] " + LOG[: LOG.index(b"\n")], "begins 1e+12 s after 1970; allowed: a time of day"),
    "fping of two hosts": (b"a : [0], 64 bytes, 1 ms\nb : [0], 64 bytes, 1 ms", "has pings of 2 hosts, such as a"),
    "iperf3's text": (b"Connecting to host 192.0.2.1, port 5201\n", "is the text of iperf"),
    "mtr": (b"HOST: a    Loss%   Snt   Last\n", "is of mtr"),
    "hping": (b"HPING a\nlen=28 ip=127.0.0.1 ttl=64 id=1 icmp_seq=0 rtt=1.0 ms\n", "is of mtr, hping"),
    "zip": (b"PK\3\4" + bytes(99), "zip packed it, which is not read here"),
    "cut xz": (lzma.compress(LOG)[:-20], "is no whole xz file"),
    "cut bzip2": (bz2.compress(LOG)[:-20], "is no whole bzip2 file"),
    "damaged bzip2": (b"BZh" + b"x" * 100, "is no whole bzip2 file"),
    "two iperf3 results": (2 * b'{\n"start": {}\n}\n', "has 2 results; allowed: that of one test"),
    "error in a stream": (
        b'{"event":"error","data":"%s"}\n{"event":"end","data":{}}' % (b"no " * 99),
        "has an error of",
    ),
    "iperf3 with an error": (
        changed(IPERF3, error="error - cannot connect"),
        "has an error of iperf3's: error - cannot",
    ),
    "UDP": (changed(IPERF3, start__test_start__protocol="UDP"), "is a test of UDP"),
    "server's": (changed(IPERF3, start__accepted_connection={}), "was written by iperf3's server"),
    "no intervals": (changed(IPERF3, intervals=[]), "has no intervals"),
    "idle": (re.sub(rb'"bytes":\s*\d+', b'"bytes": 0', content(IPERF3)), "has no byte that was sent up"),
    "cut JSON": (content(IPERF3)[:5000], "is no whole iperf3 result: its JSON: "),
    "negative bytes": (
        changed(IPERF3, intervals=[{"streams": [{"start": 0, "end": 1, "bytes": -5}]}]),
        "intervals.0.streams.0.bytes: Input should be greater than or equal to 0",
    ),
    "furlongs": (changed(FLENT_FILE, metadata__SERIES_META={"TCP upload": {"UNITS": "furlongs"}}), "in 'furlongs'"),
    "flent at the end of the calendar": (
        changed(FLENT_FILE, metadata__T0="9999-12-31T23:59:59-14:00"),
        "metadata.T0: Value error, should be from 1970 to 2241",
    ),
    "flent without a load": (changed(FLENT_FILE, results={"qdisc": [0] * 10}), "go with its times"),
    "cut flent": (content(FLENT_FILE)[:9000], "is no whole flent file: its JSON: "),
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
    assert len(said) <= 300
    assert caught.value.allowed


WHOLE = [LOG, content("packets-up.json"), content("packets-flent.flent"), b"src,dst,rtt_ms,loss\n" + b"a,b,30,0\n" * 30]
WHOLE += [b'[{"prb_id": 1, "dst_addr": "a", "result": [{"rtt": 30.5}, {"x": "*"}]}]', BAD["iperf3 with an error"][0]]
READERS: list[Callable[[Path], object]] = [read_csv, lines.read]
READERS += [partial(lines.read, form=form) for form in ("ping", "iperf3", "flent")]


@given(st.sampled_from(WHOLE), st.floats(0, 1), st.sampled_from(["Q", "Q, ", '"Q', 'Q"', "\nQ", '{"Q', "1Q", "rttQ,"]))
@settings(max_examples=200, deadline=None)
def test_a_refusal_is_short_and_quotes_little(whole: bytes, place: float, what: str) -> None:
    at = int(place * min(len(whole), 3000))
    with TemporaryDirectory() as folder:
        file = Path(folder) / f"{'long' * 50}.dat"
        file.write_bytes(whole[:at] + what.replace("Q", "Q" * 3000).encode() + whole[at:])
        for reader in READERS:
            try:
                reader(file)
            except InputError as error:
                assert len(str(error)) <= 300
                assert "Q" * 81 not in str(error)


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        ([""], {}, "is a folder"),
        (["pipe"], {}, "it is a pipe, not a file"),
        (["none.log"], {}, "cannot be read: No such file"),
        ([], {}, "file: is not given"),
        ([RECORDED / "adsl-up.log.gz"], {"format": "pdf"}, "format = 'pdf': is unknown; allowed: flent, ping, iperf3,"),
        ([RECORDED / "adsl-up.log.gz"], {"format": "iperf3"}, "is no whole iperf3 result"),
        ([RECORDED / "adsl-up.log.gz"], {"way": "left"}, "way = 'left': is unknown"),
        ([RECORDED / "adsl-up.log.gz"], {"rate": "3 m"}, "rate = '3 m': "),
    ],
)
def test_what_is_no_file_and_no_option(tmp_path: Path, given: list[Path], options: dict[str, Any], said: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=said):
        lines.fit(*(tmp_path / file for file in given), **options)


@pytest.mark.parametrize(
    ("module", "bound", "most", "file", "said"),
    [
        (files, "LARGEST", 10_000, "json", "is too large; allowed: at most 0 MiB, unpacked"),
        (files, "_MOST", 100, "json", "is too large; allowed: at most 16 MiB, unpacked, and 100 values"),
        (frames, "MOST_PACKETS", 100, "pcap", "is too long; allowed: at most 100 packets and 4 GiB, unpacked"),
        (frames, "MOST_BYTES", 10_000, "pcap", "is too long; allowed: at most 2,000,000 packets and 0 GiB, unpacked"),
        (capture, "MOST_FLOWS", 1, "pcap", "is no upload; allowed: at most 1 flows, and few segments sent again"),
    ],
)
def test_what_is_too_large_is_refused(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, bound: str, most: int, file: str, said: str
) -> None:
    monkeypatch.setattr(module, bound, most)
    with pytest.raises(InputError, match=said):
        lines.fit(RECORDED / f"packets-up.{file}.gz")


def test_files_that_do_not_go_together(tmp_path: Path) -> None:
    (tmp_path / "again.gz").symlink_to(RECORDED / "packets-up.json.gz")
    with pytest.raises(InputError, match="is given twice"):
        lines.fit(RECORDED / "packets-up.json.gz", tmp_path / "again.gz")
    (plain := tmp_path / "plain.log").write_text("64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=20 ms\n" * 3)
    with pytest.raises(InputError, match=r"plain.log': has no times of day.*allowed: a log of ping -D"):
        lines.fit(RECORDED / "packets-up4.json.gz", plain)


def test_a_capture_that_is_cut_off_counts_up_to_there(tmp_path: Path) -> None:
    (file := tmp_path / "cut.pcap").write_bytes(PCAP[: len(PCAP) // 2 + 7])
    line = lines.fit(file)
    assert any("is cut off or damaged after" in note for note in line.notes)
    assert rate_up(line).low < 125_000 < rate_up(line).high


def test_pcapng_says_the_same(tmp_path: Path) -> None:
    with (tmp_path / "same.pcapng").open("wb") as file:
        writer = dpkt.pcapng.Writer(file, snaplen=96)
        for time, frame in dpkt.pcap.Reader(io.BytesIO(PCAP)):
            writer.writepkt(frame, time)
    same, known = lines.fit(tmp_path / "same.pcapng"), lines.fit(RECORDED / "packets-up.pcap.gz")
    assert rate_up(same).value == pytest.approx(rate_up(known).value, rel=1e-3)
    assert same.rtt.value == pytest.approx(known.rtt.value, abs=1e-5)


def test_a_capture_where_the_data_arrive_is_refused() -> None:
    with pytest.raises(InputError, match="has no upload in it: it was captured where the data arrive"):
        lines.fit(RECORDED / "j15-down8.pcap.gz")


def test_a_capture_of_both_directions_shows_both_loads_and_the_acks_beside_the_upload() -> None:
    line, made = lines.fit(RECORDED / "j12-both8.pcap.gz"), LINES["j12"]
    assert [(way, queue.rate.high, queue.wait) for way, queue in line.ways] == [
        ("up", np.inf, None),
        ("down", np.inf, None),
    ]
    for way, queue in line.ways:
        assert 0.6 * made.truth(way)[0] < queue.rate.low < made.truth(way)[0]
    up, _ = line.loads
    assert up.beside is not None
    assert (line.loads[0].flows, line.loads[1].flows) == (8, 8)
    assert up.beside[0] > 0.05 * made.uplink  # 828 ACKs a second


def _segment(seq: int = 0, ack: int = 0) -> frames.Packet:
    """Return a segment of 1,000 bytes, or an ACK."""
    return frames.Packet(0.0, "TCP", b"", seq, ack, 16, 0 if ack else 1000, 52, ())


def test_without_sack_a_duplicate_ack_is_a_segment_that_came() -> None:
    """Counted where the hole is closed they would make the rate a fifth too high."""
    sender = capture._Sender()
    for number in range(8):
        sender.send(_segment(seq=1000 * number), 0.1 * number)
    for time, ack in enumerate((1000, 1000, 1000, 1000, 1000, 6000, 6000, 8000)):
        sender.answer(_segment(ack=ack), 1.0 + time)
    assert sender.arrived.tolist() == [1, 1000, 2, 1000, 3, 1000, 4, 1000, 5, 1000, 6, 1000, 7, 1000, 8, 1000]


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(0, 5)), min_size=1, max_size=20))
def test_no_more_has_arrived_than_was_sent_however_often_an_ack_comes_again(acks: list[tuple[int, int]]) -> None:
    """As those do that open the window, or that tell of segments behind a second hole."""
    sender, reached = capture._Sender(), 0
    for number in range(sum(more for more, _ in acks) + 3):
        sender.send(_segment(seq=1000 * number), 0.1 * number)
    for more, again in acks:
        reached += 1000 * more
        for _ in range(1 + again):
            sender.answer(_segment(ack=reached), 100.0)
            assert reached <= sum(sender.arrived[1::2]) <= sum(sender.sizes)
