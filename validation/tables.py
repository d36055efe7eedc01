"""The tables of the page: Table IV cell by cell, constants without a source, all cases with their seeds."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from validation import assumptions, markup
from validation.cases import Case
from validation.experiments import COLUMNS, LIMITS, TABLE_RTTS
from validation.markup import coloured, escaped, table
from validation.report import Report
from validation.table4 import PROJECT_MEAN, PROJECT_WORST, TSO_NOTE, Cell, errors_text


def table4(cells: Sequence[Cell]) -> str:
    """Return Table IV with our figures, their errors coloured."""
    found = {cell.case: cell for cell in cells}
    rows = []
    for limit in LIMITS:
        for rtt in TABLE_RTTS:
            row = [f"{limit} kB/s", f'<td class="n">{rtt} ms</td>']
            for tso, loss in COLUMNS.values():
                row += _columns(found[Case(limit, rtt, loss, tso)])
            rows.append(row)
    header = [
        "upload limit",
        "RTT",
        *(text for name in COLUMNS for text in (f"{name}: paper [s]", "btflow [s]", "error")),
    ]
    own = [cell for cell in cells if not cell.case.tso]
    note = (
        f"<p>36 cells: {errors_text(cells)}; the 24 without TSO: {errors_text(own)}; {TSO_NOTE}. "
        "Blue: btflow is faster than the paper, orange: slower; white within 1%. This "
        f"project's goal for the RTT 0 column without loss is {100 * PROJECT_WORST:.0f}% a cell and "
        f"{100 * PROJECT_MEAN:.0f}% on average.</p>"
    )
    return note + table(header, rows)


def _columns(cell: Cell) -> list[str]:
    return [
        f'<td class="n">{cell.paper:.0f}</td>',
        f'<td class="n" title="{escape(cell.ours.text(unit="s"))}">{cell.ours.mean:.0f} ± {cell.ours.se:.0f}</td>',
        coloured(f"{100 * cell.error:+.1f}%", cell.error),
    ]


def constants(report: Report) -> str:
    """Return the constants no source gives, and Table IV with and without a start spread."""
    text = markup.constants(assumptions.assumptions())
    compared = assumptions.rows_by_start(report.results)
    if compared:
        text += escaped(*compared)
        text += table(
            ("cell", *(escape(name) for name in assumptions.by_start(report.results))),
            (
                [escape(cells[0].case.label), *(_seconds(cell) for cell in cells)]
                for cells in zip(*assumptions.by_start(report.results).values(), strict=True)
            ),
        )
    return text


def _seconds(cell: Cell) -> str:
    shown = f"{cell.ours.mean:.0f} ± {cell.ours.se:.0f} s, {100 * cell.error:+.1f}%, {cell.ours.replicas} replicas"
    return coloured(shown, cell.error)


def cases(report: Report) -> str:
    """Return every case with its seed, replicas, completion and CPU time."""
    rows = (
        (
            escape(case.label),
            f'<td class="n">{case.seed}</td>',
            f'<td class="n">{len(found.means)}</td>',
            f'<td class="n">{escape(report.results.spread(case).text())}</td>',
            f'<td class="n">{found.cpu:.2f}</td>',
        )
        for case, found in sorted(report.results.measured.items())
    )
    shown = table(("case", "seed", "replicas", "mean completion [s]", "CPU per swarm [s]"), rows)
    return f"<details><summary>all cases, with their seeds</summary>{shown}</details>"
