"""The claims against packets, judged on made-up figures both ways; no link is simulated."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from validation_links_made import QUEUE_CELL, RANDOM_LOSS, Replace, Values, bottleneck, cells, parts, replacer

from validation import reference
from validation.links import checks, frozen, judge, report, speed
from validation.links.experiments import Experiment, experiment
from validation.links.frozen import Frozen
from validation.links.judge import Quantity
from validation.verdict import Verdict


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch) -> Replace:
    """Return a function that replaces our simulations by figures that are made up."""
    return replacer(monkeypatch)


@pytest.mark.parametrize(
    ("quantity", "theirs", "inside", "outside"),
    [
        (checks.QUEUE[0], 100.0, 115.0, 115.1),
        (checks.QUEUE[0], 100.0, 85.0, 84.9),
        (checks.QUEUE[0], 10.0, 13.0, 13.1),
        (checks.QUEUE[0], 0.0, 3.0, 3.1),
        (checks.QUEUE[1], 50.0, 60.0, 60.1),
        (checks.QUEUE[1], 10.0, 5.0, 4.9),
        (checks.QUEUE[2], 0.95, 0.98, 0.981),
        (checks.delays("voip")[0], 40.0, 50.0, 50.1),
        (checks.delays("voip")[0], 400.0, 460.0, 461.0),
        (checks.delays("probe")[1], 400.0, 500.0, 501.0),
        (checks.RAMP[2], 100e3, 115e3, 115.1e3),
        (checks.GOODPUT, 4e6, 5e6, 5.01e6),
    ],
)
def test_tolerances(ours: Replace, quantity: Quantity, theirs: float, inside: float, outside: float) -> None:
    cell = Frozen(bottleneck(), {quantity.column: (theirs, theirs)})
    for value, held in ((inside, True), (outside, False)):
        ours(lambda _, value=value: {quantity.column: value})  # type: ignore[misc]  # of a default in a lambda
        assert judge.compared(cell, quantity).held is held


def test_means_are_judged_and_chance_is_named(ours: Replace) -> None:
    wide = Frozen(bottleneck(), {"queue_mean_packets": (20.0, 60.0)})
    ours(lambda _: {"queue_mean_packets": 40.0})
    assert judge.compared(wide, checks.QUEUE[0]).held
    ours(lambda _: {"queue_mean_packets": 60.0})
    found = judge.compared(wide, checks.QUEUE[0])
    assert not found.held
    assert found.by_chance
    narrow = Frozen(bottleneck(), {"queue_mean_packets": (39.9, 40.1)})
    assert not judge.compared(narrow, checks.QUEUE[0]).by_chance


def test_a_figure_that_is_missing_is_not_held(ours: Replace) -> None:
    ours(lambda _: {"queue_mean_packets": float("nan")})
    assert not judge.compared(cells(1, QUEUE_CELL)[0], checks.QUEUE[0]).held


def test_nine_in_ten_cells(ours: Replace) -> None:
    frozen_cells = cells(10, QUEUE_CELL)

    def off(bad: int) -> Callable[[Experiment], Values]:
        return lambda run: QUEUE_CELL | ({"queue_mean_packets": 60.0} if run.buffer < 10 + bad else {})

    ours(off(1))
    found = checks.queues(frozen_cells, None)
    assert all(parts(found.finding).values())
    assert len(found.finding.details) == 1
    assert "10 packets" in found.finding.details[0]
    ours(off(2))
    assert parts(checks.queues(frozen_cells, None).finding) == {
        "mean queue": False,
        "90th percentile": True,
        "utilisation": True,
        "all three together": False,
    }


def test_all_three_together_can_fail_alone(ours: Replace) -> None:
    def one_each(run: Experiment) -> Values:
        wrong = ({"queue_mean_packets": 60.0}, {"queue_p90_packets": 80.0}, {"utilisation": 0.9})
        return QUEUE_CELL | (wrong[run.buffer - 10] if run.buffer < 13 else {})

    ours(one_each)
    found = parts(checks.queues(cells(10, QUEUE_CELL), None).finding)
    assert found == {"mean queue": True, "90th percentile": True, "utilisation": True, "all three together": False}


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ([0.1, 0.1, 0.25], (True, True)),
        ([0.1, 0.11, 0.12], (False, True)),
        ([0.0, 0.0, 0.26], (True, False)),
        ([0.0, 0.0, -0.26], (True, False)),
    ],
)
def test_goodput_under_loss(ours: Replace, errors: Sequence[float], expected: tuple[bool, bool]) -> None:
    found = [
        Frozen(experiment({**RANDOM_LOSS, "rtt_ms": str(20 + i)}), {"goodput_bps": (1e6,)}) for i in range(len(errors))
    ]
    ours(lambda run: {"goodput_bps": 1e6 * (1 + errors[int(run.rtt) - 20])})
    judged = checks.goodput(found, None)
    assert tuple(parts(judged.finding).values()) == expected


@pytest.mark.parametrize(("share", "held"), [(0.58, True), (0.42, True), (0.581, False), (0.419, False)])
def test_limiter_shares(ours: Replace, share: float, held: bool) -> None:
    cell = Frozen(bottleneck(flows="cubic:1,vegas:1"), {"share_cubic": (0.5, 0.5), "share_vegas": (0.5, 0.5)})
    ours(lambda _: {"share_cubic": share, "share_vegas": 1 - share})
    found = checks.shares([cell], None)
    assert [condition.held for condition in found.finding.conditions] == [held]


@pytest.mark.parametrize(("late", "held"), [(249.0, True), (251.0, False)])
def test_one_late_percentile_fails_the_delays(ours: Replace, late: float, held: bool) -> None:
    values = {"voip_p50_ms": 100.0, "voip_p95_ms": 200.0}
    ours(lambda run: values | ({"voip_p95_ms": late} if run.buffer == 12 else {}))
    found = checks.calls(cells(5, values, voip=1), None)
    assert parts(found.finding) == {"median delay": True, "95th percentile": held}


def test_a_missing_table_is_not_reached(ours: Replace, monkeypatch: pytest.MonkeyPatch) -> None:
    ours(lambda _: QUEUE_CELL)
    there = {"alone": tuple(cells(3, QUEUE_CELL))}
    monkeypatch.setattr(frozen, "cells", lambda table: there.get(table, ()))
    found = checks.Check(("alone", "rtts"), checks.queues).run()
    assert parts(found.finding)["rtts.csv"] is False
    assert parts(found.finding)["mean queue"] is True
    nothing = checks.Check(("rtts",), checks.queues).run()
    assert not Verdict(reference.claims(report.CLAIMS)["P03"], nothing.finding).holds


def test_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Run:
        def __init__(self, cpu: float) -> None:
            self.attrs = {"cpu_s": cpu}

    found = Frozen(bottleneck(flows="cubic:4", buffer_packets=speed.BUFFER), {"cpu_s": (0.6, 0.8)})
    monkeypatch.setattr(frozen, "cells", lambda _: (found,))
    for cpu, held in ((0.00999, True), (0.0101, False)):
        monkeypatch.setattr(speed, "simulate_link", lambda *_, cpu=cpu, **__: Run(cpu))
        assert [condition.held for condition in speed.speed().conditions] == [held]
