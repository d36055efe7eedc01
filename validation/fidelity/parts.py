"""The parts of the comparison: what each runs, and its section of the summary."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tqdm import tqdm

from btflow.options import FIDELITIES
from validation import experiments
from validation.cases import Setting
from validation.fidelity import search, swarms, verdicts
from validation.fidelity.compare import BOUND, STATISTICS, Pair, pairs, wanted
from validation.fidelity.measured import Measured, Stores, costs, measured
from validation.fidelity.report import Costs, Section, compared, cpu, order, overall
from validation.fidelity.swarms import SEEDS, Setup, Swarm
from validation.report import markdown

Of = TypeVar("Of")
Out = TypeVar("Out")


@dataclass(frozen=True)
class Plan:
    """How much is simulated, and where it is kept."""

    stores: Stores
    """The files that keep it."""
    seeds: int = SEEDS
    """Seeds of a cell."""
    processes: int = 1
    """Processes that simulate."""
    smaller: Mapping[str, Setting] = field(default_factory=dict)
    """Parameters that make the swarms smaller; none for the paper's."""
    points: int = search.POINTS
    """Points of the search."""

    @property
    def out(self) -> Path:
        """Folder of the report."""
        return self.stores.out

    def swarms(self, setups: Sequence[Setup], seeds: int, first: int = 0) -> list[Pair]:
        """Run setups at both fidelities."""
        swarms = wanted(setups, seeds, first)
        found: dict[Swarm, Measured] = shown(measured(swarms, self.stores, self.processes), len(swarms))
        return pairs(setups, found, seeds, first)

    def costs(self, setups: Sequence[Setup]) -> Costs:
        """Run a swarm of each setup at both fidelities for their CPU times."""
        return {setup.label: cost for setup, cost in shown(costs(setups, self.stores), len(setups)).items()}


def shown(done: Iterable[tuple[Of, Out]], total: int) -> dict[Of, Out]:
    """Return what is done, with a bar while it is."""
    return dict(tqdm(done, total=total, unit="swarm", disable=not sys.stderr.isatty()))


def cells(plan: Plan) -> Section:
    """Compare the 24 cells."""
    setups = swarms.cells(plan.smaller)
    found, times = plan.swarms(setups, plan.seeds), plan.costs(setups)
    at = {pair.setup.label: pair for pair in found}
    slow, fast = (at[swarms.cell(20, rtt, 0, {}).label] for rtt in (400, 1000))
    title = "24 cells: upload limit, round-trip time, loss"
    return Section(title, [*overall(found), order(slow, fast), cpu(times)], compared(found, times))


def kinds(plan: Plan) -> Section:
    """Compare one swarm of each other kind."""
    setups = swarms.kinds(plan.smaller)
    found, times = plan.swarms(setups, plan.seeds), plan.costs(setups)
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
    flow = verdicts.at_flow(experiments.Plan(plan.seeds, plan.smaller), plan.out, plan.processes, plan.stores.fresh)
    full = verdicts.at_full()
    changed = verdicts.changed(flow, full)
    unknown = [name for name, found in flow.items() if found.verdict == verdicts.UNKNOWN]
    same = len(flow) - len(changed) - len(unknown)
    answer = [
        f"{same} of {len(flow)} verdicts are those of full; others: {', '.join(changed) or 'none'}; not known at flow: "
        f"{', '.join(unknown) or 'none'}."
    ]
    rows = ((n, full[n].verdict, flow[n].verdict, full[n].ours, flow[n].ours) for n in flow)
    header = ("claim", *(f"verdict at {name}" for name in FIDELITIES), *(f"{name}'s figure" for name in FIDELITIES))
    return Section("Claims", answer, [*markdown(header, rows), "", FROZEN])


FROZEN = "Full's verdicts and figures are those of [the claims](summary.md)."

PARTS: Mapping[str, Callable[[Plan], Section]] = {"cells": cells, "kinds": kinds, "search": sobol, "claims": claims}
"""The parts by name, in the order of the summary."""
