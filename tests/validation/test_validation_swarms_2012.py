"""Claims of the paper of 2012, judged on made-up figures both ways."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from validation_swarms_made import made, parts, rates, results, swarms_2012

from validation import reference
from validation.swarms import planes
from validation.swarms.compare import interval
from validation.swarms.experiments import HALVES, HOMOGENEOUS, LARGE


@pytest.mark.parametrize(
    ("changed", "failed"),
    [
        ({"BT:nice": 1.2}, {"moderate effect"}),
        ({"BT:nice": 0.9}, {"Nice slowest"}),
        ({"UT:utp": 1.1}, {"uTP beats CUBIC"}),
        ({"UT:utp": 1.2, "UT:cubic": 1.2}, {"uTorrent faster"}),
    ],
)
def test_2012_homogeneous_otherwise(changed: dict[str, float], failed: set[str]) -> None:
    judged = parts(planes.homogeneous(results(swarms_2012(changed))))
    assert failed <= {name for name, held in judged.items() if not held}


@pytest.mark.parametrize(
    ("beside", "failed"),
    [
        ({"BT:newreno": 1.1}, {"CUBIC slower than its other half"}),
        ({"BT:nice": 1.3}, {"Nice fastest"}),
        ({"UT:utp": 0.93}, {"uTorrent's halves alike"}),
    ],
)
def test_2012_halves_otherwise(beside: dict[str, float], failed: set[str]) -> None:
    judged = parts(planes.heterogeneous(results(swarms_2012(beside=beside))))
    assert failed <= {name for name, held in judged.items() if not held}
    assert set(judged) == {
        "CUBIC slower than its other half",
        "CUBIC slower than uTorrent",
        "Nice fastest",
        "uTorrent's halves alike",
    }


def test_a_queue_out_of_order_is_seen() -> None:
    found = swarms_2012()
    found[HOMOGENEOUS["BT:vegas"]] = made({"x": {"delay_mean": 0.38}})
    judged = parts(planes.occupancy(results(found)))
    assert judged == {"utp/nice/vegas below lp/newreno": False, "lp/newreno below cubic": True}


def test_table_3_is_read_as_it_is_printed() -> None:
    table = reference.spearman()
    assert len(table) == 16
    assert table["homogeneous", "multi", 50, 50] == 0.54
    assert table["homogeneous", "mono", 90, 90] == -0.30
    assert table["heterogeneous", "mono", 50, 90] == 0.67


def test_the_number_of_pairs_fits_the_printed_figures() -> None:
    """Without ties, Spearman's coefficient of n pairs is 1 - 6 D / (n (n^2 - 1)) with an even D."""
    for (scenario, clients), pairs in planes.sets().items():
        n = len(pairs)
        steps = np.round(1.0 - 6.0 * np.arange(0, n * (n * n - 1) // 3 + 1, 2) / (n * (n * n - 1)), 2)
        for key, value in reference.spearman().items():
            if key[:2] == (scenario, clients):
                assert np.isclose(steps, value).any(), (key, n)


@pytest.mark.slow
def test_correlations_by_rank_and_their_interval() -> None:
    times = np.array([[1.0, 1.1], [2.0, 2.1], [3.0, 3.1], [4.0, 4.1]])
    assert planes.correlation(times, times).mean == 1.0
    assert planes.correlation(times, -times).low == -1.0
    found = planes.correlation(times, np.array([[1.0, 9.0], [2.0, 2.0], [3.0, 3.0], [4.0, 4.0]]))
    assert found.low < found.high == 1.0


@pytest.mark.parametrize(("value", "held"), [(1.0, False), (0.5, True)])
def test_correlations_are_judged_by_sign_and_distance(
    monkeypatch: pytest.MonkeyPatch, value: float, held: bool
) -> None:
    monkeypatch.setattr(reference, "spearman", lambda: dict.fromkeys(KEYS, 0.6))
    monkeypatch.setattr(planes, "correlation", lambda *_: interval([value, value]))
    finding = planes.correlations(results(swarms_2012()))
    assert [c.held for c in finding.conditions] == [held] * 16
    monkeypatch.setattr(reference, "spearman", lambda: dict.fromkeys(KEYS, -0.1))
    assert not any(c.held for c in planes.correlations(results(swarms_2012())).conditions)


KEYS = list(reference.spearman())


def test_table_3_is_computed_in_other_ways_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """With queues in the order of the times every correlation is 1; runs vary by less than swarms."""
    monkeypatch.setattr(reference, "spearman", lambda: dict.fromkeys(KEYS, 0.8))
    swarms = {}
    for settings, classes in ((HOMOGENEOUS, ("x",)), (HALVES, ("x", "cubic"))):
        for k, setting in enumerate(settings.values()):
            figures = {name: 100.0 * (1 + 2 * k + i) for i, name in enumerate(classes)}
            alike = ("mean", "p50", "p90", "queue_p50", "queue_p90", "delay_p50", "delay_p90")
            swarms[setting] = made({name: dict.fromkeys(alike, v) for name, v in figures.items()}, noise=0.002)
    for way in planes.OTHERWISE:
        if way != planes.OTHERWISE[1]:  # their queues are all alike here
            assert planes.otherwise(results(swarms), way).startswith(f"computed otherwise, {way}: 16 of 16")
    assert "0 of 16" in planes.otherwise(results(swarms), planes.OTHERWISE[1])


@pytest.mark.parametrize(
    ("changed", "failed"),
    [
        ({}, set()),
        ({(5.0, LARGE): {"mean": 110.0}}, {"throughput saturates"}),
        ({(5.0, LARGE): {"request_delay": 0.5}}, {"more with the buffer"}),
        ({(0.25, LARGE): {"mean": 100.0}}, {"data below C"}),
    ],
)
def test_sending_rates(changed: Mapping[tuple[float, str], Mapping[str, float]], failed: set[str]) -> None:
    judged = parts(planes.sending_rates(results(rates(changed))))
    assert {name for name, held in judged.items() if not held} == failed
