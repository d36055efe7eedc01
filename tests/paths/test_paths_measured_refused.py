"""What is wrong with a CSV file of measured paths is said, with its line."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from paths_made import NAMED, changed, rows, star, table

from btflow import InputError
from btflow.paths import fit, read_csv

WRONG = [
    ({"body": changed(5, "-3", "0")}, r"line 5 has rtt = -3 ms; allowed: not negative"),
    ({"body": changed(6, "0", "0")}, r"line 6 has rtt = 0 ms; allowed: at least 0.001 ms$"),
    (
        {"body": [["0.0005", "0"]] * 30},
        r'line 2 has rtt = 0.0005 ms; allowed: at least 0.001 ms; rtt_unit="s" if it is in seconds',
    ),
    (
        {"header": "rtt_s,loss", "body": changed(6, "1e-9", "0")},
        r"line 6 has rtt = 1e-09 s; allowed: at least 1e-06 s$",
    ),
    (
        {"header": "rtt_ms loss", "body": [["12 0"]] * 30},
        r'line 1 has no comma between cells, but 1 time a space; allowed: .*separator="space"',
    ),
    ({"header": "src dst  rtt_ms", "body": [["a b 12"]] * 30}, r'but 3 times a space; allowed: .*separator="space"'),
    ({"header": "packet loss", "body": [["0 %"]] * 30}, r'no column loss, but packet loss; .* loss="packet loss"'),
    ({"header": "rtt [ms]", "body": [["12 ms"]] * 30}, r"line 2 has '12 ms' for rtt; allowed: a number"),
    ({"body": changed(8, "n.a.", "0")}, r"line 8 has 'n.a.' for rtt; allowed: a number"),
    ({"body": changed(9, "inf", "0")}, r"line 9 has 'inf' for rtt; allowed: a finite number"),
    ({"body": [["-1", "1"]] * 30}, r"has 0 rows beside 30 of measurements that failed; allowed: 20 rows or more"),
    (
        {"header": '[{"prb_id": 1, "min": 20}' + 70_000 * " "},
        r"line 1 is JSON; allowed: CSV; of pings of RIPE Atlas .* jq -rs ",
    ),
    ({"body": changed(9, "1_0", "0")}, r"line 9 has '1_0' for rtt"),
    ({"body": changed(10, "12", "3")}, r"line 10 has loss = 3 fraction; allowed: at most 1 fraction.*%"),
    ({"body": changed(11, "12", "-0.1")}, r"line 11 has loss = -0.1"),
    ({"body": changed(12, "12")}, r"line 12 has 1 cell; allowed: 2"),
    ({"body": changed(13, '"12', "0")}, r"line 13 is no row of CSV"),
    (
        {"header": "rtt_s,loss", "body": changed(2, "120", "0")},
        r"line 2 has rtt = 120 s; allowed: at most 60 s; another rtt_unit",
    ),
    (
        {"body": [["1400", "0"], *([f"{0.1 + i / 1000:g}", "0"] for i in range(40))]},
        r'line 3 has rtt = 0.1 ms, and most of the file is below 1 ms; allowed: rtt_unit="s" if they are in s, '
        r'rtt_unit="ms" if they are so short',
    ),
    (
        {"body": [[f"{25 if i == 3 else 6000 + i}", "0"] for i in range(40)]},
        r'line 2 has rtt = 6000 ms, and most of the file is above 1000 ms; allowed: rtt_unit="us" if they are in us, '
        r'rtt_unit="ms" if they are so long',
    ),
    (
        {"header": "rtt_us,loss", "body": [[f"{20 + i}", "0"] for i in range(40)]},
        r'line 2 has rtt = 20 us, and most of the file is below 1000 us; allowed: rtt_unit="ms" or rtt_unit="s" if',
    ),
    ({"header": "rtt,loss"}, r"rtt_unit: is needed: the column rtt does not say its unit; allowed: us, ms, s"),
    ({"header": "a,b"}, r"line 1 has the columns a, b: none is rtt or loss"),
    ({"header": "rtt_ms;loss"}, r"line 1 has no comma between cells, but 1 time a semicolon; allowed.*semicolon"),
    ({"header": "src\tdst\trtt_ms"}, r"line 1 has no comma between cells, but 2 times a tab; .*separator=.tab."),
    ({"body": changed(9, '"12,5"', "0")}, r"line 9 has '12,5' for rtt; allowed: a number with a decimal point"),
    ({"body": [["12", "1"]] * 30}, r"csv = 'my.csv': has no loss below 40%: TCP gets nothing through on any path"),
    ({"header": NAMED, "body": star()[1:]}, r"has 19 rows"),
    ({"header": NAMED, "body": [*star()[1:], *star()[1:]]}, r"has 19 pairs of peers; allowed: 20 or more"),
    ({"header": NAMED, "body": [["me", "me", "3", "0"]] * 30}, r"has 0 pairs of peers"),
    ({"header": "rtt_ms,rtt_s"}, r"line 1 has more than one column rtt"),
    ({"header": "10,0"}, r"line 1 has the columns 10, 0"),
    (
        {"header": "rtt_ms,loss_pct"},
        r'line 1 has no column loss, but loss_pct; allowed: .* loss="loss_pct", loss_unit="%"; or none',
    ),
    ({"header": "rtt_ms,Packet Loss"}, r'loss="Packet Loss", loss_unit="fraction" or loss_unit="%"; or none'),
    ({"header": "rtt_avg_ms,loss"}, r'line 1 has no column rtt, but rtt_avg_ms; allowed: .* rtt="rtt_avg_ms"; or none'),
    ({"header": "min-rtt,maxRTT"}, r'no column rtt, but min-rtt, maxRTT; .* rtt="min-rtt", rtt_unit="us" or '),
    ({"body": rows(19)}, r"has 19 rows; allowed: 20 rows or more"),
    ({"header": "src,dst,rtt_ms", "body": [["a", "", "3"]] * 20}, r"line 2 does not name both peers"),
]


@pytest.mark.parametrize(("given_file", "said"), WRONG)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, given_file: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        fit(table(tmp_path, **given_file))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"# none\n", "only comments"),
        (b"rtt_ms\n12\n\xff\xfe\n", "line 3 is not text in UTF-8"),
        (b"\xef\xbb\xbfrtt_ms\n12\n\xff\xfe\n", "line 3 is not text in UTF-8"),  # a mark of UTF-8 before the header
        (b"\xef\xbb\xbfrtt_ms\n1\n\xff", "line 3 is not text in UTF-8"),
        (b"rtt_ms\n12\n1\x002\n", "line 3 is not text: it has a zero byte"),
        (b"rtt_ms\n" + b"1" * 70_000, "line 2 is too long; allowed: at most 65,536 characters"),
        (gzip.compress(b"rtt_ms\n" + b"1\n" * 5_000_000, mtime=0), "has too many lines; allowed: at most 5,000,000"),
        (gzip.compress(bytes(2**28 + 1), 1, mtime=0), "is larger than 256 MiB, unpacked"),
        (
            gzip.compress(b"rtt_ms\n" + b"".join(b"%d\n" % i for i in range(10, 9999)), mtime=0)[:-9],
            "is cut off after line",
        ),
        (gzip.compress(b"rtt_ms\n12\n", mtime=0)[:15] + b"\0" * 20, "is damaged|is cut off"),
        (gzip.compress(b"rtt_ms\n" + b"12\n" * 30, mtime=0) + b"rtt", "is damaged after line 31: it is no whole gzip"),
    ],
    ids=lambda part: part if isinstance(part, str) else len(part),
)
def test_files_that_are_not_whole_or_no_text_are_refused(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "my.csv").write_bytes(content)
    with pytest.raises(InputError, match=said):
        fit(tmp_path / "my.csv")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"rtt": "ping"}, "line 1 has no column ping among rtt_ms, loss"),
        ({"rtt": "rtt_ms", "loss": "rtt_ms", "loss_unit": "%"}, "loss = 'rtt_ms': is the column of rtt already"),
        ({"src": "rtt_ms", "dst": "loss"}, "src = 'rtt_ms': is the column of rtt already"),
        ({"separator": "pipe"}, "separator = 'pipe': is unknown; allowed: comma, semicolon, tab, space"),
        ({"rtt_unit": "minutes"}, "rtt_unit = 'minutes': is unknown; allowed: us, ms, s"),
        ({"src": "rtt_ms"}, "src = 'rtt_ms': is given alone"),
        ({"src": "a", "dst": "b"}, "has no columns a and b"),
    ],
)
def test_wrong_arguments_are_refused(tmp_path: Path, arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_csv(table(tmp_path), **arguments)
