"""What a CSV file of measured paths is read as: columns, units, separators, pairs of peers, line ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from paths_made import NAMED, star, table
from program import Run

from btflow import InputError
from btflow.paths import fit, read_csv
from btflow.paths.lines import Pairs

UNITLESS = 'the column loss names no unit and is read as fractions, of which 0.01 is 1%; loss_unit="%" reads percent'


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
        UNITLESS,
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
    assert found.notes == ("the column rtt_ms is read in s, as rtt_unit says", UNITLESS)
    near = read_csv(table(tmp_path, body=[[f"{i / 100}", "0"] for i in range(10, 50)]), rtt_unit="ms")
    assert near.rtt == pytest.approx(np.arange(10, 50) / 1e5)
    assert near.notes == (UNITLESS,)


@pytest.mark.parametrize(
    ("word", "sign"),
    [("semicolon", ";"), ("tab", "\t"), (";", ";"), ("\t", "\t"), ("comma", ","), ("space", " "), (" ", "  ")],
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


@pytest.mark.parametrize("cell", ["-1", "", "NaN", "n/a", "*", " - "])
@pytest.mark.parametrize("code", ["utf-8", "utf-16"])
def test_measurements_that_failed_are_left_out_with_a_note(tmp_path: Path, cell: str, code: str) -> None:
    text = f"rtt_ms,loss\n{cell},1\n" + "20,0\n" * 30 + f"20,{cell}\n"
    (file := tmp_path / "my.csv").write_text(text, code)
    found = read_csv(file)
    assert found.rtt is not None
    assert found.rtt.tolist() == [0.02] * 30
    assert found.notes[-1] == "2 rows without a value, of measurements that failed: left out"


@pytest.mark.parametrize(("cut", "notes"), [(0, ()), (1, (CUT,)), (2, (CUT,)), (5, (CUT,))])
def test_a_file_that_may_be_cut_off_in_its_last_number_is_read_with_a_note(
    tmp_path: Path, run: Run, cut: int, notes: tuple[str, ...]
) -> None:
    file, out = table(tmp_path, "loss,rtt_ms", [["0", f"{i + 0.375}"] for i in range(10, 50)]), tmp_path / "my.toml"
    file.write_bytes(file.read_bytes()[: -cut or None])
    found = read_csv(file)
    assert found.notes == (UNITLESS, *notes)
    assert found.rtt is not None
    assert 1e3 * found.rtt[-1] == pytest.approx(float("49.375"[: 7 - max(cut, 1)]))
    code, said, _ = run("calibrate", str(file), "--out", str(out))
    assert (code, CUT in said) == (0, cut > 0)
