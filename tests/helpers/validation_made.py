"""Figures that agree with the paper of 2010, and changes of them, for the tests of its validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from validation import reference
from validation.cases import Case, Setting
from validation.experiments import IDLE_RTTS, LIMITS, at_once, fast_seed, placements, sweep
from validation.measured import Measured

TINY: dict[str, Setting] = {"leechers": 12, "file_size": "1 MB"}
Swarms = dict[Case, Measured]


def measured(time: float, idle: int = 0, **changes: Any) -> Measured:
    """Return three replicas around a completion time [s]."""
    fields: dict[str, Any] = {
        "means": [0.997 * time, time, 1.003 * time],
        "seed_idle": [idle, idle, idle + (idle > 0)],
        "seed_unchokes": [280] * 3,
        "leecher_idle": [0] * 3,
        "seed_copies": [1.4] * 3,
        "time": [0.0, time],
        "held": [[0.0, 200.0]] * 3,
        "pieces": 200,
        "gaps": [(0.1, 5), (0.3, 95)],
        "payloads": [(1380, 50.0), (1448, 50.0)],
        "cpu": 0.1,
    }
    return Measured(**fields | changes)


def as_published() -> Swarms:
    """Return figures that agree with the paper in every respect the claims are about."""
    table = reference.table4()
    swarms: Swarms = {}
    gaps = {10: (0.2, 0.4), 20: (0.135, 0.2), 50: (0.027, 0.1), 100: (0.014, 0.05)}
    for limit in LIMITS:
        row = {rtt: table[Case(limit, rtt)] for rtt in (0, 400, 1000)}
        for case in sweep([limit], sorted({*IDLE_RTTS, 300})):
            idle = 60 if limit == 20 and 120 < case.rtt < 800 else 0
            time = float(np.interp(case.rtt, list(row), list(row.values())))
            swarms[case] = measured(time, idle, gaps=[(t, 50) for t in gaps[limit]])
    for case, time in table.items():
        large = 1.0 + case.rtt
        swarms.setdefault(case, measured(time, payloads=[(1380, 1000.0), (2760, large)] if case.tso else [(1448, 1.0)]))
    swarms |= {case: measured(3400.0) for case in fast_seed(IDLE_RTTS)}
    for limit, time in ((20, 3800.0), (50, 1450.0)):
        for case in placements(limit):
            swarms[case] = measured(time, by_place={name: [time] * 3 for name in case.leechers_in})
    return swarms | {start: measured(table[case]) for case, start in at_once().items()}


def slower(case: Case, factor: float) -> Callable[[Swarms], None]:
    """Return a change that scales the completion time of a case."""

    def apply(swarms: Swarms) -> None:
        swarms[case] = replace(swarms[case], means=[factor * time for time in swarms[case].means])

    return apply
