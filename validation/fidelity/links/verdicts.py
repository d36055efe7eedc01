"""The claims T01 to G02 at flow fidelity, beside the verdicts at full that are kept in the repository."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from btflow.errors import InputError, ScenarioError, SimulationError
from btflow.options import Fidelity
from validation import part, reference
from validation.fidelity.verdicts import UNKNOWN
from validation.links import coexistence, report as links
from validation.part import Row
from validation.swarms import report as swarms
from validation.swarms.experiments import Plan, Setting
from validation.swarms.measured import Measured, Results
from validation.swarms.report import CLAIMS, JUDGES
from validation.sweeps import Sweeps
from validation.verdict import Finding, Verdict

OF_LINKS: Mapping[str, Callable[[int, Fidelity], Finding]] = {
    "G01": coexistence.beside_tcp,
    "G02": coexistence.beside_utp,
}
"""What judges the claims on single links; V01 and V02 are on calls and packets, which flow does not have."""
IDS = (*JUDGES, *OF_LINKS)
"""The claims, in the order of the page."""
IN_FULL = " †"
"""Ends a brief figure that some settings were run in full for."""


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


def at_flow(plan: Plan, sweeps: Sweeps, ids: Iterable[str]) -> dict[str, Row]:
    """Judge some claims at flow."""
    results = AtFlow(plan, sweeps)
    return {name: _of_link(name) if name in OF_LINKS else _judged(name, results) for name in ids}


def _judged(name: str, results: AtFlow) -> Row:
    results.asked.clear()
    try:
        found = part.row(Verdict(reference.claims(CLAIMS)[name], JUDGES[name](results)))
    except (InputError, SimulationError, ValueError) as error:
        return Row("not known", str(error), UNKNOWN)
    in_full = sum(setting in results.refused for setting in results.asked)
    if not in_full:
        return found
    said = f"({in_full} of {len(results.asked)} settings in full) {found.ours}"
    return replace(found, brief=f"{found.brief}{IN_FULL}", ours=said)


def _of_link(name: str) -> Row:
    return part.row(Verdict(reference.claims(links.CLAIMS)[name], OF_LINKS[name](coexistence.RUNS, "flow")))


def at_full() -> dict[str, Row]:
    """Return the verdicts of `make validate` at full fidelity, as they are kept with its summaries, by claim."""
    kept = [part.read(of.SUMMARY, of.COMMAND).rows for of in (swarms, links)]
    return {name: row for rows in kept for name, row in rows.items() if name in IDS}


NOTE = (
    "Full's verdicts and figures are those of [the swarms](swarms.md) and [the links](links.md). Settings whose law "
    "flow refuses are run in full, as the claim needs all of them: the cell says how many. R01 to R15 are in [flow "
    "against full](fidelity.md). V01 and V02 are on the delays and headers of single packets, which flow does not have."
)
