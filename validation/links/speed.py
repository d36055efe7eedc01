"""CPU time of a link with four flows, beside ns-3's for the same."""

from __future__ import annotations

from statistics import median

from btflow.link.run import simulate_link
from validation.links import frozen
from validation.links.experiments import Bottleneck
from validation.verdict import Condition, Finding

BUFFER, FLOWS = 100, 4  # packets, flows
LIMIT_MS = 10.0
RUNS = 9


def speed() -> Finding:
    """Judge the CPU time of 300 s with four flows of each kind: the median of some runs, and the slowest kind."""
    ours: dict[str, float] = {}
    least: dict[str, float] = {}
    theirs: dict[str, float] = {}
    for cell in frozen.cells("alone"):
        run = cell.experiment
        if not isinstance(run, Bottleneck) or run.buffer != BUFFER or run.listed[0][1] != FLOWS:
            continue
        times = [1e3 * simulate_link(run.scenario, seed=run.seed(n)).attrs["cpu_s"] for n in range(RUNS)]
        ours[run.flows], least[run.flows] = median(times), min(times)
        theirs[run.flows] = median(cell.figures["cpu_s"])
    if not ours:
        return Finding("", "nothing to compare with", (Condition("alone.csv: not there", False),))
    slowest = max(ours, key=lambda name: ours[name])
    return Finding(
        f"ns-3: {min(theirs.values()):.2f} to {max(theirs.values()):.2f} s for the same, when the tables were frozen",
        f"{min(ours.values()):.1f} to {max(ours.values()):.1f} ms, the slowest {slowest}; medians of {RUNS} runs",
        tuple(Condition(f"{name}: {ms:.1f} ms, at most {LIMIT_MS:g} ms", ms <= LIMIT_MS) for name, ms in ours.items()),
        tuple(
            f"{name}: median {ours[name]:.1f} ms, least {least[name]:.1f} ms; ns-3 {theirs[name]:.2f} s, "
            f"{1e3 * theirs[name] / ours[name]:.0f} times as long"
            for name in ours
        ),
        {"cpu_ms": ours, "least_cpu_ms": least, "ns3_cpu_s": theirs},
    )
