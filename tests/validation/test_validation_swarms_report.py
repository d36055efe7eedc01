"""The report on swarms, of made-up figures: what carries the differences, the page, the summary, the command."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from validation_swarms_made import RUNS, ablated, made, rates, results, swarms_2011, swarms_2012

from validation import page, reference
from validation.command import run_app
from validation.part import read
from validation.swarms import __main__ as command, ablations, figures, report, why
from validation.swarms.experiments import ABLATIONS, BELOW, BUFFERS, STATED, Setting, adsl, buffered
from validation.swarms.measured import Measured, Results
from validation.swarms.report import Report
from validation.verdict import Condition, Finding, Verdict


def test_the_part_that_goes_with_a_mechanism() -> None:
    (control, _), (acks, _), *_ = ABLATIONS[0].off
    found = ablations.taken(ablated({acks: -10.0, control: -38.0}), ABLATIONS[0])
    by_name = {row.off: row.removed for row in found.rows}
    assert by_name[acks] == pytest.approx(0.75, abs=0.02)
    assert by_name[control] == pytest.approx(0.05, abs=0.02)
    assert f"{acks}: -1" in found.words
    assert "changes little of it (-5%)" in found.words
    assert "The papers suspect slow control messages" in found.words
    assert "left without them: -10" in found.words
    assert f'the greatest part goes with "{acks}"' in found.words


def test_words_follow_the_figures() -> None:
    reversed_ = ablations.taken(ablated({ABLATIONS[0].off[0][0]: 20.0}), ABLATIONS[0])
    assert "reverses it" in reversed_.words
    gone = ablations.taken(ablated({ABLATIONS[0].off[2][0]: 0.0}), ABLATIONS[0])
    assert "takes all of it away" in gone.words
    assert "The papers suspect" not in reversed_.words
    by_chance = ablations.taken(ablated({ABLATIONS[0].off[1][0]: -39.99}), ABLATIONS[0])
    assert "changes nothing at all" in by_chance.words
    more = ablations.taken(ablated({ABLATIONS[0].off[1][0]: -60.0}), ABLATIONS[0])
    assert "adds 50%" in more.words
    assert "No mechanism taken alone carries a fifth of it." in more.words
    names = dict.fromkeys(("", *(off for off, _ in ABLATIONS[0].off)), 0.0)
    assert "hardly a difference" in ablations.taken(ablated(names), ABLATIONS[0]).words


def test_ablations_belong_to_claims() -> None:
    assert ablations.for_claims(results({}), ["T01", "D04"]) == []
    assert [t.ablation for t in ablations.for_claims(ablated({}), ["T04"])] == [ABLATIONS[0]]
    assert sorted(k for ks in ablations.OF_CLAIMS.values() for k in ks) == list(range(len(ABLATIONS)))


def test_every_claim_is_judged() -> None:
    assert list(report.JUDGES) == list(reference.claims(report.CLAIMS))


@pytest.mark.parametrize(
    ("found", "names"), [(swarms_2011(), ("T01", "T02", "T03", "T04", "T05")), (swarms_2012(), ("D01", "D02", "D03"))]
)
def test_as_published(found: Mapping[Setting, Measured], names: Sequence[str]) -> None:
    for name in names:
        assert all(condition.held for condition in report.JUDGES[name](results(found)).conditions), name


def made_report(ids: Sequence[str] = ("T01", "T03", "T04", "T05", "D05")) -> Report:
    filled = results(swarms_2011(above=0.3) | rates())
    for setting in ABLATIONS[0].settings[1:]:
        filled.add(setting, ablated({})[setting])
    for setting in ABLATIONS[1].settings[2:]:
        filled.add(setting, made({"utp" if dict(setting.values)["utp_share"] else "tcp": {}}))
    return report.make(ids, filled)


def test_the_page_says_what_is_not_reproduced(tmp_path: Path) -> None:
    found = made_report()
    page.write(report.summary(found), figures.drawn(found), tmp_path / "swarms.html", report.behind(found))
    text = (tmp_path / "swarms.html").read_text(encoding="utf-8")
    for part in (
        "4 of 5 hold. Reproduced: T01, T03, T04, D05; in part: T05.",
        "above 100 packets: 30.",
        "TOST ±5%",
        'id="completion_2011_random"',
        'id="planes"',
        'id="ablations"',
        "super-seeding",
        "swarm.file_size",
        "closed; as mainline",
        "packet-level swarm of 20",
        "testa2011: stay = random, utp_share = 0.5",
    ):
        assert part in text, part
    shown = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)  # plotly.js has addresses in it
    assert "http" not in shown


def test_the_summary(tmp_path: Path) -> None:
    report.write_summary(made_report(), tmp_path / "swarms.md")
    short, text = ((tmp_path / path).read_text(encoding="utf-8") for path in ("swarms.md", "details/swarms.md"))
    assert "4 of 5 hold. Reproduced: T01, T03, T04, D05; in part: T05." in short
    assert "random stay: completion time of uTP over TCP " in short
    assert "| T01 | reproduced |" in short
    rows = read(tmp_path / "swarms.md", report.COMMAND).rows
    assert [name for name, row in rows.items() if not row.holds] == ["T05"]
    assert rows["T05"].brief.startswith("30%; ")
    assert "- T05 FAILS: all TCP, above 100 packets: 30." in text
    assert "| nothing | uTP 55.9" in text
    assert "`testa2011: swarm.file_size` = 10 MB. assumed: the paper gives none" in text


def test_what_does_not_come_out_is_looked_into() -> None:
    filled = swarms_2011(utp=80.0) | swarms_2012()
    filled |= {buffered(b): made({"tcp": {}, "utp": {}}) for b in (STATED, BELOW, *BUFFERS[:-1])}
    claims = reference.claims(report.CLAIMS)
    failed, held = Finding("", "", (Condition("", False),)), Finding("", "", (Condition("", True),))
    shown = why.why([Verdict(claims[name], failed) for name in why.WHY], results(filled))
    assert list(shown) == list(why.WHY)
    assert "over all TCP's: +14" in shown["T03"]
    assert "10 full packets last 120 ms" in shown["T06"]
    assert "BT:nice < UT:utp < BT:vegas" not in shown["D04"].partition("by median queue")[0]
    assert why.why([Verdict(claims["T03"], held), Verdict(claims["T01"], failed)], results(filled)) == {}


def test_all_figures_are_drawn() -> None:
    filled = swarms_2011() | swarms_2012() | rates()
    filled |= {buffered(b): made({"tcp": {"mean": 90.0}, "utp": {"mean": 60.0}}) for b in BUFFERS}
    found = report.make([], results(filled))
    for setting in filled:
        assert found.results[setting].number == RUNS
    drawn = figures.drawn(found)
    assert len(drawn) == 11
    for plot, caption in drawn.values():
        assert plot.data
        assert caption


def test_constants_without_a_source_are_named_once() -> None:
    found = report.assumptions()
    names = [entry.name for entry in found]
    assert len(set(names)) == len(names)
    assert any(entry.name.startswith("utorrent-3.0") for entry in found)
    assert any(entry.name.startswith("datacontrol") for entry in found)
    assert any("tracker" in entry.name for entry in found)


def test_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = swarms_2011()
    monkeypatch.setattr(Results, "__getitem__", lambda self, setting: self._found.setdefault(setting, found[setting]))
    monkeypatch.setattr(report, "SUMMARY", tmp_path / "swarms.md")

    def call(*options: str) -> int:
        monkeypatch.setattr("sys.argv", ["validation.swarms", *options])
        return run_app(command.app, "validation.swarms")

    assert call("--only", "T01", "--out", str(tmp_path)) == 0
    assert "T01  reproduced" in capsys.readouterr().out
    assert (tmp_path / "swarms.html").exists()
    assert not (tmp_path / "swarms.md").exists()  # part of the whole is no summary
    found[adsl(1.0, "forever")] = made({"utp": {"mean": 20.0}})
    assert call("--only", "T01", "--out", str(tmp_path)) == 1
    assert call("--only", "X99") == 2
    assert "X99" in capsys.readouterr().err
