"""The report on links, of made-up figures: the page, the summary, the command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from validation_links_made import QUEUE_CELL, Replace, bottleneck, cells, replacer

from validation import page, reference
from validation.command import run_app
from validation.links import __main__ as command, figures, frozen, queue_figures, report
from validation.links.frozen import Frozen
from validation.links.report import Entry, Report
from validation.packet_level import tables
from validation.part import read
from validation.verdict import Condition, Finding, Verdict


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch) -> Replace:
    """Return a function that replaces our simulations by figures that are made up."""
    return replacer(monkeypatch)


def test_every_claim_is_judged() -> None:
    assert set(report.judges()) == set(reference.claims(report.CLAIMS))


def made_report(ours: Replace, monkeypatch: pytest.MonkeyPatch) -> Report:
    values = QUEUE_CELL | {f"queue_p{percent}_packets": 30.0 for percent in queue_figures.PERCENTS}
    ours(lambda run: values | {"queue_mean_packets": 60.0 if run.buffer == 10 else 40.0})
    there = {"alone": tuple(cells(2, values, flows="cubic:1"))}
    monkeypatch.setattr(frozen, "cells", lambda table: there.get(table, ()))
    finding = Finding("1 < 2", "0.7 & more", (Condition("a condition", True),))
    claim = reference.claims(report.CLAIMS)["V02"]
    return Report([report.entry("P03", None), Entry(Verdict(claim, finding))], 12, "2026-11-20", 1.0)


def test_the_page_says_what_is_not_reached(ours: Replace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = made_report(ours, monkeypatch)
    page.write(report.summary(found), figures.drawn(found), tmp_path / "links.html", report.behind(found))
    text = (tmp_path / "links.html").read_text(encoding="utf-8")
    for part in (
        "1 of 2 hold. In part: P03; reproduced: V02.",
        "rtts.csv: not there",
        "cubic:1, 10 packets, 50 ms: mean queue 60.0 packets (ns-3 40.0, +50%)",
        "1 &lt; 2",
        "0.7 &amp; more",
        'id="queue_means"',
        "TCP-LP",
        "paths.rtt",
        f"ns-3 {tables.RELEASE},",
    ):
        assert part in text, part
    shown = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)  # plotly.js has addresses in it
    assert "http" not in shown.replace("github.com", "")


def test_the_summary_names_the_worst_cells(ours: Replace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    report.write_summary(made_report(ours, monkeypatch), tmp_path / "links.md")
    short, text = ((tmp_path / path).read_text(encoding="utf-8") for path in ("links.md", "details/links.md"))
    assert "1 of 2 hold. In part: P03; reproduced: V02." in short
    assert "- P03: 1 of 2 cells" in text
    assert "  - cubic:1, 10 packets, 50 ms: mean queue 60.0 packets (ns-3 40.0, +50%)" in text
    assert "- P03 FAILS: rtts.csv: not there" in text
    assert "- P03: mean queue within 15% or 3 packets" in text
    assert "| V02 | reproduced |" in short
    rows = read(tmp_path / "links.md", report.COMMAND).rows
    assert {name: row.holds for name, row in rows.items()} == {"P03": False, "V02": True}


def test_words_for_goals_and_for_findings() -> None:
    claims, held = reference.claims(report.CLAIMS), (Condition("", True),)
    assert report.word(Verdict(claims["P01"], Finding("", "", held))) == "reached"
    assert report.word(Verdict(claims["P11"], Finding("", "", held))) == "reached"
    assert report.word(Verdict(claims["P01"], Finding("", "", (Condition("", False),)))) == "not reached"
    assert report.word(Verdict(claims["G01"], Finding("", "", held))) == "reproduced"


def test_the_command(
    ours: Replace,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ours(lambda _: {"share_cubic": 0.5})
    monkeypatch.setattr(report, "SUMMARY", tmp_path / "links.md")
    table = tuple(Frozen(bottleneck(flows="cubic:1,lp:1"), {"share_cubic": (share,)}) for share in (0.55,))
    monkeypatch.setattr(frozen, "cells", lambda _: table)

    def call(*options: str) -> int:
        monkeypatch.setattr("sys.argv", ["validation.links", *options])
        return run_app(command.app, "validation.links")

    assert call("--only", "P04", "--out", str(tmp_path)) == 0
    assert "P04  reached" in capsys.readouterr().out
    assert (tmp_path / "links.html").exists()
    assert not (tmp_path / "links.md").exists()  # part of the whole is no summary
    ours(lambda _: {"share_cubic": 0.7})
    assert call("--only", "P04", "--out", str(tmp_path)) == 1
    assert call("--only", "X99") == 2
    assert "X99" in capsys.readouterr().err
    assert call("--ns3", "3.40") == 2
    assert "ns-3 = '3.40': there are no tables of this version" in capsys.readouterr().err
