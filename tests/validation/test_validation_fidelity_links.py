"""Flow against full behind access links: made-up figures are judged by hand, and small swarms go through every part."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from btflow import simulate
from btflow.swarm.report import summary
from validation.fidelity.links import ideals, report, swarms, verdicts
from validation.fidelity.links.compare import Pair, equality, gaps, ratios, targets, wrong
from validation.fidelity.links.measured import Figures, Of, measured
from validation.fidelity.links.parts import PARTS, Plan
from validation.fidelity.swarms import Setup, Swarm
from validation.fidelity.verdicts import section
from validation.part import Row
from validation.swarms import packets
from validation.sweeps import Sweeps

SMALL = Setup("small", {"leechers": 10, "file_size": "1 MB"}, 1, "flashcrowd")


def figures(utp: float, tcp: float, cpu: float) -> list[Figures]:
    """Return four seeds of a swarm of two classes."""
    return [
        Figures((utp + tcp) / 2 + i, cpu, {"utp": Of(utp + i, 0.1, 0.5), "tcp": Of(tcp + i, 0.2, None)})
        for i in range(4)
    ]


def made(label: str, full: Sequence[Figures], flow: Sequence[Figures]) -> Pair:
    """Return a setting with these figures."""
    return Pair(Setup(label, {}, 4), {"full": full, "flow": flow})


def test_targets_by_hand() -> None:
    near = made("near", figures(90, 110, 2.0), figures(92, 112, 0.1))
    turned = made("turned", figures(90, 110, 2.0), figures(125, 115, 0.1))
    assert near.error.mean == pytest.approx(2 / 101.5)
    assert [pair.setup.label for pair, _, _ in wrong([near, turned])] == ["turned"]
    assert len(gaps([near, turned])) == 2
    assert ratios([near], "queue") == [1.0, 1.0]
    assert ratios([near], "request") == [1.0]
    found = {target.what: target for target in targets([near, turned])}
    assert found["error of the mean, worst"].missed == "9.7 points"
    assert found["signs of class differences"].found == "1 of 2"
    assert found["CPU time, full over flow"].reached
    assert all(target.reached for target in targets([near]))
    assert "**" in report.row(turned)[6]
    assert report.outliers([near]) == []
    assert len(report.outliers([turned])) == 2


def test_what_is_shown_by_hand() -> None:
    """The difference scatters by nothing between these seeds, so its interval is a point but for the mean's."""
    full = [Figures(100.0, 1.0) for _ in range(4)]
    shown = [made("x", full, [Figures(100.0 * (1.0 + e), 1.0) for _ in range(4)]).shown for e in (0.03, 0.07, -0.2)]
    assert shown == ["within 5%", "within 10%, beyond 5%", "beyond 10%"]
    assert made("x", full, [Figures(m, 1.0) for m in (90.0, 110.0, 80.0, 120.0)]).shown == "-"
    lines = equality([made("a", full, [Figures(120.0, 1.0) for _ in range(4)]), made("b", full, full)])
    assert lines[0].startswith("Mean absolute error of the mean 10.0%")
    assert "in 1 of 2 settings, shown to be beyond it in 1: a (" in lines[2]


def test_the_page_begins_with_all_settings_and_has_the_tables_behind_it(tmp_path: Path) -> None:
    near = made("near", figures(90, 110, 2.0), figures(92, 112, 0.1))
    turned = made("turned", figures(90, 110, 2.0), figures(125, 115, 0.1))
    refused = made("never", figures(90, 110, 2.0), [Figures(0.0, 0.0, refused="not this")])
    part = report.section("Some", [near, turned, refused])
    report.write({"all": report.pooled([near, turned]), "some": part}, tmp_path / "a.md")
    short, behind = ((tmp_path / path).read_text() for path in ("a.md", "details/a.md"))
    assert "**What came out:**\n\n- 2 settings, 2 of them with two classes: 3 of 8 targets are reached.\n" in short
    assert short.index("| signs of class differences | all 2 | 1 of 2 | missed by 1 |") < short.index("btflow ")
    assert "## Some\n\n- 3 of 8 targets are reached; missed: error of the mean, median; " in short
    assert "- Not run, as flow refuses them: 1 of 3; the details say why.\n" in short
    assert "## Some\n\n| what | target | found |" in behind
    assert "- Not run: never: flow: not this\n\n| swarm | seeds |" in behind
    report.write({"some": part}, tmp_path / "a.md", "Not all.")
    assert (tmp_path / "details" / "a.md").read_text() == behind
    assert f"- {part.answer[-1]}\n\nNot all.\n" in (tmp_path / "a.md").read_text()


def test_what_goes_with_something_ideal_by_hand() -> None:
    """uTP a half sooner, with ideal ACKs a quarter of that; at flow the same but for all of it with ideal ACKs."""
    base = figures(50, 100, 1.0)
    found = []
    for setup in ideals.setups():
        acks, mixed = "ideal_acks" in setup.settings, setup.settings["utp_share"] == "50%"
        full, flow = (figures(87.5, 100, 1.0), figures(100, 100, 1.0)) if acks and mixed else (base, base)
        found.append(Pair(setup, {"full": full, "flow": flow}))
    answer = ideals.section(found).answer
    assert "uTP over TCP, half of each: of the difference 75% goes at full and 100% at flow with ideal ACKs." in answer


def test_settings_are_different_ones() -> None:
    setups = [*swarms.flashes(), *swarms.adsls(), *swarms.clusters(), *map(swarms.of_packets, packets.settings())]
    assert len({setup.label for setup in setups}) == len(setups)
    assert len(swarms.flashes()) == 120
    assert len({Swarm(setup, 0, "full").run.scenario().digest() for setup in setups[::7]}) == len(setups[::7])


def test_figures_are_those_of_the_summary(tmp_path: Path) -> None:
    swarm = Swarm(SMALL, 3, "flow")
    ((_, found),) = measured([swarm], Sweeps(tmp_path, "swarm"))
    entry = summary(simulate(swarm.run.scenario(), seed=3, fidelity="flow"))
    assert found.mean == pytest.approx(entry["completion_s"]["mean"], abs=1e-4)
    assert set(found.classes) == {"tcp", "utp"}
    for name, one in found.classes.items():
        assert one.mean == pytest.approx(entry["by_class"][name]["mean"], abs=1e-4)
        assert one.request == pytest.approx(entry["by_class"][name]["request_delay_s"], abs=1e-5)


def test_a_swarm_that_does_not_finish_is_said_and_what_was_run_is_taken_again(tmp_path: Path) -> None:
    late = Setup("late", {**SMALL.settings, "horizon": "12 s"}, 1, "flashcrowd")
    plan = Plan(Sweeps(tmp_path, "links"), 2)
    (pair,) = plan.pairs([late])
    assert "12 s" in pair.refused
    assert report.section("x", [pair]).answer == [f"Not run: late: {pair.refused}"]
    assert plan.pairs([late]) == [pair]
    assert len(plan.known) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PARTS if name != "claims"])
def test_every_part_goes_through(name: str, tmp_path: Path) -> None:
    smaller: dict[str, str | int] = {} if name == "packets" else {"leechers": 8, "file_size": "1 MB"}
    if name in (swarms.ADSL, "ablations"):
        smaller["discard"] = 2
    plan = Plan(Sweeps(tmp_path, "links"), 2, 12, smaller)
    section = PARTS[name](plan)
    report.write({"one": section}, tmp_path / "a.md")
    assert section.answer[0] in (tmp_path / "a.md").read_text()
    assert f"## {section.title}" in (tmp_path / "details" / "a.md").read_text()
    assert any(line.startswith("| ") for line in section.lines)


def test_claims_beside_fulls() -> None:
    full = verdicts.at_full()
    assert list(full) == list(verdicts.IDS)
    assert full["T01"].verdict == "reproduced"
    assert section({"T01": Row("", "as it is", "reproduced")}, full, "").answer[0].startswith("1 of 1 verdicts")
