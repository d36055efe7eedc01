"""What a link experiment costs in CPU time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from statistics import median
from typing import Any

RUNS = 10
WHOLE: Mapping[str, Any] = {"rtt": "50 ms", "buffer": "100 packets", "duration": "300 s"}
CASES: Mapping[str, Mapping[str, Any]] = {
    "1 CUBIC flow, 1 Mbit/s": {"rate": "1 Mbit/s", "flows": ["cubic"]},
    "4 CUBIC flows, 1 Mbit/s": {"rate": "1 Mbit/s", "flows": ["cubic:4"]},
    "3 CUBIC and 1 LEDBAT flow, 1 Mbit/s": {"rate": "1 Mbit/s", "flows": ["cubic:3", "ledbat:1"]},
    "4 CUBIC flows, 1 Mbit/s, FQ-CoDel": {"rate": "1 Mbit/s", "flows": ["cubic:4"], "aqm": "fq-codel"},
    "16 CUBIC flows, 1 Mbit/s": {"rate": "1 Mbit/s", "flows": ["cubic:16"]},
    "4 CUBIC flows, 10 Mbit/s": {"rate": "10 Mbit/s", "flows": ["cubic:4"]},
}
"""Experiments of 300 s."""


def cost(options: Mapping[str, Any], runs: int = RUNS) -> list[float]:
    """Return the CPU time of some runs of an experiment, kernels compiled and arrays allocated anew for each [s]."""
    from btflow.link.options import scenario_from
    from btflow.link.program import compile_link
    from btflow.link.run import run_link

    program = compile_link(scenario_from(**{**WHOLE, **options}))
    run_link(program, 0)
    found = []
    for seed in range(1, runs + 1):
        start = time.process_time()
        run_link(program, seed)
        found.append(time.process_time() - start)
    return found


def rows() -> list[tuple[str, str, str]]:
    """Return a table of experiments, their least and their median CPU time."""
    found: list[tuple[str, str, str]] = [("300 s of a link, 50 ms, 100 packets", "least [CPU ms]", "median [CPU ms]")]
    for name, options in CASES.items():
        cpu = cost(options)
        found.append((name, f"{1e3 * min(cpu):.1f}", f"{1e3 * median(cpu):.1f}"))
    return found
