"""The claims T01 to G02 at flow fidelity, beside the verdicts at full that are kept in the repository."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from btflow.errors import InputError, ScenarioError, SimulationError
from btflow.options import Fidelity
from validation import reference
from validation.fidelity.report import Section
from validation.fidelity.verdicts import UNKNOWN, Judged, changed
from validation.links import coexistence
from validation.links import report as links
from validation.report import markdown
from validation.swarms.experiments import Plan, Setting
from validation.swarms.measured import Measured, Results
from validation.swarms.report import CLAIMS, JUDGES, SUMMARY
from validation.sweeps import Sweeps
from validation.verdict import Finding, Verdict

OF_LINKS: Mapping[str, Callable[[int, Fidelity], Finding]] = {
    "G01": coexistence.beside_tcp,
    "G02": coexistence.beside_utp,
}
"""What judges the claims on single links; V01 and V02 are on calls and packets, which flow does not have."""
IDS = (*JUDGES, *OF_LINKS)
"""The claims, in the order of the page."""


class AtFlow(Results):
    """Simulates settings at flow when they are asked for, in full what flow refuses."""

    def __init__(self, plan: Plan, sweeps: Sweeps) -> None:
        """Take what an earlier call has run."""
        super().__init__(plan, sweeps)
        self.asked: dict[Setting, None] = {}
        self.refused: set[Setting] = set()

    def __getitem__(self, setting: Setting) -> Measured:
        """Return the figures of a setting, and note that a claim needs it."""
        self.asked[setting] = None
        return super().__getitem__(setting)

    def _run(self, setting: Setting, fidelity: Fidelity = "flow") -> Measured:
        try:
            return super()._run(setting, fidelity)
        except ScenarioError:
            self.refused.add(setting)
            return super()._run(setting, "full")


def at_flow(plan: Plan, sweeps: Sweeps, ids: Iterable[str]) -> dict[str, Judged]:
    """Judge some claims at flow."""
    results = AtFlow(plan, sweeps)
    return {name: _of_link(name) if name in OF_LINKS else _judged(name, results) for name in ids}


def _judged(name: str, results: AtFlow) -> Judged:
    results.asked.clear()
    try:
        verdict = Verdict(reference.claims(CLAIMS)[name], JUDGES[name](results))
    except (InputError, SimulationError, ValueError) as error:
        return Judged(UNKNOWN, str(error))
    in_full = sum(setting in results.refused for setting in results.asked)
    start = f"({in_full} of {len(results.asked)} settings in full) " if in_full else ""
    return Judged(verdict.text, f"{start}{verdict.finding.ours}")


def _of_link(name: str) -> Judged:
    verdict = Verdict(reference.claims(links.CLAIMS)[name], OF_LINKS[name](coexistence.RUNS, "flow"))
    return Judged(verdict.text, verdict.finding.ours)


def at_full(summaries: Iterable[Path] = (SUMMARY, links.SUMMARY)) -> dict[str, Judged]:
    """Return the verdicts of `make validate` at full fidelity, as its summaries have them, by claim."""
    lines = (line for path in summaries for line in path.read_text(encoding="utf-8").splitlines())
    rows = (line for line in lines if re.match(r"\| [TDG]\d\d \|", line))
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
    "Full's verdicts and figures are those of [the swarms](swarms.md) and [the links](links.md). Settings whose law "
    "flow refuses are run in full, as the claim needs all of them: the cell says how many. R01 to R15 are in [flow "
    "against full](fidelity.md). V01 and V02 are on the delays and headers of single packets, which flow does not have."
)
