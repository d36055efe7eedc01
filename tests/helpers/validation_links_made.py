"""Rows of packet-level tables, the links that they become, and made-up figures of both sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from validation.links import drawing, judge
from validation.links.experiments import Bottleneck, Experiment, experiment
from validation.links.frozen import Frozen
from validation.verdict import Finding

ROW = {
    "flows": "cubic:1,ledbat:3",
    "queue": "droptail",
    "rate_bps": "1000000",
    "rtt_ms": "50",
    "buffer_packets": "20",
    "probe": "",
    "voip": "0",
    "duration_s": "300",
    "warmup_s": "60",
    "seed": "3",
}
RANDOM_LOSS = {
    "cc": "newreno",
    "rtt_ms": "100",
    "loss": "0.01",
    "rate_bps": "100000000",
    "buffer_packets": "10000",
    "duration_s": "372.5",
    "warmup_s": "60",
    "seed": "2",
}


def bottleneck(**changes: object) -> Bottleneck:
    found = experiment({**ROW, **{name: str(value) for name, value in changes.items()}})
    assert isinstance(found, Bottleneck)
    return found


QUEUE_CELL = {"queue_mean_packets": 40.0, "queue_p90_packets": 50.0, "utilisation": 0.99}
Values = Mapping[str, float]


def cells(count: int, values: Values, **changes: object) -> list[Frozen]:
    """Return cells that differ by their buffers and have two seeds."""
    return [
        Frozen(
            bottleneck(buffer_packets=10 + i, **changes),
            {name: (0.99 * value, 1.01 * value) for name, value in values.items()},
        )
        for i in range(count)
    ]


Replace = Callable[[Callable[[Experiment], Values]], None]


def replacer(monkeypatch: pytest.MonkeyPatch) -> Replace:
    """Return a function that replaces our simulations by figures that are made up."""

    def replace(made: Callable[[Experiment], Values]) -> None:
        def measure(run: Experiment, runs: int) -> Mapping[str, tuple[float, ...]]:
            return {name: (value,) * runs for name, value in made(run).items()}

        monkeypatch.setattr(judge, "measure", measure)
        monkeypatch.setattr(drawing, "measure", measure)

    return replace


def parts(finding: Finding) -> dict[str, bool]:
    return {condition.part: condition.held for condition in finding.conditions}
