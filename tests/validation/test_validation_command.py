"""`python -m validation` and the demo, end to end: reports, options, exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import made
import pytest
from validation_made import TINY, as_published, slower

from validation import __main__ as command, claims, demo, pipeline, report
from validation.cases import Case
from validation.command import run_app
from validation.experiments import LIMITS, Plan
from validation.part import read
from validation.verdict import Results


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[report.Report, Path]:
    """Return the whole report of a swarm too small to mean anything, and its folder."""
    out = tmp_path_factory.mktemp("report")
    return pipeline.make(Plan(1, TINY), list(claims.CHECKS), out), out


@pytest.mark.slow
def test_a_report_end_to_end(tiny: tuple[report.Report, Path]) -> None:
    found, out = tiny
    content = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert [claim["id"] for claim in content["claims"]] == list(claims.CHECKS)
    assert len(content["table4"]) == 36
    assert content["provenance"]["parameters_changed_from_the_paper"] == TINY
    assert content["provenance"]["swarms"] == sum(case["replicas"] for case in content["cases"]) == found.swarms
    assert found.swarms == len(content["cases"]) + 6  # one of each, but four of the two that R10 compares
    assert not found.reproduced  # 12 leechers and 1 MB are not the paper's swarm
    text = (out / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"<(script|link|img)[^>]*\b(src|href)=.http", text)
    assert "Not the paper's swarm" in text
    for name in [*claims.CHECKS, *pipeline.CAPTIONS]:
        assert f'id="{name}"' in text


@pytest.mark.parametrize(("factor", "code"), [(1.0, 0), (1.2, 1)])
def test_exit_code_and_summary(factor: float, code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    swarms = as_published()
    slower(Case(50, 600), factor)(swarms)
    results = Results(swarms)
    found = report.Report(claims.judged(results, claims.CHECKS), results, Plan(), "2030-01-02")
    monkeypatch.setattr(pipeline, "make", lambda *_: found)
    monkeypatch.setattr(report, "SUMMARY", tmp_path / "summary.md")
    monkeypatch.setattr("sys.argv", ["validation", "--out", str(tmp_path)])
    assert run_app(command.app, "validation") == code
    text = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert text.count("| not reproduced |") == code
    assert text.count("\n| R") == len(claims.CHECKS)
    rows = read(tmp_path / "summary.md", report.COMMAND).rows
    assert list(rows) == list(claims.CHECKS)
    assert [name for name, row in rows.items() if not row.holds] == ["R03"] * code
    assert all(f"| {name} | {row.verdict} |" in text for name, row in rows.items())


def test_interrupting_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object) -> report.Report:
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "make", interrupted)
    monkeypatch.setattr("sys.argv", ["validation"])
    assert run_app(command.app, "validation", "stopped") == 130
    assert capsys.readouterr().err == "validation: stopped\n"


def test_the_demo_prints_and_draws(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(demo, "simulated", lambda *_: made.dataset())
    monkeypatch.setattr("sys.argv", ["demo", "--out", str(tmp_path / "demo.html")])
    assert run_app(demo.app, "demo") == 0
    printed = capsys.readouterr().out
    assert all(f"{limit} kB/s" in printed for limit in LIMITS)
    assert "7315" in printed
    assert "Plotly.newPlot" in (tmp_path / "demo.html").read_text(encoding="utf-8")
