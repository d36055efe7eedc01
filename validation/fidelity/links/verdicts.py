"""The claims T01 to D05 at flow fidelity, beside the verdicts at full that are kept in the repository."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from btflow.errors import InputError, ScenarioError, SimulationError
from validation import reference
from validation.fidelity.measured import Store
from validation.fidelity.report import Section
from validation.fidelity.verdicts import UNKNOWN, Judged, changed
from validation.report import markdown
from validation.swarms.experiments import Plan, Setting
from validation.swarms.measured import Group, Measured, Results, measure
from validation.swarms.report import CLAIMS, JUDGES, SUMMARY
from validation.verdict import Verdict

STORED = "fidelity_links_claims.jsonl"
"""File in the report's folder with the figures of what has been run."""


class AtFlow(Results):
    """Simulates settings at flow when they are asked for, and keeps their figures on disk."""

    def __init__(self, plan: Plan, store: Store) -> None:
        """Take what an earlier call has run."""
        super().__init__(plan)
        self.store = store

    def _run(self, setting: Setting) -> Measured:
        from btflow import simulate

        replicas = self.plan.of(setting)
        key = f"{setting.scenario().digest()}:{setting.seed}:{replicas}"
        known = self.store.find(key)
        if known is not None:
            entry = json.loads(known["measured"])
            return Measured(**entry | {"groups": {name: Group(**group) for name, group in entry["groups"].items()}})
        found = measure(simulate(setting.scenario(), seed=setting.seed, replicas=replicas, fidelity="flow"))
        self.store.add(key, {"measured": json.dumps(asdict(found))})  # a text, as there are figures that are NaN
        return found


def at_flow(plan: Plan, store: Store, ids: Iterable[str]) -> dict[str, Judged]:
    """Judge some claims at flow."""
    results = AtFlow(plan, store)
    return {name: _judged(name, results) for name in ids}


def _judged(name: str, results: Results) -> Judged:
    try:
        verdict = Verdict(reference.claims(CLAIMS)[name], JUDGES[name](results))
    except (InputError, ScenarioError, SimulationError, ValueError) as error:
        return Judged(UNKNOWN, str(error))
    return Judged(verdict.text, verdict.finding.ours)


def at_full(summary: Path = SUMMARY) -> dict[str, Judged]:
    """Return the verdicts of `make validate` at full fidelity, as its summary has them, by claim."""
    rows = (line for line in summary.read_text(encoding="utf-8").splitlines() if re.match(r"\| [TD]\d\d \|", line))
    cells = ([cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows)
    return {row[0]: Judged(row[1], row[-1]) for row in cells}


def section(flow: Mapping[str, Judged], full: Mapping[str, Judged]) -> Section:
    """Return the section on the claims."""
    others = changed(flow, full)
    unknown = [name for name, found in flow.items() if found.verdict == UNKNOWN]
    same = len(flow) - len(others) - len(unknown)
    answer = [
        f"{same} of {len(flow)} verdicts are those of full; others: {', '.join(others) or 'none'}; not known at flow: "
        f"{', '.join(unknown) or 'none'}."
    ]
    rows = ((name, full[name].verdict, flow[name].verdict, full[name].ours, flow[name].ours) for name in flow)
    header = ("claim", "verdict at full", "verdict at flow", "full's figure", "flow's figure")
    return Section("Claims", answer, [*markdown(header, rows), "", NOTE])


NOTE = (
    "Full's verdicts and figures are those of [the swarms](swarms.md). R01 to R15 are in [flow against "
    "full](fidelity.md). G01, G02, V01 and V02 are of single links, which have no fidelity."
)
