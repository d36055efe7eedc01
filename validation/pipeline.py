"""From a plan to a report: run, judge, draw, write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from btflow.errors import SimulationError
from btflow.options import Fidelity
from validation import claims, figures, mechanism_figures, page, report
from validation.cases import MODEL
from validation.experiments import Plan
from validation.measured import measure
from validation.sweeps import Error, Run, Sweeps
from validation.verdict import Results

SWEEPS = "claims"
"""Name of the stores in the report's folder."""

CAPTIONS = {
    "rtt_sweep": "In the form of Fig. 5.",
    "table_errors": "Table IV, each cell against the paper's.",
    "loss_increase": "Table IV with loss, section V.",
    "idle_terminations": "The mechanism of section III-B: the seed passes over a connection that waits for requests.",
    "pieces_seed_20": "In the form of Fig. 7a.",
    "pieces_seed_50": "In the form of Fig. 7b.",
    "send_gaps_0": "In the form of Fig. 6a.",
    "send_gaps_400": "In the form of Fig. 6b.",
    "as_placements_20": "In the form of Fig. 8.",
    "as_placements_50": "In the form of Fig. 9.",
    "segment_payloads_tso_on": "In the form of Fig. 4a.",
    "segment_payloads_tso_off": "In the form of Fig. 4c.",
}
"""What each figure is, in the order of the page."""


def make(plan: Plan, ids: Sequence[str], out: Path, jobs: int = 1, fresh: bool = False) -> report.Report:
    """Judge claims and write report.html and report.json.

    Args:
        plan: How much is simulated.
        ids: The claims, such as R01.
        out: Folder of the report; made if it is not there.
        jobs: Swarms at once.
        fresh: Run again what is stored in `out`.
    """
    results = simulated(claims.needed(plan, ids), plan, Sweeps(out, SWEEPS, jobs, fresh))
    found = report.Report(claims.judged(results, ids), results, plan, report.today())
    drawn = figures.completion_figures(results) | mechanism_figures.mechanism_figures(results)
    report.write_json(found, out / "report.json")
    shown = {name: (drawn[name], caption) for name, caption in CAPTIONS.items() if name in drawn}
    page.write(report.summary(found), shown, out / "report.html", report.behind(found))
    return found


def simulated(need: claims.Need, plan: Plan, sweeps: Sweeps, fidelity: Fidelity = "full") -> Results:
    """Return the figures of the cases needed; a SimulationError that names the case if a swarm does not finish."""
    runs = [
        Run(MODEL, {**case.settings(), **plan.swarm}, case.seed, replicas, fidelity) for case, replicas in need.items()
    ]
    found = {}
    for case, run, result in zip(need, runs, sweeps.results(runs), strict=True):
        if isinstance(result, Error):
            raise SimulationError(f"{case.label}: {result}")
        found[case] = measure(run.scenario(), result)
    return Results(found)
