"""The summary (validation/fidelity.md) of flow against full."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import btflow
from btflow.options import FIDELITIES, Fidelity
from validation.fidelity.compare import AVERAGE, BOUND, STATISTICS, Pair, average, mean_error
from validation.markdown import Report, table as markdown
from validation.part import Part, Row
from validation.report import today
from validation.statistics import SIGNIFICANT, change, p_greater

SUMMARY = Path(__file__).parent.parent / "fidelity.md"
"""With the details behind it the only part of the report that is kept in the repository."""
COMMAND = "python -m validation.fidelity"
"""What makes it."""
QUESTION = "Are swarms with upload limits at flow fidelity, where uploads are in closed form, like the same in full?"

METHOD = (
    "Both fidelities run the same seeds, so the same starts and paths. A difference is flow's figure less full's, over "
    "the mean of full, in percent, with Student's 90% interval over the seeds in brackets. Two one-sided tests (TOST, "
    f"5% each) find a statistic equal within {100 * BOUND:.0f}% where this interval is within ±{100 * BOUND:.0f}%; the "
    "column `not shown` names those where it is not, in bold where it is beyond the bound altogether. A difference "
    "that is not shown to be small need not be large: one mean of 301 peers scatters by 2%. *Pieces*: greatest "
    "distance of the mean curves of the pieces held over time, in percent of all pieces, with the 95% end of a "
    "bootstrap over the seeds. *CPU*: one swarm at each fidelity, one right after the other."
)

Costs = Mapping[str, Mapping[Fidelity, float]]
"""CPU time [s] by label and fidelity."""


@dataclass(frozen=True)
class Section:
    """A part of the summary."""

    title: str
    """Its title."""
    answer: Sequence[str]
    """What was found, in sentences."""
    lines: Sequence[str]
    """Its tables and text."""
    rows: Mapping[str, Row] = field(default_factory=dict)
    """The claims that it judges, if it does."""


HEADER = ("swarm", "seeds", "full [s]", *(f"{name} [%]" for name in STATISTICS.values()), "pieces [%]", "not shown")
CPU = ("CPU, full [s]", "flow [s]", "ratio")


def compared(pairs: Sequence[Pair], costs: Costs) -> list[str]:
    """Return a table with a row for each pair."""
    return markdown((*HEADER, *CPU), (row(pair, costs[pair.setup.label]) for pair in pairs))


def row(pair: Pair, cost: Mapping[Fidelity, float]) -> list[str]:
    """Return the row of a pair."""
    full = sum(pair.values("full", "mean")) / pair.seeds
    start = [pair.setup.label, f"{pair.seeds}", f"{full:.0f}"]
    if pair.refused:
        return [*start, *["-"] * (len(STATISTICS) + 1), "refused", f"{cost['full']:.2f}", "-", "-"]
    differences = [pair.difference(name).text for name in STATISTICS]
    times = [f"{cost['full']:.2f}", f"{cost['flow']:.3f}", f"{cost['full'] / cost['flow']:.1f}"]
    return [*start, *differences, pair.growth.text, ", ".join(not_shown(pair)) or "-", *times]


def not_shown(pair: Pair) -> list[str]:
    """Return the statistics that are not found equal, in bold those that are beyond the bound."""
    found = []
    for statistic, name in STATISTICS.items():
        difference = pair.difference(statistic)
        if difference.beyond:
            found.append(f"**{name}**")
        elif not difference.equal:
            found.append(name)
    return found if pair.growth.equal else [*found, "pieces"]


def overall(pairs: Sequence[Pair]) -> list[str]:
    """Return what holds of the cells together."""
    mean, (error, chance) = average(pairs), mean_error(pairs)
    worst = max(pairs, key=lambda pair: abs(pair.difference("mean").value))
    found = [
        f"Mean completion: {mean.text}% in the mean over the cells, {'' if mean.equal else 'not '}shown to be within "
        f"{100 * AVERAGE:.0f}%; mean absolute error {100 * error:.1f}%, of which chance alone would make "
        f"{100 * chance:.1f}%; worst cell {worst.difference('mean').text}% ({worst.setup.label}).",
    ]
    for statistic, name in STATISTICS.items():
        each = [pair.difference(statistic) for pair in pairs]
        found.append(
            f"{name}: equal within {100 * BOUND:.0f}% in {sum(d.equal for d in each)} of {len(each)}, beyond it in "
            f"{sum(d.beyond for d in each)}; mean absolute error {100 * mean_error(pairs, statistic)[0]:.1f}%, "
            f"by chance {100 * mean_error(pairs, statistic)[1]:.1f}%."
        )
    growths = [pair.growth for pair in pairs]
    found.append(
        f"Pieces held over time: within {100 * BOUND:.0f}% of all pieces in {sum(g.equal for g in growths)} of "
        f"{len(growths)}; greatest distance {100 * max(g.distance for g in growths):.1f}%."
    )
    return found


def order(slow: Pair, fast: Pair) -> str:
    """Return whether one swarm is slower than another at both fidelities."""
    found = []
    for fidelity in FIDELITIES:
        one, other = slow.values(fidelity, "mean"), fast.values(fidelity, "mean")
        p = p_greater(one, other)
        found.append(f"{fidelity} {change(one, other).text}, Welch p = {p:.2g}{' (not shown)' * (p >= SIGNIFICANT)}")
    return f"{slow.setup.label} is slower than {fast.setup.label}: {'; '.join(found)}."


def cpu(costs: Costs) -> str:
    """Return the CPU times in the mean."""
    full, flow = (sum(cost[fidelity] for cost in costs.values()) / len(costs) for fidelity in FIDELITIES)
    return (
        f"CPU time of a swarm in the mean over the cells: full {full:.2f} s, flow {flow:.3f} s, {full / flow:.1f} to 1."
    )


def write_summary(sections: Mapping[str, Section], path: Path) -> None:
    """Write fidelity.md, its tables behind it; and the verdicts at flow as data."""
    written = (
        f"btflow {btflow.__version__}, {today()}. Written by `{COMMAND}`; do not edit. What flow "
        "computes, and when to use it: [fidelity](../docs/fidelity.md)."
    )
    verdicts = [line for section in sections.values() for line in section.answer[:1]]
    lines = [line for section in sections.values() for line in headed(section.title, listed(section.answer[1:]))]
    details = [line for section in sections.values() for line in headed(section.title, section.lines)]
    Report("Flow against full", QUESTION, verdicts, [written, "", METHOD, "", *lines], details).write(path)
    Part.now(COMMAND, judged(sections.values()), today()).write(path)


def judged(sections: Iterable[Section]) -> dict[str, Row]:
    """Return the claims that sections judge."""
    return {name: row for section in sections for name, row in section.rows.items()}


def headed(title: str, lines: Sequence[str]) -> list[str]:
    """Return lines under a heading, none without lines."""
    return [f"## {title}", "", *lines, ""] if lines else []


def listed(answer: Sequence[str]) -> list[str]:
    """Return sentences as a list."""
    return [f"- {line}" for line in answer]
