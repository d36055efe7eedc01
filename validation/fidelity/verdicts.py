"""The claims R01 to R15 at flow fidelity, beside the verdicts at full that are kept in the repository."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from validation import claims, pipeline, reference, report
from validation.experiments import Plan
from validation.measured import NotKnownError
from validation.sweeps import Sweeps
from validation.verdict import Results, Verdict

UNKNOWN = "not known at flow"
"""Verdict on a claim about what flow does not know."""


@dataclass(frozen=True)
class Judged:
    """A claim's verdict and figure at one fidelity."""

    verdict: str
    """The verdict in words."""
    ours: str
    """The figure."""


def at_flow(plan: Plan, sweeps: Sweeps) -> dict[str, Judged]:
    """Run what the claims need at flow and return what is found, by claim."""
    results = pipeline.simulated(claims.needed(plan, claims.CHECKS), plan, sweeps, "flow")
    return {name: _judged(name, results) for name in claims.CHECKS}


def _judged(name: str, results: Results) -> Judged:
    try:
        verdict = Verdict(reference.claims()[name], claims.CHECKS[name].judge(results))
    except NotKnownError as error:
        return Judged(UNKNOWN, f"needs {error}")
    return Judged(verdict.text, verdict.finding.ours)


def at_full(summary: Path = report.SUMMARY) -> dict[str, Judged]:
    """Return the verdicts of `make validate` at full fidelity, as its summary has them, by claim."""
    rows = (line for line in summary.read_text(encoding="utf-8").splitlines() if re.match(r"\| R\d\d \|", line))
    cells = ([cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows)
    return {name: Judged(verdict, ours) for name, verdict, _, _, ours in cells}


def changed(flow: Mapping[str, Judged], full: Mapping[str, Judged]) -> list[str]:
    """Return the claims whose verdict is another one at flow; those that flow does not know are none."""
    return [n for n, found in flow.items() if found.verdict not in (UNKNOWN, full[n].verdict)]
