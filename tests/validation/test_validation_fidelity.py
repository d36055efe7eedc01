"""Flow against full: figures that are made up are judged by hand, and small swarms go through every part."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from btflow import simulate
from btflow.options import FIDELITIES, Fidelity
from validation import claims, experiments, pipeline
from validation.cases import Case
from validation.fidelity import report, search, verdicts
from validation.fidelity.compare import STATISTICS, Pair, average, difference, growth, mean_error, wanted
from validation.fidelity.measured import Measured, measured
from validation.fidelity.parts import PARTS, Plan
from validation.fidelity.swarms import SEEDS, Setup, Swarm, cells, kinds
from validation.measured import Measured as Figures, NotKnownError
from validation.part import Row, read
from validation.sweeps import Sweeps

TINY: dict[str, str | int | bool] = {"leechers": 8, "file_size": "1 MB"}


def made(label: str, flow: float, noise: float = 0.0) -> Pair:
    """Return eight seeds whose figures at flow are `flow` times those of full, give or take."""
    full = [Measured(100.0 + i, 90.0 + i, 110.0 + i, 1.5, 1.0, (0.0, 0.5, 1.0)) for i in range(8)]
    signs = [1, -1] * 4
    other = []
    for m, sign in zip(full, signs, strict=True):
        factor = flow + noise * sign
        mean, p10, p90, copies = (factor * value for value in (m.mean, m.p10, m.p90, m.copies))
        other.append(Measured(mean, p10, p90, copies, m.step, m.held))
    return Pair(Setup(label, {}, 8), {"full": full, "flow": other})


def test_an_interval_and_its_tests_are_those_of_scipy() -> None:
    random = np.random.default_rng(1)
    base = random.normal(100.0, 2.0, 8)
    values = 1.02 * base + random.normal(0.0, 2.0, 8)
    found = difference(values.tolist(), base.tolist())
    apart = (values - base) / base.mean()
    interval = stats.ttest_1samp(apart, 0.0).confidence_interval(0.90)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    for bound in (0.01, 0.02, 0.03, 0.05):
        p = max(
            stats.ttest_1samp(apart, -bound, alternative="greater").pvalue,
            stats.ttest_1samp(apart, bound, alternative="less").pvalue,
        )
        assert difference(values.tolist(), base.tolist(), bound).equal == (p < 0.05)


def test_equal_beyond_and_neither() -> None:
    assert made("a", 1.01).difference("mean").equal
    assert made("b", 1.10).difference("mean").beyond
    neither = made("c", 1.04, noise=0.03).difference("mean")
    assert not neither.equal
    assert not neither.beyond
    assert report.not_shown(made("b", 0.9)) == [f"**{name}**" for name in STATISTICS.values()]
    assert not difference([1.0], [1.0]).equal  # a single seed shows nothing


def test_the_tests_err_as_often_as_they_say() -> None:
    """At a true difference of the bound itself equality is found in 5% of the cases."""
    random = np.random.default_rng(2)
    wrong = sum(difference((1.05 + random.normal(0.0, 0.01, 8)).tolist(), [1.0] * 8).equal for _ in range(2000))
    assert 0.035 < wrong / 2000 < 0.065


def test_growth_by_hand() -> None:
    full = [Measured(step=1.0, held=(0.0, 0.5, 1.0))] * 3
    late = [Measured(step=2.0, held=(0.0, 0.5, 1.0))] * 3  # at 2 s it has half of what the others have
    assert growth(late, full).distance == pytest.approx(0.5)
    assert growth(late, full).most == pytest.approx(0.5)
    assert growth(full, full).text == "0.0 (up to 0.0)"


def test_cells_together() -> None:
    both = [made("up", 1.03, 0.01), made("down", 0.97, 0.01)]
    assert average(both).value == pytest.approx(0.0, abs=1e-3)
    assert average(both).equal
    error, chance = mean_error(both)
    assert error == pytest.approx(0.03, rel=0.01)
    assert chance == pytest.approx(np.sqrt(2 / np.pi) * 0.01 * np.sqrt(8 / 7) / np.sqrt(8), rel=0.05)
    assert "not shown to be within 2%" in report.overall([made("far", 1.04)])[0]


def test_the_same_swarms_at_both_fidelities() -> None:
    setups = [*cells({}), *kinds({})]
    assert len(cells({})) == 24
    assert len({setup.label for setup in setups}) == len(setups)
    swarms = wanted(setups, 2)
    for fidelity in FIDELITIES:
        assert len({repr(s.run) for s in swarms if s.fidelity == fidelity}) == 2 * len(setups)
    assert [s.seed for s in wanted(setups[:1], 3, first=4)] == [4, 4, 5, 5, 6, 6]
    small = Setup("few", {}, 1)
    assert len(wanted([small], SEEDS)) == 2


def test_figures_of_a_swarm_are_those_of_its_result(tmp_path: Path) -> None:
    swarm = Swarm(cells(TINY)[1], 3, "flow")
    ((_, found),) = measured([swarm], Sweeps(tmp_path, "swarm"))
    result = simulate(swarm.run.scenario(), seed=3, fidelity="flow")
    assert found.mean == pytest.approx(float(result["completion_time"].mean()), abs=1e-4)
    assert found.copies == pytest.approx(float(result["seed_copies"][0]), abs=1e-4)
    assert found.p10 <= found.mean <= found.p90
    assert found.held[-1] == 1.0


def test_what_flow_refuses_is_said(tmp_path: Path) -> None:
    linked = Setup("links", {"leechers": 4, "file_size": "1 MB", "uplink": "unlimited"}, 1, "flashcrowd")
    ((_, found),) = measured([Swarm(linked, 0, "flow")], Sweeps(tmp_path, "swarm"))
    assert "allowed: a rate" in found.refused
    pair = Pair(linked, {"full": [Measured(100.0)], "flow": [found]})
    assert report.row(pair, {"full": 1.0, "flow": 0.0})[-4] == "refused"


def test_points_are_within_the_axes_and_scenarios() -> None:
    setups = search.points(search.CAPPED, 16, 1)
    limits = [float(setup.settings["upload_limit"].split()[0]) for setup in setups]
    assert all(5.0 <= limit <= 200.0 for limit in limits)
    assert sum(limit < 1000**0.5 for limit in limits) == 8  # even in the logarithm
    for setup in setups[:4]:
        assert Swarm(setup, 0, "flow").run.scenario().classes[1].count in range(30, 101)
    assert search.hidden(64) == pytest.approx(1.0 - 0.05 ** (1 / 64))
    worst = search.worst([made(f"{factor}", factor) for factor in (1.0, 0.9, 1.05)])
    assert [pair.setup.label for pair in worst] == ["0.9", "1.05", "1.0"]


def test_a_claim_about_what_flow_does_not_know(tmp_path: Path) -> None:
    with pytest.raises(NotKnownError):
        _ = Figures([1.0], seed_idle=[3]).idle_share
    found = pipeline.simulated({Case(100): 1}, experiments.Plan(1, TINY), Sweeps(tmp_path, "claims"), "flow")[Case(100)]
    assert found.seed_unchokes == []
    assert found.seed_idle
    flow = {n: Row("", "", v) for n, v in {"R01": "reproduced", "R02": "x", "R05": verdicts.UNKNOWN}.items()}
    full = {n: Row("", "", v) for n, v in {"R01": "reproduced", "R02": "y", "R05": "z"}.items()}
    assert verdicts.changed(flow, full) == ["R02"]


def test_fulls_verdicts_are_those_of_the_summary() -> None:
    found = verdicts.at_full()
    assert list(found) == list(claims.CHECKS)
    assert found["R01"].verdict == "reproduced"


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """Return a plan of a few small swarms."""
    return Plan(Sweeps(tmp_path, "fidelity"), 2, TINY, points=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cells", "kinds", "search"])
def test_every_part_goes_through(name: str, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SEEDS", 2)
    section = PARTS[name](plan)
    rows = [line for line in section.lines if line.startswith("| ")]
    assert len(rows) == 2 + {"cells": 24, "kinds": len(kinds({})), "search": 2}[name]
    assert section.answer


def test_claims_go_through(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "CHECKS", {n: claims.CHECKS[n] for n in ("R07", "R06")})
    section = PARTS["claims"](plan)
    assert "not known at flow: R06." in section.answer[0]
    assert section.rows["R06"].brief == "not known"
    assert section.rows["R07"].brief != section.rows["R07"].ours


def test_the_summary_has_every_section(tmp_path: Path) -> None:
    costs: Mapping[str, Mapping[Fidelity, float]] = {"a": {"full": 1.0, "flow": 0.125}}
    section = report.Section("Cells", ["As it is.", "And so."], report.compared([made("a", 1.01)], costs))
    judged = report.Section("Claims", ["One."], [], {"R01": Row("1%", "by 1%", "reproduced", True)})
    report.write_summary({"cells": section, "claims": judged}, tmp_path / "a.md")
    assert read(tmp_path / "a.md", "").rows == judged.rows
    short, text = ((tmp_path / path).read_text() for path in ("a.md", "details/a.md"))
    assert "**What came out:**\n\n- As it is.\n- One.\n" in short
    assert "## Cells\n\n- And so.\n" in short
    assert "## Cells\n\n| " in text
    assert "| a | 8 | 104 | +1.0 (" in text
    assert "| 1.00 | 0.125 | 8.0 |" in text
