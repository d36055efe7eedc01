"""From a plan to a report: run, judge, draw, write."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from validation import claims, figures, mechanism_figures, page, report
from validation.cases import Case
from validation.experiments import Plan
from validation.measured import Measured
from validation.runs import Task, run_all
from validation.store import Store
from validation.verdict import Results

STORED = "measured.json"
"""File in the report's folder with the figures of what has been run."""


def make(plan: Plan, ids: Sequence[str], out: Path, processes: int = 1, fresh: bool = False) -> report.Report:
    """Judge claims and write report.html and report.json.

    Args:
        plan: How much is simulated.
        ids: The claims, such as R01.
        out: Folder of the report; made if it is not there.
        processes: Number of processes that simulate.
        fresh: Run again what is stored in `out`.
    """
    to_run = tasks(claims.needed(plan, ids), plan)
    results = Results(simulated(to_run, Store(out / STORED, fresh), processes))
    found = report.Report(claims.judged(results, ids), results, plan, report.today())
    drawn = figures.completion_figures(results) | mechanism_figures.mechanism_figures(results)
    report.write_json(found, out / "report.json")
    page.write_page(found, drawn, out / "report.html")
    return found


def tasks(need: claims.Need, plan: Plan) -> list[Task]:
    """Return what has to be run for the cases needed."""
    return [Task(case, replicas, plan.swarm) for case, replicas in need.items()]


def simulated(wanted: Sequence[Task], store: Store, processes: int) -> dict[Case, Measured]:
    """Return the figures of what is wanted: those stored, and those run now, which are stored as they end."""
    found = {task.case: known for task in wanted if (known := store.find(task)) is not None}
    missing = [task for task in wanted if task.case not in found]
    total, done = sum(task.replicas for task in wanted), sum(task.replicas for task in wanted if task.case in found)
    with tqdm(total=total, initial=done, unit="swarm", disable=not sys.stderr.isatty()) as bar:
        for task, figures_of in run_all(missing, processes):
            store.add(task, figures_of)
            found[task.case] = figures_of
            bar.update(task.replicas)
    return {task.case: found[task.case] for task in wanted}
