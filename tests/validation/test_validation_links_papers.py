"""The claims of the small papers on links, judged on made-up figures both ways."""

from __future__ import annotations

import pytest
from validation_links_made import parts

from btflow.link.program import compile_link
from validation import reference
from validation.links import coexistence
from validation.statistics import spread


def test_the_papers_figures() -> None:
    assert reference.geni_iperf() == {("tcp", 2): 0.693, ("tcp", 1): 1.23, ("tcp", 0): 2.07, ("utp", 2): 1.81}


@pytest.mark.parametrize(("factor", "held"), [(1.149, True), (0.851, True), (1.151, False), (0.849, False)])
def test_iperf_beside_tcp(monkeypatch: pytest.MonkeyPatch, factor: float, held: bool) -> None:
    def iperf(transport: str, seeds: int, _: int | None, runs: int, *__: str) -> object:
        value = reference.geni_iperf()[transport, seeds] * (factor if seeds == 1 else 1.0)
        return spread([value] * runs)

    monkeypatch.setattr(coexistence, "iperf", iperf)
    found = coexistence.beside_tcp(3)
    assert parts(found) == {"beside 2": True, "beside 1": held, "beside 0": True}


@pytest.mark.parametrize(
    ("factor", "rates", "expected"),
    [
        (1.09, (2.0, 0.5, 1.8), (True, True, True)),
        (1.11, (2.0, 0.1, 2.0), (False, True, True)),
        (1.0, (2.0, 0.51, 2.0), (True, False, True)),
        (1.0, (2.0, 0.1, 1.7), (True, True, False)),
    ],
)
def test_iperf_beside_utp(
    monkeypatch: pytest.MonkeyPatch, factor: float, rates: tuple[float, ...], expected: tuple[bool, ...]
) -> None:
    monkeypatch.setattr(coexistence, "iperf", lambda *_: spread([1.81 * factor] * 3))
    monkeypatch.setattr(coexistence, "episode_rates", lambda *_: rates)
    assert tuple(parts(coexistence.beside_utp(3)).values()) == expected


TCP_CALL = {"delay": 100.0, "jitter": 8.0, "throughput": 1400.0, "latency": 100.0, "burstiness": 0.01}
UTP_CALL = {"delay": 50.0, "jitter": 3.0, "throughput": 1200.0, "latency": 90.0, "burstiness": 0.02}


@pytest.mark.parametrize(
    ("changed", "failed"),
    [
        ({}, set()),
        ({"delay": 80.0}, {"less VoIP delay"}),
        ({"jitter": 8.5}, {"less VoIP jitter"}),
        ({"throughput": 1400.0}, {"lower transfer rate"}),
        ({"burstiness": 0.01}, {"burstier latency"}),
        ({"latency": 70.0}, {"similar mean latency"}),
    ],
)
def test_the_call(monkeypatch: pytest.MonkeyPatch, changed: dict[str, float], failed: set[str]) -> None:
    sides = {"tcp": TCP_CALL, "utp": UTP_CALL | changed}
    monkeypatch.setattr(
        coexistence, "call_values", lambda t, name, runs: [sides[t][name] * (1 + 1e-4 * i) for i in range(runs)]
    )
    assert {name for name, held in parts(coexistence.call(4)).items() if not held} == failed


@pytest.mark.parametrize(("payload", "held"), [(0.8823 * 1544, True), (0.8824 * 1544, False)])
def test_header_ceilings(monkeypatch: pytest.MonkeyPatch, payload: float, held: bool) -> None:
    monkeypatch.setattr(coexistence, "call_values", lambda t, *_: [payload] if t == "utp" else [1000.0])
    assert parts(coexistence.headers(1)) == {"300/340": held, "1460/1500": True}


def test_iperf_runs_in_the_episodes_alone() -> None:
    scenario = coexistence.episodes()
    starts = [(flow.start, flow.stop) for flow in scenario.flows if flow.name.startswith("iperf")]
    assert starts == list(coexistence.EPISODES)
    compile_link(scenario)
