"""Lines of the test bed: what is fitted to their files holds what was set, and simulated is near measured."""

from __future__ import annotations

import gzip
import re
import shutil
import tomllib
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from btflow import lines
from btflow.errors import InputError
from btflow.lines.compared import compare
from btflow.lines.line import Estimate, Line, Queued
from btflow.lines.traces import Way
from btflow.plots import measured_over_simulated
from validation.lines.made import LINES, RECORDED, SEEDS, draw, inputs, sessions
from validation.lines.report import fit, rows


@cache
def fitted(names: str) -> Line:
    """Return the line that files of the test bed, separated by spaces, are fitted by."""
    return lines.fit(*(RECORDED / f"{name}.gz" for name in names.split()))


def queue(line: Line, way: Way = "up") -> Queued:
    """Return a direction that was measured."""
    return dict(line.ways)[way]


def wait(line: Line, way: Way = "up") -> Estimate:
    """Return how long a full queue of it is."""
    found = queue(line, way).wait
    assert found is not None
    return found


def holds(estimate: Estimate | None, value: float) -> bool:
    return estimate is not None and estimate.low <= value <= estimate.high


UP = [
    "packets-up.json packets-up.log",
    "packets-up.pcap packets-up.log",
    "packets-up.pcap",
    "packets-up4.json packets-up4.log",
    "packets-flent.flent",
    "adsl-up.json adsl-up.log",
]


@pytest.mark.parametrize("names", UP)
def test_the_intervals_of_a_drop_tail_uplink_hold_what_was_set(names: str) -> None:
    line, made = fitted(names), LINES[names.partition("-")[0]]
    uplink = queue(line)
    assert line.downlink is None
    assert holds(line.rtt, made.rtt)
    assert line.rtt.value == pytest.approx(made.rtt, abs=1e-3)
    assert holds(uplink.rate, made.uplink)
    assert uplink.rate.value == pytest.approx(made.uplink, rel=0.03)
    assert uplink.discipline == "drop-tail"
    assert holds(uplink.buffer, made.truth("up")[1])
    assert wait(line).value == pytest.approx(made.delay, rel=0.07)
    assert wait(line).high < 1.15 * made.delay


@pytest.mark.parametrize("names", ["packets-up.json", "adsl-up.json", "packets-up4.json"])
def test_iperf3_alone_gives_the_base_as_an_upper_bound(names: str) -> None:
    line, made = fitted(names), LINES[names.partition("-")[0]]
    assert line.rtt.low == -np.inf
    assert made.rtt < line.rtt.value + made.rtt / 2
    assert any("at most the least of all" in note for note in line.notes)
    assert wait(line).value == pytest.approx(made.delay, rel=0.12)
    assert queue(line).rate.value == pytest.approx(made.uplink, rel=0.04)


@pytest.mark.parametrize("ways", [("down",), ("up", "down")])
def test_each_direction_that_was_loaded_is_fitted(ways: tuple[Way, ...]) -> None:
    line, made = fitted(" ".join(f"packets-{way}.json packets-{way}.log" for way in ways)), LINES["packets"]
    assert [way for way, _ in line.ways] == list(ways)
    assert holds(line.rtt, made.rtt)
    for way, found in line.ways:
        assert holds(found.rate, made.truth(way)[0])
        assert holds(found.buffer, made.truth(way)[1])


@pytest.mark.parametrize("which", SEEDS)
def test_what_is_recorded_is_what_its_seed_draws(which: str) -> None:
    recorded = [(LINES[session.line], session) for session in sessions(which)]
    assert recorded == sorted(draw(which), key=lambda both: both[0].name)


MENDED = ["j03-up1.pcap j03-up1.log", "j10-up8.pcap:nosack", "j12-both8.pcap j12-both8.log", "j16-up1.pcap:snap68"]
MENDED += ["l03-both1.pcap", "j12-both8.pcap:middle", "d10-up2.pcap:nosack"]
"""Inputs of other seeds that were once wrong or refused."""


@pytest.mark.parametrize("names", MENDED)
def test_what_was_once_wrong_or_refused_holds(names: str, tmp_path: Path) -> None:
    found = list(rows(names, fit(names, tmp_path)))
    assert len(found) > 1
    assert [(row.what, row.text) for row in found if row.verdict == "wrong"] == []


@pytest.mark.parametrize("names", inputs("development"))
def test_what_is_fitted_to_a_drawn_line_does_not_exclude_what_was_set(names: str, tmp_path: Path) -> None:
    try:
        line = fit(names, tmp_path)
    except InputError as refused:
        assert len(str(refused)) <= 300
        return
    assert [(row.what, row.text) for row in rows(names, line) if row.verdict == "wrong"] == []


@pytest.mark.parametrize(
    ("names", "discipline"),
    [
        ("managed-up4.json managed-up4.log", "fq-codel"),
        ("managed-up.json managed-up.log", "fq-codel"),
        ("managed-up4.json", "codel"),
    ],
)
def test_a_managed_queue_is_seen_and_never_called_full(names: str, discipline: str) -> None:
    line, made = fitted(names), LINES["managed"]
    assert queue(line).discipline == discipline
    assert holds(queue(line).rate, made.uplink)
    assert queue(line).rate.value == pytest.approx(made.uplink, rel=0.05)
    assert wait(line).high == np.inf
    assert "never full" in repr(line)


def test_a_line_that_was_not_kept_busy_is_at_least_so_fast_and_holds_at_least_so_much() -> None:
    line, made = fitted("packets-paced.json packets-paced.log"), LINES["packets"]
    assert queue(line).rate.value < made.uplink
    assert queue(line).rate.high == np.inf
    assert wait(line).high == np.inf
    assert wait(line).low < made.delay
    assert "rate up               at least 0.5" in repr(line)


def test_two_ways_loaded_at_once_leave_the_buffer_open() -> None:
    line, made = fitted("adsl-rrul.flent"), LINES["adsl"]
    for (_, found), true in zip(line.ways, (made.uplink, made.downlink), strict=True):
        assert found.rate.value <= true
        assert found.rate.high == np.inf
        assert found.wait is None
    assert any("the wait is of both queues" in note for note in line.notes)
    with pytest.raises(InputError, match="is needed for a simulation"):
        compare(line)


@pytest.mark.parametrize("names", [*UP, "packets-down.json packets-down.log", "managed-up4.json managed-up4.log"])
def test_simulated_is_near_measured(names: str) -> None:
    found = compare(fitted(names))
    assert found.cc == "cubic-6"
    assert len(found.figures) >= 3
    for figure in found.figures:
        least = 0.25 if "95th" in figure.name and names.startswith("managed") else 0.1
        assert abs(figure.off) < least, figure
    assert found.sentence().startswith("Simulated with cubic-6: round-trip times are at most ")


def test_a_ping_log_alone_needs_the_rate_and_finds_the_same_buffer() -> None:
    log, made = RECORDED / "adsl-up.log.gz", LINES["adsl"]
    with pytest.raises(InputError, match=r"rate: is needed: adsl-up.log.gz has pings alone"):
        lines.fit(log)
    line = lines.fit(log, rate="768 kbit/s")
    assert wait(line).value == pytest.approx(made.delay, rel=0.02)
    assert any("one flow" in note for note in line.notes)
    lossy = lines.fit(RECORDED / "packets-up.log.gz", rate="1 Mbit/s")
    assert holds(queue(lossy).buffer, LINES["packets"].truth("up")[1])  # pings are lost where the queue counts packets


@pytest.mark.parametrize(("name", "rate"), [("packets-up", "1 Mbit/s"), ("d06-up4", "23.57 Mbit/s")])
@pytest.mark.parametrize("places", [[30], [-1], [40, 41, 90]])
def test_pings_that_were_late_elsewhere_move_nothing(tmp_path: Path, name: str, rate: str, places: list[int]) -> None:
    text = gzip.decompress((RECORDED / f"{name}.log.gz").read_bytes()).decode().splitlines()
    replies = [number for number, row in enumerate(text) if "time=" in row]
    for place in places:
        text[replies[place]] = re.sub(r"time=[\d.]+", "time=4321", text[replies[place]])
    (late := tmp_path / "late.log").write_text("\n".join(text))
    found, known = lines.fit(late, rate=rate), lines.fit(RECORDED / f"{name}.log.gz", rate=rate)
    assert queue(found).discipline == "drop-tail"
    assert wait(found) == pytest.approx(wait(known), rel=0.02)
    assert compare(found).figures


def test_a_line_that_was_never_full_is_said_to_be(tmp_path: Path) -> None:
    rows = gzip.decompress((RECORDED / "packets-up.log.gz").read_bytes()).splitlines(keepends=True)
    (idle := tmp_path / "idle.log").write_bytes(b"".join(rows[:20]))
    line = lines.fit(idle, rate="1 Mbit/s")
    assert queue(line).buffer is None
    assert any("the queue was never full, packets waited for up to" in note for note in line.notes)


def test_what_is_given_stands() -> None:
    line = lines.fit(RECORDED / "adsl-up.log.gz", rate="768 kbit/s", rtt="20 ms", buffer="100 packets", way="down")
    assert line.rtt == (0.02, 0.02, 0.02)
    assert queue(line, "down").given == "100 packets"
    assert "100 packets, as given" in repr(line)


def test_an_upload_that_two_files_show_is_one() -> None:
    line = fitted("packets-up.json packets-up.pcap packets-up.log")
    assert len(line.loads) == 1
    assert "the load of packets-up.json.gz is in packets-up.pcap.gz, too: it is taken from there" in line.notes
    found = compare(line)
    assert [figure.unit for figure in found.figures].count("Mbit/s") == 1
    assert all(abs(figure.off) < 0.1 for figure in found.figures)


def test_two_uploads_one_after_the_other_are_both_told(monkeypatch: pytest.MonkeyPatch) -> None:
    names = "packets-up.json packets-flent.flent"
    found = compare(fitted(names))
    assert [figure.unit for figure in found.figures].count("Mbit/s") == 2
    monkeypatch.setattr("btflow.lines.compared.LONGEST", 150.0)  # what begins too late to be simulated is in no figure
    late = compare(fitted(names))
    assert [figure.unit for figure in late.figures].count("Mbit/s") == 1
    assert measured_over_simulated(late).data
    assert all(np.isfinite(figure.off) for figure in found.figures)
    assert all(abs(figure.off) < 0.2 for figure in found.figures)
    assert measured_over_simulated(found).data


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("packets-up.json packets-up.json", "is given twice"),
        ("packets-up.json adsl-up.json", r"say 0\.8 Mbit/s and 0\.961 Mbit/s up, which is not one line"),
        (
            "packets-up4.json managed-up4.json",
            r"managed-up4.json.gz': say [01.]+\d* Mbit/s and 9\.\d+ Mbit/s up, which",
        ),
        ("packets-up.json adsl-up.log", "adsl-up.log.gz'?: was measured 9 minutes before the load"),
        ("packets-up.json managed-up.log", "was measured 5 minutes before the load"),
    ],
)
def test_files_of_two_lines_are_refused(names: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        fitted(names)


def test_a_base_that_packets_were_quicker_than_is_refused() -> None:
    with pytest.raises(InputError, match=r"rtt = '10 s': is more than packets took, 111 ms"):
        lines.fit(RECORDED / "packets-up.json.gz", rtt="10 s")


def test_no_name_of_a_file_writes_into_the_model(tmp_path: Path) -> None:
    named = tmp_path / "x\n[uplink]\nrate = 1\n.pcap.gz"
    shutil.copy(RECORDED / "packets-up.pcap.gz", named)
    model = tomllib.loads(lines.fit(named).text())
    assert model["uplink"] == tomllib.loads(fitted("packets-up.pcap").text())["uplink"]
