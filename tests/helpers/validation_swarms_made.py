"""Figures that agree with the papers of 2011 and 2012, and changes of them, for the tests of their validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from validation.swarms import experiments
from validation.swarms.measured import ALL, PERCENTS, QUEUE_PERCENTS, Group, Measured, Results
from validation.verdict import Finding

RUNS = 12
NOISE = np.random.default_rng(5).normal(0.0, 1.0, (40, RUNS))
"""Of standard deviation 1 for each figure and run, the same in every test."""


DEFAULTS = {
    "mean": 70.0,
    "p50": 70.0,
    "p90": 90.0,
    "last": 100.0,
    "spread": 30.0,
    "count": 25.0,
    "queue_mean": 30.0,
    "queue_p90": 90.0,
    "above": 0.2,
    "delay_mean": 0.3,
    "delay_p50": 0.025,
    "delay_p90": 0.06,
    "request_delay": 0.4,
    "have_delay": 0.4,
    "block_latency": 2.0,
    "slots": 4.0,
    "acks": 0.03,
    "drops": 1.0,
    "haves": 1.0,
    "queue_p50": 20.0,
}


def made(classes: Mapping[str, Mapping[str, float]], noise: float = 0.005, ranks: Sequence[float] = ()) -> Measured:
    """Figures with a little noise that is another for each figure and class."""
    groups = {}
    together = {n: float(np.mean([c.get(n, v) for c in classes.values()])) for n, v in DEFAULTS.items()}
    for k, (name, given) in enumerate({**classes, ALL: together}.items()):
        runs = {
            figure: list(value * (1.0 + noise * NOISE[(7 * k + i) % len(NOISE)]))
            for i, (figure, value) in enumerate((DEFAULTS | dict(given)).items())
        }
        times = np.linspace(0.5, 1.5, len(PERCENTS)) * (DEFAULTS | dict(given))["mean"]
        queue = np.linspace(0.0, 200.0, len(QUEUE_PERCENTS))
        groups[name] = Group(
            runs, [float(t) for t in times], [float(q) for q in queue], [float(q) / 100 for q in queue]
        )
    return Measured(groups, [list(ranks) or [100.0, 60.0, 20.0, 13.0]] * RUNS, 1.0, 1e7)


class Given(Results):
    """Figures that are given; none is simulated."""

    def __init__(self) -> None:
        self.plan, self._found = experiments.Plan(), {}

    def __getitem__(self, setting: experiments.Setting) -> Measured:
        return self._found[setting]


def results(found: Mapping[experiments.Setting, Measured]) -> Results:
    filled = Given()
    for setting, figures_of in found.items():
        filled.add(setting, figures_of)
    return filled


def swarms_2011(
    *, forever: float = 13.5, utp: float = 70.0, half: tuple[float, float] = (100.0, 56.0), above: float = 0.2
) -> dict[experiments.Setting, Measured]:
    queue = {0.0: 60.0, 0.5: 36.0, 1.0: 5.0}
    found = {}
    for size in experiments.SIZES:
        for share in (0.0, 1.0):
            name, mean = ("utp", utp) if share else ("tcp", 70.0)
            found[experiments.sized(size, share)] = made(
                {name: {"mean": mean, "queue_mean": queue[share], "above": above if not share else 0.0}}
            )
        found[experiments.sized(size, 0.5)] = made({"tcp": {"mean": half[0]}, "utp": {"mean": half[1]}})
    found[experiments.adsl(0.5)] = made(
        {
            "tcp": {"mean": half[0], "queue_mean": 2 * queue[0.5] - 5.0, "above": above},
            "utp": {"mean": half[1], "queue_mean": 5.0},
        }
    )
    for share, classes in ((0.0, ("tcp",)), (0.5, ("tcp", "utp")), (1.0, ("utp",))):
        found[experiments.adsl(share, "forever")] = made({name: {"mean": forever} for name in classes})
    return found


def parts(finding: Finding) -> dict[str, bool]:
    names = dict.fromkeys(c.part for c in finding.conditions)
    return {name: all(c.held for c in finding.conditions if c.part == name) for name in names}


ALONE = {
    "BT:cubic": (255.0, 60.0, 320.0, 0.5),
    "BT:newreno": (256.0, 61.0, 330.0, 0.4),
    "BT:vegas": (257.0, 62.0, 325.0, 0.08),
    "BT:nice": (270.0, 63.0, 360.0, 0.05),
    "BT:lp": (258.0, 64.0, 335.0, 0.35),
    "UT:cubic": (250.0, 30.0, 280.0, 0.45),
    "UT:utp": (240.0, 25.0, 270.0, 0.04),
}
BESIDE = {"BT:newreno": 0.98, "BT:vegas": 0.92, "BT:nice": 0.8, "BT:lp": 0.96, "UT:utp": 1.0}


def swarms_2012(
    changed: Mapping[str, float] = {}, beside: Mapping[str, float] = {}
) -> dict[experiments.Setting, Measured]:
    """`changed` multiplies completion times of homogeneous swarms, `beside` those of halves."""
    found = {}
    for name, (mean, spread, last, delay) in ALONE.items():
        f = changed.get(name, 1.0)
        given = {"mean": f * mean, "spread": f * spread, "last": f * last, "delay_mean": delay, "delay_p50": delay}
        found[experiments.HOMOGENEOUS[name]] = made({"x": given})
    for name, factor in BESIDE.items():
        base = 200.0 if name.startswith("UT") else 220.0 if name == "BT:nice" else 280.0
        x = base * factor * beside.get(name, 1.0)
        halves = {"x": {"mean": x, "p50": x}, "cubic": {"mean": base, "p50": base}}
        if name != "UT:utp":
            halves["cubic"]["mean"] = 290.0
        found[experiments.HALVES[name]] = made(halves, noise=0.002)
    found[experiments.CHECK_FULL] = made({"x": {"mean": 800.0}, "cubic": {"mean": 900.0}})
    return found


def rates(changed: Mapping[tuple[float, str], Mapping[str, float]] = {}) -> dict[experiments.Setting, Measured]:
    found = {}
    for f in experiments.FACTORS:
        for buffer, full in ((experiments.SMALL, 0.5), (experiments.LARGE, 1.1)):
            delay = 0.2 / min(f, 0.75) if f < 1 else full
            given = {"mean": 100.0 / min(f, 1.0), "request_delay": delay}
            found[experiments.capped(f, buffer)] = made(
                {"leecher": given | dict(changed.get((f, buffer), {}))}, noise=0.002
            )
    return found


def ablated(gaps: Mapping[str, float]) -> Results:
    """The half-and-half swarm of 2011, whose TCP peers take 100 s and uTP peers the rest."""
    ablation = experiments.ABLATIONS[0]
    every_one = (("", ablation.base), *ablation.off)
    return results(
        {
            side[0][0]: made({"tcp": {"mean": 100.0}, "utp": {"mean": 100.0 + gaps.get(off, -40.0)}})
            for off, side in every_one
        }
    )
