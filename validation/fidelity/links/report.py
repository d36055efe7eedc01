"""The page (validation/fidelity_links.md) on swarms behind access links: flow against full."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

import btflow
from btflow.options import FIDELITIES
from validation.fidelity import search
from validation.fidelity.links import swarms
from validation.fidelity.links.compare import Pair, Target, equality, gaps, targets, wrong
from validation.fidelity.report import Section, headed, judged, listed
from validation.markdown import Report, table as markdown
from validation.part import Part
from validation.report import today
from validation.swarms.compare import Interval

SUMMARY = Path(__file__).parents[2] / "fidelity_links.md"
"""The page that is kept in the repository, with the details behind it."""
COMMAND = "python -m validation.fidelity.links"
"""What makes it."""
QUESTION = "Are swarms behind access links at flow fidelity, without packets, like the same in full?"
POOLED = "All settings together"

METHOD = (
    "Both fidelities run the same seeds, so the same starts, delays and classes. *Error*: mean completion at flow less "
    "full's, over full's, in percent, with Student's 95% interval over the seeds. *Shown*: what two one-sided tests "
    "over the seeds (TOST, 5% each) show of it; few seeds show little. *Difference*: by how much the mean of one class "
    "exceeds the other's, in percent, with its standard error; told from none if it is more than two of them. *Queue*: "
    "mean time until the uplinks of a class are empty; *request*: mean delay of a request. Pairs of figures are "
    "full's, then flow's. Errors and differences are partly chance: a mean of few seeds scatters by some percent, and "
    "of the differences told from none at full some are none. *CPU*: mean of the same swarms, two of which ran at a "
    "time; full's may be of an earlier call on the same machine."
)

TARGETS = ("what", "target", "found", "")
HEADER = (
    "swarm",
    "seeds",
    "mean [s]",
    "error [%]",
    "shown",
    "class means [s]",
    "difference [%]",
    "queue [ms]",
    "request [ms]",
)
CPU = ("CPU [s]", "ratio")
BAD = 0.10
"""Error from which a setting is listed."""


def targets_table(found: Sequence[Target]) -> list[str]:
    """Return the targets as a table."""
    return markdown(TARGETS, (target.row for target in found))


def section(title: str, pairs: Sequence[Pair]) -> Section:
    """Return the section on some settings."""
    run = [pair for pair in pairs if not pair.refused]
    refused = not_run(pairs)
    if not run:
        return Section(title, refused, [])
    found = targets(run)
    missed = "; ".join(target.what for target in found if not target.reached)
    reached = f"{sum(target.reached for target in found)} of {len(found)} targets are reached"
    answer = [f"{reached}; missed: {missed}." if missed else f"{reached}.", *outliers(run), *left_out(pairs)]
    return Section(title, answer, [*targets_table(found), "", *_items(refused), *table(run)])


def not_run(pairs: Sequence[Pair]) -> list[str]:
    """Return which settings flow refuses, and why."""
    return [f"Not run: {pair.setup.label}: {pair.refused}" for pair in pairs if pair.refused]


def left_out(pairs: Sequence[Pair]) -> list[str]:
    """Return how many settings flow refuses, if it does any."""
    refused = sum(bool(pair.refused) for pair in pairs)
    return [f"Not run, as flow refuses them: {refused} of {len(pairs)}; the details say why."] if refused else []


def _items(lines: Sequence[str]) -> list[str]:
    return [*listed(lines), ""] if lines else []


def searched(found: Sequence[Pair], again: Sequence[Pair]) -> Section:
    """Return the section on the search: the worst of its points, run `again` with other seeds."""
    run = {pair.setup.label: pair for pair in found if not pair.refused}
    rows = (
        (
            search.described(pair.setup.settings),
            *(one.difference().text for one in (run[pair.setup.label], pair)),
            ", ".join(f"{pair.mean(name):.1f}" for name in FIDELITIES),
            gap_text(pair),
            by_class(pair, "queue", 1e3, 0),
        )
        for pair in again
    )
    first, others = next(iter(run.values())).seeds, again[0].seeds
    header = ("point", f"error [%], {first} seeds", f"error [%], {others} other seeds", *HEADER[2:3], *HEADER[6:8])
    costs = [pair.cpu("full") for pair in run.values()]
    cost = f"CPU time of a swarm in full {np.mean(costs):.2f} s in the mean, {max(costs):.2f} s at most."
    note = search.caution(swarms.SEARCHED, len(run), swarms.VARIED, swarms.LEFT)
    answer = [*search.answer(list(run.values()), again), cost, *left_out(found)]
    lines = [*_items(not_run(found)), *markdown(header, rows), "", INTERVALS, note]
    return Section("Where flow is worst", answer, lines)


INTERVALS = "Errors are with Student's 90% interval in brackets, that of the two one-sided tests."


def outliers(pairs: Sequence[Pair]) -> list[str]:
    """Return which settings are far off, and which class differences have the wrong sign."""
    far = sorted((pair for pair in pairs if abs(pair.error.mean) > BAD), key=lambda pair: -abs(pair.error.mean))
    found = [f"{pair.setup.label} ({error_text(pair.error)})" for pair in far]
    lines = [f"Error above {100 * BAD:.0f}%: {'; '.join(found)}."] if found else []
    turned = [f"{pair.setup.label} (full {full.text}, flow {flow.text})" for pair, full, flow in wrong(pairs)]
    return [*lines, f"Wrong sign: {'; '.join(turned)}."] if turned else lines


def table(pairs: Sequence[Pair]) -> list[str]:
    """Return a table with a row for each setting."""
    return markdown((*HEADER, *CPU), (row(pair) for pair in pairs))


def row(pair: Pair) -> list[str]:
    """Return the row of a setting."""
    full, flow = (pair.cpu(name) for name in FIDELITIES)
    return [
        pair.setup.label,
        f"{pair.seeds}",
        ", ".join(f"{pair.mean(name):.1f}" for name in FIDELITIES),
        error_text(pair.error),
        pair.shown,
        by_class(pair, "mean", 1.0, 1),
        gap_text(pair),
        by_class(pair, "queue", 1e3, 0),
        by_class(pair, "request", 1e3, 0),
        f"{full:.2f}, {flow:.3f}",
        f"{full / max(flow, 1e-9):.1f}",
    ]


def error_text(error: Interval) -> str:
    """Return an error with its interval in percent."""
    return error.text(1, scale=100.0) if error.mean < 0.0 else f"+{error.text(1, scale=100.0)}"


def by_class(pair: Pair, figure: str, scale: float, digits: int) -> str:
    """Return a figure of each class, full's and flow's."""
    cells = []
    for name in pair.classes:
        both = (shown(scale * pair.of(fidelity, name, figure), digits) for fidelity in FIDELITIES)
        cells.append(f"{name} {', '.join(both)}")
    return "; ".join(cells)


def shown(value: float, digits: int) -> str:
    """Return a number, or a dash for none."""
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def gap_text(pair: Pair) -> str:
    """Return the differences between the classes, full's in bold where flow's has another sign."""
    full, flow = (pair.gap(fidelity) for fidelity in FIDELITIES)
    if full is None or flow is None or pair.compared is None:
        return "-"
    text = f"{full.text}, {flow.text}"
    return f"**{text}**" if full.told and full.value * flow.value <= 0.0 else text


def pooled(pairs: Sequence[Pair]) -> Section:
    """Return the section on all settings together."""
    found = targets(pairs)
    reached = sum(target.reached for target in found)
    number, both = len(pairs), len(gaps(pairs))
    answer = [f"{number} settings, {both} of them with two classes: {reached} of {len(found)} targets are reached."]
    return Section(POOLED, [*answer, *equality(pairs)], targets_table(found))


def write(sections: Mapping[str, Section], path: Path, less: str = "") -> None:
    """Write the page, its tables behind it; `less` says what of it was left out. All of it brings verdicts as data."""
    first, *others = sections.values()
    whole = not first.lines or first.title == POOLED
    lines = [
        *([less, ""] if less else []),
        *(first.lines if whole else []),
        *([""] if whole else []),
        f"btflow {btflow.__version__}, {today()}. Written by `{COMMAND}`; do not edit. What "
        "flow computes, and when to use it: [fidelity](../docs/fidelity.md); swarms with upload limits alone: "
        "[flow against full](fidelity.md).",
        "",
        METHOD,
        "",
        *(line for part in others for line in headed(part.title, listed(part.answer))),
    ]
    parts = others if whole else [first, *others]
    details = [line for part in parts for line in headed(part.title, part.lines)]
    Report("Flow against full behind access links", QUESTION, first.answer, lines, details).write(path)
    if not less:
        Part.now(COMMAND, judged(sections.values()), today()).write(path)
