"""``btflow calibrate`` of files of one's own line: what it writes and prints, and what takes the file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from docs_pages import ROOT
from program import Run, refused, runner

import btflow
from validation.lines.made import files


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


def given(names: str) -> list[str]:
    return [str(file) for file in files(names)]


def test_the_page_shows_what_is_printed(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "my-line.md").read_text()
    shown = re.search(r"\nbtflow ([^\n]* tests/lines/[^\n]*)\n```\n.*?```text\n(.*?)```", page, re.DOTALL)
    assert shown is not None
    code, said, _ = run(*shown[1].replace("mine.toml", str(tmp_path / "mine.toml")).split())
    said = said.replace(f"{tmp_path}/", "")
    assert code == 0
    assert max(map(len, said.splitlines())) <= 100
    assert said.rstrip() == shown[2].rstrip()


def test_links_and_swarms_take_the_file_and_links_its_round_trip_time(tmp_path: Path, run: Run) -> None:
    out = tmp_path / "mine.toml"
    assert run("calibrate", *given("packets-up.json packets-up.log"), "--out", str(out))[0] == 0
    code, said, _ = run("link", "--access", str(out), "--flow", "cubic", "--duration", "5 s")
    assert code == 0
    assert "rtt = 30.3 ms" in said
    _, said, _ = run("link", "--access", str(out), "--flow", "cubic", "--duration", "5 s", "--rtt", "70 ms")
    assert "rtt = 70 ms" in said
    swarm = btflow.load("flashcrowd", leechers=3).set(**{"classes.*.access": str(out)})
    link = swarm.classes[0].access
    assert link is not None
    assert link.uplink.rate == pytest.approx(125_000, rel=0.03)
    assert link.rtt == pytest.approx(0.0303)
    without = swarm.classes[0].model_copy(update={"access": link.model_copy(update={"rtt": None})})
    other = swarm.model_copy(update={"classes": (without, *swarm.classes[1:])})
    assert other.digest() == swarm.digest()  # a swarm does not read it


def test_json_has_intervals_and_what_was_compared(tmp_path: Path, run: Run) -> None:
    code, said, _ = run(
        "calibrate", *given("managed-up4.json managed-up4.log"), "--out", str(tmp_path / "m.toml"), "--json"
    )
    assert code == 0
    found = json.loads(said)
    assert found["uplink"]["discipline"] == "fq-codel"
    assert found["uplink"]["rate_bps"]["low"] <= 1e7 <= found["uplink"]["rate_bps"]["high"]
    assert found["uplink"]["full_queue_s"]["high"] is None
    assert {row["unit"] for row in found["compared"]} == {"ms", "Mbit/s"}


def test_a_figure_is_written_beside_it(tmp_path: Path, run: Run) -> None:
    figure = tmp_path / "mine.html"
    code, _, _ = run(
        "calibrate",
        *given("adsl-up.log"),
        "--rate",
        "768 kbit/s",
        "--cc",
        "cubic",
        "--out",
        str(tmp_path / "m.toml"),
        "--plot",
        str(figure),
    )
    assert code == 0
    assert "My line: measured over simulated" in figure.read_text()
    assert "pings: measured" in figure.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("adsl-up.log",), "--rate: is needed: adsl-up.log.gz has pings alone"),
        (("adsl-up.log", "--rate", "fast"), "--rate = 'fast': "),
        (("adsl-up.log", "--rate", "1 Mbit/s", "--base-rtt", "3"), "--base-rtt = '3': "),
        (("adsl-up.log", "--rate", "1 Mbit/s", "--way", "left"), "--way = 'left': is unknown; allowed: up or down"),
        (("adsl-up.log", "--rate", "1 Mbit/s", "--cc", "tcp"), "'tcp'"),
        (("adsl-up.log", "--format", "pcap"), "--format = 'pcap': is unknown"),
        (("adsl-up.log", "--rtt", "ms"), "--rtt: goes with measured paths"),
        (("adsl-rrul.flent", "--cc", "cubic"), "--buffer: is needed for a simulation"),
        (("adsl-up.log", "--rate", "1 Mbit/s", "--buffer", "big"), "--buffer = 'big': "),
    ],
)
def test_what_is_wrong_is_said_by_option_and_leaves_nothing(
    tmp_path: Path, run: Run, arguments: tuple[str, ...], said: str
) -> None:
    names, *options = arguments
    errors = refused(run, "calibrate", *given(names), *options, "--out", str(tmp_path / "m.toml"))
    assert said in errors
    assert errors.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_files_that_exist_are_kept(tmp_path: Path, run: Run) -> None:
    (out := tmp_path / "m.toml").write_text("mine")
    ask = ("calibrate", *given("adsl-up.log"), "--rate", "768 kbit/s", "--out", str(out))
    errors = refused(run, *ask)
    assert "exists; allowed: --overwrite to replace it, or another path" in errors
    assert out.read_text() == "mine"
    assert run(*ask, "--overwrite")[0] == 0


def test_options_of_a_line_do_not_go_with_paths(tmp_path: Path, run: Run) -> None:
    (csv := tmp_path / "p.csv").write_text("rtt_ms\n" + "20\n" * 30)
    out = str(tmp_path / "m.toml")
    assert (
        "is of no line, with which --rate goes; allowed: a flent file, a ping log"
        in run("calibrate", str(csv), "--rate", "1 Mbit/s", "--out", out)[2]
    )
    assert "is a second file of paths" in run("calibrate", str(csv), str(csv), "--out", out)[2]
    mixed = run("calibrate", str(csv), *given("adsl-up.log"), "--out", out)[2]
    assert "FILE = 'p.csv': is of no kind that a line can be fitted to" in mixed


def test_a_queue_is_changed_where_the_file_has_one(tmp_path: Path, run: Run) -> None:
    out = tmp_path / "mine.toml"
    assert run("calibrate", *given("packets-up.json packets-up.log"), "--out", str(out))[0] == 0
    asked = ("link", "--access", str(out), "--flow", "cubic", "--voip", "g729", "--duration", "20 s", "--json")
    calls = [json.loads(run(*asked, *more)[1])["voip"][0] for more in ((), ("--aqm", "fq-codel"))]
    assert calls[0]["delay_p50_ms"] > 5 * calls[1]["delay_p50_ms"]
    errors = refused(run, *asked, "--reverse-buffer", "3 packets")
    assert "--reverse-buffer = '3 packets': is never used: the rate is unlimited" in errors
    assert run(*asked, "--reverse-rate", "8 Mbit/s", "--reverse-buffer", "100 packets", "--aqm", "pie")[0] == 0
