"""The comparison with SimGrid and ns-3: the same scenarios, an honest record, and the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from btflow.benchmarks.table import Goal, Section

from btflow import load, simulate
from validation.benchmarks import __main__ as report, packets, simgrid
from validation.packet_level import tables
from validation.packet_level.toolchain import ToolchainError
from validation.simgrid import runs, toolchain
from validation.simgrid.runs import CASES, SAME, VARIANTS, Case, Run
from validation.swarms import packets as frozen
from validation.swarms.packets import Setting

RUN = Run(9, 1, SAME, 160.0, 3.1, 2600.0, 0.5, "4.1", "some processor", "2026-11-21")


def test_the_program_is_given_the_scenario_in_bytes_and_seconds() -> None:
    words = runs.options(load("rao2010").set(leechers=50, file_size="10 MB", rtt="40 ms"), SAME, 7)
    given = dict(word.removeprefix("--").split("=") for word in words)
    assert {name: float(value) for name, value in given.items()} == {
        "leechers": 50,
        "file": 10 * 2**20,
        "piece": 2**18,
        "block": 2**14,
        "uplink": 20 * 1024,
        "slots": 4,
        "rtt": 0.04,
        "spread": 10,
        "seed": 7,
        "messages": 1,
        "defaults": 0,
    }


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "recorded.csv"
    other = replace(RUN, variant="blocks only", cpu_s=0.25)
    runs.record([RUN, other], path)
    assert runs.recorded(path) == [RUN, other]
    assert runs.recorded(tmp_path / "none.csv") == []


def test_every_case_is_on_record() -> None:
    found = {(run.leechers, run.megabytes, run.variant) for run in runs.recorded()}
    assert found == {(c.leechers, c.megabytes, variant) for c in CASES for variant in runs.variants(c)}
    assert all(run.cpu_s > 0 and run.version == toolchain.VERSION and run.processor for run in runs.recorded())


@pytest.mark.parametrize("case", CASES[1:], ids=lambda case: f"{case.leechers}")
def test_swarms_on_simgrid_complete_when_ours_do(case: Case) -> None:
    """The rules are the same, so the comparison of the cost is of the same work."""
    result = simulate(case.scenario, seed=1, replicas=2 if case.leechers < 100 else 1)
    mean = float(result["completion_time"].mean())
    copies = float(result["bytes_sent"][:, 0].mean()) / case.scenario.swarm.file_size
    for run in runs.recorded():
        if (run.leechers, run.megabytes) == (case.leechers, case.megabytes):
            assert run.completion_mean_s == pytest.approx(mean, rel=0.12)
            assert run.seed_copies == pytest.approx(copies, rel=0.12)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.leechers}")
def test_simgrid_moves_every_block_and_with_messages_more(case: Case) -> None:
    blocks = case.leechers * case.scenario.swarm.pieces * 16
    transfers = {run.variant: run.communications for run in runs.recorded() if run.leechers == case.leechers}
    assert blocks < transfers["blocks only"] < 1.5 * blocks + 4 * case.leechers * (case.leechers + 1)
    assert transfers[SAME] > 2 * blocks  # each block is requested


@pytest.mark.skipif(not toolchain.installed(), reason="SimGrid is not installed: make bench-simgrid")
def test_the_program_gives_what_is_on_record() -> None:
    for variant in VARIANTS:
        run = runs.measure(CASES[0], variant)
        (kept,) = [r for r in runs.recorded() if (r.leechers, r.variant) == (CASES[0].leechers, variant)]
        assert run.completion_mean_s == pytest.approx(kept.completion_mean_s, rel=1e-4)
        assert run.communications == pytest.approx(kept.communications, rel=1e-4)


def test_a_program_that_fails_or_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="No such file"):
        runs.measure(CASES[0], SAME, tmp_path / "swarm")
    program = tmp_path / "fails"
    program.write_text("#!/bin/sh\necho '5 leechers did not finish' >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(ToolchainError, match="5 leechers did not finish"):
        runs.measure(CASES[0], SAME, program)


def test_without_cmake_the_build_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "compiler", lambda: "g++")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ToolchainError, match="cmake is not installed"):
        toolchain.build(1)


# Sections


@pytest.fixture
def not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "installed", lambda: False)
    monkeypatch.setattr(simgrid, "CASES", CASES[:1])
    monkeypatch.setattr(simgrid, "LEAST_CPU", 0.0)


@pytest.mark.usefixtures("not_built")
def test_what_is_on_record_says_when_and_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simgrid, "recorded", lambda: [RUN, replace(RUN, variant="blocks only", cpu_s=1e-9)])
    section = simgrid.simgrid()
    assert "recorded on 2026-11-21, on some processor" in section.notes[0]
    ratio = float(section.rows[1][-1])
    assert section.rows[2][-1] == "0"
    assert section.goals[0].measured == f"{ratio:.0f}"
    own = float(section.rows[1][-2].split(", ")[1])
    assert ratio == pytest.approx(0.5 / own, rel=0.01)


@pytest.mark.usefixtures("not_built")
def test_without_simgrid_and_without_a_record_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simgrid, "recorded", list)
    section = simgrid.simgrid()
    assert "make bench-simgrid" in section.notes[0]
    assert not section.rows
    assert not section.goals


def test_packets_are_compared_with_the_mean_of_the_frozen_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frozen, "settings", lambda: iter([Setting("half", 20, 262144)]))
    monkeypatch.setattr(packets, "REPLICAS", 1)
    key = {"mix": "half", "buffer_packets": "20", "piece_bytes": "262144", "rto_slack_ms": "200"}
    times = [float(row["cpu_s"]) for row in tables.rows("swarms/swarm_runs") if key.items() <= row.items()]
    (_, row) = packets.same_swarm().rows
    assert len(times) == 8
    assert row[2] == f"{sum(times) / 8:.2f}"
    assert float(row[3]) == pytest.approx(float(row[2]) / float(row[1]), rel=0.05)


def test_the_report_begins_with_the_figures_to_reach(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = [
        Section("One", [("a", "b"), ("1", "2")], (), [Goal("speed", "at least 2", "3", True)]),
        Section("Figures to reach", [("", "to reach", "measured", ""), ("speed", "at least 2", "3", "reached")]),
    ]
    asked: dict[str, Any] = {}

    def steps(**options: bool) -> list[Any]:
        asked.update(options)
        return []

    monkeypatch.setattr(report, "steps", steps)
    monkeypatch.setattr(report, "show", lambda _: made)
    path = tmp_path / "benchmarks.md"
    report.bench(scale=False, cold=True, out=path)
    text, behind = (file.read_text(encoding="utf-8") for file in (path, tmp_path / "details" / path.name))
    assert asked == {"cold": True, "large": False}
    assert text.index("1 of 1 figures are reached") < text.index("## Figures to reach")
    assert "## One" in behind
    assert text.count("## ") == behind.count("## ") == 1
    assert "Written by `make bench`" in text


def test_a_benchmark_that_is_stopped_leaves_the_report_as_it_was(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stopped(_: object) -> Mapping[str, str]:
        raise KeyboardInterrupt

    path = tmp_path / "benchmarks.md"
    path.write_text("before")
    monkeypatch.setattr(report, "show", stopped)
    with pytest.raises(KeyboardInterrupt):
        report.bench(scale=False, cold=False, out=path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
