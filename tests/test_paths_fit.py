"""A path model of one's own measurements: CSV files, iPlane's links, and what is wrong with them, by line."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program import Run, runner
from sweep_stopped import LIMIT

import btflow
from btflow import InputError
from btflow.paths import command, draw, fit, fit_iplane, load, pop_rtts, read_csv, read_iplane, triangle_violations
from btflow.paths.fit import MOST_FITTED, between_all
from btflow.paths.measured import Measured
from btflow.paths.pairs import Pairs
from btflow.plots import path_quantiles


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


def rows(count: int = 40) -> list[list[str]]:
    return [[f"{10 + i}", f"{(i % 5) / 100:g}"] for i in range(count)]


def table(folder: Path, header: str = "rtt_ms,loss", body: list[list[str]] | None = None, name: str = "my.csv") -> Path:
    lines = [header, *(",".join(row) for row in (rows() if body is None else body))]
    (folder / name).write_text("\n".join(lines) + "\n")
    return folder / name


# Quantiles


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 50_000), min_size=20, max_size=300), st.sampled_from(["ms", "s", "us"]))
def test_a_models_quantiles_are_those_of_the_rows(
    tmp_path_factory: pytest.TempPathFactory, values: list[int], unit: str
) -> None:
    scale = {"ms": 1e-3, "s": 1.0, "us": 1e-6}[unit]
    body = [[f"{value * 1e-3 / scale:.9g}"] for value in values]
    file = table(tmp_path_factory.mktemp("fit"), f"rtt_{unit}", body)
    found = fit(file)
    for share in (0.0, 0.1, 0.5, 0.9, 1.0):
        expected = np.quantile(np.array(values) * 1e-3, share)
        assert found.rtt_at(np.array([share]))[0] == pytest.approx(expected, rel=1e-4)
    assert found.structure == load("iplane").structure
    assert found.loss_at(np.array([0.95])) == pytest.approx([0.05])  # of iplane


@pytest.mark.parametrize(
    ("header", "given_units"),
    [
        ("rtt_ms,loss", {}),
        ("RTT [ms],Loss", {}),
        ("rtt (ms), loss_fraction", {}),
        ("rtt,loss", {"rtt_unit": "ms"}),
        ("ping,gone", {"rtt": "ping", "loss": "gone", "rtt_unit": "ms"}),
    ],
)
def test_columns_and_units_are_found_in_the_header_or_given(
    tmp_path: Path, header: str, given_units: dict[str, Any]
) -> None:
    found = read_csv(table(tmp_path, header), **given_units)
    assert found.rtt == pytest.approx(1e-3 * (10.0 + np.arange(40)))
    assert found.loss == pytest.approx((np.arange(40) % 5) / 100)


@pytest.mark.parametrize(
    ("header", "given_columns", "read"),
    [
        ("rtt_ms,loss_pct", {"loss": "loss_pct", "loss_unit": "%"}, ["rtt", "loss"]),
        ("loss_rtt,loss", {"rtt": "loss_rtt", "rtt_unit": "ms"}, ["rtt", "loss"]),
        ("rtt_ms,rtt_deviation", {}, ["rtt"]),
        ("starttime,loss", {}, ["loss"]),
    ],
)
def test_columns_beside_those_that_are_found_or_given_are_passed_over(
    tmp_path: Path, header: str, given_columns: dict[str, Any], read: list[str]
) -> None:
    found = read_csv(table(tmp_path, header), **given_columns)
    assert [what for what in ("rtt", "loss") if getattr(found, what) is not None] == read


def test_losses_in_percent_comments_empty_lines_and_gzip_are_read(tmp_path: Path) -> None:
    text = "# pings of one night\n\nloss_%;x\n".replace(";", ",") + "".join(f"{i % 5},a\n\n" for i in range(30))
    (tmp_path / "my.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    found = fit(tmp_path / "my.csv.gz")
    assert found.loss_at(np.array([1.0])) == pytest.approx([0.04])
    assert found.rtt_at(np.array([0.5])) == pytest.approx(load("iplane").rtt_at(np.array([0.5])), rel=1e-4)
    assert "rtt of iplane" in found.source


def test_paths_between_named_peers_give_the_structure(tmp_path: Path) -> None:
    """Pairs both ways, one peer with a gap; the drawn paths have the violations of the measured ones."""
    measured = draw(load("iplane").model_copy(), 40, seed=2).rtt.values
    body = [
        [f"p{i}", f"p{j}", f"{1e3 * measured[i, j]:.6f}"]
        for i, j in itertools.permutations(range(40), 2)
        if {i, j} != {3, 7}
    ]
    found = fit(table(tmp_path, "src,dst,rtt_ms", body))
    assert "39 peers" in found.source
    assert len(found.structure.regions) == 3
    again = np.mean([triangle_violations(draw(found, 39, seed=seed).rtt) for seed in range(10)])
    kept = np.delete(np.arange(40), 3)
    assert again == pytest.approx(triangle_violations(measured[np.ix_(kept, kept)]), abs=0.05)


def test_paths_from_one_vantage_point_do_not(tmp_path: Path) -> None:
    body = [["me", f"p{i}", f"{20 + i}"] for i in range(40)]
    assert fit(table(tmp_path, "src,dst,rtt_ms", body)).structure == load("iplane").structure


NAMED = "src,dst,rtt_ms,loss"


def star(*others: list[str]) -> list[list[str]]:
    """Return rows from one peer to 20 others, and more."""
    return [*(["me", f"p{i}", f"{20 + i}", "0.01"] for i in range(20)), *others]


def test_a_pair_counts_once_whichever_is_first_and_a_peer_alone_not_at_all(tmp_path: Path) -> None:
    """Three rows of one pair: 20, 50 and 80 ms, 1%, 4% and 10% lost."""
    more = [["p0", "me", "80", "0.10"], ["me", "me", "1", "0.3"], ["me", "p0", "50", "0.04"]]
    found = read_csv(table(tmp_path, NAMED, star(*more)))
    assert found.rtt is not None
    assert found.loss is not None
    assert found.rtt.shape == found.loss.shape == (20,)
    assert sorted(found.rtt) == pytest.approx([*np.arange(21, 40) / 1e3, 0.05])
    assert sorted(found.loss) == pytest.approx([0.01] * 19 + [0.05])
    assert found.notes == (
        "1 row of a peer and itself: left out",
        "22 rows of 20 pairs of peers: each counts once, with its median round-trip time and its mean loss",
    )
    assert "20 pairs of peers in 23 rows of my.csv" in fit(found).source


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(1, 99)), min_size=1, max_size=60))
def test_rows_of_a_pair_are_put_together_as_by_hand(rows_of: list[tuple[int, int, int]]) -> None:
    pairs = Pairs()
    by_hand: dict[tuple[int, int], list[int]] = {}
    for one, other, value in rows_of:
        pairs.add(f"p{one}", f"p{other}")
        if one != other:
            by_hand.setdefault((min(one, other), max(one, other)), []).append(value)
    found = pairs.together()
    values = np.array([value for *_, value in rows_of], np.float64)
    assert len(found.ends) == len(by_hand)
    assert found.medians(values) == pytest.approx([np.median(by_hand[pair]) for pair in sorted(by_hand)])
    assert found.unequal(values) == sum(len(set(of_pair)) > 1 for of_pair in by_hand.values())
    assert found.means(values) == pytest.approx([np.mean(by_hand[pair]) for pair in sorted(by_hand)])


def test_a_unit_that_is_given_wins_with_a_note(tmp_path: Path) -> None:
    found = read_csv(table(tmp_path, body=[[f"{i / 100}", "0"] for i in range(10, 50)]), rtt_unit="s")
    assert found.rtt == pytest.approx(np.arange(10, 50) / 100)
    assert found.notes == ("the column rtt_ms is read in s, as rtt_unit says",)
    near = read_csv(table(tmp_path, body=[[f"{i / 100}", "0"] for i in range(10, 50)]), rtt_unit="ms")
    assert near.rtt == pytest.approx(np.arange(10, 50) / 1e5)
    assert near.notes == ()


@pytest.mark.parametrize(
    ("word", "sign"), [("semicolon", ";"), ("tab", "\t"), (";", ";"), ("\t", "\t"), ("comma", ",")]
)
def test_other_separators_are_taken_when_they_are_named(tmp_path: Path, word: str, sign: str) -> None:
    file = table(tmp_path)
    file.write_text(file.read_text().replace(",", sign))
    assert read_csv(file, separator=word).rtt == pytest.approx(read_csv(table(tmp_path, name="my2.csv")).rtt)


@pytest.mark.parametrize("end", ["\r", "\r\n"])
def test_line_ends_of_other_systems_are_line_ends(tmp_path: Path, end: str) -> None:
    file = table(tmp_path)
    file.write_bytes(file.read_bytes().replace(b"\n", end.encode()))
    assert read_csv(file).rtt == pytest.approx(read_csv(table(tmp_path, name="my2.csv")).rtt)
    file.write_bytes(file.read_bytes().replace(b"13,", b"x,"))
    with pytest.raises(InputError, match="line 5 has 'x'"):
        read_csv(file)


CUT = "line 41, the last, has no newline at its end: the file may be cut off in it"


@pytest.mark.parametrize(("cut", "notes"), [(0, ()), (1, (CUT,)), (2, (CUT,)), (5, (CUT,))])
def test_a_file_that_may_be_cut_off_in_its_last_number_is_read_with_a_note(
    tmp_path: Path, run: Run, cut: int, notes: tuple[str, ...]
) -> None:
    file, out = table(tmp_path, "loss,rtt_ms", [["0", f"{i + 0.375}"] for i in range(10, 50)]), tmp_path / "my.toml"
    file.write_bytes(file.read_bytes()[: -cut or None])
    found = read_csv(file)
    assert found.notes == notes
    assert found.rtt is not None
    assert 1e3 * found.rtt[-1] == pytest.approx(float("49.375"[: 7 - max(cut, 1)]))
    code, said, _ = run("calibrate", str(file), "--out", str(out))
    assert (code, CUT in said) == (0, cut > 0)


def test_of_a_thousand_peers_some_are_used_and_of_a_million_names_no_matrix_is_made(tmp_path: Path) -> None:
    body = [["me", f"p{i}", f"{20 + i % 50}", "0"] for i in range(30_000)]
    measured = read_csv(table(tmp_path, NAMED, body))
    assert between_all(measured) is None
    one, other = np.triu_indices(MOST_FITTED + 40, 1)
    times = np.asarray(1e-3 * (1.0 + one + other), np.float64)
    full = Measured("full", one.size, times, None, np.stack([one, other], axis=1))
    matrix = between_all(full)
    assert matrix is not None
    assert matrix.shape == (MOST_FITTED, MOST_FITTED)
    assert np.array_equal(matrix, matrix.T)
    assert 1e3 * (matrix[0, 2:] - matrix[1, 2:]) == pytest.approx(1e3 * (matrix[0, 2] - matrix[1, 2]))  # of two numbers


# What is wrong with a CSV file


def changed(line: int, *cells: str) -> list[list[str]]:
    body = rows()
    body[line - 2] = list(cells)
    return body


WRONG = [
    ({"body": changed(5, "-3", "0")}, r"line 5 has rtt = -3; allowed: not negative"),
    ({"body": changed(6, "0", "0")}, r"line 6 has rtt = 0; allowed: at least 1 us"),
    ({"body": changed(7, "", "0")}, r"line 7 has no rtt"),
    ({"body": changed(8, "n/a", "0")}, r"line 8 has 'n/a' for rtt; allowed: a number"),
    ({"body": changed(9, "nan", "0")}, r"line 9 has 'nan' for rtt; allowed: a finite number"),
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
        {"body": [[f"{0.1 + i / 1000}", "0"] for i in range(40)]},
        r"no rtt above 0.139 ms; allowed: milliseconds; rtt_unit=.s. if they are seconds",
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
        (
            gzip.compress(b"rtt_ms\n" + b"".join(b"%d\n" % i for i in range(10, 9999)), mtime=0)[:-9],
            "is cut off after line",
        ),
        (gzip.compress(b"rtt_ms\n12\n", mtime=0)[:15] + b"\0" * 20, "is damaged|is cut off"),
        (gzip.compress(b"rtt_ms\n" + b"12\n" * 30, mtime=0) + b"rtt", "is damaged: something follows its end"),
    ],
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
        ({"separator": "space"}, "separator = 'space': is unknown; allowed: comma, semicolon, tab"),
        ({"rtt_unit": "minutes"}, "rtt_unit = 'minutes': is unknown; allowed: us, ms, s"),
        ({"src": "rtt_ms"}, "src = 'rtt_ms': is given alone"),
        ({"src": "a", "dst": "b"}, "has no columns a and b"),
    ],
)
def test_wrong_arguments_are_refused(tmp_path: Path, arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_csv(table(tmp_path), **arguments)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_make_anything_but_a_model_or_an_input_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    file = tmp_path_factory.mktemp("any") / "my.csv"
    file.write_bytes(b"rtt_ms,loss\n" + b"12,0\n" * 20 + content)
    for read in (read_csv, read_iplane):
        try:
            read(file)
        except InputError as error:
            assert "my.csv" in str(error)


# iPlane's links


def ring(pops: int = 24, latency: int = 10) -> list[str]:
    return [f"{i} {100 + i} {(i + 1) % pops} {100 + (i + 1) % pops} {latency}" for i in range(pops)]


def links_file(folder: Path, lines: list[str], ending: str = "\n") -> Path:
    (folder / "inter_pop_links.txt").write_text("\n".join(lines) + ending)
    return folder / "inter_pop_links.txt"


def test_links_are_read_and_shortest_paths_found(tmp_path: Path) -> None:
    """A ring of 24 with 10 ms each: k steps are 20 k ms there and back; a link both ways counts with its mean."""
    lines = ["0 100 1 101 5", *ring()[1:], "1 101 0 100 15", "900 1 901 2 3"]
    links = read_iplane(links_file(tmp_path, lines))
    assert links["latency"].values[0] == pytest.approx(5e-3)
    assert list(links["pop_a"].values[:2]) == ["0", "1"]
    assert list(links["as_b"].values[:2]) == ["101", "102"]
    rtts = pop_rtts(links)
    assert rtts.shape == (24, 24)  # 900 and 901 are not connected to the others
    steps = np.minimum(np.arange(24), 24 - np.arange(24))
    assert np.sort(rtts[0]) == pytest.approx(np.sort(20e-3 * steps))
    few = pop_rtts(links, pops=5, seed=3)
    assert few.shape == (5, 5)
    assert np.array_equal(few, pop_rtts(links, pops=5, seed=3))
    assert np.array_equal(few, few.T)


def test_unequal_links_of_one_pair_are_told_with_what_becomes_of_them(tmp_path: Path, run: Run) -> None:
    """Of 0 and 1 the same way, of 2 and 1 both ways; of 3 and 4 twice the same, and of 5 with itself."""
    more = ["0 100 1 101 30", "2 102 1 101 12", "3 103 4 104 10", "5 105 5 105 3"]
    file, losses = links_file(tmp_path, [*ring(30), *more]), tmp_path / "losses.txt"
    losses.write_text("".join(f"{line[:-2]}0.01\n" for line in ring(30)) + "4 104 3 103 0.02\n")
    out = ("--out", str(tmp_path / "my.toml"), "--json")
    unequal = "links of unequal latencies between 2 of 30 pairs of PoPs, the same way or both: each pair counts with"
    lossy = "links of unequal losses between 1 of 30 pairs of PoPs, the same way or both: each link counts"
    notes = json.loads(run("calibrate", "--iplane", str(file), "--iplane-loss", str(losses), *out)[1])["notes"]
    assert notes[1:] == ["1 link of a PoP and itself: left out", f"{unequal} their mean", lossy]
    assert pop_rtts(read_iplane(file))[0, 1] == pytest.approx(2 * 20e-3)  # the mean of 10 and 30, there and back


def test_a_model_of_links_has_the_quantiles_of_their_paths(tmp_path: Path) -> None:
    links = read_iplane(links_file(tmp_path, ring(40)))
    model = fit_iplane(links)
    assert model.rtt_at(np.array([0.0, 0.5, 1.0])) == pytest.approx([20e-3, 200e-3, 400e-3], rel=0.02)
    assert "shortest paths between 40 PoPs of 40 links" in model.source
    (tmp_path / "loss").mkdir()
    losses = read_iplane(links_file(tmp_path / "loss", [line[:-2] + "0.25" for line in ring(40)]), quantity="loss")
    assert fit_iplane(links, losses).loss_at(np.array([0.1])) == pytest.approx([0.25])
    with pytest.raises(InputError, match="connects only 8 PoPs"):
        fit_iplane(read_iplane(links_file(tmp_path, ring(8))))


def test_a_checksum_is_checked_and_gzip_is_read(tmp_path: Path) -> None:
    packed = tmp_path / "links.gz"
    packed.write_bytes(gzip.compress("\n".join(ring()).encode()))
    good = hashlib.sha256(packed.read_bytes()).hexdigest()
    assert read_iplane(packed, good.upper()).sizes["link"] == 24
    with pytest.raises(InputError, match="is not the SHA-256 of links"):
        read_iplane(packed, good[:-1] + ("0" if good[-1] != "0" else "1"))
    for wrong in ("xyz", good[:-1], f"{good}0", 7):
        with pytest.raises(InputError, match=r"checksum = .*is no SHA-256; allowed: 64 hexadecimal digits"):
            read_iplane(packed, wrong)  # type: ignore[arg-type]
    packed.write_bytes(packed.read_bytes()[:-12])
    with pytest.raises(InputError, match=r"links\.gz.*is cut off after line"):
        read_iplane(packed)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("3 103 4 104", "line 4 has 4 cells: '3 103 4 104'; allowed: cluster AS cluster AS latency"),
        ("3 103 4 104 10 11", "line 4 has 6 cells"),
        ("3 103 4 104 ten", "line 4 has 'ten' for latency; allowed: a number"),
        ("3 103 4 104 nan", "line 4 has 'nan' for latency; allowed: a finite number"),
        ("3 103 4 104 -1", "line 4 has latency -1; allowed: not negative; .*--drop-unmeasured"),
        ("3 103 4 104 12000", "line 4 has latency 12000; allowed: milliseconds, at most 10000"),
        ("a 103 b 104 12", "line 4 has no numbers of clusters"),
        ("\x00\x01 103 4 104 12", "line 4 is not text: it has a zero byte"),
    ],
)
def test_damaged_links_are_refused_with_their_line(tmp_path: Path, line: str, said: str) -> None:
    lines = ring()
    lines[3] = line
    with pytest.raises(InputError, match=said):
        read_iplane(links_file(tmp_path, lines))


def test_links_that_may_be_cut_off_in_their_last_number_are_refused_but_with_their_checksum(tmp_path: Path) -> None:
    file = links_file(tmp_path, ring(24, latency=123))
    whole = file.read_bytes()
    for left in (whole[:-1], whole[:-2]):
        file.write_bytes(left)
        with pytest.raises(InputError, match=r"line 24 has no newline at its end: the file may be cut off in it; "):
            read_iplane(file)
    assert read_iplane(file, hashlib.sha256(whole[:-2]).hexdigest()).sizes["link"] == 24


def test_other_damage_to_links_is_refused(tmp_path: Path) -> None:
    file = links_file(tmp_path, [*ring()[:-1], "23 123 0"], ending="")
    with pytest.raises(InputError, match="line 24 has 3 cells"):  # cut off
        read_iplane(file)
    file.write_bytes(b"")
    with pytest.raises(InputError, match="is empty"):
        read_iplane(file)
    file.write_bytes(bytes(range(128, 256)))
    with pytest.raises(InputError, match="line 1 is not text in UTF-8"):
        read_iplane(file)
    seconds = [line[:-2] + "0.010" for line in ring()]
    with pytest.raises(InputError, match="seconds"):
        read_iplane(links_file(tmp_path, seconds))
    with pytest.raises(InputError, match="line 1 has loss 10"):
        read_iplane(links_file(tmp_path, ring()), quantity="loss")
    with pytest.raises(InputError, match="cannot be read"):
        read_iplane(tmp_path / "none.txt")


def test_links_without_a_latency_can_be_left_out(tmp_path: Path) -> None:
    file = links_file(tmp_path, [*ring(), "1 101 9 109 -1"])
    links = read_iplane(file, unmeasured="drop")
    assert (links.sizes["link"], links.attrs["dropped"]) == (24, 1)


# The command


def test_the_command_writes_a_model_that_a_swarm_takes(tmp_path: Path, run: Run) -> None:
    file, out, figure = table(tmp_path), tmp_path / "my.toml", tmp_path / "my.html"
    code, said, errors = run("calibrate", str(file), "--out", str(out), "--plot", str(figure))
    assert code == 0, errors
    assert "40 rows of my.csv" in said
    assert f"--set internet={out}\n" in said
    assert "half of the paths are 2.5% or more off others as far." in said
    assert load(out).rtt_at(np.array([0.5])) == pytest.approx([29.5e-3])
    assert "round-trip time [ms]" in figure.read_text()
    small = ("--set", "leechers=4", "--set", "file_size=1 MB", "--json")
    code, _, errors = run("run", "rao2010", "--set", f"internet={out}", *small)
    assert code == 0, errors


def test_what_it_prints_to_use_the_model_can_be_pasted(tmp_path: Path, run: Run) -> None:
    (folder := tmp_path / "a b's").mkdir()
    code, said, errors = run("calibrate", str(table(tmp_path)), "--out", str(folder / "my.toml"))
    assert code == 0, errors
    shell, python = (line.strip() for line in said.splitlines()[-2:])
    program, *words = shlex.split(shell)
    assert (program, words[-1]) == ("btflow", f"internet={folder / 'my.toml'}")
    code, _, errors = run(*words, "--set", "leechers=4", "--set", "file_size=1 MB", "--json")
    assert code == 0, errors
    assert eval(python, {"btflow": btflow}).paths.internet == load(folder / "my.toml")


@pytest.mark.parametrize(("detour", "said"), [(0.0, "3 regions."), (1.0, "3 regions; half of the paths are 100.0% or")])
def test_detours_are_told_if_there_are_some(detour: float, said: str) -> None:
    found = {"model": "my.toml", "source": "x", "shares": [], "rtt_s": {}, "loss": {}, "regions": 3, "detour": detour}
    assert f"\nPeers are in {said}" in command.as_text(found, [])


def test_the_command_reads_iplanes_links_and_prints_json(tmp_path: Path, run: Run) -> None:
    file = links_file(tmp_path, [*ring(30), "1 101 9 109 -1"])
    _, said, _ = run(
        "calibrate", "--iplane", str(file), "--drop-unmeasured", "--out", str(tmp_path / "my.toml"), "--json"
    )
    found = json.loads(said)
    assert found["rtt_s"]["model"][2] == pytest.approx(0.16, rel=0.05)
    assert found["notes"] == [
        "100.0% of the links have twice their latency below 400 ms (published: 98%)",
        "1 link without a measured latency: left out",
    ]


def test_the_command_says_what_of_losses_of_iplanes_links_it_takes_otherwise(tmp_path: Path, run: Run) -> None:
    file, losses = links_file(tmp_path, ring(30)), tmp_path / "losses.txt"
    lost = ["0.01"] * 25 + ["0.5", "1", "-1", "-1", "-1"]
    losses.write_text("".join(f"{line[:-2]}{loss}\n" for line, loss in zip(ring(30), lost, strict=True)))
    given = ("--iplane", str(file), "--iplane-loss", str(losses), "--out", str(tmp_path / "my.toml"))
    code, said, _ = run("calibrate", *given, "--drop-unmeasured")
    assert code == 0
    assert "Note: 3 links without a measured loss: left out." in said
    assert "Note: 2 losses above 39.6% taken as that: TCP gets nothing through." in said
    assert "losses of the 27 links in losses.txt" in said
    losses.write_text("".join(f"{line[:-2]}1\n" for line in ring(30)))
    code, _, errors = run("calibrate", *given)
    assert code == 2
    assert errors.startswith("btflow: error: iplane = 'losses.txt': has no loss below 40%")
    assert errors.rstrip().endswith("allowed: losses of paths that data got through")


def test_the_command_names_options_in_errors_and_notes(tmp_path: Path, run: Run) -> None:
    file = table(tmp_path, body=[[f"{i / 100}", "0"] for i in range(10, 50)])
    given = ("calibrate", str(file), "--out", str(tmp_path / "my.toml"))
    code, _, errors = run(*given)
    assert code == 2
    assert "--rtt-unit s if they are seconds, --rtt-unit ms if they are so short" in errors
    code, said, _ = run(*given, "--rtt-unit", "s")
    assert code == 0
    assert "Note: the column rtt_ms is read in s, as --rtt-unit says." in said
    assert "btflow: error: --rtt-unit = 'h': is unknown" in run(*given, "--rtt-unit", "h")[2]
    file.write_text(file.read_text().replace("loss", "packet loss"))
    code, _, errors = run(*given, "--rtt-unit", "s")
    assert "as by --loss 'packet loss' --loss-unit fraction or --loss-unit %; or none" in errors
    assert run(*given, "--rtt-unit", "s", "--loss", "packet loss")[0] == 0
    (halves := tmp_path / "my pings.csv").write_text("rtt_ms,loss\n" + "20,0.5\n" * 30)
    code, _, errors = run("calibrate", str(halves), *given[2:])
    assert errors.startswith("btflow: error: csv = 'my pings.csv': has no loss below 40%")
    assert errors.rstrip().endswith("through; --loss-unit % if they are in percent")
    assert run("calibrate", str(halves), *given[2:], "--loss-unit", "%")[0] == 0
    file.write_text(file.read_text().replace("packet loss", "loss").replace(",", ";"))
    code, _, errors = run(*given)
    assert errors.strip().endswith("cells with a comma between them, or --separator semicolon")
    assert run(*given, "--rtt-unit", "s", "--separator", "semicolon")[0] == 0


def test_the_command_shows_progress_on_a_terminal_only(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[float] = []

    @contextmanager
    def bar(_form: str, _total: int, *, shown: bool) -> Iterator[Any]:
        yield told.append if shown else None

    monkeypatch.setattr(command, "bar", bar)
    measured = draw("iplane", 25, seed=2).rtt.values
    body = [[f"p{i}", f"p{j}", f"{1e3 * measured[i, j]:.6f}"] for i, j in itertools.combinations(range(25), 2)]
    given = ("calibrate", str(table(tmp_path, "src,dst,rtt_ms", body)), "--out", str(tmp_path / "my.toml"))
    assert run(*given)[0] == 0
    assert told == []
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert run(*given)[0] == 0
    assert told == sorted(told)
    assert len(told) > 10
    assert 0.0 <= told[0] <= told[-1] == 1.0


def test_a_stopped_command_ends_soon_and_leaves_nothing(tmp_path: Path) -> None:
    """On a terminal, whose bar says that it is at work; what was slow on a busy machine is measured once more."""
    names = [f"p{i}" for i in range(400)]
    random = np.random.default_rng(1)
    body = [[one, other, f"{random.uniform(20, 90):.3f}"] for one, other in itertools.combinations(names, 2)]
    file = table(tmp_path, "src,dst,rtt_ms", body)
    words = [sys.executable, "-m", "btflow", "calibrate", str(file), "--out", str(tmp_path / "my.toml")]
    assert stopped_after(words) < LIMIT or stopped_after(words) < LIMIT
    assert [entry.name for entry in tmp_path.iterdir()] == ["my.csv"]


def stopped_after(words: list[str]) -> float:
    """Run a command on a terminal, stop it once it shows a bar, and return the time until it has ended [s]."""
    here, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 80))
    try:
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=terminal, start_new_session=True) as process:
            shown = os.read(here, 1000).decode()
            begin = time.monotonic()
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
            took = time.monotonic() - begin
        shown += os.read(here, 100_000).decode()
    finally:
        os.close(terminal)
        os.close(here)
    assert "%" in shown
    assert shown.rstrip().endswith("btflow: interrupted")
    assert "Traceback" not in shown
    return took


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("{csv}",), "--out: is not given"),
        (("--out", "{out}"), "FILE.csv: is not given"),
        (("{csv}", "--iplane", "{csv}", "--out", "{out}"), "is given beside --iplane"),
        (("--iplane", "{csv}", "--rtt-unit", "ms", "--out", "{out}"), "is not a CSV file"),
        (("{csv}", "--checksum", "00", "--out", "{out}"), "is not iPlane's"),
        (("--iplane", "{csv}", "--checksum", "xyz", "--out", "{out}"), "--checksum = 'xyz': is no SHA-256"),
        (("{csv}", "--out", "{out}"), "line 21 has rtt = -5"),
    ],
)
def test_the_command_refuses_and_leaves_nothing(
    tmp_path: Path, run: Run, arguments: tuple[str, ...], said: str
) -> None:
    file, out = table(tmp_path, body=changed(21, "-5", "0")), tmp_path / "my.toml"
    code, _, errors = run("calibrate", *(word.format(csv=file, out=out) for word in arguments))
    assert code == 2
    assert errors.startswith("btflow: error: ")
    assert said in errors
    assert [entry.name for entry in tmp_path.iterdir()] == ["my.csv"]


# The figure


def test_the_figure_has_the_model_the_rows_and_the_published_points(tmp_path: Path) -> None:
    measured = read_csv(table(tmp_path))
    drawn = path_quantiles(fit(measured), measured.rtt, measured.loss)
    assert isinstance(drawn, go.Figure)
    names = [trace.name for trace in drawn.data]
    assert names == ["measured", "fitted model", "published of iPlane (2010)"] * 2
    assert drawn.data[0].x[0] == pytest.approx(10)
    assert drawn.data[0].x[-1] == pytest.approx(49)
    assert list(drawn.data[2].x) == [400, 1000]
    assert list(drawn.data[5].y) == [95]
    axes = drawn.layout.xaxis.title.text, drawn.layout.xaxis2.title.text
    assert axes == ("round-trip time [ms] (log scale)", "loss [%] (log scale)")
    with pytest.raises(InputError, match="is not a path model"):
        path_quantiles("iplane")  # type: ignore[arg-type]
