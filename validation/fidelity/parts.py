"""The parts of the comparison: what each runs, and its section of the summary."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tqdm import tqdm

from validation import experiments
from validation.cases import Setting
from validation.fidelity import search, swarms, verdicts
from validation.fidelity.compare import BOUND, STATISTICS, Pair, pairs, wanted
from validation.fidelity.measured import cost, measured
from validation.fidelity.report import Costs, Section, compared, cpu, order, overall
from validation.fidelity.swarms import SEEDS, Setup
from validation.markdown import table as markdown
from validation.sweeps import Sweeps


@dataclass(frozen=True)
class Plan:
    """How much is simulated, and where it is kept."""

    sweeps: Sweeps
    """What runs and keeps it."""
    seeds: int = SEEDS
    """Seeds of a cell."""
    smaller: Mapping[str, Setting] = field(default_factory=dict)
    """Parameters that make the swarms smaller; none for the paper's."""
    points: int = search.POINTS
    """Points of the search."""

    def swarms(self, setups: Sequence[Setup], seeds: int, first: int = 0) -> list[Pair]:
        """Run setups at both fidelities."""
        return pairs(Pair, setups, dict(measured(wanted(setups, seeds, first), self.sweeps)), seeds, first)


def costs(setups: Sequence[Setup]) -> Costs:
    """Run a swarm of each setup at both fidelities for their CPU times."""
    return {setup.label: cost(setup) for setup in tqdm(setups, unit="swarm", disable=not sys.stderr.isatty())}


def cells(plan: Plan) -> Section:
    """Compare the 24 cells."""
    setups = swarms.cells(plan.smaller)
    found, times = plan.swarms(setups, plan.seeds), costs(setups)
    at = {pair.setup.label: pair for pair in found}
    slow, fast = (at[swarms.cell(20, rtt, 0, {}).label] for rtt in (400, 1000))
    title = "24 cells: upload limit, round-trip time, loss"
    return Section(title, [*overall(found), order(slow, fast), cpu(times)], compared(found, times))


def kinds(plan: Plan) -> Section:
    """Compare one swarm of each other kind."""
    setups = swarms.kinds(plan.smaller)
    found, times = plan.swarms(setups, plan.seeds), costs(setups)
    run = [pair for pair in found if not pair.refused]
    equal = [pair for pair in run if pair.difference("mean").equal]
    beyond = [pair.setup.label for pair in run if pair.difference("mean").beyond]
    worst = max(run, key=lambda pair: abs(pair.difference("mean").value))
    answer = [
        f"Mean completion equal within {100 * BOUND:.0f}% in {len(equal)} of {len(run)} kinds, beyond it in "
        f"{len(beyond)}{': ' * bool(beyond)}{', '.join(beyond)}; worst {worst.difference('mean').text}% "
        f"({worst.setup.label}).",
        *(f"Flow refuses {pair.setup.label}: {pair.refused}" for pair in found if pair.refused),
    ]
    return Section("Other kinds of swarms", answer, compared(found, times))


def sobol(plan: Plan) -> Section:
    """Search the parameters for the largest difference."""
    setups = search.points(search.CAPPED, plan.points, search.AGAIN)
    found = plan.swarms(setups, min(plan.seeds, search.SEEDS))
    worst = search.worst(found)
    again = plan.swarms([pair.setup for pair in worst], search.AGAIN if plan.seeds >= SEEDS else 2, search.SEEDS)
    rows = (
        (
            search.described(pair.setup.settings),
            *(found.difference("mean").text for found in (first, pair)),
            *(pair.difference(name).text for name in STATISTICS if name != "mean"),
        )
        for first, pair in zip(worst, again, strict=True)
    )
    others = [f"{name} [%]" for name in list(STATISTICS.values())[1:]]
    header = ("point", f"mean [%], {found[0].seeds} seeds", f"mean [%], {again[0].seeds} other seeds", *others)
    note = search.caution(search.CAPPED, len(found), VARIED, LEFT)
    return Section("Where flow is worst", search.answer(found, again), [*markdown(header, rows), "", note])


VARIED = (
    "upload limit 5 to 200 kB/s, round-trip time 0 to 1000 ms, loss 0 to 5%, 30 to 100 leechers, files of 2 to 20 MB "
    "in pieces of 32 to 1024 kB, starts within 0 to 300 s, a seed of half to eight times a leecher's limit"
)
"""search.CAPPED in words."""
LEFT = "other clients, churn, paths of their own"
"""What it does not have."""


def claims(plan: Plan) -> Section:
    """Judge the published claims at flow."""
    flow = verdicts.at_flow(experiments.Plan(plan.seeds, plan.smaller), plan.sweeps)
    return verdicts.section(flow, verdicts.at_full(), FROZEN)


FROZEN = "Full's verdicts and figures are those of [the claims](summary.md)."

PARTS: Mapping[str, Callable[[Plan], Section]] = {"cells": cells, "kinds": kinds, "search": sobol, "claims": claims}
"""The parts by name, in the order of the summary."""
