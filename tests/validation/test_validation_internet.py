"""The published points of the paths, and swarms on them against RTT 0: figures that are made up are judged by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from btflow import simulate
from btflow.paths import PathModel, load
from validation import page, paths, reference
from validation.experiments import LIMITS
from validation.internet import figures, report
from validation.internet.measured import Measured, measured
from validation.internet.shares import Results, at_all_limits, reasons, rows
from validation.internet.swarms import KINDS, LOSSLESS, NEAR, WHOLE, Swarm, wanted
from validation.statistics import wilson
from validation.sweeps import Sweeps
from validation.verdict import Verdict

TINY: dict[str, str | int | bool] = {"leechers": 6, "file_size": "1 MB"}


def made(slow: float = 0.1) -> Results:
    """Return three swarms of each limit and kind; two in three are 10% slower on the Internet, the third by `slow`."""
    found = {}
    for swarm in wanted(3, 3, {}):
        factor = 1.0 if swarm.kind == NEAR else 1.0 + (slow if swarm.number == 2 else 0.1)
        times = [factor * (900.0 + 100.0 * peer) for peer in range(3)]
        found[swarm] = Measured(times, 0.1 * swarm.number, 0.02 - 0.01 * swarm.number, 0.5, -0.25, 1.0)
    return Results(found)


def test_the_shipped_model_meets_the_published_points() -> None:
    verdict = Verdict(reference.claims()["R14"], paths.judged(load("iplane")))
    assert verdict.holds
    assert verdict.text == "holds by construction"
    assert len(verdict.finding.conditions) == 3 + 6


def changed(**changes: Any) -> PathModel:
    model = load("iplane")
    return model.model_copy(update=changes)


BROKEN = {
    "rtt below 400 ms": lambda: changed(rtt=_scaled("rtt", 1.1)),
    "rtt below 1000 ms": lambda: changed(rtt=_scaled("rtt", 2.0)),
    "loss below 0.05": lambda: changed(loss=_scaled("loss", 0.5)),
    "10% of the round-trip times": lambda: changed(rtt=_scaled("rtt", 1.12)),
}


def _scaled(quantity: str, factor: float) -> tuple[Any, ...]:
    points = getattr(load("iplane"), quantity)
    return tuple(point.model_copy(update={"value": factor * point.value}) for point in points)


@pytest.mark.parametrize("what", BROKEN)
def test_a_model_that_is_off_is_not_called_reproduced(what: str) -> None:
    verdict = Verdict(reference.claims()["R14"], paths.judged(BROKEN[what]()))
    assert verdict.text == "not reproduced"
    assert [c.text for c in verdict.finding.conditions if not c.held and what in c.text]


def test_shares_by_hand() -> None:
    found = {(row.kind, row.limit): row for row in rows(made(slow=0.5))}
    assert len(found) == len(KINDS) * len(LIMITS)
    for limit in LIMITS:
        near, far = found[NEAR, limit], found[WHOLE, limit]
        np.testing.assert_allclose(near.slowdowns, 0.0, atol=1e-12)
        np.testing.assert_allclose(far.slowdowns, [0.1, 0.1, 0.5])
        assert (near.within, far.within) == (3, 2)
        np.testing.assert_allclose(
            far.peers, [2 / 3, 2 / 3, 0.0]
        )  # of 0.99, 1.1 and 1.21 times the mean, 1.35 and more
        np.testing.assert_allclose(near.peers, 1.0)
        np.testing.assert_allclose(far.slowest, [0.21, 0.21, 0.65])
        assert far.share_text.startswith("2 of 3: 67% (")
        assert far.slowdown_text.endswith("(+10.0 to +50.0%)")
    assert at_all_limits(made(slow=0.5), WHOLE) == (2, 3)
    assert at_all_limits(made(), LOSSLESS) == (3, 3)


def test_wilsons_interval_by_hand() -> None:
    z = 1.959963984540054
    assert wilson(40, 40).low == pytest.approx(40 / (40 + z**2))
    assert wilson(40, 40).high == 1.0
    assert wilson(10, 20).low == pytest.approx(1.0 - wilson(10, 20).high)
    assert wilson(10, 20).percent(0) == "30 to 70%"


def test_reasons_are_ranks_over_swarms_and_over_peers() -> None:
    found = reasons(made(slow=0.5), WHOLE)
    assert [reason.limit for reason in found] == list(LIMITS)
    assert found[0].seed_rtt == pytest.approx(-found[0].seed_loss)
    assert found[0].seed_rtt == pytest.approx(3**0.5 / 2)  # ranks 1.5, 1.5, 3 against 1, 2, 3
    assert (found[0].peer_rtt, found[0].peer_loss) == (0.5, -0.25)


def test_a_swarm_has_the_same_paths_at_every_limit_and_without_loss() -> None:
    swarms = [Swarm(limit, kind, 1, TINY) for limit in (10, 100) for kind in (LOSSLESS, WHOLE)]
    found = [simulate(swarm.run.scenario(), seed=swarm.seed) for swarm in swarms]
    for one in found:
        np.testing.assert_array_equal(one["path_rtt"], found[0]["path_rtt"])
    assert [bool((one["path_loss"] > 0).any()) for one in found] == [False, True, False, True]
    seeds = {swarm.seed for swarm in wanted(5, 5, {})}
    assert len(seeds) == 10
    assert Swarm(10, WHOLE, 0).seed == 98038174069832
    assert len({swarm.label for swarm in wanted(5, 5, {})}) == len(wanted(5, 5, {})) == 60


def test_figures_of_a_swarm_are_those_of_its_result(tmp_path: Path) -> None:
    swarm = Swarm(20, WHOLE, 3, TINY)
    (_, found), (_, near) = measured([swarm, Swarm(20, NEAR, 3, TINY)], Sweeps(tmp_path, "internet"))
    result = simulate(swarm.run.scenario(), seed=swarm.seed)
    assert found.mean == pytest.approx(float(result["completion_time"].mean()), abs=0.01)
    assert found.seed_rtt == pytest.approx(float(result["path_rtt"][0, 0]), abs=1e-6)
    assert found.seed_loss == pytest.approx(float(result["path_loss"][0, 0]), abs=1e-6)
    assert -1.0 <= found.rank_rtt <= 1.0
    assert near.rank_rtt == 0.0


def test_summary_and_page_have_every_row(tmp_path: Path) -> None:
    found = report.make(made(slow=0.5))
    report.write_summary(found, tmp_path / "a.md")
    drawn = figures.figures(found.results)
    page.write(report.summary(found), drawn, tmp_path / "a.html")
    text = (tmp_path / "a.md").read_text()
    assert text.count("| Internet, with loss |") == len(LIMITS)
    assert "Internet, with loss: 2 of 3 draws of paths stay within 15% at every upload limit, 20.8 to 93.9%" in text
    assert "the slowest swarm is +50.0% (10 kB/s)" in text
    assert [len(figure.data) for figure, _ in drawn.values()] == [3, 12]
    assert (tmp_path / "a.html").read_text().count("<figure>") == 2
