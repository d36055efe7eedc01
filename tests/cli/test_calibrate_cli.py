"""``btflow calibrate``: what it writes and prints, names of options, progress, stopping."""

from __future__ import annotations

import itertools
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from paths_made import changed, links_file, ring, table
from program import Run, refused, runner

import btflow
from btflow.cli import calibrate
from btflow.paths import draw, load
from validation.served import PATIENCE


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


def test_the_command_writes_a_model_that_a_swarm_takes(tmp_path: Path, run: Run) -> None:
    file, out, figure = table(tmp_path), tmp_path / "my.toml", tmp_path / "my.html"
    code, said, errors = run("calibrate", str(file), "--out", str(out), "--plot", str(figure))
    assert code == 0, errors
    assert "40 rows of my.csv" in said
    assert f"--set internet={out}\n" in said
    assert "half of the paths are about 1.5% or more off others as far." in said
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


@pytest.mark.parametrize(
    ("detour", "said"), [(0.0, "3 regions."), (1.0, "3 regions; half of the paths are about 100.0% or")]
)
def test_detours_are_told_if_there_are_some(detour: float, said: str) -> None:
    found = {"model": "my.toml", "source": "x", "shares": [], "rtt_s": {}, "loss": {}, "regions": 3, "detour": detour}
    found["violations"] = {"above": [0.1, 0.25], "measured": [0.4, 0.2], "model": [0.412, 0.201]}
    text = calibrate.as_text(found, [])
    assert f"\nPeers are in {said}" in text
    assert "Of the pairs of peers 40.0% are more than 10% above their best path through another one; of drawn" in text
    assert "; of drawn ones 41.2%." in text
    assert (
        "pairs of peers 20.0% are more than 25% above their best path through another one; of drawn ones 20.1%" in text
    )
    assert "Of the pairs" not in calibrate.as_text(found | {"violations": None}, [])


def test_the_command_reads_iplanes_links_and_prints_json(tmp_path: Path, run: Run) -> None:
    file = links_file(tmp_path, [*ring(30), "1 101 9 109 -1"])
    _, said, _ = run(
        "calibrate", "--iplane", str(file), "--drop-unmeasured", "--out", str(tmp_path / "my.toml"), "--json"
    )
    found = json.loads(said)
    assert found["rtt_s"]["model"][2] == pytest.approx(0.16, rel=0.05)
    assert found["violations"]["above"] == [0.1, 0.25]
    assert found["violations"]["measured"] == [0.0, 0.0]
    *others, of_detour = found["notes"]
    assert of_detour.startswith("shortest paths tell of no detours: those of iplane are taken, with which ")
    assert others == [
        "inter_pop_links.txt is no known copy of iPlane's files and came without a checksum: only its form was checked",
        "100.0% of the links have twice their latency below 400 ms (published: 98%)",
        "1 link without a measured latency: left out",
    ]


def test_the_command_says_what_of_losses_of_iplanes_links_it_takes_otherwise(tmp_path: Path, run: Run) -> None:
    file, losses = links_file(tmp_path, ring(30)), tmp_path / "losses.txt"
    lost = ["0.01"] * 25 + ["0.5", "1", "-1", "-1", "-1"]
    losses.write_text("".join(f"{line[:-2]}{loss}\n" for line, loss in zip(ring(30), lost, strict=True)))
    given = ("--iplane", str(file), "--iplane-loss", str(losses), "--out", str(tmp_path / "my.toml"), "--overwrite")
    code, said, _ = run("calibrate", *given, "--drop-unmeasured")
    assert code == 0
    assert "Note: 3 links without a measured loss: left out." in said
    assert re.search(r"Note: \d+ losses above 39.6% taken as that: TCP gets nothing through\.", said)
    assert re.search(r"Note: [\d.]+% of the links on the paths have no measured loss: they count as without", said)
    assert "losses of the 27 links in losses.txt" in said
    losses.write_text("".join(f"{line[:-2]}1\n" for line in ring(30)))
    errors = refused(run, "calibrate", *given)
    assert errors.startswith("btflow: error: --iplane-loss = 'losses.txt': has no loss below 40%")
    assert errors.rstrip().endswith("allowed: losses of paths that data got through")
    for shown in ("5%", "5"):
        losses.write_text("".join(f"{line[:-2]}{shown}\n" for line in ring(30)))
        errors = refused(run, "calibrate", *given)
        said = f"line 1 has loss {shown!r}" if "%" in shown else f"line 1 has loss {shown}"
        assert errors.startswith(f"btflow: error: --iplane-loss = 'losses.txt': {said}; allowed: a fraction, at most 1")


def test_the_command_names_options_in_errors_and_notes(tmp_path: Path, run: Run) -> None:
    file = table(tmp_path, body=[[f"{i / 100}", "0"] for i in range(10, 50)])
    given = ("calibrate", str(file), "--out", str(tmp_path / "my.toml"), "--overwrite")
    errors = refused(run, *given)
    assert (
        "line 2 has rtt = 0.1 ms, and most of the file is below 1 ms; allowed: --rtt-unit s if they are in s" in errors
    )
    assert ", --rtt-unit ms if they are so short" in errors
    code, said, _ = run(*given, "--rtt-unit", "s")
    assert code == 0
    assert "Note: the column rtt_ms is read in s, as --rtt-unit says." in said
    assert "btflow: error: --rtt-unit = 'h': is unknown" in run(*given, "--rtt-unit", "h")[2]
    file.write_text(file.read_text().replace("loss", "packet loss"))
    errors = refused(run, *given, "--rtt-unit", "s")
    assert "as by --loss 'packet loss' --loss-unit fraction or --loss-unit %; or none" in errors
    assert run(*given, "--rtt-unit", "s", "--loss", "packet loss")[0] == 0
    (halves := tmp_path / "my pings.csv").write_text("rtt_ms,loss\n" + "20,0.5\n" * 30)
    errors = refused(run, "calibrate", str(halves), *given[2:])
    assert errors.startswith("btflow: error: FILE = 'my pings.csv': has no loss below 40%")
    assert errors.rstrip().endswith("through; --loss-unit % if they are in percent")
    assert run("calibrate", str(halves), *given[2:], "--loss-unit", "%")[0] == 0
    file.write_text(file.read_text().replace("packet loss", "loss").replace(",", ";"))
    errors = refused(run, *given)
    assert "cells with a comma between them, or --separator semicolon; or of one's own line a flent file" in errors
    (spaces := tmp_path / "spaces.csv").write_text("rtt_ms loss\n" + "20 0.5\n" * 30)
    assert (
        "1 time a space; allowed: cells with a comma between them, or --separator space"
        in run("calibrate", str(spaces), *given[2:])[2]
    )
    (spaces := tmp_path / "short.csv").write_text("rtt_ms\n" + "0.0005\n" * 30)
    assert (
        "has rtt = 0.0005 ms; allowed: at least 0.001 ms; --rtt-unit s if it is in seconds"
        in run("calibrate", str(spaces), *given[2:])[2]
    )
    negative = links_file(tmp_path, [*ring(30), "1 101 9 109 -1"])
    _, _, errors = run("calibrate", "--iplane", str(negative), *given[2:])
    assert errors.strip().endswith(
        "line 31 has latency -1; allowed: not negative; --drop-unmeasured leaves such links out"
    )
    assert run(*given, "--rtt-unit", "s", "--separator", "semicolon")[0] == 0


@pytest.mark.slow
def test_the_command_shows_progress_unless_it_prints_json(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[float] = []

    @contextmanager
    def bar(_form: str, _total: int, *, shown: bool) -> Iterator[Any]:
        yield told.append if shown else None

    monkeypatch.setattr(calibrate, "bar", bar)
    measured = draw("iplane", 25, seed=2).rtt.values
    body = [[f"p{i}", f"p{j}", f"{1e3 * measured[i, j]:.6f}"] for i, j in itertools.combinations(range(25), 2)]
    given = ("calibrate", str(table(tmp_path, "src,dst,rtt_ms", body)), "--out", str(tmp_path / "my.toml"))
    assert run(*given, "--json")[0] == 0
    assert told == []
    assert run(*given, "--overwrite")[0] == 0
    assert told == sorted(told)
    assert len(told) > 10
    assert 0.0 <= told[0] <= told[-1] == 1.0


@pytest.mark.slow
def test_a_stopped_command_leaves_nothing(tmp_path: Path) -> None:
    """On a terminal, whose bar says that it is at work."""
    names = [f"p{i}" for i in range(400)]
    random = np.random.default_rng(1)
    body = [[one, other, f"{random.uniform(20, 90):.3f}"] for one, other in itertools.combinations(names, 2)]
    file = table(tmp_path, "src,dst,rtt_ms", body)
    words = [sys.executable, "-m", "btflow", "calibrate", str(file), "--out", str(tmp_path / "my.toml")]
    here, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 80))
    try:
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=terminal, start_new_session=True) as process:
            shown = os.read(here, 1000).decode()
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 130
        shown += os.read(here, 100_000).decode()
    finally:
        os.close(terminal)
        os.close(here)
    assert "%" in shown
    assert shown.rstrip().endswith("btflow: interrupted")
    assert "Traceback" not in shown
    assert [entry.name for entry in tmp_path.iterdir()] == ["my.csv"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("{csv}",), "--out: is missing"),
        (("--out", "{out}"), "FILE: is not given"),
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
    assert said in refused(run, "calibrate", *(word.format(csv=file, out=out) for word in arguments))
    assert [entry.name for entry in tmp_path.iterdir()] == ["my.csv"]
