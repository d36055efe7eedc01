"""The claims R01 to R15 at flow fidelity, beside the verdicts at full that are kept in the repository."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from btflow.options import FIDELITIES
from validation import claims, part, pipeline, reference, report
from validation.experiments import Plan
from validation.fidelity.report import Section
from validation.markdown import table as markdown
from validation.measured import NotKnownError
from validation.part import Row
from validation.sweeps import Sweeps
from validation.verdict import Results, Verdict

UNKNOWN = "not known at flow"
"""Verdict on a claim about what flow does not know."""


def at_flow(plan: Plan, sweeps: Sweeps) -> dict[str, Row]:
    """Run what the claims need at flow and return what is found, by claim."""
    results = pipeline.simulated(claims.needed(plan, claims.CHECKS), plan, sweeps, "flow")
    return {name: _judged(name, results) for name in claims.CHECKS}


def _judged(name: str, results: Results) -> Row:
    try:
        return part.row(Verdict(reference.claims()[name], claims.CHECKS[name].judge(results)))
    except NotKnownError as error:
        return Row("not known", f"needs {error}", UNKNOWN)


def at_full(summary: Path = report.SUMMARY) -> Mapping[str, Row]:
    """Return the verdicts of `make validate` at full fidelity, as they are kept with its summary, by claim."""
    return part.read(summary, report.COMMAND).rows


def changed(flow: Mapping[str, Row], full: Mapping[str, Row]) -> list[str]:
    """Return the claims whose verdict is another one at flow; those that flow does not know are none."""
    return [n for n, found in flow.items() if found.verdict not in (UNKNOWN, full[n].verdict)]


def section(flow: Mapping[str, Row], full: Mapping[str, Row], note: str) -> Section:
    """Return the section on the claims; a note says what is behind it."""
    others = changed(flow, full)
    unknown = [name for name, found in flow.items() if found.verdict == UNKNOWN]
    same = len(flow) - len(others) - len(unknown)
    answer = [
        f"{same} of {len(flow)} verdicts are those of full; others: {', '.join(others) or 'none'}; not known at flow: "
        f"{', '.join(unknown) or 'none'}."
    ]
    rows = ((n, full[n].verdict, flow[n].verdict, full[n].ours, flow[n].ours) for n in flow)
    header = ("claim", *(f"verdict at {name}" for name in FIDELITIES), *(f"{name}'s figure" for name in FIDELITIES))
    return Section("Claims", answer, [*markdown(header, rows), "", note], flow)
